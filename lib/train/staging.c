/* Sums of gradients of ranks on GPUs. */
#include "train/staging.h"

#include "base/numbers.h"

/* Parts of ranks begin at multiples of this number of parameters, so that kernels read four at a time. */
enum { ALIGNMENT = 64 };

bool linnet_staging_linked(const struct linnet_gradient *g) {
  return g->link && g->link->end;
}

/* --- create and destroy ------------------------------------------------------------------------------------------- */

static enum linnet_status create_on_host(struct linnet_gradient *g) {
  struct linnet_staging *s = g->staging;
  s->network = *g->network;
  s->network.device = linnet_host_device_of(g->context);
  LINNET_TRY(linnet_gradient_create(g->context, &s->network, NULL, &s->nodes));
  return linnet_gradient_join(&s->nodes, g->ranks, g->rounded);
}

/* One block for each rank. */
static enum linnet_status create_on_device(struct linnet_gradient *g) {
  struct linnet_gradient *nodes = &g->staging->nodes;
  const size_t size = g->network->parameters->size, ranks = linnet_ranks_count(g->ranks);
  *nodes = (struct linnet_gradient){
      .context = g->context, .network = g->network, .ranks = &g->link->direct, .rounded = g->rounded};
  nodes->division = (struct linnet_division){.size = size,
                                             .block = linnet_round_up(linnet_divide_up(size, ranks), ALIGNMENT),
                                             .buckets = 1,
                                             .rank = linnet_ranks_self(g->ranks),
                                             .num_ranks = ranks};
  LINNET_TRY(linnet_exchange_create(g->context, g->network, &nodes->division, &g->link->direct, &nodes->exchange));
  nodes->exchange.rounded = g->rounded;
  return LINNET_OK;
}

enum linnet_status linnet_staging_create(struct linnet_gradient *g) {
  g->staging = linnet_calloc(g->context, 1, sizeof *g->staging);
  if (!g->staging)
    return linnet_fail(g->context, LINNET_ERROR_MEMORY, "out of memory for the ranks");
  LINNET_TRY(linnet_staging_linked(g) ? create_on_device(g) : create_on_host(g));
  return linnet_gradient_reserve(g, 1);
}

void linnet_staging_destroy(struct linnet_staging *s) {
  if (!s)
    return;
  struct linnet_context *context = s->nodes.context;
  linnet_gradient_release(&s->nodes);
  linnet_free(context, s);
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

/* Sums within the shards of this rank. */
static void sum_own(struct linnet_gradient *g, const struct linnet_shards *shards, struct linnet_shard_tree *own) {
  linnet_shard_tree_begin(shards, g->ranks, linnet_ranks_self(g->ranks), g->shards, own);
  linnet_gradient_sum_own(g, 0, own);
  linnet_shard_tree_merge(own);
}

/* The nodes of *own are then copies on the host. */
static void download_nodes(struct linnet_gradient *g, struct linnet_shard_tree *own) {
  struct linnet_device *device = g->network->device;
  size_t count = 0;
  for (size_t s = own->begin; s < own->end; s++)
    if (own->nodes[s]) {
      real *copy = g->staging->nodes.shards[count++];
      device->ops->download(device, copy, own->nodes[s], g->network->parameters->size * sizeof *copy);
      own->nodes[s] = copy;
    }
}

/* nodes->sum becomes the whole sum. */
static enum linnet_status sum_nodes(struct linnet_gradient *nodes, const struct linnet_shard_tree *own) {
  struct linnet_shard_tree all;
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
  const bool linked = linnet_staging_linked(g);
  struct linnet_shard_tree own;
  if (status == LINNET_OK) {
    sum_own(g, shards, &own);
    if (!linked)
      download_nodes(g, &own);
    status = device->ops->wait(device, g->context);
  }
  LINNET_TRY(linnet_ranks_agree(g->ranks, status));
  g->sum = g->shards[0];
  nodes->sum = linked ? g->sum : nodes->shards[0];
  LINNET_TRY(sum_nodes(nodes, &own));
  if (linked)
    return linnet_link_wait(g->link);
  device->ops->upload(device, g->sum, nodes->sum, g->network->parameters->size * sizeof *g->sum);
  return LINNET_OK;
}
