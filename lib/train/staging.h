/* The sum of a step's gradients over ranks that compute on GPUs, through host memory.
 *
 * The device of a rank sums within its shards. The host receives these nodes of the tree (shard_tree.h), exchanges them
 * with the other ranks as ranks on the CPU do (exchange.h), completes the tree for its own part, and gathers the parts.
 * The device receives the whole sum. So each rank has the whole gradient, as one rank alone would: norm, update,
 * moments and average are not divided. */
#ifndef LINNET_STAGING_H
#define LINNET_STAGING_H

#include "train/gradient.h"

struct linnet_staging {
  struct linnet_network network; /* on the host; it has parameters, but computes nothing */
  struct linnet_gradient nodes;  /* divided among ranks; its shards are the nodes of this rank's tree */
};

/* Gives `gradient`, which is on a device that is not the host, to gradient->ranks. */
enum linnet_status linnet_staging_create(struct linnet_gradient *gradient);
/* NULL is allowed. */
void linnet_staging_destroy(struct linnet_staging *staging);

/* After the shards of a batch have been queued, with the status of this rank's: waits for them, and sets gradient->sum
 * from those of all ranks. Fails on all ranks if one fails. */
enum linnet_status linnet_staging_sum(struct linnet_gradient *gradient, const struct linnet_shards *shards,
                                      enum linnet_status status);

#endif
