/* Links the GPUs of ranks. */
#include "train/link.h"

#include <string.h>

#include "base/c_locale.h"

/* --- the group ---------------------------------------------------------------------------------------------------- */

static int gather(void *user, void *data, const size_t *offsets) {
  const struct linnet_link *link = user;
  link->device->ops->link->gather(link->end, data, offsets);
  return 0;
}

static int exchange(void *user, const void *send, const size_t *send_offsets, void *receive,
                    const size_t *receive_offsets) {
  const struct linnet_link *link = user;
  link->device->ops->link->exchange(link->end, send, send_offsets, receive, receive_offsets);
  return 0;
}

static enum linnet_status create_group(struct linnet_link *link) {
  const struct linnet_group group = {.size = sizeof group,
                                     .user = link,
                                     .rank = linnet_ranks_self(link->ranks),
                                     .num_ranks = linnet_ranks_count(link->ranks),
                                     .gather = gather,
                                     .exchange = exchange};
  return linnet_ranks_create(link->ranks->context, &group, &link->direct);
}

static enum linnet_status wait_for_link(struct linnet_link *link) {
  struct linnet_ranks *ranks = link->ranks;
  const struct linnet_link_ops *ops = link->device->ops->link;
  LINNET_TRY(linnet_ranks_agree(ranks, ops->check(link->end, ranks->context)));
  const double started = linnet_train_clock();
  const enum linnet_status status = ops->wait(link->end, ranks->context);
  ranks->seconds += linnet_train_clock() - started;
  ranks->bytes += link->direct.bytes;
  link->direct.bytes = 0;
  return linnet_ranks_agree(ranks, status);
}

enum linnet_status linnet_link_wait(struct linnet_link *link) {
  enum linnet_status status = wait_for_link(link);
  if (status != LINNET_OK)
    link->device->ops->link->abort(link->end);
  return status;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* ends (ranks). The same on all ranks. */
static enum linnet_status compare(struct linnet_context *context, const struct linnet_link_end *ends, size_t count) {
  for (size_t b = 1; b < count; b++) {
    for (size_t a = 0; a < b; a++)
      if (memcmp(ends[a].device, ends[b].device, sizeof ends->device) == 0)
        return linnet_fail(context, LINNET_ERROR_UNSUPPORTED, "ranks %zu and %zu share a GPU", a, b);
    if (memcmp(ends[0].library, ends[b].library, sizeof ends->library) != 0)
      return linnet_fail(context, LINNET_ERROR_UNSUPPORTED, "rank 0 has %s, rank %zu has %s", ends[0].library, b,
                         ends[b].library);
  }
  return LINNET_OK;
}

static enum linnet_status gather_ends(struct linnet_ranks *ranks, struct linnet_link_end *ends) {
  const size_t count = linnet_ranks_count(ranks);
  for (size_t r = 0; r <= count; r++)
    ranks->offsets[r] = r * sizeof *ends;
  LINNET_TRY(linnet_ranks_gather(ranks, ends));
  return compare(ranks->context, ends, count);
}

/* Between points where ranks agree, each calls what may fail on it alone. */
static enum linnet_status connect_ends(struct linnet_link *link, struct linnet_link_end *ends) {
  struct linnet_ranks *ranks = link->ranks;
  const struct linnet_link_ops *ops = link->device->ops->link;
  const size_t self = linnet_ranks_self(ranks);
  unsigned char id[LINNET_LINK_ID_BYTES] = {0};
  enum linnet_status status = ends ? ops->create(link->device, ranks->context, &ends[self], &link->end)
                                   : linnet_fail(ranks->context, LINNET_ERROR_MEMORY, "out of memory for the ranks");
  LINNET_TRY(linnet_ranks_agree(ranks, status));
  LINNET_TRY(gather_ends(ranks, ends));
  status = create_group(link);
  LINNET_TRY(
      linnet_ranks_agree(ranks, status == LINNET_OK && self == 0 ? ops->name(link->end, ranks->context, id) : status));
  LINNET_TRY(linnet_ranks_share(ranks, id, sizeof id));
  return linnet_ranks_agree(ranks, ops->open(link->end, ranks->context, id, self, linnet_ranks_count(ranks)));
}

static enum linnet_status connect_devices(struct linnet_link *link) {
  struct linnet_context *context = link->ranks->context;
  struct linnet_link_end *ends = linnet_calloc(context, linnet_ranks_count(link->ranks), sizeof *ends);
  link->device->ops->lock(link->device);
  enum linnet_status status = connect_ends(link, ends);
  link->device->ops->unlock(link->device);
  if (status == LINNET_OK)
    linnet_format(link->way, sizeof link->way, "after the backward pass, from GPU to GPU by %s", ends->library);
  linnet_free(context, ends);
  return status;
}

static void through_host(struct linnet_link *link, const char *why) {
  linnet_format(link->way, sizeof link->way, "after the backward pass, through host memory: %s", why);
}

enum linnet_status linnet_link_open(struct linnet_link *link, struct linnet_ranks *ranks, struct linnet_device *device,
                                    enum linnet_train_gpu_exchange how) {
  *link = (struct linnet_link){.ranks = ranks, .device = device};
  if (linnet_ranks_count(ranks) == 1)
    return LINNET_OK;
  if (!device->ops->link) {
    linnet_format(link->way, sizeof link->way, "%s the backward pass", ranks->group.any_thread ? "during" : "after");
    return LINNET_OK;
  }
  if (how == LINNET_TRAIN_EXCHANGE_HOST) {
    through_host(link, "gpu_exchange is host");
    return LINNET_OK;
  }
  enum linnet_status status = connect_devices(link);
  if (status != LINNET_ERROR_UNSUPPORTED || how == LINNET_TRAIN_EXCHANGE_NCCL)
    return status;
  linnet_link_close(link);
  through_host(link, linnet_context_error(ranks->context));
  return LINNET_OK;
}

void linnet_link_close(struct linnet_link *link) {
  if (link->end)
    link->device->ops->link->destroy(link->end);
  linnet_ranks_release(&link->direct);
  link->end = NULL;
}
