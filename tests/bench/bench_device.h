/* Measuring on a device: calls are queued, and one wait ends them. Its limits are measured in the same run. */
#ifndef LINNET_BENCH_DEVICE_H
#define LINNET_BENCH_DEVICE_H

#include "bench_network.h"
#include "bench_profile.h"

static inline double bench_wall(void) {
  return bench_clock(CLOCK_MONOTONIC);
}

/* Seconds of a call; `calls` of them are queued before one wait. */
static inline double bench_queued(struct linnet_context *context, bench_fn *body, void *user, size_t calls) {
  struct linnet_device *device = linnet_device_of(context);
  double start = bench_wall();
  for (size_t i = 0; i < calls; i++)
    body(user);
  bench_check(context, device->ops->wait(device, context));
  return (bench_wall() - start) / (double)calls;
}

/* Median seconds of a call, over about `seconds` after a warm-up call; the time of the warm-up if that takes longer. */
static inline double bench_device_time(struct linnet_context *context, bench_fn *body, void *user, double seconds) {
  enum { SAMPLES = 7, MAX_CALLS = 1000 };
  double samples[SAMPLES];
  double once = bench_queued(context, body, user, 1);
  if (once > seconds)
    return once;
  double calls = seconds / SAMPLES / bench_queued(context, body, user, 1);
  for (size_t i = 0; i < SAMPLES; i++)
    samples[i] = bench_queued(context, body, user, calls < 1 ? 1 : calls > MAX_CALLS ? MAX_CALLS : (size_t)calls);
  return bench_middle(samples, SAMPLES);
}

static inline void *bench_device_alloc(struct linnet_context *context, size_t bytes) {
  struct linnet_device *device = linnet_device_of(context);
  void *memory = device->ops->alloc(device, bytes);
  if (!memory)
    fprintf(stderr, "%s: out of memory for %zu MB\n", device->name, bytes >> 20), exit(1);
  return memory;
}

/* Random numbers on the device, one block repeated; products of zeros may take another time. */
static inline real *bench_device_floats(struct linnet_context *context, size_t n) {
  enum { BLOCK = 1 << 18 };
  struct linnet_device *device = linnet_device_of(context);
  struct test_random random = {1};
  float *block = bench_floats(&random, BLOCK);
  real *x = bench_device_alloc(context, n * sizeof *x);
  for (size_t i = 0; i < n; i += BLOCK)
    device->ops->upload(device, x + i, block, (n - i < BLOCK ? n - i : BLOCK) * sizeof *x);
  bench_check(context, device->ops->wait(device, context));
  free(block);
  return x;
}

/* The same as activations. */
static inline void *bench_device_activations(struct linnet_context *context, size_t n) {
  struct linnet_device *device = linnet_device_of(context);
  real *x = bench_device_floats(context, n);
  if (device->activation_bytes == sizeof *x)
    return x;
  void *y = bench_device_alloc(context, n * device->activation_bytes);
  device->ops->activations_of(device, n, x, y);
  device->ops->free(device, x);
  return y;
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

struct bench_limit {
  struct linnet_device *device;
  size_t n;
  real *x, *y;
  struct linnet_gemm gemm;
  real *work;
};

static void bench_limit_add(void *user) {
  struct bench_limit *l = user;
  l->device->ops->add(l->device, l->n, l->x, l->y);
}

static void bench_limit_gemm(void *user) {
  struct bench_limit *l = user;
  l->device->ops->gemm(l->device, &l->gemm, l->work);
}

/* y += x moves 12 bytes an element. The vectors fit into no cache. */
static inline double bench_device_bandwidth(struct linnet_context *context, double seconds) {
  struct linnet_device *device = linnet_device_of(context);
  struct bench_limit l = {.device = device, .n = (size_t)1 << (device->ops->host ? 23 : 26)};
  l.x = bench_device_floats(context, l.n);
  l.y = bench_device_floats(context, l.n);
  double once = bench_device_time(context, bench_limit_add, &l, seconds);
  device->ops->free(device, l.x);
  device->ops->free(device, l.y);
  return 3.0 * sizeof(real) * (double)l.n / once;
}

/* A large square product, as layers have it forward: C = A B^T. */
static inline double bench_device_flops(struct linnet_context *context, double seconds) {
  struct linnet_device *device = linnet_device_of(context);
  size_t edge = device->ops->host ? 1024 : 8192;
  struct bench_limit l = {.device = device,
                          .work = bench_device_alloc(context, device->ops->gemm_work(device) * sizeof(real))};
  void *a = bench_device_activations(context, edge * edge), *b = bench_device_activations(context, edge * edge);
  void *c = bench_device_alloc(context, edge * edge * device->activation_bytes);
  l.gemm = (struct linnet_gemm){.transpose_b = true,
                                .m = edge,
                                .n = edge,
                                .k = edge,
                                .a = a,
                                .lda = edge,
                                .b = b,
                                .ldb = edge,
                                .c = c,
                                .ldc = edge};
  double once = bench_device_time(context, bench_limit_gemm, &l, seconds);
  void *blocks[] = {a, b, c, l.work};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    device->ops->free(device, blocks[i]);
  return 2 * (double)edge * (double)edge * (double)edge / once;
}

static inline struct bench_limits bench_device_limits(struct linnet_context *context, double seconds) {
  return (struct bench_limits){bench_device_bandwidth(context, seconds), bench_device_flops(context, seconds)};
}

/* Free bytes of the device's memory; 0 on the CPU, where they are not counted. */
static inline size_t bench_device_free(struct linnet_context *context) {
  struct linnet_device *device = linnet_device_of(context);
  return device->ops->free_bytes ? device->ops->free_bytes(device) : 0;
}

#endif
