/* What the headers of WAV, RIFX (WAV in big-endian order) and RF64 (WAV above 4 GiB, EBU Tech 3306) say about the
 * length of their samples. libsndfile does not tell, and trusts some lengths that programs only put down as
 * placeholders. */
#include <string.h>

#include "base/little_endian.h"
#include "frontend/audio/audio_decoder.h"

enum { RIFF_HEADER = 12, CHUNK_HEADER = 8, MAX_CHUNKS = 100 };

struct chunk {
  char id[4];
  int64_t length;
};

/* Four or eight bytes of a length. */
static uint64_t load(const unsigned char *b, size_t count, bool big_endian) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; i++)
    value = value << 8 | b[big_endian ? i : count - 1 - i];
  return value;
}

static bool read_chunk(struct linnet_bytes *bytes, int64_t at, bool big_endian, struct chunk *chunk) {
  unsigned char head[CHUNK_HEADER];
  if (at < 0 || linnet_bytes_peek(bytes, at, head, sizeof head) != sizeof head)
    return false;
  memcpy(chunk->id, head, 4);
  chunk->length = (int64_t)load(head + 4, 4, big_endian);
  return true;
}

static int64_t after(int64_t at, const struct chunk *chunk) {
  return at + CHUNK_HEADER + chunk->length + (chunk->length & 1);
}

/* The length; -1 if it is so large that it must be a placeholder of a program that wrote to a pipe. */
static int64_t known_length(uint64_t length, size_t count) {
  const uint64_t placeholder = count == 4 ? 0x7fff0000 : (uint64_t)1 << 62;
  return length < placeholder ? (int64_t)length : -1;
}

/* The chunk "ds64" at `at` has two lengths in 64 bits: of the file after its first 8 bytes, and of the samples. */
static void read_ds64(struct linnet_bytes *bytes, int64_t at, struct linnet_wav *wav) {
  unsigned char lengths[16];
  if (linnet_bytes_peek(bytes, at + CHUNK_HEADER, lengths, sizeof lengths) != sizeof lengths)
    return;
  wav->riff = known_length(load(lengths, 8, false), 8);
  wav->length = known_length(load(lengths + 8, 8, false), 8);
  wav->length_at = at + CHUNK_HEADER + 8;
  wav->length_bytes = 8;
}

/* The chunk "data" at `at`. Its own length is a placeholder if "ds64" has it. */
static void take_data(int64_t at, const struct chunk *chunk, struct linnet_wav *wav) {
  wav->data = at + CHUNK_HEADER;
  if (wav->length_at > 0)
    return;
  wav->length = known_length((uint64_t)chunk->length, 4);
  wav->length_at = at + 4;
  wav->length_bytes = 4;
}

bool linnet_wav_read(struct linnet_bytes *bytes, struct linnet_wav *wav) {
  struct chunk chunk;
  *wav = (struct linnet_wav){.data = 0};
  if (!read_chunk(bytes, 0, false, &chunk))
    return false;
  const bool rf64 = memcmp(chunk.id, "RF64", 4) == 0;
  wav->big_endian = memcmp(chunk.id, "RIFX", 4) == 0;
  if (!rf64 && !wav->big_endian && memcmp(chunk.id, "RIFF", 4) != 0)
    return false;
  read_chunk(bytes, 0, wav->big_endian, &chunk);
  wav->riff = known_length((uint64_t)chunk.length, 4);
  int64_t at = RIFF_HEADER;
  for (int i = 0; i < MAX_CHUNKS && read_chunk(bytes, at, wav->big_endian, &chunk); i++) {
    if (memcmp(chunk.id, "data", 4) == 0) {
      take_data(at, &chunk, wav);
      return true;
    }
    if (rf64 && memcmp(chunk.id, "ds64", 4) == 0)
      read_ds64(bytes, at, wav);
    at = after(at, &chunk);
  }
  return false;
}

int64_t linnet_wav_end(const struct linnet_wav *wav) {
  const int64_t riff = wav->riff > 0 ? wav->riff + CHUNK_HEADER : -1;
  const int64_t data = wav->length > 0 ? wav->data + wav->length : -1;
  return riff > data ? riff : data;
}

bool linnet_wav_is_empty(struct linnet_bytes *bytes, const struct linnet_wav *wav) {
  struct chunk chunk;
  int64_t at = wav->data;
  for (int i = 0; i < MAX_CHUNKS && at < bytes->size; i++) {
    if (!read_chunk(bytes, at, wav->big_endian, &chunk))
      return false;
    for (int c = 0; c < 4; c++)
      if (chunk.id[c] < ' ' || chunk.id[c] > '~')
        return false;
    at = after(at, &chunk);
  }
  return at == bytes->size || at == bytes->size + 1;
}
