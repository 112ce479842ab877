/* Ranks that train one model together: processes or threads, each with a trainer of its own.
 *
 * The library is linked with no communication library. A program gives each rank the two operations below, made of
 * MPI, NCCL, gloo, sockets or threads. Both are collective: all ranks call the same operations in the same order. The
 * trainer calls them one at a time, with memory of the host, from the thread that called linnet_trainer_create or
 * linnet_trainer_run; with `any_thread`, exchanges also come from another thread, while that one computes.
 *
 * GPUs exchange gradients directly where they can (linnet_train_settings.gpu_exchange), otherwise by these operations.
 *
 * The results of a training have the same bytes for every number of ranks (docs/scale.md).
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_GROUP_H
#define LINNET_GROUP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Operations return 0, or non-zero if they failed, for example because another rank ended; ETIMEDOUT of errno.h if the
 * other ranks did not take part in time. The trainer then fails with LINNET_ERROR_DEVICE and calls none of them
 * again. */
struct linnet_group {
  size_t size; /* sizeof(struct linnet_group); members that an older program does not have count as NULL or 0 */
  void *user;
  size_t rank, num_ranks; /* 0 <= rank < num_ranks */

  /* Bytes offsets[r] ... offsets[r+1] - 1 of `data` are rank r's; offsets (num_ranks + 1) are the same on all ranks and
   * begin with 0. At first only the caller's own part is set; afterwards `data` is the same on all ranks. Parts may be
   * empty. MPI_Allgatherv in place. */
  int (*gather)(void *user, void *data, const size_t *offsets);

  /* Sends bytes send_offsets[r] ... send_offsets[r+1] - 1 of `send` to rank r, and receives those from rank r at
   * receive_offsets[r]. Both arrays are (num_ranks + 1). Parts may be empty. Nothing is sent to the caller itself: its
   * part of `receive` is empty, its part of `send` need not be. MPI_Alltoallv. */
  int (*exchange)(void *user, const void *send, const size_t *send_offsets, void *receive,
                  const size_t *receive_offsets);

  /* Non-zero: the operations may be called from any thread, one at a time (MPI_THREAD_SERIALIZED). Gradients are then
   * exchanged during the backward pass, on the CPU. `exchange` should not keep a processor busy while it waits. 0: all
   * operations come from one thread, and gradients are exchanged after the backward pass. The results have the same
   * bytes. */
  int any_thread;
};

#ifdef __cplusplus
}
#endif
#endif
