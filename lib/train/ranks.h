/* What a trainer does together with the other ranks of its group (linnet/group.h). With one rank all of it is free.
 *
 * A failure of one rank must become one of all, or the others wait for ever. So a rank that fails alone continues to
 * linnet_ranks_agree, where all ranks learn of it and return. */
#ifndef LINNET_RANKS_H
#define LINNET_RANKS_H

#include <linnet/group.h>

#include "base/base.h"

struct linnet_ranks {
  struct linnet_context *context;
  struct linnet_group group; /* num_ranks is at least 1 */
  size_t *offsets;           /* (num_ranks + 1), for linnet_ranks_gather */
  unsigned char *votes;      /* (num_ranks, 2), workspace */
  double seconds, waiting;   /* in gather and exchange; in the others, most of which is waiting for slower ranks */
  double hidden;             /* of `seconds`, while this rank computed */
  uint64_t bytes;            /* that this rank sent in gather and exchange */
};

/* `group` NULL: one rank. */
enum linnet_status linnet_ranks_create(struct linnet_context *context, const struct linnet_group *group,
                                       struct linnet_ranks *ranks);
void linnet_ranks_release(struct linnet_ranks *ranks);

/* NULL is one rank, here and below. */
static inline size_t linnet_ranks_count(const struct linnet_ranks *ranks) {
  return ranks ? ranks->group.num_ranks : 1;
}
static inline size_t linnet_ranks_self(const struct linnet_ranks *ranks) {
  return ranks ? ranks->group.rank : 0;
}

/* The first of `count` items that are rank r's when the ranks divide them; `count` for r = num_ranks. */
static inline size_t linnet_ranks_first(const struct linnet_ranks *ranks, size_t count, size_t r) {
  return count * r / linnet_ranks_count(ranks);
}

/* The first failure of a rank, other than LINNET_ERROR_CANCELLED if there is one, with its message. LINNET_OK if all
 * ranks say so. */
enum linnet_status linnet_ranks_agree(struct linnet_ranks *ranks, enum linnet_status status);

/* The same, but a rank that wants to stop, with LINNET_ERROR_CANCELLED, has not failed: *stop says on all ranks whether
 * one wants to. *first becomes that of rank 0. */
enum linnet_status linnet_ranks_vote(struct linnet_ranks *ranks, enum linnet_status status, bool *stop, bool *first);

/* Copies `bytes` of rank 0 to all ranks. */
enum linnet_status linnet_ranks_share(struct linnet_ranks *ranks, void *data, size_t bytes);

/* Bytes ranks->offsets[r] ... of `data`, which the caller has filled in for all ranks, become those of rank r. */
enum linnet_status linnet_ranks_gather(struct linnet_ranks *ranks, void *data);

/* As in struct linnet_group. */
enum linnet_status linnet_ranks_exchange(struct linnet_ranks *ranks, const void *send, const size_t *send_offsets,
                                         void *receive, const size_t *receive_offsets);

/* Seconds of a clock that never goes back. */
double linnet_train_clock(void);

#endif
