/* The hook by which code without a context finds out that its caller wants to stop. */
#ifndef LINNET_POLL_H
#define LINNET_POLL_H

#include <stdbool.h>
#include <stddef.h>

/* Called between pieces of work, from any thread. Code that stops leaves unfinished results, which its caller
 * discards. */
struct linnet_poll {
  bool (*stopped)(void *user);
  void *user;
};

/* `poll` NULL: the work cannot be stopped. */
static inline bool linnet_stopped(const struct linnet_poll *poll) {
  return poll && poll->stopped(poll->user);
}

#endif
