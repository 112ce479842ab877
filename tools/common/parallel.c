/* Runs a function over many inputs on several threads, each with its own context. */
#include "parallel.h"

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
