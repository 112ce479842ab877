/* A pool of threads that take the tasks of one loop at a time from a shared counter. */
#include "base/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

struct worker {
  struct linnet_pool *pool;
  pthread_t thread;
  unsigned index;
};

struct linnet_pool {
  linnet_reallocate_fn reallocate;
  void *reallocate_user;
  pid_t process;    /* that has the threads: a child of fork does not */
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

/* One block: the pool, then its workers. */
static struct linnet_pool *allocate(linnet_reallocate_fn reallocate, void *user, unsigned threads) {
  size_t bytes = sizeof(struct linnet_pool) + threads * sizeof(struct worker);
  struct linnet_pool *pool = reallocate(user, NULL, bytes);
  if (!pool)
    return NULL;
  memset(pool, 0, bytes);
  pool->workers = (struct worker *)(pool + 1);
  pool->reallocate = reallocate;
  pool->reallocate_user = user;
  return pool;
}

static void start_workers(struct linnet_pool *pool, unsigned threads) {
  for (; pool->threads < threads; pool->threads++) {
    struct worker *worker = &pool->workers[pool->threads];
    *worker = (struct worker){.pool = pool, .index = pool->threads};
    if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0)
      break; /* fewer threads give the same results */
  }
}

/* Threads inherit the signals that are blocked. Those of faults stay, for handlers that report crashes. */
static void block_signals(sigset_t *before) {
  static const int faults[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
  sigset_t signals;
  sigfillset(&signals);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
    sigdelset(&signals, faults[i]);
  pthread_sigmask(SIG_BLOCK, &signals, before);
}

enum linnet_status linnet_pool_create(linnet_reallocate_fn reallocate, void *user, unsigned threads,
                                      struct linnet_pool **result) {
  sigset_t before;
  struct linnet_pool *pool = allocate(reallocate, user, threads);
  if (!pool)
    return LINNET_ERROR_MEMORY;
  pool->process = getpid();
  pool->threads = 1;
  pthread_mutex_init(&pool->owner, NULL);
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->wake, NULL);
  pthread_cond_init(&pool->idle, NULL);
  block_signals(&before);
  start_workers(pool, threads);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
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
  if (pool->threads == 1 || tasks < 2 || pool->process != getpid() || pthread_mutex_trylock(&pool->owner) != 0) {
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

static void end_workers(struct linnet_pool *pool) {
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
}

/* In a child of fork, the workers are missing, and the condition variables still count them as waiting. */
void linnet_pool_destroy(struct linnet_pool *pool) {
  if (!pool)
    return;
  if (pool->process == getpid())
    end_workers(pool);
  pool->reallocate(pool->reallocate_user, pool, 0);
}
