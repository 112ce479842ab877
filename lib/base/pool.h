/* The thread pool behind linnet_parallel. */
#ifndef LINNET_POOL_H
#define LINNET_POOL_H

#include "base/base.h"

struct linnet_pool;

/* `threads` (at least 1) counts the caller: 1 starts none. The pool stores the hook that its memory comes from, to
 * release it. The only error is LINNET_ERROR_MEMORY; fewer threads than requested are not an error. */
enum linnet_status linnet_pool_create(linnet_reallocate_fn reallocate, void *user, unsigned threads,
                                      struct linnet_pool **pool);
unsigned linnet_pool_threads(const struct linnet_pool *pool);
void linnet_pool_run(struct linnet_pool *pool, size_t tasks, linnet_task_fn body, void *user);
void linnet_pool_destroy(struct linnet_pool *pool);

#endif
