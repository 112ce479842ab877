/* Clips of noise of a training: a list of files, of which each is read when it is drawn. */
#include "train_corpus.h"

#include <linnet/audio.h>
#include <linnet/lexicon.h>

#include "common/parallel.h"

enum { MAX_PATH_BYTES = 4096 };

/* The path in the line "name path" of a clip, whose words are tokens; "" if there is none, or it is too long. */
static void join_path(const struct noise *noise, size_t clip, char path[MAX_PATH_BYTES]) {
  size_t used = 0, count;
  const char *const *tokens = linnet_transcripts_tokens(noise->list, clip, &count);
  path[0] = '\0';
  for (size_t i = 0; i < count; i++) {
    const int n = snprintf(path + used, MAX_PATH_BYTES - used, "%s%s", i > 0 ? " " : "", tokens[i]);
    if (n < 0 || (size_t)n >= MAX_PATH_BYTES - used) {
      path[0] = '\0';
      return;
    }
    used += (size_t)n;
  }
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

struct checking {
  const struct noise *noise;
  size_t begin; /* the first clip of this rank */
};

/* Opens a clip, which reads its header. */
static int check_clip(void *user, size_t task, unsigned worker, struct linnet_context *context) {
  const struct checking *c = user;
  const size_t clip = c->begin + task;
  struct linnet_audio *audio = NULL;
  char path[MAX_PATH_BYTES];
  (void)worker;
  join_path(c->noise, clip, path);
  const bool good = path[0] && linnet_audio_open(context, path, NULL, &audio) == LINNET_OK;
  linnet_audio_destroy(audio);
  if (tool_interrupted())
    return TOOL_INTERRUPTED;
  return good ? TOOL_OK
              : tool_fail("%s: %s: %s", c->noise->path, linnet_transcripts_id(c->noise->list, clip),
                          path[0] ? linnet_context_error(context) : "has no path, or a path that is too long");
}

/* Each rank checks a part, so that a list of any length is checked soon. */
static bool check_clips(struct linnet_context *context, struct train_ranks *ranks, const struct noise *noise) {
  struct checking checking = {.noise = noise};
  size_t end;
  train_ranks_part(ranks, noise->count, &checking.begin, &end);
  return tool_parallel(context, end - checking.begin, check_clip, &checking) == 0;
}

static enum linnet_status read_clip(const void *user, struct linnet_context *context, size_t index, struct clip *clip) {
  const struct noise *noise = user;
  char path[MAX_PATH_BYTES];
  join_path(noise, index, path);
  const enum linnet_status status = clip_read(context, path, noise->rate, clip);
  if (status == LINNET_OK || status == LINNET_ERROR_CANCELLED)
    return status;
  return corpus_fail(context, "%s: %s: %s: bring the clip back and start again to continue", noise->path,
                     linnet_transcripts_id(noise->list, index), linnet_context_error(context));
}

bool noise_open(struct linnet_context *context, struct train_ranks *ranks, const char *path, double rate,
                struct train_memory *memory, struct noise *noise) {
  *noise = (struct noise){.path = path, .rate = rate};
  if (linnet_transcripts_load(context, path, &noise->list) != LINNET_OK) {
    tool_fail_context(context);
    return false;
  }
  noise->count = linnet_transcripts_num_utterances(noise->list);
  if (noise->count == 0) {
    tool_fail("%s: the list of augment.noise.scp is empty: add lines \"name path\", or remove augment.noise", path);
    return false;
  }
  return held_clips_open(&noise->clips, noise->count, memory, read_clip, noise) && check_clips(context, ranks, noise);
}

void noise_close(struct noise *noise) {
  held_clips_close(&noise->clips);
  linnet_transcripts_destroy(noise->list);
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
  char path[MAX_PATH_BYTES];
  if (index == LINNET_NOT_FOUND)
    return;
  join_path(noise, index, path);
  held_clips_prefetch(&noise->clips, index, path);
}
