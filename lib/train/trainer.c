/* Creates and destroys a trainer: settings, model, device memory, workers. */
#include "train/trainer.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/c_locale.h"
#include "base/settings.h"
#include "base/utf8.h"
#include "model/format/feature_config.h"
#include "ops/ctc.h"

void(linnet_train_settings_default)(struct linnet_train_settings *settings, size_t size) {
  const struct linnet_train_settings defaults = {.size = sizeof(struct linnet_train_settings),
                                                 .optimizer = LINNET_TRAIN_RADAM,
                                                 .learning_rate = 1e-4,
                                                 .min_learning_rate = 1e-6,
                                                 .clip_norm = 1,
                                                 .num_batch_frames = 4000,
                                                 .num_epochs = 100,
                                                 .plateau_factor = 0.5,
                                                 .plateau_patience = 2,
                                                 .num_kept_models = 5,
                                                 .checkpoint_seconds = 300,
                                                 .seed = 1,
                                                 .intermediate_weight = 0.3};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

/* Whether value lies in [low, high]; NaN does not. */
static enum linnet_status check_range(struct linnet_context *context, const char *key, double value, double low,
                                      double high) {
  if (value >= low && value <= high)
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_ARGUMENT, "training: %s is %g; it must be %g to %g", key, value, low, high);
}

static enum linnet_status check_settings(struct linnet_context *context, const struct linnet_train_settings *s) {
  LINNET_TRY(check_range(context, "optimizer", s->optimizer, LINNET_TRAIN_ADAM, LINNET_TRAIN_RADAM));
  LINNET_TRY(check_range(context, "schedule", s->schedule, LINNET_TRAIN_PLATEAU, LINNET_TRAIN_COSINE));
  LINNET_TRY(check_range(context, "learning rate", s->learning_rate, 1e-12, 10));
  LINNET_TRY(check_range(context, "minimum learning rate", s->min_learning_rate, 0, s->learning_rate));
  LINNET_TRY(check_range(context, "clipping norm", s->clip_norm, 0, 1e9));
  LINNET_TRY(check_range(context, "frames per batch", (double)s->num_batch_frames, 1, 1e8));
  LINNET_TRY(check_range(context, "epochs", s->num_epochs, 1, 1e6));
  LINNET_TRY(check_range(context, "plateau factor", s->plateau_factor, 1e-3, 1));
  LINNET_TRY(check_range(context, "plateau patience", s->plateau_patience, 1, 1e6));
  LINNET_TRY(check_range(context, "consistency", s->consistency, 0, 100));
  LINNET_TRY(check_range(context, "CTC weight", s->ctc_weight, 0, 100));
  if (s->ctc_weight > 0 && !s->denominator)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "training: a CTC weight needs a denominator, for CTC-CRF");
  LINNET_TRY(check_range(context, "teacher weight", s->teacher_weight, 0, 100));
  if ((s->teacher_weight > 0) != (s->teacher != NULL))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "training: a teacher and a weight of it above 0 go together");
  LINNET_TRY(check_range(context, "frame weight", s->frame_weight, 0, 100));
  LINNET_TRY(check_range(context, "intermediate weight", s->intermediate_weight, 0, 100));
  LINNET_TRY(check_range(context, "average decay", s->average_decay, 0, 0.9999999));
  LINNET_TRY(check_range(context, "shards", (double)s->num_shards, 0, LINNET_MAX_SHARDS));
  if (s->num_shards & (s->num_shards - 1))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "training: shards is %zu; it must be a power of two",
                       s->num_shards);
  if (s->wire_precision != LINNET_FLOAT32 && s->wire_precision != LINNET_BFLOAT16)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "training: wire precision must be float32 or bfloat16");
  LINNET_TRY(
      check_range(context, "GPU exchange", s->gpu_exchange, LINNET_TRAIN_EXCHANGE_AUTO, LINNET_TRAIN_EXCHANGE_NCCL));
  return check_range(context, "number of kept models", s->num_kept_models, 0, LINNET_MAX_KEPT_MODELS);
}

/* --- the model ---------------------------------------------------------------------------------------------------- */

static enum linnet_status out_of_memory(struct linnet_context *context) {
  return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a trainer");
}

static enum linnet_status copy_symbols(struct linnet_trainer *t, const struct linnet_train_model *model) {
  LINNET_TRY(linnet_symbols_validate(t->context, "training", model->symbols, model->num_symbols));
  t->symbols = linnet_calloc(t->context, model->num_symbols, sizeof *t->symbols);
  for (size_t i = 0; t->symbols && i < model->num_symbols; i++)
    if (!(t->symbols[i] = linnet_strdup(t->context, model->symbols[i])))
      return out_of_memory(t->context);
  return t->symbols ? LINNET_OK : out_of_memory(t->context);
}

static enum linnet_status copy_metadata(struct linnet_trainer *t, const char *const *pairs) {
  size_t count = 0;
  while (pairs && pairs[2 * count])
    count++;
  for (size_t i = 0; i < count; i++)
    LINNET_TRY(linnet_model_check_key(t->context, pairs[2 * i]));
  for (size_t i = 0; i < 2 * count; i++)
    if (!linnet_is_utf8(pairs[i]))
      return linnet_fail(t->context, LINNET_ERROR_ARGUMENT, "training: the metadata \"%.60s\" is not UTF-8: convert it",
                         pairs[i / 2 * 2]);
  t->metadata = linnet_calloc(t->context, count, sizeof *t->metadata);
  t->num_metadata = t->metadata ? count : 0;
  for (size_t i = 0; i < t->num_metadata; i++) {
    t->metadata[i].key = linnet_strdup(t->context, pairs[2 * i]);
    t->metadata[i].value = linnet_strdup(t->context, pairs[2 * i + 1]);
    if (!t->metadata[i].key || !t->metadata[i].value)
      return out_of_memory(t->context);
  }
  return t->metadata ? LINNET_OK : out_of_memory(t->context);
}

static enum linnet_status copy_cmvn(struct linnet_trainer *t, const struct linnet_cmvn *cmvn) {
  if (linnet_cmvn_is_stored(t->features.cmvn) != (cmvn != NULL))
    return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                       "training: global or running CMVN and its statistics go together");
  if (!cmvn)
    return LINNET_OK;
  t->cmvn = linnet_alloc(t->context, 1, sizeof *cmvn);
  if (!t->cmvn)
    return out_of_memory(t->context);
  *t->cmvn = *cmvn;
  return LINNET_OK;
}

/* For "auto": the chunk of the interrupted training, or the fastest one. */
static enum linnet_status choose_chunk(struct linnet_trainer *t) {
  struct linnet_config stored;
  bool found = false;
  LINNET_TRY(linnet_trainer_stored_config(t, &found, &stored));
  if (found) {
    t->config.causal_chunk = stored.causal_chunk;
    return LINNET_OK;
  }
  if (!linnet_has_causal_chunk(&t->config))
    return LINNET_OK;
  LINNET_TRY(linnet_causal_chunk(t->context, &t->config, &t->config.causal_chunk));
  linnet_log(t->context, LINNET_LOG_INFO, "\"causal_chunk\" auto: %zu is the fastest on this processor",
             t->config.causal_chunk);
  return LINNET_OK;
}

static enum linnet_status check_intermediate(const struct linnet_trainer *t) {
  const size_t layer = t->settings.intermediate_ctc;
  if (layer == 0)
    return LINNET_OK;
  if (t->config.encoder != LINNET_ENCODER_TRANSFORMER)
    return linnet_fail(t->context, LINNET_ERROR_UNSUPPORTED,
                       "intermediate CTC is for transformers only: remove intermediate_ctc");
  if (layer >= t->config.layers)
    return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                       "training: intermediate CTC after layer %zu of %zu: it must come before the last layer", layer,
                       t->config.layers);
  if (!linnet_device_of(t->context)->ops->host)
    return linnet_fail(t->context, LINNET_ERROR_UNSUPPORTED,
                       "intermediate CTC is not on a GPU yet: omit --device, or remove intermediate_ctc");
  return LINNET_OK;
}

/* *choose: whether causal_chunk is "auto". */
static enum linnet_status read_model(struct linnet_trainer *t, const struct linnet_train_model *model, bool *choose) {
  const char *source = model->source ? model->source : "training";
  linnet_config_default(&t->config);
  linnet_feature_config_default(&t->features);
  LINNET_TRY(linnet_feature_config_parse(t->context, model->features, source, &t->features));
  t->config.input_dim = t->features.fbank.num_mel; /* unless the configuration has it */
  LINNET_TRY(linnet_config_parse(t->context, model->config, source, &t->config));
  if (t->config.outputs == 0)
    t->config.outputs = model->num_symbols;
  if (t->config.outputs != model->num_symbols)
    return linnet_fail(t->context, LINNET_ERROR_ARGUMENT, "%s: outputs is %zu, but there are %zu symbols", source,
                       t->config.outputs, model->num_symbols);
  if (linnet_config_reads_tokens(&t->config) || t->config.output != LINNET_OUTPUT_POSTERIORS)
    return linnet_fail(t->context, LINNET_ERROR_UNSUPPORTED,
                       "%s: a training with CTC needs features of audio and posteriors: remove \"tokens\" and "
                       "\"output\"",
                       source);
  if (t->config.input_dim != t->features.fbank.num_mel)
    return linnet_fail(t->context, LINNET_ERROR_ARGUMENT, "%s: input_dim is %zu, but features have num_mel %zu", source,
                       t->config.input_dim, t->features.fbank.num_mel);
  *choose = t->config.causal_chunk == LINNET_CAUSAL_CHUNK_AUTO;
  if (*choose)
    t->config.causal_chunk = 0;
  LINNET_TRY(linnet_config_validate(t->context, source, &t->config));
  LINNET_TRY(check_intermediate(t));
  LINNET_TRY(copy_symbols(t, model));
  LINNET_TRY(copy_metadata(t, model->metadata));
  LINNET_TRY(copy_cmvn(t, model->cmvn));
  LINNET_TRY(linnet_parameters_create(t->context, &t->config, &t->parameters));
  t->network = (struct linnet_network){linnet_device_of(t->context), &t->config, t->parameters};
  return linnet_trainer_is_first(t) ? linnet_trainer_recover(t) : LINNET_OK;
}

/* Rank 0 alone reads files of the trainer's folder, and measures. */
static enum linnet_status read_model_together(struct linnet_trainer *t, const struct linnet_train_model *model) {
  bool choose = false;
  LINNET_TRY(linnet_ranks_agree(&t->ranks, read_model(t, model, &choose)));
  if (!choose)
    return LINNET_OK;
  LINNET_TRY(linnet_ranks_agree(&t->ranks, linnet_trainer_is_first(t) ? choose_chunk(t) : LINNET_OK));
  return linnet_ranks_share(&t->ranks, &t->config.causal_chunk, sizeof t->config.causal_chunk);
}

/* --- the corpora -------------------------------------------------------------------------------------------------- */

static enum linnet_status check_labels(struct linnet_trainer *t, const struct linnet_corpus *corpus, size_t u,
                                       size_t *labels_frames) {
  size_t count = 0;
  const int *labels = corpus->labels(corpus->user, u, &count);
  for (size_t i = 0; i < count; i++)
    if (labels[i] < 1 || (size_t)labels[i] >= t->config.outputs)
      return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                         "utterance %s: label %d is out of range; it must be 1 to %zu", corpus->id(corpus->user, u),
                         labels[i], t->config.outputs - 1);
  *labels_frames = linnet_ctc_min_frames(labels, count);
  return LINNET_OK;
}

/* Fills frames; utterances whose labels cannot fit are named, counted and left out of training. */
static enum linnet_status measure(struct linnet_trainer *t, const struct linnet_corpus *corpus, bool training,
                                  size_t **frames) {
  size_t infeasible = 0, usable = 0;
  *frames = linnet_calloc(t->context, corpus->num_utterances, sizeof **frames);
  if (!*frames)
    return out_of_memory(t->context);
  for (size_t u = 0; u < corpus->num_utterances; u++) {
    size_t n = corpus->frames(corpus->user, u), needed = 0;
    LINNET_TRY(check_labels(t, corpus, u, &needed));
    bool fits = needed <= linnet_stacked_frames(&t->config, n);
    if (!fits) {
      linnet_log(t->context, LINNET_LOG_WARNING, "utterance %s: %zu frames cannot hold its labels, which need %zu",
                 corpus->id(corpus->user, u), linnet_stacked_frames(&t->config, n), needed);
      infeasible++;
    }
    (*frames)[u] = fits || !training ? n : 0;
    usable += fits && n > 0;
  }
  if (infeasible > 0)
    linnet_log(t->context, LINNET_LOG_WARNING, "%zu of %zu utterances are too short for their labels%s", infeasible,
               corpus->num_utterances, training ? " and are ignored" : "");
  return usable > 0 ? LINNET_OK
                    : linnet_fail(t->context, LINNET_ERROR_ARGUMENT, "there is no usable utterance for %s",
                                  training ? "training" : "validation");
}

static bool complete(const struct linnet_corpus *corpus) {
  return corpus->id && corpus->frames && corpus->labels && corpus->features &&
         (corpus->num_masks == 0 || corpus->masks);
}

static enum linnet_status create_workers(struct linnet_trainer *t) {
  size_t threads = linnet_context_num_threads(t->context);
  LINNET_TRY(linnet_workers_create(t->context, &t->network, &t->workers));
  t->worker_contexts = linnet_alloc(t->context, threads, sizeof(struct linnet_context *));
  if (!t->worker_contexts)
    return out_of_memory(t->context);
  for (size_t i = 0; i < threads; i++)
    t->worker_contexts[i] = t->workers[i].context;
  return LINNET_OK;
}

/* --- create and destroy ------------------------------------------------------------------------------------------- */

static void prepare_batch(struct linnet_trainer *t, struct linnet_batch *batch) {
  linnet_batch_init(batch, t->context, &t->config);
  batch->views = t->settings.consistency > 0 ? 2 : 1;
  batch->taught = t->settings.teacher != NULL;
  batch->targeted = t->settings.frame_weight > 0;
  batch->ranks = &t->ranks;
  batch->num_shards = t->settings.num_shards;
}

static enum linnet_status create_denominator(struct linnet_trainer *t) {
  const struct linnet_language_model *model = t->settings.denominator;
  t->settings.denominator = NULL;
  if (!model)
    return LINNET_OK;
  LINNET_TRY(linnet_denominator_graph_create(t->context, model, t->config.outputs, (const char *const *)t->symbols,
                                             &t->denominator));
  linnet_log(t->context, LINNET_LOG_INFO, "the denominator has %zu arcs", t->denominator->arcs);
  if (!t->denominator->smooth)
    linnet_log(t->context, LINNET_LOG_WARNING,
               "the denominator has probabilities below %g, and will be slow: use a smoother n-gram",
               (double)LINNET_DENOMINATOR_SMOOTH);
  return LINNET_OK;
}

static enum linnet_status create_gradient(struct linnet_trainer *t) {
  const struct linnet_train_settings *s = &t->settings;
  LINNET_TRY(linnet_gradient_create(t->context, &t->network, t->workers, &t->gradient));
  double *weights = t->gradient.weights;
  if (t->denominator) {
    weights[LINNET_LOSS_CRF] = 1;
    weights[LINNET_LOSS_CTC] = s->ctc_weight;
  }
  weights[LINNET_LOSS_CONSISTENCY] = s->consistency;
  weights[LINNET_LOSS_DISTILLATION] = s->teacher_weight;
  weights[LINNET_LOSS_FRAME_TARGETS] = s->frame_weight;
  t->gradient.denominator = t->denominator;
  t->gradient.teacher = &t->teacher;
  if (s->intermediate_ctc > 0)
    linnet_gradient_set_intermediate(&t->gradient, s->intermediate_ctc, s->intermediate_weight);
  t->gradient.link = &t->link;
  return linnet_gradient_join(&t->gradient, &t->ranks, s->wire_precision == LINNET_BFLOAT16);
}

/* A missing folder must not be noticed only after the first epoch. */
static enum linnet_status open_folder(struct linnet_trainer *t, struct linnet_checkpoint_file *file) {
  struct stat status;
  if (stat(t->folder, &status) == 0 && S_ISDIR(status.st_mode))
    return linnet_trainer_open_checkpoint(t, file);
  return linnet_fail(t->context, LINNET_ERROR_IO, "%s: cannot be used as a folder: create it before the training",
                     t->folder);
}

/* What a rank does alone. Rank 0 opens its checkpoint. */
static enum linnet_status prepare(struct linnet_trainer *t, const struct linnet_train_model *model,
                                  struct linnet_checkpoint_file *file) {
  LINNET_TRY(measure(t, &t->train, true, &t->train_frames));
  LINNET_TRY(measure(t, &t->dev, false, &t->dev_frames));
  LINNET_TRY(linnet_batches_create(t->context, t->train.num_utterances, &t->batches));
  prepare_batch(t, &t->batch);
  prepare_batch(t, &t->next);
  LINNET_TRY(create_workers(t));
  LINNET_TRY(create_denominator(t));
  LINNET_TRY(linnet_trainer_create_teacher(t));
  LINNET_TRY(linnet_trainer_check_targets(t));
  LINNET_TRY(create_gradient(t));
  LINNET_TRY(linnet_trainer_create_state(t, model->initial));
  LINNET_TRY(linnet_fingerprint(t, model->recipe, &t->fingerprint));
  linnet_schedule_start(&t->settings, &t->state.schedule);
  return linnet_trainer_is_first(t) ? open_folder(t, file) : LINNET_OK;
}

static enum linnet_status prepare_together(struct linnet_trainer *t, const struct linnet_train_model *model,
                                           struct linnet_checkpoint_file *file) {
  LINNET_TRY(linnet_ranks_agree(&t->ranks, prepare(t, model, file)));
  LINNET_TRY(linnet_fingerprint_compare(&t->ranks, t->fingerprint));
  return linnet_trainer_share_state(t, file);
}

/* What results depend on besides the fingerprint of a training. */
static enum linnet_status compare_programs(struct linnet_trainer *t, const struct linnet_train_model *model) {
  char text[4096];
  const char *device = linnet_context_device(t->context), *kind = strchr(device, ' '); /* after the device's number */
  linnet_format(
      text, sizeof text,
      "version=%s\nkernels=%s\ndevice=%s\nprecision=%d\ngpu_exchange=%d\nepochs=%zu, patience=%u\nconfig=%.3000s\n",
      linnet_version(), linnet_context_kernels(t->context), kind ? kind + 1 : device,
      (int)linnet_context_precision(t->context), (int)t->settings.gpu_exchange, t->settings.num_epochs,
      t->settings.patience, model->config);
  return linnet_fingerprint_compare(&t->ranks, text);
}

/* What a GPU cannot do. */
static enum linnet_status check_device(struct linnet_trainer *t) {
  const struct linnet_train_settings *s = &t->settings;
  const struct linnet_device_ops *ops = linnet_device_of(t->context)->ops;
  const size_t ranks = linnet_ranks_count(&t->ranks);
  if (s->denominator && !ops->denominator)
    return linnet_fail(t->context, LINNET_ERROR_UNSUPPORTED,
                       "the denominator of CTC-CRF is not on a GPU yet: omit --device, or train with CTC");
  if (s->teacher && !ops->distillation)
    return linnet_fail(t->context, LINNET_ERROR_UNSUPPORTED,
                       "training with a teacher is not on a GPU yet: omit --device, or training.teacher");
  if (s->frame_weight > 0 && !ops->frame_targets)
    return linnet_fail(t->context, LINNET_ERROR_UNSUPPORTED,
                       "training with frame targets is not on a GPU yet: omit --device, or training.frame_targets");
  if (ranks > 1 && !ops->host && s->num_shards == 0)
    return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                       "%zu ranks on GPUs need training.shards, a power of two and at least %zu: without it a GPU "
                       "computes a batch as one shard, which cannot be divided",
                       ranks, ranks);
  return LINNET_OK;
}

static enum linnet_status create(struct linnet_trainer *t, const struct linnet_train_model *model) {
  LINNET_TRY(compare_programs(t, model));
  LINNET_TRY(linnet_ranks_agree(&t->ranks, check_device(t)));
  LINNET_TRY(linnet_link_open(&t->link, &t->ranks, linnet_device_of(t->context), t->settings.gpu_exchange));
  LINNET_TRY(read_model_together(t, model));
  struct linnet_checkpoint_file file = {0};
  enum linnet_status status = prepare_together(t, model, &file);
  linnet_checkpoint_close(&file);
  LINNET_TRY(status);
  return linnet_ranks_agree(&t->ranks, linnet_trainer_upload(t));
}

/* What the program gives, in structures of this library's size; *t is zeros. */
static enum linnet_status read_arguments(struct linnet_trainer *t, const struct linnet_train_settings *settings,
                                         const struct linnet_train_model *given, const struct linnet_corpus *train,
                                         const struct linnet_corpus *dev, struct linnet_train_model *model) {
  LINNET_TRY(LINNET_READ_SETTINGS(t->context, train, settings, &t->settings));
  LINNET_TRY(linnet_settings_read(t->context, "struct linnet_train_model", given, model, sizeof *model));
  LINNET_TRY(linnet_settings_read(t->context, "struct linnet_corpus", train, &t->train, sizeof t->train));
  LINNET_TRY(linnet_settings_read(t->context, "struct linnet_corpus", dev, &t->dev, sizeof t->dev));
  if (!model->config || !model->features || !model->symbols || !complete(&t->train) || !complete(&t->dev))
    return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                       "linnet_trainer_create: a pointer or callback in a structure is NULL");
  LINNET_TRY(check_settings(t->context, &t->settings));
  if (t->settings.teacher && !t->train.both_features)
    return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                       "linnet_trainer_create: a teacher needs the corpus's both_features, which is NULL");
  if (t->settings.frame_weight > 0 && !t->train.targets)
    return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                       "linnet_trainer_create: a frame weight needs the corpus's targets, which is NULL");
  LINNET_TRY(linnet_ranks_create(t->context, t->settings.group, &t->ranks));
  t->settings.group = NULL;
  return LINNET_OK;
}

enum linnet_status linnet_trainer_create(struct linnet_context *context, const char *folder,
                                         const struct linnet_train_settings *settings,
                                         const struct linnet_train_model *model, const struct linnet_corpus *train,
                                         const struct linnet_corpus *dev, struct linnet_trainer **trainer) {
  if (trainer)
    *trainer = NULL;
  if (!context || !folder || !model || !train || !dev || !trainer)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_trainer_create: an argument is NULL");
  if (linnet_context_precision(context) == LINNET_INT8)
    return linnet_fail(context, LINNET_ERROR_UNSUPPORTED,
                       "products of 8-bit integers are for recognition only: train in float32 or bfloat16");
  struct linnet_trainer *t = linnet_calloc(context, 1, sizeof *t);
  if (!t)
    return out_of_memory(context);
  t->context = context;
  struct linnet_train_model own = {0};
  enum linnet_status status = read_arguments(t, settings, model, train, dev, &own);
  if (status == LINNET_OK && !(t->folder = linnet_strdup(context, folder)))
    status = out_of_memory(context);
  if (status == LINNET_OK)
    status = create(t, &own);
  if (status == LINNET_OK)
    *trainer = t;
  else
    linnet_trainer_destroy(t);
  return status;
}

size_t linnet_trainer_num_epochs(const struct linnet_trainer *trainer) {
  return trainer->state.epoch;
}

uint64_t linnet_trainer_num_steps(const struct linnet_trainer *trainer) {
  return trainer->state.step;
}

const char *linnet_trainer_exchange(const struct linnet_trainer *trainer) {
  return trainer->link.way;
}

void linnet_trainer_destroy(struct linnet_trainer *t) {
  if (!t)
    return;
  struct linnet_context *context = t->context;
  for (size_t i = 0; t->symbols && i < t->config.outputs; i++)
    linnet_free(context, t->symbols[i]);
  for (size_t i = 0; i < t->num_metadata; i++) {
    linnet_free(context, (void *)(uintptr_t)t->metadata[i].key);
    linnet_free(context, (void *)(uintptr_t)t->metadata[i].value);
  }
  linnet_gradient_release(&t->gradient);
  linnet_denominator_graph_destroy(context, t->denominator);
  linnet_workers_destroy(context, t->teacher.workers);
  linnet_workers_destroy(context, t->workers);
  if (t->batch.context) {
    linnet_batch_release(&t->batch);
    linnet_batch_release(&t->next);
  }
  linnet_batches_destroy(context, &t->batches);
  linnet_parameters_destroy(t->parameters);
  linnet_link_close(&t->link);
  linnet_ranks_release(&t->ranks);
  linnet_trainer_release_state(t);
  void *blocks[] = {t->symbols,    t->metadata,        t->cmvn, t->folder, t->fingerprint, t->train_frames,
                    t->dev_frames, t->worker_contexts, t};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    linnet_free(context, blocks[i]);
}
