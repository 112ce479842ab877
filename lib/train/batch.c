/* Loads utterances into a packed batch: stacks frames, sets masks, checks that labels fit. */
#include "train/batch.h"

#include <string.h>

#include "model/training/network.h"
#include "ops/ctc.h"

void linnet_batch_init(struct linnet_batch *batch, struct linnet_context *context, const struct linnet_config *config) {
  *batch = (struct linnet_batch){.context = context, .config = config};
}

void linnet_batch_release(struct linnet_batch *batch) {
  void *blocks[] = {batch->offsets, batch->features, batch->labels, batch->num_labels, batch->loss,
                    batch->raw,     batch->slots,    batch->frames, batch->status,     batch->masks};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    linnet_free(batch->context, blocks[i]);
  linnet_batch_init(batch, batch->context, batch->config);
}

/* Replaces `block` by one of `count` elements; what it held is lost. */
#define REPLACE(context, block, count)                                                                                 \
  (linnet_free(context, block), (block) = linnet_alloc(context, count, sizeof *(block)), (block) != NULL)

static bool reserve_utterances(struct linnet_batch *b, size_t count) {
  if (count <= b->utterance_capacity)
    return true;
  size_t n = count + count / 2 + 1;
  bool good = REPLACE(b->context, b->offsets, n) && REPLACE(b->context, b->labels, n) &&
              REPLACE(b->context, b->num_labels, n) && REPLACE(b->context, b->loss, n) &&
              REPLACE(b->context, b->slots, n) && REPLACE(b->context, b->frames, n) &&
              REPLACE(b->context, b->status, n);
  b->utterance_capacity = good ? n - 1 : 0;
  return good;
}

/* Elements to reserve for `frames` rows: a third more than asked for, so that buffers seldom grow. 0: overflow. */
static size_t elements_for(const struct linnet_batch *b, size_t frames) {
  size_t count;
  return linnet_mul_size(frames + frames / 3 + 1, b->config->input_dim, &count) ? count : 0;
}

static bool reserve_raw(struct linnet_batch *b, size_t frames) {
  size_t count = elements_for(b, frames);
  if (frames * b->config->input_dim <= b->raw_capacity)
    return true;
  b->raw_capacity = count > 0 && REPLACE(b->context, b->raw, count) ? count : 0;
  return b->raw_capacity > 0;
}

static bool reserve_features(struct linnet_batch *b, size_t frames) {
  size_t count = elements_for(b, frames);
  if (frames * b->config->input_dim <= b->feature_capacity)
    return true;
  b->feature_capacity = count > 0 && REPLACE(b->context, b->features, count) ? count : 0;
  return b->feature_capacity > 0;
}

static bool reserve_masks(struct linnet_batch *b, size_t utterances) {
  size_t count;
  if (!linnet_mul_size(utterances, b->num_masks, &count))
    return false;
  if (count <= b->mask_capacity)
    return true;
  b->mask_capacity = REPLACE(b->context, b->masks, count) ? count : 0;
  return b->mask_capacity > 0;
}

struct loading {
  struct linnet_batch *batch;
  const struct linnet_corpus *corpus;
  uint64_t epoch;
  struct linnet_context *const *contexts;
};

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Keeps a mask inside its utterance; one that covers the last frame covers those, too, that stacking repeats it in. */
static void fit_mask(const struct linnet_config *config, size_t frames, struct linnet_feature_mask *m) {
  m->first_channel = smaller(m->first_channel, config->input_dim);
  m->channels = smaller(m->channels, config->input_dim - m->first_channel);
  m->first_frame = smaller(m->first_frame, frames);
  m->frames = smaller(m->frames, frames - m->first_frame);
  if (m->frames > 0 && m->first_frame + m->frames == frames)
    m->frames = linnet_stacked_frames(config, frames) * config->stack - m->first_frame;
}

static void load_masks(const struct loading *l, size_t i) {
  const struct linnet_batch *b = l->batch;
  struct linnet_feature_mask *masks = b->masks + i * b->num_masks;
  memset(masks, 0, b->num_masks * sizeof *masks);
  l->corpus->masks(l->corpus->user, b->utterances[i], l->epoch, b->frames[i], masks);
  for (size_t m = 0; m < b->num_masks; m++)
    fit_mask(b->config, b->frames[i], &masks[m]);
}

static void load_utterance(void *user, size_t i, unsigned worker) {
  const struct loading *l = user;
  struct linnet_batch *b = l->batch;
  struct linnet_context *context = l->contexts ? l->contexts[worker] : b->context;
  size_t capacity = b->slots[i + 1] - b->slots[i];
  b->frames[i] = 0;
  b->status[i] = l->corpus->features(l->corpus->user, context, b->utterances[i], l->epoch,
                                     b->raw + b->slots[i] * b->config->input_dim, capacity, &b->frames[i]);
  if (b->status[i] == LINNET_OK && b->num_masks > 0)
    load_masks(l, i);
}

static void stack_utterance(void *user, size_t i, unsigned worker) {
  struct linnet_batch *b = user;
  (void)worker;
  size_t row = b->config->input_dim * b->config->stack;
  if (b->frames[i] > 0)
    linnet_stack_frames(b->config, b->raw + b->slots[i] * b->config->input_dim, b->frames[i],
                        b->features + b->offsets[i] * row);
}

static void for_each(struct linnet_batch *b, struct linnet_context *const *contexts, linnet_task_fn body, void *user) {
  if (contexts)
    linnet_parallel(b->context, b->count, body, user);
  for (size_t i = 0; !contexts && i < b->count; i++)
    body(user, i, 0);
}

/* The first utterance that failed; its worker's sentence may be another's by now, so its features are asked for once
 * more. */
static enum linnet_status check_loaded(struct linnet_batch *b, struct loading *l) {
  for (size_t i = 0; i < b->count; i++) {
    if (b->status[i] == LINNET_OK)
      continue;
    if (b->status[i] == LINNET_ERROR_CANCELLED)
      return linnet_fail(b->context, b->status[i], "cancelled");
    struct loading again = *l;
    again.contexts = NULL;
    load_utterance(&again, i, 0);
    if (b->status[i] != LINNET_OK)
      return b->status[i];
  }
  return LINNET_OK;
}

static void locate(struct linnet_batch *b, const struct linnet_corpus *corpus, const size_t *nominal, uint64_t epoch) {
  const size_t extra = epoch > 0 ? corpus->extra_frames : 0;
  b->slots[0] = 0;
  for (size_t i = 0; i < b->count; i++) {
    size_t u = b->utterances[i];
    b->slots[i + 1] = b->slots[i] + nominal[u] + nominal[u] / 4 + 8 + extra;
    b->labels[i] = corpus->labels(corpus->user, u, &b->num_labels[i]);
  }
}

enum linnet_status linnet_batch_load(struct linnet_batch *b, const struct linnet_corpus *corpus,
                                     const size_t *utterances, size_t count, const size_t *nominal, uint64_t epoch,
                                     struct linnet_context *const *contexts) {
  if (!reserve_utterances(b, count))
    return linnet_fail(b->context, LINNET_ERROR_MEMORY, "out of memory for a batch of %zu utterances", count);
  b->count = count;
  b->utterances = utterances;
  b->num_masks = epoch > 0 ? corpus->num_masks : 0;
  if (!reserve_masks(b, count))
    return linnet_fail(b->context, LINNET_ERROR_MEMORY, "out of memory for the masks of %zu utterances", count);
  locate(b, corpus, nominal, epoch);
  if (!reserve_raw(b, b->slots[count]))
    return linnet_fail(b->context, LINNET_ERROR_MEMORY, "out of memory for a batch of %zu frames", b->slots[count]);
  struct loading loading = {b, corpus, epoch, contexts};
  for_each(b, contexts, load_utterance, &loading);
  LINNET_TRY(check_loaded(b, &loading));
  b->offsets[0] = 0;
  for (size_t i = 0; i < count; i++)
    b->offsets[i + 1] = b->offsets[i] + linnet_stacked_frames(b->config, b->frames[i]);
  if (!reserve_features(b, b->offsets[count] * b->config->stack))
    return linnet_fail(b->context, LINNET_ERROR_MEMORY, "out of memory for a batch of %zu frames", b->slots[count]);
  for_each(b, contexts, stack_utterance, b);
  return LINNET_OK;
}

struct linnet_masks linnet_batch_masks(const struct linnet_batch *b, size_t first) {
  return (struct linnet_masks){.count = b->num_masks,
                               .stack = b->config->stack,
                               .channels = b->config->input_dim,
                               .masks = b->num_masks > 0 ? b->masks + first * b->num_masks : NULL};
}

bool linnet_batch_feasible(const struct linnet_batch *b, size_t i) {
  return linnet_ctc_min_frames(b->labels[i], b->num_labels[i]) <= b->offsets[i + 1] - b->offsets[i];
}
