/* The sum of a step's gradients over ranks that compute on GPUs.
 *
 * The device of a rank sums within its shards. These nodes of the tree (shard_tree.h) are exchanged with the other
 * ranks as ranks on the CPU do (exchange.h); each completes the tree for its own part, and gathers the parts. So each
 * rank has the whole gradient, as one rank alone would: norm, update, moments and average are not divided.
 *
 * If the devices are linked (link.h), they do all of it. Otherwise the host receives the nodes, and the device the
 * whole sum. The additions are the same, and so are the bytes. */
#ifndef LINNET_STAGING_H
#define LINNET_STAGING_H

#include "train/gradient.h"

struct linnet_staging {
  struct linnet_network network; /* without a link: on the host; it has parameters, but computes nothing */
  struct linnet_gradient nodes;  /* divided among ranks; without a link, its shards are the nodes of this rank's tree */
};

/* Gives `gradient`, which is on a device that is not the host, to gradient->ranks. */
enum linnet_status linnet_staging_create(struct linnet_gradient *gradient);
/* NULL is allowed. */
void linnet_staging_destroy(struct linnet_staging *staging);

/* Whether gradient->staging exchanges gradients between devices. */
bool linnet_staging_linked(const struct linnet_gradient *gradient);

/* After the shards of a batch have been queued, with the status of this rank's: waits for them, and sets gradient->sum
 * from those of all ranks. Fails on all ranks if one fails. */
enum linnet_status linnet_staging_sum(struct linnet_gradient *gradient, const struct linnet_shards *shards,
                                      enum linnet_status status);

#endif
