/* Greedy decoding of CTC log-posteriors (frames, symbols), which arrive in chunks: takes the best symbol of each frame,
 * merges repeats and drops blanks (Graves 2006, best path). The posteriors may come from any system. Symbol 0 is the
 * blank. Of equal values the lowest symbol wins. NaN is never the best value; a row that has only NaN and -infinity
 * counts as a blank. The object allocates memory only when an utterance has more segments than all utterances before.
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

/* Sets the calibrations of confidences, which the object copies. NULL, as in a new object: no calibration. Call it only
 * between utterances: after the first frame it fails with LINNET_ERROR_STATE, until linnet_greedy_reset. A reset does
 * not change the calibrations. */
LINNET_API enum linnet_status linnet_greedy_set_calibrations(struct linnet_greedy *greedy,
                                                             const struct linnet_calibrations *calibrations);

/* Sets the blank penalty, which the decoder subtracts from the log-posterior of the blank before it compares: above 0
 * it finds more symbols, below 0 fewer. CTC models give the blank most of the probability, so they delete more symbols
 * than they insert. 0 in a new object. Confidences are of the posteriors as they are. Call it only between utterances,
 * as linnet_greedy_set_calibrations. */
LINNET_API enum linnet_status linnet_greedy_set_blank_penalty(struct linnet_greedy *greedy, float penalty);

/* Takes log_posteriors (frames, symbols), row-major, natural logarithm. The segments do not depend on how the rows are
 * divided into chunks. A linnet_posterior_fn may call it. After LINNET_ERROR_MEMORY reset the object, because it may
 * have taken some of the rows. */
LINNET_API enum linnet_status linnet_greedy_accept(struct linnet_greedy *greedy, const float *log_posteriors,
                                                   size_t frames);

/* The segments decoded so far. The end and the confidence of the last one may still change. The array is valid until
 * the next call on the object. */
LINNET_API const struct linnet_segment *linnet_greedy_segments(const struct linnet_greedy *greedy, size_t *count);

/* Removes the first `count` segments, which the caller no longer needs, so that memory does not grow in an endless
 * utterance. The last segment must stay, because it may still change: `count` must be less than the number of segments,
 * or 0. */
LINNET_API enum linnet_status linnet_greedy_drop(struct linnet_greedy *greedy, size_t count);

/* Starts again at frame 0. The object keeps its memory. */
LINNET_API void linnet_greedy_reset(struct linnet_greedy *greedy);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_greedy_destroy(struct linnet_greedy *greedy);

#ifdef __cplusplus
}
#endif
#endif
