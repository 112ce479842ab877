/* What a CUDA device consists of. */
#ifndef LINNET_CUDA_DEVICE_H
#define LINNET_CUDA_DEVICE_H

#include <cuda_runtime_api.h>

#include "backend/cuda/memory.h"
#include "backend/device.h"

struct linnet_cuda_products;

struct cuda_device {
  struct linnet_device base; /* first */
  struct linnet_context *context;
  cudaStream_t stream;
  void *scratch;
  struct linnet_cuda_products *products; /* NULL: no cuBLASLt */
  cudaError_t failure;                   /* the first one */
};

static inline struct cuda_device *linnet_cuda_device(const struct linnet_device *device) {
  return (struct cuda_device *)(uintptr_t)device;
}

/* cuBLASLt, found when it is needed first; NULL: not there, or not usable. */
struct linnet_cuda_products *linnet_cuda_products_open(struct cuda_device *device);
void linnet_cuda_products_close(struct linnet_cuda_products *products);

#endif
