/* Clips that stay in memory while there is room. */
#include "train_corpus.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

bool held_clips_open(struct held_clips *held, size_t count, struct train_memory *memory, clip_read_fn *read,
                     const void *user) {
  *held = (struct held_clips){
      .clips = calloc(count + 1, sizeof *held->clips), .count = count, .memory = memory, .read = read, .user = user};
  if (!held->clips)
    tool_fail("out of memory for a list of %zu clips", count);
  return held->clips != NULL;
}

void held_clips_close(struct held_clips *held) {
  for (size_t i = 0; held->clips && i < held->count; i++)
    free(held->clips[i].samples);
  free(held->clips);
  *held = (struct held_clips){0};
}

/* Whether the clip is held. Clips that are held stay until the end, so there is no need to count who uses them. Each
 * epoch visits all utterances once, and draws noise at random: what came first is as likely to be needed next as what
 * came last. */
static bool find(const struct held_clips *held, size_t index, struct clip *clip) {
  pthread_mutex_lock(&held->memory->mutex);
  *clip = held->clips[index];
  pthread_mutex_unlock(&held->memory->mutex);
  return clip->samples != NULL;
}

/* Holds a clip while there is room, unless another thread has read it meanwhile. */
static bool hold(const struct held_clips *held, size_t index, const struct clip *clip) {
  const size_t bytes = clip->count * sizeof *clip->samples;
  pthread_mutex_lock(&held->memory->mutex);
  const bool good = !held->clips[index].samples && bytes <= held->memory->bytes_left;
  if (good) {
    held->clips[index] = *clip;
    held->memory->bytes_left -= bytes;
  }
  pthread_mutex_unlock(&held->memory->mutex);
  return good;
}

enum linnet_status held_clips_read(const struct held_clips *held, struct linnet_context *context, size_t index,
                                   struct clip *clip, bool *owned) {
  *owned = false;
  if (find(held, index, clip))
    return LINNET_OK;
  const enum linnet_status status = held->read(held->user, context, index, clip);
  *owned = status == LINNET_OK && !hold(held, index, clip);
  return status;
}

void held_clips_prefetch(const struct held_clips *held, size_t index, const char *path) {
  struct clip clip;
  const int descriptor = find(held, index, &clip) ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return;
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_WILLNEED);
  close(descriptor);
}
