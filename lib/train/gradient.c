/* One optimiser step over a batch: the work of its threads, and the sum of their gradients. */
#include "train/gradient.h"

#include <math.h>

#include "base/numbers.h"
#include "train/staging.h"

/* --- threads ------------------------------------------------------------------------------------------------------ */

static enum linnet_status worker_create(struct linnet_context *context, const struct linnet_network *network,
                                        struct linnet_worker *worker) {
  enum linnet_status status = linnet_context_share(context, &worker->context);
  if (status != LINNET_OK)
    return linnet_fail(context, status, "out of memory for a context handle");
  status = linnet_pass_create(worker->context, network, &worker->pass);
  return status == LINNET_OK ? status : linnet_fail(context, status, "%s", linnet_context_error(worker->context));
}

enum linnet_status linnet_workers_create(struct linnet_context *context, const struct linnet_network *network,
                                         struct linnet_worker **result) {
  unsigned threads = linnet_context_num_threads(context);
  struct linnet_worker *workers = *result = linnet_calloc(context, threads, sizeof *workers);
  if (!workers)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for %u training threads", threads);
  enum linnet_status status = LINNET_OK;
  for (unsigned i = 0; status == LINNET_OK && i < threads; i++)
    status = worker_create(context, network, &workers[i]);
  if (status != LINNET_OK) {
    linnet_workers_destroy(context, workers);
    *result = NULL;
  }
  return status;
}

void linnet_workers_destroy(struct linnet_context *context, struct linnet_worker *workers) {
  struct linnet_device *device = linnet_device_of(context);
  for (unsigned i = 0; workers && i < linnet_context_num_threads(context); i++) {
    struct linnet_worker *w = &workers[i];
    void *blocks[] = {w->memory.data, w->logits.data, w->ctc_work.data, w->dlogits.data, w->denominator_work.data};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
      device->ops->free(device, blocks[b]);
    for (int l = 0; l < LINNET_NUM_LOSSES; l++)
      device->ops->free(device, w->losses[l].data);
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

/* The message counts input frames (before stacking) of one view, as batch_frames does. */
enum linnet_status linnet_worker_reserve(struct linnet_worker *worker, const struct linnet_network *network,
                                         const struct linnet_shard *shard, struct linnet_device_buffer *buffer,
                                         size_t bytes) {
  struct linnet_device *device = network->device;
  if (linnet_device_reserve(device, buffer, bytes))
    return LINNET_OK;
  size_t views = linnet_max_size(shard->views, 1);
  size_t frames = linnet_shard_frames(shard) / views * network->config->stack;
  if (shard->pack.sequences <= views)
    return linnet_fail(worker->context, LINNET_ERROR_MEMORY,
                       "out of memory for an utterance of %zu frames (%zu MB): divide it, or remove it", frames,
                       bytes >> 20);
  if (device->ops->host)
    return linnet_fail(worker->context, LINNET_ERROR_MEMORY,
                       "out of memory for %zu MB of activations: use smaller batches (batch_frames)", bytes >> 20);
  size_t free = device->ops->free_bytes(device);
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
  LINNET_TRY(linnet_worker_reserve(worker, network, shard, &worker->memory, bytes));
  LINNET_TRY(
      linnet_worker_reserve(worker, network, shard, &worker->logits, frames * network->config->outputs * sizeof(real)));
  linnet_pass_forward(worker->pass, weights, shard, worker->memory.data, worker->memory.bytes, worker->logits.data);
  return LINNET_OK;
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

enum linnet_status linnet_gradient_create(struct linnet_context *context, const struct linnet_network *network,
                                          struct linnet_worker *workers, struct linnet_gradient *gradient) {
  *gradient = (struct linnet_gradient){
      .context = context, .network = network, .workers = workers, .weights = {[LINNET_LOSS_CTC] = 1}};
  return linnet_gradient_prepare_sum(gradient);
}

void linnet_gradient_set_intermediate(struct linnet_gradient *gradient, size_t layer, double weight) {
  gradient->weights[LINNET_LOSS_INTERMEDIATE] = layer > 0 ? weight : 0;
  for (unsigned i = 0; i < linnet_context_num_threads(gradient->context); i++)
    linnet_pass_set_intermediate(gradient->workers[i].pass, weight > 0 ? layer : 0);
}

void linnet_gradient_release(struct linnet_gradient *gradient) {
  struct linnet_device *device = gradient->network ? gradient->network->device : NULL;
  for (size_t i = 0; device && i < LINNET_MAX_SHARDS; i++)
    device->ops->free(device, gradient->shards[i]);
  if (device)
    linnet_gradient_release_sum(gradient);
  *gradient = (struct linnet_gradient){0};
}

/* --- shards ------------------------------------------------------------------------------------------------------- */

struct step {
  struct linnet_gradient *gradient;
  const real *weights;
  struct linnet_batch *batch;
  uint64_t seed;
  uint32_t step;
  struct linnet_reduction *reduction; /* NULL with one rank */
  double factors[LINNET_NUM_LOSSES];  /* as in struct linnet_loss_task */
  size_t first;                       /* shard of this rank */
  size_t count;                       /* shards of this rank that have utterances */
  size_t order[LINNET_MAX_SHARDS];    /* in which they are processed */
  enum linnet_status status[LINNET_MAX_SHARDS];
  unsigned worker[LINNET_MAX_SHARDS];
};

/* The first sequence of a shard. */
static size_t first_of(const struct step *step, size_t s) {
  return step->batch->shards.starts[s] * step->batch->views;
}

static size_t shard_rows(const struct step *step, size_t s) {
  return step->batch->offsets[first_of(step, s + 1)] - step->batch->offsets[first_of(step, s)];
}

/* Longest shards first, so that threads are idle for the shortest time at the end. */
static void order_shards(struct step *step) {
  const struct linnet_batch *batch = step->batch;
  const struct linnet_ranks *ranks = batch->ranks;
  size_t self = linnet_ranks_self(ranks), end = linnet_shards_first(&batch->shards, ranks, self + 1);
  step->first = linnet_shards_first(&batch->shards, ranks, self);
  for (size_t s = step->first; s < end; s++) {
    if (linnet_shard_empty(&batch->shards, s))
      continue;
    size_t at = step->count++;
    for (; at > 0 && shard_rows(step, step->order[at - 1]) < shard_rows(step, s); at--)
      step->order[at] = step->order[at - 1];
    step->order[at] = s;
  }
}

/* Forward, losses and backward of the sequences that lie at `host`, the first of which is sequence `begin` of the
 * batch. */
static enum linnet_status run_batch(const struct step *step, struct linnet_worker *worker,
                                    const struct linnet_host_batch *host, size_t begin,
                                    struct linnet_reduction_shard *reduced, real *gradient) {
  const struct linnet_network *network = step->gradient->network;
  struct linnet_device *device = network->device;
  struct linnet_batch *batch = step->batch;
  real *dlogits;
  struct linnet_shard shard = {.pack = host->pack,
                               .views = batch->views,
                               .dropout = network->config->dropout,
                               .seed = step->seed,
                               .step = step->step,
                               .first_row = batch->offsets[begin],
                               .passed = reduced->reduction ? linnet_reduction_passed : NULL,
                               .passed_user = reduced};
  LINNET_TRY(device->ops->upload_batch(device, worker->context, host, &shard.features));
  device->ops->spec_augment(device, &shard.pack, &host->masks, shard.features);
  LINNET_TRY(linnet_worker_forward(worker, network, step->weights, &shard));
  const struct linnet_loss_task losses = {step->gradient, worker, &shard, host, batch, begin, step->factors};
  LINNET_TRY(linnet_losses_compute(&losses, &dlogits));
  linnet_pass_backward(worker->pass, dlogits, gradient);
  return LINNET_OK;
}

/* The same for `count` sequences of the batch. */
static enum linnet_status run_sequences(const struct step *step, size_t begin, size_t count,
                                        struct linnet_worker *worker, struct linnet_reduction_shard *reduced,
                                        real *gradient) {
  const struct linnet_batch *batch = step->batch;
  const size_t first = batch->offsets[begin], columns = batch->config->stack * batch->config->input_dim;
  size_t *offsets = linnet_alloc(worker->context, count + 1, sizeof *offsets);
  if (!offsets)
    return linnet_fail(worker->context, LINNET_ERROR_MEMORY, "out of memory for a shard");
  for (size_t i = 0; i <= count; i++)
    offsets[i] = batch->offsets[begin + i] - first;
  struct linnet_host_batch host = {.pack = {count, offsets},
                                   .features = linnet_batch_features(batch, begin),
                                   .columns = columns,
                                   .labels = batch->labels + begin,
                                   .num_labels = batch->num_labels + begin,
                                   .masks = linnet_batch_masks(batch, begin)};
  enum linnet_status status = run_batch(step, worker, &host, begin, reduced, gradient);
  linnet_free(worker->context, offsets);
  return status;
}

static enum linnet_status run_shard(const struct step *step, size_t s, struct linnet_worker *worker,
                                    struct linnet_reduction_shard *reduced, real *gradient) {
  const size_t begin = first_of(step, s);
  struct linnet_device *device = step->gradient->network->device;
  if (s != step->order[0]) /* a device may still read the memory of the last upload */
    LINNET_TRY(device->ops->wait(device, worker->context));
  return run_sequences(step, begin, first_of(step, s + 1) - begin, worker, reduced, gradient);
}

static void task_shard(void *user, size_t task, unsigned worker) {
  struct step *step = user;
  const struct linnet_network *network = step->gradient->network;
  size_t s = step->order[task];
  real *gradient = step->gradient->shards[s - step->first];
  struct linnet_reduction_shard reduced = linnet_reduction_shard(step->reduction);
  step->worker[s] = worker;
  network->device->ops->zero(network->device, gradient, network->parameters->size * sizeof *gradient);
  step->status[s] = linnet_poll_check(step->gradient->workers[worker].context);
  if (step->status[s] == LINNET_OK)
    step->status[s] = run_shard(step, s, &step->gradient->workers[worker], &reduced, gradient);
  if (step->reduction)
    linnet_reduction_passed(&reduced, 0);
}

static enum linnet_status reserve_shard(struct linnet_gradient *g, size_t i) {
  struct linnet_device *device = g->network->device;
  if (!g->shards[i])
    g->shards[i] = device->ops->alloc(device, g->network->parameters->size * sizeof(real));
  return g->shards[i] ? LINNET_OK : linnet_fail(g->context, LINNET_ERROR_MEMORY, "out of memory for gradients");
}

enum linnet_status linnet_gradient_reserve(struct linnet_gradient *g, size_t count) {
  for (size_t i = 0; i < count; i++)
    LINNET_TRY(reserve_shard(g, i));
  return LINNET_OK;
}

static enum linnet_status reserve_memory(const struct step *step) {
  struct linnet_gradient *g = step->gradient;
  if (linnet_ranks_count(g->ranks) > 1)
    return linnet_gradient_reserve_sum(g, &step->batch->shards);
  for (size_t i = 0; i < step->count; i++)
    LINNET_TRY(reserve_shard(g, step->order[i]));
  return LINNET_OK;
}

/* --- the step ------------------------------------------------------------------------------------------------------
 */

/* The labels of feasible sequences. */
static size_t count_labels(const struct linnet_batch *batch) {
  size_t labels = 0;
  for (size_t i = 0; i < batch->count; i++)
    labels += linnet_batch_feasible(batch, i) ? batch->num_labels[i] : 0;
  return labels;
}

/* The first failure in the order of the shards. */
static enum linnet_status check_shards(const struct step *step) {
  const struct linnet_gradient *g = step->gradient;
  for (size_t i = 0; i < step->count; i++) {
    size_t s = step->order[i];
    if (step->status[s] != LINNET_OK) {
      linnet_copy_error(g->context, g->workers[step->worker[s]].context);
      return step->status[s];
    }
  }
  return LINNET_OK;
}

/* The shards of this rank, and with several ranks the sums over all. */
static enum linnet_status run_shards(struct step *step) {
  struct linnet_gradient *g = step->gradient;
  struct linnet_ranks *ranks = g->ranks;
  struct linnet_reduction reduction;
  if (linnet_ranks_count(ranks) == 1) {
    linnet_workers_run(g->context, g->network, step->count, task_shard, step);
    return check_shards(step);
  }
  if (g->staging) {
    linnet_workers_run(g->context, g->network, step->count, task_shard, step);
    enum linnet_status status = check_shards(step);
    if (g->queued)
      g->queued(g->queued_user);
    return linnet_staging_sum(g, &step->batch->shards, status);
  }
  step->reduction = &reduction;
  linnet_reduction_begin(&reduction, g, &step->batch->shards, step->count);
  linnet_workers_run(g->context, g->network, step->count, task_shard, step);
  LINNET_TRY(linnet_reduction_finish(&reduction));
  return linnet_ranks_agree(ranks, check_shards(step));
}

/* Those of all ranks. */
static enum linnet_status gather_losses(const struct step *step) {
  struct linnet_batch *batch = step->batch;
  struct linnet_ranks *ranks = batch->ranks;
  for (int l = 0; ranks && l < LINNET_NUM_LOSSES; l++) {
    if (l != LINNET_LOSS_CTC && step->factors[l] == 0)
      continue;
    for (size_t r = 0; r <= linnet_ranks_count(ranks); r++)
      ranks->offsets[r] = linnet_batch_first(batch, r) / (linnet_losses[l].of_pairs ? 2 : 1) * sizeof(double);
    LINNET_TRY(linnet_ranks_gather(ranks, batch->losses[l]));
  }
  return LINNET_OK;
}

/* Whether a batch has a value of this loss. Without labels only CTC and its relatives say something. */
static bool has_loss(const struct linnet_gradient *g, enum linnet_loss l, size_t labels) {
  return l == LINNET_LOSS_CTC || (g->weights[l] > 0 && (labels > 0 || linnet_losses[l].needs_alignment));
}

/* `labels` are those of all sequences, so that the gradient of two views is the mean of theirs. */
static void set_factors(struct step *step, size_t labels) {
  const struct linnet_gradient *g = step->gradient;
  const double scale = 1 / (double)(labels > 0 ? labels : 1);
  for (int l = 0; l < LINNET_NUM_LOSSES; l++)
    if (has_loss(g, (enum linnet_loss)l, labels))
      step->factors[l] = g->weights[l] * (linnet_losses[l].of_pairs ? 2 : 1) * scale;
}

enum linnet_status linnet_gradient_compute(struct linnet_gradient *g, const real *weights, struct linnet_batch *batch,
                                           uint64_t seed, uint32_t step_number) {
  struct step step = {.gradient = g, .weights = weights, .batch = batch, .seed = seed, .step = step_number};
  set_factors(&step, count_labels(batch));
  order_shards(&step);
  LINNET_TRY(reserve_memory(&step));
  LINNET_TRY(run_shards(&step));
  LINNET_TRY(gather_losses(&step));
  return linnet_gradient_sum(g, batch);
}

static size_t count_infeasible(const struct linnet_batch *batch) {
  size_t count = 0;
  for (size_t i = 0; i < batch->count; i++)
    count += !linnet_batch_feasible(batch, i);
  return count / batch->views;
}

/* Of the sequence, or pair, i; 0 for one without an alignment. */
static double loss_of(const struct linnet_batch *batch, enum linnet_loss l, size_t i) {
  return linnet_losses[l].needs_alignment && !linnet_batch_feasible(batch, i) ? 0 : batch->losses[l][i];
}

/* Over the sequences, or pairs, of a batch: the mean of the views. */
static double sum_loss(const struct linnet_batch *batch, enum linnet_loss l) {
  const bool of_pairs = linnet_losses[l].of_pairs;
  const size_t count = of_pairs ? batch->count / 2 : batch->count;
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += loss_of(batch, l, i);
  return of_pairs ? sum : sum / (double)batch->views;
}

/* Whether each loss of utterance i that needs no alignment, or has one, is finite. */
static bool has_finite_losses(const struct linnet_gradient *g, const struct linnet_batch *batch, size_t i) {
  const size_t labels = count_labels(batch) / batch->views;
  bool finite = true;
  for (int l = 0; l < LINNET_NUM_LOSSES; l++) {
    const size_t values = linnet_losses[l].of_pairs ? 1 : batch->views;
    for (size_t v = 0; v < values && has_loss(g, (enum linnet_loss)l, labels); v++)
      finite = finite && isfinite(loss_of(batch, (enum linnet_loss)l, i * values + v));
  }
  return finite;
}

enum linnet_status linnet_gradient_finish(struct linnet_gradient *g, const struct linnet_batch *batch,
                                          struct linnet_gradient_result *result) {
  enum linnet_status waited = g->network->device->ops->wait(g->network->device, g->context);
  LINNET_TRY(g->staging ? linnet_ranks_agree(g->ranks, waited) : waited);
  *result = (struct linnet_gradient_result){
      .labels = count_labels(batch) / batch->views, .infeasible = count_infeasible(batch), .norm = sqrt(g->total)};
  bool finite = true;
  for (int l = 0; l < LINNET_NUM_LOSSES; l++) {
    if (has_loss(g, (enum linnet_loss)l, result->labels))
      result->losses[l] = sum_loss(batch, (enum linnet_loss)l);
    finite = finite && isfinite(result->losses[l]);
  }
  if (finite && isfinite(result->norm))
    return LINNET_OK;
  return linnet_fail(g->context, LINNET_ERROR_NUMERIC, "%s is not finite", finite ? "the gradient" : "the loss");
}

/* --- what is not finite ------------------------------------------------------------------------------------------- */

static bool find_losses(const struct linnet_gradient *g, struct linnet_batch *batch) {
  bool found = false;
  for (size_t i = 0; i < linnet_batch_utterances(batch); i++) {
    batch->not_finite[i] = !has_finite_losses(g, batch, i);
    found = found || batch->not_finite[i];
  }
  return found;
}

/* Computes the gradient of utterance i in the memory of that of a shard. */
static enum linnet_status check_utterance(const struct step *step, size_t i) {
  struct linnet_gradient *g = step->gradient;
  struct linnet_device *device = g->network->device;
  struct linnet_worker *worker = &g->workers[0];
  const size_t size = g->network->parameters->size, views = step->batch->views;
  struct linnet_reduction_shard alone = linnet_reduction_shard(NULL);
  device->ops->zero(device, g->shards[0], size * sizeof(real));
  LINNET_TRY(run_sequences(step, i * views, views, worker, &alone, g->shards[0]));
  device->ops->sum_of_squares(device, size, g->shards[0], g->squares);
  device->ops->download(device, &g->total, g->squares, sizeof g->total);
  LINNET_TRY(device->ops->wait(device, worker->context));
  step->batch->not_finite[i] = !isfinite(g->total);
  return linnet_poll_check(worker->context);
}

/* The utterances of this rank, then those of all. */
static enum linnet_status find_gradients(const struct step *step) {
  struct linnet_gradient *g = step->gradient;
  struct linnet_batch *batch = step->batch;
  enum linnet_status status = reserve_shard(g, 0);
  for (size_t i = batch->begin; status == LINNET_OK && i < batch->end; i++)
    status = check_utterance(step, i);
  if (linnet_ranks_count(batch->ranks) == 1)
    return status;
  LINNET_TRY(linnet_ranks_agree(batch->ranks, status));
  for (size_t r = 0; r <= linnet_ranks_count(batch->ranks); r++)
    batch->ranks->offsets[r] = linnet_batch_first(batch, r) / batch->views;
  return linnet_ranks_gather(batch->ranks, batch->not_finite);
}

enum linnet_status linnet_gradient_find_not_finite(struct linnet_gradient *g, const real *weights,
                                                   struct linnet_batch *batch, uint64_t seed, uint32_t step_number,
                                                   const char **what) {
  struct step step = {.gradient = g, .weights = weights, .batch = batch, .seed = seed, .step = step_number};
  *what = "a loss";
  if (find_losses(g, batch))
    return LINNET_OK;
  *what = NULL;
  set_factors(&step, count_labels(batch));
  LINNET_TRY(find_gradients(&step));
  for (size_t i = 0; i < linnet_batch_utterances(batch); i++)
    if (batch->not_finite[i])
      *what = "a gradient";
  return LINNET_OK;
}
