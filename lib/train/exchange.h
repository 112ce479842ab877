/* What ranks send each other of a step: sums of gradients within their own shards, by bucket, and sums of squares. */
#ifndef LINNET_EXCHANGE_H
#define LINNET_EXCHANGE_H

#include "train/division.h"
#include "train/shard_tree.h"

struct linnet_exchange {
  struct linnet_context *context;
  const struct linnet_network *network;
  const struct linnet_division *division;
  struct linnet_ranks *ranks;
  bool rounded;                               /* sums are sent as bfloat16 */
  size_t *send, *receive;                     /* (ranks + 1) offsets of linnet_ranks_exchange */
  struct linnet_node_list *lists;             /* (ranks), of the batch */
  double *squares;                            /* (blocks) as they are sent: those of rank 0, then those of rank 1 ... */
  size_t num_shards, num_nodes;               /* what memory is reserved for: shards of a batch, nodes of a rank */
  struct linnet_device_buffer received, sent; /* nodes of other ranks, and a rounded one; of one bucket */
};

enum linnet_status linnet_exchange_create(struct linnet_context *context, const struct linnet_network *network,
                                          const struct linnet_division *division, struct linnet_ranks *ranks,
                                          struct linnet_exchange *exchange);
/* Zeros are allowed. */
void linnet_exchange_release(struct linnet_exchange *exchange);

/* Before the shards of a batch. Whether memory must grow is the same on all ranks. */
bool linnet_exchange_begin(struct linnet_exchange *exchange, const struct linnet_shards *shards);
enum linnet_status linnet_exchange_reserve(struct linnet_exchange *exchange, const struct linnet_shards *shards);

/* Exchanges the nodes `own` of all ranks at the parameters of a bucket. The nodes of *all are then those of all ranks
 * at the parameters of this one: they begin with the first parameter of this rank in the bucket. */
enum linnet_status linnet_exchange_bucket(struct linnet_exchange *exchange, size_t bucket,
                                          const struct linnet_shard_tree *own, struct linnet_shard_tree *all);

/* squares (blocks): each rank has set those of its own blocks; afterwards all have all. */
enum linnet_status linnet_exchange_squares(struct linnet_exchange *exchange, double *squares);

#endif
