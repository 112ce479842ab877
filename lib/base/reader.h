/* The bounded reader: every untrusted file is read through it. All checks are by subtraction, so nothing wraps. */
#ifndef LINNET_READER_H
#define LINNET_READER_H

#include <string.h>

#include "base/base.h"
#include "base/little_endian.h"

struct linnet_reader {
  const unsigned char *data;
  size_t size, position; /* position <= size always */
};

static inline size_t linnet_reader_left(const struct linnet_reader *reader) {
  return reader->size - reader->position;
}

/* The next `bytes` bytes, NULL (and no move) if there are not that many. */
static inline const void *linnet_reader_take(struct linnet_reader *reader, size_t bytes) {
  if (bytes > linnet_reader_left(reader))
    return NULL;
  const void *start = reader->data + reader->position;
  reader->position += bytes;
  return start;
}

static inline bool linnet_reader_copy(struct linnet_reader *reader, void *to, size_t bytes) {
  const void *from = linnet_reader_take(reader, bytes);
  if (from && bytes > 0)
    memcpy(to, from, bytes);
  return from != NULL;
}

static inline bool linnet_reader_u32(struct linnet_reader *reader, uint32_t *value) {
  const unsigned char *b = linnet_reader_take(reader, 4);
  if (b)
    *value = linnet_load_u32(b);
  return b != NULL;
}

static inline bool linnet_reader_u64(struct linnet_reader *reader, uint64_t *value) {
  uint32_t low = 0, high = 0;
  if (linnet_reader_left(reader) < 8 || !linnet_reader_u32(reader, &low) || !linnet_reader_u32(reader, &high))
    return false;
  *value = (uint64_t)high << 32 | low;
  return true;
}

#endif
