/* A stream's state as bytes. All numbers are little-endian:
 *
 *   offset  bytes
 *        0      8  "LNSTREAM"
 *        8      4  version of this layout: 1
 *       12      4  1 if the recurrence was finished, otherwise 0
 *       16      8  fingerprint of the model (linnet_model_fingerprint)
 *       24      8  number of stacked frames that entered the network
 *       32      8  number of rows of zeros behind the end that convolutions got
 *       40      8  number of frames in the incomplete stack
 *       48      8  number of floats that follow: the incomplete stack of frames, then the state of each sublayer
 *       56    4 n  the floats
 *   56 + 4 n    4  CRC-32 of all bytes before it
 *
 * All other numbers follow from these and from the configuration of the model, so there is nothing else to check. */
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/little_endian.h"
#include "model/inference/recurrence.h"

enum { VERSION = 1, HEADER = 56, CHECKSUM = 4 };

/* Frames that enter a network: 300 years of 10 ms each. */
#define MAX_ENTERED ((uint64_t)1 << 40)

static const char magic[8] = "LNSTREAM";

struct header {
  uint32_t version, finished;
  uint64_t fingerprint, entered, flushed, stacked, floats;
};

static size_t count_floats(const struct linnet_recurrence *r) {
  size_t floats = r->stacked * config_of(r->batch)->input_dim;
  for (size_t i = 0; i < num_sublayers(r->batch); i++)
    floats += linnet_recurrence_used_size(r, i);
  return floats;
}

static uint32_t checksum(const unsigned char *data, size_t bytes) {
  struct linnet_crc32 crc;
  linnet_crc32_start(&crc);
  linnet_crc32_add(&crc, data, bytes);
  return crc.value;
}

/* --- saving ------------------------------------------------------------------------------------------------------- */

size_t linnet_recurrence_saved_bytes(const struct linnet_recurrence *r) {
  return HEADER + count_floats(r) * sizeof(float) + CHECKSUM;
}

static void write_header(const struct linnet_recurrence *r, unsigned char *to) {
  memcpy(to, magic, sizeof magic);
  linnet_store_u32(to + 8, VERSION);
  linnet_store_u32(to + 12, r->finished);
  linnet_store_u64(to + 16, r->batch->rows.model->fingerprint);
  linnet_store_u64(to + 24, r->entered);
  linnet_store_u64(to + 32, r->flushed);
  linnet_store_u64(to + 40, r->stacked);
  linnet_store_u64(to + 48, count_floats(r));
}

static unsigned char *write_floats(const real *values, size_t count, unsigned char *to) {
  for (size_t i = 0; i < count; i++, to += sizeof(float))
    linnet_store_float(to, (float)values[i]);
  return to;
}

enum linnet_status linnet_recurrence_save(const struct linnet_recurrence *r, void *data, size_t bytes) {
  if (!r || !data)
    return linnet_fail(r ? r->batch->rows.context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recurrence_save: an argument is NULL");
  const size_t needed = linnet_recurrence_saved_bytes(r);
  if (bytes != needed)
    return linnet_fail(r->batch->rows.context, LINNET_ERROR_ARGUMENT,
                       "linnet_recurrence_save: the state takes %zu bytes, but there is memory for %zu", needed, bytes);
  unsigned char *end = (unsigned char *)data + HEADER;
  write_header(r, data);
  end = write_floats(r->input, r->stacked * config_of(r->batch)->input_dim, end);
  for (size_t i = 0; i < num_sublayers(r->batch); i++)
    end = write_floats(r->states[i].data, linnet_recurrence_used_size(r, i), end);
  linnet_store_u32(end, checksum(data, needed - CHECKSUM));
  return LINNET_OK;
}

/* --- restoring ---------------------------------------------------------------------------------------------------- */

static struct header read_header(const unsigned char *from) {
  return (struct header){.version = linnet_load_u32(from + 8),
                         .finished = linnet_load_u32(from + 12),
                         .fingerprint = linnet_load_u64(from + 16),
                         .entered = linnet_load_u64(from + 24),
                         .flushed = linnet_load_u64(from + 32),
                         .stacked = linnet_load_u64(from + 40),
                         .floats = linnet_load_u64(from + 48)};
}

static enum linnet_status fail_format(const struct linnet_recurrence *r, const char *reason) {
  return linnet_fail(r->batch->rows.context, LINNET_ERROR_FORMAT, "the saved state of a stream %s", reason);
}

/* Checks all that does not depend on the model. */
static enum linnet_status check_bytes(const struct linnet_recurrence *r, const unsigned char *data, size_t bytes) {
  if (bytes < HEADER + CHECKSUM || memcmp(data, magic, sizeof magic) != 0)
    return fail_format(r, "does not begin as one");
  const struct header h = read_header(data);
  if (h.version != VERSION)
    return linnet_fail(r->batch->rows.context, LINNET_ERROR_UNSUPPORTED,
                       "the saved state of a stream has version %" PRIu32 "; this library reads version %d", h.version,
                       VERSION);
  if (h.floats != (bytes - HEADER - CHECKSUM) / sizeof(float) || bytes % sizeof(float) != 0)
    return fail_format(r, "is truncated, or has bytes behind its end");
  if (linnet_load_u32(data + bytes - CHECKSUM) != checksum(data, bytes - CHECKSUM))
    return fail_format(r, "is damaged: its checksum does not match");
  return LINNET_OK;
}

/* Whether no size overflows that follows from the number of frames. */
static bool is_possible(const struct linnet_recurrence *r, const struct header *h) {
  const size_t growth = linnet_recurrence_growth(r), held = linnet_model_lookahead(r->batch->rows.model);
  return h->entered <= MAX_ENTERED && h->entered <= SIZE_MAX / 4 &&
         (growth == 0 || h->entered <= h->floats / growth + held);
}

static enum linnet_status check_header(const struct linnet_recurrence *r, const struct header *h) {
  const struct linnet_model *model = r->batch->rows.model;
  if (h->fingerprint != model->fingerprint)
    return linnet_fail(r->batch->rows.context, LINNET_ERROR_STATE,
                       "the saved state of a stream belongs to another model: its fingerprint is %016" PRIx64
                       ", that of this model is %016" PRIx64,
                       h->fingerprint, model->fingerprint);
  const bool ended = h->finished == 1 && h->stacked == 0;
  if (h->finished > 1 || h->stacked >= model->config.stack || h->flushed > linnet_model_lookahead(model) ||
      (!ended && (h->finished || h->flushed > 0)) || !is_possible(r, h))
    return fail_format(r, "contradicts itself");
  return LINNET_OK;
}

static const unsigned char *read_floats(const unsigned char *from, size_t count, real *values) {
  for (size_t i = 0; i < count; i++, from += sizeof(float))
    values[i] = linnet_load_float(from);
  return from;
}

/* Of a recurrence that was reset. */
static enum linnet_status restore(struct linnet_recurrence *r, const struct header *h, const unsigned char *from) {
  r->entered = (size_t)h->entered;
  r->flushed = (size_t)h->flushed;
  r->stacked = (size_t)h->stacked;
  r->finished = h->finished != 0;
  linnet_recurrence_count_frames(r);
  if (count_floats(r) != h->floats)
    return fail_format(r, "has another size than its frames need");
  LINNET_TRY(linnet_recurrence_reserve(r, 1));
  from = read_floats(from, r->stacked * config_of(r->batch)->input_dim, r->input);
  for (size_t i = 0; i < num_sublayers(r->batch); i++)
    from = read_floats(from, linnet_recurrence_used_size(r, i), r->states[i].data);
  return LINNET_OK;
}

enum linnet_status linnet_recurrence_restore(struct linnet_recurrence *r, const void *data, size_t bytes) {
  if (!r || !data)
    return linnet_fail(r ? r->batch->rows.context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recurrence_restore: an argument is NULL");
  LINNET_TRY(check_bytes(r, data, bytes));
  const struct header h = read_header(data);
  LINNET_TRY(check_header(r, &h));
  linnet_recurrence_reset(r);
  enum linnet_status status = restore(r, &h, (const unsigned char *)data + HEADER);
  if (status != LINNET_OK)
    linnet_recurrence_reset(r);
  return status;
}
