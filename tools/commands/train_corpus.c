/* Loads the corpus of a training and gives the trainer features, augmentation, labels and error counts. */
#include "train_corpus.h"
#include "base/numbers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linnet/greedy.h>
#include <linnet/score.h>

enum linnet_status corpus_fail(struct linnet_context *context, const char *format, ...) {
  char sentence[LINNET_ERROR_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  return linnet_context_fail(context, LINNET_ERROR_FORMAT, sentence);
}

/* --- folders ------------------------------------------------------------------------------------------------------ */

enum { MAX_NAMED = 5 };

/* Names the first ones. */
static bool skip_utterance(struct train_corpus *corpus, const char *id, const char *file) {
  if (corpus->missing++ < MAX_NAMED)
    tool_warn("utterance %s has no line in %s", id, file);
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
  if (!transcripts_find(transcripts, folder, index, &tokens, &count))
    return false;
  if (!tokens)
    return skip_utterance(corpus, id, labels->file);
  const char *name = linnet_data_folder_speaker_name(folder, linnet_data_folder_speaker(folder, index));
  if (linnet_symbols_add(corpus->speakers, name, &speaker) != LINNET_OK) {
    tool_fail_context(corpus->context);
    return false;
  }
  *u = (struct utterance){.id = id, .folder = (uint32_t)folder_index, .index = index, .speaker = (uint32_t)speaker};
  const bool good = labels_make(u, labels, corpus->names[folder_index], tokens, count, &corpus->words, &unknown);
  corpus->unknown += unknown;
  if (good && !unknown)
    corpus->count++;
  else
    free(u->labels);
  return good;
}

static bool add_utterances(struct train_corpus *corpus, size_t folder, struct transcripts *transcripts,
                           struct train_labels *labels) {
  size_t count = linnet_data_folder_num_utterances(corpus->folders[folder]);
  struct utterance *grown = realloc(corpus->utterances, (corpus->count + count + 1) * sizeof *grown);
  bool good = grown != NULL;
  if (grown)
    corpus->utterances = grown;
  else
    tool_fail("out of memory for %zu utterances", corpus->count + count);
  for (size_t i = 0; good && i < count; i++)
    good = add_utterance(corpus, folder, i, transcripts, labels);
  return good;
}

static bool add_folder(struct train_corpus *corpus, const char *name, struct train_labels *labels) {
  struct transcripts transcripts;
  if (corpus->num_folders < MAX_FOLDERS)
    corpus->names[corpus->num_folders] = name;
  if (corpus->num_folders == MAX_FOLDERS ||
      linnet_data_folder_open(corpus->context, name, &corpus->folders[corpus->num_folders]) != LINNET_OK) {
    tool_fail_context(corpus->context);
    return false;
  }
  bool good = transcripts_open(corpus->context, name, labels->file, &transcripts) &&
              add_utterances(corpus, corpus->num_folders++, &transcripts, labels);
  transcripts_close(&transcripts);
  return good;
}

static bool lacks_audio(const struct linnet_data_folder *folder) {
  for (size_t i = 0; i < linnet_data_folder_num_utterances(folder); i++)
    if (!linnet_data_folder_path(folder, i))
      return true;
  return false;
}

/* An augmentation that changes samples; NULL: there is none. */
static const char *needs_audio(const struct train_config *c) {
  return c->noise && c->mixing.probability > 0               ? "noise"
         : c->level.size > 0 && c->level.probability > 0     ? "level"
         : c->band.size > 0 && c->band.probability > 0       ? "band"
         : c->padding.size > 0 && c->padding.probability > 0 ? "padding"
         : c->room.size > 0 && c->room.probability > 0       ? "room"
                                                             : NULL;
}

/* Augmentations of samples would do nothing to stored features. */
static bool check_augmentation(const struct train_corpus *corpus, const char *folder) {
  const char *key = corpus->augmented ? needs_audio(corpus->config) : NULL;
  if (key)
    tool_fail("%s: has stored features (feats.scp), but augment.%s needs audio: give a folder with wav.scp, or remove "
              "augment.%s",
              folder, key, key);
  return !key;
}

/* Features and recordings are read whenever they are needed; a folder with both, where each utterance has audio, is one
 * of audio. */
static bool open_data(struct train_corpus *corpus) {
  for (size_t i = 0; i < corpus->num_folders; i++) {
    const struct linnet_data_folder *folder = corpus->folders[i];
    const bool stored = linnet_data_folder_has_features(folder) && lacks_audio(folder);
    if (stored && !check_augmentation(corpus, corpus->names[i]))
      return false;
    if (stored ? !stored_open(corpus->context, corpus->ranks, folder, corpus->names[i],
                              corpus->augmented ? corpus->config : NULL, &corpus->stored[i])
               : !audio_open(corpus->context, corpus->ranks, folder, corpus->names[i], corpus_sample_rate(corpus),
                             &corpus->memories->audio, &corpus->audio[i]))
      return false;
  }
  return true;
}

static size_t frames_of(const struct train_corpus *corpus, size_t folder, size_t index) {
  const struct audio *audio = &corpus->audio[folder];
  return audio->folder ? linnet_fbank_num_frames(corpus->fbank, audio->lengths[index])
                       : corpus->stored[folder].frames[index];
}

/* Says how much of the data is not trained on. Lengths are known. */
static void report_omitted(const struct train_corpus *corpus) {
  double all = 0, used = 0;
  size_t count = 0;
  if (corpus->missing + corpus->unknown == 0)
    return;
  for (size_t f = 0; f < corpus->num_folders; f++) {
    const size_t utterances = linnet_data_folder_num_utterances(corpus->folders[f]);
    for (size_t i = 0; i < utterances; i++)
      all += (double)frames_of(corpus, f, i);
    count += utterances;
  }
  for (size_t i = 0; i < corpus->count; i++)
    used += (double)frames_of(corpus, corpus->utterances[i].folder, corpus->utterances[i].index);
  const double hours = corpus_frame_seconds(corpus) / 3600;
  tool_warn("%s%s: %zu of %zu utterances are left out, %.2f of %.2f hours: %zu without labels, %zu with unknown words",
            corpus->names[0], corpus->num_folders > 1 ? " and the other folders" : "",
            corpus->missing + corpus->unknown, count, (all - used) * hours, all * hours, corpus->missing,
            corpus->unknown);
}

/* An utterance whose length is unknown has no frames, or cannot be read, which is then reported. */
static bool find_length(struct linnet_context *context, const struct train_corpus *corpus, struct utterance *u) {
  u->frames = frames_of(corpus, u->folder, u->index);
  if (u->frames > 0 || corpus_check_readable(context, corpus, u) == LINNET_OK)
    return true;
  const char *error = linnet_context_error(context);
  const bool named = strncmp(error, u->id, strlen(u->id)) == 0; /* that of recordings */
  if (!tool_interrupted())
    tool_fail("utterance %s%s%s", named ? "" : u->id, named ? "" : ": ", error);
  return false;
}

static bool find_lengths(struct linnet_context *context, struct train_corpus *corpus) {
  for (size_t i = 0; i < corpus->count; i++)
    if (!find_length(context, corpus, &corpus->utterances[i]))
      return false;
  return true;
}

/* --- loading ------------------------------------------------------------------------------------------------------ */

/* Says why no utterance can be used. */
static void refuse_all(const struct train_corpus *corpus, const struct train_labels *labels) {
  const char *name = corpus->names[0], *others = corpus->num_folders > 1 ? " and the other folders" : "";
  if (corpus->unknown == 0)
    tool_fail("%s%s: no utterance has labels: utt2spk and %s must name the same utterances", name, others,
              labels->file);
  else
    tool_fail("%s%s: no utterance can be used: %zu have words that %s lacks, %zu have no line in %s: add the words to "
              "the lexicon, or give the one of these data",
              name, others, corpus->unknown, labels->lexicon_file, corpus->missing, labels->file);
}

/* Whether there is something to learn, or to compare with: utterances, and any label. */
static bool check_labels(const struct train_corpus *corpus, const struct train_labels *labels) {
  for (size_t i = 0; i < corpus->count; i++)
    if (corpus->utterances[i].num_labels > 0)
      return true;
  if (corpus->count == 0)
    refuse_all(corpus, labels);
  else
    tool_fail("%s%s: the lines of all %zu utterances in %s are empty: write their labels after their ids",
              corpus->names[0], corpus->num_folders > 1 ? " and the other folders" : "", corpus->count, labels->file);
  return false;
}

static bool load(struct linnet_context *context, struct train_corpus *corpus, const char *const *folders, size_t count,
                 struct train_labels *labels) {
  if (linnet_symbols_create(context, NULL, 0, &corpus->speakers) != LINNET_OK ||
      linnet_symbols_create(context, NULL, 0, &corpus->words.names) != LINNET_OK ||
      linnet_fbank_create(context, &corpus->config->feature_config.fbank, &corpus->fbank) != LINNET_OK) {
    tool_fail_context(context);
    return false;
  }
  for (size_t i = 0; i < count; i++)
    if (!add_folder(corpus, folders[i], labels))
      return false;
  if (labels->lexicon)
    words_report(&corpus->words, labels, folders[0], count > 1 ? "FOLDER" : folders[0]);
  if (!check_labels(corpus, labels))
    return false;
  if (corpus->augmented && corpus->config->noise &&
      !noise_open(context, corpus->ranks, corpus->config->noise, corpus_sample_rate(corpus), &corpus->memories->noise,
                  &corpus->noise))
    return false;
  const bool blocks = corpus->augmented && corpus->config->training.num_block_utterances > 0;
  if (!open_data(corpus))
    return false;
  report_omitted(corpus);
  return (!blocks || corpus_sort_by_offset(corpus)) && find_lengths(context, corpus);
}

struct train_corpus *train_corpus_load(struct linnet_context *context, struct train_ranks *ranks,
                                       const char *const *folders, size_t count, const struct train_config *config,
                                       struct train_memories *memories, struct train_labels *labels, bool augmented) {
  struct train_corpus *corpus = calloc(1, sizeof *corpus);
  if (!corpus) {
    tool_fail("out of memory for a corpus");
    return NULL;
  }
  corpus->context = context;
  corpus->ranks = ranks;
  corpus->config = config;
  corpus->memories = memories;
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
    free(corpus->utterances[i].labels);
  for (size_t i = 0; i < MAX_FOLDERS; i++) {
    stored_close(&corpus->stored[i]);
    audio_close(&corpus->audio[i]);
    linnet_data_folder_destroy(corpus->folders[i]);
  }
  noise_close(&corpus->noise);
  free(corpus->utterances);
  free(corpus->statistics);
  linnet_symbols_destroy(corpus->speakers);
  words_free(&corpus->words);
  linnet_fbank_destroy(corpus->fbank);
  free(corpus);
}

/* Counts the utterances of a corpus whose ids are in *ids; adds those of training data. */
static size_t count_known(struct linnet_symbols *ids, const struct train_corpus *corpus, bool add) {
  size_t known = 0;
  for (size_t i = 0; i < corpus->count; i++) {
    const char *id = corpus->utterances[i].id;
    if (linnet_symbols_find(ids, id) != LINNET_NOT_FOUND)
      known++;
    else if (add)
      linnet_symbols_add(ids, id, NULL);
  }
  return known;
}

void train_corpus_compare(struct linnet_context *context, const struct train_corpus *train,
                          const struct train_corpus *dev) {
  struct linnet_symbols *ids = NULL;
  if (linnet_symbols_create(context, NULL, 0, &ids) != LINNET_OK)
    return;
  const size_t repeated = count_known(ids, train, true), validated = count_known(ids, dev, false);
  if (repeated > 0)
    tool_warn("--train: %zu of %zu utterances have the id of an earlier one, and are trained on as well", repeated,
              train->count);
  if (validated > 0)
    tool_warn("--dev: %zu of %zu utterances are also in --train: validation will say little about other speech",
              validated, dev->count);
  linnet_symbols_destroy(ids);
}

bool train_corpus_describe_noise(const struct train_corpus *corpus, struct train_config *config) {
  char text[64];
  snprintf(text, sizeof text, "%zu clips %016" PRIx64, corpus->noise.count, corpus->noise.hash);
  return corpus->noise.count == 0 || train_config_describe_noise(config, text);
}

double train_corpus_hours(const struct train_corpus *corpus) {
  double frames = 0;
  for (size_t i = 0; i < corpus->count; i++)
    frames += (double)corpus->utterances[i].frames;
  return frames * corpus_frame_seconds(corpus) / 3600;
}

/* --- frame targets ------------------------------------------------------------------------------------------------ */

/* A margin in seconds for phones that end after the last frame: half a window, stacked frames, rounding. */
static const double max_overhang = 0.5;

static bool check_phones(const struct train_corpus *corpus, const struct utterance *u, const char *path) {
  const double end = u->num_phones > 0 ? (double)u->phones[u->num_phones - 1].end : 0,
               seconds = (double)u->frames * corpus_frame_seconds(corpus);
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
  const size_t choice = corpus_choose_speed(corpus, utterance, epoch);
  const double rate = corpus_sample_rate(corpus), speed = choice == MAX_SPEEDS ? 1 : config->speeds[choice];
  const bool padded = corpus_has_audio(corpus, u) && corpus->augmented && epoch > 0;
  const size_t samples =
      padded ? linnet_padding_before(&config->padding, corpus_augment_key(corpus, epoch, utterance), rate) : 0;
  const double before = (double)samples / rate, shift = corpus_frame_seconds(corpus);
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
    corpus_prefetch_noise(corpus, utterances[i], epoch);
    if (corpus_has_audio(corpus, u))
      audio_prefetch(&corpus->audio[u->folder], u->index);
    else
      stored_prefetch(&corpus->stored[u->folder], u->index, corpus_choose_speed(corpus, utterances[i], epoch));
  }
}

/* The trainer applies the masks. Those of further views are drawn from epochs that no training reaches. */
static void corpus_masks(void *user, size_t utterance, uint64_t epoch, unsigned view, size_t frames,
                         struct linnet_feature_mask *masks) {
  const struct train_corpus *corpus = user;
  linnet_specaugment_masks(&corpus->config->masks, corpus_augment_key(corpus, epoch | (uint64_t)view << 32, utterance),
                           frames, corpus->config->feature_config.fbank.num_mel, masks);
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

/* The samples that augmentation may add to an utterance, besides the frames that a slower speed adds to its frames: the
 * first window becomes longer, too. */
static size_t added_samples(const struct train_corpus *corpus) {
  const struct train_config *config = corpus->config;
  if (!corpus->augmented)
    return 0;
  return linnet_padding_max(&config->padding, corpus_sample_rate(corpus)) +
         (config->num_speeds > 0 ? linnet_fbank_window(corpus->fbank) / 4 : 0);
}

struct linnet_corpus train_corpus_callbacks(struct train_corpus *corpus) {
  const struct train_config *config = corpus->config;
  bool masked = corpus->augmented && config->specaugment;
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
                                .extra_frames = added_samples(corpus) / linnet_fbank_shift(corpus->fbank) + 1};
}
