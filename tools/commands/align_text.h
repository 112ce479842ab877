/* A text as words with pronunciations for linnet_alignment_create. */
#ifndef LINNET_TOOL_ALIGN_TEXT_H
#define LINNET_TOOL_ALIGN_TEXT_H

#include <stdbool.h>

#include <linnet/pronounced_text.h>

#include "common/vocabulary.h"

/* What words are made from, of all inputs. */
struct align_words {
  const struct vocabulary *vocabulary;
  struct linnet_text_normalizer *normalizer;
  struct linnet_g2p *g2p; /* NULL: unknown words are not guessed */
};

/* Start with zeros. */
struct align_text {
  bool skip_unknown;                     /* words without a pronunciation are no error, but warned of */
  struct linnet_pronounced_text *spoken; /* of words; NULL: phones */
  const char **tokens;                   /* as they stand in the text; by align_text_index */
  const struct linnet_align_word *words;
  size_t count; /* of words to align */
  char *buffer; /* of a text of phones: its tokens, pronunciations and labels */
  struct linnet_align_word *phones;
  struct linnet_pronunciation *variants;
  int *labels;
};

/* --g2p and --text-rules; whether words are guessed. */
extern struct poptOption align_words_options[];
bool align_words_guessed(void);

/* Opens the rules and the model of pronunciations that the options name. False after printing why not; to be closed in
 * either case. */
bool align_words_open(struct align_words *words, struct linnet_context *context, const struct vocabulary *vocabulary);
void align_words_close(struct align_words *words);

/* Words with the pronunciations of all ways to say them (pronounced_text.h). False after printing which have none, and
 * what to do. `name` is that of the input, `source` that of the text in messages. */
bool align_text_words(struct align_text *text, struct linnet_context *context, const struct align_words *words,
                      const char *name, const char *source, const char *written);

/* Phones, with or without stress digits. */
bool align_text_phones(struct align_text *text, const struct vocabulary *vocabulary, const char *name,
                       const char *phones);

/* The index in `tokens` of a word that is aligned. */
size_t align_text_index(const struct align_text *text, size_t word);

void align_text_release(struct align_text *text);

#endif
