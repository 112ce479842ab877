/* A call is cancelled at its first, second, third ... poll, until it reaches its end. It must report that it was
 * cancelled and free its memory, and the same call after it must give the same bytes as an uncancelled one. */
#ifndef LINNET_CANCELLING_H
#define LINNET_CANCELLING_H

#include "allocators.h"

/* Cancels once, at poll `stop_at`; the call must not depend on later answers. */
struct cancelling {
  struct failing_allocator allocator;
  size_t polls, stop_at;
  double share; /* the last that was reported */
  enum linnet_stage stage;
  bool backwards; /* a share was less than one before it, or out of 0 to 1 */
};

static inline int cancelling_cancel(void *user) {
  struct cancelling *c = user;
  return __atomic_fetch_add(&c->polls, 1, __ATOMIC_RELAXED) == c->stop_at;
}

static inline void cancelling_progress(void *user, enum linnet_stage stage, double share) {
  struct cancelling *c = user;
  c->backwards |= !(share >= 0 && share <= 1) || (stage == c->stage && share < c->share) || stage < c->stage;
  c->stage = stage;
  c->share = share;
}

static inline struct linnet_context *cancelling_context(struct cancelling *c, unsigned threads) {
  *c = (struct cancelling){.stop_at = SIZE_MAX, .allocator = {.left = SIZE_MAX}};
  struct linnet_context_settings settings = failing_settings(&c->allocator);
  struct linnet_context *made = NULL;
  settings.num_threads = threads;
  settings.cancel = cancelling_cancel;
  settings.cancel_user = c;
  settings.progress = cancelling_progress;
  settings.progress_user = c;
  if (threads > 1) { /* the allocator counts without locks */
    settings.reallocate = NULL;
    settings.reallocate_user = NULL;
  }
  REQUIRE(linnet_context_create(&settings, &made) == LINNET_OK, "no context");
  return made;
}

static inline void cancelling_begin(struct cancelling *c, size_t stop_at) {
  c->polls = 0;
  c->stop_at = stop_at;
  c->share = 0;
  c->stage = LINNET_STAGE_NETWORK;
}

/* Prepares `object`, for example by a reset, makes the call, and writes the result to `out` (bytes). */
typedef enum linnet_status (*cancelling_call)(void *object, void *out);

static inline void check_cancelling(const char *name, struct cancelling *c, struct linnet_context *caller,
                                    cancelling_call call, void *object, size_t bytes) {
  char *expected = calloc(bytes, 1), *got = malloc(bytes);
  size_t k = 0;
  cancelling_begin(c, SIZE_MAX);
  REQUIRE(call(object, expected) == LINNET_OK, "%s: %s", name, linnet_context_error(caller));
  size_t polls = c->polls, live = c->allocator.live;
  CHECK(polls > 1, "%s: %zu polls", name, polls);
  for (enum linnet_status status = LINNET_ERROR_CANCELLED; status != LINNET_OK && k < 100000; k++) {
    cancelling_begin(c, k);
    status = call(object, got);
    CHECK(status == (k < polls ? LINNET_ERROR_CANCELLED : LINNET_OK), "%s: status %d after poll %zu of %zu", name,
          (int)status, k, polls);
    CHECK(status == LINNET_OK || *linnet_context_error(caller), "%s: no sentence", name);
    cancelling_begin(c, SIZE_MAX);
    memset(got, 0, bytes);
    CHECK(call(object, got) == LINNET_OK && memcmp(got, expected, bytes) == 0, "%s: differs after poll %zu", name, k);
    CHECK(c->allocator.live == live, "%s: %zu blocks, %zu before, after poll %zu", name, c->allocator.live, live, k);
  }
  CHECK(!c->backwards, "%s: progress goes backwards", name);
  printf("%s: cancelled at %zu polls\n", name, polls);
  free(expected);
  free(got);
}

#endif
