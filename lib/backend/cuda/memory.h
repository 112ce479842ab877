/* Opening a CUDA device, and its memory. No CUDA header is needed to use it. What is queued runs in order, later; host
 * memory that takes part must stay until linnet_cuda_wait, which also tells the first failure of anything queued
 * before. */
#ifndef LINNET_CUDA_MEMORY_H
#define LINNET_CUDA_MEMORY_H

#include <stddef.h>

#include <linnet/context.h>

struct linnet_device;

/* Scratch of a device, which ops use for sums over blocks; each op may overwrite what another left. */
#define LINNET_CUDA_SCRATCH ((size_t)64 << 20)

/* LINNET_ERROR_DEVICE: no driver, or no such device. */
enum linnet_status linnet_cuda_open(struct linnet_context *context, int index, enum linnet_precision precision,
                                    struct linnet_device **device);
void linnet_cuda_close(struct linnet_device *device);
void linnet_cuda_lock(struct linnet_device *device);
void linnet_cuda_unlock(struct linnet_device *device);
/* A failure is told once, in `context`; one that lasts comes again with the next call. Without a context it is kept for
 * the next call that has one. */
enum linnet_status linnet_cuda_wait(struct linnet_device *device, struct linnet_context *context);

/* Device memory from the pool of the device, aligned to 256 bytes; NULL: out of memory. free(NULL) does nothing. Both
 * are ordered with what is queued. */
void *linnet_cuda_alloc(struct linnet_device *device, size_t bytes);
void linnet_cuda_free(struct linnet_device *device, void *memory);

void linnet_cuda_upload(struct linnet_device *device, void *to, const void *host, size_t bytes);
void linnet_cuda_download(struct linnet_device *device, void *host, const void *from, size_t bytes);
void linnet_cuda_zero(struct linnet_device *device, void *memory, size_t bytes);
void linnet_cuda_copy(struct linnet_device *device, void *to, const void *from, size_t bytes);

size_t linnet_cuda_free_bytes(struct linnet_device *device);
size_t linnet_cuda_peak_bytes(struct linnet_device *device);

/* Host memory that copies run fast from. */
void *linnet_cuda_alloc_host(struct linnet_device *device, size_t bytes);
void linnet_cuda_free_host(struct linnet_device *device, void *memory);

/* The next wait fails with LINNET_ERROR_MEMORY. */
void linnet_cuda_out_of_memory(struct linnet_device *device);

/* For launchers: the stream, and the scratch (at most LINNET_CUDA_SCRATCH bytes). */
void *linnet_cuda_stream(const struct linnet_device *device);
/* Notes whether the launch just made was accepted. */
void linnet_cuda_launched(struct linnet_device *device, const char *kernel);
/* Forgets what a library left as the last error when it refused a call that something else will make up for. */
void linnet_cuda_forgive(struct linnet_device *device);
void *linnet_cuda_scratch(struct linnet_device *device, size_t bytes);

#endif
