#include "train/gradient.h"

#include <math.h>
#include <string.h>

enum { PARAMETER_BLOCK = 65536 }; /* elements that one task sums or updates */

enum linnet_status linnet_gradient_create(struct linnet_context *context, const struct linnet_network *network,
                                          struct linnet_worker *workers, struct linnet_gradient *gradient) {
  *gradient = (struct linnet_gradient){.context = context, .network = network, .workers = workers};
  gradient->partial = linnet_alloc(context, network->parameters->size / PARAMETER_BLOCK + 1, sizeof *gradient->partial);
  return gradient->partial ? LINNET_OK : linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for gradients");
}

void linnet_gradient_release(struct linnet_gradient *gradient) {
  for (size_t i = 0; i < LINNET_MAX_SHARDS; i++)
    linnet_free(gradient->context, gradient->shards[i]);
  linnet_free(gradient->context, gradient->partial);
  *gradient = (struct linnet_gradient){0};
}

/* --- shards ------------------------------------------------------------------------------------------------------- */

struct step {
  struct linnet_gradient *gradient;
  const real *weights;
  struct linnet_batch *batch;
  uint64_t seed;
  uint32_t step;
  double scale;
  size_t shards;
  size_t starts[LINNET_MAX_SHARDS + 1]; /* utterances of the batch */
  size_t order[LINNET_MAX_SHARDS];      /* in which shards are worked on */
  enum linnet_status status[LINNET_MAX_SHARDS];
  unsigned worker[LINNET_MAX_SHARDS];
};

/* An even number of shards, so that two threads share them evenly, of about `aim` rows each. */
static size_t shard_count(size_t rows, size_t aim) {
  size_t count = (rows + aim) / (2 * aim) * 2;
  return count < 2 ? 2 : count > LINNET_MAX_SHARDS ? LINNET_MAX_SHARDS : count;
}

/* A shard gets the utterances whose middle lies in its part of the rows; a part without any gives no shard, but there
 * is one at least. */
static void cut_shards(struct step *step) {
  const struct linnet_batch *batch = step->batch;
  size_t rows = batch->offsets[batch->count], u = 0;
  size_t parts = shard_count(rows, linnet_network_shard_rows(step->gradient->network));
  for (size_t part = 1; part <= parts; part++) {
    size_t end = rows * part / parts, first = u;
    while (u < batch->count && (part == parts || (batch->offsets[u] + batch->offsets[u + 1]) / 2 < end))
      u++;
    if (u > first || (part == parts && step->shards == 0))
      step->starts[++step->shards] = u;
  }
}

static size_t shard_rows(const struct step *step, size_t s) {
  return step->batch->offsets[step->starts[s + 1]] - step->batch->offsets[step->starts[s]];
}

/* Longest shards first, which leaves threads idle least at the end; the sum is in the order of the batch all the
 * same. */
static void order_shards(struct step *step) {
  for (size_t s = 0; s < step->shards; s++) {
    size_t at = s;
    for (; at > 0 && shard_rows(step, step->order[at - 1]) < shard_rows(step, s); at--)
      step->order[at] = step->order[at - 1];
    step->order[at] = s;
  }
}

static enum linnet_status shard_losses(const struct step *step, struct linnet_worker *worker, size_t begin,
                                       size_t end) {
  const struct linnet_network *network = step->gradient->network;
  struct linnet_batch *batch = step->batch;
  for (size_t i = begin; i < end; i++)
    LINNET_TRY(linnet_worker_ctc(worker, network, batch, i, batch->offsets[begin], step->scale, true, &batch->loss[i]));
  return LINNET_OK;
}

static enum linnet_status run_shard(struct step *step, size_t s, struct linnet_worker *worker, real *gradient) {
  const struct linnet_network *network = step->gradient->network;
  const struct linnet_batch *batch = step->batch;
  size_t begin = step->starts[s], end = step->starts[s + 1], first = batch->offsets[begin];
  size_t *offsets = linnet_alloc(worker->context, end - begin + 1, sizeof *offsets);
  if (!offsets)
    return linnet_fail(worker->context, LINNET_ERROR_MEMORY, "out of memory for a shard");
  for (size_t i = begin; i <= end; i++)
    offsets[i - begin] = batch->offsets[i] - first;
  struct linnet_shard shard = {.pack = {end - begin, offsets},
                               .features =
                                   batch->features + first * network->config->stack * network->config->input_dim,
                               .dropout = network->config->dropout,
                               .seed = step->seed,
                               .step = step->step,
                               .first_row = first};
  struct linnet_pass *pass = NULL;
  enum linnet_status status = linnet_worker_forward(worker, network, step->weights, &shard, &pass);
  if (status == LINNET_OK)
    status = shard_losses(step, worker, begin, end);
  if (status == LINNET_OK)
    linnet_network_backward(pass, worker->logits, gradient);
  linnet_free(worker->context, offsets);
  return status;
}

static void task_shard(void *user, size_t task, unsigned worker) {
  struct step *step = user;
  size_t s = step->order[task];
  real *gradient = step->gradient->shards[s];
  memset(gradient, 0, step->gradient->network->parameters->size * sizeof *gradient);
  step->worker[s] = worker;
  step->status[s] = run_shard(step, s, &step->gradient->workers[worker], gradient);
}

static enum linnet_status reserve_shards(struct linnet_gradient *g, size_t count) {
  for (size_t s = 0; s < count; s++) {
    if (!g->shards[s])
      g->shards[s] = linnet_alloc(g->context, g->network->parameters->size, sizeof(real));
    if (!g->shards[s])
      return linnet_fail(g->context, LINNET_ERROR_MEMORY, "out of memory for %zu gradients", count);
  }
  return LINNET_OK;
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

static size_t block_length(const struct linnet_gradient *g, size_t block) {
  size_t left = g->network->parameters->size - block * PARAMETER_BLOCK;
  return left < PARAMETER_BLOCK ? left : PARAMETER_BLOCK;
}

static size_t block_count(const struct linnet_gradient *g) {
  return (g->network->parameters->size + PARAMETER_BLOCK - 1) / PARAMETER_BLOCK;
}

static void task_sum(void *user, size_t block, unsigned worker) {
  struct step *step = user;
  struct linnet_gradient *g = step->gradient;
  const struct linnet_ops *ops = g->network->ops;
  size_t start = block * PARAMETER_BLOCK, n = block_length(g, block);
  (void)worker;
  for (size_t s = 1; s < step->shards; s++)
    ops->add(n, g->shards[s] + start, g->shards[0] + start);
  g->partial[block] = ops->sum_of_squares(n, g->shards[0] + start);
}

/* The labels of feasible utterances. */
static size_t count_labels(const struct linnet_batch *batch) {
  size_t labels = 0;
  for (size_t i = 0; i < batch->count; i++)
    labels += linnet_batch_feasible(batch, i) ? batch->num_labels[i] : 0;
  return labels;
}

static enum linnet_status collect(const struct step *step, struct linnet_gradient_result *result) {
  const struct linnet_batch *batch = step->batch;
  const struct linnet_gradient *g = step->gradient;
  double squares = 0;
  for (size_t i = 0; i < batch->count; i++)
    if (batch->loss[i] == INFINITY)
      result->infeasible++;
    else
      result->loss += batch->loss[i];
  for (size_t b = 0; b < block_count(g); b++)
    squares += g->partial[b];
  result->norm = sqrt(squares);
  if (isfinite(result->loss) && isfinite(result->norm))
    return LINNET_OK;
  return linnet_fail(g->context, LINNET_ERROR_NUMERIC, "%s is not finite",
                     isfinite(result->loss) ? "the gradient" : "the loss");
}

enum linnet_status linnet_gradient_compute(struct linnet_gradient *g, const real *weights, struct linnet_batch *batch,
                                           uint64_t seed, uint32_t step_number, struct linnet_gradient_result *result) {
  size_t labels = count_labels(batch);
  struct step step = {.gradient = g,
                      .weights = weights,
                      .batch = batch,
                      .seed = seed,
                      .step = step_number,
                      .scale = 1 / (double)(labels > 0 ? labels : 1)};
  *result = (struct linnet_gradient_result){.labels = labels};
  cut_shards(&step);
  order_shards(&step);
  LINNET_TRY(reserve_shards(g, step.shards));
  linnet_parallel(g->context, step.shards, task_shard, &step);
  for (size_t s = 0; s < step.shards; s++)
    if (step.status[s] != LINNET_OK) {
      linnet_copy_error(g->context, g->workers[step.worker[s]].context);
      return step.status[s];
    }
  linnet_parallel(g->context, block_count(g), task_sum, &step);
  return collect(&step, result);
}

/* --- update ------------------------------------------------------------------------------------------------------- */

struct update {
  struct linnet_gradient *gradient;
  const struct linnet_update *update;
  real *weights, *moment1, *moment2;
};

static void task_update(void *user, size_t block, unsigned worker) {
  const struct update *u = user;
  size_t start = block * PARAMETER_BLOCK;
  (void)worker;
  u->gradient->network->ops->update(u->update, block_length(u->gradient, block), u->weights + start,
                                    u->gradient->shards[0] + start, u->moment1 + start, u->moment2 + start);
}

void linnet_gradient_update(struct linnet_gradient *g, const struct linnet_update *update, real *weights, real *moment1,
                            real *moment2) {
  struct update u = {g, update, weights, moment1, moment2};
  linnet_parallel(g->context, block_count(g), task_update, &u);
}
