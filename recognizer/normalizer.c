/* Normalisation of the features of an utterance. */
#include "recognizer/normalizer.h"

#include <math.h>

#include "frontend/features/speech_level.h"

void linnet_normalizer_init(struct linnet_normalizer *n, const struct linnet_model *model) {
  *n = (struct linnet_normalizer){.model = model};
  linnet_model_features(model, &n->config);
  linnet_normalizer_reset(n);
}

void linnet_normalizer_reset(struct linnet_normalizer *n) {
  if (n->config.cmvn != LINNET_CMVN_RUNNING)
    return;
  n->running = *linnet_model_cmvn(n->model);
  linnet_cmvn_scale(&n->running, n->config.cmvn_prior);
}

static double mean_of(const struct linnet_cmvn *cmvn) {
  double sum = 0;
  for (size_t i = 0; i < cmvn->dim; i++)
    sum += cmvn->sum[i] / cmvn->count;
  return sum / (double)cmvn->dim;
}

/* Adds `shift` to all values that were counted. */
static void shift_values(struct linnet_cmvn *cmvn, double shift) {
  for (size_t i = 0; i < cmvn->dim; i++) {
    cmvn->square[i] += shift * (2 * cmvn->sum[i] + shift * cmvn->count);
    cmvn->sum[i] += shift * cmvn->count;
  }
}

/* By how much the loudest 0.2 s of speech are above the mean over bands and frames with speech: a median of 7.5 to 8.1
 * (natural logarithm) in three sets, and 5.7 to 10.8 in all utterances. */
static const double usual_peak = 7.75;
static const double usual_range = 10; /* dB: a network knows levels that differ so much from the training data's */

void linnet_normalizer_set_level(struct linnet_normalizer *n, const float *features, size_t frames) {
  if (n->config.cmvn != LINNET_CMVN_RUNNING || frames == 0)
    return;
  const double peak = linnet_speech_threshold(features, frames, n->config.fbank.num_mel, 0);
  const double shift = peak - usual_peak - mean_of(&n->running);
  if (fabs(shift) > usual_range * log(10) / 10)
    shift_values(&n->running, shift);
}

void linnet_normalizer_apply(struct linnet_normalizer *n, float *features, size_t frames) {
  const struct linnet_feature_config *config = &n->config;
  struct linnet_cmvn own;
  const struct linnet_cmvn *statistics = linnet_model_cmvn(n->model);
  if (config->cmvn == LINNET_CMVN_RUNNING)
    linnet_cmvn_run(&n->running, config->cmvn_frames, config->cmvn_variance, config->cmvn_memory, features, frames);
  if (config->cmvn == LINNET_CMVN_NONE || config->cmvn == LINNET_CMVN_RUNNING)
    return;
  if (!statistics && config->cmvn == LINNET_CMVN_SPEAKER && n->speaker.count > 0)
    statistics = &n->speaker;
  if (!statistics) {
    linnet_cmvn_reset(&own, config->fbank.num_mel);
    linnet_cmvn_accumulate_frames(&own, config->cmvn_frames, features, frames);
    statistics = &own;
  }
  linnet_cmvn_apply(statistics, config->cmvn_variance, features, frames);
}
