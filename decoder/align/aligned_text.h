/* An aligned text's parts. */
#ifndef LINNET_ALIGNED_TEXT_H
#define LINNET_ALIGNED_TEXT_H

#include <linnet/text_aligner.h>

#include "decoder/g2p/g2p_demand.h"
#include "decoder/words/symbols.h"

struct linnet_text_aligner {
  struct linnet_context *context;
  struct linnet_vocabulary vocabulary;
  struct linnet_text_normalizer *normalizer;
  struct linnet_g2p_demand *g2p; /* NULL: unknown words are not guessed */
  double emission_delay;         /* seconds */
};

struct linnet_aligned_text {
  struct linnet_context *context;
  const struct linnet_text_aligner *aligner;
  struct linnet_pronounced_text *spoken; /* of words; NULL: phones */
  const char **tokens;                   /* (num_tokens), as they stand in the text */
  size_t num_tokens;
  const struct linnet_align_word *words; /* (num_words) to align */
  size_t num_words;
  char *buffer; /* of a text of phones: its tokens, pronunciations and labels */
  struct linnet_align_word *phones;
  struct linnet_pronunciation *variants;
  int *labels;
  struct linnet_alignment *alignment; /* the result: */
  size_t frames;
  double frame_seconds, seconds; /* of the recording: the last frame may reach beyond it */
  struct linnet_span *word_spans, *phone_spans;
  size_t num_word_spans, num_phone_spans;
  size_t *line_ends; /* (num_lines) of a text of several lines: the word spans up to the end of each; else NULL */
  size_t num_lines;
  struct linnet_output_jump *jumps; /* NULL: none were looked for */
  size_t num_jumps;
};

/* Makes spans and jumps of the alignment; LINNET_ERROR_MEMORY. To be released in either case. */
enum linnet_status linnet_aligned_spans_make(struct linnet_aligned_text *text, bool jumps);
void linnet_aligned_spans_release(struct linnet_aligned_text *text);

#endif
