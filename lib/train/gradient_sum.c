/* Sums the gradients of shards as a tree, over all ranks, and updates the weights. */
#include "base/numbers.h"
#include "train/staging.h"

/* Blocks must not depend on the number of ranks: sums of squares are rounded at their ends. */
enum { PARAMETER_BLOCK = 8192 };

enum linnet_status linnet_gradient_prepare_sum(struct linnet_gradient *g) {
  struct linnet_device *device = g->network->device;
  const size_t size = g->network->parameters->size;
  g->division = (struct linnet_division){
      .size = size, .block = device->ops->host ? PARAMETER_BLOCK : size, .buckets = 1, .num_ranks = 1};
  g->squares = device->ops->alloc(device, linnet_division_blocks(&g->division) * sizeof *g->squares);
  return g->squares ? LINNET_OK : linnet_fail(g->context, LINNET_ERROR_MEMORY, "out of memory for gradients");
}

enum linnet_status linnet_gradient_join(struct linnet_gradient *g, struct linnet_ranks *ranks, bool rounded) {
  g->ranks = ranks;
  g->rounded = rounded;
  if (linnet_ranks_count(ranks) == 1)
    return LINNET_OK;
  if (!g->network->device->ops->host)
    return linnet_staging_create(g);
  g->division.rank = linnet_ranks_self(ranks);
  g->division.num_ranks = linnet_ranks_count(ranks);
  g->division.buckets = linnet_division_choose_buckets(&g->division);
  LINNET_TRY(linnet_exchange_create(g->context, g->network, &g->division, ranks, &g->exchange));
  g->exchange.rounded = rounded;
  return linnet_gradient_reserve(g, 1);
}

enum linnet_status linnet_gradient_reserve_sum(struct linnet_gradient *g, const struct linnet_shards *shards) {
  struct linnet_gradient *nodes = g->staging ? &g->staging->nodes : NULL;
  struct linnet_exchange *exchange = nodes ? &nodes->exchange : &g->exchange;
  const size_t self = linnet_ranks_self(g->ranks);
  if (!linnet_exchange_begin(exchange, shards))
    return LINNET_OK;
  enum linnet_status status = linnet_gradient_reserve(g, linnet_shards_first(shards, g->ranks, self + 1) -
                                                             linnet_shards_first(shards, g->ranks, self));
  if (status == LINNET_OK && nodes && !linnet_staging_linked(g))
    status = linnet_gradient_reserve(nodes, exchange->lists[self].count);
  return linnet_ranks_agree(g->ranks, status == LINNET_OK ? linnet_exchange_reserve(exchange, shards) : status);
}

void linnet_gradient_release_sum(struct linnet_gradient *g) {
  struct linnet_device *device = g->network->device;
  device->ops->free(device, g->squares);
  linnet_exchange_release(&g->exchange);
  linnet_staging_destroy(g->staging);
}

/* --- one bucket --------------------------------------------------------------------------------------------------- */

/* The sum of a step. */
struct sum {
  struct linnet_gradient *gradient;
  const struct linnet_shard_tree *tree; /* that is summed now */
  size_t block;                         /* the first that is */
  size_t first;                         /* the parameter at which nodes of the tree begin */
};

static void task_own_shards(void *user, size_t task, unsigned worker) {
  const struct sum *sum = user;
  struct linnet_gradient *g = sum->gradient;
  struct linnet_device *device = g->network->device;
  const size_t block = sum->block + task, start = block * g->division.block;
  const size_t n = linnet_division_length(&g->division, block);
  (void)worker;
  for (size_t s = sum->tree->begin; g->rounded && s < sum->tree->end; s++)
    if (sum->tree->nodes[s])
      device->ops->round_bfloat16(device, n, sum->tree->nodes[s] + start);
  linnet_shard_tree_sum(sum->tree, device, g->rounded, start, n);
}

void linnet_gradient_sum_own(struct linnet_gradient *g, size_t bucket, const struct linnet_shard_tree *own) {
  struct sum sum = {g, own, linnet_division_first_block(&g->division, bucket, 0), 0};
  linnet_workers_run(g->context, g->network,
                     linnet_division_first_block(&g->division, bucket, g->division.num_ranks) - sum.block,
                     task_own_shards, &sum);
}

static void task_rest(void *user, size_t task, unsigned worker) {
  const struct sum *sum = user;
  struct linnet_gradient *g = sum->gradient;
  struct linnet_device *device = g->network->device;
  const size_t block = sum->block + task, start = block * g->division.block;
  const size_t n = linnet_division_length(&g->division, block);
  struct linnet_shard_tree merged = *sum->tree;
  (void)worker;
  linnet_shard_tree_sum(sum->tree, device, g->rounded, start - sum->first, n);
  linnet_shard_tree_merge(&merged);
  const real *result = merged.nodes[0] + start - sum->first;
  if (result != g->sum + start)
    device->ops->copy(device, g->sum + start, result, n * sizeof *result);
}

enum linnet_status linnet_gradient_exchange(struct linnet_gradient *g, size_t bucket,
                                            const struct linnet_shard_tree *own, struct linnet_shard_tree *all) {
  struct linnet_shard_tree merged = *own;
  linnet_shard_tree_merge(&merged);
  return linnet_exchange_bucket(&g->exchange, bucket, &merged, all);
}

void linnet_gradient_sum_rest(struct linnet_gradient *g, size_t bucket, const struct linnet_shard_tree *all) {
  const size_t self = g->division.rank;
  struct sum sum = {g, all, linnet_division_first_block(&g->division, bucket, self),
                    linnet_division_first(&g->division, bucket, self)};
  linnet_workers_run(g->context, g->network, linnet_division_first_block(&g->division, bucket, self + 1) - sum.block,
                     task_rest, &sum);
}

/* --- squares ------------------------------------------------------------------------------------------------------ */

static void task_square(void *user, size_t task, unsigned worker) {
  const struct linnet_gradient *g = user;
  struct linnet_device *device = g->network->device;
  const size_t block = linnet_division_own_block(&g->division, task);
  (void)worker;
  device->ops->sum_of_squares(device, linnet_division_length(&g->division, block), g->sum + block * g->division.block,
                              &g->squares[block]);
}

/* Only the CPU has more than one block. */
static enum linnet_status sum_squares(struct linnet_gradient *g) {
  struct linnet_device *device = g->network->device;
  linnet_workers_run(g->context, g->network, linnet_division_own_blocks(&g->division), task_square, g);
  LINNET_TRY(g->division.num_ranks > 1 ? linnet_exchange_squares(&g->exchange, g->squares) : LINNET_OK);
  for (size_t b = 1; b < linnet_division_blocks(&g->division); b++)
    g->squares[0] += g->squares[b];
  device->ops->download(device, &g->total, g->squares, sizeof g->total);
  return LINNET_OK;
}

enum linnet_status linnet_gradient_sum(struct linnet_gradient *g, const struct linnet_batch *batch) {
  if (linnet_ranks_count(g->ranks) == 1) {
    struct linnet_shard_tree own;
    linnet_shard_tree_begin(&batch->shards, g->ranks, g->division.rank, g->shards, &own);
    linnet_gradient_sum_own(g, 0, &own);
    linnet_shard_tree_merge(&own);
    g->sum = own.nodes[0];
  }
  return sum_squares(g);
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
  const size_t block = linnet_division_own_block(&g->division, task), start = block * g->division.block,
               own = task * g->division.block;
  (void)worker;
  const struct linnet_update_arrays arrays = {.n = linnet_division_length(&g->division, block),
                                              .parameters = u->weights + start,
                                              .gradients = g->sum + start,
                                              .m = u->moment1 + own,
                                              .v = u->moment2 + own};
  device->ops->update(device, u->terms, u->clip, g->squares, &arrays);
}

enum linnet_status linnet_gradient_gather(const struct linnet_gradient *g, real *vector) {
  const struct linnet_division *d = &g->division;
  for (size_t k = 0; d->num_ranks > 1 && k < d->buckets; k++) {
    real *bucket = vector + linnet_division_first(d, k, 0);
    for (size_t r = 0; r <= d->num_ranks; r++)
      g->ranks->offsets[r] = (linnet_division_first(d, k, r) - linnet_division_first(d, k, 0)) * sizeof *vector;
    LINNET_TRY(linnet_ranks_gather(g->ranks, bucket));
  }
  return LINNET_OK;
}

enum linnet_status linnet_gradient_update(struct linnet_gradient *g, const struct linnet_update *terms, double clip,
                                          real *weights, real *moment1, real *moment2) {
  struct update u = {g, terms, clip, weights, moment1, moment2};
  linnet_workers_run(g->context, g->network, linnet_division_own_blocks(&g->division), task_update, &u);
  return linnet_gradient_gather(g, weights);
}
