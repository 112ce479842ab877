/* What containers other than WAV say about their length. libsndfile does not tell. */
#include <string.h>

#include "base/little_endian.h"
#include "frontend/audio/audio_decoder.h"

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

/* `page` is the last one; `left` bytes of the file follow from there on. */
static enum linnet_ogg_end judge_page(struct linnet_bytes *bytes, const unsigned char *page, size_t left) {
  enum { FLAGS = 5, END_OF_STREAM = 4, SERIAL = 14 };
  unsigned char first[PAGE_HEADER];
  const bool other = left >= SERIAL + 4 && linnet_bytes_peek(bytes, 0, first, PAGE_HEADER) == PAGE_HEADER &&
                     memcmp(first + SERIAL, page + SERIAL, 4) != 0;
  if (other && bytes->base > 0) /* of another entry of an archive */
    return LINNET_OGG_COMPLETE;
  if (page_bytes(page, left) > left)
    return LINNET_OGG_CUT;
  if (other)
    return LINNET_OGG_MORE_STREAMS;
  return page[FLAGS] & END_OF_STREAM ? LINNET_OGG_COMPLETE : LINNET_OGG_OPEN;
}

enum linnet_status linnet_ogg_find_end(struct linnet_bytes *bytes, enum linnet_ogg_end *end) {
  unsigned char *tail = linnet_alloc(bytes->context, PAGE_BYTES, 1);
  if (!tail)
    return linnet_fail(bytes->context, LINNET_ERROR_MEMORY, "%s: out of memory", bytes->name);
  const int64_t from = bytes->size > PAGE_BYTES ? bytes->size - PAGE_BYTES : 0;
  const size_t count = linnet_bytes_peek(bytes, from, tail, PAGE_BYTES);
  *end = LINNET_OGG_COMPLETE;
  for (size_t i = count < 4 ? 0 : count - 3; i-- > 0;)
    if (memcmp(tail + i, "OggS", 4) == 0) {
      *end = judge_page(bytes, tail + i, count - i);
      break;
    }
  linnet_free(bytes->context, tail);
  return LINNET_OK;
}

/* --- MP3 ---------------------------------------------------------------------------------------------------------- */

/* Where the first frame begins: after a tag of ID3v2, whose size has 7 bits per byte. */
static int64_t first_frame(struct linnet_bytes *bytes) {
  enum { TAG_HEADER = 10 };
  unsigned char head[TAG_HEADER];
  if (linnet_bytes_peek(bytes, 0, head, TAG_HEADER) < TAG_HEADER || memcmp(head, "ID3", 3) != 0)
    return 0;
  int64_t size = 0;
  for (int i = 6; i < TAG_HEADER; i++)
    size = size << 7 | (head[i] & 127);
  return TAG_HEADER + size;
}

bool linnet_mp3_has_length(struct linnet_bytes *bytes) {
  static const char *const names[] = {"Xing", "Info", "VBRI"}; /* within the first frame */
  unsigned char frame[256];
  const size_t count = linnet_bytes_peek(bytes, first_frame(bytes), frame, sizeof frame);
  for (size_t i = 0; i + 4 <= count; i++)
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
      if (memcmp(frame + i, names[n], 4) == 0)
        return true;
  return false;
}

/* Bytes of a frame of layer III; 0: another layer, no frame, or one that does not tell. */
static int64_t frame_bytes(const unsigned char head[4]) {
  enum { RATES = 3, BIT_RATES = 15, LAYER_III = 1, MPEG_1 = 3, MPEG_2_5 = 0, RESERVED = 1 };
  static const int rates[RATES] = {44100, 48000, 32000}; /* Hz, of MPEG 1 */
  static const int kilobits[2][BIT_RATES] = {
      {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
      {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}}; /* MPEG 2, MPEG 1 */
  const int version = head[1] >> 3 & 3, layer = head[1] >> 1 & 3, rate = head[2] >> 2 & 3, bits = head[2] >> 4;
  if (head[0] != 0xff || head[1] >> 5 != 7 || version == RESERVED || layer != LAYER_III || rate == RATES || bits == 0 ||
      bits == BIT_RATES)
    return 0;
  const int hertz = rates[rate] >> (version == MPEG_1 ? 0 : version == MPEG_2_5 ? 2 : 1);
  const int samples = version == MPEG_1 ? 1152 : 576;
  return samples / 8 * 1000 * kilobits[version == MPEG_1][bits] / hertz + (head[2] >> 1 & 1);
}

bool linnet_mp3_is_constant(struct linnet_bytes *bytes) {
  const unsigned char same = 0xfc; /* of the third byte: bit rate and sample rate */
  const int64_t end = linnet_mp3_audio_end(bytes);
  unsigned char first[4], head[4];
  int64_t at = first_frame(bytes), length;
  if (linnet_bytes_peek(bytes, at, first, sizeof first) < sizeof first)
    return false;
  for (; at + (int64_t)sizeof head <= end; at += length) {
    if (linnet_bytes_peek(bytes, at, head, sizeof head) < sizeof head || head[1] != first[1] ||
        (head[2] & same) != (first[2] & same))
      return false;
    length = frame_bytes(head);
    if (length == 0)
      return false;
  }
  return true;
}

/* Bytes of a tag APEv2 that ends at `end`: its footer tells their number, without its header. */
static int64_t ape_bytes(struct linnet_bytes *bytes, int64_t end) {
  enum { FOOTER = 32, SIZE = 12, FLAGS = 23, HAS_HEADER = 128 };
  unsigned char footer[FOOTER];
  if (end < FOOTER || linnet_bytes_peek(bytes, end - FOOTER, footer, FOOTER) < FOOTER ||
      memcmp(footer, "APETAGEX", 8) != 0)
    return 0;
  return (int64_t)linnet_load_u32(footer + SIZE) + (footer[FLAGS] & HAS_HEADER ? FOOTER : 0);
}

int64_t linnet_mp3_audio_end(struct linnet_bytes *bytes) {
  enum { ID3V1 = 128 };
  char tag[3];
  int64_t end = bytes->size;
  if (end >= ID3V1 && linnet_bytes_peek(bytes, end - ID3V1, tag, sizeof tag) == sizeof tag &&
      memcmp(tag, "TAG", sizeof tag) == 0)
    end -= ID3V1;
  return end - ape_bytes(bytes, end);
}

/* --- AIFF, AU, W64, VOC ------------------------------------------------------------------------------------------- */

/* The sum of a length of 32 bits and `before`; -1 if it is unknown. Programs that write to a pipe announce `unknown` or
 * more. */
static int64_t load_length(const unsigned char *b, int64_t before) {
  const uint32_t unknown = 0x7f000000,
                 length = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
  return length < unknown ? before + length : -1;
}

/* Whether the block that ends a VOC is at `at`: one byte of 0. The key of the next entry, or nothing, follows it. */
static bool ends_voc(struct linnet_bytes *bytes, int64_t at) {
  unsigned char block[2];
  const size_t count = linnet_bytes_peek(bytes, at, block, sizeof block);
  return count > 0 && block[0] == 0 && (count == 1 || block[1] > ' ');
}

/* The header of a VOC tells where its blocks begin. Each is a type, 24 bits of its length, and its content; ffmpeg
 * writes many. libsndfile decodes all bytes after the header of the first one. */
static int64_t voc_bytes(struct linnet_bytes *bytes, int64_t first_block) {
  enum { BLOCK_HEADER = 4, SAMPLES_WITH_FORMAT = 9, SOX_LACKS = 8 /* bytes in the length that sox writes there */ };
  unsigned char block[BLOCK_HEADER] = {0};
  int64_t at = first_block, end_of_sox = -1;
  while (!ends_voc(bytes, at)) {
    const size_t count = linnet_bytes_peek(bytes, at, block, BLOCK_HEADER);
    if (count == 0) /* the file ends here, or within the block before */
      return end_of_sox > 0 ? end_of_sox : at;
    if (count < BLOCK_HEADER || block[0] == 0 || block[0] > SAMPLES_WITH_FORMAT)
      return end_of_sox;
    at += BLOCK_HEADER + (block[1] | block[2] << 8 | block[3] << 16);
    if (block[0] == SAMPLES_WITH_FORMAT && ends_voc(bytes, at + SOX_LACKS))
      end_of_sox = at + SOX_LACKS + 1;
  }
  return at + 1;
}

int64_t linnet_announced_bytes(struct linnet_bytes *bytes) {
  unsigned char head[24];
  if (linnet_bytes_peek(bytes, 0, head, sizeof head) < sizeof head)
    return 0;
  if (memcmp(head, "FORM", 4) == 0)
    return linnet_load_u32(head + 4) > 0 ? load_length(head + 4, 8) : -1;
  if (memcmp(head, ".snd", 4) == 0)
    return load_length(head + 8, load_length(head + 4, 0));
  if (memcmp(head, "Creative Voice File\x1A", 20) == 0)
    return voc_bytes(bytes, linnet_load_u16(head + 20));
  if (memcmp(head, "riff\x2E\x91\xCF\x11", 8) != 0)
    return 0;
  const uint64_t length = linnet_load_u64(head + 16);
  return length > 0 && length <= INT64_MAX ? (int64_t)length : -1;
}
