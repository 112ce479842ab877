/* One optimiser step over a batch, shared by all threads: the batch is cut into shards by its frames alone, each shard
 * runs forward and backward on one thread into a gradient of its own, and the gradients are summed in the order of the
 * shards. So results do not depend on the number of threads. */
#ifndef LINNET_GRADIENT_H
#define LINNET_GRADIENT_H

#include "model/network.h"
#include "train/batch.h"

enum { LINNET_MAX_SHARDS = 16 };

/* One thread's memory for passes over shards or validation batches. */
struct linnet_worker {
  struct linnet_context *context; /* its own handle */
  void *memory;                   /* of a pass */
  real *logits;
  void *ctc_work;
  size_t memory_bytes, logit_bytes, ctc_bytes;
};

enum linnet_status linnet_workers_create(struct linnet_context *context, struct linnet_worker **workers);
void linnet_workers_destroy(struct linnet_context *context, struct linnet_worker *workers);

/* Forward over a shard with the worker's memory, which grows as needed: logits (T, outputs) end in worker->logits. */
enum linnet_status linnet_worker_forward(struct linnet_worker *worker, const struct linnet_network *network,
                                         const real *weights, const struct linnet_shard *shard,
                                         struct linnet_pass **pass);

/* CTC of utterance i of the batch on the worker's logits, which begin at row `first` of the batch; with `scale` the
 * logits become scale times the gradient. Returns the negative log likelihood. */
enum linnet_status linnet_worker_ctc(struct linnet_worker *worker, const struct linnet_network *network,
                                     const struct linnet_batch *batch, size_t i, size_t first, double scale,
                                     bool gradient, double *loss);

struct linnet_gradient {
  struct linnet_context *context;
  const struct linnet_network *network;
  struct linnet_worker *workers;   /* (threads) */
  real *shards[LINNET_MAX_SHARDS]; /* gradients; shards[0] ends as the sum. Made when first needed */
  double *partial;                 /* sums of squares per block of parameters */
};

struct linnet_gradient_result {
  double loss;   /* summed over feasible utterances */
  size_t labels; /* theirs */
  size_t infeasible;
  double norm; /* of the gradient of loss / labels */
};

enum linnet_status linnet_gradient_create(struct linnet_context *context, const struct linnet_network *network,
                                          struct linnet_worker *workers, struct linnet_gradient *gradient);
void linnet_gradient_release(struct linnet_gradient *gradient);

/* The gradient of (summed loss / labels) of a loaded batch ends in gradient->shards[0]. Dropout masks are those of
 * (seed, step). LINNET_ERROR_NUMERIC if loss or gradient is not finite. */
enum linnet_status linnet_gradient_compute(struct linnet_gradient *gradient, const real *weights,
                                           struct linnet_batch *batch, uint64_t seed, uint32_t step,
                                           struct linnet_gradient_result *result);

/* Updates weights and moments on all threads. */
void linnet_gradient_update(struct linnet_gradient *gradient, const struct linnet_update *update, real *weights,
                            real *moment1, real *moment2);

#endif
