/* A recognizer: a model and a search in its posteriors. */
#include "recognizer/recognizer_parts.h"

#include "base/settings.h"
#include "recognizer/second_pass.h"

void(linnet_recognizer_settings_default)(struct linnet_recognizer_settings *settings, size_t size) {
  static const struct linnet_recognizer_settings defaults = {.size = sizeof defaults, .ensemble_weight = 0.5};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

enum linnet_status linnet_model_load_source(struct linnet_context *context, const struct linnet_source *source,
                                            struct linnet_model **model) {
  return source->data
             ? linnet_model_load_memory(context, source->data, source->bytes, linnet_source_name(source), model)
             : linnet_model_load(context, source->path, model);
}

/* Where the filterbank ends; 0 and below count from half the sample rate (fbank.h). */
static double highest_frequency(const struct linnet_fbank_settings *fbank) {
  return fbank->high_frequency > 0 ? fbank->high_frequency : fbank->sample_rate / 2 + fbank->high_frequency;
}

static bool same_filterbank(const struct linnet_model *first, const struct linnet_model *second) {
  struct linnet_feature_config features[2];
  linnet_model_features(first, &features[0]);
  linnet_model_features(second, &features[1]);
  const struct linnet_fbank_settings *a = &features[0].fbank, *b = &features[1].fbank;
  return a->sample_rate == b->sample_rate && a->frame_length == b->frame_length && a->frame_shift == b->frame_shift &&
         a->num_mel == b->num_mel && a->low_frequency == b->low_frequency &&
         highest_frequency(a) == highest_frequency(b) && a->preemphasis == b->preemphasis;
}

enum linnet_status linnet_check_same_rows(struct linnet_context *context, const struct linnet_model *first,
                                          const struct linnet_model *second) {
  if (!same_filterbank(first, second))
    return linnet_fail(context, LINNET_ERROR_UNSUPPORTED, "its model has another filterbank than the first model");
  if (linnet_model_stride(first) != linnet_model_stride(second))
    return linnet_fail(context, LINNET_ERROR_UNSUPPORTED,
                       "its model stacks %zu frames, but the first model %zu: they must stack as many",
                       linnet_model_stride(second), linnet_model_stride(first));
  return LINNET_OK;
}

static enum linnet_status load_model(struct linnet_recognizer *r, const struct linnet_recognizer_settings *settings) {
  const struct linnet_source *source = &settings->model;
  r->model = settings->shared_model;
  if (r->model)
    return linnet_check_speech_model(r->context, r->model);
  if (!linnet_source_given(source))
    return linnet_fail(r->context, LINNET_ERROR_ARGUMENT, "a recognizer needs a model: name its file");
  const enum linnet_status status = linnet_model_load_source(r->context, source, &r->own_model);
  r->model = r->own_model;
  return status == LINNET_OK ? LINNET_OK : linnet_fail_setting(r->context, "model", status);
}

/* If the settings have no calibrations, those of the model apply. */
static enum linnet_status open_search(struct linnet_recognizer *r, const struct linnet_search_settings *given) {
  struct linnet_search_settings settings;
  LINNET_TRY(LINNET_READ_SETTINGS(r->context, search, given, &settings));
  if (!settings.calibrations)
    settings.calibrations = linnet_model_calibrations(r->model);
  return linnet_search_create(r->context, linnet_model_symbols(r->model), linnet_model_num_symbols(r->model), &settings,
                              &r->search);
}

static enum linnet_status read_stream_settings(struct linnet_recognizer *r,
                                               const struct linnet_recognizer_settings *settings) {
  if (!(settings->partial_interval >= 0))
    return linnet_fail(r->context, LINNET_ERROR_ARGUMENT, "partial_interval is %g seconds, it must be at least 0",
                       settings->partial_interval);
  r->partial_interval = settings->partial_interval;
  r->has_endpoints = settings->endpoint != NULL;
  return r->has_endpoints ? linnet_endpoint_read(r->context, settings->endpoint, &r->endpoints) : LINNET_OK;
}

/* The search, and that of the second pass if there is one. */
static enum linnet_status open_passes(struct linnet_recognizer *r, const struct linnet_recognizer_settings *given) {
  struct linnet_recognizer_settings settings = *given;
  struct linnet_shared_search shared;
  if (!given->second_pass)
    return open_search(r, given->search);
  enum linnet_status status = linnet_shared_search_open(r->context, given->search, &shared);
  settings.search = &shared.settings;
  if (status == LINNET_OK)
    status = open_search(r, settings.search);
  if (status == LINNET_OK)
    status = linnet_second_pass_load(r, &settings, &r->second);
  linnet_shared_search_release(r->context, &shared);
  return status;
}

static enum linnet_status open_parts(struct linnet_recognizer *r, const struct linnet_recognizer_settings *settings,
                                     const struct linnet_model *ensemble_model) {
  struct linnet_feature_config features;
  LINNET_TRY(linnet_silence_lengths_check(r->context, "the recognizer's settings", settings->max_silence,
                                          settings->edge_silence));
  LINNET_TRY(read_stream_settings(r, settings));
  LINNET_TRY(load_model(r, settings));
  linnet_model_features(r->model, &features);
  r->lengths = linnet_silence_lengths_of(&features, settings->max_silence, settings->edge_silence);
  LINNET_TRY(linnet_ensemble_load(r->context, settings, r->model, ensemble_model, &r->ensemble));
  return open_passes(r, settings);
}

enum linnet_status linnet_recognizer_create_with(struct linnet_context *context,
                                                 const struct linnet_recognizer_settings *settings,
                                                 const struct linnet_model *ensemble_model,
                                                 struct linnet_recognizer **recognizer) {
  struct linnet_recognizer *r = linnet_calloc(context, 1, sizeof *r);
  if (!r)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a recognizer");
  r->context = context;
  enum linnet_status status = open_parts(r, settings, ensemble_model);
  if (status == LINNET_OK)
    *recognizer = r;
  else
    linnet_recognizer_destroy(r);
  return status;
}

enum linnet_status linnet_recognizer_create(struct linnet_context *context,
                                            const struct linnet_recognizer_settings *settings,
                                            struct linnet_recognizer **recognizer) {
  struct linnet_recognizer_settings full;
  if (recognizer)
    *recognizer = NULL;
  if (!context || !settings || !recognizer)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_recognizer_create: an argument is NULL");
  LINNET_TRY(LINNET_READ_SETTINGS(context, recognizer, settings, &full));
  return linnet_recognizer_create_with(context, &full, NULL, recognizer);
}

const struct linnet_model *linnet_recognizer_model(const struct linnet_recognizer *r) {
  return r->model;
}

const struct linnet_search *linnet_recognizer_search(const struct linnet_recognizer *r) {
  return r->search;
}

const struct linnet_model *linnet_recognizer_ensemble_model(const struct linnet_recognizer *r) {
  return r->ensemble.model;
}

const struct linnet_recognizer *linnet_recognizer_second_pass(const struct linnet_recognizer *r) {
  return r->second;
}

int linnet_recognizer_is_incremental(const struct linnet_recognizer *r) {
  return linnet_runs_along(r->model);
}

void linnet_recognizer_destroy(struct linnet_recognizer *r) {
  if (!r)
    return;
  linnet_recognizer_destroy(r->second);
  linnet_search_destroy(r->search);
  linnet_ensemble_release(&r->ensemble);
  linnet_model_destroy(r->own_model);
  linnet_free(r->context, r);
}
