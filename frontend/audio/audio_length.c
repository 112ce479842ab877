/* What the containers of Ogg and MP3 say about their length. libsndfile does not tell. */
#include <string.h>

#include "base/little_endian.h"
#include "frontend/audio/audio_decoder.h"

/* Fewer than n only at the end. The position of the bytes stays. */
static size_t peek(struct linnet_bytes *bytes, int64_t at, void *to, size_t n) {
  const int64_t before = bytes->position;
  size_t done = 0, got;
  bytes->position = at;
  while (done < n && (got = linnet_bytes_read(bytes, (char *)to + done, n - done)) > 0)
    done += got;
  bytes->position = before;
  return done;
}

/* --- Ogg (RFC 3533) ----------------------------------------------------------------------------------------------- */

enum { PAGE_HEADER = 27, MAX_SEGMENTS = 255, PAGE_BYTES = PAGE_HEADER + MAX_SEGMENTS + MAX_SEGMENTS * 255 };

/* The bytes of the page at `page`, of whose file `left` bytes follow from there on; more than `left` if it is cut. */
static size_t page_bytes(const unsigned char *page, size_t left) {
  if (left < PAGE_HEADER || left < PAGE_HEADER + (size_t)page[PAGE_HEADER - 1])
    return left + 1;
  const size_t segments = page[PAGE_HEADER - 1];
  size_t bytes = PAGE_HEADER + segments;
  for (size_t i = 0; i < segments; i++)
    bytes += page[PAGE_HEADER + i];
  return bytes;
}

bool linnet_ogg_is_cut(struct linnet_bytes *bytes) {
  unsigned char *tail = linnet_alloc(bytes->context, PAGE_BYTES, 1);
  const int64_t from = bytes->size > PAGE_BYTES ? bytes->size - PAGE_BYTES : 0;
  const size_t count = tail ? peek(bytes, from, tail, PAGE_BYTES) : 0;
  bool cut = false;
  for (size_t i = count < 4 ? 0 : count - 3; i-- > 0;)
    if (memcmp(tail + i, "OggS", 4) == 0) { /* the last page */
      cut = page_bytes(tail + i, count - i) > count - i;
      break;
    }
  linnet_free(bytes->context, tail);
  return cut;
}

/* --- MP3 ---------------------------------------------------------------------------------------------------------- */

/* Where the first frame begins, behind a tag of ID3v2, whose size has 7 bits per byte. */
static int64_t first_frame(struct linnet_bytes *bytes) {
  enum { TAG_HEADER = 10 };
  unsigned char head[TAG_HEADER];
  if (peek(bytes, 0, head, TAG_HEADER) < TAG_HEADER || memcmp(head, "ID3", 3) != 0)
    return 0;
  int64_t size = 0;
  for (int i = 6; i < TAG_HEADER; i++)
    size = size << 7 | (head[i] & 127);
  return TAG_HEADER + size;
}

bool linnet_mp3_has_length(struct linnet_bytes *bytes) {
  static const char *const names[] = {"Xing", "Info", "VBRI"}; /* within the first frame */
  unsigned char frame[256];
  const size_t count = peek(bytes, first_frame(bytes), frame, sizeof frame);
  for (size_t i = 0; i + 4 <= count; i++)
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
      if (memcmp(frame + i, names[n], 4) == 0)
        return true;
  return false;
}
