/* Holds a text back until all texts before it are written. */
#include "ordered.h"

#include <stdlib.h>

#include "tool.h"

void ordered_open(struct ordered *ordered, FILE *stream) {
  *ordered = (struct ordered){.stream = stream};
  pthread_mutex_init(&ordered->mutex, NULL);
}

static bool reserve(struct ordered *ordered, size_t item) {
  if (item < ordered->capacity)
    return true;
  size_t capacity = 2 * item + 64;
  struct ordered_piece *grown = realloc(ordered->pieces, capacity * sizeof *grown);
  if (!grown)
    return false;
  for (size_t i = ordered->capacity; i < capacity; i++)
    grown[i] = (struct ordered_piece){.text = NULL};
  ordered->pieces = grown;
  ordered->capacity = capacity;
  return true;
}

static void write_ready(struct ordered *ordered) {
  while (ordered->written < ordered->capacity && ordered->pieces[ordered->written].done) {
    struct ordered_piece *piece = &ordered->pieces[ordered->written++];
    if (piece->text && ordered->stream)
      fwrite(piece->text, 1, piece->bytes, ordered->stream);
    free(piece->text);
    piece->text = NULL;
  }
  if (ordered->stream)
    fflush(ordered->stream);
}

bool ordered_put(struct ordered *ordered, size_t item, char *text, size_t bytes) {
  pthread_mutex_lock(&ordered->mutex);
  bool good = reserve(ordered, item);
  if (good) {
    ordered->pieces[item] = (struct ordered_piece){text, bytes, true};
    write_ready(ordered);
  }
  pthread_mutex_unlock(&ordered->mutex);
  if (good)
    return true;
  free(text);
  tool_fail("out of memory for %zu results", item + 1);
  return false;
}

void ordered_close(struct ordered *ordered) {
  for (size_t i = ordered->written; i < ordered->capacity; i++) {
    const struct ordered_piece *piece = &ordered->pieces[i];
    if (piece->text && ordered->stream)
      fwrite(piece->text, 1, piece->bytes, ordered->stream);
    free(piece->text);
  }
  free(ordered->pieces);
  pthread_mutex_destroy(&ordered->mutex);
  *ordered = (struct ordered){.stream = NULL};
}
