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

/* All functions here fail with LINNET_ERROR_ARGUMENT on a NULL pointer or a dimension out of range, and then change
 * nothing. This one sets the statistics to zero frames of `dim` values. */
LINNET_API enum linnet_status linnet_cmvn_reset(struct linnet_cmvn *cmvn, size_t dim);

/* Adds features (frames, dim), row-major. */
LINNET_API enum linnet_status linnet_cmvn_accumulate(struct linnet_cmvn *cmvn, const float *features, size_t frames);

/* Adds the frames of one whole utterance of log-mel energies that `chosen` selects. The level of a frame is its largest
 * value. The level of the utterance is the logarithm of the mean power over its loudest 20 consecutive frames. A frame
 * is speech if its level is less than 30 dB below that of the utterance and above the floor of the logarithm. If no
 * frame is speech, all frames count. */
LINNET_API enum linnet_status linnet_cmvn_accumulate_frames(struct linnet_cmvn *cmvn, enum linnet_cmvn_frames chosen,
                                                            const float *features, size_t frames);

/* Adds the statistics of `other`, which must have the same dimension. */
LINNET_API enum linnet_status linnet_cmvn_add(struct linnet_cmvn *cmvn, const struct linnet_cmvn *other);

/* Subtracts the mean and, if `variance` is not 0, divides by the standard deviation (minimum of the variance: 1e-10),
 * in place. LINNET_ERROR_STATE if `frames` is above 0 and the statistics have no frames. */
LINNET_API enum linnet_status linnet_cmvn_apply(const struct linnet_cmvn *cmvn, int variance, float *features,
                                                size_t frames);

/* --- running statistics, which need no later frames: LINNET_CMVN_RUNNING */

/* Gives statistics the weight of `frames` frames, above 0: mean and variance stay. LINNET_ERROR_STATE if they have no
 * frames. */
LINNET_API enum linnet_status linnet_cmvn_scale(struct linnet_cmvn *cmvn, double frames);

/* Normalises frame after frame in place, each by the statistics of those before it: as linnet_cmvn_apply does by *cmvn,
 * to which it then adds the frame. With LINNET_CMVN_SPEECH_FRAMES it adds only frames whose normalised values, with
 * variance, have a mean above -1. At the start of an utterance, *cmvn has the global statistics with the weight of some
 * frames. If `memory` is above 0, statistics of more frames get that weight (linnet_cmvn_scale). How the frames are
 * divided among calls makes no difference. */
LINNET_API enum linnet_status linnet_cmvn_run(struct linnet_cmvn *cmvn, enum linnet_cmvn_frames chosen, int variance,
                                              double memory, float *features, size_t frames);

#ifdef __cplusplus
}
#endif
#endif
