/* A device's queue: a stream, its scratch, and memory from the device's pool. cudart is linked statically and finds
 * the driver when it is first asked: a machine without one has no device. */
#include "backend/cuda/queue_private.h"

#include "base/base.h"

static bool succeeded(struct linnet_cuda_queue *queue, cudaError_t error) {
  if (error != cudaSuccess && queue->failure == cudaSuccess)
    queue->failure = error;
  return error == cudaSuccess;
}

static enum linnet_status no_device(struct linnet_context *context, int device, cudaError_t error) {
  return linnet_fail(context, LINNET_ERROR_UNSUPPORTED, "CUDA device %d: %s", device, cudaGetErrorString(error));
}

/* What is freed stays in the pool: allocations of later steps cost nothing. */
static cudaError_t keep_memory(int device) {
  cudaMemPool_t pool;
  uint64_t threshold = UINT64_MAX;
  cudaError_t error = cudaDeviceGetDefaultMemPool(&pool, device);
  return error == cudaSuccess ? cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold) : error;
}

static cudaError_t open_device(struct linnet_cuda_queue *queue, int device) {
  cudaError_t error = cudaSetDevice(device);
  if (error == cudaSuccess)
    error = keep_memory(device);
  if (error == cudaSuccess)
    error = cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking);
  if (error == cudaSuccess)
    error = cudaMallocAsync(&queue->scratch, LINNET_CUDA_SCRATCH, queue->stream);
  return error;
}

enum linnet_status linnet_cuda_queue_create(struct linnet_context *context, int device,
                                            struct linnet_cuda_queue **result) {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  *result = NULL;
  if (error != cudaSuccess || device >= count)
    return no_device(context, device, error != cudaSuccess ? error : cudaErrorInvalidDevice);
  struct linnet_cuda_queue *queue = linnet_calloc(context, 1, sizeof *queue);
  if (!queue)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a CUDA queue");
  queue->context = context;
  error = open_device(queue, device);
  if (error != cudaSuccess) {
    linnet_cuda_queue_destroy(queue);
    return no_device(context, device, error);
  }
  queue->products = linnet_cuda_products_open(queue);
  *result = queue;
  return LINNET_OK;
}

void linnet_cuda_queue_destroy(struct linnet_cuda_queue *queue) {
  if (!queue)
    return;
  linnet_cuda_products_close(queue->products);
  if (queue->scratch)
    cudaFreeAsync(queue->scratch, queue->stream);
  if (queue->stream) {
    cudaStreamSynchronize(queue->stream);
    cudaStreamDestroy(queue->stream);
  }
  linnet_free(queue->context, queue);
}

enum linnet_status linnet_cuda_wait(struct linnet_cuda_queue *queue) {
  succeeded(queue, cudaGetLastError());
  succeeded(queue, cudaStreamSynchronize(queue->stream));
  if (queue->failure == cudaSuccess)
    return LINNET_OK;
  return linnet_fail(queue->context, LINNET_ERROR_MEMORY, "CUDA: %s", cudaGetErrorString(queue->failure));
}

void *linnet_cuda_alloc(struct linnet_cuda_queue *queue, size_t bytes) {
  void *memory = NULL;
  if (cudaMallocAsync(&memory, bytes > 0 ? bytes : 1, queue->stream) == cudaSuccess)
    return memory;
  cudaGetLastError(); /* out of memory is the caller's to tell, and no failure of the queue */
  return NULL;
}

void linnet_cuda_free(struct linnet_cuda_queue *queue, void *memory) {
  if (memory)
    succeeded(queue, cudaFreeAsync(memory, queue->stream));
}

void linnet_cuda_upload(struct linnet_cuda_queue *queue, void *device, const void *host, size_t bytes) {
  succeeded(queue, cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, queue->stream));
}

void linnet_cuda_download(struct linnet_cuda_queue *queue, void *host, const void *device, size_t bytes) {
  succeeded(queue, cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, queue->stream));
}

void linnet_cuda_zero(struct linnet_cuda_queue *queue, void *device, size_t bytes) {
  succeeded(queue, cudaMemsetAsync(device, 0, bytes, queue->stream));
}

void linnet_cuda_copy(struct linnet_cuda_queue *queue, void *to, const void *from, size_t bytes) {
  succeeded(queue, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, queue->stream));
}

void *linnet_cuda_stream(const struct linnet_cuda_queue *queue) {
  return queue->stream;
}

void *linnet_cuda_scratch(struct linnet_cuda_queue *queue, size_t bytes) {
  if (bytes > LINNET_CUDA_SCRATCH)
    succeeded(queue, cudaErrorMemoryAllocation);
  return queue->scratch;
}
