/* The file of a joint-sequence model. Integers are little-endian.
 *
 *   0    8 bytes  magic
 *   8    u32      version
 *   12   u32      order
 *   16   u32 (3)  letters, phones, units
 *   28   u32      0
 *   32   u32 (8)  n-grams by order; 0 beyond the order
 *   64   u64      bytes of the file
 *   72   u64      checksum of all that follows
 *   80            letters, then phones: strings that end in NUL
 *                 units: u16 (4), two letters and two phones, numbered from 1, 0 for none; sorted
 *                 levels 1 to order:
 *                   float (256)  probabilities, natural logarithms, by code
 *                   float (256)  back-off weights; not in the last level
 *                   the children of each n-gram of the level before, in its order: a varint for their number, and for
 *                     each a u16 for its last word, a byte for its probability and, but in the last level, one for its
 *                     back-off weight
 *
 * Words of n-grams are units, after them </s>, <s> and <unk>. Level 1 has all of them, without numbers. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/reader.h"
#include "base/settings.h"
#include "decoder/base/characters.h"
#include "decoder/g2p/g2p.h"
#include "decoder/ngram/ngram_builder.h"

enum {
  HEADER_BYTES = 80,
  SUM_OFFSET = 72,
  VERSION = 1,
  COUNTS = 8,
  MAX_NAME = 255,
  MAX_BYTES = 1 << 30,
  MAX_BACKOFF = 10000
};

static const char *const SPECIAL_WORDS[G2P_SPECIAL_WORDS] = {"</s>", "<s>", "<unk>"};

_Static_assert((int)NGRAM_MAX_ORDER == (int)COUNTS, "the header has a count for each order");

uint64_t linnet_g2p_checksum(const void *data, size_t bytes) {
  return linnet_hash(LINNET_HASH_START, data, bytes);
}

/* --- writing ---------------------------------------------------------------------------------------------------- */

/* A file in memory. `failed`: an allocation failed. */
struct writer {
  struct linnet_context *context;
  unsigned char *data;
  size_t count, capacity;
  bool failed;
};

static void put_bytes(struct writer *w, const void *bytes, size_t count) {
  unsigned char *grown =
      w->failed ? NULL : linnet_grow(w->context, w->data, &w->capacity, w->count + count, sizeof *grown);
  w->failed = !grown;
  if (!grown)
    return;
  w->data = grown;
  if (count > 0)
    memcpy(w->data + w->count, bytes, count);
  w->count += count;
}

static void put_integer(struct writer *w, uint64_t value, size_t bytes) {
  unsigned char b[8];
  for (size_t i = 0; i < bytes; i++)
    b[i] = (unsigned char)(value >> 8 * i);
  put_bytes(w, b, bytes);
}

static void put_varint(struct writer *w, uint32_t value) {
  for (; value >= 128; value >>= 7)
    put_integer(w, (value & 127) | 128, 1);
  put_integer(w, value, 1);
}

static void put_floats(struct writer *w, const float *values) {
  for (size_t i = 0; i < NGRAM_CODES; i++) {
    uint32_t bits;
    memcpy(&bits, &values[i], sizeof bits);
    put_integer(w, bits, 4);
  }
}

static void put_header(struct writer *w, const struct linnet_g2p *g2p) {
  put_bytes(w, LINNET_G2P_MAGIC, LINNET_G2P_MAGIC_BYTES);
  put_integer(w, VERSION, 4);
  put_integer(w, g2p->ngram->shape.order, 4);
  put_integer(w, g2p->letters.count, 4);
  put_integer(w, g2p->phones.count, 4);
  put_integer(w, g2p->unit_count, 4);
  put_integer(w, 0, 4);
  for (size_t k = 0; k < COUNTS; k++)
    put_integer(w, g2p->ngram->shape.counts[k], 4);
  put_integer(w, 0, 8); /* put_sums writes these two */
  put_integer(w, 0, 8);
}

static void put_names(struct writer *w, const struct linnet_names *names) {
  for (size_t i = 0; i < names->count; i++) {
    const char *text = linnet_names_text(names, i);
    put_bytes(w, text, strlen(text) + 1);
  }
}

static void put_units(struct writer *w, const struct linnet_g2p *g2p) {
  for (uint32_t u = 0; u < g2p->unit_count; u++)
    for (int part = 0; part < 4; part++)
      put_integer(w, g2p->units[u] >> (48 - 16 * part) & 0xFFFF, 2);
}

static void put_node(struct writer *w, const struct linnet_ngram *m, unsigned level, uint32_t node) {
  if (level > 1)
    put_integer(w, linnet_ngram_last_word(m, node), 2);
  put_integer(w, ((const uint8_t *)m->probabilities)[node], 1);
  if (level < m->shape.order)
    put_integer(w, ((const uint8_t *)m->backoffs)[node], 1);
}

/* The model is quantized. */
static void put_level(struct writer *w, const struct linnet_ngram *m, unsigned level) {
  put_floats(w, m->values + (level - 1) * NGRAM_CODES);
  if (level < m->shape.order)
    put_floats(w, m->values + (m->shape.order + level) * NGRAM_CODES);
  for (uint32_t parent = m->base[level - 1]; parent < m->base[level]; parent++) {
    struct ngram_range children = linnet_ngram_children(m, parent);
    if (level > 1)
      put_varint(w, children.end - children.begin);
    for (uint32_t node = children.begin; node < children.end; node++)
      put_node(w, m, level, node);
  }
}

static void put_sums(struct writer *w) {
  if (w->failed)
    return;
  size_t count = w->count;
  w->count = SUM_OFFSET - 8; /* writes within the header need no more memory */
  put_integer(w, count, 8);
  put_integer(w, linnet_g2p_checksum(w->data + HEADER_BYTES, count - HEADER_BYTES), 8);
  w->count = count;
}

static enum linnet_status write_file(const struct writer *w, const char *path) {
  struct linnet_output_file output;
  LINNET_TRY(linnet_output_file_open(w->context, path, &output));
  fwrite(w->data, 1, w->count, output.stream); /* commit reports a failure */
  return linnet_output_file_commit(&output);
}

static enum linnet_status save(struct linnet_context *context, const struct linnet_g2p *g2p,
                               const struct linnet_ngram *quantized, const char *path) {
  struct writer w = {.context = context};
  put_header(&w, g2p);
  put_names(&w, &g2p->letters);
  put_names(&w, &g2p->phones);
  put_units(&w, g2p);
  for (unsigned level = 1; level <= quantized->shape.order; level++)
    put_level(&w, quantized, level);
  put_sums(&w);
  enum linnet_status status =
      w.failed ? linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for writing a model", path)
               : write_file(&w, path);
  linnet_free(context, w.data);
  return status;
}

enum linnet_status linnet_g2p_save(struct linnet_context *context, const struct linnet_g2p *g2p, const char *path) {
  if (!context || !g2p || !path)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_g2p_save: an argument is NULL");
  if (g2p->ngram->shape.quantized)
    return save(context, g2p, g2p->ngram, path);
  struct linnet_ngram *quantized; /* a model from a file has at most 256 values, which do not change */
  LINNET_TRY(linnet_ngram_quantize(context, g2p->ngram, &quantized));
  enum linnet_status status = save(context, g2p, quantized, path);
  linnet_ngram_destroy(quantized);
  return status;
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

struct source {
  struct linnet_context *context;
  const char *name;
  struct linnet_reader reader;
  uint32_t order, letters, phones, units, counts[COUNTS];
};

static enum linnet_status damaged(const struct source *s, const char *what) {
  return linnet_fail(s->context, LINNET_ERROR_FORMAT,
                     "%s: %s: the file is damaged; train the model again with 'linnet g2p --train'", s->name, what);
}

static enum linnet_status read_sizes(struct source *s) {
  uint32_t unused;
  uint64_t bytes, sum;
  bool good = linnet_reader_u32(&s->reader, &s->order) && linnet_reader_u32(&s->reader, &s->letters) &&
              linnet_reader_u32(&s->reader, &s->phones) && linnet_reader_u32(&s->reader, &s->units) &&
              linnet_reader_u32(&s->reader, &unused);
  for (size_t k = 0; k < COUNTS; k++)
    good = good && linnet_reader_u32(&s->reader, &s->counts[k]);
  good = good && linnet_reader_u64(&s->reader, &bytes) && linnet_reader_u64(&s->reader, &sum);
  if (!good)
    return damaged(s, "truncated in the header");
  if (unused != 0)
    return damaged(s, "the header is wrong");
  if (bytes != s->reader.size)
    return linnet_fail(
        s->context, LINNET_ERROR_FORMAT,
        "%s: the file has %zu bytes, but its header announces %llu: the file is truncated or bytes were added", s->name,
        s->reader.size, (unsigned long long)bytes);
  if (sum != linnet_g2p_checksum(s->reader.data + HEADER_BYTES, s->reader.size - HEADER_BYTES))
    return damaged(s, "the checksum is wrong");
  return LINNET_OK;
}

static bool sizes_are_possible(const struct source *s) {
  size_t limit = s->reader.size; /* each item takes at least one byte */
  bool good = s->order >= 1 && s->order <= NGRAM_MAX_ORDER && s->letters >= 1 && s->letters <= G2P_MAX_SYMBOLS &&
              s->letters <= limit && s->phones <= G2P_MAX_SYMBOLS && s->phones <= limit && s->units >= 1 &&
              s->units <= G2P_MAX_UNITS && s->units <= limit / 8 && s->counts[0] == s->units + G2P_SPECIAL_WORDS;
  for (size_t k = 0; k < COUNTS; k++)
    good = good && s->counts[k] <= limit && (k < s->order || s->counts[k] == 0);
  return good;
}

enum linnet_status linnet_g2p_fail_kind(struct linnet_context *context, const char *name) {
  return linnet_fail(context, LINNET_ERROR_FORMAT,
                     "%s: not a model of pronunciations; make one with 'linnet g2p --train'", name);
}

static enum linnet_status read_header(struct source *s) {
  char magic[LINNET_G2P_MAGIC_BYTES];
  uint32_t version;
  if (!linnet_reader_copy(&s->reader, magic, sizeof magic) || memcmp(magic, LINNET_G2P_MAGIC, sizeof magic) != 0)
    return linnet_g2p_fail_kind(s->context, s->name);
  if (!linnet_reader_u32(&s->reader, &version) || version != VERSION)
    return linnet_fail(s->context, LINNET_ERROR_UNSUPPORTED,
                       "%s: the version of the format is not %d; train the model again with 'linnet g2p --train'",
                       s->name, VERSION);
  LINNET_TRY(read_sizes(s));
  return sizes_are_possible(s) ? LINNET_OK : damaged(s, "the header's counts are out of range");
}

/* Names of letters become capitals: models of older versions may have small letters. */
static enum linnet_status read_names(struct source *s, size_t count, bool letters, struct linnet_names *names) {
  for (size_t i = 0; i < count; i++) {
    char name[MAX_NAME + 1];
    const char *text = (const char *)s->reader.data + s->reader.position;
    size_t left = linnet_reader_left(&s->reader), index;
    const char *end = memchr(text, '\0', left < MAX_NAME + 1 ? left : MAX_NAME + 1);
    bool fresh = false;
    if (!end || end == text || text[strcspn(text, " \t\r\n\v\f")] != '\0')
      return damaged(s, "the letters and phones are wrong");
    memcpy(name, text, (size_t)(end - text) + 1);
    const size_t length = letters ? linnet_utf8_capitals(name) : (size_t)(end - text);
    LINNET_TRY(linnet_names_add(names, name, length, &index, &fresh));
    if (!fresh)
      return damaged(s, "a letter or phone appears twice");
    linnet_reader_take(&s->reader, (size_t)(end - text) + 1);
  }
  return LINNET_OK;
}

/* A unit has a letter. A second letter or phone needs a first one. */
static bool unit_is_possible(const struct source *s, const uint16_t letters[2], const uint16_t phones[2]) {
  return letters[0] >= 1 && letters[0] <= s->letters && letters[1] <= s->letters && phones[0] <= s->phones &&
         phones[1] <= s->phones && (phones[0] != 0 || phones[1] == 0);
}

static enum linnet_status read_units(struct source *s, struct linnet_g2p *g2p) {
  const unsigned char *b = linnet_reader_take(&s->reader, (size_t)s->units * 8);
  if (!b)
    return damaged(s, "truncated in the units");
  g2p->units = linnet_alloc(s->context, s->units, sizeof *g2p->units);
  if (!g2p->units)
    return linnet_fail(s->context, LINNET_ERROR_MEMORY, "%s: out of memory for %u units", s->name, s->units);
  g2p->unit_count = s->units;
  for (uint32_t u = 0; u < s->units; u++, b += 8) {
    uint16_t letters[2] = {linnet_load_u16(b), linnet_load_u16(b + 2)};
    uint16_t phones[2] = {linnet_load_u16(b + 4), linnet_load_u16(b + 6)};
    g2p->units[u] = linnet_g2p_key(letters, phones);
    if (!unit_is_possible(s, letters, phones) || (u > 0 && g2p->units[u] <= g2p->units[u - 1]))
      return damaged(s, "the units are wrong");
  }
  return linnet_g2p_index(g2p);
}

/* --- its n-grams ------------------------------------------------------------------------------------------------ */

static enum linnet_status read_values(struct source *s, bool probabilities, float *values) {
  for (size_t i = 0; i < NGRAM_CODES; i++) {
    uint32_t bits;
    if (!linnet_reader_u32(&s->reader, &bits))
      return damaged(s, "truncated in the values");
    memcpy(&values[i], &bits, sizeof bits);
    if (!(probabilities ? values[i] <= 0 : fabsf(values[i]) <= MAX_BACKOFF)) /* NaN, too */
      return damaged(s, "the values are wrong");
  }
  return LINNET_OK;
}

static bool read_varint(struct linnet_reader *reader, uint32_t *value) {
  *value = 0;
  for (unsigned shift = 0; shift < 28; shift += 7) {
    const unsigned char *b = linnet_reader_take(reader, 1);
    if (!b)
      return false;
    *value |= (uint32_t)(*b & 127) << shift;
    if (*b < 128)
      return true;
  }
  return false;
}

/* The data that all n-grams of a level share. */
struct level {
  unsigned number; /* 1 ... order */
  bool inner;
  float probabilities[NGRAM_CODES], backoffs[NGRAM_CODES];
};

static enum linnet_status read_node(struct source *s, const struct level *level, uint32_t parent, uint32_t word,
                                    struct ngram_builder *b) {
  size_t bytes = (level->number > 1 ? 2 : 0) + 1 + (level->inner ? 1 : 0);
  const unsigned char *at = linnet_reader_take(&s->reader, bytes);
  if (!at)
    return damaged(s, "truncated in the n-grams");
  if (level->number > 1) {
    word = linnet_load_u16(at);
    at += 2;
  }
  if (word >= s->counts[0])
    return damaged(s, "a word of an n-gram is wrong");
  return linnet_ngram_builder_add(b, level->number - 1,
                                  &(struct ngram_record){.parent = parent,
                                                         .word = word,
                                                         .probability = level->probabilities[at[0]],
                                                         .backoff = level->inner ? level->backoffs[at[1]] : 0});
}

static enum linnet_status read_children(struct source *s, const struct level *level, uint32_t parent,
                                        struct ngram_builder *b) {
  uint32_t children;
  if (!read_varint(&s->reader, &children))
    return damaged(s, "the number of an n-gram's continuations is wrong");
  if (children > s->counts[level->number - 1] - b->levels[level->number - 1].count)
    return damaged(s, "more n-grams than the header announces");
  for (uint32_t i = 0; i < children; i++)
    LINNET_TRY(read_node(s, level, parent, 0, b));
  return LINNET_OK;
}

static enum linnet_status read_values_of(struct source *s, struct level *level) {
  LINNET_TRY(read_values(s, true, level->probabilities));
  return level->inner ? read_values(s, false, level->backoffs) : LINNET_OK;
}

static enum linnet_status read_words(struct source *s, struct ngram_builder *b) {
  struct level level = {.number = 1, .inner = s->order > 1};
  LINNET_TRY(read_values_of(s, &level));
  for (uint32_t word = 0; word < s->counts[0]; word++) {
    char unit[G2P_NAME_BYTES];
    const char *name = unit;
    size_t index;
    if (word < s->units)
      linnet_g2p_unit_name(word, unit);
    else
      name = SPECIAL_WORDS[word - s->units];
    LINNET_TRY(linnet_names_add(&b->names, name, strlen(name), &index, NULL));
    LINNET_TRY(read_node(s, &level, 0, word, b));
  }
  return linnet_ngram_builder_sort_words(b);
}

static enum linnet_status read_level(struct source *s, unsigned number, struct ngram_builder *b) {
  struct level level = {.number = number, .inner = number < s->order};
  const struct ngram_level *before = &b->levels[number - 2];
  size_t duplicate;
  LINNET_TRY(read_values_of(s, &level));
  for (size_t i = 0; i < before->count; i++)
    LINNET_TRY(read_children(s, &level, before->base + (uint32_t)i, b));
  if (b->levels[number - 1].count != s->counts[number - 1])
    return damaged(s, "fewer n-grams than the header announces");
  LINNET_TRY(linnet_ngram_builder_seal(b, number - 1, &duplicate));
  return duplicate == SIZE_MAX ? LINNET_OK : damaged(s, "an n-gram appears twice");
}

static enum linnet_status read_ngrams(struct source *s, struct linnet_g2p *g2p) {
  struct ngram_builder b = {.context = s->context, .order = s->order, .names = {.context = s->context}};
  enum linnet_status status = read_words(s, &b);
  for (unsigned number = 2; number <= s->order && status == LINNET_OK; number++)
    status = read_level(s, number, &b);
  if (status == LINNET_OK && linnet_reader_left(&s->reader) > 0)
    status = damaged(s, "bytes follow the end");
  if (status == LINNET_OK)
    status = linnet_ngram_builder_finish(&b, &g2p->ngram);
  linnet_ngram_builder_clear(&b);
  return status;
}

enum linnet_status linnet_g2p_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                          const char *name, struct linnet_g2p **g2p) {
  if (g2p)
    *g2p = NULL;
  if (!context || !g2p)
    return LINNET_ERROR_ARGUMENT;
  if (!name || (!data && bytes > 0))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_g2p_load_memory: the data or the name is NULL");
  struct source s = {.context = context, .name = name, .reader = {.data = data, .size = bytes}};
  struct linnet_g2p *made;
  LINNET_TRY(read_header(&s));
  LINNET_TRY(linnet_g2p_create(context, &made));
  enum linnet_status status = read_names(&s, s.letters, true, &made->letters);
  if (status == LINNET_OK)
    status = read_names(&s, s.phones, false, &made->phones);
  if (status == LINNET_OK)
    status = read_units(&s, made);
  if (status == LINNET_OK)
    status = read_ngrams(&s, made);
  if (status == LINNET_OK)
    *g2p = made;
  else
    linnet_g2p_destroy(made);
  return status;
}

enum linnet_status linnet_g2p_load(struct linnet_context *context, const char *path, struct linnet_g2p **g2p) {
  if (g2p)
    *g2p = NULL;
  if (!context || !g2p)
    return LINNET_ERROR_ARGUMENT;
  if (!path)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_g2p_load: the path is NULL");
  void *data = NULL;
  size_t bytes = 0;
  LINNET_TRY(linnet_file_read(context, path, MAX_BYTES, &data, &bytes));
  enum linnet_status status = linnet_g2p_load_memory(context, data, bytes, path, g2p);
  linnet_free(context, data);
  if (status == LINNET_OK)
    linnet_log(context, LINNET_LOG_INFO, "%s: a model of pronunciations, of %zu units", path,
               linnet_g2p_num_units(*g2p));
  return status;
}

enum linnet_status linnet_g2p_load_source(struct linnet_context *context, const struct linnet_source *source,
                                          struct linnet_g2p **g2p) {
  if (source->data)
    return linnet_g2p_load_memory(context, source->data, source->bytes, linnet_source_name(source), g2p);
  return linnet_g2p_load(context, source->path, g2p);
}
