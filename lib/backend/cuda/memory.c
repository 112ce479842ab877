/* A CUDA device: a stream, its scratch, and memory from the device's pool. cudart is linked statically and looks for
 * the driver at the first call: a machine without a driver has no device. */
#include "backend/cuda/cuda_device.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"

static bool succeeded(struct linnet_cuda_device *d, cudaError_t error) {
  if (error != cudaSuccess && d->failure == cudaSuccess)
    d->failure = error;
  return error == cudaSuccess;
}

static enum linnet_status no_device(struct linnet_context *context, int index, cudaError_t error) {
  return linnet_fail(context, LINNET_ERROR_DEVICE, "CUDA device %d: %s", index, cudaGetErrorString(error));
}

/* Freed memory stays in the pool, so that allocations of later steps are fast. Restarts the measurement of the peak
 * use. */
static cudaError_t keep_memory(int index) {
  cudaMemPool_t pool;
  uint64_t threshold = UINT64_MAX, peak = 0;
  cudaError_t error = cudaDeviceGetDefaultMemPool(&pool, index);
  if (error == cudaSuccess)
    error = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
  if (error == cudaSuccess)
    error = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &peak);
  return error;
}

static cudaError_t name_device(struct linnet_cuda_device *d, int index) {
  struct cudaDeviceProp properties;
  cudaError_t error = cudaGetDeviceProperties(&properties, index);
  snprintf(d->name, sizeof d->name, "cuda:%d %.80s, %.0f GiB", index, properties.name,
           (double)properties.totalGlobalMem / (1 << 30));
  d->base = linnet_cuda_base(d->name, d->precision);
  memcpy(d->uuid, &properties.uuid, sizeof d->uuid);
  return error;
}

static cudaError_t open_device(struct linnet_cuda_device *d, int index) {
  cudaError_t error = cudaSetDevice(index);
  if (error == cudaSuccess)
    error = keep_memory(index);
  if (error == cudaSuccess)
    error = name_device(d, index);
  if (error == cudaSuccess)
    error = cudaStreamCreateWithFlags((cudaStream_t *)&d->stream, cudaStreamNonBlocking);
  if (error == cudaSuccess)
    error = cudaMallocAsync(&d->scratch, LINNET_CUDA_SCRATCH, d->stream);
  return error;
}

size_t linnet_cuda_count(void) {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? (size_t)count : 0;
}

enum linnet_status linnet_cuda_open(struct linnet_context *context, int index, enum linnet_precision precision,
                                    struct linnet_device **device) {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  *device = NULL;
  if (error != cudaSuccess || index >= count)
    return no_device(context, index, error != cudaSuccess ? error : cudaErrorInvalidDevice);
  struct linnet_cuda_device *d = linnet_calloc(context, 1, sizeof *d);
  if (!d)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a CUDA device");
  d->context = context;
  d->precision = precision;
  d->index = index;
  pthread_mutex_init(&d->mutex, NULL);
  error = open_device(d, index);
  if (error != cudaSuccess) {
    linnet_cuda_close(&d->base);
    return no_device(context, index, error);
  }
  d->mailbox.memory = linnet_cuda_alloc_host(&d->base, LINNET_CUDA_MAILBOX);
  d->products = linnet_cuda_products_open(d);
  if (!d->products)
    linnet_log(context, LINNET_LOG_WARNING, "%s: cuBLASLt is missing or unusable: matrix products are slow", d->name);
  *device = &d->base;
  return LINNET_OK;
}

void linnet_cuda_close(struct linnet_device *device) {
  struct linnet_cuda_device *d = linnet_cuda_device(device);
  if (!d)
    return;
  linnet_cuda_products_close(d->products);
  linnet_cuda_cudnn_close(d->cudnn);
  linnet_cuda_release_batch(device);
  linnet_cuda_free_host(device, d->mailbox.memory);
  linnet_cuda_free(device, d->positions);
  linnet_cuda_free(device, d->scratch);
  if (d->stream) {
    cudaStreamSynchronize(d->stream);
    cudaStreamDestroy(d->stream);
  }
  pthread_mutex_destroy(&d->mutex);
  linnet_free(d->context, d);
}

void linnet_cuda_lock(struct linnet_device *device) {
  struct linnet_cuda_device *d = linnet_cuda_device(device);
  pthread_mutex_lock(&d->mutex);
  succeeded(d, cudaSetDevice(d->index));
}

void linnet_cuda_unlock(struct linnet_device *device) {
  pthread_mutex_unlock(&linnet_cuda_device(device)->mutex);
}

/* Reserves space in the mailbox for a result of `bytes` that will be copied to `host`. NULL: the mailbox has no space.
 */
static void *post(struct linnet_cuda_mailbox *m, void *host, size_t bytes) {
  if (!m->memory || m->letters == LINNET_CUDA_LETTERS || bytes > LINNET_CUDA_MAILBOX - m->used)
    return NULL;
  size_t offset = m->used;
  m->letter[m->letters].to = host, m->letter[m->letters].offset = offset, m->letter[m->letters].bytes = bytes;
  m->letters++;
  m->used += bytes;
  return m->memory + offset;
}

static void deliver(struct linnet_cuda_mailbox *m) {
  for (size_t i = 0; i < m->letters; i++)
    memcpy(m->letter[i].to, m->memory + m->letter[i].offset, m->letter[i].bytes);
  m->letters = m->used = 0;
}

enum linnet_status linnet_cuda_wait(struct linnet_device *device, struct linnet_context *context) {
  struct linnet_cuda_device *d = linnet_cuda_device(device);
  succeeded(d, cudaGetLastError());
  succeeded(d, cudaStreamSynchronize(d->stream));
  const cudaError_t failure = (cudaError_t)d->failure;
  if (failure == cudaSuccess) {
    deliver(&d->mailbox);
    return LINNET_OK;
  }
  enum linnet_status status = linnet_fail(
      context, failure == cudaErrorMemoryAllocation ? LINNET_ERROR_MEMORY : LINNET_ERROR_DEVICE, "%s: %s%s%s", d->name,
      d->failed ? d->failed : "", d->failed ? ": " : "", cudaGetErrorString(failure));
  if (context) /* it is reported now; a permanent failure comes again with the next call */
    d->failure = cudaSuccess, d->failed = NULL, d->mailbox.letters = d->mailbox.used = 0;
  return status;
}

bool linnet_cuda_idle(struct linnet_device *device) {
  if (cudaStreamQuery(linnet_cuda_device(device)->stream) != cudaErrorNotReady)
    return true;
  cudaGetLastError();
  return false;
}

void linnet_cuda_launched(struct linnet_device *device, const char *kernel) {
  struct linnet_cuda_device *d = linnet_cuda_device(device);
  bool first = d->failure == cudaSuccess;
  if (!succeeded(d, cudaGetLastError()) && first)
    d->failed = kernel;
}

/* Waits for the stream and returns unused memory of the pool to the driver. Until then the pool may not know that freed
 * memory is free, or may hold it in fragments that are too small. */
static cudaError_t tidy_pool(struct linnet_cuda_device *d) {
  cudaMemPool_t pool;
  cudaError_t error = cudaStreamSynchronize(d->stream);
  if (error == cudaSuccess)
    error = cudaDeviceGetDefaultMemPool(&pool, d->index);
  return error == cudaSuccess ? cudaMemPoolTrimTo(pool, 0) : error;
}

/* Returns NULL if memory is short or the device fails. Out of memory is no failure of the device: the caller reports
 * it. */
static void *allocate(struct linnet_cuda_device *d, size_t bytes) {
  void *memory = NULL;
  cudaError_t error = cudaMallocAsync(&memory, bytes > 0 ? bytes : 1, d->stream);
  if (error == cudaSuccess)
    return memory;
  cudaGetLastError();
  if (error != cudaErrorMemoryAllocation)
    succeeded(d, error);
  return NULL;
}

void *linnet_cuda_alloc(struct linnet_device *device, size_t bytes) {
  struct linnet_cuda_device *d = linnet_cuda_device(device);
  void *memory = allocate(d, bytes);
  return memory || !succeeded(d, tidy_pool(d)) ? memory : allocate(d, bytes);
}

/* The free memory of the driver, plus the unused memory of the pool. */
size_t linnet_cuda_free_bytes(struct linnet_device *device) {
  cudaMemPool_t pool;
  size_t free = 0, total = 0;
  uint64_t reserved = 0, used = 0;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess &&
      cudaDeviceGetDefaultMemPool(&pool, linnet_cuda_device(device)->index) == cudaSuccess &&
      cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved) == cudaSuccess &&
      cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used) == cudaSuccess && used <= reserved)
    free += (size_t)(reserved - used);
  cudaGetLastError();
  return free;
}

size_t linnet_cuda_peak_bytes(struct linnet_device *device) {
  cudaMemPool_t pool;
  uint64_t peak = 0;
  if (cudaDeviceGetDefaultMemPool(&pool, linnet_cuda_device(device)->index) == cudaSuccess)
    cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &peak);
  cudaGetLastError();
  return (size_t)peak;
}

void *linnet_cuda_alloc_host(struct linnet_device *device, size_t bytes) {
  void *memory = NULL;
  (void)device;
  if (cudaMallocHost(&memory, bytes) == cudaSuccess)
    return memory;
  cudaGetLastError();
  return NULL;
}

void linnet_cuda_free_host(struct linnet_device *device, void *memory) {
  if (memory)
    succeeded(linnet_cuda_device(device), cudaFreeHost(memory));
}

void linnet_cuda_out_of_memory(struct linnet_device *device) {
  succeeded(linnet_cuda_device(device), cudaErrorMemoryAllocation);
}

void linnet_cuda_free(struct linnet_device *device, void *memory) {
  struct linnet_cuda_device *d = linnet_cuda_device(device);
  if (memory)
    succeeded(d, cudaFreeAsync(memory, d->stream));
}

static void copy(struct linnet_device *device, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  struct linnet_cuda_device *d = linnet_cuda_device(device);
  succeeded(d, cudaMemcpyAsync(to, from, bytes, kind, d->stream));
}

void linnet_cuda_upload(struct linnet_device *device, void *to, const void *host, size_t bytes) {
  copy(device, to, host, bytes, cudaMemcpyHostToDevice);
}

void linnet_cuda_download(struct linnet_device *device, void *host, const void *from, size_t bytes) {
  void *letter = post(&linnet_cuda_device(device)->mailbox, host, bytes);
  copy(device, letter ? letter : host, from, bytes, cudaMemcpyDeviceToHost);
}

void linnet_cuda_copy(struct linnet_device *device, void *to, const void *from, size_t bytes) {
  copy(device, to, from, bytes, cudaMemcpyDeviceToDevice);
}

void linnet_cuda_zero(struct linnet_device *device, void *memory, size_t bytes) {
  struct linnet_cuda_device *d = linnet_cuda_device(device);
  succeeded(d, cudaMemsetAsync(memory, 0, bytes, d->stream));
}

void *linnet_cuda_stream(const struct linnet_device *device) {
  return linnet_cuda_device(device)->stream;
}

void linnet_cuda_forgive(struct linnet_device *device) {
  (void)device;
  cudaGetLastError();
}

void *linnet_cuda_scratch(struct linnet_device *device, size_t bytes) {
  struct linnet_cuda_device *d = linnet_cuda_device(device);
  if (bytes > LINNET_CUDA_SCRATCH)
    linnet_cuda_out_of_memory(device);
  return d->scratch;
}
