/* Functions that every source file of the library uses: error messages, memory, logging, parallel loops. */
#ifndef LINNET_BASE_H
#define LINNET_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linnet/context.h>

#include "base/poll.h"

/* Stores an error message in the context and returns `status`: return linnet_fail(context, LINNET_ERROR_IO, "...").
 * `context` may be NULL. */
enum linnet_status linnet_fail(struct linnet_context *context, enum linnet_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__ /* The analyzer sees one file at a time, and would follow paths where a failure is           \
                             LINNET_OK. */
#define linnet_fail(context, status, ...) ((linnet_fail)(context, status, __VA_ARGS__), (status))
#endif

/* Forwards a failure: LINNET_TRY(f(...)); in a function that returns enum linnet_status and has nothing to undo. */
#define LINNET_TRY(call)                                                                                               \
  do {                                                                                                                 \
    enum linnet_status linnet_try_status_ = (call);                                                                    \
    if (linnet_try_status_ != LINNET_OK)                                                                               \
      return linnet_try_status_;                                                                                       \
  } while (0)

/* Copies the error message of one handle to another (worker to caller). */
void linnet_copy_error(struct linnet_context *to, const struct linnet_context *from);

void linnet_log(struct linnet_context *context, enum linnet_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Memory from the context's hook, aligned to 64 bytes. NULL without memory, and when count * bytes overflows. Zero
 * bytes give a valid block. linnet_free accepts NULL. linnet_alloc does not clear the block. */
void *linnet_alloc(struct linnet_context *context, size_t count, size_t bytes);
void *linnet_calloc(struct linnet_context *context, size_t count, size_t bytes);
void linnet_free(struct linnet_context *context, void *block);

/* Grows `block`, which holds *capacity elements, by half or more, to at least `needed`, keeping its contents. On
 * failure returns NULL and the old block stays valid. */
void *linnet_grow(struct linnet_context *context, void *block, size_t *capacity, size_t needed, size_t bytes);

char *linnet_strdup(struct linnet_context *context, const char *text);

/* Calls body(user, task, worker) for task = 0 ... tasks-1 on the context's pool, the caller included, and returns when
 * all are done. `worker` is in [0, threads) and no two run at once with the same value. Tasks start in order. From
 * inside a body, or while another handle uses the pool, everything runs in the caller with worker 0. */
typedef void (*linnet_task_fn)(void *user, size_t task, unsigned worker);
void linnet_parallel(struct linnet_context *context, size_t tasks, linnet_task_fn body, void *user);

/* A public call that can be cancelled begins with linnet_poll_begin. Between pieces of work, its threads ask whether
 * the caller's hook wants it to stop. After a stop, all further answers are the same until the next begin. */
void linnet_poll_begin(struct linnet_context *context);
bool linnet_poll_stopped(struct linnet_context *context);

/* The same for code without a context; NULL where there is no hook. Lives as long as the handle. */
const struct linnet_poll *linnet_poll_of(const struct linnet_context *context);

/* LINNET_ERROR_CANCELLED with a message if the call was stopped, else LINNET_OK. */
enum linnet_status linnet_poll_check(struct linnet_context *context);

/* From the thread that made the call. */
void linnet_progress(const struct linnet_context *context, enum linnet_stage stage, double share);

/* The table of CPU ops that the context chose; see backend/backend.h. */
struct linnet_ops;
const struct linnet_ops *linnet_context_ops(const struct linnet_context *context);

/* Where networks run: the CPU with those ops, or another device; see backend/device.h. */
struct linnet_device;
struct linnet_device *linnet_device_of(const struct linnet_context *context);
/* The CPU as a device, also where networks run on another one. */
struct linnet_device *linnet_host_device_of(const struct linnet_context *context);

/* Replaces the device by the result of `open`. It is closed with the last handle, and before `own` is released. For
 * tests. */
enum linnet_status linnet_context_use_device(struct linnet_context *context,
                                             enum linnet_status (*open)(struct linnet_context *own, int index,
                                                                        enum linnet_precision precision,
                                                                        struct linnet_device **device));

/* a * b and a + b, false on overflow. */
static inline bool linnet_mul_size(size_t a, size_t b, size_t *result) {
  return !__builtin_mul_overflow(a, b, result);
}
static inline bool linnet_add_size(size_t a, size_t b, size_t *result) {
  return !__builtin_add_overflow(a, b, result);
}

/* Whether the process can map `bytes` more now (RLIMIT_AS, RLIMIT_DATA, strict overcommit). Call it before a library
 * that does not survive a failed allocation. Nothing is reserved: another thread may take the memory afterwards, so ask
 * for several times the bytes that one caller needs. */
bool linnet_memory_available(size_t bytes);

#endif
