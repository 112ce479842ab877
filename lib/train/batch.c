/* The order of an epoch, and a batch in memory. */
#include "train/batch.h"

#include <string.h>

#include "base/numbers.h"
#include "base/philox.h"
#include "model/training/network.h"
#include "ops/ctc.h"

/* --- the order of an epoch ---------------------------------------------------------------------------------------- */

enum linnet_status linnet_batches_create(struct linnet_context *context, size_t utterances,
                                         struct linnet_batches *batches) {
  *batches = (struct linnet_batches){0};
  batches->order = linnet_calloc(context, utterances + 1, sizeof *batches->order);
  batches->starts = linnet_calloc(context, utterances + 2, sizeof *batches->starts);
  batches->scratch = linnet_calloc(context, utterances + 1, sizeof *batches->scratch);
  if (batches->order && batches->starts && batches->scratch)
    return LINNET_OK;
  linnet_batches_destroy(context, batches);
  return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the order of %zu utterances", utterances);
}

void linnet_batches_destroy(struct linnet_context *context, struct linnet_batches *batches) {
  linnet_free(context, batches->order);
  linnet_free(context, batches->starts);
  linnet_free(context, batches->scratch);
  *batches = (struct linnet_batches){0};
}

/* Fisher-Yates. `stream` separates the random numbers of several arrays; its lowest 40 bits are 0. */
static void shuffle(size_t *items, size_t n, const struct linnet_order *order, uint64_t stream) {
  for (size_t i = n; i > 1; i--) {
    struct linnet_philox random =
        linnet_philox(order->seed, (uint64_t)LINNET_DRAW_ORDER << 56 | order->epoch, stream | i);
    uint64_t word = (uint64_t)random.word[1] << 32 | random.word[0];
    size_t j = (size_t)(word % i), swap = items[i - 1];
    items[i - 1] = items[j];
    items[j] = swap;
  }
}

/* Shuffles blocks of consecutive utterances, and each block. With one block, the order is that without blocks. */
static void shuffle_blocks(struct linnet_batches *b, size_t n, const struct linnet_order *order) {
  const size_t block = order->block > 0 && order->block < n ? order->block : n,
               blocks = n > 0 ? (n - 1) / block + 1 : 0;
  size_t *sequence = b->starts, done = 0; /* the batches come later */
  for (size_t i = 0; i < blocks; i++)
    sequence[i] = i;
  shuffle(sequence, blocks, order, UINT64_C(1) << 63);
  memcpy(b->scratch, b->order, n * sizeof *b->scratch);
  for (size_t i = 0; i < blocks; i++) {
    const size_t first = sequence[i] * block, count = linnet_min_size(block, n - first);
    memcpy(b->order + done, b->scratch + first, count * sizeof *b->order);
    shuffle(b->order + done, count, order, (uint64_t)sequence[i] << 40);
    done += count;
  }
}

void linnet_batches_fill(struct linnet_batches *batches, const size_t *frames, size_t utterances, size_t batch_frames,
                         const struct linnet_order *order) {
  size_t n = 0, packed = 0;
  for (size_t u = 0; u < utterances; u++)
    if (frames[u] > 0)
      batches->order[n++] = u;
  if (order->epoch > 0)
    shuffle_blocks(batches, n, order);
  batches->utterances = n;
  batches->batches = 0;
  for (size_t i = 0; i < n; i++) {
    size_t length = frames[batches->order[i]];
    if (i == 0 || length > batch_frames - packed) {
      batches->starts[batches->batches++] = i;
      packed = 0;
    }
    packed = length < batch_frames - packed ? packed + length : batch_frames;
  }
  batches->starts[batches->batches] = n;
}

/* --- one batch ---------------------------------------------------------------------------------------------------- */

void linnet_batch_init(struct linnet_batch *batch, struct linnet_context *context, const struct linnet_config *config) {
  *batch = (struct linnet_batch){.context = context, .config = config, .views = 1};
}

void linnet_batch_release(struct linnet_batch *batch) {
  void *blocks[] = {batch->offsets, batch->features, batch->labels,      batch->num_labels,
                    batch->raw,     batch->slots,    batch->frames,      batch->status,
                    batch->masks,   batch->targets,  batch->raw_targets, batch->not_finite};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    linnet_free(batch->context, blocks[i]);
  for (int l = 0; l < LINNET_NUM_LOSSES; l++)
    linnet_free(batch->context, batch->losses[l]);
  linnet_batch_init(batch, batch->context, batch->config);
}

/* Replaces `block` by one of `count` elements, without its contents. */
#define REPLACE(context, block, count)                                                                                 \
  (linnet_free(context, block), (block) = linnet_alloc(context, count, sizeof *(block)), (block) != NULL)

static bool reserve_sequences(struct linnet_batch *b, size_t count) {
  if (count <= b->sequence_capacity)
    return true;
  size_t n = count + count / 2 + 1;
  bool good = REPLACE(b->context, b->offsets, n) && REPLACE(b->context, b->labels, n) &&
              REPLACE(b->context, b->num_labels, n) && REPLACE(b->context, b->targets, n) &&
              REPLACE(b->context, b->slots, n) && REPLACE(b->context, b->frames, n) &&
              REPLACE(b->context, b->status, n) && REPLACE(b->context, b->not_finite, n);
  for (int l = 0; l < LINNET_NUM_LOSSES; l++)
    good = good && REPLACE(b->context, b->losses[l], n);
  b->sequence_capacity = good ? n - 1 : 0;
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

static bool reserve_targets(struct linnet_batch *b, size_t frames) {
  const size_t count = frames + frames / 3 + 1;
  if (!b->targeted || frames <= b->target_capacity)
    return true;
  b->target_capacity = REPLACE(b->context, b->raw_targets, count) ? count : 0;
  return b->target_capacity > 0;
}

static bool reserve_masks(struct linnet_batch *b, size_t sequences) {
  size_t count;
  if (!linnet_mul_size(sequences, b->num_masks, &count))
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

/* Limits a mask to its utterance. A mask that covers the last frame also covers the copies of it that stacking
 * appends. */
static void fit_mask(const struct linnet_config *config, size_t frames, struct linnet_feature_mask *m) {
  m->first_channel = linnet_min_size(m->first_channel, config->input_dim);
  m->num_channels = linnet_min_size(m->num_channels, config->input_dim - m->first_channel);
  m->first_frame = linnet_min_size(m->first_frame, frames);
  m->num_frames = linnet_min_size(m->num_frames, frames - m->first_frame);
  if (m->num_frames > 0 && m->first_frame + m->num_frames == frames)
    m->num_frames = linnet_stacked_frames(config, frames) * config->stack - m->first_frame;
}

static void load_masks(const struct loading *l, size_t i, size_t view) {
  const struct linnet_batch *b = l->batch;
  struct linnet_feature_mask *masks = b->masks + (i * b->views + view) * b->num_masks;
  memset(masks, 0, b->num_masks * sizeof *masks);
  l->corpus->masks(l->corpus->user, b->utterances[i], l->epoch, (unsigned)view, b->frames[i], masks);
  for (size_t m = 0; m < b->num_masks; m++)
    fit_mask(b->config, b->frames[i], &masks[m]);
}

/* Reads the features of utterance i, and those for a teacher. */
static enum linnet_status read_features(const struct loading *l, struct linnet_context *context, size_t i) {
  struct linnet_batch *b = l->batch;
  const struct linnet_corpus *corpus = l->corpus;
  const size_t capacity = b->slots[i + 1] - b->slots[i];
  float *own = b->raw + b->slots[i] * b->config->input_dim;
  LINNET_TRY(b->taught
                 ? corpus->both_features(corpus->user, context, b->utterances[i], l->epoch, own,
                                         own + b->slots[b->end] * b->config->input_dim, capacity, &b->frames[i])
                 : corpus->features(corpus->user, context, b->utterances[i], l->epoch, own, capacity, &b->frames[i]));
  return b->frames[i] <= capacity
             ? LINNET_OK
             : linnet_fail(context, LINNET_ERROR_ARGUMENT,
                           "utterance %s: has %zu frames, more than the %zu that its length at the start allows",
                           corpus->id(corpus->user, b->utterances[i]), b->frames[i], capacity);
}

enum linnet_status linnet_batch_read_targets(const struct linnet_config *config, const struct linnet_corpus *corpus,
                                             struct linnet_context *context, size_t utterance, uint64_t epoch,
                                             size_t frames, int *targets) {
  corpus->targets(corpus->user, utterance, epoch, frames, targets);
  for (size_t t = 0; t < frames; t++)
    if (targets[t] < 0 || (size_t)targets[t] >= config->outputs)
      return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                         "utterance %s: the target %d of frame %zu is out of range; it must be 0 to %zu",
                         corpus->id(corpus->user, utterance), targets[t], t, config->outputs - 1);
  return LINNET_OK;
}

static enum linnet_status read_targets(const struct loading *l, struct linnet_context *context, size_t i) {
  const struct linnet_batch *b = l->batch;
  return linnet_batch_read_targets(b->config, l->corpus, context, b->utterances[i], l->epoch, b->frames[i],
                                   b->raw_targets + b->slots[i]);
}

static void load_utterance(void *user, size_t task, unsigned worker) {
  const struct loading *l = user;
  struct linnet_batch *b = l->batch;
  const size_t i = b->begin + task;
  struct linnet_context *context = l->contexts ? l->contexts[worker] : b->context;
  b->frames[i] = 0;
  b->status[i] = read_features(l, context, i);
  if (b->targeted && b->status[i] == LINNET_OK)
    b->status[i] = read_targets(l, context, i);
  for (size_t v = 0; v < b->views && b->status[i] == LINNET_OK && b->num_masks > 0; v++)
    load_masks(l, i, v);
}

/* A row has the target of the frame in its middle. */
static void stack_targets(struct linnet_batch *b, size_t i) {
  const size_t frames = b->frames[i], stack = b->config->stack, rows = linnet_stacked_frames(b->config, frames);
  int *targets = b->raw_targets + b->slots[i];
  for (size_t r = 0; r < rows; r++)
    targets[r] = targets[linnet_min_size(r * stack + stack / 2, frames - 1)];
  for (size_t v = 0; v < b->views; v++)
    b->targets[i * b->views + v] = targets;
}

static void stack_utterance(void *user, size_t task, unsigned worker) {
  struct linnet_batch *b = user;
  const size_t i = b->begin + task, first = i * b->views;
  const float *raw = b->raw + b->slots[i] * b->config->input_dim;
  (void)worker;
  for (size_t s = first; s < first + b->views && b->frames[i] > 0; s++)
    linnet_stack_frames(b->config, raw, b->frames[i], linnet_batch_features(b, s));
  if (b->taught && b->frames[i] > 0)
    linnet_stack_frames(b->config, raw + b->slots[b->end] * b->config->input_dim, b->frames[i],
                        linnet_batch_teacher_features(b, i));
  if (b->targeted)
    stack_targets(b, i);
}

static void for_each(struct linnet_batch *b, struct linnet_context *const *contexts, linnet_task_fn body, void *user) {
  size_t count = b->end - b->begin;
  if (contexts)
    linnet_parallel(b->context, count, body, user);
  for (size_t i = 0; !contexts && i < count; i++)
    body(user, i, 0);
}

/* Finds the first utterance that failed, and loads its features again: the error message of its worker may be that of a
 * later utterance. */
static enum linnet_status check_loaded(struct linnet_batch *b, struct loading *l) {
  for (size_t i = b->begin; i < b->end; i++) {
    if (b->status[i] == LINNET_OK)
      continue;
    if (b->status[i] == LINNET_ERROR_CANCELLED)
      return linnet_fail(b->context, b->status[i], "cancelled");
    struct loading again = *l;
    again.contexts = NULL;
    load_utterance(&again, i - b->begin, 0);
    if (b->status[i] != LINNET_OK)
      return b->status[i];
  }
  return LINNET_OK;
}

static void locate(struct linnet_batch *b, const struct linnet_corpus *corpus, const size_t *nominal, uint64_t epoch) {
  const size_t extra = epoch > 0 ? corpus->extra_frames : 0;
  b->slots[b->begin] = 0;
  for (size_t i = b->begin; i < b->end; i++) {
    size_t u = b->utterances[i];
    b->slots[i + 1] = b->slots[i] + nominal[u] + nominal[u] / 4 + 8 + extra;
  }
  for (size_t s = 0; s < b->count; s++)
    b->labels[s] = corpus->labels(corpus->user, b->utterances[s / b->views], &b->num_labels[s]);
}

/* The packed sequences in output frames. */
static void lay_out(struct linnet_batch *b) {
  b->offsets[0] = 0;
  for (size_t s = 0; s < b->count; s++)
    b->offsets[s + 1] = b->offsets[s] + linnet_stacked_frames(b->config, b->frames[s / b->views]);
}

/* Utterances begin ... end - 1 of a batch. */
struct part {
  size_t begin, end;
};

/* Divides a batch, and returns this rank's part of it. */
static struct part divide(const struct linnet_batch *b, const size_t *utterances, size_t count, const size_t *nominal,
                          struct linnet_shards *shards) {
  const struct linnet_network network = {linnet_device_of(b->context), b->config, NULL};
  const size_t self = linnet_ranks_self(b->ranks);
  linnet_shards_divide(&network, b->num_shards, utterances, count, nominal, shards);
  return (struct part){shards->starts[linnet_shards_first(shards, b->ranks, self)],
                       shards->starts[linnet_shards_first(shards, b->ranks, self + 1)]};
}

static enum linnet_status out_of_memory(const struct linnet_batch *b, size_t frames) {
  return linnet_fail(b->context, LINNET_ERROR_MEMORY, "out of memory for a batch of %zu frames", frames);
}

static size_t own_rows(const struct linnet_batch *b) {
  size_t rows = 0;
  for (size_t i = b->begin; i < b->end; i++)
    rows += (b->views + b->taught) * linnet_stacked_frames(b->config, b->frames[i]);
  return rows;
}

/* Loads what this rank computes. */
static enum linnet_status load_own(struct linnet_batch *b, const struct linnet_corpus *corpus, const size_t *nominal,
                                   uint64_t epoch, struct linnet_context *const *contexts) {
  const size_t count = b->count / b->views;
  b->num_masks = epoch > 0 ? corpus->num_masks : 0;
  if (!reserve_sequences(b, b->count))
    return linnet_fail(b->context, LINNET_ERROR_MEMORY, "out of memory for a batch of %zu utterances", count);
  if (!reserve_masks(b, b->count))
    return linnet_fail(b->context, LINNET_ERROR_MEMORY, "out of memory for the masks of %zu utterances", count);
  locate(b, corpus, nominal, epoch);
  if (!reserve_raw(b, (1 + b->taught) * b->slots[b->end]) || !reserve_targets(b, b->slots[b->end]))
    return out_of_memory(b, b->slots[b->end]);
  struct loading loading = {b, corpus, epoch, contexts};
  for_each(b, contexts, load_utterance, &loading);
  LINNET_TRY(check_loaded(b, &loading));
  return reserve_features(b, own_rows(b) * b->config->stack) ? LINNET_OK : out_of_memory(b, b->slots[b->end]);
}

static enum linnet_status gather_frames(struct linnet_batch *b) {
  for (size_t r = 0; b->ranks && r <= linnet_ranks_count(b->ranks); r++)
    b->ranks->offsets[r] = linnet_batch_first(b, r) / b->views * sizeof *b->frames;
  return b->ranks ? linnet_ranks_gather(b->ranks, b->frames) : LINNET_OK;
}

enum linnet_status linnet_batch_load(struct linnet_batch *b, const struct linnet_corpus *corpus,
                                     const size_t *utterances, size_t count, const size_t *nominal, uint64_t epoch,
                                     struct linnet_context *const *contexts) {
  b->count = count * b->views;
  b->utterances = utterances;
  const struct part part = divide(b, utterances, count, nominal, &b->shards);
  b->begin = part.begin;
  b->end = part.end;
  enum linnet_status status = load_own(b, corpus, nominal, epoch, contexts);
  LINNET_TRY(b->ranks ? linnet_ranks_agree(b->ranks, status) : status);
  LINNET_TRY(gather_frames(b));
  lay_out(b);
  for_each(b, contexts, stack_utterance, b);
  return LINNET_OK;
}

size_t linnet_batch_utterances(const struct linnet_batch *b) {
  return b->count / b->views;
}

real *linnet_batch_features(const struct linnet_batch *b, size_t s) {
  size_t rows = b->offsets[s] - b->offsets[b->begin * b->views];
  return b->features + rows * b->config->stack * b->config->input_dim;
}

real *linnet_batch_teacher_features(const struct linnet_batch *b, size_t i) {
  const size_t rows = (b->offsets[i * b->views] - b->offsets[b->begin * b->views]) / b->views;
  return linnet_batch_features(b, b->end * b->views) + rows * b->config->stack * b->config->input_dim;
}

size_t linnet_batch_first(const struct linnet_batch *b, size_t r) {
  return b->shards.starts[linnet_shards_first(&b->shards, b->ranks, r)] * b->views;
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

/* --- reading ahead ------------------------------------------------------------------------------------------------ */

enum { PREFETCHED = 8 }; /* batches between the announcement and the use */

/* Announces what this rank reads of a batch. */
static void announce(const struct linnet_batch *b, const struct linnet_corpus *corpus, const size_t *utterances,
                     size_t count, const size_t *nominal, uint64_t epoch) {
  struct linnet_shards shards;
  const struct part part = divide(b, utterances, count, nominal, &shards);
  if (part.begin < part.end)
    corpus->prefetch(corpus->user, utterances + part.begin, part.end - part.begin, epoch);
}

void linnet_batch_prefetch(const struct linnet_batch *b, const struct linnet_batches *batches,
                           const struct linnet_corpus *corpus, const size_t *nominal, size_t step, bool first,
                           uint64_t epoch) {
  const size_t begin = first ? step : step + PREFETCHED, end = linnet_min_size(step + PREFETCHED + 1, batches->batches);
  for (size_t i = begin; corpus->prefetch && i < end; i++)
    announce(b, corpus, batches->order + batches->starts[i], batches->starts[i + 1] - batches->starts[i], nominal,
             epoch);
}
