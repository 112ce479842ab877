/* A CUDA device as the rest of the engine sees it: a queue (one stream) with memory. No CUDA header is needed to use
 * it. What is queued runs in order, later; host memory that takes part must stay until linnet_cuda_wait, which also
 * returns the first failure of anything queued before. */
#ifndef LINNET_CUDA_QUEUE_H
#define LINNET_CUDA_QUEUE_H

#include <stddef.h>

#include <linnet/context.h>

struct linnet_cuda_queue;

/* Scratch of a queue, which ops use for sums over blocks; each op may overwrite what another left. */
#define LINNET_CUDA_SCRATCH ((size_t)64 << 20)

/* LINNET_ERROR_UNSUPPORTED: no driver, or no such device. */
enum linnet_status linnet_cuda_queue_create(struct linnet_context *context, int device,
                                            struct linnet_cuda_queue **queue);
void linnet_cuda_queue_destroy(struct linnet_cuda_queue *queue);
enum linnet_status linnet_cuda_wait(struct linnet_cuda_queue *queue);

/* Device memory from the pool of the device, aligned to 256 bytes; NULL: out of memory. free(NULL) does nothing. Both
 * are ordered with what is queued. */
void *linnet_cuda_alloc(struct linnet_cuda_queue *queue, size_t bytes);
void linnet_cuda_free(struct linnet_cuda_queue *queue, void *memory);

void linnet_cuda_upload(struct linnet_cuda_queue *queue, void *device, const void *host, size_t bytes);
void linnet_cuda_download(struct linnet_cuda_queue *queue, void *host, const void *device, size_t bytes);
void linnet_cuda_zero(struct linnet_cuda_queue *queue, void *device, size_t bytes);
void linnet_cuda_copy(struct linnet_cuda_queue *queue, void *to, const void *from, size_t bytes);

/* For launchers: the stream, and the scratch (at most LINNET_CUDA_SCRATCH bytes). */
void *linnet_cuda_stream(const struct linnet_cuda_queue *queue);
void *linnet_cuda_scratch(struct linnet_cuda_queue *queue, size_t bytes);

#endif
