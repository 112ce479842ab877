/* Recordings of a training: their lengths, and reading them when they are needed. */
#include "train_corpus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char index_name[] = ".linnet-audio-lengths";

static struct linnet_audio_settings settings_of(const struct audio *a) {
  struct linnet_audio_settings settings;
  linnet_audio_settings_default(&settings);
  settings.sample_rate = a->rate;
  return settings;
}

/* --- lengths ------------------------------------------------------------------------------------------------------ */

static uint64_t compute_key(const struct audio *a) {
  uint64_t hash = cache_hash(CACHE_HASH_START, &a->rate, sizeof a->rate);
  const char *last = NULL;
  for (size_t i = 0; i < linnet_data_folder_num_utterances(a->folder); i++) {
    const char *id = linnet_data_folder_id(a->folder, i), *path = linnet_data_folder_path(a->folder, i);
    double times[2];
    linnet_data_folder_segment(a->folder, i, &times[0], &times[1]);
    hash = cache_hash(hash, id, strlen(id) + 1);
    hash = cache_hash(hash, times, sizeof times);
    if (path && path != last)
      hash = cache_hash_file(hash, path);
    last = path;
  }
  return hash;
}

/* The seconds of a recording according to its header; negative if they are not there, or it cannot be opened. */
static double seconds_of(const struct audio *a, struct linnet_context *context, const char *path) {
  const struct linnet_audio_settings settings = settings_of(a);
  struct linnet_audio *audio = NULL;
  double seconds = -1;
  if (linnet_audio_open(context, path, &settings, &audio) == LINNET_OK)
    seconds = linnet_audio_seconds(audio);
  linnet_audio_destroy(audio);
  return seconds;
}

static enum linnet_status read_clip(const void *user, struct linnet_context *context, size_t utterance,
                                    struct clip *clip) {
  const struct audio *a = user;
  const struct linnet_audio_settings settings = settings_of(a);
  float *samples = NULL;
  size_t count = 0;
  enum linnet_status status = linnet_data_folder_audio(a->folder, context, utterance, &settings, &samples, &count);
  return status == LINNET_OK ? clip_keep(context, samples, count, clip) : status;
}

static size_t decoded_length(const struct audio *a, struct linnet_context *context, size_t utterance) {
  struct clip clip = {0};
  if (read_clip(a, context, utterance, &clip) != LINNET_OK)
    return LENGTH_FAILED;
  free(clip.samples);
  return clip.count;
}

/* A longer utterance is decoded: a damaged header must not make buffers of any size. */
static const double max_header_seconds = 3600;

/* Recordings whose header has no length are decoded, too. */
static void measure(const struct lengths *lengths, struct linnet_context *context, size_t begin, size_t end) {
  const struct audio *a = lengths->user;
  const char *last = NULL;
  double seconds = -1;
  for (size_t i = begin; i < end && !tool_interrupted(); i++) {
    const char *path = linnet_data_folder_path(a->folder, i);
    double from, to;
    linnet_data_folder_segment(a->folder, i, &from, &to);
    if (path && path != last)
      seconds = seconds_of(a, context, path);
    last = path;
    const double length = (to < 0 || to > seconds ? seconds : to) - from;
    a->lengths[i] = path && length > 0 && length <= max_header_seconds ? (size_t)llround(length * a->rate)
                                                                       : decoded_length(a, context, i);
  }
}

/* --- the object --------------------------------------------------------------------------------------------------- */

bool audio_open(struct linnet_context *context, struct train_ranks *ranks, const struct linnet_data_folder *folder,
                const char *name, double rate, struct train_memory *memory, struct audio *a) {
  const size_t count = linnet_data_folder_num_utterances(folder);
  *a = (struct audio){.folder = folder, .rate = rate};
  a->lengths = calloc(count + 1, sizeof *a->lengths);
  if (!a->lengths) {
    tool_fail("out of memory for %zu utterances", count);
    return false;
  }
  if (!held_clips_open(&a->clips, count, memory, read_clip, a))
    return false;
  if (train_ranks_first(ranks))
    a->key = compute_key(a);
  return lengths_find(context, ranks, &(struct lengths){name, index_name, a->key, count, a->lengths, measure, a});
}

void audio_close(struct audio *a) {
  held_clips_close(&a->clips);
  free(a->lengths);
  *a = (struct audio){0};
}

enum linnet_status audio_read(const struct audio *a, struct linnet_context *context, size_t utterance, double speed,
                              struct clip *clip, bool *owned) {
  struct clip changed = {0};
  enum linnet_status status = held_clips_read(&a->clips, context, utterance, clip, owned);
  if (status != LINNET_OK || speed == 1)
    return status;
  status = clip_change_speed(context, clip, a->rate, speed, &changed);
  if (*owned)
    free(clip->samples);
  *clip = changed;
  *owned = status == LINNET_OK;
  return status;
}

void audio_prefetch(const struct audio *a, size_t utterance) {
  const char *path = linnet_data_folder_path(a->folder, utterance);
  double start, end;
  linnet_data_folder_segment(a->folder, utterance, &start, &end);
  if (path && start == 0 && end < 0)
    held_clips_prefetch(&a->clips, utterance, path);
}
