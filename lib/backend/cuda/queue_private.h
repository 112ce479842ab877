/* What a queue consists of. */
#ifndef LINNET_CUDA_QUEUE_PRIVATE_H
#define LINNET_CUDA_QUEUE_PRIVATE_H

#include <cuda_runtime_api.h>

#include "backend/cuda/queue.h"

struct linnet_cuda_products;

struct linnet_cuda_queue {
  struct linnet_context *context;
  cudaStream_t stream;
  void *scratch;
  struct linnet_cuda_products *products; /* NULL: no cuBLASLt */
  cudaError_t failure;                   /* the first one */
};

/* cuBLASLt, found when it is needed first; NULL: not there, or not usable. */
struct linnet_cuda_products *linnet_cuda_products_open(struct linnet_cuda_queue *queue);
void linnet_cuda_products_close(struct linnet_cuda_products *products);

#endif
