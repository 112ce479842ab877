/* One optimiser step over a batch: the work of its threads, and the sum of their gradients. */
#include "train/gradient.h"

#include <math.h>

#include "base/numbers.h"

/* --- threads ------------------------------------------------------------------------------------------------------ */

enum linnet_status linnet_workers_create(struct linnet_context *context, const struct linnet_network *network,
                                         struct linnet_worker **result) {
  unsigned threads = linnet_context_num_threads(context);
  struct linnet_worker *workers = *result = linnet_calloc(context, threads, sizeof *workers);
  enum linnet_status status = workers ? LINNET_OK : LINNET_ERROR_MEMORY;
  for (unsigned i = 0; status == LINNET_OK && i < threads; i++) {
    status = linnet_context_share(context, &workers[i].context);
    if (status == LINNET_OK)
      status = linnet_pass_create(workers[i].context, network, &workers[i].pass);
  }
  if (status == LINNET_OK)
    return LINNET_OK;
  linnet_workers_destroy(context, workers);
  *result = NULL;
  return linnet_fail(context, status, "out of memory for %u training threads", threads);
}

void linnet_workers_destroy(struct linnet_context *context, struct linnet_worker *workers) {
  struct linnet_device *device = linnet_device_of(context);
  for (unsigned i = 0; workers && i < linnet_context_num_threads(context); i++) {
    struct linnet_worker *w = &workers[i];
    void *blocks[] = {w->memory.data,   w->logits.data,  w->loss.data,
                      w->ctc_work.data, w->dlogits.data, w->consistency.data};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
      device->ops->free(device, blocks[b]);
    linnet_pass_destroy(w->pass);
    linnet_context_destroy(w->context);
  }
  linnet_free(context, workers);
}

void linnet_workers_run(struct linnet_context *context, const struct linnet_network *network, size_t tasks,
                        linnet_task_fn body, void *user) {
  if (network->device->ops->host) {
    linnet_parallel(context, tasks, body, user);
    return;
  }
  for (size_t task = 0; task < tasks; task++)
    body(user, task, 0);
}

/* On a device the message says how large a batch would fit, in input frames (before stacking) of one view, as
 * batch_frames counts them. */
static enum linnet_status reserve(struct linnet_worker *worker, const struct linnet_network *network,
                                  const struct linnet_shard *shard, struct linnet_device_buffer *buffer, size_t bytes) {
  struct linnet_device *device = network->device;
  if (linnet_device_reserve(device, buffer, bytes))
    return LINNET_OK;
  if (device->ops->host)
    return linnet_fail(worker->context, LINNET_ERROR_MEMORY,
                       "out of memory for %zu MB of activations: use smaller batches (batch_frames)", bytes >> 20);
  size_t free = device->ops->free_bytes(device), views = linnet_max_size(shard->views, 1);
  size_t frames = linnet_shard_frames(shard) / views * network->config->stack;
  double fitting = 0.8 * (double)frames * (double)free / (double)bytes;
  return linnet_fail(worker->context, LINNET_ERROR_MEMORY,
                     "%s: out of memory for a batch of %zu frames (%zu MB, %zu MB are free): about %.0f frames would "
                     "fit (batch_frames)",
                     device->name, frames, bytes >> 20, free >> 20, fitting);
}

enum linnet_status linnet_worker_forward(struct linnet_worker *worker, const struct linnet_network *network,
                                         const real *weights, const struct linnet_shard *shard) {
  size_t frames = linnet_shard_frames(shard);
  size_t bytes = linnet_pass_bytes(worker->pass, &shard->pack, shard->forward_only);
  LINNET_TRY(reserve(worker, network, shard, &worker->memory, bytes));
  LINNET_TRY(reserve(worker, network, shard, &worker->logits, frames * network->config->outputs * sizeof(real)));
  linnet_pass_forward(worker->pass, weights, shard, worker->memory.data, worker->memory.bytes, worker->logits.data);
  return LINNET_OK;
}

enum linnet_status linnet_worker_ctc(struct linnet_worker *worker, const struct linnet_network *network,
                                     const struct linnet_shard *shard, const int *const *labels,
                                     const size_t *num_labels, double scale, real *gradient) {
  struct linnet_device *device = network->device;
  struct linnet_batch_ctc c = {.pack = &shard->pack,
                               .symbols = network->config->outputs,
                               .labels = labels,
                               .num_labels = num_labels,
                               .logits = worker->logits.data,
                               .scale = (real)scale,
                               .gradient = gradient};
  LINNET_TRY(reserve(worker, network, shard, &worker->ctc_work, device->ops->ctc_work_bytes(device, &c)));
  LINNET_TRY(reserve(worker, network, shard, &worker->loss, shard->pack.sequences * sizeof *c.loss));
  c.loss = worker->loss.data;
  device->ops->ctc(device, &c, worker->ctc_work.data);
  return LINNET_OK;
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

enum { PARAMETER_BLOCK = 65536 };

static size_t block_count(const struct linnet_gradient *g) {
  return linnet_divide_up(g->network->parameters->size, g->block);
}

static size_t block_length(const struct linnet_gradient *g, size_t block) {
  size_t left = g->network->parameters->size - block * g->block;
  return left < g->block ? left : g->block;
}

enum linnet_status linnet_gradient_create(struct linnet_context *context, const struct linnet_network *network,
                                          struct linnet_worker *workers, struct linnet_gradient *gradient) {
  struct linnet_device *device = network->device;
  *gradient = (struct linnet_gradient){.context = context,
                                       .network = network,
                                       .workers = workers,
                                       .block = device->ops->host ? PARAMETER_BLOCK : network->parameters->size};
  gradient->squares = device->ops->alloc(device, block_count(gradient) * sizeof *gradient->squares);
  return gradient->squares ? LINNET_OK : linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for gradients");
}

void linnet_gradient_release(struct linnet_gradient *gradient) {
  struct linnet_device *device = gradient->network ? gradient->network->device : NULL;
  for (size_t i = 0; device && i < LINNET_MAX_SHARDS; i++)
    device->ops->free(device, gradient->shards[i]);
  if (device)
    device->ops->free(device, gradient->squares);
  *gradient = (struct linnet_gradient){0};
}

/* --- shards ------------------------------------------------------------------------------------------------------- */

struct step {
  struct linnet_gradient *gradient;
  const real *weights;
  struct linnet_batch *batch;
  uint64_t seed;
  uint32_t step;
  double scale, consistency; /* factors of the gradients of a sequence's CTC, and of a pair's consistency */
  size_t shards;
  size_t starts[LINNET_MAX_SHARDS + 1]; /* sequences of the batch */
  size_t order[LINNET_MAX_SHARDS];      /* in which shards are processed */
  enum linnet_status status[LINNET_MAX_SHARDS];
  unsigned worker[LINNET_MAX_SHARDS];
};

/* An even number of shards, so that two threads share them evenly, of about `aim` rows each. */
static size_t shard_count(size_t rows, size_t aim) {
  size_t count = (rows + aim) / (2 * aim) * 2;
  return count < 2 ? 2 : count > LINNET_MAX_SHARDS ? LINNET_MAX_SHARDS : count;
}

static size_t wanted_shards(const struct linnet_network *network, size_t rows) {
  return network->device->ops->host ? shard_count(rows, linnet_network_shard_rows(network)) : 1;
}

/* A shard gets the utterances whose middle is in its part of the rows, with all their views. A part without utterances
 * gives no shard, but there is at least one shard. */
static void cut_shards(struct step *step) {
  const struct linnet_batch *batch = step->batch;
  size_t rows = batch->offsets[batch->count], u = 0;
  size_t parts = wanted_shards(step->gradient->network, rows);
  for (size_t part = 1; part <= parts; part++) {
    size_t end = rows * part / parts, first = u;
    while (u < batch->count && (part == parts || (batch->offsets[u] + batch->offsets[u + batch->views]) / 2 < end))
      u += batch->views;
    if (u > first || (part == parts && step->shards == 0))
      step->starts[++step->shards] = u;
  }
}

static size_t shard_rows(const struct step *step, size_t s) {
  return step->batch->offsets[step->starts[s + 1]] - step->batch->offsets[step->starts[s]];
}

/* Longest shards first, so that threads are idle for the shortest time at the end. The gradients are still summed in
 * the order of the batch. */
static void order_shards(struct step *step) {
  for (size_t s = 0; s < step->shards; s++) {
    size_t at = s;
    for (; at > 0 && shard_rows(step, step->order[at - 1]) < shard_rows(step, s); at--)
      step->order[at] = step->order[at - 1];
    step->order[at] = s;
  }
}

/* Compares the views of a shard on the worker's logits: adds to the gradient (T, outputs), and copies the losses to the
 * batch. */
static enum linnet_status compare_views(const struct step *step, struct linnet_worker *worker,
                                        const struct linnet_shard *shard, size_t begin, real *gradient_add) {
  const struct linnet_network *network = step->gradient->network;
  struct linnet_device *device = network->device;
  size_t bytes = shard->pack.sequences / 2 * sizeof(double);
  LINNET_TRY(reserve(worker, network, shard, &worker->consistency, bytes));
  struct linnet_batch_consistency c = {.pack = &shard->pack,
                                       .symbols = network->config->outputs,
                                       .logits = worker->logits.data,
                                       .scale = (real)step->consistency,
                                       .gradient_add = gradient_add,
                                       .loss = worker->consistency.data};
  device->ops->consistency(device, &c);
  device->ops->download(device, step->batch->consistency + begin / 2, c.loss, bytes);
  return LINNET_OK;
}

/* The losses of a shard, whose first sequence is sequence `begin` of the batch, from the worker's logits. *gradient
 * becomes the gradient of the logits: in their memory, unless views are compared. */
static enum linnet_status compute_losses(const struct step *step, struct linnet_worker *worker,
                                         const struct linnet_shard *shard, const struct linnet_host_batch *host,
                                         size_t begin, real **gradient) {
  const struct linnet_network *network = step->gradient->network;
  struct linnet_device *device = network->device;
  struct linnet_batch *batch = step->batch;
  const bool compare = step->consistency > 0;
  if (compare)
    LINNET_TRY(reserve(worker, network, shard, &worker->dlogits, worker->logits.bytes));
  *gradient = compare ? worker->dlogits.data : worker->logits.data;
  LINNET_TRY(linnet_worker_ctc(worker, network, shard, host->labels, host->num_labels, step->scale, *gradient));
  device->ops->download(device, batch->loss + begin, worker->loss.data, host->pack.sequences * sizeof *batch->loss);
  return compare ? compare_views(step, worker, shard, begin, *gradient) : LINNET_OK;
}

/* Forward, losses and backward of the sequences that lie at `host`, the first of which is sequence `begin` of the
 * batch. */
static enum linnet_status run_batch(const struct step *step, struct linnet_worker *worker,
                                    const struct linnet_host_batch *host, size_t begin, real *gradient) {
  const struct linnet_network *network = step->gradient->network;
  struct linnet_device *device = network->device;
  struct linnet_batch *batch = step->batch;
  real *dlogits;
  struct linnet_shard shard = {.pack = host->pack,
                               .views = batch->views,
                               .dropout = network->config->dropout,
                               .seed = step->seed,
                               .step = step->step,
                               .first_row = batch->offsets[begin]};
  LINNET_TRY(device->ops->upload_batch(device, worker->context, host, &shard.features));
  device->ops->spec_augment(device, &shard.pack, &host->masks, shard.features);
  LINNET_TRY(linnet_worker_forward(worker, network, step->weights, &shard));
  LINNET_TRY(compute_losses(step, worker, &shard, host, begin, &dlogits));
  linnet_pass_backward(worker->pass, dlogits, gradient);
  return LINNET_OK;
}

static enum linnet_status run_shard(const struct step *step, size_t s, struct linnet_worker *worker, real *gradient) {
  const struct linnet_batch *batch = step->batch;
  size_t begin = step->starts[s], count = step->starts[s + 1] - begin, first = batch->offsets[begin];
  size_t columns = batch->config->stack * batch->config->input_dim;
  size_t *offsets = linnet_alloc(worker->context, count + 1, sizeof *offsets);
  if (!offsets)
    return linnet_fail(worker->context, LINNET_ERROR_MEMORY, "out of memory for a shard");
  for (size_t i = 0; i <= count; i++)
    offsets[i] = batch->offsets[begin + i] - first;
  struct linnet_host_batch host = {.pack = {count, offsets},
                                   .features = batch->features + first * columns,
                                   .columns = columns,
                                   .labels = batch->labels + begin,
                                   .num_labels = batch->num_labels + begin,
                                   .masks = linnet_batch_masks(batch, begin)};
  enum linnet_status status = run_batch(step, worker, &host, begin, gradient);
  linnet_free(worker->context, offsets);
  return status;
}

static void task_shard(void *user, size_t task, unsigned worker) {
  struct step *step = user;
  size_t s = step->order[task];
  step->worker[s] = worker;
  step->status[s] = linnet_poll_check(step->gradient->workers[worker].context);
  if (step->status[s] != LINNET_OK)
    return;
  const struct linnet_network *network = step->gradient->network;
  real *gradient = step->gradient->shards[s];
  network->device->ops->zero(network->device, gradient, network->parameters->size * sizeof *gradient);
  step->status[s] = run_shard(step, s, &step->gradient->workers[worker], gradient);
}

static enum linnet_status reserve_shards(struct linnet_gradient *g, size_t count) {
  struct linnet_device *device = g->network->device;
  for (size_t s = 0; s < count; s++) {
    if (!g->shards[s])
      g->shards[s] = device->ops->alloc(device, g->network->parameters->size * sizeof(real));
    if (!g->shards[s])
      return linnet_fail(g->context, LINNET_ERROR_MEMORY, "out of memory for %zu gradients", count);
  }
  return LINNET_OK;
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

static void task_sum(void *user, size_t block, unsigned worker) {
  struct step *step = user;
  struct linnet_gradient *g = step->gradient;
  struct linnet_device *device = g->network->device;
  size_t start = block * g->block, n = block_length(g, block);
  (void)worker;
  for (size_t s = 1; s < step->shards; s++)
    device->ops->add(device, n, g->shards[s] + start, g->shards[0] + start);
  device->ops->sum_of_squares(device, n, g->shards[0] + start, &g->squares[block]);
}

/* Only the CPU has more than one block. */
static void sum_squares(struct linnet_gradient *g) {
  struct linnet_device *device = g->network->device;
  for (size_t b = 1; b < block_count(g); b++)
    g->squares[0] += g->squares[b];
  device->ops->download(device, &g->total, g->squares, sizeof g->total);
}

/* The labels of feasible sequences. */
static size_t count_labels(const struct linnet_batch *batch) {
  size_t labels = 0;
  for (size_t i = 0; i < batch->count; i++)
    labels += linnet_batch_feasible(batch, i) ? batch->num_labels[i] : 0;
  return labels;
}

enum linnet_status linnet_gradient_compute(struct linnet_gradient *g, const real *weights, struct linnet_batch *batch,
                                           uint64_t seed, uint32_t step_number) {
  size_t labels = count_labels(batch);
  struct step step = {.gradient = g,
                      .weights = weights,
                      .batch = batch,
                      .seed = seed,
                      .step = step_number,
                      .scale = 1 / (double)(labels > 0 ? labels : 1)};
  if (batch->views == 2 && labels > 0)
    step.consistency = g->consistency * 2 * step.scale;
  cut_shards(&step);
  order_shards(&step);
  LINNET_TRY(reserve_shards(g, step.shards));
  linnet_workers_run(g->context, g->network, step.shards, task_shard, &step);
  for (size_t s = 0; s < step.shards; s++)
    if (step.status[s] != LINNET_OK) {
      linnet_copy_error(g->context, g->workers[step.worker[s]].context);
      return step.status[s];
    }
  linnet_workers_run(g->context, g->network, block_count(g), task_sum, &step);
  sum_squares(g);
  return LINNET_OK;
}

static void sum_losses(const struct linnet_gradient *g, const struct linnet_batch *batch,
                       struct linnet_gradient_result *result) {
  for (size_t i = 0; i < batch->count; i++)
    if (batch->loss[i] == INFINITY)
      result->infeasible++;
    else
      result->loss += batch->loss[i];
  result->loss /= (double)batch->views;
  result->infeasible /= batch->views;
  const bool compared = batch->views == 2 && g->consistency > 0 && result->labels > 0;
  for (size_t i = 0; compared && i < linnet_batch_utterances(batch); i++)
    result->consistency += batch->consistency[i];
}

enum linnet_status linnet_gradient_finish(struct linnet_gradient *g, const struct linnet_batch *batch,
                                          struct linnet_gradient_result *result) {
  LINNET_TRY(g->network->device->ops->wait(g->network->device, g->context));
  *result = (struct linnet_gradient_result){.labels = count_labels(batch) / batch->views, .norm = sqrt(g->total)};
  sum_losses(g, batch, result);
  const bool finite = isfinite(result->loss) && isfinite(result->consistency);
  if (finite && isfinite(result->norm))
    return LINNET_OK;
  return linnet_fail(g->context, LINNET_ERROR_NUMERIC, "%s is not finite", finite ? "the gradient" : "the loss");
}

/* --- update ------------------------------------------------------------------------------------------------------- */

struct update {
  struct linnet_gradient *gradient;
  const struct linnet_update *terms;
  double clip;
  real *weights, *moment1, *moment2;
};

static void task_update(void *user, size_t block, unsigned worker) {
  const struct update *u = user;
  const struct linnet_gradient *g = u->gradient;
  struct linnet_device *device = g->network->device;
  size_t start = block * g->block;
  (void)worker;
  const struct linnet_update_arrays arrays = {.n = block_length(g, block),
                                              .parameters = u->weights + start,
                                              .gradients = g->shards[0] + start,
                                              .m = u->moment1 + start,
                                              .v = u->moment2 + start};
  device->ops->update(device, u->terms, u->clip, g->squares, &arrays);
}

void linnet_gradient_update(struct linnet_gradient *g, const struct linnet_update *terms, double clip, real *weights,
                            real *moment1, real *moment2) {
  struct update u = {g, terms, clip, weights, moment1, moment2};
  linnet_workers_run(g->context, g->network, block_count(g), task_update, &u);
}
