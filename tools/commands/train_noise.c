/* Clips of noise of a training: a list of files, of which each is read when it is drawn. */
#include "train_corpus.h"

#include <stdlib.h>
#include <string.h>

#include <linnet/audio.h>
#include <linnet/kaldi.h>

#include "common/parallel.h"

/* --- opening ------------------------------------------------------------------------------------------------------ */

struct checking {
  const struct noise *noise;
  size_t begin;    /* the first clip of this rank */
  double *seconds; /* (clips); negative if the header does not say it */
};

/* Opens a clip, which reads its header. */
static int check_clip(void *user, size_t task, unsigned worker, struct linnet_context *context) {
  const struct checking *c = user;
  const size_t clip = c->begin + task;
  struct linnet_audio *audio = NULL;
  (void)worker;
  const bool good =
      linnet_audio_open(context, linnet_data_folder_path(c->noise->list, clip), NULL, &audio) == LINNET_OK;
  if (good)
    c->seconds[clip] = linnet_audio_seconds(audio);
  linnet_audio_destroy(audio);
  if (tool_interrupted())
    return TOOL_INTERRUPTED;
  return good ? TOOL_OK
              : tool_fail("%s: %s: %s", c->noise->path, linnet_data_folder_id(c->noise->list, clip),
                          linnet_context_error(context));
}

static uint64_t hash_clips(const struct noise *noise, const double *seconds) {
  uint64_t hash = CACHE_HASH_START;
  for (size_t i = 0; i < noise->count; i++) {
    const char *id = linnet_data_folder_id(noise->list, i);
    hash = cache_hash(hash, id, strlen(id) + 1);
  }
  return cache_hash(hash, seconds, noise->count * sizeof *seconds);
}

/* Each rank checks a part, so that a list of any length is checked soon. */
static bool check_clips(struct linnet_context *context, struct train_ranks *ranks, struct noise *noise) {
  struct checking checking = {.noise = noise, .seconds = calloc(noise->count, sizeof(double))};
  size_t end;
  train_ranks_part(ranks, noise->count, &checking.begin, &end);
  if (!checking.seconds)
    tool_fail("out of memory for %zu clips of noise", noise->count);
  const bool good = checking.seconds && tool_parallel(context, end - checking.begin, check_clip, &checking) == 0 &&
                    train_ranks_share_parts(ranks, true, checking.seconds, noise->count, sizeof *checking.seconds);
  if (good)
    noise->hash = hash_clips(noise, checking.seconds);
  free(checking.seconds);
  return good;
}

static enum linnet_status read_clip(const void *user, struct linnet_context *context, size_t index, struct clip *clip) {
  const struct noise *noise = user;
  const enum linnet_status status = clip_read(context, linnet_data_folder_path(noise->list, index), noise->rate, clip);
  if (status == LINNET_OK || status == LINNET_ERROR_CANCELLED)
    return status;
  return corpus_fail(context, "%s: %s: %s: bring the clip back and start again to continue", noise->path,
                     linnet_data_folder_id(noise->list, index), linnet_context_error(context));
}

/* False after printing which clip is a command. */
static bool all_are_files(const struct noise *noise) {
  for (size_t i = 0; i < noise->count; i++)
    if (!linnet_data_folder_path(noise->list, i))
      return tool_fail("%s: %s: is a command, but clips of noise must be files", noise->path,
                       linnet_data_folder_id(noise->list, i)) == TOOL_OK;
  return true;
}

bool noise_open(struct linnet_context *context, struct train_ranks *ranks, const char *path, double rate,
                struct train_memory *memory, struct noise *noise) {
  *noise = (struct noise){.path = path, .rate = rate};
  if (linnet_data_folder_open_list(context, path, &noise->list) != LINNET_OK) {
    tool_fail_context(context);
    return false;
  }
  noise->count = linnet_data_folder_num_utterances(noise->list);
  if (noise->count == 0) {
    tool_fail("%s: the list of augment.noise.scp is empty: add lines \"name path\", or remove augment.noise", path);
    return false;
  }
  return all_are_files(noise) && held_clips_open(&noise->clips, noise->count, memory, read_clip, noise) &&
         check_clips(context, ranks, noise);
}

void noise_close(struct noise *noise) {
  held_clips_close(&noise->clips);
  linnet_data_folder_destroy(noise->list);
  *noise = (struct noise){0};
}

/* --- use ---------------------------------------------------------------------------------------------------------- */

enum linnet_status noise_read(const struct noise *noise, struct linnet_context *context, size_t index,
                              struct clip *clip, bool *owned) {
  *clip = (struct clip){0};
  *owned = false;
  return index == LINNET_NOT_FOUND ? LINNET_OK : held_clips_read(&noise->clips, context, index, clip, owned);
}

void noise_prefetch(const struct noise *noise, size_t index) {
  if (index != LINNET_NOT_FOUND)
    held_clips_prefetch(&noise->clips, index, linnet_data_folder_path(noise->list, index));
}
