/* One optimiser step over a batch. The batch is divided into shards, by its frames alone (shards.h). The shards are
 * divided among the ranks, and on the CPU among the threads of each. One thread runs forward and backward of a shard,
 * into the shard's own gradient. The gradients are then summed as a binary tree over the shards: first those whose
 * numbers differ in the last bit, then in the next. So results depend on neither threads nor ranks.
 *
 * The sums and the update are divided among the ranks by blocks of parameters. A rank sends each other rank its part of
 * the sums that lie within its own shards, completes the tree for its own part, updates these weights, and sends them
 * to all. GPUs exchange them directly or through host memory, and each rank updates all weights (staging.h). */
#ifndef LINNET_GRADIENT_H
#define LINNET_GRADIENT_H

#include "model/training/network.h"
#include "ops/denominator.h"
#include "train/batch.h"
#include "train/link.h"
#include "train/reduction.h"

/* --- a thread of it ----------------------------------------------------------------------------------------------- */

/* A thread's memory for passes over shards or validation batches, on the device of its context. */

struct linnet_worker {
  struct linnet_context *context; /* its own handle */
  struct linnet_pass *pass;
  struct linnet_device_buffer memory; /* of the pass */
  struct linnet_device_buffer logits, ctc_work;
  struct linnet_device_buffer dlogits;                   /* if losses beside CTC add to the gradient of the logits */
  struct linnet_device_buffer denominator_work;          /* with CTC-CRF */
  struct linnet_device_buffer losses[LINNET_NUM_LOSSES]; /* of the sequences, or pairs, of a shard */
};

/* One for each thread of the context. */
enum linnet_status linnet_workers_create(struct linnet_context *context, const struct linnet_network *network,
                                         struct linnet_worker **workers);
void linnet_workers_destroy(struct linnet_context *context, struct linnet_worker *workers);

/* Calls body for every task: on all threads, or, if one thread feeds the device, one after the other with worker 0. */
void linnet_workers_run(struct linnet_context *context, const struct linnet_network *network, size_t tasks,
                        linnet_task_fn body, void *user);

/* Forward over a shard; worker->logits gets the logits (T, outputs). Memory grows as needed. */
enum linnet_status linnet_worker_forward(struct linnet_worker *worker, const struct linnet_network *network,
                                         const real *weights, const struct linnet_shard *shard);

/* Makes a buffer hold at least `bytes`. On a device the message of failure says how large a batch would fit. */
enum linnet_status linnet_worker_reserve(struct linnet_worker *worker, const struct linnet_network *network,
                                         const struct linnet_shard *shard, struct linnet_device_buffer *buffer,
                                         size_t bytes);

/* CTC of the shard's sequences on the worker's logits; `labels` are the batch's from the shard's first sequence on.
 * worker->losses[LINNET_LOSS_CTC] gets the losses, and `gradient` (T, outputs) the gradient times `scale`; it may be
 * the logits. NULL: losses only. */
enum linnet_status linnet_worker_ctc(struct linnet_worker *worker, const struct linnet_network *network,
                                     const struct linnet_shard *shard, const int *const *labels,
                                     const size_t *num_labels, double scale, real *gradient);

/* --- a teacher ---------------------------------------------------------------------------------------------------- */

/* A fixed network, whose posteriors the trained one approaches. */
struct linnet_teacher {
  struct linnet_network network;
  const real *weights;
  struct linnet_worker *workers; /* (threads) */
};

/* --- a step ------------------------------------------------------------------------------------------------------- */

struct linnet_gradient {
  struct linnet_context *context;
  const struct linnet_network *network;
  struct linnet_worker *workers;   /* (threads) */
  real *shards[LINNET_MAX_SHARDS]; /* gradients (parameters) on the device, those of this rank's shards in their order;
                                      allocated when first needed */
  struct linnet_division division; /* of the parameters: by blocks that one task sums or updates, among the ranks; not
                                      divided among ranks if there is `staging` */
  double *squares;                 /* (blocks) on the device: sums of squares; squares[0] gets their sum */
  double total;                    /* squares[0], copied from the device */
  double weights[LINNET_NUM_LOSSES]; /* of the losses; after creation CTC has 1, the others 0, which turns them off.
                                        Distillation needs batches that are taught, frame targets batches that are
                                        targeted, consistency batches of two views */
  const struct linnet_denominator_graph *denominator; /* of CTC-CRF */
  const struct linnet_teacher *teacher;               /* of distillation */

  struct linnet_ranks *ranks; /* NULL after creation: one rank */
  struct linnet_link *link;   /* of the devices of ranks, if there are several; NULL after creation: none */
  bool rounded;               /* every sum of the tree is rounded to bfloat16, and sent so; false after creation */
  real *sum;                  /* (parameters) after linnet_gradient_compute: the gradient, at this rank's own blocks */
  struct linnet_exchange exchange;   /* zeros with one rank, or `staging` */
  struct linnet_staging *staging;    /* NULL unless several ranks compute on devices that are not the host */
  void (*queued)(void *queued_user); /* with `staging`, called while the device works on the shards; NULL after
                                        creation: not called */
  void *queued_user;
};

struct linnet_gradient_result {
  double losses[LINNET_NUM_LOSSES]; /* without their weights, summed over utterances, those that need an alignment over
                                       feasible ones; of two views, the mean; 0 if off, but CTC always has a value */
  size_t labels;                    /* of feasible utterances */
  size_t infeasible;
  double norm; /* of the gradient of (the sum of weight * loss) / labels */
};

enum linnet_status linnet_gradient_create(struct linnet_context *context, const struct linnet_network *network,
                                          struct linnet_worker *workers, struct linnet_gradient *gradient);
void linnet_gradient_release(struct linnet_gradient *gradient);

/* Divides the sums among ranks, and on the CPU the updates. Afterwards gradient->shards[0] exists if there are several:
 * between steps it is free for other uses. */
enum linnet_status linnet_gradient_join(struct linnet_gradient *gradient, struct linnet_ranks *ranks, bool rounded);

/* CTC also after the first `layer` layers, with the same output layer (linnet_pass_set_intermediate); 0, or a weight of
 * 0: off. */
void linnet_gradient_set_intermediate(struct linnet_gradient *gradient, size_t layer, double weight);

/* Computes the gradient of (summed loss / labels) of a loaded batch into gradient->sum. The loss of an utterance is the
 * sum of its losses times their weights; of two views, the mean. Dropout masks depend on (seed, step). A device
 * may still be working when this returns. */
enum linnet_status linnet_gradient_compute(struct linnet_gradient *gradient, const real *weights,
                                           struct linnet_batch *batch, uint64_t seed, uint32_t step);

/* Waits for the gradient. LINNET_ERROR_NUMERIC if loss or gradient is not finite: then it must not be used. */
enum linnet_status linnet_gradient_finish(struct linnet_gradient *gradient, const struct linnet_batch *batch,
                                          struct linnet_gradient_result *result);

/* Updates weights and moments, which are on the device, by that gradient, clipped to a norm (0: not clipped). Weights
 * are whole; moments are divided (division.h). A device may still be working when this returns. */
enum linnet_status linnet_gradient_update(struct linnet_gradient *gradient, const struct linnet_update *update,
                                          double clip, real *weights, real *moment1, real *moment2);

/* After LINNET_ERROR_NUMERIC, with the arguments of linnet_gradient_compute: sets batch->not_finite for the utterances
 * with a loss that is not finite. If there are none, ranks compute the gradient of each of their utterances alone, and
 * set it for those whose gradient is not finite. *what becomes "a loss" or "a gradient"; NULL: no utterance alone is
 * the cause. */
enum linnet_status linnet_gradient_find_not_finite(struct linnet_gradient *gradient, const real *weights,
                                                   struct linnet_batch *batch, uint64_t seed, uint32_t step,
                                                   const char **what);

/* --- the losses of a shard (losses.c) ------------------------------------------------------------------------------
 */

/* A shard after its forward pass. */
struct linnet_loss_task {
  const struct linnet_gradient *gradient;
  struct linnet_worker *worker; /* with the logits */
  const struct linnet_shard *shard;
  const struct linnet_host_batch *host;
  struct linnet_batch *batch;
  size_t begin;          /* its first sequence in the batch */
  const double *factors; /* (LINNET_NUM_LOSSES): of the gradients of a sequence, or of a pair; 0: off */
};

/* Copies the losses to the batch. *gradient becomes the gradient of the logits: in their memory if no loss adds to that
 * of CTC. The logits of an intermediate output become their gradient. */
enum linnet_status linnet_losses_compute(const struct linnet_loss_task *task, real **gradient);

/* --- its sum (gradient_sum.c) --------------------------------------------------------------------------------------
 */

enum linnet_status linnet_gradient_prepare_sum(struct linnet_gradient *gradient);
void linnet_gradient_release_sum(struct linnet_gradient *gradient);

/* Allocates the gradients of this rank's first `count` shards. */
enum linnet_status linnet_gradient_reserve(struct linnet_gradient *gradient, size_t count);

/* Before the shards of a batch, with several ranks: memory for the gradients of this rank's shards, and for what ranks
 * send. All ranks agree when it grows, so that none is missing in an exchange. */
enum linnet_status linnet_gradient_reserve_sum(struct linnet_gradient *gradient, const struct linnet_shards *shards);

/* A bucket of the sum over several ranks (reduction.h), in this order: sums within the shards of this rank, the tree
 * `own`; exchanges what they give, *all is then the tree of all ranks; completes it for this rank's own blocks in
 * gradient->sum. */
void linnet_gradient_sum_own(struct linnet_gradient *gradient, size_t bucket, const struct linnet_shard_tree *own);
enum linnet_status linnet_gradient_exchange(struct linnet_gradient *gradient, size_t bucket,
                                            const struct linnet_shard_tree *own, struct linnet_shard_tree *all);
void linnet_gradient_sum_rest(struct linnet_gradient *gradient, size_t bucket, const struct linnet_shard_tree *all);

/* With one rank, sums the gradients of its shards into gradient->sum. With any number, sums the squares. */
enum linnet_status linnet_gradient_sum(struct linnet_gradient *gradient, const struct linnet_batch *batch);

/* Gathers a whole vector of which each rank has its own blocks. */
enum linnet_status linnet_gradient_gather(const struct linnet_gradient *gradient, real *vector);

#endif
