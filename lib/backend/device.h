/* A device, as layers and training see it: memory, a queue, and ops on whole batches that run in order.
 *
 * The CPU (cpu_device.c) uses host memory and runs an op before the call returns; its ops call the kernels of
 * backend.h. A CUDA device (cuda/) queues ops and runs them later. Numbers that ops read or write, including results,
 * are in the device's memory. Structures and tables of pointers are in host memory and are read before the call
 * returns.
 *
 * Activations are the tensors that layers pass on or save, and their gradients. They are `void *`: `real` on the CPU,
 * while a device may store them with fewer bits. Weights, their gradients, statistics of rows, logits, losses and the
 * accumulators of sums are `real` everywhere.
 *
 * The headers ops/NAME.h describe what the ops compute and the shapes of their arguments. */
#ifndef LINNET_DEVICE_H
#define LINNET_DEVICE_H

#include "backend/backend.h"
#include "ops/spec_augment.h"

struct linnet_device {
  const struct linnet_device_ops *ops;
  const char *name;        /* for messages */
  size_t activation_bytes; /* of one number that layers pass on or save */
};

/* A batch in host memory. */
struct linnet_host_batch {
  struct linnet_pack pack;
  real *features; /* (T, columns); if the host is the device, ops change them in place */
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

/* Consistency of the views of all utterances of a batch: sequences 2 u and 2 u + 1 are the views of utterance u. */
struct linnet_batch_consistency {
  const struct linnet_pack *pack;
  size_t symbols;
  const real *logits; /* (T, symbols), not normalised */
  real scale;         /* gradients are multiplied by this */
  real *gradient_add; /* (T, symbols) with respect to the logits; does not overlap them */
  double *loss;       /* (sequences / 2), not scaled */
};

/* Distillation of all sequences of a batch. The teacher has one sequence for each utterance, whose views all follow it:
 * its rows are those of the first view of each. */
struct linnet_batch_distillation {
  const struct linnet_pack *pack;
  size_t views; /* sequences of an utterance, equally long */
  size_t symbols;
  const real *teacher; /* (T / views, symbols), not normalised, as the next */
  const real *logits;  /* (T, symbols) */
  real scale;          /* the gradient is multiplied by this */
  real *gradient_add;  /* (T, symbols) with respect to the logits; does not overlap them */
  double *loss;        /* (sequences), not scaled */
};

/* Frame targets of all sequences of a batch. */
struct linnet_batch_frame_targets {
  const struct linnet_pack *pack;
  size_t symbols;
  const int *const *targets; /* (sequences), on the host, each (its rows): ops/frame_targets.h */
  const real *logits;        /* (T, symbols), not normalised */
  real scale;                /* the gradient is multiplied by this */
  real *gradient_add;        /* (T, symbols) with respect to the logits; does not overlap them */
  double *loss;              /* (sequences), not scaled */
};

/* --- links -------------------------------------------------------------------------------------------------------- */

/* A device's end of a link, over which the devices of ranks send each other what is in their memory. */
struct linnet_device_link;

/* What ranks show each other before they open a link. */
struct linnet_link_end {
  unsigned char device[16]; /* differs from that of every other device, also of other machines */
  char library[32];         /* name and version, such as "NCCL 2.32.3" */
};

enum { LINNET_LINK_ID_BYTES = 128 };

/* All ranks call the same operations in the same order. One that fails may leave the devices of others waiting, so
 * ranks agree after each that has a status (train/link.h). LINNET_ERROR_UNSUPPORTED: there can be no link, for the
 * reason in the message. */
struct linnet_link_ops {
  enum linnet_status (*create)(struct linnet_device *d, struct linnet_context *context, struct linnet_link_end *end,
                               struct linnet_device_link **link);
  void (*destroy)(struct linnet_device_link *link); /* NULL is allowed */
  /* On rank 0: the name of a new link, for `open` on all ranks. */
  enum linnet_status (*name)(struct linnet_device_link *link, struct linnet_context *context,
                             unsigned char id[LINNET_LINK_ID_BYTES]);
  enum linnet_status (*open)(struct linnet_device_link *link, struct linnet_context *context,
                             const unsigned char id[LINNET_LINK_ID_BYTES], size_t rank, size_t num_ranks);

  /* As in struct linnet_group, with memory of the device; queued. */
  void (*gather)(struct linnet_device_link *link, void *data, const size_t *offsets);
  void (*exchange)(struct linnet_device_link *link, const void *send, const size_t *send_offsets, void *receive,
                   const size_t *receive_offsets);
  /* Reports the first of these that could not be queued. */
  enum linnet_status (*check)(struct linnet_device_link *link, struct linnet_context *context);
  /* After `check` on all ranks: waits for all work of the device, but not longer if the link fails or takes too long.
   */
  enum linnet_status (*wait)(struct linnet_device_link *link, struct linnet_context *context);
  /* After another rank failed: ends what is queued. Later messages fail. */
  void (*abort)(struct linnet_device_link *link);
};

#define LINNET_DEVICE_SLOT(name, arguments, ...) void (*name)(struct linnet_device * device, __VA_ARGS__);

/* The denominator of CTC-CRF of all sequences of a batch, after their CTC. */
struct linnet_batch_denominator {
  const struct linnet_pack *pack;
  const struct linnet_denominator_graph *graph;
  const int *const *labels;
  const size_t *num_labels; /* (sequences) */
  const real *logits;       /* (T, symbols), not normalised */
  const double *ctc;        /* (sequences): losses of CTC */
  real scale;               /* the gradient is multiplied by this */
  real *gradient_add;       /* (T, symbols) with respect to the logits; does not overlap them */
  double *loss;             /* (sequences): of CTC-CRF; +infinity, and no gradient, where that of CTC is */
};

struct linnet_device_ops {
  void (*close)(struct linnet_device *d); /* NULL: nothing to do */
  bool host; /* numbers are in host memory; ops run in the calling thread; several threads may call ops at once */

  /* Only one thread at a time may use a device that is not the host. `lock` excludes other threads and makes the device
   * current in the calling thread. NULL on the host. */
  void (*lock)(struct linnet_device *d);
  void (*unlock)(struct linnet_device *d);

  /* Bytes of memory: free, and the peak use so far. NULL on the host. */
  size_t (*free_bytes)(struct linnet_device *d);
  size_t (*peak_bytes)(struct linnet_device *d);

  /* --- memory */
  /* alloc returns NULL if none is available. Copies are queued; their host memory must stay valid until
   * `wait`. `wait` returns when all queued work is done, and reports failures in `context`. */
  void *(*alloc)(struct linnet_device *d, size_t bytes);
  void (*free)(struct linnet_device *d, void *memory);
  void (*upload)(struct linnet_device *d, void *to, const void *host, size_t bytes);
  void (*download)(struct linnet_device *d, void *host, const void *from, size_t bytes);
  void (*zero)(struct linnet_device *d, void *memory, size_t bytes);
  void (*copy)(struct linnet_device *d, void *to, const void *from, size_t bytes);
  enum linnet_status (*wait)(struct linnet_device *d, struct linnet_context *context);
  /* Copies a batch to the device and returns the address of its features in *features. Ops on its pack may be queued
   * until the next upload; the caller waits for them before it uploads another batch. batch->pack must stay valid for
   * as long. */
  enum linnet_status (*upload_batch)(struct linnet_device *d, struct linnet_context *context,
                                     const struct linnet_host_batch *batch, void **features);

  /* --- ops that the CPU's kernels have in the same form */
  LINNET_OP_LIST(LINNET_DEVICE_SLOT, void)
  size_t (*gemm_work)(struct linnet_device *d); /* elements, as in linnet_ops */
  size_t (*feature_map_work)(struct linnet_device *d);

  /* --- only where activations are not reals */
  /* activations_of makes `rounded` from `weights` (size). After use_weights,
   * products that get weights from this range read `rounded` instead, until the next use_weights. */
  void (*use_weights)(struct linnet_device *d, size_t size, const real *weights, const void *rounded);
  /* y (n) = x, converted to the type of activations */
  void (*activations_of)(struct linnet_device *d, size_t n, const real *x, void *y);

  /* --- rows and elements */
  /* The end of a sublayer and the layer norm after it: ops/layernorm.h. */
  void (*residual_norm)(struct linnet_device *d, const struct linnet_residual_norm *r);
  void (*residual_norm_backward)(struct linnet_device *d, const struct linnet_residual_norm *r);
  /* Forward: y = dropout(f(x)). Backward: dx from dy. For ReLU, backward takes y in place of x: y is 0 both where the
   * slope is 0 and where dropout removed the element. */
  void (*activation_forward)(struct linnet_device *d, enum linnet_activation f, const struct linnet_dropout *mask,
                             size_t rows, size_t width, const void *x, void *y);
  void (*activation_backward)(struct linnet_device *d, enum linnet_activation f, const struct linnet_dropout *mask,
                              size_t rows, size_t width, const void *x, const void *dy, void *dx);

  /* --- sequences */
  /* x (T, stack * channels), the features of a batch that was uploaded with these masks: 0 where a mask covers them. */
  void (*spec_augment)(struct linnet_device *d, const struct linnet_pack *p, const struct linnet_masks *m, void *x);
  void (*add_positions)(struct linnet_device *d, const struct linnet_pack *p, size_t width, void *x);
  /* By the kind of attention. The sizes depend on the numbers of frames and sequences only and are upper bounds. */
  size_t (*attention_saved_bytes)(struct linnet_device *d, const struct linnet_attention *a, size_t frames,
                                  size_t sequences);
  size_t (*attention_work_bytes)(struct linnet_device *d, const struct linnet_attention *a, size_t frames,
                                 size_t sequences);
  void (*attention_forward)(struct linnet_device *d, const struct linnet_attention_call *c);
  void (*attention_backward)(struct linnet_device *d, const struct linnet_attention_call *c);

  /* One direction of an LSTM layer over a batch, from zero state. weights (4H, H) as in the model; spans and sequences
   * are those of the pack. work: lstm_work_bytes, the same for both. before (T, H): for each frame, h of the step
   * before; zero at the first step of a sequence. */
  size_t (*lstm_work_bytes)(struct linnet_device *d, size_t width, size_t sequences);
  void (*lstm_forward)(struct linnet_device *d, const struct linnet_lstm *l, const struct linnet_pack *p, void *gates,
                       real *cells, void *h, void *work);
  void (*lstm_backward)(struct linnet_device *d, const struct linnet_lstm *l, const struct linnet_pack *p,
                        const real *cells, const void *dh, void *gates, void *work);
  void (*steps_before)(struct linnet_device *d, const struct linnet_pack *p, bool reverse, size_t width, const void *h,
                       size_t ld, void *before);

  /* Both directions of a layer over the last uploaded batch, by a library that a device may have. NULL: this device
   * never has one. The functions return false if the library does not support the layer or failed; the caller can then
   * run the directions one by one, as if the call had not happened. x (T, I); out (T, 2H).
   * lstm_layer_bytes: the size of `saved`, which forward stores for backward, and of the workspace of both. */
  bool (*lstm_layer_bytes)(struct linnet_device *d, const struct linnet_lstm_layer *l, const struct linnet_pack *p,
                           size_t *saved, size_t *work);
  bool (*lstm_layer_forward)(struct linnet_device *d, const struct linnet_lstm_layer *l, const struct linnet_pack *p,
                             const void *x, void *saved, void *out, void *work);
  bool (*lstm_layer_backward)(struct linnet_device *d, const struct linnet_lstm_layer *l, const struct linnet_pack *p,
                              const struct linnet_lstm_layer_gradients *g, void *work);

  /* --- the loss and the update */
  /* squares: the sum of squares of all gradients. If it is not finite, nothing changes.
   * Gradients are multiplied by clip / (norm + 1e-6) if this factor is below 1 (clip 0: never). */
  size_t (*ctc_work_bytes)(struct linnet_device *d, const struct linnet_batch_ctc *c);
  void (*ctc)(struct linnet_device *d, const struct linnet_batch_ctc *c, void *work);
  void (*consistency)(struct linnet_device *d, const struct linnet_batch_consistency *c);
  /* NULL: this device has none. */
  void (*distillation)(struct linnet_device *d, const struct linnet_batch_distillation *b);
  /* NULL: this device has none. */
  void (*frame_targets)(struct linnet_device *d, const struct linnet_batch_frame_targets *b);
  /* NULL: this device has none. */
  size_t (*denominator_work_bytes)(struct linnet_device *d, const struct linnet_batch_denominator *b);
  void (*denominator)(struct linnet_device *d, const struct linnet_batch_denominator *b, void *work);
  /* x (n), rounded to bfloat16; it stays `real`. */
  void (*round_bfloat16)(struct linnet_device *d, size_t n, real *x);
  /* halves (n) = x (n) as bfloat16. */
  void (*pack_bfloat16)(struct linnet_device *d, size_t n, const real *x, uint16_t *halves);
  /* x (n): the halves at its beginning become reals. */
  void (*expand_bfloat16)(struct linnet_device *d, size_t n, real *x);
  void (*sum_of_squares)(struct linnet_device *d, size_t n, const real *x, double *sum);
  void (*update)(struct linnet_device *d, const struct linnet_update *u, double clip, const double *squares,
                 const struct linnet_update_arrays *a);

  const struct linnet_link_ops *link; /* NULL: this device is never linked */
};

/* The address of the activation `count` elements after x. */
static inline void *linnet_activation_at(const struct linnet_device *d, const void *x, size_t count) {
  return (unsigned char *)(uintptr_t)x + count * d->activation_bytes;
}

/* Opens a device by its name in linnet_context_settings. *device stays NULL for the CPU. LINNET_ERROR_DEVICE: there is
 * no such device, or this build has no backend for it. */
enum linnet_status linnet_device_open(struct linnet_context *context, const char *name, enum linnet_precision precision,
                                      struct linnet_device **device);
/* NULL is allowed. */
void linnet_device_close(struct linnet_device *device);

/* A block of the device's memory that grows. */
struct linnet_device_buffer {
  void *data;
  size_t bytes;
};

/* Makes the buffer hold at least `bytes`. If it grows, its contents are not preserved. */
bool linnet_device_reserve(struct linnet_device *device, struct linnet_device_buffer *buffer, size_t bytes);

/* The CPU with a table of backend.h. Its memory comes from the context. */
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
