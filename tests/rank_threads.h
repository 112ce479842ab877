/* Trainings by several ranks that are threads of this process. */
#ifndef LINNET_TEST_RANK_THREADS_H
#define LINNET_TEST_RANK_THREADS_H

#include "allocators.h"
#include "model/parameters.h"
#include "small_training.h"
#include "thread_group.h"
#include "train/gradient.h"

struct rank_thread {
  struct thread_group *group;
  struct linnet_group own;
  struct run run;
  const char *folder;
  struct usage usage; /* of memory, if it is counted */
  size_t held;        /* bytes after the trainer was created */
  struct linnet_network network;
  struct linnet_reduction reduction;
};

static inline void *run_rank(void *user) {
  struct rank_thread *t = user;
  t->run.group = &t->own;
  train(&t->run, t->folder);
  return NULL;
}

/* Changes what one rank has; may be NULL. */
typedef void change_fn(struct rank_thread *thread);

/* Runs `body` for `count` ranks; threads[r].run is afterwards that of rank r. */
static inline void run_threads(const struct run *run, size_t count, const char *folder, change_fn *change,
                               size_t fail_at, struct rank_thread threads[MAX_RANKS], void *(*body)(void *thread)) {
  struct thread_group group;
  pthread_t handles[MAX_RANKS];
  thread_group_init(&group, count);
  group.fail_at = fail_at;
  group.fail_rank = count - 1;
  for (size_t r = 0; r < count; r++) {
    threads[r] = (struct rank_thread){.group = &group, .own = thread_group_of(&group, r), .run = *run};
    threads[r].folder = r == 0 ? folder : "/nonexistent"; /* only rank 0 has files */
    if (change)
      change(&threads[r]);
  }
  for (size_t r = 0; r < count; r++)
    REQUIRE(pthread_create(&handles[r], NULL, body, &threads[r]) == 0, "thread");
  for (size_t r = 0; r < count; r++)
    pthread_join(handles[r], NULL);
  thread_group_release(&group);
}

static inline void train_ranks(const struct run *run, size_t count, const char *folder, change_fn *change,
                               size_t fail_at, struct rank_thread threads[MAX_RANKS]) {
  run_threads(run, count, folder, change, fail_at, threads, run_rank);
}

static inline void check_all(const struct rank_thread *threads, size_t count, enum linnet_status status,
                             const char *part) {
  for (size_t r = 0; r < count; r++)
    CHECK(threads[r].run.status == status && strstr(threads[r].run.error, part), "rank %zu: status %d, not %d: %s", r,
          (int)threads[r].run.status, (int)status, threads[r].run.error);
}

#endif
