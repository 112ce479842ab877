/* An alignment from within: what makes one, and what the path is read into. */
#ifndef LINNET_ALIGNMENT_H
#define LINNET_ALIGNMENT_H

#include <linnet/align.h>

#include "decoder/align/align_viterbi.h"
#include "decoder/base/calibration.h"

struct linnet_alignment {
  struct linnet_context *context;
  double score;
  struct linnet_aligned_phone *phones;
  struct linnet_aligned_word *words;
  struct linnet_align_jump *jumps;
  size_t num_phones, phone_capacity, num_words, word_capacity, num_jumps, jump_capacity;
};

/* All that making an alignment needs. */
struct linnet_align_maker {
  struct linnet_context *context;
  const float *log_posteriors;
  size_t frames, symbols;
  const struct linnet_align_word *words;
  size_t count;
  struct linnet_align_settings settings;
  struct linnet_calibrations calibrations;
  struct linnet_align_graph graph;
  struct linnet_align_path path;
  struct linnet_alignment *result;
};

static inline enum linnet_status linnet_align_out_of_memory(const struct linnet_align_maker *maker) {
  return linnet_fail(maker->context, LINNET_ERROR_MEMORY, "out of memory for the alignment of %zu words", maker->count);
}

/* Turns the path into phones, words and jumps. LINNET_ERROR_MEMORY or LINNET_OK. */
enum linnet_status linnet_align_read_path(struct linnet_align_maker *maker);

/* Confidence and goodness of pronunciation of all phones and words. */
enum linnet_status linnet_align_measure(const struct linnet_align_maker *maker);

#endif
