/* The n-gram model's memory and its contents. */
#include "decoder/ngram/ngram_model.h"

#include <string.h>
#include <sys/mman.h>

#include "base/numbers.h"

static const uint64_t MAX_NODES = 0x7FFFFFFE, MAX_TEXT = 0xFFFFFFFF;

/* Counts the nodes; false if the shape is out of range. */
static bool count_nodes(const struct ngram_shape *shape, uint64_t *inner, uint64_t *total) {
  if (shape->order < 1 || shape->order > NGRAM_MAX_ORDER || shape->counts[0] == 0 || shape->text_bytes > MAX_TEXT)
    return false;
  *total = 1;
  for (unsigned k = 0; k < shape->order; k++) {
    *inner = *total;
    if (shape->counts[k] > MAX_NODES - *total)
      return false;
    *total += shape->counts[k];
  }
  return true;
}

static uint32_t filter_blocks(uint64_t total) {
  return (uint32_t)(linnet_divide_up(total, NGRAM_BLOCK_NODES));
}

/* The first context of three words or more, `inner` if there is none. */
static uint64_t first_linked(const struct ngram_shape *shape, uint64_t inner) {
  return shape->order > 3 ? 1 + shape->counts[0] + shape->counts[1] : inner;
}

bool linnet_ngram_layout(const struct ngram_shape *shape, struct ngram_layout *layout) {
  uint64_t inner, total;
  if (!count_nodes(shape, &inner, &total))
    return false;
  size_t value = shape->quantized ? 1 : sizeof(float);
  uint64_t marks = linnet_divide_up(inner, NGRAM_MARK_NODES), several = total - 1 - shape->counts[0];
  const size_t bytes[NGRAM_SECTIONS] = {
      [NGRAM_VALUES] = shape->quantized ? 2 * shape->order * NGRAM_CODES * sizeof(float) : 0,
      [NGRAM_TREE] = linnet_divide_up(inner + total - 1, 64) * sizeof(uint64_t),
      [NGRAM_MARKS] = marks * sizeof(uint32_t),
      [NGRAM_BACKOFFS] = inner * value,
      [NGRAM_WORDS] = linnet_packed_bytes(several, linnet_packed_width(shape->counts[0] - 1)),
      [NGRAM_PROBABILITIES] = total * value,
      [NGRAM_LINKS] = linnet_packed_bytes(inner - first_linked(shape, inner), linnet_packed_width(inner - 1)),
      [NGRAM_FILTER] = filter_blocks(total) * sizeof(uint64_t),
      [NGRAM_OFFSETS] = linnet_packed_bytes(shape->counts[0] + 1, linnet_packed_width(shape->text_bytes)),
      [NGRAM_TEXT] = shape->text_bytes,
  };
  layout->total = 0;
  for (int i = 0; i < NGRAM_SECTIONS; i++) { /* at most 2^31 nodes: no sum overflows 64 bits */
    layout->start[i] = layout->total;
    layout->bytes[i] = bytes[i];
    layout->total += linnet_round_up(bytes[i], 64);
  }
  return true;
}

static struct packed packed(const char *bytes, uint64_t largest) {
  return (struct packed){(const void *)bytes, linnet_packed_width(largest)};
}

void linnet_ngram_attach(struct linnet_ngram *m, const void *body) {
  struct ngram_layout layout;
  linnet_ngram_layout(&m->shape, &layout);
  const char *at = body;
  m->base[0] = 0;
  m->base[1] = 1;
  for (unsigned k = 0; k < m->shape.order; k++)
    m->base[k + 2] = m->base[k + 1] + (uint32_t)m->shape.counts[k];
  m->inner = m->base[m->shape.order];
  m->total = m->base[m->shape.order + 1];
  m->values = (const void *)(at + layout.start[NGRAM_VALUES]);
  m->linked = (uint32_t)first_linked(&m->shape, m->inner);
  m->tree = (const void *)(at + layout.start[NGRAM_TREE]);
  m->marks = (const void *)(at + layout.start[NGRAM_MARKS]);
  m->backoffs = at + layout.start[NGRAM_BACKOFFS];
  m->words = packed(at + layout.start[NGRAM_WORDS], m->shape.counts[0] - 1);
  m->probabilities = at + layout.start[NGRAM_PROBABILITIES];
  m->links = packed(at + layout.start[NGRAM_LINKS], m->inner - 1);
  m->filter = (const void *)(at + layout.start[NGRAM_FILTER]);
  m->blocks = filter_blocks(m->total);
  m->offsets = packed(at + layout.start[NGRAM_OFFSETS], m->shape.text_bytes);
  m->text = at + layout.start[NGRAM_TEXT];
}

enum linnet_status linnet_ngram_create(struct linnet_context *context, const struct ngram_shape *shape,
                                       struct linnet_ngram **ngram, void **body) {
  struct ngram_layout layout;
  if (!linnet_ngram_layout(shape, &layout))
    return linnet_fail(context, LINNET_ERROR_LIMIT, "the language model has more than 2^31 n-grams or 4 GiB of words");
  struct linnet_ngram *m = linnet_calloc(context, 1, sizeof *m);
  *body = m ? linnet_calloc(context, layout.total, 1) : NULL;
  if (!*body) {
    linnet_free(context, m);
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a language model of %zu bytes", layout.total);
  }
  m->context = context;
  m->shape = *shape;
  m->block = *body;
  linnet_ngram_attach(m, *body);
  *ngram = m;
  return LINNET_OK;
}

void linnet_ngram_resolve(struct linnet_ngram *m) {
  m->start = linnet_ngram_index(m, "<s>");
  m->end = linnet_ngram_index(m, "</s>");
  m->unknown = linnet_ngram_index(m, "<unk>");
  if (m->unknown == LINNET_NGRAM_NO_WORD)
    m->unknown = linnet_ngram_index(m, "<UNK>"); /* as some toolkits write it */
  m->begin = 0;
  if (m->start != LINNET_NGRAM_NO_WORD)
    m->begin = linnet_ngram_next(m, linnet_ngram_place(m, 0, m->start), m->start);
}

void linnet_ngram_destroy(struct linnet_ngram *m) {
  if (!m)
    return;
  if (m->mapping)
    munmap(m->mapping, m->mapping_bytes);
  linnet_free(m->context, m->block);
  linnet_free(m->context, m);
}

unsigned linnet_ngram_order(const struct linnet_ngram *m) {
  return m->shape.order;
}

int linnet_ngram_is_quantized(const struct linnet_ngram *m) {
  return m->shape.quantized;
}

size_t linnet_ngram_num_ngrams(const struct linnet_ngram *m, unsigned order) {
  return order >= 1 && order <= m->shape.order ? m->shape.counts[order - 1] : 0;
}

size_t linnet_ngram_memory_bytes(const struct linnet_ngram *m) {
  struct ngram_layout layout = {.total = 0};
  linnet_ngram_layout(&m->shape, &layout);
  return layout.total;
}

const char *linnet_ngram_word(const struct linnet_ngram *m, size_t index) {
  return index < m->shape.counts[0] ? m->text + linnet_packed_get(&m->offsets, index) : NULL;
}

size_t linnet_ngram_find(const struct linnet_ngram *m, const char *word) {
  uint32_t low = 0, high = (uint32_t)m->shape.counts[0];
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int order = strcmp(linnet_ngram_word(m, middle), word);
    if (order == 0)
      return middle;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return LINNET_NOT_FOUND;
}
