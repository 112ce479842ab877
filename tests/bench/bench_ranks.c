/* Latency and bandwidth of the operations of a group of ranks (linnet/group.h), as the command gets them from its MPI
 * module:
 *
 *   mpirun -n 2 bench_ranks MODULE         MODULE: lib/linnet/linnet-mpi.so of the build
 *
 * Rank 0 prints a line for each number of bytes, with the wall time of the fastest of several calls: of an exchange in
 * which each rank sends these bytes, divided among the other ranks, called by the main thread and by another thread as
 * in training; and of a gather in which each rank has these bytes. The last line is "latency SECONDS bandwidth
 * BYTES_PER_SECOND" of exchanges: the time of the smallest size, and the largest size divided by what its time exceeds
 * that. Wall times of a busy machine say nothing. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test.h"
#include "tools/mpi/mpi_group.h"

enum { SMALLEST = 8, LARGEST = 16 << 20, CALLS = 40 };

struct measuring {
  const struct linnet_group *group;
  size_t bytes;
  size_t *send, *receive, *gather; /* (ranks + 1) */
  char *from, *to;
  double exchange, threaded, gathered; /* seconds */
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *allocate(size_t bytes) {
  void *block = calloc(bytes, 1);
  REQUIRE(block, "out of memory");
  return block;
}

static void fill_offsets(struct measuring *m) {
  const struct linnet_group *g = m->group;
  const size_t part = m->bytes / (g->num_ranks - 1);
  for (size_t r = 0; r < g->num_ranks; r++) {
    m->send[r + 1] = m->receive[r + 1] = m->send[r] + (r != g->rank ? part : 0);
    m->gather[r + 1] = m->gather[r] + m->bytes;
  }
}

static double shorter(double a, double b) {
  return a < b ? a : b;
}

/* The fastest of some exchanges. */
static double time_exchange(const struct measuring *m) {
  const struct linnet_group *g = m->group;
  double best = 1e9;
  for (int i = 0; i < CALLS; i++) {
    double started = now();
    REQUIRE(g->exchange(g->user, m->from, m->send, m->to, m->receive) == 0, "exchange");
    best = shorter(now() - started, best);
  }
  return best;
}

static void *run_thread(void *user) {
  struct measuring *m = user;
  m->threaded = time_exchange(m);
  return NULL;
}

static double time_gather(const struct measuring *m) {
  double best = 1e9;
  for (int i = 0; i < CALLS; i++) {
    double started = now();
    REQUIRE(m->group->gather(m->group->user, m->to, m->gather) == 0, "gather");
    best = shorter(now() - started, best);
  }
  return best;
}

static void measure(struct measuring *m) {
  pthread_t thread;
  fill_offsets(m);
  m->exchange = time_exchange(m);
  m->threaded = m->exchange;
  if (m->group->any_thread) {
    REQUIRE(pthread_create(&thread, NULL, run_thread, m) == 0, "thread");
    pthread_join(thread, NULL);
  }
  m->gathered = time_gather(m);
  if (m->group->rank == 0)
    printf("%9zu bytes: exchange %9.1f us, by another thread %9.1f us, gather %9.1f us\n", m->bytes, 1e6 * m->exchange,
           1e6 * m->threaded, 1e6 * m->gathered);
}

static void measure_all(const struct linnet_group *group) {
  const size_t count = group->num_ranks + 1;
  struct measuring m = {.group = group,
                        .send = allocate(count * sizeof(size_t)),
                        .receive = allocate(count * sizeof(size_t)),
                        .gather = allocate(count * sizeof(size_t)),
                        .from = allocate(LARGEST),
                        .to = allocate(group->num_ranks * (size_t)LARGEST)};
  double latency = 0;
  for (m.bytes = SMALLEST; m.bytes <= LARGEST; m.bytes *= 8) {
    measure(&m);
    latency = m.bytes == SMALLEST ? m.exchange : latency;
  }
  if (group->rank == 0)
    printf("latency %.3g bandwidth %.4g\n", latency, LARGEST / (m.exchange - latency));
  void *blocks[] = {m.send, m.receive, m.gather, m.from, m.to};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    free(blocks[i]);
}

int main(int argc, char **argv) {
  struct mpi_group mpi;
  mpi_group_open_fn *begin;
  mpi_group_close_fn *end;
  if (argc != 2) {
    fprintf(stderr, "usage: mpirun -n 2 bench_ranks MODULE\n");
    return 2;
  }
  void *module = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  REQUIRE(module, "%s", dlerror());
  void *symbols[] = {dlsym(module, MPI_GROUP_OPEN), dlsym(module, MPI_GROUP_CLOSE)};
  memcpy(&begin, &symbols[0], sizeof begin);
  memcpy(&end, &symbols[1], sizeof end);
  REQUIRE(begin && end && begin(&mpi, 0) == 0 && mpi.group.num_ranks > 1, "start it by mpirun -n 2");
  measure_all(&mpi.group);
  end(0);
  return 0;
}
