/* Sums of gradients of ranks on GPUs. */
#include "train/staging.h"

enum linnet_status linnet_staging_create(struct linnet_gradient *g) {
  struct linnet_staging *s = linnet_calloc(g->context, 1, sizeof *s);
  if (!s)
    return linnet_fail(g->context, LINNET_ERROR_MEMORY, "out of memory for the ranks");
  g->staging = s;
  s->network = *g->network;
  s->network.device = linnet_host_device_of(g->context);
  LINNET_TRY(linnet_gradient_create(g->context, &s->network, NULL, &s->nodes));
  LINNET_TRY(linnet_gradient_join(&s->nodes, g->ranks, g->rounded));
  return linnet_gradient_reserve(g, 1);
}

void linnet_staging_destroy(struct linnet_staging *s) {
  if (!s)
    return;
  struct linnet_context *context = s->nodes.context;
  linnet_gradient_release(&s->nodes);
  linnet_free(context, s);
}

/* Sums within the shards of this rank; the nodes of *own are then copies on the host. */
static enum linnet_status download_nodes(struct linnet_gradient *g, const struct linnet_shards *shards,
                                         struct linnet_shard_tree *own) {
  struct linnet_device *device = g->network->device;
  size_t count = 0;
  linnet_shard_tree_begin(shards, g->ranks, linnet_ranks_self(g->ranks), g->shards, own);
  linnet_gradient_sum_own(g, 0, own);
  linnet_shard_tree_merge(own);
  for (size_t s = own->begin; s < own->end; s++)
    if (own->nodes[s]) {
      real *copy = g->staging->nodes.shards[count++];
      device->ops->download(device, copy, own->nodes[s], g->network->parameters->size * sizeof *copy);
      own->nodes[s] = copy;
    }
  return device->ops->wait(device, g->context);
}

/* nodes->sum becomes the whole sum. */
static enum linnet_status sum_nodes(struct linnet_gradient *nodes, const struct linnet_shard_tree *own) {
  struct linnet_shard_tree all;
  nodes->sum = nodes->shards[0];
  for (size_t bucket = 0; bucket < nodes->division.buckets; bucket++) {
    LINNET_TRY(linnet_gradient_exchange(nodes, bucket, own, &all));
    linnet_gradient_sum_rest(nodes, bucket, &all);
  }
  return linnet_gradient_gather(nodes, nodes->sum);
}

enum linnet_status linnet_staging_sum(struct linnet_gradient *g, const struct linnet_shards *shards,
                                      enum linnet_status status) {
  struct linnet_device *device = g->network->device;
  struct linnet_gradient *nodes = &g->staging->nodes;
  struct linnet_shard_tree own;
  if (status == LINNET_OK)
    status = download_nodes(g, shards, &own);
  LINNET_TRY(linnet_ranks_agree(g->ranks, status));
  LINNET_TRY(sum_nodes(nodes, &own));
  g->sum = g->shards[0];
  device->ops->upload(device, g->sum, nodes->sum, g->network->parameters->size * sizeof *g->sum);
  return LINNET_OK;
}
