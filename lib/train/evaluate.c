/* Runs the network over a validation corpus and sums loss and errors. */
#include "train/trainer.h"

#include <math.h>

struct utterance_result {
  double loss; /* 0 if the labels do not fit; then there are no `labels` */
  size_t labels, errors, reference;
};

struct evaluation {
  struct linnet_context *context;
  const struct linnet_network *network;
  struct linnet_worker *workers;
  struct linnet_ranks *ranks;
  const real *weights;
  const struct linnet_corpus *corpus;
  const size_t *nominal;
  struct linnet_batches batches;
  struct linnet_batch *loaded;      /* (threads) */
  struct utterance_result *results; /* (utterances of the batches, in their order) */
  enum linnet_status status;        /* the first failure; its sentence is in `context` */
  bool failed;                      /* atomic */
};

static enum linnet_status count_errors(struct evaluation *e, struct linnet_worker *worker,
                                       const struct linnet_batch *batch, size_t i, const real *log_p,
                                       struct utterance_result *result) {
  const struct linnet_corpus *corpus = e->corpus;
  size_t outputs = e->network->config->outputs, frames = batch->offsets[i + 1] - batch->offsets[i];
#ifdef LINNET_REAL_DOUBLE
  (void)log_p, (void)result, (void)corpus, (void)outputs, (void)frames;
  return linnet_fail(worker->context, LINNET_ERROR_UNSUPPORTED, "errors are counted in single precision only");
#else
  return corpus->count_errors(corpus->user, worker->context, batch->utterances[i], log_p + batch->offsets[i] * outputs,
                              frames, outputs, &result->errors, &result->reference);
#endif
}

/* The worker's logits as log-posteriors (T, outputs) in host memory: the worker's own, or a copy in *copy. */
static enum linnet_status log_posteriors(struct evaluation *e, struct linnet_worker *worker, size_t frames,
                                         const real **result, real **copy) {
  struct linnet_device *device = e->network->device;
  size_t outputs = e->network->config->outputs;
  real *logits = worker->logits.data;
  device->ops->log_softmax(device, frames, outputs, logits, logits);
  *result = logits;
  if (device->ops->host)
    return LINNET_OK;
  *result = *copy = linnet_alloc(worker->context, frames, outputs * sizeof **copy);
  if (!*copy)
    return linnet_fail(worker->context, LINNET_ERROR_MEMORY, "out of memory for %zu frames", frames);
  device->ops->download(device, *copy, logits, frames * outputs * sizeof **copy);
  return device->ops->wait(device, worker->context);
}

static enum linnet_status count_batch(struct evaluation *e, struct linnet_worker *worker,
                                      const struct linnet_batch *batch, struct utterance_result *results) {
  const real *log_p = NULL;
  real *copy = NULL;
  enum linnet_status status = log_posteriors(e, worker, batch->offsets[batch->count], &log_p, &copy);
  for (size_t i = 0; status == LINNET_OK && i < batch->count; i++)
    status = count_errors(e, worker, batch, i, log_p, &results[i]);
  linnet_free(worker->context, copy);
  return status;
}

static enum linnet_status run_network(struct evaluation *e, struct linnet_worker *worker,
                                      const struct linnet_batch *batch) {
  struct linnet_device *device = e->network->device;
  struct linnet_host_batch host = {.pack = {batch->count, batch->offsets},
                                   .features = batch->features,
                                   .columns = batch->config->stack * batch->config->input_dim,
                                   .labels = batch->labels,
                                   .num_labels = batch->num_labels};
  struct linnet_shard shard = {.pack = host.pack, .forward_only = true};
  LINNET_TRY(device->ops->upload_batch(device, worker->context, &host, &shard.features));
  LINNET_TRY(linnet_worker_forward(worker, e->network, e->weights, &shard));
  LINNET_TRY(linnet_worker_ctc(worker, e->network, &shard, host.labels, host.num_labels, 1, NULL));
  device->ops->download(device, batch->losses[LINNET_LOSS_CTC], worker->losses[LINNET_LOSS_CTC].data,
                        batch->count * sizeof(double));
  return device->ops->wait(device, worker->context);
}

static enum linnet_status evaluate_batch(struct evaluation *e, size_t b, struct linnet_worker *worker,
                                         struct linnet_batch *batch) {
  size_t begin = e->batches.starts[b], count = e->batches.starts[b + 1] - begin;
  LINNET_TRY(linnet_batch_load(batch, e->corpus, e->batches.order + begin, count, e->nominal, 0, NULL));
  LINNET_TRY(run_network(e, worker, batch));
  for (size_t i = 0; i < count; i++) {
    const bool feasible = linnet_batch_feasible(batch, i);
    e->results[begin + i].loss = feasible ? batch->losses[LINNET_LOSS_CTC][i] : 0;
    e->results[begin + i].labels = feasible ? batch->num_labels[i] : 0;
  }
  return e->corpus->count_errors ? count_batch(e, worker, batch, &e->results[begin]) : LINNET_OK;
}

/* The first batch of rank r. */
static size_t first_batch(const struct evaluation *e, size_t r) {
  return linnet_ranks_first(e->ranks, e->batches.batches, r);
}

static void task_batch(void *user, size_t task, unsigned worker) {
  struct evaluation *e = user;
  const size_t b = first_batch(e, linnet_ranks_self(e->ranks)) + task;
  if (__atomic_load_n(&e->failed, __ATOMIC_ACQUIRE))
    return;
  enum linnet_status status = linnet_poll_check(e->workers[worker].context);
  if (status == LINNET_OK)
    status = evaluate_batch(e, b, &e->workers[worker], &e->loaded[worker]);
  if (status == LINNET_OK || __atomic_exchange_n(&e->failed, true, __ATOMIC_ACQ_REL))
    return;
  e->status = status;
  linnet_copy_error(e->context, e->workers[worker].context);
}

static void sum_results(const struct evaluation *e, struct linnet_evaluation *result) {
  *result = (struct linnet_evaluation){0};
  for (size_t i = 0; i < e->batches.utterances; i++) {
    const struct utterance_result *r = &e->results[i];
    result->loss += r->loss;
    result->labels += r->labels;
    result->errors += r->errors;
    result->reference += r->reference;
  }
}

static enum linnet_status create(struct evaluation *e) {
  unsigned threads = linnet_context_num_threads(e->context);
  LINNET_TRY(linnet_batches_create(e->context, e->corpus->num_utterances, &e->batches));
  e->results = linnet_calloc(e->context, e->corpus->num_utterances, sizeof *e->results);
  e->loaded = linnet_calloc(e->context, threads, sizeof *e->loaded);
  if (!e->results || !e->loaded)
    return linnet_fail(e->context, LINNET_ERROR_MEMORY, "out of memory for validation");
  for (unsigned i = 0; i < threads; i++)
    linnet_batch_init(&e->loaded[i], e->workers[i].context, e->network->config);
  return LINNET_OK;
}

static void release(struct evaluation *e) {
  for (unsigned i = 0; e->loaded && i < linnet_context_num_threads(e->context); i++)
    linnet_batch_release(&e->loaded[i]);
  linnet_free(e->context, e->loaded);
  linnet_free(e->context, e->results);
  linnet_batches_destroy(e->context, &e->batches);
}

/* The results of all ranks. */
static enum linnet_status gather_results(struct evaluation *e) {
  for (size_t r = 0; e->ranks && r <= linnet_ranks_count(e->ranks); r++)
    e->ranks->offsets[r] = e->batches.starts[first_batch(e, r)] * sizeof *e->results;
  return e->ranks ? linnet_ranks_gather(e->ranks, e->results) : LINNET_OK;
}

static enum linnet_status run_own(struct evaluation *e, size_t batch_frames) {
  LINNET_TRY(create(e));
  linnet_batches_fill(&e->batches, e->nominal, e->corpus->num_utterances, batch_frames, &(struct linnet_order){0});
  const size_t self = linnet_ranks_self(e->ranks);
  linnet_workers_run(e->context, e->network, first_batch(e, self + 1) - first_batch(e, self), task_batch, e);
  return e->status;
}

enum linnet_status linnet_evaluate(struct linnet_context *context, const struct linnet_network *network,
                                   struct linnet_worker *workers, struct linnet_ranks *ranks, const real *weights,
                                   const struct linnet_corpus *corpus, const size_t *nominal, size_t batch_frames,
                                   struct linnet_evaluation *result) {
  struct evaluation e = {.context = context,
                         .network = network,
                         .workers = workers,
                         .ranks = ranks,
                         .weights = weights,
                         .corpus = corpus,
                         .nominal = nominal,
                         .status = LINNET_OK};
  enum linnet_status status = run_own(&e, batch_frames);
  if (ranks)
    status = linnet_ranks_agree(ranks, status);
  if (status == LINNET_OK)
    status = gather_results(&e);
  if (status == LINNET_OK)
    sum_results(&e, result);
  release(&e);
  return status;
}
