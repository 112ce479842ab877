/* Replaces NCCL for the emulated device, where ranks are threads: implements the calls of nccl_api.h as NVIDIA
 * documents them. It refuses memory of the host, messages outside of groups or to the caller, and receives of another
 * size than what was sent. A rank that aborts or fails ends the waiting of the others. */
#include "fake_nccl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/nccl_api.h"

enum { MAX_RANKS = 8, MAX_CALLS = 64, VERSION = 22304 };

struct fake_nccl fake_nccl_state;

/* A message on its way, in the order of those of its two ranks. */
struct message {
  struct message *next;
  size_t bytes;
  unsigned char data[];
};

/* The communicators of one id. */
struct world {
  int num_ranks, arrived, members;
  bool broken;
  struct message *messages[MAX_RANKS][MAX_RANKS]; /* [from][to], the first sent first */
};

struct ncclComm {
  struct world *world;
  int rank;
};

/* A call within a group. */
struct call {
  struct ncclComm *comm;
  bool sends;
  void *data;
  size_t bytes;
  int peer;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* protects all but what belongs to a thread */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static __thread int own_rank = -1, depth;
static __thread struct call calls[MAX_CALLS];
static __thread size_t num_calls;

/* --- common parts of all calls ------------------------------------------------------------------------------------ */

static ncclResult_t refuse(const char *function, const char *what) {
  fprintf(stderr, "fake NCCL: %s: %s\n", function, what);
  __atomic_add_fetch(&fake_nccl_state.refused, 1, __ATOMIC_RELAXED);
  return ncclInvalidArgument;
}

static bool fails(const char *function) {
  struct fake_nccl *f = &fake_nccl_state;
  bool failing = false;
  pthread_mutex_lock(&mutex);
  if (f->failing && (own_rank < 0 || own_rank == f->rank) &&
      (strcmp(f->failing, "any") == 0 || strcmp(f->failing, function) == 0))
    failing = f->passing == 0 || f->passing-- == 0;
  f->failed += failing;
  pthread_mutex_unlock(&mutex);
  return failing;
}

#define BEGIN                                                                                                          \
  if (fails(__func__))                                                                                                 \
  return (ncclResult_t)1
#define NEED(condition)                                                                                                \
  if (!(condition))                                                                                                    \
  return refuse(__func__, #condition)

ncclResult_t ncclGetVersion(int *version) {
  BEGIN;
  *version = VERSION;
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError ? "another rank ended" : "a call failed";
}

/* --- communicators ------------------------------------------------------------------------------------------------ */

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  BEGIN;
  struct world *world = calloc(1, sizeof *world);
  memset(id, 0x5a, sizeof *id);
  memcpy(id->internal, &world, sizeof world);
  return ncclSuccess;
}

static void break_world(struct world *world) {
  world->broken = true;
  pthread_cond_broadcast(&changed);
}

static void free_world(struct world *world) {
  for (size_t pair = 0; pair < (size_t)MAX_RANKS * MAX_RANKS; pair++)
    for (struct message *m = world->messages[pair / MAX_RANKS][pair % MAX_RANKS], *next; m; m = next) {
      if (!fake_nccl_state.failing)
        refuse("ncclCommAbort", "a message was not received");
      next = m->next;
      free(m);
    }
  free(world);
}

/* The last rank that leaves frees it. */
static void leave(struct world *world) {
  pthread_mutex_lock(&mutex);
  break_world(world);
  const bool last = --world->members == 0 && world->arrived == world->num_ranks;
  pthread_mutex_unlock(&mutex);
  if (last)
    free_world(world);
}

/* All ranks come here, also those that fail. */
static bool arrive(struct world *world, int num_ranks, bool failing) {
  pthread_mutex_lock(&mutex);
  world->num_ranks = num_ranks;
  world->arrived++;
  world->members++;
  if (failing)
    break_world(world);
  pthread_cond_broadcast(&changed);
  while (world->arrived < num_ranks && !world->broken)
    pthread_cond_wait(&changed, &mutex);
  const bool good = !world->broken;
  pthread_mutex_unlock(&mutex);
  if (!good)
    leave(world);
  return good;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int num_ranks, ncclUniqueId id, int rank) {
  struct world *world;
  NEED(num_ranks > 1 && num_ranks <= MAX_RANKS && rank >= 0 && rank < num_ranks);
  own_rank = rank;
  const bool failing = fails(__func__);
  memcpy(&world, id.internal, sizeof world);
  *comm = (ncclComm_t)world; /* of no use if this fails */
  if (!arrive(world, num_ranks, failing))
    return failing ? (ncclResult_t)1 : ncclRemoteError;
  *comm = malloc(sizeof **comm);
  **comm = (struct ncclComm){world, rank};
  __atomic_add_fetch(&fake_nccl_state.communicators, 1, __ATOMIC_RELAXED);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  leave(comm->world);
  free(comm);
  own_rank = -1, depth = 0, num_calls = 0;
  __atomic_sub_fetch(&fake_nccl_state.communicators, 1, __ATOMIC_RELAXED);
  return ncclSuccess;
}

/* Does not know of other ranks: between GPUs of one machine, NCCL may not either. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
  NEED(comm);
  *error = fails(__func__) ? (ncclResult_t)1 : ncclSuccess;
  return ncclSuccess;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

ncclResult_t ncclGroupStart(void) {
  BEGIN;
  depth++;
  return ncclSuccess;
}

static ncclResult_t add(const char *function, struct call call) {
  if (depth != 1 || num_calls == MAX_CALLS)
    return refuse(function, "not in a group, or too many");
  if (call.peer == call.comm->rank || call.peer < 0 || call.peer >= call.comm->world->num_ranks)
    return refuse(function, "no such peer");
  if (call.bytes == 0 || !fake_nccl_state.owns(call.data, call.bytes))
    return refuse(function, "not memory of a device");
  calls[num_calls++] = call;
  return ncclSuccess;
}

ncclResult_t ncclSend(const void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      struct CUstream_st *stream) {
  BEGIN;
  NEED(type == ncclUint8 && !stream); /* the emulated device has the stream NULL */
  return add(__func__, (struct call){comm, true, (void *)(size_t)data, count, peer});
}

ncclResult_t ncclRecv(void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      struct CUstream_st *stream) {
  BEGIN;
  NEED(type == ncclUint8 && !stream);
  return add(__func__, (struct call){comm, false, data, count, peer});
}

static void send_message(const struct call *call) {
  struct message *message = malloc(sizeof *message + call->bytes), **end;
  *message = (struct message){NULL, call->bytes};
  memcpy(message->data, call->data, call->bytes);
  pthread_mutex_lock(&mutex);
  for (end = &call->comm->world->messages[call->comm->rank][call->peer]; *end; end = &(*end)->next) {
  }
  *end = message;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

/* NULL: a rank has ended. */
static struct message *wait_for_message(const struct call *call) {
  struct world *world = call->comm->world;
  struct message **first = &world->messages[call->peer][call->comm->rank], *message;
  pthread_mutex_lock(&mutex);
  while (!*first && !world->broken)
    pthread_cond_wait(&changed, &mutex);
  message = *first;
  if (message) {
    *first = message->next;
    fake_nccl_state.messages++;
    fake_nccl_state.bytes += message->bytes;
  }
  pthread_mutex_unlock(&mutex);
  return message;
}

static ncclResult_t receive_message(const struct call *call) {
  struct message *message = wait_for_message(call);
  if (!message)
    return ncclRemoteError;
  const bool good = message->bytes == call->bytes;
  if (good)
    memcpy(call->data, message->data, call->bytes);
  free(message);
  return good ? ncclSuccess : refuse("ncclRecv", "another size than what was sent");
}

ncclResult_t ncclGroupEnd(void) {
  ncclResult_t result = fails(__func__) ? (ncclResult_t)1 : ncclSuccess;
  const size_t count = num_calls;
  NEED(depth == 1);
  depth = 0, num_calls = 0;
  for (size_t i = 0; result == ncclSuccess && i < count; i++)
    if (calls[i].sends)
      send_message(&calls[i]);
  for (size_t i = 0; result == ncclSuccess && i < count; i++)
    if (!calls[i].sends)
      result = receive_message(&calls[i]);
  return result;
}
