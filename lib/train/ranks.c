/* Agreement and collective operations of the ranks that train together. */
#include "train/ranks.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/numbers.h"
#include "base/settings.h"

double linnet_train_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool single(const struct linnet_ranks *ranks) {
  return linnet_ranks_count(ranks) == 1;
}

static enum linnet_status check_group(struct linnet_context *context, const struct linnet_group *g) {
  if (g->num_ranks == 0 || g->rank >= g->num_ranks || !g->gather || !g->exchange)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "struct linnet_group: rank %zu of %zu; both operations and at least one rank are needed",
                       g->rank, g->num_ranks);
  return LINNET_OK;
}

enum linnet_status linnet_ranks_create(struct linnet_context *context, const struct linnet_group *group,
                                       struct linnet_ranks *ranks) {
  *ranks = (struct linnet_ranks){.context = context, .group.num_ranks = 1};
  LINNET_TRY(linnet_settings_read(context, "struct linnet_group", group, &ranks->group, sizeof ranks->group));
  if (group)
    LINNET_TRY(check_group(context, &ranks->group));
  ranks->offsets = linnet_calloc(context, ranks->group.num_ranks + 1, sizeof *ranks->offsets);
  ranks->votes = linnet_calloc(context, ranks->group.num_ranks, 2);
  return ranks->offsets && ranks->votes ? LINNET_OK
                                        : linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the ranks");
}

void linnet_ranks_release(struct linnet_ranks *ranks) {
  if (ranks->context) {
    linnet_free(ranks->context, ranks->offsets);
    linnet_free(ranks->context, ranks->votes);
  }
  *ranks = (struct linnet_ranks){0};
}

/* --- operations --------------------------------------------------------------------------------------------------- */

static enum linnet_status finish(struct linnet_ranks *ranks, int failed, double *seconds, double started) {
  *seconds += linnet_train_clock() - started;
  if (failed == 0)
    return LINNET_OK;
  return linnet_fail(ranks->context, LINNET_ERROR_DEVICE,
                     "rank %zu of %zu: %s; start all again to continue from the last checkpoint", ranks->group.rank,
                     ranks->group.num_ranks,
                     failed == ETIMEDOUT ? "the other ranks did not answer in time: one of them, or the network, hangs"
                                         : "the connection to the other ranks failed: one of them ended");
}

static enum linnet_status gather(struct linnet_ranks *ranks, void *data, double *seconds) {
  double started = linnet_train_clock();
  return finish(ranks, ranks->group.gather(ranks->group.user, data, ranks->offsets), seconds, started);
}

enum linnet_status linnet_ranks_gather(struct linnet_ranks *ranks, void *data) {
  if (single(ranks))
    return LINNET_OK;
  const size_t *own = ranks->offsets + ranks->group.rank;
  ranks->bytes += (own[1] - own[0]) * (ranks->group.num_ranks - 1);
  return gather(ranks, data, &ranks->seconds);
}

enum linnet_status linnet_ranks_exchange(struct linnet_ranks *ranks, const void *send, const size_t *send_offsets,
                                         void *receive, const size_t *receive_offsets) {
  double started = linnet_train_clock();
  const struct linnet_group *g = &ranks->group;
  ranks->bytes += send_offsets[g->num_ranks] - (send_offsets[g->rank + 1] - send_offsets[g->rank]);
  return finish(ranks, g->exchange(g->user, send, send_offsets, receive, receive_offsets), &ranks->seconds, started);
}

/* Gathers `bytes` of votes of each rank. */
static enum linnet_status gather_votes(struct linnet_ranks *ranks, size_t bytes) {
  for (size_t r = 0; r <= ranks->group.num_ranks; r++)
    ranks->offsets[r] = r * bytes;
  return gather(ranks, ranks->votes, &ranks->waiting);
}

enum linnet_status linnet_ranks_share(struct linnet_ranks *ranks, void *data, size_t bytes) {
  if (single(ranks))
    return LINNET_OK;
  for (size_t r = 0; r <= ranks->group.num_ranks; r++)
    ranks->offsets[r] = r > 0 ? bytes : 0;
  return gather(ranks, data, &ranks->waiting);
}

/* --- agreement ---------------------------------------------------------------------------------------------------- */

/* The rank whose failure is reported: the first that failed, those that were cancelled last. A rank has `stride`
 * votes, of which the first is its status. */
static size_t failed_rank(const unsigned char *votes, size_t count, size_t stride) {
  size_t found = count;
  for (size_t r = 0; r < count; r++)
    if (votes[r * stride] != LINNET_OK && (found == count || (votes[found * stride] == LINNET_ERROR_CANCELLED &&
                                                              votes[r * stride] != LINNET_ERROR_CANCELLED)))
      found = r;
  return found;
}

/* All ranks get the message of rank `failed`. */
static enum linnet_status share_message(struct linnet_ranks *ranks, size_t failed, enum linnet_status status) {
  char message[LINNET_ERROR_BYTES] = "";
  if (ranks->group.rank == failed)
    memcpy(message, linnet_context_error(ranks->context),
           linnet_min_size(strlen(linnet_context_error(ranks->context)), sizeof message - 1));
  for (size_t r = 0; r <= ranks->group.num_ranks; r++)
    ranks->offsets[r] = r > failed ? sizeof message : 0;
  LINNET_TRY(gather(ranks, message, &ranks->waiting));
  return linnet_fail(ranks->context, status, "rank %zu: %s", failed, message);
}

enum linnet_status linnet_ranks_agree(struct linnet_ranks *ranks, enum linnet_status status) {
  if (single(ranks))
    return status;
  ranks->votes[ranks->group.rank] = (unsigned char)status;
  LINNET_TRY(gather_votes(ranks, 1));
  const size_t failed = failed_rank(ranks->votes, ranks->group.num_ranks, 1);
  if (failed == ranks->group.num_ranks)
    return LINNET_OK;
  return share_message(ranks, failed, (enum linnet_status)ranks->votes[failed]);
}

enum linnet_status linnet_ranks_vote(struct linnet_ranks *ranks, enum linnet_status status, bool *stop, bool *first) {
  *stop = status == LINNET_ERROR_CANCELLED;
  if (single(ranks))
    return *stop ? LINNET_OK : status;
  unsigned char *own = ranks->votes + 2 * ranks->group.rank;
  own[0] = (unsigned char)status, own[1] = *first;
  LINNET_TRY(gather_votes(ranks, 2));
  *first = ranks->votes[1];
  const size_t found = failed_rank(ranks->votes, ranks->group.num_ranks, 2);
  if (found == ranks->group.num_ranks)
    return LINNET_OK;
  status = (enum linnet_status)ranks->votes[2 * found];
  *stop = status == LINNET_ERROR_CANCELLED;
  return *stop ? LINNET_OK : share_message(ranks, found, status);
}
