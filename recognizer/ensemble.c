/* The second network of an ensemble, and the averages of two networks. */
#include "recognizer/ensemble.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/settings.h"
#include "recognizer/normalizer.h"
#include "recognizer/recognizer_parts.h"

/* --- the ensemble of a recognizer --------------------------------------------------------------------------------- */

static enum linnet_status check_symbols(struct linnet_context *context, const struct linnet_model *first,
                                        const struct linnet_model *second) {
  const size_t count = linnet_model_num_symbols(first);
  if (linnet_model_num_symbols(second) != count)
    return linnet_fail(context, LINNET_ERROR_UNSUPPORTED, "it has %zu symbols, but the first model %zu",
                       linnet_model_num_symbols(second), count);
  for (int i = 0; i < (int)count; i++)
    if (strcmp(linnet_model_symbol(first, i), linnet_model_symbol(second, i)) != 0)
      return linnet_fail(context, LINNET_ERROR_UNSUPPORTED,
                         "its symbol %d is \"%s\", but that of the first model \"%s\"", i,
                         linnet_model_symbol(second, i), linnet_model_symbol(first, i));
  return LINNET_OK;
}

static enum linnet_status load(struct linnet_context *context, const struct linnet_source *source,
                               const struct linnet_model *first, struct linnet_ensemble *ensemble) {
  if (linnet_runs_along(first))
    return linnet_fail(context, LINNET_ERROR_UNSUPPORTED,
                       "the first model recognises speech while it arrives, which an ensemble cannot");
  if (!ensemble->model) {
    LINNET_TRY(linnet_model_load_source(context, source, &ensemble->own_model));
    ensemble->model = ensemble->own_model;
  }
  LINNET_TRY(linnet_check_same_rows(context, first, ensemble->model));
  return check_symbols(context, first, ensemble->model);
}

/* Names the setting, and what helps if the file is missing. */
static enum linnet_status fail_model(struct linnet_context *context, enum linnet_status status) {
  char reason[LINNET_ERROR_BYTES];
  if (status != LINNET_ERROR_IO)
    return linnet_fail_setting(context, "ensemble_model", status);
  snprintf(reason, sizeof reason, "%s", linnet_context_error(context));
  return linnet_fail(context, status, "ensemble_model: %s; set ensemble_weight to 0 to do without it", reason);
}

static enum linnet_status check_settings(struct linnet_context *context,
                                         const struct linnet_recognizer_settings *settings) {
  if (!(settings->ensemble_weight >= 0 && settings->ensemble_weight < 1))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "ensemble_weight is %g; it must be 0 or more, and less than 1",
                       settings->ensemble_weight);
  if (!(settings->ensemble_delay >= 0 && settings->ensemble_delay <= 10))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "ensemble_delay is %g; it must be 0 to 10 seconds",
                       settings->ensemble_delay);
  return LINNET_OK;
}

enum linnet_status linnet_ensemble_load(struct linnet_context *context,
                                        const struct linnet_recognizer_settings *settings,
                                        const struct linnet_model *first, const struct linnet_model *loaded,
                                        struct linnet_ensemble *ensemble) {
  *ensemble = (struct linnet_ensemble){.weight = (float)settings->ensemble_weight};
  LINNET_TRY(check_settings(context, settings));
  if (!linnet_source_given(&settings->ensemble_model) || !(settings->ensemble_weight > 0))
    return LINNET_OK;
  ensemble->model = loaded;
  ensemble->delay = (size_t)llround(settings->ensemble_delay / linnet_model_frame_seconds(first));
  const enum linnet_status status = load(context, &settings->ensemble_model, first, ensemble);
  return status == LINNET_OK ? LINNET_OK : fail_model(context, status);
}

void linnet_ensemble_release(struct linnet_ensemble *ensemble) {
  linnet_model_destroy(ensemble->own_model);
  *ensemble = (struct linnet_ensemble){.model = NULL};
}

/* --- the second network of a stream ------------------------------------------------------------------------------- */

struct linnet_companion {
  struct linnet_context *context;
  const struct linnet_ensemble *ensemble;
  struct linnet_normalizer normalizer;
  struct linnet_encoder *encoder;
  size_t symbols;
  float *features; /* (frames, num_mel) of an utterance */
  float *rows;     /* (num_rows, symbols): its log-posteriors */
  size_t num_rows;
  float *averages;
  size_t features_capacity, rows_capacity, averages_capacity; /* in elements */
};

enum linnet_status linnet_companion_create(struct linnet_context *context, const struct linnet_ensemble *ensemble,
                                           struct linnet_companion **companion) {
  struct linnet_companion *c = *companion = linnet_calloc(context, 1, sizeof *c);
  if (!c)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the second network of an ensemble");
  c->context = context;
  c->ensemble = ensemble;
  c->symbols = linnet_model_num_symbols(ensemble->model);
  linnet_normalizer_init(&c->normalizer, ensemble->model);
  return linnet_encoder_create(context, ensemble->model, &c->encoder);
}

void linnet_companion_destroy(struct linnet_companion *c) {
  if (!c)
    return;
  linnet_encoder_destroy(c->encoder);
  linnet_free(c->context, c->features);
  linnet_free(c->context, c->rows);
  linnet_free(c->context, c->averages);
  linnet_free(c->context, c);
}

void linnet_companion_set_speaker(struct linnet_companion *c, const struct linnet_cmvn *cmvn) {
  c->normalizer.speaker = cmvn ? *cmvn : (struct linnet_cmvn){.count = 0};
}

/* Makes `*array` hold `elements`; those that it has stay. */
static enum linnet_status reserve(struct linnet_companion *c, float **array, size_t *capacity, size_t elements) {
  float *grown = linnet_grow(c->context, *array, capacity, elements, sizeof *grown);
  if (!grown)
    return linnet_fail(c->context, LINNET_ERROR_MEMORY, "out of memory for the second network of an ensemble");
  *array = grown;
  return LINNET_OK;
}

enum linnet_status linnet_companion_run(struct linnet_companion *c, const float *features, size_t frames,
                                        const struct linnet_silence *silence) {
  const size_t mel = c->normalizer.config.fbank.num_mel;
  c->num_rows = 0;
  LINNET_TRY(reserve(c, &c->features, &c->features_capacity, frames * mel));
  memcpy(c->features, features, frames * mel * sizeof *features);
  if (silence)
    frames = linnet_silence_remove(silence, c->features, frames, mel);
  linnet_normalizer_reset(&c->normalizer);
  linnet_normalizer_set_level(&c->normalizer, c->features, frames);
  linnet_normalizer_apply(&c->normalizer, c->features, frames);
  const size_t rows = linnet_model_num_output_frames(c->ensemble->model, frames);
  if (rows == 0)
    return LINNET_OK;
  LINNET_TRY(reserve(c, &c->rows, &c->rows_capacity, rows * c->symbols));
  LINNET_TRY(linnet_encoder_compute(c->encoder, c->features, frames, c->rows));
  c->num_rows = rows;
  return LINNET_OK;
}

/* *row = (1 - weight) *row + weight *other, and then so that the probabilities add up to 1 again. */
static void average(float weight, const float *other, size_t symbols, float *row) {
  float largest = -INFINITY, sum = 0;
  for (size_t i = 0; i < symbols; i++) {
    row[i] = (1 - weight) * row[i] + weight * other[i];
    largest = fmaxf(largest, row[i]);
  }
  for (size_t i = 0; i < symbols; i++)
    sum += expf(row[i] - largest);
  const float shift = largest + logf(sum);
  for (size_t i = 0; i < symbols; i++)
    row[i] -= shift;
}

const float *linnet_companion_average(struct linnet_companion *c, const float *log_posteriors, size_t first,
                                      size_t rows) {
  const size_t delay = c->ensemble->delay;
  if (reserve(c, &c->averages, &c->averages_capacity, rows * c->symbols) != LINNET_OK)
    return NULL;
  memcpy(c->averages, log_posteriors, rows * c->symbols * sizeof *log_posteriors);
  for (size_t t = 0; t < rows && first + t + delay < c->num_rows; t++)
    average(c->ensemble->weight, c->rows + (first + t + delay) * c->symbols, c->symbols, c->averages + t * c->symbols);
  return c->averages;
}
