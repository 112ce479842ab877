/* Cepstral mean and variance normalisation (CMVN): statistics of features, and features normalised by them.
 *
 * Threads: plain functions on the caller's structures and arrays.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_CMVN_H
#define LINNET_CMVN_H

#include <linnet/features.h>

#ifdef __cplusplus
extern "C" {
#endif

/* These fail with LINNET_ERROR_ARGUMENT on a NULL pointer or a dimension out of range, and then change nothing. */
LINNET_API enum linnet_status linnet_cmvn_reset(struct linnet_cmvn *cmvn, size_t dim);

/* Adds features (frames, dim), row-major. */
LINNET_API enum linnet_status linnet_cmvn_accumulate(struct linnet_cmvn *cmvn, const float *features, size_t frames);

/* Adds the chosen frames of one whole utterance of log-mel energies. A frame's level is its largest value; the level of
 * the utterance is the log of the mean power over those 20 frames in a row that are loudest. Speech is what lies less
 * than 30 dB below that level and above the floor of the logarithm. An utterance without such frames counts as a
 * whole. */
LINNET_API enum linnet_status linnet_cmvn_accumulate_frames(struct linnet_cmvn *cmvn, enum linnet_cmvn_frames chosen,
                                                            const float *features, size_t frames);

/* Adds the statistics of `other`, which must have the same dimension. */
LINNET_API enum linnet_status linnet_cmvn_add(struct linnet_cmvn *cmvn, const struct linnet_cmvn *other);

/* Subtracts the mean and, where `variance`, divides by the standard deviation (floor 1e-10 on the variance), in place.
 * LINNET_ERROR_STATE if there are frames but the statistics hold none. */
LINNET_API enum linnet_status linnet_cmvn_apply(const struct linnet_cmvn *cmvn, int variance, float *features,
                                                size_t frames);

#ifdef __cplusplus
}
#endif
#endif
