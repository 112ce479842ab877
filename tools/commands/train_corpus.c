/* Loads the corpus of a training and gives the trainer features, augmentation, labels and error counts. */
#include "train_corpus.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linnet/greedy.h>
#include <linnet/score.h>

#include "common/parallel.h"

/* --- audio -------------------------------------------------------------------------------------------------------- */

static double sample_rate(const struct train_corpus *corpus) {
  return corpus->config->feature_config.fbank.sample_rate;
}

static enum linnet_status read_audio(struct linnet_context *context, struct train_corpus *corpus, struct utterance *u) {
  const struct train_config *config = corpus->config;
  struct linnet_audio_settings settings;
  float *samples = NULL;
  size_t count = 0;
  linnet_audio_settings_default(&settings);
  settings.sample_rate = sample_rate(corpus);
  u->audio = calloc(config->num_speeds + 1, sizeof *u->audio);
  if (!u->audio)
    return LINNET_ERROR_MEMORY;
  enum linnet_status status =
      linnet_data_folder_audio(corpus->folders[u->folder], context, u->index, &settings, &samples, &count);
  if (status == LINNET_OK)
    status = clip_keep(context, samples, count, &u->audio[0]);
  for (size_t i = 0; status == LINNET_OK && corpus->augmented && i < config->num_speeds; i++)
    if (config->speeds[i] != 1)
      status = clip_change_speed(context, &u->audio[0], sample_rate(corpus), config->speeds[i], &u->audio[i + 1]);
  u->frames = linnet_fbank_num_frames(corpus->fbank, u->audio[0].count);
  return status;
}

/* The length is known. Otherwise the utterance cannot be read, which is then reported, or it has no frames. */
static enum linnet_status check_stored(struct linnet_context *context, struct train_corpus *corpus,
                                       struct utterance *u) {
  const struct stored *stored = &corpus->stored[u->folder];
  struct linnet_matrix matrix = {0};
  u->frames = stored->frames[u->index];
  enum linnet_status status = LINNET_OK;
  if (u->frames == 0)
    status = stored_read(stored, context, u->index, MAX_SPEEDS, &matrix);
  linnet_matrix_release(context, &matrix);
  return status;
}

static int task_read(void *user, size_t i, unsigned worker, struct linnet_context *context) {
  struct train_corpus *corpus = user;
  struct utterance *u = &corpus->utterances[i];
  (void)worker;
  if (tool_interrupted())
    return TOOL_INTERRUPTED;
  bool stored = corpus->stored[u->folder].scp && !linnet_data_folder_path(corpus->folders[u->folder], u->index);
  if ((stored ? check_stored : read_audio)(context, corpus, u) != LINNET_OK) {
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

static void free_utterance(const struct train_config *config, struct utterance *u) {
  free(u->labels);
  for (size_t i = 0; u->audio && i <= config->num_speeds; i++)
    free(u->audio[i].samples);
  free(u->audio);
}

/* The transcripts of a folder: a list that the data folder has in memory, or a file of its own. */
struct transcripts {
  const char *(*line)(const struct linnet_data_folder *folder, size_t utterance); /* NULL: `file` */
  struct linnet_transcripts *file;
  char *copy;          /* of the present line, divided into tokens */
  const char **tokens; /* (length of the line / 2 + 1) */
  size_t capacity;     /* bytes of the copy */
};

static bool open_transcripts(struct linnet_context *context, const char *folder, const char *name,
                             struct transcripts *transcripts) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  *transcripts = (struct transcripts){0};
  if (access(path, F_OK) == 0 && strcmp(name, "phones") == 0)
    transcripts->line = linnet_data_folder_phones;
  else if (access(path, F_OK) == 0 && strcmp(name, "text") == 0)
    transcripts->line = linnet_data_folder_text;
  else
    return linnet_transcripts_load(context, path, &transcripts->file) == LINNET_OK ||
           tool_fail_context(context) == TOOL_OK;
  return true;
}

static void close_transcripts(struct transcripts *transcripts) {
  linnet_transcripts_destroy(transcripts->file);
  free(transcripts->copy);
  free((void *)transcripts->tokens);
}

static bool reserve_line(struct transcripts *t, size_t bytes) {
  if (bytes <= t->capacity)
    return true;
  free(t->copy);
  free((void *)t->tokens);
  t->copy = malloc(2 * bytes);
  t->tokens = malloc((bytes + 1) * sizeof *t->tokens);
  t->capacity = t->copy && t->tokens ? 2 * bytes : 0;
  if (t->capacity == 0)
    tool_fail("out of memory for a transcript of %zu bytes", bytes);
  return t->capacity > 0;
}

/* Sets *tokens to the tokens of an utterance, valid until the next call; NULL: it has no line. False without memory. */
static bool find_tokens(struct transcripts *t, const struct linnet_data_folder *folder, size_t index,
                        const char *const **tokens, size_t *count) {
  static const char separators[] = " \t\r\v\f";
  static const char *const nothing[1] = {NULL};
  *count = 0;
  *tokens = NULL;
  if (!t->line) {
    size_t at = linnet_transcripts_find(t->file, linnet_data_folder_id(folder, index));
    if (at != LINNET_NOT_FOUND && !(*tokens = linnet_transcripts_tokens(t->file, at, count)))
      *tokens = nothing;
    return true;
  }
  const char *line = t->line(folder, index);
  if (!line)
    return true;
  if (!reserve_line(t, strlen(line) + 1))
    return false;
  strcpy(t->copy, line);
  char *rest = NULL;
  for (char *token = strtok_r(t->copy, separators, &rest); token; token = strtok_r(NULL, separators, &rest))
    t->tokens[(*count)++] = token;
  *tokens = t->tokens;
  return true;
}

static bool skip_utterance(struct train_corpus *corpus, const char *id, const char *file) {
  tool_warn("utterance %s has no line in %s", id, file);
  corpus->missing++;
  return true;
}

/* Appends an utterance of the folder, with its labels; skips it if it has none. */
static bool add_utterance(struct train_corpus *corpus, size_t folder_index, size_t index,
                          struct transcripts *transcripts, struct train_labels *labels) {
  const struct linnet_data_folder *folder = corpus->folders[folder_index];
  const char *id = linnet_data_folder_id(folder, index), *const * tokens;
  struct utterance *u = &corpus->utterances[corpus->count];
  size_t count;
  int speaker = 0;
  bool unknown = false;
  if (!find_tokens(transcripts, folder, index, &tokens, &count))
    return false;
  if (!tokens)
    return skip_utterance(corpus, id, labels->file);
  const char *name = linnet_data_folder_speaker_name(folder, linnet_data_folder_speaker(folder, index));
  linnet_symbols_add(corpus->speakers, name, &speaker);
  *u = (struct utterance){.id = id, .folder = (uint32_t)folder_index, .index = index, .speaker = (uint32_t)speaker};
  bool good =
      labels->lexicon ? lexicon_labels(u, labels, tokens, count, &unknown) : direct_labels(u, labels, tokens, count);
  corpus->unknown += unknown;
  if (good && !unknown)
    corpus->count++;
  else
    free_utterance(corpus->config, u);
  return good;
}

static bool add_utterances(struct train_corpus *corpus, size_t folder, struct transcripts *transcripts,
                           struct train_labels *labels) {
  size_t count = linnet_data_folder_num_utterances(corpus->folders[folder]);
  struct utterance *grown = realloc(corpus->utterances, (corpus->count + count + 1) * sizeof *grown);
  bool good = grown != NULL;
  if (grown)
    corpus->utterances = grown;
  for (size_t i = 0; good && i < count; i++)
    good = add_utterance(corpus, folder, i, transcripts, labels);
  return good;
}

static bool add_folder(struct train_corpus *corpus, const char *name, struct train_labels *labels) {
  struct transcripts transcripts;
  if (corpus->num_folders == MAX_FOLDERS ||
      linnet_data_folder_open(corpus->context, name, &corpus->folders[corpus->num_folders]) != LINNET_OK) {
    tool_fail_context(corpus->context);
    return false;
  }
  bool good = open_transcripts(corpus->context, name, labels->file, &transcripts) &&
              add_utterances(corpus, corpus->num_folders++, &transcripts, labels);
  close_transcripts(&transcripts);
  return good;
}

static bool lacks_audio(const struct linnet_data_folder *folder) {
  for (size_t i = 0; i < linnet_data_folder_num_utterances(folder); i++)
    if (!linnet_data_folder_path(folder, i))
      return true;
  return false;
}

/* Without audio, features are read whenever they are needed. */
static bool open_stored(struct train_corpus *corpus, const char *const *names) {
  for (size_t i = 0; i < corpus->num_folders; i++) {
    const struct linnet_data_folder *folder = corpus->folders[i];
    if (linnet_data_folder_has_features(folder) && lacks_audio(folder) &&
        !stored_open(corpus->context, corpus->ranks, folder, names[i], corpus->augmented ? corpus->config : NULL,
                     &corpus->stored[i]))
      return false;
  }
  return true;
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
  const bool blocks = corpus->augmented && corpus->config->training.num_block_utterances > 0;
  return open_stored(corpus, folders) && (!blocks || corpus_sort_by_offset(corpus)) && read_all(context, corpus);
}

struct train_corpus *train_corpus_load(struct linnet_context *context, struct train_ranks *ranks,
                                       const char *const *folders, size_t count, const struct train_config *config,
                                       struct train_labels *labels, bool augmented) {
  struct train_corpus *corpus = calloc(1, sizeof *corpus);
  if (!corpus)
    return NULL;
  corpus->context = context;
  corpus->ranks = ranks;
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
    free_utterance(corpus->config, &corpus->utterances[i]);
  for (size_t i = 0; i < MAX_FOLDERS; i++) {
    stored_close(&corpus->stored[i]);
    linnet_data_folder_destroy(corpus->folders[i]);
  }
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

/* Checks stored features: at their own speed they have the length that the batches count on. */
static enum linnet_status check_shape(const struct train_corpus *corpus, const struct utterance *u, bool own_speed,
                                      const struct linnet_matrix *matrix, size_t capacity) {
  size_t mel = corpus->config->feature_config.fbank.num_mel;
  if (matrix->cols != mel)
    tool_fail("utterance %s: its stored features have %zu columns, but num_mel of the configuration is %zu", u->id,
              matrix->cols, mel);
  else if (own_speed && matrix->rows != u->frames)
    tool_fail(
        "utterance %s: its stored features have %zu frames, but utt2num_frames has %zu, or they changed during the "
        "training: remove utt2num_frames",
        u->id, matrix->rows, u->frames);
  else if (matrix->rows > capacity)
    tool_fail("utterance %s: its stored features have %zu frames, too many for a change of speed of %zu", u->id,
              matrix->rows, u->frames);
  else
    return LINNET_OK;
  return LINNET_ERROR_FORMAT;
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
    status = check_shape(corpus, u, own_speed, &matrix, capacity);
  if (status == LINNET_OK) {
    *frames = matrix.rows;
    memcpy(features, matrix.values, matrix.rows * matrix.cols * sizeof *features);
  }
  linnet_matrix_release(context, &matrix);
  return status;
}

enum linnet_status corpus_plain_features(struct linnet_context *context, const struct train_corpus *corpus,
                                         const struct utterance *u, float *features, size_t capacity, size_t *frames) {
  return u->audio ? compute(context, corpus, &u->audio[0], NULL, features, capacity, frames)
                  : load_stored(context, corpus, u, MAX_SPEEDS, features, capacity, frames);
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

static struct linnet_augment_key key_of(const struct train_corpus *corpus, uint64_t epoch, size_t utterance) {
  return (struct linnet_augment_key){corpus->config->training.seed, epoch, utterance};
}

/* The index of the speed of an utterance in an epoch; MAX_SPEEDS: its own. */
static size_t choose_speed(const struct train_corpus *corpus, const struct utterance *u, size_t utterance,
                           uint64_t epoch) {
  const struct train_config *config = corpus->config;
  if (!corpus->augmented || epoch == 0 || config->num_speeds == 0 ||
      (!u->audio && !corpus->stored[u->folder].has_speeds))
    return MAX_SPEEDS;
  size_t choice = linnet_augment_choose(key_of(corpus, epoch, utterance), config->num_speeds);
  return config->speeds[choice] == 1 ? MAX_SPEEDS : choice;
}

/* Those of a training utterance in this epoch, before normalisation. */
static enum linnet_status augmented_features(const struct train_corpus *corpus, struct linnet_context *context,
                                             size_t utterance, uint64_t epoch, float *features, size_t capacity,
                                             size_t *frames) {
  const struct utterance *u = &corpus->utterances[utterance];
  const struct linnet_augment_key key = key_of(corpus, epoch, utterance);
  const size_t speed = choose_speed(corpus, u, utterance, epoch), clip = speed == MAX_SPEEDS ? 0 : speed + 1;
  return u->audio ? compute(context, corpus, &u->audio[clip], corpus->augmented && epoch > 0 ? &key : NULL, features,
                            capacity, frames)
                  : load_stored(context, corpus, u, speed, features, capacity, frames);
}

static enum linnet_status corpus_both_features(void *user, struct linnet_context *context, size_t utterance,
                                               uint64_t epoch, float *features, float *teacher, size_t capacity,
                                               size_t *frames) {
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

static enum linnet_status corpus_features(void *user, struct linnet_context *context, size_t utterance, uint64_t epoch,
                                          float *features, size_t capacity, size_t *frames) {
  return corpus_both_features(user, context, utterance, epoch, features, NULL, capacity, frames);
}

void train_corpus_set_teacher(struct train_corpus *corpus, const struct linnet_model *teacher) {
  corpus->teacher = teacher;
  linnet_model_features(teacher, &corpus->teacher_features);
}

/* --- frame targets ------------------------------------------------------------------------------------------------ */

/* A margin in seconds for phones that end after the last frame: half a window, stacked frames, rounding. */
static const double max_overhang = 0.5;

static bool check_phones(const struct train_corpus *corpus, const struct utterance *u, const char *path) {
  const double end = u->num_phones > 0 ? (double)u->phones[u->num_phones - 1].end : 0,
               seconds = (double)u->frames * corpus->config->feature_config.fbank.frame_shift / 1000;
  if (end <= seconds + max_overhang)
    return true;
  tool_fail("%s: utterance %s: its phones end at %.2f s, but it has %.2f s: align the data that are trained on", path,
            u->id, end, seconds);
  return false;
}

bool train_corpus_set_targets(struct train_corpus *corpus, const struct train_targets *targets) {
  const char *path = train_targets_path(targets);
  size_t found = 0, missing = 0;
  for (size_t i = 0; i < corpus->count; i++) {
    struct utterance *u = &corpus->utterances[i];
    u->phones = train_targets_find(targets, u->id, &u->num_phones);
    if (!check_phones(corpus, u, path))
      return false;
    found += u->num_phones > 0;
    missing += u->num_phones == 0 && u->num_labels > 0;
  }
  if (found == 0)
    tool_fail("%s: has no utterance of the training data: align them (linnet align --data DIR --format ctm)", path);
  else if (missing > 0)
    tool_warn("%s: lacks %zu of %zu utterances with labels, which train without frame targets", path, missing,
              found + missing);
  return corpus->targeted = found > 0;
}

/* Speeds and padding move the phones; the other augmentations keep their times. A frame lies where `linnet align` has
 * it: frame 0 begins at 0. */
static void corpus_targets(void *user, size_t utterance, uint64_t epoch, size_t frames, int *targets) {
  const struct train_corpus *corpus = user;
  const struct train_config *config = corpus->config;
  const struct utterance *u = &corpus->utterances[utterance];
  const size_t choice = choose_speed(corpus, u, utterance, epoch);
  const double rate = sample_rate(corpus), speed = choice == MAX_SPEEDS ? 1 : config->speeds[choice];
  const bool padded = u->audio && corpus->augmented && epoch > 0;
  const size_t samples = padded ? linnet_padding_before(&config->padding, key_of(corpus, epoch, utterance), rate) : 0;
  const double before = (double)samples / rate, shift = config->feature_config.fbank.frame_shift / 1000;
  for (size_t t = 0, p = 0; t < frames; t++) {
    const double seconds = (((double)t + 0.5) * shift - before) * speed;
    while (p < u->num_phones && (double)u->phones[p].end <= seconds)
      p++;
    targets[t] = p < u->num_phones && (double)u->phones[p].start <= seconds ? u->phones[p].symbol : 0;
  }
}

/* --- the other callbacks ------------------------------------------------------------------------------------------ */

static void corpus_prefetch(void *user, const size_t *utterances, size_t count, uint64_t epoch) {
  const struct train_corpus *corpus = user;
  for (size_t i = 0; i < count; i++) {
    const struct utterance *u = &corpus->utterances[utterances[i]];
    if (!u->audio)
      stored_prefetch(&corpus->stored[u->folder], u->index, choose_speed(corpus, u, utterances[i], epoch));
  }
}

/* The trainer applies the masks. Those of further views are drawn from epochs that no training reaches. */
static void corpus_masks(void *user, size_t utterance, uint64_t epoch, unsigned view, size_t frames,
                         struct linnet_feature_mask *masks) {
  const struct train_corpus *corpus = user;
  linnet_specaugment_masks(&corpus->config->masks, key_of(corpus, epoch | (uint64_t)view << 32, utterance), frames,
                           corpus->config->feature_config.fbank.num_mel, masks);
}

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
                                .both_features = corpus->teacher ? corpus_both_features : NULL,
                                .targets = corpus->targeted ? corpus_targets : NULL,
                                .count_errors = count_errors,
                                .num_masks = masked ? linnet_specaugment_num_masks(&config->masks) : 0,
                                .masks = corpus_masks,
                                .prefetch = corpus_prefetch,
                                .extra_frames = padding / linnet_fbank_shift(corpus->fbank) + 1};
}
