/* A CUDA device: a stream, its scratch, and memory from the device's pool. cudart is linked statically and finds
 * the driver when it is first asked: a machine without one has no device. */
#include "backend/cuda/cuda_device.h"

#include "base/base.h"

static bool succeeded(struct cuda_device *d, cudaError_t error) {
  if (error != cudaSuccess && d->failure == cudaSuccess)
    d->failure = error;
  return error == cudaSuccess;
}

static enum linnet_status no_device(struct linnet_context *context, int index, cudaError_t error) {
  return linnet_fail(context, LINNET_ERROR_UNSUPPORTED, "CUDA device %d: %s", index, cudaGetErrorString(error));
}

/* What is freed stays in the pool: allocations of later steps cost nothing. */
static cudaError_t keep_memory(int index) {
  cudaMemPool_t pool;
  uint64_t threshold = UINT64_MAX;
  cudaError_t error = cudaDeviceGetDefaultMemPool(&pool, index);
  return error == cudaSuccess ? cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold) : error;
}

static cudaError_t open_device(struct cuda_device *d, int index) {
  cudaError_t error = cudaSetDevice(index);
  if (error == cudaSuccess)
    error = keep_memory(index);
  if (error == cudaSuccess)
    error = cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking);
  if (error == cudaSuccess)
    error = cudaMallocAsync(&d->scratch, LINNET_CUDA_SCRATCH, d->stream);
  return error;
}

enum linnet_status linnet_cuda_open(struct linnet_context *context, int index, struct linnet_device **device) {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  *device = NULL;
  if (error != cudaSuccess || index >= count)
    return no_device(context, index, error != cudaSuccess ? error : cudaErrorInvalidDevice);
  struct cuda_device *d = linnet_calloc(context, 1, sizeof *d);
  if (!d)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a CUDA device");
  d->context = context;
  error = open_device(d, index);
  if (error != cudaSuccess) {
    linnet_cuda_close(&d->base);
    return no_device(context, index, error);
  }
  d->products = linnet_cuda_products_open(d);
  *device = &d->base;
  return LINNET_OK;
}

void linnet_cuda_close(struct linnet_device *device) {
  struct cuda_device *d = linnet_cuda_device(device);
  if (!d)
    return;
  linnet_cuda_products_close(d->products);
  if (d->scratch)
    cudaFreeAsync(d->scratch, d->stream);
  if (d->stream) {
    cudaStreamSynchronize(d->stream);
    cudaStreamDestroy(d->stream);
  }
  linnet_free(d->context, d);
}

enum linnet_status linnet_cuda_wait(struct linnet_device *device, struct linnet_context *context) {
  struct cuda_device *d = linnet_cuda_device(device);
  succeeded(d, cudaGetLastError());
  succeeded(d, cudaStreamSynchronize(d->stream));
  if (d->failure == cudaSuccess)
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_MEMORY, "CUDA: %s", cudaGetErrorString(d->failure));
}

void *linnet_cuda_alloc(struct linnet_device *device, size_t bytes) {
  void *memory = NULL;
  if (cudaMallocAsync(&memory, bytes > 0 ? bytes : 1, linnet_cuda_device(device)->stream) == cudaSuccess)
    return memory;
  cudaGetLastError(); /* out of memory is the caller's to tell, and no failure of the device */
  return NULL;
}

void linnet_cuda_free(struct linnet_device *device, void *memory) {
  struct cuda_device *d = linnet_cuda_device(device);
  if (memory)
    succeeded(d, cudaFreeAsync(memory, d->stream));
}

static void copy(struct linnet_device *device, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  struct cuda_device *d = linnet_cuda_device(device);
  succeeded(d, cudaMemcpyAsync(to, from, bytes, kind, d->stream));
}

void linnet_cuda_upload(struct linnet_device *device, void *to, const void *host, size_t bytes) {
  copy(device, to, host, bytes, cudaMemcpyHostToDevice);
}

void linnet_cuda_download(struct linnet_device *device, void *host, const void *from, size_t bytes) {
  copy(device, host, from, bytes, cudaMemcpyDeviceToHost);
}

void linnet_cuda_copy(struct linnet_device *device, void *to, const void *from, size_t bytes) {
  copy(device, to, from, bytes, cudaMemcpyDeviceToDevice);
}

void linnet_cuda_zero(struct linnet_device *device, void *memory, size_t bytes) {
  struct cuda_device *d = linnet_cuda_device(device);
  succeeded(d, cudaMemsetAsync(memory, 0, bytes, d->stream));
}

void *linnet_cuda_stream(const struct linnet_device *device) {
  return linnet_cuda_device(device)->stream;
}

void *linnet_cuda_scratch(struct linnet_device *device, size_t bytes) {
  struct cuda_device *d = linnet_cuda_device(device);
  if (bytes > LINNET_CUDA_SCRATCH)
    succeeded(d, cudaErrorMemoryAllocation);
  return d->scratch;
}
