/* Allocates the memory of each worker and runs its passes. */
#include "train/worker.h"

enum linnet_status linnet_workers_create(struct linnet_context *context, const struct linnet_network *network,
                                         struct linnet_worker **result) {
  unsigned threads = linnet_context_threads(context);
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
  for (unsigned i = 0; workers && i < linnet_context_threads(context); i++) {
    struct linnet_worker *w = &workers[i];
    void *blocks[] = {w->memory.data, w->logits.data, w->loss.data, w->ctc_work.data};
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

/* On a device the message says how large a batch would fit; frames are the network's, as in batches before stacking. */
static enum linnet_status reserve(struct linnet_worker *worker, const struct linnet_network *network,
                                  const struct linnet_shard *shard, struct linnet_device_buffer *buffer, size_t bytes) {
  struct linnet_device *device = network->device;
  if (linnet_device_reserve(device, buffer, bytes))
    return LINNET_OK;
  if (device->ops->host)
    return linnet_fail(worker->context, LINNET_ERROR_MEMORY,
                       "out of memory for %zu MB of activations: use smaller batches", bytes >> 20);
  size_t free = device->ops->free_bytes(device), frames = linnet_shard_frames(shard) * network->config->stack;
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
                                     const size_t *num_labels, double scale, bool gradient) {
  struct linnet_device *device = network->device;
  struct linnet_batch_ctc c = {.pack = &shard->pack,
                               .symbols = network->config->outputs,
                               .labels = labels,
                               .num_labels = num_labels,
                               .logits = worker->logits.data,
                               .scale = (real)scale,
                               .gradient = gradient ? worker->logits.data : NULL};
  LINNET_TRY(reserve(worker, network, shard, &worker->ctc_work, device->ops->ctc_work_bytes(device, &c)));
  LINNET_TRY(reserve(worker, network, shard, &worker->loss, shard->pack.sequences * sizeof *c.loss));
  c.loss = worker->loss.data;
  device->ops->ctc(device, &c, worker->ctc_work.data);
  return LINNET_OK;
}
