/* A text as words with pronunciations for linnet_alignment_create. */
#ifndef LINNET_TOOL_ALIGN_TEXT_H
#define LINNET_TOOL_ALIGN_TEXT_H

#include <stdbool.h>

#include <linnet/align.h>
#include <linnet/lexicon.h>

#include "vocabulary.h"

/* Start with zeros. */
struct align_text {
  bool skip_unknown;   /* a word that is not in the lexicon is left out, with a warning */
  char *buffer;        /* the tokens */
  const char **tokens; /* (count): as they stand in the text */
  struct linnet_align_word *words;
  struct linnet_pronunciation *variants;
  int *labels; /* (count), of a text of phones */
  size_t count;
};

/* Words by the lexicon: a token is looked up as it is, then without the punctuation around it; tokens of punctuation
 * alone are dropped. False after printing which words are unknown and what to do; `name` is for messages. */
bool align_text_words(struct align_text *text, const struct vocabulary *vocabulary, const char *name,
                      const char *words);

/* Phones, with or without stress digits. */
bool align_text_phones(struct align_text *text, const struct vocabulary *vocabulary, const char *name,
                       const char *phones);

void align_text_release(struct align_text *text);

#endif
