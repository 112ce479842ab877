/* Cepstral mean and variance normalisation. */
#include <linnet/cmvn.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "frontend/features/speech_level.h"

static bool valid(const struct linnet_cmvn *cmvn) {
  return cmvn && cmvn->dim >= 1 && cmvn->dim <= LINNET_CMVN_MAX_DIM;
}

enum linnet_status linnet_cmvn_reset(struct linnet_cmvn *cmvn, size_t dim) {
  if (!cmvn || dim < 1 || dim > LINNET_CMVN_MAX_DIM)
    return LINNET_ERROR_ARGUMENT;
  memset(cmvn, 0, sizeof *cmvn);
  cmvn->dim = dim;
  return LINNET_OK;
}

enum linnet_status linnet_cmvn_accumulate(struct linnet_cmvn *cmvn, const float *features, size_t frames) {
  if (!valid(cmvn) || (frames > 0 && !features))
    return LINNET_ERROR_ARGUMENT;
  size_t dim = cmvn->dim;
  for (size_t t = 0; t < frames; t++) {
    const float *x = features + t * dim;
    for (size_t i = 0; i < dim; i++) {
      cmvn->sum[i] += x[i];
      cmvn->square[i] += (double)x[i] * x[i];
    }
  }
  cmvn->count += (double)frames;
  return LINNET_OK;
}

/* --- frames with speech ------------------------------------------------------------------------------------------- */

static const double speech_range = 30; /* dB below the level of the utterance */

static size_t accumulate_above(struct linnet_cmvn *cmvn, double level, const float *features, size_t frames) {
  size_t dim = cmvn->dim, count = 0;
  for (size_t t = 0; t < frames; t++)
    if (linnet_frame_level(features + t * dim, dim) > level) {
      linnet_cmvn_accumulate(cmvn, features + t * dim, 1);
      count++;
    }
  return count;
}

enum linnet_status linnet_cmvn_accumulate_frames(struct linnet_cmvn *cmvn, enum linnet_cmvn_frames chosen,
                                                 const float *features, size_t frames) {
  if (!valid(cmvn) || (frames > 0 && !features))
    return LINNET_ERROR_ARGUMENT;
  if (chosen == LINNET_CMVN_SPEECH_FRAMES && frames > 0) {
    double level = linnet_speech_threshold(features, frames, cmvn->dim, speech_range);
    if (accumulate_above(cmvn, level, features, frames) > 0)
      return LINNET_OK;
  }
  return linnet_cmvn_accumulate(cmvn, features, frames);
}

enum linnet_status linnet_cmvn_add(struct linnet_cmvn *cmvn, const struct linnet_cmvn *other) {
  if (!valid(cmvn) || !valid(other) || cmvn->dim != other->dim)
    return LINNET_ERROR_ARGUMENT;
  for (size_t i = 0; i < cmvn->dim; i++) {
    cmvn->sum[i] += other->sum[i];
    cmvn->square[i] += other->square[i];
  }
  cmvn->count += other->count;
  return LINNET_OK;
}

enum linnet_status linnet_cmvn_apply(const struct linnet_cmvn *cmvn, int variance, float *features, size_t frames) {
  if (!valid(cmvn) || (frames > 0 && !features))
    return LINNET_ERROR_ARGUMENT;
  if (frames > 0 && !(cmvn->count > 0))
    return LINNET_ERROR_STATE;
  size_t dim = cmvn->dim;
  double scale[LINNET_CMVN_MAX_DIM], offset[LINNET_CMVN_MAX_DIM]; /* y = scale * x - offset */
  for (size_t i = 0; i < dim && frames > 0; i++) {
    double mean = cmvn->sum[i] / cmvn->count;
    double spread = fmax(cmvn->square[i] / cmvn->count - mean * mean, 1e-10);
    scale[i] = variance ? 1 / sqrt(spread) : 1;
    offset[i] = scale[i] * mean;
  }
  for (size_t t = 0; t < frames; t++)
    for (size_t i = 0; i < dim; i++)
      features[t * dim + i] = (float)(scale[i] * features[t * dim + i] - offset[i]);
  return LINNET_OK;
}
