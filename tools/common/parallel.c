/* Runs a function over many inputs on several threads, each with its own context. */
#include "parallel.h"
#include "tool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

struct loop {
  struct linnet_context *context;
  tool_task_fn body;
  void *user;
  size_t tasks;
  atomic_size_t next;
  pthread_mutex_t mutex; /* protects what follows */
  size_t failed_task;
  int result;
};

struct thread {
  struct loop *loop;
  struct linnet_context *context;
  unsigned worker;
  pthread_t handle;
};

static void record(struct loop *loop, size_t task, int result) {
  pthread_mutex_lock(&loop->mutex);
  if (task < loop->failed_task) {
    loop->failed_task = task;
    loop->result = result;
  }
  pthread_mutex_unlock(&loop->mutex);
  atomic_store(&loop->next, loop->tasks);
}

static void *run(void *argument) {
  struct thread *thread = argument;
  struct loop *loop = thread->loop;
  for (;;) {
    size_t task = atomic_fetch_add(&loop->next, 1);
    if (task >= loop->tasks)
      return NULL;
    int result = loop->body(loop->user, task, thread->worker, thread->context);
    if (result != 0)
      record(loop, task, result);
  }
}

static unsigned start_threads(struct loop *loop, struct thread *threads, unsigned wanted) {
  unsigned started = 0;
  for (; started < wanted; started++) {
    struct thread *thread = &threads[started];
    *thread = (struct thread){.loop = loop, .worker = started};
    if (linnet_context_share(loop->context, &thread->context) != LINNET_OK)
      break;
    if (pthread_create(&thread->handle, NULL, run, thread) != 0) {
      linnet_context_destroy(thread->context);
      break;
    }
  }
  return started;
}

int tool_parallel(struct linnet_context *context, size_t tasks, tool_task_fn body, void *user) {
  unsigned wanted = linnet_context_num_threads(context);
  if (wanted > tasks)
    wanted = (unsigned)tasks;
  struct thread *threads = calloc(wanted > 0 ? wanted : 1, sizeof *threads);
  if (!threads)
    return -1;
  struct loop loop = {.context = context, .body = body, .user = user, .tasks = tasks, .failed_task = SIZE_MAX};
  pthread_mutex_init(&loop.mutex, NULL);
  unsigned started = start_threads(&loop, threads, wanted);
  for (unsigned i = 0; i < started; i++) {
    pthread_join(threads[i].handle, NULL);
    linnet_context_destroy(threads[i].context);
  }
  pthread_mutex_destroy(&loop.mutex);
  free(threads);
  return started == 0 && tasks > 0 ? -1 : loop.result;
}

/* --- results in order --------------------------------------------------------------------------------------------- */

void ordered_open(struct ordered *ordered, FILE *stream) {
  *ordered = (struct ordered){.stream = stream};
  pthread_mutex_init(&ordered->mutex, NULL);
}

static bool reserve(struct ordered *ordered, size_t item) {
  if (item < ordered->capacity)
    return true;
  size_t capacity = 2 * item + 64;
  struct ordered_piece *grown = realloc(ordered->pieces, capacity * sizeof *grown);
  if (!grown)
    return false;
  for (size_t i = ordered->capacity; i < capacity; i++)
    grown[i] = (struct ordered_piece){.text = NULL};
  ordered->pieces = grown;
  ordered->capacity = capacity;
  return true;
}

static void write_piece(struct ordered *ordered, struct ordered_piece *piece) {
  if (piece->text && ordered->stream && fwrite(piece->text, 1, piece->bytes, ordered->stream) < piece->bytes &&
      ordered->error == 0)
    ordered->error = errno;
  free(piece->text);
  piece->text = NULL;
}

static void write_ready(struct ordered *ordered) {
  while (ordered->written < ordered->capacity && ordered->pieces[ordered->written].done)
    write_piece(ordered, &ordered->pieces[ordered->written++]);
  if (ordered->stream && fflush(ordered->stream) != 0 && ordered->error == 0)
    ordered->error = errno;
}

bool ordered_put(struct ordered *ordered, size_t item, char *text, size_t bytes) {
  pthread_mutex_lock(&ordered->mutex);
  bool good = reserve(ordered, item);
  if (good) {
    ordered->pieces[item] = (struct ordered_piece){text, bytes, true};
    write_ready(ordered);
  }
  pthread_mutex_unlock(&ordered->mutex);
  if (good)
    return true;
  free(text);
  tool_fail("out of memory for %zu results", item + 1);
  return false;
}

void ordered_close(struct ordered *ordered) {
  for (size_t i = ordered->written; i < ordered->capacity; i++)
    write_piece(ordered, &ordered->pieces[i]);
  free(ordered->pieces);
  pthread_mutex_destroy(&ordered->mutex);
  *ordered = (struct ordered){.error = ordered->error};
}
