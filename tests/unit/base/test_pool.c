/* The thread pool: every task runs once and its results are visible, tasks of one worker do not overlap, threads run
 * at the same time, nested loops run in their caller, and several threads can use one pool through their handles. A
 * child of fork can use a pool and end it; workers leave signals to the threads of the program. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/pool.h"
#include "test.h"

enum { MAX_TASKS = 20000, MAX_THREADS = 8, USERS = 4, ROUNDS = 60 };

static struct linnet_context *context_with(unsigned threads) {
  struct linnet_context_settings settings;
  struct linnet_context *context;
  linnet_context_settings_default(&settings);
  settings.num_threads = threads;
  REQUIRE(linnet_context_create(&settings, &context) == LINNET_OK, "%u threads", threads);
  return context;
}

/* --- every task once ---------------------------------------------------------------------------------------------- */

struct loop {
  unsigned threads;
  int ran[MAX_TASKS]; /* written without atomics: the pool orders it */
  size_t last[MAX_THREADS];
  atomic_int busy[MAX_THREADS], collisions, strangers, disorder;
};

static void count_task(void *user, size_t task, unsigned worker) {
  struct loop *loop = user;
  if (worker >= loop->threads) {
    atomic_fetch_add(&loop->strangers, 1);
    return;
  }
  if (atomic_exchange(&loop->busy[worker], 1))
    atomic_fetch_add(&loop->collisions, 1);
  if (task + 1 <= loop->last[worker])
    atomic_fetch_add(&loop->disorder, 1);
  loop->last[worker] = task + 1;
  loop->ran[task]++;
  atomic_store(&loop->busy[worker], 0);
}

static struct loop loop;

static void check_loop(struct linnet_context *context, size_t tasks) {
  size_t wrong = 0;
  memset(&loop, 0, sizeof loop);
  loop.threads = linnet_context_num_threads(context);
  linnet_parallel(context, tasks, count_task, &loop);
  for (size_t i = 0; i < MAX_TASKS; i++)
    wrong += loop.ran[i] != (i < tasks);
  CHECK(wrong == 0, "%zu of %zu tasks did not run exactly once, %u threads", wrong, tasks, loop.threads);
  CHECK(loop.collisions == 0 && loop.strangers == 0, "%d tasks met another of the same worker, %d had a worker >= %u",
        loop.collisions, loop.strangers, loop.threads);
  CHECK(loop.disorder == 0, "%d tasks started before an earlier one", loop.disorder);
}

static void check_loops(unsigned threads) {
  static const size_t tasks[] = {0, 1, 2, 3, 7, 100, MAX_TASKS};
  struct linnet_context *context = context_with(threads);
  CHECK(linnet_context_num_threads(context) == threads, "%zu threads instead of %u",
        linnet_context_num_threads(context), threads);
  for (int round = 0; round < 20; round++)
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
      check_loop(context, tasks[i]);
  linnet_context_destroy(context);
}

/* --- side by side ------------------------------------------------------------------------------------------------- */

enum { PATIENCE = 20 }; /* seconds until a thread counts as missing */

struct meeting {
  int expected;
  atomic_int arrived, missed;
};

static void meet(void *user, size_t task, unsigned worker) {
  struct meeting *meeting = user;
  time_t start = time(NULL);
  (void)task, (void)worker;
  atomic_fetch_add(&meeting->arrived, 1);
  while (atomic_load(&meeting->arrived) < meeting->expected) {
    const struct timespec nap = {0, 100000};
    if (time(NULL) - start > PATIENCE) {
      atomic_fetch_add(&meeting->missed, 1);
      return;
    }
    nanosleep(&nap, NULL);
  }
}

static void check_meeting(unsigned threads) {
  struct linnet_context *context = context_with(threads);
  struct meeting meeting = {.expected = (int)threads};
  linnet_parallel(context, threads, meet, &meeting);
  CHECK(meeting.missed == 0, "%d of %u tasks did not run side by side", meeting.missed, threads);
  linnet_context_destroy(context);
}

/* --- loops inside loops ------------------------------------------------------------------------------------------- */

struct nest {
  struct linnet_context *context;
  atomic_int inner, elsewhere;
};

struct nest_task {
  struct nest *nest;
  pthread_t caller;
  size_t next;
};

static void inner_task(void *user, size_t task, unsigned worker) {
  struct nest_task *t = user;
  atomic_fetch_add(&t->nest->inner, 1);
  if (worker != 0 || task != t->next++ || !pthread_equal(t->caller, pthread_self()))
    atomic_fetch_add(&t->nest->elsewhere, 1);
}

static void outer_task(void *user, size_t task, unsigned worker) {
  struct nest *nest = user;
  struct nest_task t = {nest, pthread_self(), 0};
  (void)task, (void)worker;
  linnet_parallel(nest->context, 10, inner_task, &t);
}

static void check_nesting(unsigned threads) {
  struct nest nest = {.context = context_with(threads)};
  linnet_parallel(nest.context, 100, outer_task, &nest);
  CHECK(nest.inner == 1000 && nest.elsewhere == 0, "%d inner tasks, %d of them not in order in their caller",
        nest.inner, nest.elsewhere);
  linnet_context_destroy(nest.context);
}

/* --- shared handles ----------------------------------------------------------------------------------------------- */

struct sharer {
  struct linnet_context *context;
  struct loop *loop;
  int wrong;
};

static void *share_main(void *argument) {
  struct sharer *sharer = argument;
  for (size_t round = 0; round < ROUNDS; round++) {
    size_t tasks = 50 + round;
    memset(sharer->loop, 0, sizeof *sharer->loop);
    sharer->loop->threads = linnet_context_num_threads(sharer->context);
    linnet_parallel(sharer->context, tasks, count_task, sharer->loop);
    for (size_t i = 0; i < MAX_TASKS; i++)
      sharer->wrong += sharer->loop->ran[i] != (i < tasks);
    sharer->wrong += sharer->loop->collisions + sharer->loop->strangers;
  }
  linnet_context_destroy(sharer->context);
  return NULL;
}

/* The first handle is destroyed before the threads that share it end. */
static void check_sharing(unsigned threads) {
  struct linnet_context *context = context_with(threads);
  struct sharer sharers[USERS] = {{0}};
  pthread_t users[USERS];
  for (size_t i = 0; i < USERS; i++) {
    sharers[i].loop = malloc(sizeof *sharers[i].loop);
    REQUIRE(sharers[i].loop && linnet_context_share(context, &sharers[i].context) == LINNET_OK, "handle %zu", i);
  }
  for (size_t i = 0; i < USERS; i++)
    REQUIRE(pthread_create(&users[i], NULL, share_main, &sharers[i]) == 0, "thread %zu", i);
  linnet_context_destroy(context);
  for (size_t i = 0; i < USERS; i++) {
    pthread_join(users[i], NULL);
    CHECK(sharers[i].wrong == 0, "handle %zu of %d: %d tasks went wrong", i, USERS, sharers[i].wrong);
    free(sharers[i].loop);
  }
}

/* --- the host ----------------------------------------------------------------------------------------------------- */

/* The child ends by SIGALRM if it waits for threads that it does not have. */
static void check_fork(unsigned threads) {
  struct linnet_context *context = context_with(threads);
  int status = -1;
  check_loop(context, 100);
  fflush(NULL);
  const pid_t child = fork();
  REQUIRE(child >= 0, "fork");
  if (child == 0) {
    alarm(PATIENCE);
    check_loop(context, 100);
    linnet_context_destroy(context);
    _exit(test_result());
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
        "child of %u threads: status %d", threads, status);
  check_loop(context, 100);
  linnet_context_destroy(context);
}

static atomic_int elsewhere;
static pthread_t main_thread;

static void note_thread(int number) {
  (void)number;
  atomic_fetch_add(&elsewhere, !pthread_equal(pthread_self(), main_thread));
}

/* The main thread blocks the signal until the end, so that a worker would take it. */
static void check_signals(void) {
  struct linnet_context *context = context_with(4);
  const struct sigaction note = {.sa_handler = note_thread};
  sigset_t usr1, before;
  main_thread = pthread_self();
  sigaction(SIGUSR1, &note, NULL);
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, &before);
  for (int i = 0; i < 20; i++) {
    kill(getpid(), SIGUSR1);
    check_loop(context, 100);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  linnet_context_destroy(context);
  CHECK(elsewhere == 0, "%d signals came to workers", elsewhere);
}

static void check_short_lives(void) {
  for (unsigned i = 0; i < 50; i++)
    linnet_context_destroy(context_with(1 + i % 5));
  linnet_pool_destroy(NULL);
  CHECK(true, "pools that never ran a loop end");
}

int main(void) {
  static const unsigned threads[] = {1, 2, 3, MAX_THREADS};
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
    check_loops(threads[i]);
    check_meeting(threads[i]);
    check_nesting(threads[i]);
    check_sharing(threads[i]);
    check_fork(threads[i]);
  }
  check_signals();
  check_short_lives();
  return test_result();
}
