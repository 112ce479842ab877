/* Sums the gradients of shards as a tree, over all ranks, and updates the weights. */
#include <string.h>

#include "base/numbers.h"
#include "train/gradient.h"

/* Blocks must not depend on the number of ranks: sums of squares are rounded at their ends. */
enum { PARAMETER_BLOCK = 8192 };

static size_t block_count(const struct linnet_gradient *g) {
  return linnet_divide_up(g->network->parameters->size, g->block);
}

static size_t block_length(const struct linnet_gradient *g, size_t block) {
  return linnet_min_size(g->network->parameters->size - block * g->block, g->block);
}

static size_t first_block(const struct linnet_gradient *g, size_t r) {
  return linnet_ranks_first(g->ranks, block_count(g), r);
}

size_t linnet_gradient_first(const struct linnet_gradient *g, size_t r) {
  return linnet_min_size(first_block(g, r) * g->block, g->network->parameters->size);
}

static size_t own_first(const struct linnet_gradient *g) {
  return linnet_gradient_first(g, linnet_ranks_self(g->ranks));
}

static size_t own_count(const struct linnet_gradient *g) {
  return linnet_gradient_first(g, linnet_ranks_self(g->ranks) + 1) - own_first(g);
}

enum linnet_status linnet_gradient_prepare_sum(struct linnet_gradient *g) {
  struct linnet_device *device = g->network->device;
  g->block = device->ops->host ? PARAMETER_BLOCK : g->network->parameters->size;
  g->squares = device->ops->alloc(device, block_count(g) * sizeof *g->squares);
  return g->squares ? LINNET_OK : linnet_fail(g->context, LINNET_ERROR_MEMORY, "out of memory for gradients");
}

void linnet_gradient_release_sum(struct linnet_gradient *g) {
  struct linnet_device *device = g->network->device;
  device->ops->free(device, g->squares);
  device->ops->free(device, g->received.data);
  device->ops->free(device, g->sent.data);
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

/* A sum over shards s ... s + L - 1, with L a power of two that divides s, is a node of the tree. nodes[s] is where it
 * lies, NULL if there is none: all its shards are empty, or it is part of another node. */
struct tree {
  struct linnet_gradient *gradient;
  size_t begin, end; /* the shards that are summed now; other nodes are not set */
  size_t first;      /* the parameter at which nodes begin */
  real *nodes[LINNET_MAX_SHARDS];
};

static void round_values(size_t n, real *x) {
  for (size_t i = 0; i < n; i++) {
    uint32_t bits = (uint32_t)linnet_bfloat16_bits((float)x[i]) << 16;
    float rounded;
    memcpy(&rounded, &bits, sizeof rounded);
    x[i] = (real)rounded;
  }
}

/* Adds n numbers from `start` on. Pairs of nodes whose distance is `distance`. */
static void sum_level(const struct tree *t, size_t distance, size_t start, size_t n) {
  struct linnet_device *device = t->gradient->network->device;
  size_t s = linnet_round_up(t->begin, 2 * distance);
  for (; s + 2 * distance <= t->end; s += 2 * distance) {
    real *left = t->nodes[s], *right = t->nodes[s + distance];
    if (!left || !right)
      continue;
    device->ops->add(device, n, right + start, left + start);
    if (t->gradient->rounded)
      round_values(n, left + start);
  }
}

/* What sum_level leaves. */
static void merge_level(struct tree *t, size_t distance) {
  size_t s = linnet_round_up(t->begin, 2 * distance);
  for (; s + 2 * distance <= t->end; s += 2 * distance) {
    if (!t->nodes[s])
      t->nodes[s] = t->nodes[s + distance];
    t->nodes[s + distance] = NULL;
  }
}

/* All levels for one block of parameters; the nodes of other blocks are at the same addresses. */
static void sum_block(const struct tree *t, size_t block) {
  struct tree own = *t;
  size_t start = block * t->gradient->block - t->first, n = block_length(t->gradient, block);
  for (size_t distance = 1; distance < LINNET_MAX_SHARDS; distance *= 2) {
    sum_level(&own, distance, start, n);
    merge_level(&own, distance);
  }
}

static void merge(struct tree *t) {
  for (size_t distance = 1; distance < LINNET_MAX_SHARDS; distance *= 2)
    merge_level(t, distance);
}

static void task_own_shards(void *user, size_t block, unsigned worker) {
  const struct tree *t = user;
  struct linnet_gradient *g = t->gradient;
  (void)worker;
  for (size_t s = t->begin; g->rounded && s < t->end; s++)
    if (t->nodes[s])
      round_values(block_length(g, block), t->nodes[s] + block * g->block);
  sum_block(t, block);
}

/* The shards of rank r; node s begins as `gradients[s]`, or if that is NULL, as any address. */
static void begin_tree(struct linnet_gradient *g, const struct linnet_batch *batch, size_t r, real *const *gradients,
                       struct tree *t) {
  t->gradient = g;
  t->begin = linnet_shards_first(&batch->shards, g->ranks, r);
  t->end = linnet_shards_first(&batch->shards, g->ranks, r + 1);
  t->first = 0;
  for (size_t s = t->begin; s < t->end; s++) {
    real *node = gradients ? gradients[s] : (real *)g;
    t->nodes[s] = linnet_shard_empty(&batch->shards, s) ? NULL : node;
  }
}

/* Sums within the shards of this rank. */
static void sum_own_shards(struct linnet_gradient *g, const struct linnet_batch *batch, struct tree *t) {
  begin_tree(g, batch, linnet_ranks_self(g->ranks), g->shards, t);
  linnet_workers_run(g->context, g->network, block_count(g), task_own_shards, t);
  merge(t);
}

/* --- between ranks ------------------------------------------------------------------------------------------------ */

/* A rank of 2^k has one node, and at most two for each level of the tree otherwise. */
enum { MAX_NODES = 24 };

struct node_list {
  size_t count, shards[MAX_NODES];
};

/* The nodes that rank r has after summing within its shards. */
static void list_nodes(struct linnet_gradient *g, const struct linnet_batch *batch, size_t r, struct node_list *list) {
  struct tree t;
  begin_tree(g, batch, r, NULL, &t);
  merge(&t);
  list->count = 0;
  for (size_t s = t.begin; s < t.end; s++)
    if (t.nodes[s])
      list->shards[list->count++] = s;
}

/* One exchange: each rank sends its node number `index`; ranks with fewer nodes send nothing. */
struct exchange {
  struct linnet_gradient *gradient;
  size_t *send, *receive;  /* offsets of linnet_ranks_exchange */
  struct node_list *lists; /* (ranks) */
  size_t bytes;            /* of a number on the way */
};

static void create_exchange(struct linnet_gradient *g, const struct linnet_batch *batch, struct exchange *e) {
  size_t count = linnet_ranks_count(g->ranks);
  *e = (struct exchange){.gradient = g, .bytes = g->rounded ? sizeof(uint16_t) : sizeof(real)};
  e->send = linnet_calloc(g->context, count + 1, sizeof *e->send);
  e->receive = linnet_calloc(g->context, count + 1, sizeof *e->receive);
  e->lists = linnet_calloc(g->context, count, sizeof *e->lists);
  for (size_t r = 0; e->lists && r < count; r++)
    list_nodes(g, batch, r, &e->lists[r]);
}

static void release_exchange(const struct exchange *e) {
  linnet_free(e->gradient->context, e->send);
  linnet_free(e->gradient->context, e->receive);
  linnet_free(e->gradient->context, e->lists);
}

static size_t most_nodes(const struct exchange *e) {
  size_t most = 0;
  for (size_t r = 0; r < linnet_ranks_count(e->gradient->ranks); r++)
    most = linnet_max_size(most, e->lists[r].count);
  return most;
}

/* A received number takes the space of a real, as it is expanded in place. */
static bool reserve_exchange(const struct exchange *e) {
  struct linnet_gradient *g = e->gradient;
  size_t nodes = most_nodes(e) * (linnet_ranks_count(g->ranks) - 1);
  return e->send && e->receive && e->lists &&
         linnet_device_reserve(g->network->device, &g->received, nodes * own_count(g) * sizeof(real)) &&
         (!g->rounded ||
          linnet_device_reserve(g->network->device, &g->sent, g->network->parameters->size * sizeof(uint16_t)));
}

static void fill_offsets(const struct exchange *e, size_t index) {
  const struct linnet_gradient *g = e->gradient;
  size_t self = linnet_ranks_self(g->ranks), part = own_count(g) * e->bytes;
  for (size_t r = 0; r < linnet_ranks_count(g->ranks); r++) {
    e->send[r + 1] = index < e->lists[self].count ? linnet_gradient_first(g, r + 1) * e->bytes : 0;
    e->receive[r + 1] = e->receive[r] + (r != self && index < e->lists[r].count ? part : 0);
  }
}

static void task_pack(void *user, size_t block, unsigned worker) {
  struct linnet_gradient *g = user;
  size_t start = block * g->block, n = block_length(g, block);
  uint16_t *to = (uint16_t *)g->sent.data + start;
  (void)worker;
  for (size_t i = 0; i < n; i++)
    to[i] = linnet_bfloat16_bits((float)g->sum[start + i]);
}

/* What is sent of a node. */
static const void *packed(struct linnet_gradient *g, real *node) {
  if (!g->rounded)
    return node;
  g->sum = node;
  linnet_workers_run(g->context, g->network, block_count(g), task_pack, g);
  return g->sent.data;
}

/* From the last number to the first, because the halves lie at the beginning of the reals. */
static void expand(size_t n, real *x) {
  const unsigned char *halves = (const unsigned char *)x;
  for (size_t i = n; i-- > 0;) {
    uint16_t half;
    memcpy(&half, halves + i * sizeof half, sizeof half);
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    x[i] = (real)value;
  }
}

/* Exchanges the nodes number `index`, and puts those that come into the tree. `received` has space for them. */
static enum linnet_status exchange_nodes(const struct exchange *e, size_t index, const struct tree *own, real *received,
                                         struct tree *t) {
  struct linnet_gradient *g = e->gradient;
  const struct node_list *list = &e->lists[linnet_ranks_self(g->ranks)];
  const void *send = index < list->count ? packed(g, own->nodes[list->shards[index]]) : received;
  fill_offsets(e, index);
  LINNET_TRY(linnet_ranks_exchange(g->ranks, send, e->send, received, e->receive));
  if (g->rounded)
    expand(e->receive[linnet_ranks_count(g->ranks)] / e->bytes, received);
  for (size_t r = 0; r < linnet_ranks_count(g->ranks); r++)
    if (e->receive[r + 1] > e->receive[r])
      t->nodes[e->lists[r].shards[index]] = received + e->receive[r] / e->bytes;
  return LINNET_OK;
}

/* The nodes of all ranks, at the parameters of this one. */
static enum linnet_status exchange_all(const struct exchange *e, const struct tree *own, struct tree *t) {
  struct linnet_gradient *g = e->gradient;
  size_t first = own_first(g), stride = (linnet_ranks_count(g->ranks) - 1) * own_count(g);
  real *received = g->received.data;
  for (size_t s = 0; s < t->end; s++)
    t->nodes[s] = s >= own->begin && s < own->end && own->nodes[s] ? own->nodes[s] + first : NULL;
  for (size_t index = 0; index < most_nodes(e); index++)
    LINNET_TRY(exchange_nodes(e, index, own, received + index * stride, t));
  return LINNET_OK;
}

static enum linnet_status sum_between_ranks(struct linnet_gradient *g, const struct linnet_batch *batch,
                                            const struct tree *own, struct tree *t) {
  struct exchange e;
  create_exchange(g, batch, &e);
  enum linnet_status status = LINNET_OK;
  if (!reserve_exchange(&e))
    status = linnet_fail(g->context, LINNET_ERROR_MEMORY, "out of memory for the gradients of other ranks");
  status = linnet_ranks_agree(g->ranks, status);
  if (status == LINNET_OK)
    status = exchange_all(&e, own, t);
  release_exchange(&e);
  return status;
}

/* --- squares ------------------------------------------------------------------------------------------------------ */

static void task_rest(void *user, size_t task, unsigned worker) {
  const struct tree *t = user;
  struct linnet_gradient *g = t->gradient;
  struct linnet_device *device = g->network->device;
  size_t block = first_block(g, linnet_ranks_self(g->ranks)) + task, n = block_length(g, block);
  (void)worker;
  sum_block(t, block);
  device->ops->sum_of_squares(device, n, g->sum + block * g->block - own_first(g), &g->squares[block]);
}

/* Only the CPU has more than one block. */
static enum linnet_status sum_squares(struct linnet_gradient *g) {
  struct linnet_device *device = g->network->device;
  for (size_t r = 0; g->ranks && r <= linnet_ranks_count(g->ranks); r++)
    g->ranks->offsets[r] = first_block(g, r) * sizeof *g->squares;
  LINNET_TRY(g->ranks ? linnet_ranks_gather(g->ranks, g->squares) : LINNET_OK);
  for (size_t b = 1; b < block_count(g); b++)
    g->squares[0] += g->squares[b];
  device->ops->download(device, &g->total, g->squares, sizeof g->total);
  return LINNET_OK;
}

/* Completes the tree for the parameters of this rank; begins with all its nodes. */
static enum linnet_status sum_rest(struct linnet_gradient *g, struct tree *t) {
  struct tree merged = *t;
  size_t self = linnet_ranks_self(g->ranks);
  merge(&merged);
  g->sum = merged.nodes[0];
  linnet_workers_run(g->context, g->network, first_block(g, self + 1) - first_block(g, self), task_rest, t);
  return sum_squares(g);
}

enum linnet_status linnet_gradient_sum(struct linnet_gradient *g, const struct linnet_batch *batch) {
  struct tree own, all = {.gradient = g, .end = batch->shards.count, .first = own_first(g)};
  sum_own_shards(g, batch, &own);
  if (linnet_ranks_count(g->ranks) == 1)
    return sum_rest(g, &own);
  LINNET_TRY(sum_between_ranks(g, batch, &own, &all));
  return sum_rest(g, &all);
}

/* --- update ------------------------------------------------------------------------------------------------------- */

struct update {
  struct linnet_gradient *gradient;
  const struct linnet_update *terms;
  double clip;
  real *weights, *moment1, *moment2;
};

static void task_update(void *user, size_t task, unsigned worker) {
  const struct update *u = user;
  const struct linnet_gradient *g = u->gradient;
  struct linnet_device *device = g->network->device;
  size_t block = first_block(g, linnet_ranks_self(g->ranks)) + task, start = block * g->block;
  (void)worker;
  const struct linnet_update_arrays arrays = {.n = block_length(g, block),
                                              .parameters = u->weights + start,
                                              .gradients = g->sum + start - own_first(g),
                                              .m = u->moment1 + start,
                                              .v = u->moment2 + start};
  device->ops->update(device, u->terms, u->clip, g->squares, &arrays);
}

enum linnet_status linnet_gradient_gather(const struct linnet_gradient *g, real *vector) {
  for (size_t r = 0; g->ranks && r <= linnet_ranks_count(g->ranks); r++)
    g->ranks->offsets[r] = linnet_gradient_first(g, r) * sizeof *vector;
  return g->ranks ? linnet_ranks_gather(g->ranks, vector) : LINNET_OK;
}

enum linnet_status linnet_gradient_update(struct linnet_gradient *g, const struct linnet_update *terms, double clip,
                                          real *weights, real *moment1, real *moment2) {
  struct update u = {g, terms, clip, weights, moment1, moment2};
  size_t self = linnet_ranks_self(g->ranks);
  linnet_workers_run(g->context, g->network, first_block(g, self + 1) - first_block(g, self), task_update, &u);
  return linnet_gradient_gather(g, weights);
}
