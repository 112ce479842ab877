/* Loads the corpus of a training and gives the trainer features, augmentation, labels and error counts. */
#include "train_parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <linnet/fbank.h>
#include <linnet/greedy.h>
#include <linnet/kaldi.h>
#include <linnet/score.h>

#include "common/clip.h"
#include "common/parallel.h"

enum { MAX_FOLDERS = 64 };

struct utterance {
  const char *id; /* of its folder */
  const struct linnet_data_folder *folder;
  size_t index; /* in the folder */
  size_t speaker;
  int *labels;
  size_t num_labels;
  size_t frames;                     /* at its own speed */
  struct clip audio[MAX_SPEEDS + 1]; /* [0]: as recorded; then one per speed */
  bool stored;                       /* no audio: features are read from feats.scp whenever they are needed */
};

struct train_corpus {
  struct linnet_context *context;
  const struct train_config *config;
  bool augmented;
  struct utterance *utterances;
  size_t count;
  struct linnet_data_folder *folders[MAX_FOLDERS];
  size_t num_folders;
  struct linnet_symbols *speakers; /* names; speaker 0 stands for no speaker */
  struct linnet_cmvn *statistics;  /* one per speaker, or one in all; NULL: statistics per utterance */
  struct linnet_noise_clip *noise;
  size_t num_noise;
  struct linnet_fbank *fbank; /* for counting frames */
  size_t missing, unknown;    /* utterances without labels, or with unknown words */
  pthread_mutex_t mutex;      /* for the progress line */
  struct tool_progress progress;
};

/* --- audio -------------------------------------------------------------------------------------------------------- */

static double sample_rate(const struct train_corpus *corpus) {
  return corpus->config->feature_config.fbank.sample_rate;
}

static enum linnet_status read_audio(struct linnet_context *context, const struct train_corpus *corpus,
                                     struct utterance *u) {
  const struct train_config *config = corpus->config;
  struct linnet_audio_settings settings;
  float *samples = NULL;
  size_t count = 0;
  linnet_audio_settings_default(&settings);
  settings.sample_rate = sample_rate(corpus);
  enum linnet_status status = linnet_data_folder_audio(u->folder, context, u->index, &settings, &samples, &count);
  if (status == LINNET_OK)
    status = clip_keep(context, samples, count, &u->audio[0]);
  for (size_t i = 0; status == LINNET_OK && corpus->augmented && i < config->num_speeds; i++)
    if (config->speeds[i] != 1)
      status = clip_change_speed(context, &u->audio[0], sample_rate(corpus), config->speeds[i], &u->audio[i + 1]);
  u->frames = linnet_fbank_num_frames(corpus->fbank, u->audio[0].count);
  return status;
}

static enum linnet_status read_stored(struct linnet_context *context, const struct train_corpus *corpus,
                                      struct utterance *u) {
  size_t mel = corpus->config->feature_config.fbank.num_mel;
  struct linnet_matrix matrix = {0};
  enum linnet_status status = linnet_data_folder_features(u->folder, context, u->index, &matrix);
  u->stored = true;
  u->frames = matrix.rows;
  if (status == LINNET_OK && matrix.cols != mel) {
    tool_fail("utterance %s: its stored features have %zu columns, but num_mel of the configuration is %zu", u->id,
              matrix.cols, mel);
    status = LINNET_ERROR_FORMAT;
  }
  linnet_matrix_release(context, &matrix);
  return status;
}

static int task_read(void *user, size_t i, unsigned worker, struct linnet_context *context) {
  struct train_corpus *corpus = user;
  struct utterance *u = &corpus->utterances[i];
  (void)worker;
  if (tool_interrupted())
    return TOOL_INTERRUPTED;
  bool audio = linnet_data_folder_path(u->folder, u->index) || !linnet_data_folder_has_features(u->folder);
  if ((audio ? read_audio : read_stored)(context, corpus, u) != LINNET_OK) {
    if (tool_interrupted())
      return TOOL_INTERRUPTED;
    tool_fail("utterance %s: %s", u->id, linnet_context_error(context));
    return TOOL_FAILURE;
  }
  pthread_mutex_lock(&corpus->mutex);
  tool_progress_add(&corpus->progress, 1);
  pthread_mutex_unlock(&corpus->mutex);
  return 0;
}

static bool read_all(struct linnet_context *context, struct train_corpus *corpus) {
  pthread_mutex_init(&corpus->mutex, NULL);
  tool_progress_start(&corpus->progress, "loading", "utterances", (double)corpus->count);
  bool good = tool_parallel(context, corpus->count, task_read, corpus) == 0;
  tool_progress_finish(&corpus->progress);
  pthread_mutex_destroy(&corpus->mutex);
  return good;
}

/* --- noise -------------------------------------------------------------------------------------------------------- */

static bool load_noise(struct linnet_context *context, struct train_corpus *corpus) {
  struct linnet_transcripts *list = NULL;
  if (linnet_transcripts_load(context, corpus->config->noise, &list) != LINNET_OK) {
    tool_fail_context(context);
    return false;
  }
  size_t total = linnet_transcripts_num_utterances(list), tokens = 0;
  bool good = true;
  corpus->noise = calloc(total + 1, sizeof *corpus->noise);
  for (size_t i = 0; good && corpus->noise && i < total && !tool_interrupted(); i++) {
    const char *const *path = linnet_transcripts_tokens(list, i, &tokens);
    struct clip clip = {0};
    good = tokens == 1 && clip_read(context, path[0], sample_rate(corpus), &clip) == LINNET_OK;
    corpus->noise[corpus->num_noise++] = (struct linnet_noise_clip){clip.samples, clip.count};
    if (!good && !tool_interrupted())
      tool_fail("%s: %s: %s", corpus->config->noise, linnet_transcripts_id(list, i),
                tokens == 1 ? linnet_context_error(context) : "expected one path");
  }
  linnet_transcripts_destroy(list);
  return good && corpus->noise && !tool_interrupted();
}

/* --- labels ------------------------------------------------------------------------------------------------------- */

static void warn_word(void *user, const char *word) {
  tool_warn("utterance %s: word \"%s\" is unknown", ((const struct utterance *)user)->id, word);
}

static bool label_index(struct train_labels *labels, const char *token, int *index) {
  size_t found = linnet_symbols_find(labels->symbols, token);
  *index = found == LINNET_NOT_FOUND ? -1 : (int)found;
  if (*index < 0 && labels->open)
    return linnet_symbols_add(labels->symbols, token, index) == LINNET_OK;
  return *index > 0;
}

/* Each token is a symbol. */
static bool direct_labels(struct utterance *u, struct train_labels *labels, const char *const *tokens, size_t count) {
  u->labels = malloc((count + 1) * sizeof *u->labels);
  u->num_labels = count;
  for (size_t i = 0; i < count; i++)
    if (!label_index(labels, tokens[i], &u->labels[i])) {
      tool_fail("utterance %s: token \"%s\" is not among the symbols", u->id, tokens[i]);
      return false;
    }
  return true;
}

/* Looks words up in the lexicon; sets *unknown if it lacks one. */
static bool lexicon_labels(struct utterance *u, struct train_labels *labels, const char *const *words, size_t count,
                           bool *unknown) {
  const struct linnet_symbols *phones = linnet_lexicon_phones(labels->lexicon);
  size_t length = 0;
  for (size_t i = 0; i < count; i++)
    *unknown |= linnet_lexicon_find(labels->lexicon, words[i]) == LINNET_NOT_FOUND;
  const struct linnet_missing_words missing = {sizeof missing, -1, warn_word, u};
  linnet_lexicon_pronounce(labels->lexicon, words, count, &missing, NULL, 0, &length);
  if (*unknown)
    return true;
  u->labels = malloc((length + 1) * sizeof *u->labels);
  u->num_labels = length;
  linnet_lexicon_pronounce(labels->lexicon, words, count, NULL, u->labels, length, &length);
  for (size_t i = 0; i < length; i++) {
    const char *phone = linnet_symbols_name(phones, u->labels[i]);
    if (!label_index(labels, phone, &u->labels[i])) {
      tool_fail("utterance %s: phone \"%s\" is not among the symbols", u->id, phone);
      return false;
    }
  }
  return true;
}

/* --- folders ------------------------------------------------------------------------------------------------------ */

static void free_utterance(struct utterance *u) {
  free(u->labels);
  for (size_t i = 0; i <= MAX_SPEEDS; i++)
    free(u->audio[i].samples);
}

/* Appends an utterance of the folder, with its labels from `transcripts`; skips it if it has none. */
static bool add_utterance(struct train_corpus *corpus, const struct linnet_data_folder *folder, size_t index,
                          const struct linnet_transcripts *transcripts, struct train_labels *labels) {
  const char *id = linnet_data_folder_id(folder, index);
  size_t at = linnet_transcripts_find(transcripts, id), count = 0;
  struct utterance *u = &corpus->utterances[corpus->count];
  int speaker = 0;
  bool unknown = false;
  if (at == LINNET_NOT_FOUND) {
    tool_warn("utterance %s has no line in %s", id, labels->file);
    corpus->missing++;
    return true;
  }
  const char *name = linnet_data_folder_speaker_name(folder, linnet_data_folder_speaker(folder, index));
  const char *const *tokens = linnet_transcripts_tokens(transcripts, at, &count);
  linnet_symbols_add(corpus->speakers, name, &speaker);
  *u = (struct utterance){.id = id, .folder = folder, .index = index, .speaker = (size_t)speaker};
  bool good =
      labels->lexicon ? lexicon_labels(u, labels, tokens, count, &unknown) : direct_labels(u, labels, tokens, count);
  corpus->unknown += unknown;
  if (good && !unknown)
    corpus->count++;
  else
    free_utterance(u);
  return good;
}

static bool add_utterances(struct train_corpus *corpus, const struct linnet_data_folder *folder,
                           const struct linnet_transcripts *transcripts, struct train_labels *labels) {
  size_t count = linnet_data_folder_num_utterances(folder);
  struct utterance *grown = realloc(corpus->utterances, (corpus->count + count + 1) * sizeof *grown);
  bool good = grown != NULL;
  if (grown)
    corpus->utterances = grown;
  for (size_t i = 0; good && i < count; i++)
    good = add_utterance(corpus, folder, i, transcripts, labels);
  return good;
}

static bool add_folder(struct train_corpus *corpus, const char *name, struct train_labels *labels) {
  struct linnet_context *context = corpus->context;
  struct linnet_transcripts *transcripts = NULL;
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", name, labels->file);
  if (corpus->num_folders == MAX_FOLDERS ||
      linnet_data_folder_open(context, name, &corpus->folders[corpus->num_folders]) != LINNET_OK ||
      linnet_transcripts_load(context, path, &transcripts) != LINNET_OK) {
    tool_fail_context(context);
    return false;
  }
  bool good = add_utterances(corpus, corpus->folders[corpus->num_folders++], transcripts, labels);
  linnet_transcripts_destroy(transcripts);
  return good;
}

/* --- loading ------------------------------------------------------------------------------------------------------ */

static bool load(struct linnet_context *context, struct train_corpus *corpus, const char *const *folders, size_t count,
                 struct train_labels *labels) {
  if (linnet_symbols_create(context, NULL, 0, &corpus->speakers) != LINNET_OK ||
      linnet_fbank_create(context, &corpus->config->feature_config.fbank, &corpus->fbank) != LINNET_OK) {
    tool_fail_context(context);
    return false;
  }
  for (size_t i = 0; i < count; i++)
    if (!add_folder(corpus, folders[i], labels))
      return false;
  if (corpus->missing + corpus->unknown > 0)
    tool_warn("%s: %zu utterances without labels and %zu with unknown words are ignored", folders[0], corpus->missing,
              corpus->unknown);
  if (corpus->augmented && corpus->config->noise && !load_noise(context, corpus))
    return false;
  return read_all(context, corpus);
}

struct train_corpus *train_corpus_load(struct linnet_context *context, const char *const *folders, size_t count,
                                       const struct train_config *config, struct train_labels *labels, bool augmented) {
  struct train_corpus *corpus = calloc(1, sizeof *corpus);
  if (!corpus)
    return NULL;
  corpus->context = context;
  corpus->config = config;
  corpus->augmented = augmented;
  if (load(context, corpus, folders, count, labels))
    return corpus;
  train_corpus_free(corpus);
  return NULL;
}

void train_corpus_free(struct train_corpus *corpus) {
  if (!corpus)
    return;
  for (size_t i = 0; i < corpus->count; i++)
    free_utterance(&corpus->utterances[i]);
  for (size_t i = 0; i < MAX_FOLDERS; i++)
    linnet_data_folder_destroy(corpus->folders[i]);
  for (size_t i = 0; i < corpus->num_noise; i++)
    free((void *)(uintptr_t)corpus->noise[i].samples);
  free(corpus->noise);
  free(corpus->utterances);
  free(corpus->statistics);
  linnet_symbols_destroy(corpus->speakers);
  linnet_fbank_destroy(corpus->fbank);
  free(corpus);
}

double train_corpus_hours(const struct train_corpus *corpus) {
  double frames = 0;
  for (size_t i = 0; i < corpus->count; i++)
    frames += (double)corpus->utterances[i].frames;
  return frames * corpus->config->feature_config.fbank.frame_shift / 3.6e6;
}

/* --- features ----------------------------------------------------------------------------------------------------- */

/* Augments the samples as `key` determines. Their memory includes the padding; noise is added to the padding as well.
 */
static enum linnet_status augment(struct linnet_context *context, const struct train_corpus *corpus,
                                  struct linnet_augment_key key, float *samples, size_t *count) {
  const struct train_config *config = corpus->config;
  double rate = sample_rate(corpus);
  enum linnet_status status = LINNET_OK;
  if (config->room.size)
    status = linnet_augment_room(context, &config->room, key, rate, samples, *count);
  if (config->level.size)
    linnet_augment_level(&config->level, key, samples, *count);
  if (config->band.size)
    linnet_augment_band(&config->band, key, rate, samples, *count);
  if (config->padding.size)
    linnet_augment_padding(&config->padding, key, rate, corpus->noise, corpus->num_noise, samples, count);
  if (corpus->num_noise > 0)
    linnet_augment_noise(&config->mixing, key, corpus->noise, corpus->num_noise, samples, *count);
  return status;
}

/* Filterbank of 16-bit samples; augmented if there is a key. */
static enum linnet_status compute(struct linnet_context *context, const struct train_corpus *corpus,
                                  const struct clip *clip, const struct linnet_augment_key *key, float *features,
                                  size_t capacity, size_t *frames) {
  struct linnet_fbank *fbank = NULL;
  size_t count = clip->count, padding = key ? linnet_padding_max(&corpus->config->padding, sample_rate(corpus)) : 0;
  float *samples = malloc((count + padding + 1) * sizeof *samples);
  enum linnet_status status = samples ? LINNET_OK : LINNET_ERROR_MEMORY;
  for (size_t i = 0; samples && i < count; i++)
    samples[i] = clip->samples[i];
  if (samples && key)
    status = augment(context, corpus, *key, samples, &count);
  if (status == LINNET_OK)
    status = linnet_fbank_create(context, &corpus->config->feature_config.fbank, &fbank);
  if (status == LINNET_OK) {
    *frames = linnet_fbank_num_frames(fbank, count);
    status = *frames <= capacity ? linnet_fbank_compute(fbank, samples, count, features) : LINNET_ERROR_LIMIT;
  }
  linnet_fbank_destroy(fbank);
  free(samples);
  return status;
}

/* Features of feats.scp; they must have the shape that they had when the corpus was loaded. */
static enum linnet_status load_stored(struct linnet_context *context, const struct train_corpus *corpus,
                                      const struct utterance *u, float *features, size_t capacity, size_t *frames) {
  size_t mel = corpus->config->feature_config.fbank.num_mel;
  struct linnet_matrix matrix = {0};
  enum linnet_status status = linnet_data_folder_features(u->folder, context, u->index, &matrix);
  if (status == LINNET_OK && (matrix.rows != u->frames || matrix.cols != mel || matrix.rows > capacity)) {
    tool_fail("utterance %s: its stored features changed during the training", u->id);
    status = LINNET_ERROR_FORMAT;
  }
  if (status == LINNET_OK) {
    *frames = matrix.rows;
    memcpy(features, matrix.values, matrix.rows * mel * sizeof *features);
  }
  linnet_matrix_release(context, &matrix);
  return status;
}

/* Features of an utterance without noise or change of speed. */
static enum linnet_status compute_plain(struct linnet_context *context, const struct train_corpus *corpus,
                                        const struct utterance *u, float *features, size_t capacity, size_t *frames) {
  return u->stored ? load_stored(context, corpus, u, features, capacity, frames)
                   : compute(context, corpus, &u->audio[0], NULL, features, capacity, frames);
}

static void normalise(const struct train_corpus *corpus, const struct utterance *u, float *features, size_t frames) {
  const struct linnet_feature_config *config = &corpus->config->feature_config;
  struct linnet_cmvn own;
  const struct linnet_cmvn *statistics = &own;
  if (config->cmvn == LINNET_CMVN_NONE)
    return;
  if (config->cmvn == LINNET_CMVN_RUNNING) {
    own = corpus->statistics[0];
    linnet_cmvn_scale(&own, config->cmvn_prior);
    linnet_cmvn_run(&own, config->cmvn_frames, config->cmvn_variance, features, frames);
    return;
  }
  if (config->cmvn == LINNET_CMVN_UTTERANCE) {
    linnet_cmvn_reset(&own, config->fbank.num_mel);
    linnet_cmvn_accumulate_frames(&own, config->cmvn_frames, features, frames);
  } else {
    statistics = &corpus->statistics[config->cmvn == LINNET_CMVN_SPEAKER ? u->speaker : 0];
  }
  linnet_cmvn_apply(statistics, config->cmvn_variance, features, frames);
}

static struct linnet_augment_key key_of(const struct train_corpus *corpus, uint64_t epoch, size_t utterance) {
  return (struct linnet_augment_key){corpus->config->training.seed, epoch, utterance};
}

static const struct clip *choose_clip(const struct train_corpus *corpus, const struct utterance *u,
                                      struct linnet_augment_key key) {
  if (corpus->config->num_speeds == 0)
    return &u->audio[0];
  size_t choice = linnet_augment_choose(key, corpus->config->num_speeds);
  return corpus->config->speeds[choice] == 1 ? &u->audio[0] : &u->audio[choice + 1];
}

static enum linnet_status corpus_features(void *user, struct linnet_context *context, size_t utterance, uint64_t epoch,
                                          float *features, size_t capacity, size_t *frames) {
  const struct train_corpus *corpus = user;
  const struct utterance *u = &corpus->utterances[utterance];
  struct linnet_augment_key key = key_of(corpus, epoch, utterance);
  bool augmented = corpus->augmented && epoch > 0;
  enum linnet_status status =
      augmented && !u->stored ? compute(context, corpus, choose_clip(corpus, u, key), &key, features, capacity, frames)
                              : compute_plain(context, corpus, u, features, capacity, frames);
  if (status != LINNET_OK)
    return status;
  normalise(corpus, u, features, *frames);
  return LINNET_OK;
}

/* The trainer applies the masks. Those of further views are drawn from epochs that no training reaches. */
static void corpus_masks(void *user, size_t utterance, uint64_t epoch, unsigned view, size_t frames,
                         struct linnet_feature_mask *masks) {
  const struct train_corpus *corpus = user;
  linnet_specaugment_masks(&corpus->config->masks, key_of(corpus, epoch | (uint64_t)view << 32, utterance), frames,
                           corpus->config->feature_config.fbank.num_mel, masks);
}

/* Adds the statistics of each utterance to those of its speaker, or to those of the corpus. */
static bool accumulate(struct linnet_context *context, struct train_corpus *corpus, bool by_speaker) {
  size_t mel = corpus->config->feature_config.fbank.num_mel;
  bool good = true;
  for (size_t i = 0; good && i < corpus->count; i++) {
    const struct utterance *u = &corpus->utterances[i];
    size_t frames = u->frames;
    float *features = malloc((frames * mel + 1) * sizeof *features);
    good = features && compute_plain(context, corpus, u, features, frames, &frames) == LINNET_OK;
    if (good)
      linnet_cmvn_accumulate_frames(&corpus->statistics[by_speaker ? u->speaker : 0],
                                    corpus->config->feature_config.cmvn_frames, features, frames);
    free(features);
  }
  return good;
}

bool train_corpus_normalise(struct linnet_context *context, struct train_corpus *corpus, struct linnet_cmvn *global) {
  const struct linnet_feature_config *config = &corpus->config->feature_config;
  if (config->cmvn == LINNET_CMVN_NONE || config->cmvn == LINNET_CMVN_UTTERANCE)
    return true;
  bool by_speaker = config->cmvn == LINNET_CMVN_SPEAKER;
  size_t sets = by_speaker ? linnet_symbols_num_symbols(corpus->speakers) : 1;
  corpus->statistics = calloc(sets, sizeof *corpus->statistics);
  for (size_t i = 0; corpus->statistics && i < sets; i++)
    linnet_cmvn_reset(&corpus->statistics[i], config->fbank.num_mel);
  bool given = !by_speaker && global->count > 0;
  if (!corpus->statistics || (!given && !accumulate(context, corpus, by_speaker))) {
    if (tool_interrupted())
      return false;
    tool_fail("cannot compute the statistics for CMVN: %s", linnet_context_error(context));
    return false;
  }
  if (given)
    corpus->statistics[0] = *global;
  else if (!by_speaker)
    *global = corpus->statistics[0];
  return true;
}

/* --- the other callbacks ------------------------------------------------------------------------------------------ */

static const char *corpus_id(void *user, size_t utterance) {
  return ((const struct train_corpus *)user)->utterances[utterance].id;
}

static size_t corpus_frames(void *user, size_t utterance) {
  return ((const struct train_corpus *)user)->utterances[utterance].frames;
}

static const int *corpus_labels(void *user, size_t utterance, size_t *count) {
  const struct utterance *u = &((const struct train_corpus *)user)->utterances[utterance];
  *count = u->num_labels;
  return u->labels;
}

/* Counts the errors of greedy decoding against the labels. */
static enum linnet_status count_errors(void *user, struct linnet_context *context, size_t utterance,
                                       const float *log_posteriors, size_t frames, size_t symbols, size_t *errors,
                                       size_t *reference) {
  const struct utterance *u = &((const struct train_corpus *)user)->utterances[utterance];
  struct linnet_greedy *greedy = NULL;
  enum linnet_status status = linnet_greedy_create(context, (int)symbols, &greedy);
  if (status == LINNET_OK)
    status = linnet_greedy_accept(greedy, log_posteriors, frames);
  size_t count = 0;
  const struct linnet_segment *segments = status == LINNET_OK ? linnet_greedy_segments(greedy, &count) : NULL;
  int *decoded = malloc((count + 1) * sizeof *decoded);
  struct linnet_score score = {0};
  for (size_t i = 0; decoded && i < count; i++)
    decoded[i] = segments[i].symbol;
  if (status == LINNET_OK)
    status =
        decoded ? linnet_score_add(context, u->labels, u->num_labels, decoded, count, &score) : LINNET_ERROR_MEMORY;
  *errors = score.num_substitutions + score.num_insertions + score.num_deletions;
  *reference = score.num_reference;
  free(decoded);
  linnet_greedy_destroy(greedy);
  return status;
}

struct linnet_corpus train_corpus_callbacks(struct train_corpus *corpus) {
  const struct train_config *config = corpus->config;
  bool masked = corpus->augmented && config->specaugment;
  size_t padding = corpus->augmented ? linnet_padding_max(&config->padding, sample_rate(corpus)) : 0;
  return (struct linnet_corpus){.size = sizeof(struct linnet_corpus),
                                .user = corpus,
                                .num_utterances = corpus->count,
                                .id = corpus_id,
                                .frames = corpus_frames,
                                .labels = corpus_labels,
                                .features = corpus_features,
                                .count_errors = count_errors,
                                .num_masks = masked ? linnet_specaugment_num_masks(&config->masks) : 0,
                                .masks = corpus_masks,
                                .extra_frames = padding / linnet_fbank_shift(corpus->fbank) + 1};
}
