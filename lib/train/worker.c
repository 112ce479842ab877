#include "train/gradient.h"

enum linnet_status linnet_workers_create(struct linnet_context *context, struct linnet_worker **result) {
  unsigned threads = linnet_context_threads(context);
  struct linnet_worker *workers = *result = linnet_calloc(context, threads, sizeof *workers);
  enum linnet_status status = workers ? LINNET_OK : LINNET_ERROR_MEMORY;
  for (unsigned i = 0; status == LINNET_OK && i < threads; i++)
    status = linnet_context_share(context, &workers[i].context);
  if (status == LINNET_OK)
    return LINNET_OK;
  linnet_workers_destroy(context, workers);
  *result = NULL;
  return linnet_fail(context, status, "out of memory for %u training threads", threads);
}

void linnet_workers_destroy(struct linnet_context *context, struct linnet_worker *workers) {
  for (unsigned i = 0; workers && i < linnet_context_threads(context); i++) {
    linnet_free(context, workers[i].memory);
    linnet_free(context, workers[i].logits);
    linnet_free(context, workers[i].ctc_work);
    linnet_context_destroy(workers[i].context);
  }
  linnet_free(context, workers);
}

/* Makes `block` of *capacity bytes hold at least `bytes` and returns it; what it held is lost. NULL without memory. */
static void *reserve(struct linnet_worker *worker, void *block, size_t *capacity, size_t bytes) {
  if (bytes <= *capacity && block)
    return block;
  linnet_free(worker->context, block);
  size_t wanted = bytes < SIZE_MAX / 2 ? bytes + bytes / 8 : bytes;
  block = linnet_alloc(worker->context, wanted, 1);
  *capacity = block ? wanted : 0;
  if (!block)
    linnet_fail(worker->context, LINNET_ERROR_MEMORY, "out of memory for %zu MB of activations: use smaller batches",
                bytes >> 20);
  return block;
}

enum linnet_status linnet_worker_forward(struct linnet_worker *worker, const struct linnet_network *network,
                                         const real *weights, const struct linnet_shard *shard,
                                         struct linnet_pass **pass) {
  size_t frames = linnet_shard_frames(shard), outputs = network->config->outputs;
  worker->memory = reserve(worker, worker->memory, &worker->memory_bytes,
                           linnet_network_bytes(network, frames, shard->pack.sequences));
  worker->logits = reserve(worker, worker->logits, &worker->logit_bytes, frames * outputs * sizeof(real));
  if (!worker->memory || !worker->logits)
    return LINNET_ERROR_MEMORY;
  *pass = linnet_network_forward(network, weights, shard, worker->memory, worker->memory_bytes, worker->logits);
  return LINNET_OK;
}

enum linnet_status linnet_worker_ctc(struct linnet_worker *worker, const struct linnet_network *network,
                                     const struct linnet_batch *batch, size_t i, size_t first, double scale,
                                     bool gradient, double *loss) {
  size_t symbols = network->config->outputs;
  real *logits = worker->logits + (batch->offsets[i] - first) * symbols;
  struct linnet_ctc c = {.frames = batch->offsets[i + 1] - batch->offsets[i],
                         .symbols = symbols,
                         .labels = batch->num_labels[i],
                         .logits = logits,
                         .label = batch->labels[i],
                         .scale = (real)scale,
                         .gradient = gradient ? logits : NULL};
  worker->ctc_work =
      reserve(worker, worker->ctc_work, &worker->ctc_bytes, linnet_ctc_work_bytes(c.frames, symbols, c.labels));
  if (!worker->ctc_work)
    return LINNET_ERROR_MEMORY;
  *loss = network->ops->ctc(&c, worker->ctc_work);
  return LINNET_OK;
}
