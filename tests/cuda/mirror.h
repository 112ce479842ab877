/* Host buffers with copies on the device, emulated or real. */
#ifndef LINNET_TEST_CUDA_MIRROR_H
#define LINNET_TEST_CUDA_MIRROR_H

#include "backend/cuda/cuda_device.h"
#include "buffers.h"
#include "test_device.h"

enum { MIRRORS = 40 };

struct mirrors {
  struct linnet_device *device;
  struct test_random random;
  struct {
    void *host, *device;
    size_t bytes;   /* on the device */
    size_t rounded; /* numbers that are floats at `host` and bfloat16 on the device; 0: the same bytes */
  } all[MIRRORS];
  size_t count;
  uint64_t hash;    /* of all that came back */
  double condition; /* how the case magnifies rounding (note_condition); 0: not known to */
};

static inline void *mirror_add(struct mirrors *m, void *host, size_t bytes) {
  REQUIRE(m->count < MIRRORS, "too many mirrors");
  void *device = linnet_cuda_alloc(m->device, bytes + 1);
  REQUIRE(device, "out of device memory");
  m->all[m->count].host = host, m->all[m->count].device = device, m->all[m->count].bytes = bytes;
  m->all[m->count].rounded = 0;
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
static inline void *mirror_workspace(struct mirrors *m, size_t bytes) {
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

/* --- activations: floats on the host, on the device what its activations are */

/* Rounds to bfloat16: to nearest, ties to even. The poison value keeps its upper half; no op computes that value. */
static inline uint16_t upper_half(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (uint16_t)(isnan(x) ? bits >> 16 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float from_upper_half(uint16_t half) {
  const uint32_t bits = (uint32_t)half << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return upper_half(poison()) == half ? poison() : x;
}

static inline bool rounds(const struct mirrors *m) {
  return m->device->activation_bytes != sizeof(float);
}

/* Makes numbers that the device's activations can store exactly. */
static inline void round_activations(const struct mirrors *m, struct buffer *b) {
  for (size_t i = 0; i < b->n && rounds(m); i++)
    b->x[i] = from_upper_half(upper_half(b->x[i]));
}

static inline struct buffer activations_scaled(struct mirrors *m, size_t n, float scale) {
  struct buffer b = buffer_scaled(&m->random, n, scale);
  round_activations(m, &b);
  return b;
}

static inline struct buffer activations_random(struct mirrors *m, size_t n) {
  return activations_scaled(m, n, 1);
}

/* As mirror. */
static inline void *mirror_activations(struct mirrors *m, const struct buffer *b) {
  if (!rounds(m))
    return mirror(m, b);
  size_t n = b->n + 3 * GUARD;
  uint16_t *halves = malloc(n * sizeof *halves), *device = mirror_add(m, b->memory, n * sizeof *halves);
  for (size_t i = 0; i < n; i++)
    halves[i] = upper_half(b->memory[i]);
  m->all[m->count - 1].rounded = n;
  linnet_cuda_upload(m->device, device, halves, n * sizeof *halves);
  linnet_cuda_wait(m->device, NULL);
  free(halves);
  return device + (b->x - b->memory);
}

static inline void widen_halves(float *x, size_t n) {
  const uint16_t *halves = (const uint16_t *)(const void *)x;
  for (size_t i = n; i-- > 0;) {
    uint16_t half;
    memcpy(&half, halves + i, sizeof half);
    x[i] = from_upper_half(half);
  }
}

/* As mirror, for a choice between the two. */
static inline void *mirror_reals(struct mirrors *m, const struct buffer *b) {
  return mirror(m, b);
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

/* Copies all buffers back and frees the copies. */
static inline void mirrors_return(struct mirrors *m) {
  for (size_t i = 0; i < m->count; i++)
    if (m->all[i].host)
      linnet_cuda_download(m->device, m->all[i].host, m->all[i].device, m->all[i].bytes);
  struct linnet_context *context = linnet_cuda_device(m->device)->context;
  CHECK(linnet_cuda_wait(m->device, context) == LINNET_OK, "%s", linnet_context_error(context));
  for (size_t i = 0; i < m->count; i++) {
    if (m->all[i].host)
      hash_bytes(&m->hash, m->all[i].host, m->all[i].bytes);
    if (m->all[i].host && m->all[i].rounded)
      widen_halves(m->all[i].host, m->all[i].rounded);
    linnet_cuda_free(m->device, m->all[i].device);
  }
  m->count = 0;
}

#endif
