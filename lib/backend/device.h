/* A device as networks and training see it: memory, queues, and ops on whole batches that run in their order.
 *
 * The CPU (cpu_device.c) has its memory on the host and runs an op before the call returns; its ops are made of the
 * kernels of backend.h. A CUDA device (cuda/) runs them later. Numbers that ops read or write, results included, are in
 * the device's memory; structures and tables of pointers are in host memory and are read before the call returns.
 *
 * Activations, that is what layers pass on and save, and their gradients, are `void *`: on the CPU they are `real`, a
 * device may store them with fewer bits. Weights, their gradients, statistics of rows, logits and losses are `real`
 * everywhere, and so is what sums are made of.
 *
 * What the ops compute and the shapes of their arguments: ops/NAME.h. */
#ifndef LINNET_DEVICE_H
#define LINNET_DEVICE_H

#include "backend/backend.h"
#include "ops/spec_augment.h"

struct linnet_device {
  const struct linnet_device_ops *ops;
  const char *name;        /* for people */
  size_t activation_bytes; /* of one number that layers pass on or save */
};

/* A batch in host memory. */
struct linnet_host_batch {
  struct linnet_pack pack;
  real *features; /* (T, columns); where the host is the device, ops on them change these */
  size_t columns;
  const int *const *labels; /* (sequences), or NULL: none */
  const size_t *num_labels; /* (sequences) */
  struct linnet_masks masks;
};

/* CTC of all sequences of a batch that was uploaded with its labels. */
struct linnet_batch_ctc {
  const struct linnet_pack *pack;
  size_t symbols;
  const int *const *labels;
  const size_t *num_labels; /* (sequences) */
  const real *logits;       /* (T, symbols), not normalised */
  real scale;               /* the gradient is multiplied by this */
  real *gradient;           /* (T, symbols) with respect to the logits; may be `logits`; NULL: losses only */
  double *loss;             /* (sequences): negative log likelihoods, +infinity if infeasible (then no gradient) */
};

#define LINNET_DEVICE_SLOT(name, arguments, ...) void (*name)(struct linnet_device * device, __VA_ARGS__);

struct linnet_device_ops {
  void (*close)(struct linnet_device *d); /* NULL: nothing to do */
  bool host; /* numbers are in host memory; ops run in the caller, and other threads may call others meanwhile */

  /* One thread at a time may use a device that is not the host; these keep others out and make it the calling thread's.
   * NULL on the host. */
  void (*lock)(struct linnet_device *d);
  void (*unlock)(struct linnet_device *d);

  /* Bytes of memory: free, and the most in use so far. NULL on the host. */
  size_t (*free_bytes)(struct linnet_device *d);
  size_t (*peak_bytes)(struct linnet_device *d);

  /* --- memory: NULL if there is none. Copies are queued; host memory must stay until `wait`, which returns when all
   * that was queued is done, and tells what failed in `context`. */
  void *(*alloc)(struct linnet_device *d, size_t bytes);
  void (*free)(struct linnet_device *d, void *memory);
  void (*upload)(struct linnet_device *d, void *to, const void *host, size_t bytes);
  void (*download)(struct linnet_device *d, void *host, const void *from, size_t bytes);
  void (*zero)(struct linnet_device *d, void *memory, size_t bytes);
  enum linnet_status (*wait)(struct linnet_device *d, struct linnet_context *context);
  /* Takes a batch to the device, where its features are then at *features: ops on its pack may be queued until the next
   * one is uploaded, which must not come before they are done. batch->pack must stay for as long. */
  enum linnet_status (*upload_batch)(struct linnet_device *d, struct linnet_context *context,
                                     const struct linnet_host_batch *batch, void **features);

  /* --- those that the CPU's kernels have in the same form */
  LINNET_OP_LIST(LINNET_DEVICE_SLOT, void)
  size_t (*gemm_work)(struct linnet_device *d); /* elements, as in linnet_ops */
  size_t (*feature_map_work)(struct linnet_device *d);

  /* --- where activations are not reals: products that take weights (size) take them from `rounded`, which
   * activations_of has made of them, until this is called again */
  void (*use_weights)(struct linnet_device *d, size_t size, const real *weights, const void *rounded);
  /* y (n) = x as activations */
  void (*activations_of)(struct linnet_device *d, size_t n, const real *x, void *y);

  /* --- rows and elements */
  /* The end of a sublayer and the norm behind it: ops/layernorm.h. */
  void (*residual_norm)(struct linnet_device *d, const struct linnet_residual_norm *r);
  void (*residual_norm_backward)(struct linnet_device *d, const struct linnet_residual_norm *r);
  /* y = dropout(f(x)), and back: dx from dy. For ReLU, x of backward is y where the mask drops: its slope shows there,
   * and so does what was dropped. */
  void (*activation_forward)(struct linnet_device *d, enum linnet_activation f, const struct linnet_dropout *mask,
                             size_t rows, size_t width, const void *x, void *y);
  void (*activation_backward)(struct linnet_device *d, enum linnet_activation f, const struct linnet_dropout *mask,
                              size_t rows, size_t width, const void *x, const void *dy, void *dx);

  /* --- sequences */
  /* x (T, stack * channels), the features of a batch that was uploaded with these masks: 0 where one covers them. */
  void (*spec_augment)(struct linnet_device *d, const struct linnet_pack *p, const struct linnet_masks *m, void *x);
  void (*add_positions)(struct linnet_device *d, const struct linnet_pack *p, size_t width, void *x);
  /* By the kind of attention. Sizes are bounds from frames and sequences alone. */
  size_t (*attention_saved_bytes)(struct linnet_device *d, const struct linnet_attention *a, size_t frames,
                                  size_t sequences);
  size_t (*attention_work_bytes)(struct linnet_device *d, const struct linnet_attention *a, size_t frames,
                                 size_t sequences);
  void (*attention_forward)(struct linnet_device *d, const struct linnet_attention_call *c);
  void (*attention_backward)(struct linnet_device *d, const struct linnet_attention_call *c);

  /* One direction of an LSTM layer over a batch from zero state. weights (4H, H) as they are in the model; spans and
   * sequences are the pack's. work: lstm_work_bytes, the same for both. before (T, H): h of the step before each
   * frame's, zero at a sequence's first step. */
  size_t (*lstm_work_bytes)(struct linnet_device *d, size_t width, size_t sequences);
  void (*lstm_forward)(struct linnet_device *d, const struct linnet_lstm *l, const struct linnet_pack *p, void *gates,
                       real *cells, void *h, void *work);
  void (*lstm_backward)(struct linnet_device *d, const struct linnet_lstm *l, const struct linnet_pack *p,
                        const real *cells, const void *dh, void *gates, void *work);
  void (*steps_before)(struct linnet_device *d, const struct linnet_pack *p, bool reverse, size_t width, const void *h,
                       size_t ld, void *before);

  /* Both directions of a layer over the batch that was uploaded last, by a library that a device may have; NULL: never.
   * False: not for this layer, or it failed; the directions can run by themselves instead, as if nothing had been
   * called. x (T, I); out, dout (T, 2H); dx (T, I) or NULL. Bytes are those of `saved`, which forward leaves for
   * backward, and of the work of both. */
  bool (*lstm_layer_bytes)(struct linnet_device *d, const struct linnet_lstm_layer *l, const struct linnet_pack *p,
                           size_t *saved, size_t *work);
  bool (*lstm_layer_forward)(struct linnet_device *d, const struct linnet_lstm_layer *l, const struct linnet_pack *p,
                             const void *x, void *saved, void *out, void *work);
  bool (*lstm_layer_backward)(struct linnet_device *d, const struct linnet_lstm_layer *l, const struct linnet_pack *p,
                              const void *x, const void *dout, void *saved, void *dx, real *gradients_add, void *work);

  /* --- the loss and the update. squares: the sum of squares of all gradients; where it is not finite nothing is
   * changed, and gradients are scaled by clip / (norm + 1e-6) where that is below 1 (clip 0: never). */
  size_t (*ctc_work_bytes)(struct linnet_device *d, const struct linnet_batch_ctc *c);
  void (*ctc)(struct linnet_device *d, const struct linnet_batch_ctc *c, void *work);
  void (*sum_of_squares)(struct linnet_device *d, size_t n, const real *x, double *sum);
  void (*update)(struct linnet_device *d, const struct linnet_update *u, double clip, const double *squares, size_t n,
                 real *parameters, const real *gradients, real *m, real *v);
};

/* The activation that lies `count` behind x. */
static inline void *linnet_activation_at(const struct linnet_device *d, const void *x, size_t count) {
  return (unsigned char *)(uintptr_t)x + count * d->activation_bytes;
}

/* Opens a device by the name that linnet_context_settings has: *device stays NULL for the CPU.
 * LINNET_ERROR_DEVICE: there is none, or this build has no backend for it. */
enum linnet_status linnet_device_open(struct linnet_context *context, const char *name, enum linnet_precision precision,
                                      struct linnet_device **device);
/* NULL is allowed. */
void linnet_device_close(struct linnet_device *device);

/* A block of the device's memory that grows. */
struct linnet_device_buffer {
  void *data;
  size_t bytes;
};

/* Makes the buffer hold at least `bytes`; what it held is lost. */
bool linnet_device_reserve(struct linnet_device *device, struct linnet_device_buffer *buffer, size_t bytes);

/* The CPU with a table of backend.h; memory comes from the context. */
struct linnet_cpu_device {
  struct linnet_device base;
  const struct linnet_ops *kernels;
  struct linnet_context *context;
};
extern const struct linnet_device_ops linnet_cpu_device_ops;

static inline struct linnet_cpu_device linnet_cpu_device(struct linnet_context *context,
                                                         const struct linnet_ops *kernels) {
  return (struct linnet_cpu_device){{&linnet_cpu_device_ops, "cpu", sizeof(real)}, kernels, context};
}

#endif
