/* A group of ranks (linnet/group.h) that are threads of this process. */
#ifndef LINNET_TEST_THREAD_GROUP_H
#define LINNET_TEST_THREAD_GROUP_H

#include <pthread.h>
#include <string.h>

#include <linnet/group.h>

#include "base/base.h"
#include "test.h"

enum { MAX_RANKS = 8 };

/* What a rank gives to the operation that runs. */
struct thread_part {
  const void *data;
  const size_t *offsets;
};

struct thread_group {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  size_t num_ranks, arrived, meetings, operations;
  size_t fail_at; /* the operation at which rank fail_rank fails; 0: never */
  size_t fail_rank;
  bool failed;
  struct thread_part parts[MAX_RANKS];
  struct thread_rank {
    struct thread_group *group;
    size_t rank, operations;
  } ranks[MAX_RANKS];
};

/* Waits for all ranks; false if one failed. */
static inline bool thread_group_meet(struct thread_group *g) {
  pthread_mutex_lock(&g->mutex);
  size_t meeting = g->meetings;
  if (++g->arrived == g->num_ranks) {
    g->arrived = 0;
    g->meetings++;
    pthread_cond_broadcast(&g->changed);
  }
  while (meeting == g->meetings && !g->failed)
    pthread_cond_wait(&g->changed, &g->mutex);
  bool good = !g->failed;
  pthread_mutex_unlock(&g->mutex);
  return good;
}

/* A rank that leaves the group, as a process that dies: all operations fail from now on. */
static inline void thread_group_leave(struct thread_group *g) {
  pthread_mutex_lock(&g->mutex);
  g->failed = true;
  pthread_cond_broadcast(&g->changed);
  pthread_mutex_unlock(&g->mutex);
}

/* The operations that a rank has begun. */
static inline size_t thread_group_operations(const struct thread_rank *r) {
  return __atomic_load_n(&r->operations, __ATOMIC_ACQUIRE);
}

static inline bool thread_group_begin(struct thread_rank *r, const void *data, const size_t *offsets) {
  struct thread_group *g = r->group;
  g->parts[r->rank] = (struct thread_part){data, offsets};
  if (__atomic_add_fetch(&r->operations, 1, __ATOMIC_ACQ_REL) == g->fail_at && r->rank == g->fail_rank)
    thread_group_leave(g);
  return thread_group_meet(g);
}

static inline int thread_group_gather(void *user, void *data, const size_t *offsets) {
  struct thread_rank *r = user;
  struct thread_group *g = r->group;
  if (!thread_group_begin(r, data, offsets))
    return 1;
  for (size_t from = 0; from < g->num_ranks; from++) {
    CHECK(memcmp(g->parts[from].offsets, offsets, (g->num_ranks + 1) * sizeof *offsets) == 0, "offsets differ");
    if (from != r->rank && offsets[from + 1] > offsets[from])
      memcpy((char *)data + offsets[from], (const char *)g->parts[from].data + offsets[from],
             offsets[from + 1] - offsets[from]);
  }
  return thread_group_meet(g) ? 0 : 1;
}

static inline int thread_group_exchange(void *user, const void *send, const size_t *send_offsets, void *receive,
                                        const size_t *receive_offsets) {
  struct thread_rank *r = user;
  struct thread_group *g = r->group;
  if (!thread_group_begin(r, send, send_offsets))
    return 1;
  for (size_t from = 0; from < g->num_ranks; from++) {
    const struct thread_part *part = &g->parts[from];
    size_t bytes = part->offsets[r->rank + 1] - part->offsets[r->rank];
    CHECK(from == r->rank || bytes == receive_offsets[from + 1] - receive_offsets[from], "sizes differ");
    if (from != r->rank && bytes > 0)
      memcpy((char *)receive + receive_offsets[from], (const char *)part->data + part->offsets[r->rank], bytes);
  }
  return thread_group_meet(g) ? 0 : 1;
}

static inline void thread_group_init(struct thread_group *g, size_t num_ranks) {
  *g = (struct thread_group){.num_ranks = num_ranks};
  pthread_mutex_init(&g->mutex, NULL);
  pthread_cond_init(&g->changed, NULL);
  for (size_t r = 0; r < num_ranks; r++)
    g->ranks[r] = (struct thread_rank){g, r, 0};
}

static inline void thread_group_release(struct thread_group *g) {
  pthread_cond_destroy(&g->changed);
  pthread_mutex_destroy(&g->mutex);
}

static inline struct linnet_group thread_group_of(struct thread_group *g, size_t rank) {
  return (struct linnet_group){.size = sizeof(struct linnet_group),
                               .user = &g->ranks[rank],
                               .rank = rank,
                               .num_ranks = g->num_ranks,
                               .gather = thread_group_gather,
                               .exchange = thread_group_exchange,
                               .any_thread = 1};
}

#endif
