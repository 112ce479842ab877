/* Links of CUDA devices by NCCL, which is loaded at run time like cuDNN (cudnn.c). NCCL only sends and receives: its
 * own reductions add in an order that depends on the number of ranks.
 *
 * Another rank may have failed, and NCCL then would wait for it for ever. So no call waits for the stream itself:
 * `wait` polls it and NCCL, up to a limit. A link that failed is aborted, which ends its messages, and other ranks
 * notice. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/nccl_api.h"
#include "base/base.h"

_Static_assert(sizeof(ncclUniqueId) == LINNET_LINK_ID_BYTES, "the name of a link");

enum { POLL_NANOSECONDS = 50000 };

#ifndef LINNET_NCCL_SECONDS /* tests have less time */
#define LINNET_NCCL_SECONDS 120
#endif

/* name in the struct, name in the library */
#define FUNCTIONS(f)                                                                                                   \
  f(get_version, ncclGetVersion) f(error_string, ncclGetErrorString) f(get_id, ncclGetUniqueId)                        \
      f(init, ncclCommInitRank) f(abort, ncclCommAbort) f(async_error, ncclCommGetAsyncError)                          \
          f(group_start, ncclGroupStart) f(group_end, ncclGroupEnd) f(send, ncclSend) f(receive, ncclRecv)

struct linnet_device_link {
  struct linnet_device *device;
  void *library;
  char name[32];                                         /* of the library, with its version */
#define MEMBER(name, symbol) __typeof__(&(symbol)) name; /* NOLINT(bugprone-macro-parentheses): declares `name` */
  FUNCTIONS(MEMBER)
  ncclComm_t comm; /* NULL: not open, or aborted */
  size_t rank, num_ranks;
  const char *failed; /* the first function that failed since `create`, or NULL ... */
  ncclResult_t result;
};

/* --- failures ----------------------------------------------------------------------------------------------------- */

static bool good(struct linnet_device_link *l, const char *function, ncclResult_t result) {
  if (result != ncclSuccess && !l->failed)
    l->failed = function, l->result = result;
  return result == ncclSuccess;
}

static void abort_link(struct linnet_device_link *l) {
  good(l, "a message", ncclRemoteError);
  if (l->comm)
    l->abort(l->comm);
  l->comm = NULL;
  linnet_cuda_forgive(l->device);
}

/* Reports the failure that `good` found. */
static enum linnet_status fail(struct linnet_device_link *l, struct linnet_context *context,
                               enum linnet_status status) {
  abort_link(l);
  return linnet_fail(context, status, "%s: %s: %s: %s", l->device->name, l->name, l->failed,
                     l->error_string(l->result));
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static bool find_functions(struct linnet_device_link *l) {
#define FIND(name, symbol)                                                                                             \
  *(void **)(void *)&l->name = dlsym(l->library, #symbol);                                                             \
  if (!l->name)                                                                                                        \
    return false;
  FUNCTIONS(FIND)
  return true;
}

/* Versions before 2.9 have one digit less. */
static void name_library(struct linnet_device_link *l) {
  int version = 0;
  good(l, "ncclGetVersion", l->get_version(&version));
  const int major = version < 10000 ? version / 1000 : version / 10000;
  snprintf(l->name, sizeof l->name, "NCCL %d.%d.%d", major, version / 100 % (version < 10000 ? 10 : 100),
           version % 100);
}

/* The library is never unloaded, because it registers code with the driver. */
static enum linnet_status load(struct linnet_device_link *l, struct linnet_context *context) {
  l->library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!l->library || !find_functions(l)) {
    const char *why = dlerror();
    return linnet_fail(context, LINNET_ERROR_UNSUPPORTED, "%s: %s", l->device->name, why ? why : "libnccl.so.2");
  }
  name_library(l);
  return l->failed ? fail(l, context, LINNET_ERROR_UNSUPPORTED) : LINNET_OK;
}

static void destroy_link(struct linnet_device_link *l) {
  if (!l)
    return;
  abort_link(l);
  if (l->library)
    dlclose(l->library);
  linnet_free(linnet_cuda_device(l->device)->context, l);
}

static enum linnet_status create_link(struct linnet_device *device, struct linnet_context *context,
                                      struct linnet_link_end *end, struct linnet_device_link **link) {
  const struct linnet_cuda_device *d = linnet_cuda_device(device);
  struct linnet_device_link *l = *link = linnet_calloc(d->context, 1, sizeof *l);
  if (!l)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a link of GPUs");
  l->device = device;
  LINNET_TRY(load(l, context));
  memcpy(end->device, d->uuid, sizeof end->device);
  memcpy(end->library, l->name, sizeof end->library);
  return LINNET_OK;
}

static enum linnet_status name_link(struct linnet_device_link *l, struct linnet_context *context,
                                    unsigned char id[LINNET_LINK_ID_BYTES]) {
  ncclUniqueId name = {{0}};
  if (!good(l, "ncclGetUniqueId", l->get_id(&name)))
    return fail(l, context, LINNET_ERROR_UNSUPPORTED);
  memcpy(id, name.internal, sizeof name.internal);
  return LINNET_OK;
}

static enum linnet_status open_link(struct linnet_device_link *l, struct linnet_context *context,
                                    const unsigned char id[LINNET_LINK_ID_BYTES], size_t rank, size_t num_ranks) {
  ncclUniqueId name;
  memcpy(name.internal, id, sizeof name.internal);
  l->rank = rank, l->num_ranks = num_ranks;
  if (good(l, "ncclCommInitRank", l->init(&l->comm, (int)num_ranks, name, (int)rank)))
    return LINNET_OK;
  l->comm = NULL;
  return fail(l, context, LINNET_ERROR_UNSUPPORTED);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* Messages are bytes; those of length 0 are not sent. After a failure nothing is. */

static void send(struct linnet_device_link *l, const void *data, size_t begin, size_t end, size_t to) {
  if (end > begin && !l->failed)
    good(l, "ncclSend",
         l->send((const char *)data + begin, end - begin, ncclUint8, (int)to, l->comm, linnet_cuda_stream(l->device)));
}

static void receive(struct linnet_device_link *l, void *data, size_t begin, size_t end, size_t from) {
  if (end > begin && !l->failed)
    good(l, "ncclRecv",
         l->receive((char *)data + begin, end - begin, ncclUint8, (int)from, l->comm, linnet_cuda_stream(l->device)));
}

/* One group of messages with every other rank: it gets the part of `sent` that has its number, or with `own` the part
 * of this rank. */
static void queue_messages(struct linnet_device_link *l, const void *sent, const size_t *send_offsets, bool own,
                           void *received, const size_t *receive_offsets) {
  if (l->failed || !good(l, "ncclGroupStart", l->group_start()))
    return;
  for (size_t r = 0; r < l->num_ranks; r++)
    if (r != l->rank) {
      const size_t part = own ? l->rank : r;
      send(l, sent, send_offsets[part], send_offsets[part + 1], r);
      receive(l, received, receive_offsets[r], receive_offsets[r + 1], r);
    }
  good(l, "ncclGroupEnd", l->group_end());
}

static void gather(struct linnet_device_link *l, void *data, const size_t *offsets) {
  queue_messages(l, data, offsets, true, data, offsets);
}

static void exchange(struct linnet_device_link *l, const void *sent, const size_t *send_offsets, void *received,
                     const size_t *receive_offsets) {
  queue_messages(l, sent, send_offsets, false, received, receive_offsets);
}

static enum linnet_status check(struct linnet_device_link *l, struct linnet_context *context) {
  return l->failed ? fail(l, context, LINNET_ERROR_DEVICE) : LINNET_OK;
}

static bool check_messages(struct linnet_device_link *l) {
  ncclResult_t error = ncclSuccess;
  return good(l, "ncclCommGetAsyncError", l->async_error(l->comm, &error)) &&
         good(l, "a message", error == ncclInProgress ? ncclSuccess : error);
}

static double clock_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Until the stream is idle. */
static enum linnet_status poll_messages(struct linnet_device_link *l, struct linnet_context *context) {
  const struct timespec pause = {.tv_nsec = POLL_NANOSECONDS};
  const double limit = clock_seconds() + LINNET_NCCL_SECONDS;
  for (bool idle = linnet_cuda_idle(l->device); check_messages(l); idle = linnet_cuda_idle(l->device)) {
    if (idle)
      return LINNET_OK;
    if (clock_seconds() > limit)
      return linnet_fail(context, LINNET_ERROR_DEVICE, "%s: %s: no answer from other GPUs in %d s", l->device->name,
                         l->name, LINNET_NCCL_SECONDS);
    nanosleep(&pause, NULL);
  }
  return fail(l, context, LINNET_ERROR_DEVICE);
}

static enum linnet_status wait_for_messages(struct linnet_device_link *l, struct linnet_context *context) {
  enum linnet_status status = poll_messages(l, context);
  if (status == LINNET_OK)
    status = l->device->ops->wait(l->device, context);
  if (status != LINNET_OK)
    abort_link(l);
  return status;
}

const struct linnet_link_ops linnet_cuda_link_ops = {.create = create_link,
                                                     .destroy = destroy_link,
                                                     .name = name_link,
                                                     .open = open_link,
                                                     .gather = gather,
                                                     .exchange = exchange,
                                                     .check = check,
                                                     .wait = wait_for_messages,
                                                     .abort = abort_link};
