/* Opens a CUDA device and manages its memory. This header needs no CUDA header. Queued work runs later, in order: host
 * memory that it uses must stay valid until linnet_cuda_wait. That call also reports the first failure of the work
 * queued before it. */
#ifndef LINNET_CUDA_MEMORY_H
#define LINNET_CUDA_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <linnet/context.h>

struct linnet_device;

/* Scratch of a device. Ops use it for sums over blocks; each op may overwrite what another op left there. */
#define LINNET_CUDA_SCRATCH ((size_t)64 << 20)

/* The number of devices; 0 without a driver. */
size_t linnet_cuda_count(void);

/* LINNET_ERROR_DEVICE: no driver, or no such device. */
enum linnet_status linnet_cuda_open(struct linnet_context *context, int index, enum linnet_precision precision,
                                    struct linnet_device **device);
void linnet_cuda_close(struct linnet_device *device);
void linnet_cuda_lock(struct linnet_device *device);
void linnet_cuda_unlock(struct linnet_device *device);
/* Waits for all queued work. Reports a failure once, in `context`; a permanent failure comes again with the next call.
 * Without a context, the failure stays stored until a call that has one. */
enum linnet_status linnet_cuda_wait(struct linnet_device *device, struct linnet_context *context);

/* Whether all queued work is done, or has failed, which the next wait reports. */
bool linnet_cuda_idle(struct linnet_device *device);

/* Device memory from the pool of the device, aligned to 256 bytes; NULL: out of memory. free(NULL) does nothing. Both
 * take effect in the order of the queue. */
void *linnet_cuda_alloc(struct linnet_device *device, size_t bytes);
void linnet_cuda_free(struct linnet_device *device, void *memory);

void linnet_cuda_upload(struct linnet_device *device, void *to, const void *host, size_t bytes);
void linnet_cuda_download(struct linnet_device *device, void *host, const void *from, size_t bytes);
void linnet_cuda_zero(struct linnet_device *device, void *memory, size_t bytes);
void linnet_cuda_copy(struct linnet_device *device, void *to, const void *from, size_t bytes);

size_t linnet_cuda_free_bytes(struct linnet_device *device);
size_t linnet_cuda_peak_bytes(struct linnet_device *device);

/* Page-locked host memory, from which copies are fast. */
void *linnet_cuda_alloc_host(struct linnet_device *device, size_t bytes);
void linnet_cuda_free_host(struct linnet_device *device, void *memory);

/* The next wait fails with LINNET_ERROR_MEMORY. */
void linnet_cuda_out_of_memory(struct linnet_device *device);

/* For functions that launch kernels: the stream, and scratch of `bytes`, at most LINNET_CUDA_SCRATCH. */
void *linnet_cuda_stream(const struct linnet_device *device);
/* Records whether the driver accepted the last launch. */
void linnet_cuda_launched(struct linnet_device *device, const char *kernel);
/* Clears CUDA's last error after a library refused a call for which there is a fallback. */
void linnet_cuda_forgive(struct linnet_device *device);
void *linnet_cuda_scratch(struct linnet_device *device, size_t bytes);

#endif
