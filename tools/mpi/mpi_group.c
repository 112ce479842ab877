/* The group of ranks of an MPI job: all processes of MPI_COMM_WORLD. Compiled for the MPI library that CMake found. */
#include "mpi_group.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mpi.h>

static int num_ranks, own_rank;
static int *counts[2], *starts[2]; /* (num_ranks) */
static pthread_t first_thread;     /* that opened the group */
static double longest_wait;        /* of an operation for the other ranks, in seconds; 0: for ever */
static int failure;                /* of an operation: 0, or what it returned */

/* --- parts as MPI counts them ------------------------------------------------------------------------------------- */

/* MPI counts in int, so large parts are counted in units of several bytes. 0: too large. */
static int unit_of(size_t bytes) {
  int unit = 1;
  while (unit <= 4 && bytes / (size_t)unit > INT_MAX)
    unit *= 2;
  return unit <= 4 ? unit : 0;
}

static MPI_Datatype type_of(int unit) {
  return unit == 4 ? MPI_UINT32_T : unit == 2 ? MPI_UINT16_T : MPI_BYTE;
}

/* False if the offsets are no multiples of the unit. */
static bool convert(const size_t *offsets, int unit, int side) {
  bool good = unit > 0;
  for (int r = 0; good && r < num_ranks; r++) {
    starts[side][r] = (int)(offsets[r] / (size_t)unit);
    counts[side][r] = (int)((offsets[r + 1] - offsets[r]) / (size_t)unit);
    good = offsets[r + 1] % (size_t)unit == 0;
  }
  return good;
}

static int finish(int error) {
  if (error != 0)
    failure = error;
  return error;
}

/* --- operations --------------------------------------------------------------------------------------------------- */

static double clock_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Leaves the processor for a moment, but a short one: MPI libraries send and receive only when they are called. Another
 * thread than the first waits while that one computes, so it sleeps. */
static void rest(void) {
  const struct timespec pause = {0, 20000};
  if (pthread_equal(pthread_self(), first_thread))
    sched_yield();
  else
    nanosleep(&pause, NULL);
}

/* Waits until the request is done: 0, ETIMEDOUT, or EIO. The time in which this process was stopped, as by Slurm's
 * `scontrol suspend`, does not count: of the time between two calls, at most a second does. */
static int wait_for(MPI_Request *request) {
  double waited = 0, last = clock_seconds(), now;
  int done = 0;
  for (unsigned calls = 1;; calls++) {
    if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return EIO;
    if (done)
      return 0;
    if (calls % 16 != 0)
      continue;
    now = clock_seconds();
    waited += now - last < 1 ? now - last : 1;
    last = now;
    if (longest_wait > 0 && waited > longest_wait)
      return ETIMEDOUT;
    rest();
  }
}

static int exchange(void *user, const void *send, const size_t *send_offsets, void *receive,
                    const size_t *receive_offsets) {
  size_t sent = send_offsets[num_ranks], received = receive_offsets[num_ranks];
  int unit = unit_of(sent > received ? sent : received);
  (void)user;
  if (!convert(send_offsets, unit, 0) || !convert(receive_offsets, unit, 1))
    return finish(EINVAL);
  counts[0][own_rank] = counts[1][own_rank] = 0;
  MPI_Request request;
  const char nothing = 0;
  if (sent == 0)
    send = &nothing; /* Open MPI 4.1 takes equal addresses for MPI_IN_PLACE */
  if (MPI_Ialltoallv(send, counts[0], starts[0], type_of(unit), receive, counts[1], starts[1], type_of(unit),
                     MPI_COMM_WORLD, &request) != MPI_SUCCESS)
    return finish(EIO);
  return finish(wait_for(&request));
}

/* Every rank sends its part to all others at once. MPI_Allgatherv of Open MPI 4.1 was seen to send and receive large
 * parts over TCP in turns: those of more than 2 MB always, which then takes 1.8 times as long, and smaller ones during
 * a training. And its wait has no limit. */
static int gather_parts(char *data, const size_t *offsets, int unit) {
  const size_t begin = offsets[own_rank], end = offsets[own_rank + 1], first = begin == 0 ? end : 0;
  const char nothing = 0;
  const char *send = begin < end ? data + begin : &nothing; /* equal addresses are a fault, or mean MPI_IN_PLACE */
  MPI_Request request;
  for (int r = 0; r < num_ranks; r++) {
    const bool other = r != own_rank;
    counts[1][r] = other ? (int)((end - begin) / (size_t)unit) : 0;
    counts[0][r] = other ? counts[0][r] : 0;
    starts[1][r] = 0;
    starts[0][r] = counts[0][r] > 0 ? (int)((offsets[r] - first) / (size_t)unit) : 0;
  }
  if (MPI_Ialltoallv(send, counts[1], starts[1], type_of(unit), data + first, counts[0], starts[0], type_of(unit),
                     MPI_COMM_WORLD, &request) != MPI_SUCCESS)
    return EIO;
  return wait_for(&request);
}

/* A few bytes of each rank, such as votes: the latency of log2(num_ranks) messages, not of num_ranks. */
static int gather_bytes(char *data, const size_t *offsets) {
  const size_t begin = offsets[own_rank], end = offsets[own_rank + 1], all = offsets[num_ranks];
  MPI_Request request;
  memset(data, 0, begin);
  memset(data + end, 0, all - end);
  if (MPI_Iallreduce(MPI_IN_PLACE, data, (int)all, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD, &request) != MPI_SUCCESS)
    return EIO;
  return wait_for(&request);
}

static int gather(void *user, void *data, const size_t *offsets) {
  enum { FEW_BYTES = 4096 };
  int unit = unit_of(offsets[num_ranks]);
  (void)user;
  if (offsets[num_ranks] <= FEW_BYTES)
    return finish(gather_bytes(data, offsets));
  return finish(convert(offsets, unit, 0) ? gather_parts(data, offsets, unit) : EINVAL);
}

/* --- begin and end ------------------------------------------------------------------------------------------------ */

static void find_local(struct mpi_group *group) {
  MPI_Comm local;
  int rank = 0, count = 1;
  if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local) == MPI_SUCCESS) {
    MPI_Comm_rank(local, &rank);
    MPI_Comm_size(local, &count);
    MPI_Comm_free(&local);
  }
  group->local_rank = (size_t)rank;
  group->num_local = (size_t)count;
}

/* Such as "Open MPI v4.1.4", or of "MPICH Version:\t4.0.2\n...", "MPICH Version 4.0.2". */
static void name_library(char *name, size_t bytes) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  size_t used = 0;
  MPI_Get_library_version(text, &length);
  for (size_t i = 0; text[i] && !strchr(",\n", text[i]) && used + 1 < bytes; i++)
    if (text[i] != ':')
      name[used++] = text[i] == '\t' ? ' ' : text[i];
  name[used] = '\0';
}

/* Arrays for two sides of an operation. */
static bool allocate(void) {
  for (int side = 0; side < 2; side++) {
    counts[side] = calloc((size_t)num_ranks, sizeof *counts[side]);
    starts[side] = calloc((size_t)num_ranks, sizeof *starts[side]);
    if (!counts[side] || !starts[side])
      return false;
  }
  return true;
}

__attribute__((visibility("default"))) mpi_group_open_fn linnet_mpi_open;
__attribute__((visibility("default"))) mpi_group_close_fn linnet_mpi_close;

int linnet_mpi_open(struct mpi_group *group, double timeout) {
  int provided;
  longest_wait = timeout;
  memset(group, 0, sizeof *group);
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS)
    return 1;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
  first_thread = pthread_self();
  group->group = (struct linnet_group){.size = sizeof group->group,
                                       .rank = (size_t)own_rank,
                                       .num_ranks = (size_t)num_ranks,
                                       .gather = gather,
                                       .exchange = exchange,
                                       .any_thread = provided >= MPI_THREAD_SERIALIZED};
  find_local(group);
  name_library(group->library, sizeof group->library);
  return allocate() ? 0 : 1;
}

/* Whether all ranks end now, within some seconds. If not, this one failed alone, and the others wait for it. */
static bool all_end(void) {
  const struct timespec pause = {0, 10000000};
  MPI_Request request;
  int done = 0;
  if (MPI_Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS)
    return false;
  for (int i = 0; i < 500 && !done; i++) {
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return false;
    nanosleep(&pause, NULL);
  }
  return done;
}

void linnet_mpi_close(int code) {
  const struct timespec moment = {1, 0};
  if (failure == ETIMEDOUT)
    nanosleep(&moment, NULL); /* so that the other ranks that wait can say so, too */
  if (failure != 0 || (code != 0 && !all_end()))
    MPI_Abort(MPI_COMM_WORLD, code);
  MPI_Finalize();
  for (int side = 0; side < 2; side++) {
    free(counts[side]);
    free(starts[side]);
  }
}
