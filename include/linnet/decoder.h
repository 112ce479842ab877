/* Decoding of CTC log-posteriors (frames, symbols), and scoring of what was decoded. The posteriors may come from any
 * system; nothing here knows of audio. Symbol 0 is the blank. */
#ifndef LINNET_DECODER_H
#define LINNET_DECODER_H

#include <linnet/calibration.h>
#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One decoded symbol with the frames it spans. */
struct linnet_segment {
  int symbol;
  size_t start, end; /* frames, [start, end): from its first to after its last non-blank frame */
  float confidence;  /* mean posterior of the symbol over these frames, 0 to 1; calibrated where that was asked for */
};

/* Greedy decoding, fed in blocks: the best symbol of each frame, repeats merged, blanks dropped (Graves 2006, best
 * path). Of equal values the lowest symbol wins. NaN is never best; a row of nothing but NaN and -infinity is a blank.
 * Memory is allocated only when more segments come than ever before, so a warm object allocates nothing.
 *
 * Threads: one object, one thread at a time. */
struct linnet_greedy;

/* `symbols` is the row length, blank included: 1 to 2^24. */
LINNET_API enum linnet_status linnet_greedy_create(struct linnet_context *context, int symbols,
                                                   struct linnet_greedy **greedy);

/* How confidences are calibrated from now on, copied; NULL: not at all, as at first. Only between utterances:
 * LINNET_ERROR_STATE once frames were taken, until linnet_greedy_reset, which keeps them. */
LINNET_API enum linnet_status linnet_greedy_set_calibrations(struct linnet_greedy *greedy,
                                                             const struct linnet_calibrations *calibrations);

/* Takes log_posteriors (frames, symbols), row-major, natural logarithm. Any chunking gives the same segments. May be
 * used as a linnet_posterior_fn's body. On LINNET_ERROR_MEMORY reset the object: some rows may have been taken. */
LINNET_API enum linnet_status linnet_greedy_accept(struct linnet_greedy *greedy, const float *log_posteriors,
                                                   size_t frames);

/* What was decoded so far; the last segment may still grow. The array is valid until the next call on the object. */
LINNET_API const struct linnet_segment *linnet_greedy_segments(const struct linnet_greedy *greedy, size_t *count);

/* Drops the first `count` segments, which the caller has used, so that an utterance without an end takes no more and
 * more memory. The last one may still grow and stays: `count` must be less than the number of segments, or 0. */
LINNET_API enum linnet_status linnet_greedy_drop(struct linnet_greedy *greedy, size_t count);

/* Starts over at frame 0, keeping the memory. */
LINNET_API void linnet_greedy_reset(struct linnet_greedy *greedy);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_greedy_destroy(struct linnet_greedy *greedy);

/* Counts of an alignment of least errors (Levenshtein) between a reference and a hypothesis. */
struct linnet_score {
  size_t num_reference; /* tokens in the reference; num_reference - num_substitutions - num_deletions are correct */
  size_t num_substitutions, num_insertions, num_deletions;
};

/* Aligns two token sequences, compared as numbers, and adds the counts to *score. Among alignments of equal cost the
 * choice is that of NIST sclite (costs: substitution 4, insertion 3, deletion 3). Memory grows with the square root of
 * the reference's length times the hypothesis's; LINNET_ERROR_LIMIT beyond 2^18 tokens or a product of 2^33. A
 * corpus is scored more comfortably by a linnet_scorer (score.h). */
LINNET_API enum linnet_status linnet_score_add(struct linnet_context *context, const int *reference,
                                               size_t num_reference, const int *hypothesis, size_t num_hypothesis,
                                               struct linnet_score *score);

/* Errors over reference tokens, in percent; 0 for an empty reference without errors, infinity with errors. */
LINNET_API double linnet_score_percent(const struct linnet_score *score);

#ifdef __cplusplus
}
#endif
#endif
