/* One optimiser step over a batch: the work of its threads, and the sum of their gradients. */
#include "train/gradient.h"

#include <math.h>

#include "base/numbers.h"
#include "train/staging.h"

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
    void *blocks[] = {w->memory.data,       w->logits.data,       w->loss.data,         w->ctc_work.data,
                      w->dlogits.data,      w->consistency.data,  w->crf.data,          w->denominator_work.data,
                      w->distillation.data, w->intermediate.data, w->frame_targets.data};
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

/* CTC of a batch on the device; `loss` gets the losses. */
static enum linnet_status run_ctc(struct linnet_worker *worker, const struct linnet_network *network,
                                  const struct linnet_shard *shard, struct linnet_device_buffer *loss,
                                  struct linnet_batch_ctc *c) {
  struct linnet_device *device = network->device;
  LINNET_TRY(reserve(worker, network, shard, &worker->ctc_work, device->ops->ctc_work_bytes(device, c)));
  LINNET_TRY(reserve(worker, network, shard, loss, shard->pack.sequences * sizeof *c->loss));
  c->loss = loss->data;
  device->ops->ctc(device, c, worker->ctc_work.data);
  return LINNET_OK;
}

enum linnet_status linnet_worker_ctc(struct linnet_worker *worker, const struct linnet_network *network,
                                     const struct linnet_shard *shard, const int *const *labels,
                                     const size_t *num_labels, double scale, real *gradient) {
  struct linnet_batch_ctc c = {.pack = &shard->pack,
                               .symbols = network->config->outputs,
                               .labels = labels,
                               .num_labels = num_labels,
                               .logits = worker->logits.data,
                               .scale = (real)scale,
                               .gradient = gradient};
  return run_ctc(worker, network, shard, &worker->loss, &c);
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

enum linnet_status linnet_gradient_create(struct linnet_context *context, const struct linnet_network *network,
                                          struct linnet_worker *workers, struct linnet_gradient *gradient) {
  *gradient = (struct linnet_gradient){.context = context, .network = network, .workers = workers};
  return linnet_gradient_prepare_sum(gradient);
}

void linnet_gradient_set_intermediate(struct linnet_gradient *gradient, size_t layer, double weight) {
  gradient->intermediate = layer > 0;
  gradient->intermediate_weight = weight;
  for (unsigned i = 0; i < linnet_context_num_threads(gradient->context); i++)
    linnet_pass_set_intermediate(gradient->workers[i].pass, layer);
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
  double scale, consistency;          /* factors of the gradients of a sequence's CTC, and of a pair's consistency */
  double distillation, frame_targets; /* the same of a sequence's distillation, and of its frame targets */
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

/* The denominator of CTC-CRF on the worker's logits and losses of CTC: adds to the gradient (T, outputs), and copies
 * the losses to the batch. */
static enum linnet_status add_denominator(const struct step *step, struct linnet_worker *worker,
                                          const struct linnet_shard *shard, const struct linnet_host_batch *host,
                                          size_t begin, real *gradient_add) {
  const struct linnet_network *network = step->gradient->network;
  struct linnet_device *device = network->device;
  size_t bytes = shard->pack.sequences * sizeof(double);
  struct linnet_batch_denominator b = {.pack = &shard->pack,
                                       .graph = step->gradient->denominator,
                                       .labels = host->labels,
                                       .num_labels = host->num_labels,
                                       .logits = worker->logits.data,
                                       .ctc = worker->loss.data,
                                       .scale = (real)step->scale,
                                       .gradient_add = gradient_add};
  LINNET_TRY(reserve(worker, network, shard, &worker->crf, bytes));
  LINNET_TRY(
      reserve(worker, network, shard, &worker->denominator_work, device->ops->denominator_work_bytes(device, &b)));
  b.loss = worker->crf.data;
  device->ops->denominator(device, &b, worker->denominator_work.data);
  device->ops->download(device, step->batch->crf + begin, b.loss, bytes);
  return LINNET_OK;
}

/* Forward of the teacher over the utterances of a shard; its worker's logits get the result. */
static enum linnet_status run_teacher(const struct step *step, struct linnet_worker *worker,
                                      const struct linnet_shard *shard, size_t begin, struct linnet_worker *own) {
  const struct linnet_teacher *teacher = step->gradient->teacher;
  const size_t views = step->batch->views, count = shard->pack.sequences / views;
  size_t *offsets = linnet_alloc(worker->context, count + 1, sizeof *offsets);
  if (!offsets)
    return linnet_fail(worker->context, LINNET_ERROR_MEMORY, "out of memory for a shard");
  for (size_t i = 0; i <= count; i++)
    offsets[i] = shard->pack.offsets[i * views] / views;
  const struct linnet_shard utterances = {.pack = {count, offsets},
                                          .features = linnet_batch_teacher_features(step->batch, begin / views),
                                          .forward_only = true};
  enum linnet_status status = linnet_worker_forward(own, &teacher->network, teacher->weights, &utterances);
  if (status != LINNET_OK)
    linnet_copy_error(worker->context, own->context);
  linnet_free(worker->context, offsets);
  return status;
}

/* Compares the sequences of a shard on the worker's logits with the teacher: adds to the gradient (T, outputs), and
 * copies the losses to the batch. */
static enum linnet_status follow_teacher(const struct step *step, struct linnet_worker *worker,
                                         const struct linnet_shard *shard, size_t begin, real *gradient_add) {
  const struct linnet_gradient *g = step->gradient;
  struct linnet_device *device = g->network->device;
  struct linnet_worker *own = &g->teacher->workers[worker - g->workers];
  const size_t bytes = shard->pack.sequences * sizeof(double);
  LINNET_TRY(run_teacher(step, worker, shard, begin, own));
  LINNET_TRY(reserve(worker, g->network, shard, &worker->distillation, bytes));
  struct linnet_batch_distillation b = {.pack = &shard->pack,
                                        .views = step->batch->views,
                                        .symbols = g->network->config->outputs,
                                        .teacher = own->logits.data,
                                        .logits = worker->logits.data,
                                        .scale = (real)step->distillation,
                                        .gradient_add = gradient_add,
                                        .loss = worker->distillation.data};
  device->ops->distillation(device, &b);
  device->ops->download(device, step->batch->distillation + begin, b.loss, bytes);
  return LINNET_OK;
}

/* Compares the sequences of a shard on the worker's logits with their frame targets: adds to the gradient (T, outputs),
 * and copies the losses to the batch. */
static enum linnet_status follow_targets(const struct step *step, struct linnet_worker *worker,
                                         const struct linnet_shard *shard, size_t begin, real *gradient_add) {
  const struct linnet_network *network = step->gradient->network;
  struct linnet_device *device = network->device;
  const size_t bytes = shard->pack.sequences * sizeof(double);
  LINNET_TRY(reserve(worker, network, shard, &worker->frame_targets, bytes));
  struct linnet_batch_frame_targets b = {.pack = &shard->pack,
                                         .symbols = network->config->outputs,
                                         .targets = step->batch->targets + begin,
                                         .logits = worker->logits.data,
                                         .scale = (real)step->frame_targets,
                                         .gradient_add = gradient_add,
                                         .loss = worker->frame_targets.data};
  device->ops->frame_targets(device, &b);
  device->ops->download(device, step->batch->frame_targets + begin, b.loss, bytes);
  return LINNET_OK;
}

/* CTC on the logits of the intermediate output, which become their gradient; copies the losses to the batch. */
static enum linnet_status compute_intermediate(const struct step *step, struct linnet_worker *worker,
                                               const struct linnet_shard *shard, const struct linnet_host_batch *host,
                                               size_t begin) {
  const struct linnet_network *network = step->gradient->network;
  struct linnet_device *device = network->device;
  real *logits = linnet_pass_intermediate(worker->pass);
  struct linnet_batch_ctc c = {.pack = &shard->pack,
                               .symbols = network->config->outputs,
                               .labels = host->labels,
                               .num_labels = host->num_labels,
                               .logits = logits,
                               .scale = (real)(step->scale * step->gradient->intermediate_weight),
                               .gradient = logits};
  LINNET_TRY(run_ctc(worker, network, shard, &worker->intermediate, &c));
  device->ops->download(device, step->batch->intermediate + begin, c.loss, shard->pack.sequences * sizeof *c.loss);
  return LINNET_OK;
}

/* The losses of a shard, whose first sequence is sequence `begin` of the batch, from the worker's logits. *gradient
 * becomes the gradient of the logits: in their memory, unless there are losses besides CTC. */
static enum linnet_status compute_losses(const struct step *step, struct linnet_worker *worker,
                                         const struct linnet_shard *shard, const struct linnet_host_batch *host,
                                         size_t begin, real **gradient) {
  const struct linnet_network *network = step->gradient->network;
  struct linnet_device *device = network->device;
  struct linnet_batch *batch = step->batch;
  const struct linnet_denominator_graph *denominator = step->gradient->denominator;
  const bool compare = step->consistency > 0, follow = step->distillation > 0;
  const bool targeted = step->frame_targets > 0, beside = compare || follow || targeted || denominator;
  const double scale = denominator ? step->scale * (1 + step->gradient->ctc_weight) : step->scale;
  if (beside)
    LINNET_TRY(reserve(worker, network, shard, &worker->dlogits, worker->logits.bytes));
  *gradient = beside ? worker->dlogits.data : worker->logits.data;
  LINNET_TRY(linnet_worker_ctc(worker, network, shard, host->labels, host->num_labels, scale, *gradient));
  device->ops->download(device, batch->loss + begin, worker->loss.data, host->pack.sequences * sizeof *batch->loss);
  if (denominator)
    LINNET_TRY(add_denominator(step, worker, shard, host, begin, *gradient));
  if (follow)
    LINNET_TRY(follow_teacher(step, worker, shard, begin, *gradient));
  if (targeted)
    LINNET_TRY(follow_targets(step, worker, shard, begin, *gradient));
  return compare ? compare_views(step, worker, shard, begin, *gradient) : LINNET_OK;
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
  LINNET_TRY(compute_losses(step, worker, &shard, host, begin, &dlogits));
  if (step->gradient->intermediate)
    LINNET_TRY(compute_intermediate(step, worker, &shard, host, begin));
  linnet_pass_backward(worker->pass, dlogits, gradient);
  return LINNET_OK;
}

static enum linnet_status run_shard(const struct step *step, size_t s, struct linnet_worker *worker,
                                    struct linnet_reduction_shard *reduced, real *gradient) {
  const struct linnet_batch *batch = step->batch;
  size_t begin = first_of(step, s), count = first_of(step, s + 1) - begin, first = batch->offsets[begin];
  size_t columns = batch->config->stack * batch->config->input_dim;
  struct linnet_device *device = step->gradient->network->device;
  if (s != step->order[0]) /* a device may still read the memory of the last upload */
    LINNET_TRY(device->ops->wait(device, worker->context));
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
static enum linnet_status gather_losses(const struct linnet_gradient *g, struct linnet_batch *batch) {
  struct linnet_ranks *ranks = batch->ranks;
  for (size_t r = 0; ranks && r <= linnet_ranks_count(ranks); r++)
    ranks->offsets[r] = linnet_batch_first(batch, r) * sizeof *batch->loss;
  LINNET_TRY(ranks ? linnet_ranks_gather(ranks, batch->loss) : LINNET_OK);
  LINNET_TRY(ranks && g->denominator ? linnet_ranks_gather(ranks, batch->crf) : LINNET_OK);
  LINNET_TRY(ranks && g->intermediate ? linnet_ranks_gather(ranks, batch->intermediate) : LINNET_OK);
  LINNET_TRY(ranks && g->teacher ? linnet_ranks_gather(ranks, batch->distillation) : LINNET_OK);
  LINNET_TRY(ranks && g->frame_weight > 0 ? linnet_ranks_gather(ranks, batch->frame_targets) : LINNET_OK);
  for (size_t r = 0; ranks && r <= linnet_ranks_count(ranks); r++)
    ranks->offsets[r] = linnet_batch_first(batch, r) / 2 * sizeof *batch->consistency;
  return ranks && batch->views == 2 ? linnet_ranks_gather(ranks, batch->consistency) : LINNET_OK;
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
  if (g->teacher && labels > 0)
    step.distillation = g->teacher->weight * step.scale;
  step.frame_targets = labels > 0 ? g->frame_weight * step.scale : 0;
  order_shards(&step);
  LINNET_TRY(reserve_memory(&step));
  LINNET_TRY(run_shards(&step));
  LINNET_TRY(gather_losses(g, batch));
  return linnet_gradient_sum(g, batch);
}

static void sum_losses(const struct linnet_gradient *g, const struct linnet_batch *batch,
                       struct linnet_gradient_result *result) {
  for (size_t i = 0; i < batch->count; i++)
    if (batch->loss[i] == INFINITY)
      result->infeasible++;
    else {
      result->loss += batch->loss[i];
      result->crf += g->denominator ? batch->crf[i] : 0;
      result->intermediate += g->intermediate ? batch->intermediate[i] : 0;
    }
  result->loss /= (double)batch->views;
  result->crf /= (double)batch->views;
  result->intermediate /= (double)batch->views;
  result->infeasible /= batch->views;
  const bool compared = batch->views == 2 && g->consistency > 0 && result->labels > 0;
  for (size_t i = 0; compared && i < linnet_batch_utterances(batch); i++)
    result->consistency += batch->consistency[i];
  for (size_t i = 0; g->teacher && result->labels > 0 && i < batch->count; i++)
    result->distillation += batch->distillation[i] / (double)batch->views;
  for (size_t i = 0; g->frame_weight > 0 && result->labels > 0 && i < batch->count; i++)
    result->frame_targets += batch->frame_targets[i] / (double)batch->views;
}

enum linnet_status linnet_gradient_finish(struct linnet_gradient *g, const struct linnet_batch *batch,
                                          struct linnet_gradient_result *result) {
  enum linnet_status waited = g->network->device->ops->wait(g->network->device, g->context);
  LINNET_TRY(g->staging ? linnet_ranks_agree(g->ranks, waited) : waited);
  *result = (struct linnet_gradient_result){.labels = count_labels(batch) / batch->views, .norm = sqrt(g->total)};
  sum_losses(g, batch, result);
  const bool finite = isfinite(result->loss) && isfinite(result->consistency) && isfinite(result->crf) &&
                      isfinite(result->distillation) && isfinite(result->intermediate) &&
                      isfinite(result->frame_targets);
  if (finite && isfinite(result->norm))
    return LINNET_OK;
  return linnet_fail(g->context, LINNET_ERROR_NUMERIC, "%s is not finite", finite ? "the gradient" : "the loss");
}
