/* Host buffers with copies on the device, emulated or real. */
#ifndef LINNET_TEST_CUDA_MIRROR_H
#define LINNET_TEST_CUDA_MIRROR_H

#include "backend/cuda/cuda_device.h"
#include "buffers.h"
#include "cuda/test_device.h"

enum { MIRRORS = 40 };

struct mirrors {
  struct linnet_device *device;
  struct test_random random;
  struct {
    void *host, *device;
    size_t bytes;
  } all[MIRRORS];
  size_t count;
  uint64_t hash; /* of all that came back */
};

static inline void *mirror_add(struct mirrors *m, void *host, size_t bytes) {
  REQUIRE(m->count < MIRRORS, "too many mirrors");
  void *device = linnet_cuda_alloc(m->device, bytes + 1);
  REQUIRE(device, "out of device memory");
  m->all[m->count].host = host, m->all[m->count].device = device, m->all[m->count].bytes = bytes;
  m->count++;
  return device;
}

/* A copy of constant data. */
static inline void *mirror_bytes(struct mirrors *m, const void *host, size_t bytes) {
  void *device = mirror_add(m, NULL, bytes);
  linnet_cuda_upload(m->device, device, host, bytes);
  return device;
}

/* Poisoned memory of the device alone. */
static inline void *mirror_room(struct mirrors *m, size_t bytes) {
  size_t n = bytes / sizeof(float) + 1;
  float *poisoned = malloc(n * sizeof *poisoned);
  for (size_t i = 0; i < n; i++)
    poisoned[i] = poison();
  void *device = mirror_bytes(m, poisoned, n * sizeof *poisoned);
  linnet_cuda_wait(m->device, NULL);
  free(poisoned);
  return device;
}

/* A buffer with its guards; it comes back with mirrors_return. */
static inline float *mirror(struct mirrors *m, const struct buffer *b) {
  size_t bytes = (b->n + 3 * GUARD) * sizeof(float);
  float *device = mirror_add(m, b->memory, bytes);
  linnet_cuda_upload(m->device, device, b->memory, bytes);
  return device + (b->x - b->memory);
}

static inline struct linnet_cuda_pack mirror_pack(struct mirrors *m, const struct linnet_pack *p) {
  size_t bytes = linnet_cuda_pack_bytes(p);
  void *host = malloc(bytes), *device = mirror_add(m, NULL, bytes);
  struct linnet_cuda_pack pack = linnet_cuda_pack_write(p, host, device);
  linnet_cuda_upload(m->device, device, host, bytes);
  linnet_cuda_wait(m->device, NULL);
  free(host);
  return pack;
}

static inline void hash_bytes(uint64_t *hash, const void *data, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    *hash = (*hash ^ ((const unsigned char *)data)[i]) * 0x100000001B3u;
}

/* Brings all buffers back and gives up their copies. */
static inline void mirrors_return(struct mirrors *m) {
  for (size_t i = 0; i < m->count; i++)
    if (m->all[i].host)
      linnet_cuda_download(m->device, m->all[i].host, m->all[i].device, m->all[i].bytes);
  struct linnet_context *context = linnet_cuda_device(m->device)->context;
  CHECK(linnet_cuda_wait(m->device, context) == LINNET_OK, "%s", linnet_context_error(context));
  for (size_t i = 0; i < m->count; i++) {
    if (m->all[i].host)
      hash_bytes(&m->hash, m->all[i].host, m->all[i].bytes);
    linnet_cuda_free(m->device, m->all[i].device);
  }
  m->count = 0;
}

#endif
