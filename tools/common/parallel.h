/* Processes files in parallel; the public API leaves this to its user. */
#ifndef LINNET_TOOL_PARALLEL_H
#define LINNET_TOOL_PARALLEL_H

#include <stddef.h>

#include <linnet/context.h>

/* Calls body(user, task, worker, context) for task = 0 ... tasks-1; tasks start in this order. Uses as many threads as
 * the context has (at most `tasks`), each with its own context handle. After a body has returned non-zero, no more
 * tasks start. Returns the first non-zero result in the order of tasks, or 0; -1 if no thread could be started. */
typedef int (*tool_task_fn)(void *user, size_t task, unsigned worker, struct linnet_context *context);
int tool_parallel(struct linnet_context *context, size_t tasks, tool_task_fn body, void *user);

#endif
