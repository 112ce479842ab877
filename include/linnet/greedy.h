/* Greedy decoding of CTC log-posteriors (frames, symbols), fed in blocks: the best symbol of each frame, repeats
 * merged, blanks dropped (Graves 2006, best path). The posteriors may come from any system; nothing here knows of
 * audio. Symbol 0 is the blank. Of equal values the lowest symbol wins. NaN is never best; a row of nothing but NaN and
 * -infinity is a blank. Memory is allocated only when more segments come than ever before, so a warm object allocates
 * nothing.
 *
 * Threads: one object, one thread at a time.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_GREEDY_H
#define LINNET_GREEDY_H

#include <linnet/calibration.h>
#include <linnet/segment.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_greedy;

/* `symbols` is the row length, blank included: 1 to 2^24. */
LINNET_API enum linnet_status linnet_greedy_create(struct linnet_context *context, size_t symbols,
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

#ifdef __cplusplus
}
#endif
#endif
