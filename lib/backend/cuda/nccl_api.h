/* The part of NCCL's API that Linnet calls (source: nccl.h of 2.32.3). Versions before 2.7 do not send. With it Linnet
 * builds without NCCL. Names and values are NVIDIA's. */
#ifndef LINNET_NCCL_API_H
#define LINNET_NCCL_API_H

#include <stddef.h>

struct CUstream_st; /* a stream: cudaStream_t points to it */

typedef struct ncclComm *ncclComm_t;

enum { NCCL_UNIQUE_ID_BYTES = 128 };
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum { ncclSuccess = 0, ncclInvalidArgument = 4, ncclRemoteError = 6, ncclInProgress = 7 } ncclResult_t;
typedef enum { ncclUint8 = 1 } ncclDataType_t;

ncclResult_t ncclGetVersion(int *version);
const char *ncclGetErrorString(ncclResult_t result);
ncclResult_t ncclGetUniqueId(ncclUniqueId *id);

/* Waits for all ranks. The device of the rank is the current one of the thread. */
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int num_ranks, ncclUniqueId id, int rank);
/* Frees the communicator without waiting for other ranks; messages that run end. */
ncclResult_t ncclCommAbort(ncclComm_t comm);
/* An error of messages that are queued. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error);

/* Messages between a start and the end of their group are queued together, by the end. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclSend(const void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      struct CUstream_st *stream);
ncclResult_t ncclRecv(void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      struct CUstream_st *stream);

#endif
