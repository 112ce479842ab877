/* A text as words with pronunciations for linnet_alignment_create. */
#ifndef LINNET_TOOL_ALIGN_TEXT_H
#define LINNET_TOOL_ALIGN_TEXT_H

#include <stdbool.h>

#include <linnet/align.h>
#include <linnet/lexicon.h>
#include <linnet/model.h>

/* What gives words and phones their labels; shared by all texts. */
struct align_vocabulary {
  struct linnet_symbols *symbols; /* of the model */
  struct linnet_lexicon *lexicon; /* NULL: texts are phones */
  const char *lexicon_path;
  bool skip_unknown; /* a word that is not in the lexicon is left out, with a warning */
};

/* Start with zeros. */
struct align_text {
  char *buffer;        /* the tokens */
  const char **tokens; /* (count): as they stand in the text */
  struct linnet_align_word *words;
  struct linnet_pronunciation *variants;
  int *labels; /* (count), of a text of phones */
  size_t count;
};

/* The symbols of a model as a table. */
bool align_vocabulary_open(struct align_vocabulary *vocabulary, struct linnet_context *context,
                           const struct linnet_model *model, const char *lexicon_path);
void align_vocabulary_close(struct align_vocabulary *vocabulary);

/* Words by the lexicon: a token is looked up as it is, then without the punctuation around it; tokens of punctuation
 * alone are dropped. False after printing which words are unknown and what to do; `name` is for messages. */
bool align_text_words(struct align_text *text, const struct align_vocabulary *vocabulary, const char *name,
                      const char *words);

/* Phones, with or without stress digits. */
bool align_text_phones(struct align_text *text, const struct align_vocabulary *vocabulary, const char *name,
                       const char *phones);

void align_text_release(struct align_text *text);

#endif
