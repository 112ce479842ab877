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

/* --- normalising -------------------------------------------------------------------------------------------------- */

/* y = scale * x - offset */
struct line {
  double scale, offset;
};

static struct line normalisation(const struct linnet_cmvn *cmvn, size_t i, int variance) {
  const double mean = cmvn->sum[i] / cmvn->count, spread = fmax(cmvn->square[i] / cmvn->count - mean * mean, 1e-10);
  const double scale = variance ? 1 / sqrt(spread) : 1;
  return (struct line){scale, scale * mean};
}

enum linnet_status linnet_cmvn_apply(const struct linnet_cmvn *cmvn, int variance, float *features, size_t frames) {
  if (!valid(cmvn) || (frames > 0 && !features))
    return LINNET_ERROR_ARGUMENT;
  if (frames > 0 && !(cmvn->count > 0))
    return LINNET_ERROR_STATE;
  struct line lines[LINNET_CMVN_MAX_DIM];
  for (size_t i = 0; i < cmvn->dim && frames > 0; i++)
    lines[i] = normalisation(cmvn, i, variance);
  for (size_t t = 0; t < frames; t++)
    for (size_t i = 0; i < cmvn->dim; i++)
      features[t * cmvn->dim + i] = (float)(lines[i].scale * features[t * cmvn->dim + i] - lines[i].offset);
  return LINNET_OK;
}

/* --- running statistics ------------------------------------------------------------------------------------------- */

static const double speech_mean = -1; /* of normalised values: a frame above it is speech */

enum linnet_status linnet_cmvn_scale(struct linnet_cmvn *cmvn, double frames) {
  if (!valid(cmvn) || !(frames > 0 && isfinite(frames)))
    return LINNET_ERROR_ARGUMENT;
  if (!(cmvn->count > 0))
    return LINNET_ERROR_STATE;
  for (size_t i = 0; i < cmvn->dim; i++) {
    cmvn->sum[i] *= frames / cmvn->count;
    cmvn->square[i] *= frames / cmvn->count;
  }
  cmvn->count = frames;
  return LINNET_OK;
}

/* Normalises a frame x to y; returns the mean of the values that it has with variance. */
static double run_frame(const struct linnet_cmvn *cmvn, int variance, const float *x, float *y) {
  double sum = 0;
  for (size_t i = 0; i < cmvn->dim; i++) {
    const struct line line = normalisation(cmvn, i, 1);
    const double scaled = line.scale * x[i] - line.offset;
    y[i] = (float)(variance ? scaled : scaled / line.scale);
    sum += scaled;
  }
  return sum / (double)cmvn->dim;
}

enum linnet_status linnet_cmvn_run(struct linnet_cmvn *cmvn, enum linnet_cmvn_frames chosen, int variance,
                                   double memory, float *features, size_t frames) {
  if (!valid(cmvn) || (frames > 0 && !features))
    return LINNET_ERROR_ARGUMENT;
  if (frames > 0 && !(cmvn->count > 0))
    return LINNET_ERROR_STATE;
  for (size_t t = 0; t < frames; t++) {
    float *x = features + t * cmvn->dim, y[LINNET_CMVN_MAX_DIM];
    const double mean = run_frame(cmvn, variance, x, y);
    if (isfinite(mean) && (mean > speech_mean || chosen == LINNET_CMVN_ALL_FRAMES))
      linnet_cmvn_accumulate(cmvn, x, 1);
    if (memory > 0 && cmvn->count > memory)
      linnet_cmvn_scale(cmvn, memory);
    memcpy(x, y, cmvn->dim * sizeof *x);
  }
  return LINNET_OK;
}
