#include "train/evaluate.h"

#include <math.h>

struct utterance_result {
  double loss;
  size_t labels, errors, reference;
};

struct evaluation {
  struct linnet_context *context;
  const struct linnet_network *network;
  struct linnet_worker *workers;
  const real *weights;
  const struct linnet_corpus *corpus;
  const size_t *nominal;
  struct linnet_batches batches;
  struct linnet_batch *loaded;      /* (threads) */
  struct utterance_result *results; /* (utterances of the batches, in their order) */
  enum linnet_status status;        /* the first failure; its sentence is in `context` */
  bool failed;                      /* atomic */
};

static enum linnet_status evaluate_utterance(struct evaluation *e, struct linnet_worker *worker,
                                             const struct linnet_batch *batch, size_t i,
                                             struct utterance_result *result) {
  const struct linnet_corpus *corpus = e->corpus;
  size_t outputs = e->network->config->outputs, frames = batch->offsets[i + 1] - batch->offsets[i];
  LINNET_TRY(linnet_worker_ctc(worker, e->network, batch, i, 0, 1, false, &result->loss));
  result->labels = batch->num_labels[i];
  if (!corpus->count_errors)
    return LINNET_OK;
  real *logits = worker->logits + batch->offsets[i] * outputs;
  e->network->ops->log_softmax(frames, outputs, logits, logits);
#ifdef LINNET_REAL_DOUBLE
  return linnet_fail(worker->context, LINNET_ERROR_UNSUPPORTED, "errors are counted in single precision only");
#else
  return corpus->count_errors(corpus->user, worker->context, batch->utterances[i], logits, frames, outputs,
                              &result->errors, &result->reference);
#endif
}

static enum linnet_status evaluate_batch(struct evaluation *e, size_t b, struct linnet_worker *worker,
                                         struct linnet_batch *batch) {
  size_t begin = e->batches.starts[b], count = e->batches.starts[b + 1] - begin;
  LINNET_TRY(linnet_batch_load(batch, e->corpus, e->batches.order + begin, count, e->nominal, 0, NULL));
  struct linnet_shard shard = {.pack = {count, batch->offsets}, .features = batch->features};
  struct linnet_pass *pass = NULL;
  LINNET_TRY(linnet_worker_forward(worker, e->network, e->weights, &shard, &pass));
  for (size_t i = 0; i < count; i++)
    LINNET_TRY(evaluate_utterance(e, worker, batch, i, &e->results[begin + i]));
  return LINNET_OK;
}

static void task_batch(void *user, size_t b, unsigned worker) {
  struct evaluation *e = user;
  if (__atomic_load_n(&e->failed, __ATOMIC_ACQUIRE))
    return;
  enum linnet_status status = evaluate_batch(e, b, &e->workers[worker], &e->loaded[worker]);
  if (status == LINNET_OK || __atomic_exchange_n(&e->failed, true, __ATOMIC_ACQ_REL))
    return;
  e->status = status;
  linnet_copy_error(e->context, e->workers[worker].context);
}

static void sum_results(const struct evaluation *e, struct linnet_evaluation *result) {
  *result = (struct linnet_evaluation){0};
  for (size_t i = 0; i < e->batches.utterances; i++) {
    const struct utterance_result *r = &e->results[i];
    if (r->loss != INFINITY) {
      result->loss += r->loss;
      result->labels += r->labels;
    }
    result->errors += r->errors;
    result->reference += r->reference;
  }
}

static enum linnet_status create(struct evaluation *e) {
  unsigned threads = linnet_context_threads(e->context);
  LINNET_TRY(linnet_batches_create(e->context, e->corpus->count, &e->batches));
  e->results = linnet_calloc(e->context, e->corpus->count, sizeof *e->results);
  e->loaded = linnet_calloc(e->context, threads, sizeof *e->loaded);
  if (!e->results || !e->loaded)
    return linnet_fail(e->context, LINNET_ERROR_MEMORY, "out of memory for validation");
  for (unsigned i = 0; i < threads; i++)
    linnet_batch_init(&e->loaded[i], e->workers[i].context, e->network->config);
  return LINNET_OK;
}

static void release(struct evaluation *e) {
  for (unsigned i = 0; e->loaded && i < linnet_context_threads(e->context); i++)
    linnet_batch_release(&e->loaded[i]);
  linnet_free(e->context, e->loaded);
  linnet_free(e->context, e->results);
  linnet_batches_destroy(e->context, &e->batches);
}

enum linnet_status linnet_evaluate(struct linnet_context *context, const struct linnet_network *network,
                                   struct linnet_worker *workers, const real *weights,
                                   const struct linnet_corpus *corpus, const size_t *nominal, size_t batch_frames,
                                   struct linnet_evaluation *result) {
  struct evaluation e = {.context = context,
                         .network = network,
                         .workers = workers,
                         .weights = weights,
                         .corpus = corpus,
                         .nominal = nominal,
                         .status = LINNET_OK};
  enum linnet_status status = create(&e);
  if (status == LINNET_OK) {
    linnet_batches_fill(&e.batches, nominal, corpus->count, batch_frames, 0, 0);
    linnet_parallel(context, e.batches.batches, task_batch, &e);
    status = e.status;
    sum_results(&e, result);
  }
  release(&e);
  return status;
}
