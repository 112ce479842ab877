/* The binary form of an n-gram model: a header and the model's body as it lies in memory.
 *
 *   0    8 bytes   magic
 *   8    u32       version
 *   12   u32       byte order: 0x01020304 as the machine writes it
 *   16   u32, u32  order; 1 if quantized
 *   24   u64 (6)   counts of orders 1 to 6
 *   72   u64       bytes of the words
 *   80   u64       bytes of the file
 *   88   u64       checksum of the body
 *   96   u64 (2)   counts of orders 7 and 8
 *   112  u64       0
 *   120  u64       checksum of the 120 bytes before
 *   128            the body (ngram_model.h)
 *
 * All integers are in the byte order of the machine that wrote the file. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "decoder/ngram/ngram_model.h"

enum { HEADER_BYTES = 128, VERSION = 3, FIRST_COUNTS = 6, LAST_COUNTS = NGRAM_MAX_ORDER - FIRST_COUNTS };

static const char MAGIC[8] = {'L', 'i', 'n', 'G', 'r', 'a', 'm', '\n'};
static const uint32_t BYTE_ORDER_MARK = 0x01020304, OTHER_ORDER = 0x04030201;

struct header {
  char magic[8];
  uint32_t version, byte_order, order, quantized;
  uint64_t counts[FIRST_COUNTS], text_bytes, file_bytes, body_sum, last_counts[LAST_COUNTS], unused, header_sum;
};

_Static_assert(sizeof(struct header) == HEADER_BYTES, "the header has no gaps");

/* Four interleaved sums over words of 8 bytes, so that a large file is read at the speed of memory. The last 1 to 31
 * bytes are padded with zeros. */
uint64_t linnet_ngram_checksum(const void *data, size_t bytes) {
  static const uint64_t PRIME = 0x9E3779B185EBCA87u;
  uint64_t sums[4] = {1, 2, 3, 4};
  for (size_t at = 0; at < bytes; at += sizeof sums) {
    uint64_t words[4] = {0};
    memcpy(words, (const char *)data + at, bytes - at < sizeof words ? bytes - at : sizeof words);
    for (int i = 0; i < 4; i++) {
      sums[i] = (sums[i] ^ words[i]) * PRIME;
      sums[i] ^= sums[i] >> 29;
    }
  }
  uint64_t sum = bytes;
  for (int i = 0; i < 4; i++)
    sum = ((sum ^ sums[i]) * PRIME) ^ sums[i] >> 31;
  return sum;
}

static uint64_t header_sum(const struct header *header) {
  return linnet_ngram_checksum(header, offsetof(struct header, header_sum));
}

static bool is_binary(const void *data, size_t bytes) {
  return bytes >= sizeof MAGIC && memcmp(data, MAGIC, sizeof MAGIC) == 0;
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

static enum linnet_status damaged(struct linnet_context *context, const char *name, const char *what) {
  return linnet_fail(context, LINNET_ERROR_FORMAT, "%s: %s: the file is damaged; convert it again from ARPA", name,
                     what);
}

/* The shape in a header; checks that the file has the size of this shape. */
static enum linnet_status read_header(struct linnet_context *context, const void *data, size_t bytes, const char *name,
                                      struct ngram_shape *shape) {
  struct header h;
  struct ngram_layout layout;
  if (bytes < HEADER_BYTES)
    return damaged(context, name, "truncated in the header");
  memcpy(&h, data, sizeof h);
  if (h.byte_order == OTHER_ORDER)
    return linnet_fail(context, LINNET_ERROR_UNSUPPORTED,
                       "%s: was written on a machine of another byte order; convert it again from ARPA on this machine",
                       name);
  if (h.version != VERSION)
    return linnet_fail(
        context, LINNET_ERROR_UNSUPPORTED,
        "%s: is version %u of the binary form, but this version of Linnet reads %d; convert it again from ARPA", name,
        h.version, VERSION);
  if (h.byte_order != BYTE_ORDER_MARK || h.header_sum != header_sum(&h))
    return damaged(context, name, "the header's checksum is wrong");
  *shape = (struct ngram_shape){.order = h.order, .quantized = h.quantized != 0, .text_bytes = h.text_bytes};
  memcpy(shape->counts, h.counts, sizeof h.counts);
  memcpy(shape->counts + FIRST_COUNTS, h.last_counts, sizeof h.last_counts);
  if (!linnet_ngram_layout(shape, &layout) || h.quantized > 1)
    return damaged(context, name, "the header's counts are out of range");
  if (layout.total != bytes - HEADER_BYTES || h.file_bytes != bytes)
    return linnet_fail(
        context, LINNET_ERROR_FORMAT,
        "%s: the file has %zu bytes, but its header announces %llu: the file is truncated or bytes were added", name,
        bytes, (unsigned long long)h.file_bytes);
  if (h.body_sum != linnet_ngram_checksum((const char *)data + HEADER_BYTES, layout.total))
    return damaged(context, name, "the checksum is wrong");
  return LINNET_OK;
}

/* A model whose body is in the mapping. The model does not own the mapping yet. */
static enum linnet_status use_mapping(struct linnet_context *context, const struct ngram_shape *shape, const void *body,
                                      struct linnet_ngram **ngram) {
  struct linnet_ngram *m = linnet_calloc(context, 1, sizeof *m);
  if (!m)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a language model");
  m->context = context;
  m->shape = *shape;
  linnet_ngram_attach(m, body);
  *ngram = m;
  return LINNET_OK;
}

/* A model from memory, which is copied, or (`mapped`) from a mapping, which the model owns on success. */
static enum linnet_status open_binary(struct linnet_context *context, const void *data, size_t bytes, const char *name,
                                      bool mapped, struct linnet_ngram **ngram) {
  struct ngram_shape shape;
  struct linnet_ngram *m = NULL;
  const char *from = (const char *)data + HEADER_BYTES;
  LINNET_TRY(read_header(context, data, bytes, name, &shape));
  if (mapped) {
    LINNET_TRY(use_mapping(context, &shape, from, &m));
  } else {
    void *body;
    LINNET_TRY(linnet_ngram_create(context, &shape, &m, &body));
    memcpy(body, from, linnet_ngram_memory_bytes(m));
  }
  enum linnet_status status = linnet_ngram_validate(m, name);
  if (status != LINNET_OK) {
    linnet_ngram_destroy(m);
    return status;
  }
  linnet_ngram_resolve(m);
  *ngram = m;
  return LINNET_OK;
}

/* Maps a file that begins like the binary form; *mapping stays NULL if it is another kind of file. */
static enum linnet_status map_file(struct linnet_context *context, const char *path, void **mapping, size_t *bytes) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return linnet_fail_errno(context, path, errno);
  struct stat information;
  char magic[sizeof MAGIC];
  enum linnet_status status = LINNET_OK;
  if (fstat(file, &information) != 0) {
    status = linnet_fail_errno(context, path, errno);
  } else if (S_ISREG(information.st_mode) && pread(file, magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
             is_binary(magic, sizeof magic)) {
    *bytes = (size_t)information.st_size;
    void *there = mmap(NULL, *bytes, PROT_READ, MAP_SHARED, file, 0);
    if (there == MAP_FAILED)
      status = linnet_fail_errno(context, path, errno);
    else
      *mapping = there;
  }
  close(file);
  return status;
}

static enum linnet_status load_file(struct linnet_context *context, const char *path, struct linnet_ngram **ngram) {
  void *mapping = NULL;
  size_t bytes = 0;
  LINNET_TRY(map_file(context, path, &mapping, &bytes));
  if (!mapping)
    return linnet_ngram_read_arpa(context, path, ngram);
  enum linnet_status status = open_binary(context, mapping, bytes, path, true, ngram);
  if (status != LINNET_OK) {
    munmap(mapping, bytes);
    return status;
  }
  (*ngram)->mapping = mapping;
  (*ngram)->mapping_bytes = bytes;
  return LINNET_OK;
}

enum linnet_status linnet_ngram_load(struct linnet_context *context, const char *path, struct linnet_ngram **ngram) {
  if (ngram)
    *ngram = NULL;
  if (!context || !ngram)
    return LINNET_ERROR_ARGUMENT;
  if (!path)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_ngram_load: the path is NULL");
  LINNET_TRY(load_file(context, path, ngram));
  linnet_log(context, LINNET_LOG_INFO, "%s: an n-gram model of order %u and %zu words", path,
             linnet_ngram_order(*ngram), linnet_ngram_num_ngrams(*ngram, 1));
  return LINNET_OK;
}

enum linnet_status linnet_ngram_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                            const char *name, struct linnet_ngram **ngram) {
  if (ngram)
    *ngram = NULL;
  if (!context || !ngram)
    return LINNET_ERROR_ARGUMENT;
  if (!name || (!data && bytes > 0))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_ngram_load_memory: the data or the name is NULL");
  if (is_binary(data, bytes))
    return open_binary(context, data, bytes, name, false, ngram);
  return linnet_ngram_read_arpa_memory(context, data, bytes, name, ngram);
}

/* --- writing ---------------------------------------------------------------------------------------------------- */

/* Writes the body as it is in memory: a file has the same bytes. */
static const void *body_of(const struct linnet_ngram *m) {
  return m->block ? m->block : (const char *)m->mapping + HEADER_BYTES;
}

enum linnet_status linnet_ngram_save_binary(struct linnet_context *context, const struct linnet_ngram *m,
                                            const char *path) {
  if (!context || !m || !path)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_ngram_save_binary: an argument is NULL");
  size_t bytes = linnet_ngram_memory_bytes(m);
  struct header header = {.version = VERSION,
                          .byte_order = BYTE_ORDER_MARK,
                          .order = m->shape.order,
                          .quantized = m->shape.quantized,
                          .text_bytes = m->shape.text_bytes,
                          .file_bytes = HEADER_BYTES + bytes,
                          .body_sum = linnet_ngram_checksum(body_of(m), bytes)};
  memcpy(header.magic, MAGIC, sizeof MAGIC);
  memcpy(header.counts, m->shape.counts, sizeof header.counts);
  memcpy(header.last_counts, m->shape.counts + FIRST_COUNTS, sizeof header.last_counts);
  header.header_sum = header_sum(&header);
  struct linnet_output_file output;
  LINNET_TRY(linnet_output_file_open(context, path, &output));
  fwrite(&header, 1, sizeof header, output.stream); /* commit reports a failure */
  fwrite(body_of(m), 1, bytes, output.stream);
  return linnet_output_file_commit(&output);
}
