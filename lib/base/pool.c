/* A pool of threads that take the tasks of one loop at a time from a shared counter. */
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct worker {
  struct linnet_pool *pool;
  pthread_t thread;
  unsigned index;
};

struct linnet_pool {
  unsigned threads; /* the caller included; workers[0] stands for it and has no thread */
  struct worker *workers;
  pthread_mutex_t owner; /* held by the caller whose loop is running */
  pthread_mutex_t mutex; /* protects what follows */
  pthread_cond_t wake, idle;
  unsigned long loop; /* number of the running loop */
  unsigned busy;      /* workers still in it */
  bool stop;
  size_t tasks;
  linnet_task_fn body;
  void *user;
  atomic_size_t next;
};

static void take_tasks(struct linnet_pool *pool, unsigned worker) {
  size_t task;
  while ((task = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed)) < pool->tasks)
    pool->body(pool->user, task, worker);
}

static void *worker_main(void *argument) {
  struct worker *worker = argument;
  struct linnet_pool *pool = worker->pool;
  unsigned long seen = 0;
  pthread_mutex_lock(&pool->mutex);
  for (;;) {
    while (!pool->stop && pool->loop == seen)
      pthread_cond_wait(&pool->wake, &pool->mutex);
    if (pool->stop)
      break;
    seen = pool->loop;
    pthread_mutex_unlock(&pool->mutex);
    take_tasks(pool, worker->index);
    pthread_mutex_lock(&pool->mutex);
    if (--pool->busy == 0)
      pthread_cond_signal(&pool->idle);
  }
  pthread_mutex_unlock(&pool->mutex);
  return NULL;
}

enum linnet_status linnet_pool_create(struct linnet_context *context, unsigned threads, struct linnet_pool **result) {
  struct linnet_pool *pool = calloc(1, sizeof *pool);
  struct worker *workers = calloc(threads, sizeof *workers);
  if (!pool || !workers) {
    free(pool);
    free(workers);
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a pool of %u threads", threads);
  }
  pool->workers = workers;
  pool->threads = 1;
  pthread_mutex_init(&pool->owner, NULL);
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->wake, NULL);
  pthread_cond_init(&pool->idle, NULL);
  for (; pool->threads < threads; pool->threads++) {
    struct worker *worker = &workers[pool->threads];
    *worker = (struct worker){.pool = pool, .index = pool->threads};
    if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0)
      break; /* fewer threads give the same results */
  }
  *result = pool;
  return LINNET_OK;
}

unsigned linnet_pool_threads(const struct linnet_pool *pool) {
  return pool->threads;
}

static void run_inline(size_t tasks, linnet_task_fn body, void *user) {
  for (size_t task = 0; task < tasks; task++)
    body(user, task, 0);
}

void linnet_pool_run(struct linnet_pool *pool, size_t tasks, linnet_task_fn body, void *user) {
  if (pool->threads == 1 || tasks < 2 || pthread_mutex_trylock(&pool->owner) != 0) {
    run_inline(tasks, body, user);
    return;
  }
  pthread_mutex_lock(&pool->mutex);
  pool->tasks = tasks;
  pool->body = body;
  pool->user = user;
  atomic_store(&pool->next, 0);
  pool->busy = pool->threads - 1;
  pool->loop++;
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);

  take_tasks(pool, 0);

  pthread_mutex_lock(&pool->mutex);
  while (pool->busy > 0)
    pthread_cond_wait(&pool->idle, &pool->mutex);
  pthread_mutex_unlock(&pool->mutex);
  pthread_mutex_unlock(&pool->owner);
}

void linnet_pool_destroy(struct linnet_pool *pool) {
  if (!pool)
    return;
  pthread_mutex_lock(&pool->mutex);
  pool->stop = true;
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
  for (unsigned i = 1; i < pool->threads; i++)
    pthread_join(pool->workers[i].thread, NULL);
  pthread_cond_destroy(&pool->idle);
  pthread_cond_destroy(&pool->wake);
  pthread_mutex_destroy(&pool->mutex);
  pthread_mutex_destroy(&pool->owner);
  free(pool->workers);
  free(pool);
}
