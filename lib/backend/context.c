/* Contexts: handles with hooks on a shared core, which holds the allocator, log callback, thread pool, kernels and
 * device.
 * base/base.h declares what the rest of the library sees of them. */
#define _GNU_SOURCE /* sched_getaffinity; NOLINT(bugprone-reserved-identifier): the name is the C library's */
#include "base/base.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/device.h"
#include "base/pool.h"
#include "base/settings.h"

#define MAX_THREADS 256

/* The longest sentence whose end is known, and what a shortened one keeps of its beginning. */
enum { SENTENCE_BYTES = 8192, HEAD_BYTES = 160 };

struct core;

struct hooks {
  linnet_cancel_fn cancel;
  void *cancel_user;
  linnet_progress_fn progress;
  void *progress_user;
};

struct linnet_context {
  struct core *core;
  struct hooks hooks;
  struct linnet_poll poll;
  bool stopped; /* atomic: the caller's hook asked to stop the running call */
  char error[LINNET_ERROR_BYTES];
};

/* Shared by all handles; the last handle frees it. */
struct core {
  linnet_reallocate_fn reallocate;
  void *reallocate_user;
  linnet_log_fn log;
  void *log_user;
  const struct linnet_ops *ops;
  struct linnet_pool *pool;
  struct linnet_context own; /* the handle that devices use, since they outlive all others; not counted */
  struct linnet_cpu_device cpu;
  struct linnet_device *device; /* cpu.base, or another one */
  unsigned handles;             /* atomic */
};

static bool poll_stopped(void *context) {
  return linnet_poll_stopped(context);
}

static void *default_reallocate(void *user, void *pointer, size_t bytes) {
  (void)user;
  if (bytes == 0) {
    free(pointer);
    return NULL;
  }
  return realloc(pointer, bytes);
}

/* Processors that the process may use: a scheduler or a container may give it fewer than there are. */
static unsigned usable_processors(void) {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) == 0)
    n = CPU_COUNT(&usable);
#endif
  return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (unsigned)n;
}

void(linnet_context_settings_default)(struct linnet_context_settings *settings, size_t size) {
  const struct linnet_context_settings defaults = {.size = sizeof defaults};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

static enum linnet_status out_of_memory(struct linnet_context *failed) {
  return linnet_fail(failed, LINNET_ERROR_MEMORY, "linnet_context_create: out of memory");
}

static enum linnet_status core_create(struct linnet_context *failed, const struct linnet_context_settings *settings,
                                      struct core **result) {
  linnet_reallocate_fn reallocate = settings->reallocate ? settings->reallocate : default_reallocate;
  bool best = !settings->kernels || strcmp(settings->kernels, "auto") == 0;
  const struct linnet_ops *ops = best ? linnet_cpu_best_ops(settings->precision) : linnet_cpu_ops(settings->kernels);
  if (!ops)
    return linnet_fail(failed, LINNET_ERROR_UNSUPPORTED,
                       "kernels \"%.40s\": unknown, not in this build, not for this processor, or memory is too small; "
                       "\"auto\" always works",
                       settings->kernels);
  struct core *core = reallocate(settings->reallocate_user, NULL, sizeof *core);
  if (!core)
    return out_of_memory(failed);
  *core = (struct core){
      .reallocate = reallocate,
      .reallocate_user = settings->reallocate_user,
      .log = settings->log,
      .log_user = settings->log_user,
      .ops = ops,
      .own = {.core = core,
              .hooks = {settings->cancel, settings->cancel_user, settings->progress, settings->progress_user}}};
  core->cpu = linnet_cpu_device(&core->own, ops);
  core->device = &core->cpu.base;
  *result = core;
  return LINNET_OK;
}

static void core_release(struct core *core) {
  if (__atomic_sub_fetch(&core->handles, 1, __ATOMIC_ACQ_REL) > 0)
    return;
  linnet_device_close(core->device);
  linnet_pool_destroy(core->pool);
  core->reallocate(core->reallocate_user, core, 0);
}

/* A handle with the core and the hooks of another one. */
static enum linnet_status handle_create(const struct linnet_context *like, struct linnet_context **result) {
  struct core *core = like->core;
  struct linnet_context *context = core->reallocate(core->reallocate_user, NULL, sizeof *context);
  *result = context;
  if (!context)
    return LINNET_ERROR_MEMORY;
  *context = (struct linnet_context){.core = core, .hooks = like->hooks, .poll = {poll_stopped, context}};
  __atomic_add_fetch(&core->handles, 1, __ATOMIC_ACQ_REL);
  return LINNET_OK;
}

/* A failure writes its message into `failed`. */
static enum linnet_status open_device(struct linnet_context *failed, struct core *core,
                                      const struct linnet_context_settings *settings) {
  struct linnet_device *device = NULL;
  enum linnet_status status = linnet_device_open(&core->own, settings->device, settings->precision, &device);
  if (device)
    core->device = device;
  linnet_copy_error(failed, &core->own);
  return status;
}

static enum linnet_status check_settings(struct linnet_context *failed,
                                         const struct linnet_context_settings *settings) {
  if (settings->num_threads > MAX_THREADS)
    return linnet_fail(failed, LINNET_ERROR_ARGUMENT, "%zu threads; there must be at most %d (0: one per processor)",
                       settings->num_threads, MAX_THREADS);
  if ((unsigned)settings->precision > LINNET_INT8)
    return linnet_fail(failed, LINNET_ERROR_ARGUMENT,
                       "precision %d is unknown; it must be 0 to %d (enum linnet_precision)", (int)settings->precision,
                       (int)LINNET_INT8);
  return LINNET_OK;
}

static enum linnet_status create(struct linnet_context *failed, const struct linnet_context_settings *settings,
                                 struct linnet_context **context) {
  struct core *core = NULL;
  LINNET_TRY(check_settings(failed, settings));
  LINNET_TRY(core_create(failed, settings, &core));
  if (handle_create(&core->own, context) != LINNET_OK) {
    core->reallocate(core->reallocate_user, core, 0);
    return out_of_memory(failed);
  }
  enum linnet_status status =
      linnet_pool_create(core->reallocate, core->reallocate_user,
                         settings->num_threads ? (unsigned)settings->num_threads : usable_processors(), &core->pool);
  status = status == LINNET_OK ? open_device(failed, core, settings) : out_of_memory(failed);
  if (status != LINNET_OK) {
    linnet_context_destroy(*context);
    *context = NULL;
  }
  return status;
}

enum linnet_status linnet_context_create(const struct linnet_context_settings *settings,
                                         struct linnet_context **context) {
  if (context)
    *context = NULL;
  if (!context)
    return LINNET_ERROR_ARGUMENT;
  struct linnet_context failed = {.error = ""};
  struct linnet_context_settings own;
  enum linnet_status status = LINNET_READ_SETTINGS(&failed, context, settings, &own);
  if (status == LINNET_OK)
    status = create(&failed, &own, context);
  if (own.error && own.error_bytes > 0)
    snprintf(own.error, own.error_bytes, "%s", failed.error);
  if (status != LINNET_OK && own.log)
    own.log(own.log_user, LINNET_LOG_ERROR, failed.error);
  return status;
}

enum linnet_status linnet_context_share(struct linnet_context *context, struct linnet_context **shared) {
  if (shared)
    *shared = NULL;
  return context && shared ? handle_create(context, shared) : LINNET_ERROR_ARGUMENT;
}

void linnet_context_set_cancel(struct linnet_context *context, linnet_cancel_fn cancel, void *user) {
  context->hooks.cancel = cancel;
  context->hooks.cancel_user = user;
}

void linnet_context_set_progress(struct linnet_context *context, linnet_progress_fn progress, void *user) {
  context->hooks.progress = progress;
  context->hooks.progress_user = user;
}

void linnet_context_destroy(struct linnet_context *context) {
  if (!context)
    return;
  struct core *core = context->core;
  core->reallocate(core->reallocate_user, context, 0);
  core_release(core);
}

const char *linnet_context_error(const struct linnet_context *context) {
  return context ? context->error : "";
}

size_t linnet_context_num_threads(const struct linnet_context *context) {
  return linnet_pool_threads(context->core->pool);
}

const char *linnet_context_kernels(const struct linnet_context *context) {
  return context->core->ops->name;
}

enum linnet_precision linnet_context_precision(const struct linnet_context *context) {
  return context->core->ops->precision;
}

const char *linnet_context_device(const struct linnet_context *context) {
  return context->core->device->name;
}

size_t linnet_context_device_peak_bytes(const struct linnet_context *context) {
  struct linnet_device *device = context->core->device;
  return device->ops->peak_bytes ? device->ops->peak_bytes(device) : 0;
}

struct linnet_device *linnet_device_of(const struct linnet_context *context) {
  return context->core->device;
}

struct linnet_device *linnet_host_device_of(const struct linnet_context *context) {
  return &context->core->cpu.base;
}

enum linnet_status linnet_context_use_device(struct linnet_context *context,
                                             enum linnet_status (*open)(struct linnet_context *own, int index,
                                                                        enum linnet_precision precision,
                                                                        struct linnet_device **device)) {
  struct core *core = context->core;
  struct linnet_device *device = NULL;
  enum linnet_status status = open(&core->own, 0, LINNET_FLOAT32, &device);
  linnet_copy_error(context, &core->own);
  LINNET_TRY(status);
  linnet_device_close(core->device);
  core->device = device;
  return LINNET_OK;
}

const struct linnet_ops *linnet_context_ops(const struct linnet_context *context) {
  return context->core->ops;
}

static bool continues_character(char byte) {
  return ((unsigned char)byte & 0xC0) == 0x80;
}

/* A sentence that is too long is nearly always so because of a path. It then loses its middle: its beginning has the
 * file or setting that it is about, its end the reason. */
static void shorten(const char sentence[SENTENCE_BYTES], char error[LINNET_ERROR_BYTES]) {
  static const char gap[] = "...";
  const size_t length = strlen(sentence);
  if (length < LINNET_ERROR_BYTES) {
    memcpy(error, sentence, length + 1);
    return;
  }
  size_t head = HEAD_BYTES, tail = length - (LINNET_ERROR_BYTES - HEAD_BYTES - sizeof gap);
  while (head > 0 && continues_character(sentence[head]))
    head--;
  while (continues_character(sentence[tail]))
    tail++;
  snprintf(error, LINNET_ERROR_BYTES, "%.*s%s%s", (int)head, sentence, gap, sentence + tail);
}

enum linnet_status(linnet_fail)(struct linnet_context *context, enum linnet_status status, const char *format, ...) {
  if (!context)
    return status;
  char sentence[SENTENCE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  shorten(sentence, context->error);
  return status;
}

enum linnet_status linnet_context_fail(struct linnet_context *context, enum linnet_status status,
                                       const char *sentence) {
  if (!context || !sentence)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_context_fail: an argument is NULL");
  return linnet_fail(context, status, "%s", sentence);
}

void linnet_copy_error(struct linnet_context *to, const struct linnet_context *from) {
  memcpy(to->error, from->error, sizeof to->error);
}

void linnet_log(struct linnet_context *context, enum linnet_log_level level, const char *format, ...) {
  if (!context->core->log)
    return;
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  context->core->log(context->core->log_user, level, line);
}

void linnet_parallel(struct linnet_context *context, size_t tasks, linnet_task_fn body, void *user) {
  linnet_pool_run(context->core->pool, tasks, body, user);
}

/* --- cancelling and progress ---------------------------------------------------------------------------------- */

void linnet_poll_begin(struct linnet_context *context) {
  __atomic_store_n(&context->stopped, false, __ATOMIC_RELAXED);
}

bool linnet_poll_stopped(struct linnet_context *context) {
  if (!context->hooks.cancel)
    return false;
  if (!__atomic_load_n(&context->stopped, __ATOMIC_RELAXED) && context->hooks.cancel(context->hooks.cancel_user) != 0)
    __atomic_store_n(&context->stopped, true, __ATOMIC_RELAXED);
  return __atomic_load_n(&context->stopped, __ATOMIC_RELAXED);
}

const struct linnet_poll *linnet_poll_of(const struct linnet_context *context) {
  return context->hooks.cancel ? &context->poll : NULL;
}

enum linnet_status linnet_poll_check(struct linnet_context *context) {
  return linnet_poll_stopped(context) ? linnet_fail(context, LINNET_ERROR_CANCELLED, "cancelled") : LINNET_OK;
}

void linnet_progress(const struct linnet_context *context, enum linnet_stage stage, double share) {
  if (context->hooks.progress)
    context->hooks.progress(context->hooks.progress_user, stage, share);
}

/* --- memory --------------------------------------------------------------------------------------------------- */

enum { ALIGNMENT = 64 };

/* The block that the allocation hook returned, and the part that the caller gets:
 *
 *   raw                                 block (aligned to 64)
 *   |  0 to 63 bytes  |  struct header  |  bytes ...
 */
struct header {
  void *raw;
};

void *linnet_alloc(struct linnet_context *context, size_t count, size_t bytes) {
  size_t size, padded;
  if (!linnet_mul_size(count, bytes, &size) || !linnet_add_size(size, ALIGNMENT + sizeof(struct header), &padded))
    return NULL;
  struct core *core = context->core;
  char *raw = core->reallocate(core->reallocate_user, NULL, padded);
  if (!raw)
    return NULL;
  uintptr_t start = (uintptr_t)raw + sizeof(struct header);
  char *block = raw + sizeof(struct header) + (ALIGNMENT - start % ALIGNMENT) % ALIGNMENT;
  ((struct header *)(void *)block)[-1].raw = raw;
  return block;
}

void *linnet_calloc(struct linnet_context *context, size_t count, size_t bytes) {
  void *block = linnet_alloc(context, count, bytes);
  return block ? memset(block, 0, count * bytes) : NULL;
}

void linnet_free(struct linnet_context *context, void *block) {
  if (!block)
    return;
  struct core *core = context->core;
  core->reallocate(core->reallocate_user, ((struct header *)block)[-1].raw, 0);
}

void *linnet_grow(struct linnet_context *context, void *block, size_t *capacity, size_t needed, size_t bytes) {
  if (needed <= *capacity && block)
    return block;
  size_t larger = *capacity < 16 ? 16 : *capacity + *capacity / 2;
  if (larger < needed)
    larger = needed;
  void *grown = linnet_alloc(context, larger, bytes);
  if (!grown)
    return NULL;
  if (block)
    memcpy(grown, block, *capacity * bytes);
  linnet_free(context, block);
  *capacity = larger;
  return grown;
}

char *linnet_strdup(struct linnet_context *context, const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = linnet_alloc(context, bytes, 1);
  return copy ? memcpy(copy, text, bytes) : NULL;
}

/* --- limits of memory --------------------------------------------------------------------------------------------- */

/* Maps the pages without touching them: they use no memory, but they count towards the limits of the process. */
bool linnet_memory_available(size_t bytes) {
  void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages != MAP_FAILED && munmap(pages, bytes) == 0;
}
