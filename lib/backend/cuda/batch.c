/* Uploads batches to a CUDA device. Features, tables of the packed sequences, labels, spans and masks are in one block
 * of host memory, so that one copy transfers them. */
#include <assert.h>
#include <string.h>

#include <linnet/feature_mask.h>

#include "backend/cuda/cuda_device.h"
#include "base/arena.h"
#include "base/base.h"
#include "base/numbers.h"

/* Offsets of the parts in the block. */
struct parts {
  void *features;
  void *pack;
  uint32_t *label_offsets; /* (sequences + 1) */
  int *labels;
  struct linnet_sequence_span *spans; /* (sequences) */
  struct linnet_feature_mask *masks;  /* (num_masks) */
  size_t num_masks;
  void *steps;
};

static size_t count_labels(const struct linnet_host_batch *b) {
  size_t labels = 0;
  for (size_t s = 0; b->labels && s < b->pack.sequences; s++)
    labels += b->num_labels[s];
  return labels;
}

static struct parts plan(const struct linnet_device *d, const struct linnet_host_batch *b, struct linnet_arena *arena) {
  size_t numbers, sequences = b->pack.sequences;
  struct parts p = {.num_masks = sequences * b->masks.count};
  if (!linnet_mul_size(b->pack.offsets[sequences], b->columns, &numbers))
    numbers = SIZE_MAX;
  p.features = linnet_arena_take(arena, numbers, d->activation_bytes);
  p.pack = linnet_arena_take(arena, linnet_cuda_pack_bytes(&b->pack), 1);
  p.label_offsets = linnet_arena_take(arena, sequences + 1, sizeof *p.label_offsets);
  p.labels = linnet_arena_take(arena, count_labels(b), sizeof *p.labels);
  p.spans = linnet_arena_take(arena, sequences, sizeof *p.spans);
  p.masks = linnet_arena_take(arena, p.num_masks, sizeof *p.masks);
  p.steps = linnet_arena_take(arena, linnet_cuda_steps_bytes(&b->pack), 1);
  return p;
}

static bool reserve(struct linnet_device *device, struct linnet_cuda_batch *batch, size_t bytes) {
  if (bytes <= batch->bytes)
    return true;
  /* First with spare capacity for larger batches; if that fails, without. */
  const size_t wanted[] = {bytes < SIZE_MAX / 2 ? bytes + bytes / 4 : bytes, bytes};
  for (size_t i = 0; i < 2 && batch->bytes < bytes; i++) {
    linnet_cuda_release_batch(device);
    batch->staging = linnet_cuda_alloc_host(device, wanted[i]);
    batch->memory = linnet_cuda_alloc(device, wanted[i]);
    batch->bytes = batch->staging && batch->memory ? wanted[i] : 0;
  }
  return batch->bytes >= bytes;
}

void linnet_cuda_release_batch(struct linnet_device *device) {
  struct linnet_cuda_batch *batch = &linnet_cuda_device(device)->batch;
  linnet_cuda_free_host(device, batch->staging);
  linnet_cuda_free(device, batch->memory);
  *batch = (struct linnet_cuda_batch){0};
}

/* The device address that corresponds to `host` in the staging block. */
static void *image(const struct linnet_cuda_batch *batch, const void *host) {
  return batch->memory + ((const unsigned char *)host - batch->staging);
}

static void write_features(const struct linnet_device *d, const struct linnet_host_batch *b, void *to) {
  size_t count = b->pack.offsets[b->pack.sequences] * b->columns;
  uint16_t *rounded = to;
  if (d->activation_bytes == sizeof(float))
    memcpy(to, b->features, count * sizeof(float));
  else
    for (size_t i = 0; i < count; i++)
      rounded[i] = linnet_bfloat16_bits(b->features[i]);
}

static void write_labels(const struct linnet_host_batch *b, struct parts *p) {
  p->label_offsets[0] = 0;
  for (size_t s = 0; s < b->pack.sequences; s++) {
    size_t count = b->labels ? b->num_labels[s] : 0;
    if (count > 0)
      memcpy(p->labels + p->label_offsets[s], b->labels[s], count * sizeof *p->labels);
    p->label_offsets[s + 1] = p->label_offsets[s] + (uint32_t)count;
  }
}

enum linnet_status linnet_cuda_upload_batch(struct linnet_device *device, struct linnet_context *context,
                                            const struct linnet_host_batch *b, void **features) {
  struct linnet_cuda_batch *batch = &linnet_cuda_device(device)->batch;
  struct linnet_arena arena = {0};
  size_t rows = b->pack.offsets[b->pack.sequences];
  if (rows > UINT32_MAX / 2)
    return linnet_fail(context, LINNET_ERROR_LIMIT, "a batch of %zu frames is too large for a device", rows);
  plan(device, b, &arena);
  size_t bytes = arena.used;
  if (!reserve(device, batch, bytes))
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for a batch of %zu frames", device->name, rows);
  arena = (struct linnet_arena){.base = batch->staging, .size = batch->bytes};
  struct parts p = plan(device, b, &arena);
  assert(p.features && p.label_offsets && p.masks);
  write_features(device, b, p.features);
  write_labels(b, &p);
  linnet_spans_longest_first(&b->pack, p.spans);
  if (p.num_masks > 0)
    memcpy(p.masks, b->masks.masks, p.num_masks * sizeof *p.masks);
  batch->offsets = b->pack.offsets;
  batch->pack = linnet_cuda_pack_write(&b->pack, p.pack, image(batch, p.pack));
  batch->label_offsets = image(batch, p.label_offsets);
  batch->labels = image(batch, p.labels);
  batch->spans = image(batch, p.spans);
  batch->host_spans = p.spans;
  batch->masks = image(batch, p.masks);
  batch->steps = linnet_cuda_steps_write(&b->pack, p.spans, batch->spans, p.steps, image(batch, p.steps));
  batch->host_lengths = p.steps;
  linnet_cuda_upload(device, batch->memory, batch->staging, bytes);
  *features = image(batch, p.features);
  return LINNET_OK;
}
