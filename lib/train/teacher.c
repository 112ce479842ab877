/* The teacher of a training: a fixed model. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "train/trainer.h"

static const char *source_of(const struct linnet_trainer *t) {
  return t->settings.teacher_source ? t->settings.teacher_source : "training";
}

static enum linnet_status check_symbols(const struct linnet_trainer *t, const struct linnet_model *teacher) {
  if (teacher->config.outputs != t->config.outputs)
    return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                       "%s: the teacher has %zu symbols, the training %zu: give the training the symbols of the "
                       "teacher (linnet info --symbols), or take another teacher",
                       source_of(t), teacher->config.outputs, t->config.outputs);
  for (size_t i = 0; i < t->config.outputs; i++)
    if (strcmp(t->symbols[i], teacher->symbols[i]) != 0)
      return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                         "%s: symbol %zu of the teacher is %s, that of the training is %s: give the training the "
                         "symbols of the teacher (linnet info --symbols), in their order",
                         source_of(t), i, teacher->symbols[i], t->symbols[i]);
  return LINNET_OK;
}

static enum linnet_status check_number(const struct linnet_trainer *t, const char *key, double teacher, double own) {
  if (teacher == own)
    return LINNET_OK;
  return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                     "%s: %s of the teacher is %g, that of the training is %g: train with the value of the teacher, "
                     "or take another teacher",
                     source_of(t), key, teacher, own);
}

/* Frames of both must be of the same time and the same bands; their normalisation may differ. */
static enum linnet_status check_frames(const struct linnet_trainer *t, const struct linnet_model *teacher) {
  static const struct {
    const char *key;
    size_t offset;
  } numbers[] = {{"features.sample_rate", offsetof(struct linnet_fbank_settings, sample_rate)},
                 {"features.frame_length", offsetof(struct linnet_fbank_settings, frame_length)},
                 {"features.frame_shift", offsetof(struct linnet_fbank_settings, frame_shift)},
                 {"features.low_frequency", offsetof(struct linnet_fbank_settings, low_frequency)},
                 {"features.high_frequency", offsetof(struct linnet_fbank_settings, high_frequency)},
                 {"features.preemphasis", offsetof(struct linnet_fbank_settings, preemphasis)}};
  const struct linnet_fbank_settings *theirs = &teacher->features.fbank, *own = &t->features.fbank;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    LINNET_TRY(check_number(t, numbers[i].key, *(const double *)((const char *)theirs + numbers[i].offset),
                            *(const double *)((const char *)own + numbers[i].offset)));
  LINNET_TRY(check_number(t, "features.num_mel", (double)theirs->num_mel, (double)own->num_mel));
  return check_number(t, "model.stack", (double)teacher->config.stack, (double)t->config.stack);
}

enum linnet_status linnet_trainer_create_teacher(struct linnet_trainer *t) {
  const struct linnet_model *model = t->settings.teacher;
  if (!model)
    return LINNET_OK;
  if (model->config.output != LINNET_OUTPUT_POSTERIORS || linnet_config_reads_tokens(&model->config))
    return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                       "%s: the teacher is not a model of posteriors over symbols from features of audio",
                       source_of(t));
  if (!model->whole)
    return linnet_fail(t->context, LINNET_ERROR_ARGUMENT,
                       "%s: the teacher lacks weights: load it with linnet_model_load_whole", source_of(t));
  LINNET_TRY(check_symbols(t, model));
  LINNET_TRY(check_frames(t, model));
  t->teacher = (struct linnet_teacher){.network = {t->network.device, &model->config, model->parameters},
                                       .weights = model->weights};
  t->settings.teacher_source = NULL;
  return linnet_workers_create(t->context, &t->teacher.network, &t->teacher.workers);
}

uint64_t linnet_teacher_hash(const struct linnet_model *model) {
  const struct linnet_cmvn *cmvn = model->cmvn;
  uint64_t hash = model->fingerprint;
  if (!cmvn)
    return hash;
  hash = linnet_hash(hash, &cmvn->count, sizeof cmvn->count);
  hash = linnet_hash(hash, cmvn->sum, cmvn->dim * sizeof *cmvn->sum);
  return linnet_hash(hash, cmvn->square, cmvn->dim * sizeof *cmvn->square);
}
