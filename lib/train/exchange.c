/* Sums of gradients between ranks. */
#include "train/exchange.h"

#include "base/numbers.h"
#include "train/gradient.h"

enum linnet_status linnet_exchange_create(struct linnet_context *context, const struct linnet_network *network,
                                          const struct linnet_division *division, struct linnet_ranks *ranks,
                                          struct linnet_exchange *e) {
  const size_t count = linnet_ranks_count(ranks);
  *e = (struct linnet_exchange){.context = context, .network = network, .division = division, .ranks = ranks};
  e->send = linnet_calloc(context, count + 1, sizeof *e->send);
  e->receive = linnet_calloc(context, count + 1, sizeof *e->receive);
  e->lists = linnet_calloc(context, count, sizeof *e->lists);
  e->squares = linnet_calloc(context, linnet_division_blocks(division), sizeof *e->squares);
  return e->send && e->receive && e->lists && e->squares
             ? LINNET_OK
             : linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the ranks");
}

void linnet_exchange_release(struct linnet_exchange *e) {
  if (!e->context)
    return;
  struct linnet_device *device = e->network->device;
  void *blocks[] = {e->send, e->receive, e->lists, e->squares};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    linnet_free(e->context, blocks[i]);
  device->ops->free(device, e->received.data);
  device->ops->free(device, e->sent.data);
  *e = (struct linnet_exchange){0};
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static size_t most_nodes(const struct linnet_exchange *e) {
  size_t most = 0;
  for (size_t r = 0; r < linnet_ranks_count(e->ranks); r++)
    most = linnet_max_size(most, e->lists[r].count);
  return most;
}

bool linnet_exchange_begin(struct linnet_exchange *e, const struct linnet_shards *shards) {
  for (size_t r = 0; r < linnet_ranks_count(e->ranks); r++)
    linnet_shard_tree_list(shards, e->ranks, r, &e->lists[r]);
  return shards->count > e->num_shards || most_nodes(e) > e->num_nodes;
}

/* Received numbers of a node of each other rank. A number takes the space of a real, as it is expanded in place. */
static size_t stride(const struct linnet_exchange *e) {
  return (linnet_ranks_count(e->ranks) - 1) * linnet_division_max_part(e->division);
}

enum linnet_status linnet_exchange_reserve(struct linnet_exchange *e, const struct linnet_shards *shards) {
  struct linnet_device *device = e->network->device;
  size_t sent = e->rounded ? linnet_division_max_bucket(e->division) * sizeof(uint16_t) : 0;
  e->num_shards = linnet_max_size(e->num_shards, shards->count);
  e->num_nodes = linnet_max_size(e->num_nodes, most_nodes(e));
  return linnet_device_reserve(device, &e->received, e->num_nodes * stride(e) * sizeof(real)) &&
                 linnet_device_reserve(device, &e->sent, sent)
             ? LINNET_OK
             : linnet_fail(e->context, LINNET_ERROR_MEMORY, "out of memory for the gradients of other ranks");
}

/* --- bfloat16 ----------------------------------------------------------------------------------------------------- */

struct packing {
  struct linnet_device *device;
  const struct linnet_division *division;
  size_t first_block, first; /* of the bucket */
  const real *node;
  uint16_t *to;
};

static void task_pack(void *user, size_t task, unsigned worker) {
  const struct packing *p = user;
  size_t block = p->first_block + task, start = block * p->division->block;
  size_t n = linnet_division_length(p->division, block);
  (void)worker;
  p->device->ops->pack_bfloat16(p->device, n, p->node + start, p->to + start - p->first);
}

/* What is sent of a node at the parameters of a bucket. */
static const void *packed(struct linnet_exchange *e, size_t bucket, const real *node) {
  const struct linnet_division *d = e->division;
  struct packing p = {.device = e->network->device,
                      .division = d,
                      .first_block = linnet_division_first_block(d, bucket, 0),
                      .first = linnet_division_first(d, bucket, 0),
                      .node = node,
                      .to = e->sent.data};
  if (!e->rounded)
    return node + p.first;
  linnet_workers_run(e->context, e->network, linnet_division_first_block(d, bucket, d->num_ranks) - p.first_block,
                     task_pack, &p);
  return p.to;
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

static size_t number_bytes(const struct linnet_exchange *e) {
  return e->rounded ? sizeof(uint16_t) : sizeof(real);
}

/* Of node number `index` of each rank; ranks with fewer nodes send nothing. */
static void fill_offsets(const struct linnet_exchange *e, size_t bucket, size_t index) {
  const struct linnet_division *d = e->division;
  size_t first = linnet_division_first(d, bucket, 0), bytes = number_bytes(e);
  size_t part = linnet_division_first(d, bucket, d->rank + 1) - linnet_division_first(d, bucket, d->rank);
  for (size_t r = 0; r < d->num_ranks; r++) {
    const bool some = r != d->rank && index < e->lists[r].count;
    e->send[r + 1] = index < e->lists[d->rank].count ? (linnet_division_first(d, bucket, r + 1) - first) * bytes : 0;
    e->receive[r + 1] = e->receive[r] + (some ? part * bytes : 0);
  }
}

/* Exchanges the nodes number `index`, and puts those that come into the tree. `received` has space for them. */
static enum linnet_status exchange_nodes(struct linnet_exchange *e, size_t bucket, size_t index,
                                         const struct linnet_shard_tree *own, real *received,
                                         struct linnet_shard_tree *all) {
  const struct linnet_node_list *list = &e->lists[e->division->rank];
  const void *send = index < list->count ? packed(e, bucket, own->nodes[list->shards[index]]) : received;
  fill_offsets(e, bucket, index);
  LINNET_TRY(linnet_ranks_exchange(e->ranks, send, e->send, received, e->receive));
  const size_t bytes = number_bytes(e), count = linnet_ranks_count(e->ranks);
  struct linnet_device *device = e->network->device;
  if (e->rounded)
    device->ops->expand_bfloat16(device, e->receive[count] / bytes, received);
  for (size_t r = 0; r < count; r++)
    if (e->receive[r + 1] > e->receive[r])
      all->nodes[e->lists[r].shards[index]] = received + e->receive[r] / bytes;
  return LINNET_OK;
}

enum linnet_status linnet_exchange_bucket(struct linnet_exchange *e, size_t bucket, const struct linnet_shard_tree *own,
                                          struct linnet_shard_tree *all) {
  const size_t first = linnet_division_first(e->division, bucket, e->division->rank);
  real *received = e->received.data;
  all->begin = 0;
  all->end = e->num_shards;
  for (size_t s = 0; s < all->end; s++)
    all->nodes[s] = s >= own->begin && s < own->end && own->nodes[s] ? own->nodes[s] + first : NULL;
  for (size_t index = 0; index < most_nodes(e); index++)
    LINNET_TRY(exchange_nodes(e, bucket, index, own, received + index * stride(e), all));
  return LINNET_OK;
}

/* --- squares ------------------------------------------------------------------------------------------------------ */

/* Copies between squares and the order in which they are sent, and sets the offsets of the ranks in it. */
static void order_squares(struct linnet_exchange *e, double *squares, bool received) {
  const struct linnet_division *d = e->division;
  size_t at = 0;
  for (size_t r = 0; r < d->num_ranks; r++) {
    e->ranks->offsets[r] = at * sizeof *squares;
    for (size_t k = 0; k < d->buckets; k++)
      for (size_t b = linnet_division_first_block(d, k, r); b < linnet_division_first_block(d, k, r + 1); b++, at++)
        *(received ? &squares[b] : &e->squares[at]) = received ? e->squares[at] : squares[b];
  }
  e->ranks->offsets[d->num_ranks] = at * sizeof *squares;
}

enum linnet_status linnet_exchange_squares(struct linnet_exchange *e, double *squares) {
  order_squares(e, squares, false);
  LINNET_TRY(linnet_ranks_gather(e->ranks, e->squares));
  order_squares(e, squares, true);
  return LINNET_OK;
}
