/* Reads and checks the header of a NIST SPHERE file. */
#include "frontend/audio/audio_decoder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC_BYTES = 16, MAX_HEADER = 65536, MAX_RATE = 1000000, MAX_CHANNELS = 64, MAX_BYTES = 8 };

/* --- bytes -------------------------------------------------------------------------------------------------------- */

static size_t read_at(struct linnet_bytes *bytes, int64_t position, void *to, size_t n) {
  bytes->position = position;
  return linnet_bytes_fill(bytes, to, n);
}

bool linnet_sphere_found(struct linnet_bytes *bytes) {
  char magic[8];
  return read_at(bytes, 0, magic, sizeof magic) == sizeof magic && memcmp(magic, "NIST_1A\n", sizeof magic) == 0;
}

/* --- the lines ---------------------------------------------------------------------------------------------------- */

/* "name -i value" or "name -sN value": the value, as text. */
static const char *value_of(const char *line, const char *name) {
  size_t n = strlen(name);
  if (strncmp(line, name, n) != 0 || strncmp(line + n, " -", 2) != 0)
    return NULL;
  const char *space = strchr(line + n + 2, ' ');
  return space ? space + 1 : NULL;
}

static enum linnet_status read_number(const struct linnet_bytes *bytes, const char *line, const char *name, int64_t low,
                                      int64_t high, int64_t *number) {
  const char *text = value_of(line, name);
  if (!text)
    return LINNET_OK;
  char *end;
  long long value = strtoll(text, &end, 10);
  if (end == text || value < low || value > high)
    return linnet_fail(bytes->context, LINNET_ERROR_FORMAT,
                       "%s: SPHERE header: %s must be %" PRId64 " to %" PRId64 ", not \"%.20s\"", bytes->name, name,
                       low, high, text);
  *number = value;
  return LINNET_OK;
}

static enum linnet_status read_line(const struct linnet_bytes *bytes, const char *line, struct linnet_sphere *sphere,
                                    int64_t *rate) {
  int64_t channels = sphere->channels, width = sphere->bytes;
  LINNET_TRY(read_number(bytes, line, "sample_count", 0, INT64_C(1) << 40, &sphere->frames));
  LINNET_TRY(read_number(bytes, line, "sample_rate", 1, MAX_RATE, rate));
  LINNET_TRY(read_number(bytes, line, "channel_count", 1, MAX_CHANNELS, &channels));
  LINNET_TRY(read_number(bytes, line, "sample_n_bytes", 1, MAX_BYTES, &width));
  const char *coding = value_of(line, "sample_coding");
  if (coding) {
    sphere->shortened = strstr(coding, "embedded-shorten") != NULL;
    sphere->coded = strstr(coding, "embedded") != NULL;
  }
  const char *checksum = value_of(line, "sample_checksum");
  if (checksum)
    sphere->checksum = (int)(strtol(checksum, NULL, 10) & 65535);
  sphere->channels = (int)channels;
  sphere->bytes = (int)width;
  return LINNET_OK;
}

/* `text` is the header after the magic, NUL-terminated. */
static enum linnet_status read_lines(const struct linnet_bytes *bytes, char *text, struct linnet_sphere *sphere) {
  int64_t rate = 0;
  char *rest = text;
  for (char *line; (line = strtok_r(rest, "\n", &rest)) && strncmp(line, "end_head", 8) != 0;)
    LINNET_TRY(read_line(bytes, line, sphere, &rate));
  sphere->rate = (double)rate;
  if (rate == 0)
    return linnet_fail(bytes->context, LINNET_ERROR_FORMAT, "%s: SPHERE header: sample_rate is missing", bytes->name);
  return LINNET_OK;
}

/* Uncoded samples must fill the rest of the file, or an entry of an archive, which ends after them. */
static enum linnet_status check_length(struct linnet_bytes *bytes, const struct linnet_sphere *sphere) {
  int64_t wanted = (int64_t)sphere->header_bytes + sphere->frames * sphere->channels * sphere->bytes;
  if (sphere->coded || sphere->bytes == 0 || sphere->frames < 0 || bytes->size < 0)
    return LINNET_OK;
  linnet_bytes_cut(bytes, wanted);
  if (bytes->size >= wanted)
    return LINNET_OK;
  return linnet_fail(bytes->context, LINNET_ERROR_FORMAT,
                     "%s: truncated: it ends at byte %" PRId64 " of %" PRId64 " in its SPHERE header: copy it again",
                     bytes->name, bytes->size, wanted);
}

enum linnet_status linnet_sphere_read(struct linnet_bytes *bytes, struct linnet_sphere *sphere) {
  char magic[MAGIC_BYTES + 1] = "";
  *sphere = (struct linnet_sphere){.frames = -1, .channels = 1, .checksum = -1};
  read_at(bytes, 0, magic, MAGIC_BYTES);
  long size = strtol(magic + 8, NULL, 10);
  if (size < MAGIC_BYTES || size > MAX_HEADER)
    return linnet_fail(bytes->context, LINNET_ERROR_FORMAT,
                       "%s: SPHERE header: the size must be %d to %d bytes, not \"%.7s\"", bytes->name, MAGIC_BYTES,
                       MAX_HEADER, magic + 8);
  size_t rest = (size_t)size - MAGIC_BYTES;
  char *text = linnet_calloc(bytes->context, rest + 1, 1);
  if (!text)
    return linnet_fail(bytes->context, LINNET_ERROR_MEMORY, "%s: out of memory", bytes->name);
  enum linnet_status status = LINNET_OK;
  if (read_at(bytes, MAGIC_BYTES, text, rest) < rest)
    status = linnet_fail(bytes->context, LINNET_ERROR_FORMAT,
                         "%s: truncated: it ends in its SPHERE header of %ld bytes: copy it again", bytes->name, size);
  if (status == LINNET_OK)
    status = read_lines(bytes, text, sphere);
  sphere->header_bytes = (size_t)size;
  linnet_free(bytes->context, text);
  return status == LINNET_OK ? check_length(bytes, sphere) : status;
}
