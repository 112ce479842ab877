/* The sum of a step's gradients over all ranks, bucket by bucket (division.h), while shards compute.
 *
 * The backward pass completes gradients from the end of the buffer to its beginning. When the last shard of this rank
 * has passed a bucket, a thread sums the bucket within the shards, exchanges it with the other ranks, and completes
 * this rank's part, while the backward pass goes on. All ranks exchange the last bucket first.
 *
 * A shard that fails passes all buckets in the end. So a rank that failed takes part in all exchanges, and the others
 * do not wait for it; then they learn of the failure (linnet_ranks_agree), and discard the sums. */
#ifndef LINNET_REDUCTION_H
#define LINNET_REDUCTION_H

#include <pthread.h>

#include "train/exchange.h"

struct linnet_gradient;

struct linnet_reduction {
  struct linnet_gradient *gradient;
  struct linnet_shard_tree own; /* this rank's shards */
  pthread_mutex_t mutex;        /* protects `left` and `ready` */
  pthread_cond_t changed;
  size_t left[LINNET_MAX_BUCKETS]; /* shards that have not passed a bucket */
  size_t ready;                    /* buckets, from the last one on, that all shards have passed */
  pthread_t thread;
  bool threaded;             /* the thread runs; otherwise linnet_reduction_finish does its work */
  enum linnet_status status; /* of the connection */
  struct {
    double start, end, seconds; /* clock before and after an exchange, and what it took of the time between */
  } exchanges[LINNET_MAX_BUCKETS];
};

/* The backward pass of a shard. */
struct linnet_reduction_shard {
  struct linnet_reduction *reduction;
  size_t bucket; /* the last that it passed */
};

/* Before the `count` shards of this rank that have utterances. */
void linnet_reduction_begin(struct linnet_reduction *reduction, struct linnet_gradient *gradient,
                            const struct linnet_shards *shards, size_t count);

/* From any thread. */
struct linnet_reduction_shard linnet_reduction_shard(struct linnet_reduction *reduction);
/* `user` is a struct linnet_reduction_shard: its gradients from parameter `first` on are complete. 0: all are, or the
 * shard failed. */
void linnet_reduction_passed(void *user, size_t first);

/* After all shards. gradient->sum then is the sum at this rank's own blocks. Fails only if the connection did. */
enum linnet_status linnet_reduction_finish(struct linnet_reduction *reduction);

#endif
