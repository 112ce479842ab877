/* A thread's memory for passes over shards or validation batches, on the device of its context. */
#ifndef LINNET_WORKER_H
#define LINNET_WORKER_H

#include "model/training/network.h"

struct linnet_worker {
  struct linnet_context *context; /* its own handle */
  struct linnet_pass *pass;
  struct linnet_device_buffer memory; /* of the pass */
  struct linnet_device_buffer logits, loss, ctc_work;
};

/* One for each thread of the context. */
enum linnet_status linnet_workers_create(struct linnet_context *context, const struct linnet_network *network,
                                         struct linnet_worker **workers);
void linnet_workers_destroy(struct linnet_context *context, struct linnet_worker *workers);

/* Calls body for every task on all threads, or, with a device that one thread feeds, one after the other with worker
 * 0. */
void linnet_workers_run(struct linnet_context *context, const struct linnet_network *network, size_t tasks,
                        linnet_task_fn body, void *user);

/* Forward over a shard: logits (T, outputs) end in worker->logits. Memory grows as needed. */
enum linnet_status linnet_worker_forward(struct linnet_worker *worker, const struct linnet_network *network,
                                         const real *weights, const struct linnet_shard *shard);

/* CTC of the shard's sequences on the worker's logits; `labels` are the batch's from the shard's first sequence on.
 * Losses end in worker->loss; with `gradient` the logits become scale times the gradient. */
enum linnet_status linnet_worker_ctc(struct linnet_worker *worker, const struct linnet_network *network,
                                     const struct linnet_shard *shard, const int *const *labels,
                                     const size_t *num_labels, double scale, bool gradient);

#endif
