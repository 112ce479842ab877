/* Features of a training: from recordings, with augmentation, or stored ones; normalised. */
#include "train_corpus.h"

#include <stdlib.h>
#include <string.h>

/* --- features ----------------------------------------------------------------------------------------------------- */

/* The clips of noise that an utterance gets; LINNET_NOT_FOUND: none. */
static size_t clip_to_mix(const struct train_corpus *corpus, struct linnet_augment_key key) {
  return linnet_noise_choose(&corpus->config->mixing, key, corpus->noise.count);
}

static size_t clip_to_pad(const struct train_corpus *corpus, struct linnet_augment_key key) {
  return linnet_padding_choose(&corpus->config->padding, key, corpus_sample_rate(corpus), corpus->noise.count);
}

static enum linnet_status mix(struct linnet_context *context, const struct train_corpus *corpus,
                              struct linnet_augment_key key, float *samples, size_t count) {
  struct clip clip;
  bool owned;
  enum linnet_status status = noise_read(&corpus->noise, context, clip_to_mix(corpus, key), &clip, &owned);
  if (status == LINNET_OK)
    status = linnet_augment_noise(&corpus->config->mixing, key, &(struct linnet_noise_clip){clip.samples, clip.count},
                                  clip.samples != NULL, samples, count);
  if (owned)
    free(clip.samples);
  return status;
}

static enum linnet_status pad(struct linnet_context *context, const struct train_corpus *corpus,
                              struct linnet_augment_key key, float *samples, size_t *count) {
  struct clip clip;
  bool owned;
  enum linnet_status status = noise_read(&corpus->noise, context, clip_to_pad(corpus, key), &clip, &owned);
  if (status == LINNET_OK)
    status = linnet_augment_padding(&corpus->config->padding, key, corpus_sample_rate(corpus),
                                    &(struct linnet_noise_clip){clip.samples, clip.count}, clip.samples != NULL,
                                    samples, count);
  if (owned)
    free(clip.samples);
  return status;
}

/* Augments the samples as `key` determines. Their memory includes the padding; noise is added to the padding as well.
 */
static enum linnet_status augment(struct linnet_context *context, const struct train_corpus *corpus,
                                  struct linnet_augment_key key, float *samples, size_t *count) {
  const struct train_config *config = corpus->config;
  double rate = corpus_sample_rate(corpus);
  enum linnet_status status = LINNET_OK;
  if (config->room.size)
    status = linnet_augment_room(context, &config->room, key, rate, samples, *count);
  if (config->level.size)
    linnet_augment_level(&config->level, key, samples, *count);
  if (config->band.size)
    linnet_augment_band(&config->band, key, rate, samples, *count);
  if (config->padding.size && status == LINNET_OK)
    status = pad(context, corpus, key, samples, count);
  if (corpus->noise.count > 0 && status == LINNET_OK)
    status = mix(context, corpus, key, samples, *count);
  return status;
}

/* Filterbank of a recording, unless it has more than `capacity` frames; augmented if there is a key. */
static enum linnet_status compute(struct linnet_context *context, const struct train_corpus *corpus,
                                  const struct clip *clip, const struct linnet_augment_key *key, float *features,
                                  size_t capacity, size_t *frames) {
  struct linnet_fbank *fbank = NULL;
  size_t count = clip->count,
         padding = key ? linnet_padding_max(&corpus->config->padding, corpus_sample_rate(corpus)) : 0;
  float *samples = malloc((count + padding + 1) * sizeof *samples);
  enum linnet_status status =
      samples ? LINNET_OK : linnet_context_fail(context, LINNET_ERROR_MEMORY, "out of memory for a recording");
  if (samples)
    clip_expand(clip, samples);
  if (samples && key)
    status = augment(context, corpus, *key, samples, &count);
  if (status == LINNET_OK)
    status = linnet_fbank_create(context, &corpus->config->feature_config.fbank, &fbank);
  if (status == LINNET_OK) {
    *frames = linnet_fbank_num_frames(fbank, count);
    if (*frames <= capacity)
      status = linnet_fbank_compute(fbank, samples, count, features);
  }
  linnet_fbank_destroy(fbank);
  free(samples);
  return status;
}

/* Checks stored features: at their own speed they have the length that the batches count on. */
static enum linnet_status check_shape(struct linnet_context *context, const struct train_corpus *corpus,
                                      const struct utterance *u, bool own_speed, const struct linnet_matrix *matrix,
                                      size_t capacity) {
  size_t mel = corpus->config->feature_config.fbank.num_mel;
  if (matrix->cols != mel)
    return corpus_fail(context,
                       "utterance %s: its stored features have %zu columns, but num_mel of the configuration is %zu",
                       u->id, matrix->cols, mel);
  if (own_speed && matrix->rows != u->frames)
    return corpus_fail(
        context,
        "utterance %s: its stored features have %zu frames, but utt2num_frames has %zu, or they changed during the "
        "training: remove utt2num_frames",
        u->id, matrix->rows, u->frames);
  if (matrix->rows > capacity)
    return corpus_fail(context,
                       "utterance %s: its stored features have %zu frames, too many for a change of speed of %zu",
                       u->id, matrix->rows, u->frames);
  return LINNET_OK;
}

/* Features of feats.scp or of one of the other speeds. */
static enum linnet_status load_stored(struct linnet_context *context, const struct train_corpus *corpus,
                                      const struct utterance *u, size_t speed, float *features, size_t capacity,
                                      size_t *frames) {
  const struct stored *stored = &corpus->stored[u->folder];
  struct linnet_matrix matrix = {0};
  enum linnet_status status = stored_read(stored, context, u->index, speed, &matrix);
  bool own_speed = speed == MAX_SPEEDS || !stored->speeds[speed];
  if (status == LINNET_OK)
    status = check_shape(context, corpus, u, own_speed, &matrix, capacity);
  if (status == LINNET_OK) {
    *frames = matrix.rows;
    memcpy(features, matrix.values, matrix.rows * matrix.cols * sizeof *features);
  }
  linnet_matrix_release(context, &matrix);
  return status;
}

/* Features of a recording; augmented if there is a key. */
static enum linnet_status load_audio(struct linnet_context *context, const struct train_corpus *corpus,
                                     const struct utterance *u, size_t speed, const struct linnet_augment_key *key,
                                     float *features, size_t capacity, size_t *frames) {
  struct clip clip = {0};
  bool owned = false;
  const double factor = speed == MAX_SPEEDS ? 1 : corpus->config->speeds[speed];
  enum linnet_status status = audio_read(&corpus->audio[u->folder], context, u->index, factor, &clip, &owned);
  if (status == LINNET_OK)
    status = compute(context, corpus, &clip, key, features, capacity, frames);
  if (status == LINNET_OK && *frames > capacity)
    status = corpus_fail(
        context,
        "utterance %s: its audio has %zu frames, many more than its header says, or it changed: repair the file", u->id,
        *frames);
  if (owned)
    free(clip.samples);
  return status;
}

enum linnet_status corpus_plain_features(struct linnet_context *context, const struct train_corpus *corpus,
                                         const struct utterance *u, float *features, size_t capacity, size_t *frames) {
  return corpus_has_audio(corpus, u) ? load_audio(context, corpus, u, MAX_SPEEDS, NULL, features, capacity, frames)
                                     : load_stored(context, corpus, u, MAX_SPEEDS, features, capacity, frames);
}

enum linnet_status corpus_check_readable(struct linnet_context *context, const struct train_corpus *corpus,
                                         const struct utterance *u) {
  struct linnet_matrix matrix = {0};
  struct clip clip = {0};
  bool owned = false;
  const enum linnet_status status =
      corpus_has_audio(corpus, u) ? audio_read(&corpus->audio[u->folder], context, u->index, 1, &clip, &owned)
                                  : stored_read(&corpus->stored[u->folder], context, u->index, MAX_SPEEDS, &matrix);
  linnet_matrix_release(context, &matrix);
  if (owned)
    free(clip.samples);
  return status;
}

/* `statistics` are those of the speaker or of a corpus; NULL: config asks for none. */
static void normalise(const struct linnet_feature_config *config, const struct linnet_cmvn *statistics, float *features,
                      size_t frames) {
  struct linnet_cmvn own;
  if (config->cmvn == LINNET_CMVN_NONE)
    return;
  if (config->cmvn == LINNET_CMVN_RUNNING) {
    own = *statistics;
    linnet_cmvn_scale(&own, config->cmvn_prior);
    linnet_cmvn_run(&own, config->cmvn_frames, config->cmvn_variance, config->cmvn_memory, features, frames);
    return;
  }
  if (config->cmvn == LINNET_CMVN_UTTERANCE) {
    linnet_cmvn_reset(&own, config->fbank.num_mel);
    linnet_cmvn_accumulate_frames(&own, config->cmvn_frames, features, frames);
    statistics = &own;
  }
  linnet_cmvn_apply(statistics, config->cmvn_variance, features, frames);
}

static void normalise_own(const struct train_corpus *corpus, const struct utterance *u, float *features,
                          size_t frames) {
  const struct linnet_feature_config *config = &corpus->config->feature_config;
  const size_t speaker = config->cmvn == LINNET_CMVN_SPEAKER ? u->speaker : 0;
  normalise(config, corpus->statistics ? &corpus->statistics[speaker] : NULL, features, frames);
}

struct linnet_augment_key corpus_augment_key(const struct train_corpus *corpus, uint64_t epoch, size_t utterance) {
  return (struct linnet_augment_key){corpus->config->training.seed, epoch, utterance};
}

size_t corpus_choose_speed(const struct train_corpus *corpus, size_t utterance, uint64_t epoch) {
  const struct train_config *config = corpus->config;
  const struct utterance *u = &corpus->utterances[utterance];
  if (!corpus->augmented || epoch == 0 || config->num_speeds == 0 ||
      (!corpus_has_audio(corpus, u) && !corpus->stored[u->folder].has_speeds))
    return MAX_SPEEDS;
  size_t choice = linnet_augment_choose(corpus_augment_key(corpus, epoch, utterance), config->num_speeds);
  return config->speeds[choice] == 1 ? MAX_SPEEDS : choice;
}

void corpus_prefetch_noise(const struct train_corpus *corpus, size_t utterance, uint64_t epoch) {
  const struct linnet_augment_key key = corpus_augment_key(corpus, epoch, utterance);
  if (epoch == 0 || corpus->noise.count == 0 || !corpus_has_audio(corpus, &corpus->utterances[utterance]))
    return;
  noise_prefetch(&corpus->noise, clip_to_pad(corpus, key));
  noise_prefetch(&corpus->noise, clip_to_mix(corpus, key));
}

/* Those of a training utterance in this epoch, before normalisation. */
static enum linnet_status augmented_features(const struct train_corpus *corpus, struct linnet_context *context,
                                             size_t utterance, uint64_t epoch, float *features, size_t capacity,
                                             size_t *frames) {
  const struct utterance *u = &corpus->utterances[utterance];
  const struct linnet_augment_key key = corpus_augment_key(corpus, epoch, utterance);
  const size_t speed = corpus_choose_speed(corpus, utterance, epoch);
  return corpus_has_audio(corpus, u)
             ? load_audio(context, corpus, u, speed, corpus->augmented && epoch > 0 ? &key : NULL, features, capacity,
                          frames)
             : load_stored(context, corpus, u, speed, features, capacity, frames);
}

enum linnet_status corpus_both_features(void *user, struct linnet_context *context, size_t utterance, uint64_t epoch,
                                        float *features, float *teacher, size_t capacity, size_t *frames) {
  const struct train_corpus *corpus = user;
  const struct linnet_feature_config *theirs = &corpus->teacher_features;
  enum linnet_status status = augmented_features(corpus, context, utterance, epoch, features, capacity, frames);
  if (status != LINNET_OK)
    return status;
  if (teacher) {
    memcpy(teacher, features, *frames * corpus->config->feature_config.fbank.num_mel * sizeof *teacher);
    normalise(theirs, linnet_model_cmvn(corpus->teacher), teacher, *frames);
  }
  normalise_own(corpus, &corpus->utterances[utterance], features, *frames);
  return LINNET_OK;
}

enum linnet_status corpus_features(void *user, struct linnet_context *context, size_t utterance, uint64_t epoch,
                                   float *features, size_t capacity, size_t *frames) {
  return corpus_both_features(user, context, utterance, epoch, features, NULL, capacity, frames);
}

void train_corpus_set_teacher(struct train_corpus *corpus, const struct linnet_model *teacher) {
  corpus->teacher = teacher;
  linnet_model_features(teacher, &corpus->teacher_features);
}
