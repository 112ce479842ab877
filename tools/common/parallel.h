/* Processes files in parallel, which the public API leaves to its user, and writes their results in order. */
#ifndef LINNET_TOOL_PARALLEL_H
#define LINNET_TOOL_PARALLEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <linnet/context.h>

/* Calls body(user, task, worker, context) for task = 0 ... tasks-1; tasks start in this order. Uses as many threads as
 * the context has (at most `tasks`), each with its own context handle. After a body has returned non-zero, no more
 * tasks start. Returns the first non-zero result in the order of tasks, or 0; -1 if no thread could be started. */
typedef int (*tool_task_fn)(void *user, size_t task, unsigned worker, struct linnet_context *context);
int tool_parallel(struct linnet_context *context, size_t tasks, tool_task_fn body, void *user);

/* --- results in order --------------------------------------------------------------------------------------------- */

/* Texts arrive in any order, from any thread, and are written in the order of the inputs. */

struct ordered {
  FILE *stream;          /* NULL: nothing is written */
  pthread_mutex_t mutex; /* protects what follows */
  struct ordered_piece {
    char *text;
    size_t bytes;
    bool done;
  } * pieces; /* (capacity), held until all texts before it are written */
  size_t capacity, written;
  int error; /* errno of the first write that failed, 0; also after ordered_close */
};

void ordered_open(struct ordered *ordered, FILE *stream);

/* Takes the text of an item and frees it later; NULL: the item has none. Once per item; items begin at 0. False without
 * memory, after printing so. */
bool ordered_put(struct ordered *ordered, size_t item, char *text, size_t bytes);

/* Writes texts that wait for items which will not come, as after an interrupt. */
void ordered_close(struct ordered *ordered);

#endif
