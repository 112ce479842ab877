/* The ops of backend.h on a CUDA device: each function queues one op. All pointers to numbers are device memory;
 * structures are read before the call returns. Arguments mean what they mean in linnet_ops, but for
 *
 * - the device, which comes first;
 * - activations: `void *`, float or bfloat16 (device.h);
 * - packed batches: a linnet_cuda_pack, whose tables are on the device;
 * - results: what a CPU op returns is written to device memory, so that nothing waits. */
#ifndef LINNET_CUDA_LAUNCH_H
#define LINNET_CUDA_LAUNCH_H

#include "backend/cuda/memory.h"
#include "backend/device.h"

/* --- packed batches (pack.c) -------------------------------------------------------------------------------------- */

/* Rows of a piece: sequences are cut into pieces, the last of a sequence may be short. Attention and convolution run
 * one block of threads for each, so that work is spread evenly whatever the lengths. */
enum { LINNET_CUDA_PIECE = 128 };

struct linnet_cuda_piece {
  uint32_t first, rows; /* in the batch */
  uint32_t sequence;
};

struct linnet_cuda_pack {
  size_t sequences, rows, longest, pieces;
  const uint32_t *offsets;               /* (sequences + 1) */
  const uint32_t *first_piece;           /* (sequences + 1): pieces of sequence s are first_piece[s] ... [s + 1] - 1 */
  const struct linnet_cuda_piece *table; /* (pieces) */
};

size_t linnet_cuda_pack_bytes(const struct linnet_pack *p);
/* Writes the tables to `host`, as they will be read at `device`; one copy takes them there, with whatever lies beside
 * them. Both are aligned to 16 bytes. */
struct linnet_cuda_pack linnet_cuda_pack_write(const struct linnet_pack *p, void *host, const void *device);

/* Rows in the order of steps: those of all sequences' first steps, longest sequence first, then those of the second
 * steps, of the sequences that have one, and so on. Sequences without frames are left out. */
struct linnet_cuda_steps {
  size_t sequences, longest;
  const struct linnet_span *spans; /* (sequences), longest first */
  const uint32_t *first;           /* (longest): each step's first row */
  const int32_t *lengths;          /* (sequences) */
};

size_t linnet_cuda_steps_bytes(const struct linnet_pack *p);
/* As linnet_cuda_pack_write; the lengths come first. `spans` (p->sequences), whose copy is `device_spans`. */
struct linnet_cuda_steps linnet_cuda_steps_write(const struct linnet_pack *p, const struct linnet_span *spans,
                                                 const struct linnet_span *device_spans, void *host,
                                                 const void *device);

/* --- products (products.c, ops/gemm.cu) --------------------------------------------------------------------------- */

/* By cuBLASLt; by the kernel where that is not there. b is not packed. Where activations are bfloat16, so are a and b,
 * and, if `result` says activations, c and the bias: g carries the pointers. */
void linnet_cuda_gemm(struct linnet_device *device, const struct linnet_gemm *g);
void linnet_cuda_gemm_kernel(struct linnet_device *device, const struct linnet_gemm *g);

/* --- rows and elements -------------------------------------------------------------------------------------------- */

void linnet_cuda_layernorm_forward(struct linnet_device *device, const struct linnet_layernorm *n);
void linnet_cuda_layernorm_backward(struct linnet_device *device, const struct linnet_layernorm *n);
/* Each in one pass. */
void linnet_cuda_residual_norm(struct linnet_device *device, const struct linnet_residual_norm *r);
void linnet_cuda_residual_norm_backward(struct linnet_device *device, const struct linnet_residual_norm *r);
void linnet_cuda_dropout(struct linnet_device *device, const struct linnet_dropout *d, size_t rows, size_t width,
                         const void *x, const void *residual, void *y);
void linnet_cuda_activation_forward(struct linnet_device *device, enum linnet_activation f,
                                    const struct linnet_dropout *d, size_t rows, size_t width, const void *x, void *y);
void linnet_cuda_activation_backward(struct linnet_device *device, enum linnet_activation f,
                                     const struct linnet_dropout *d, size_t rows, size_t width, const void *x,
                                     const void *dy, void *dx);
void linnet_cuda_glu_forward(struct linnet_device *device, size_t rows, size_t width, const void *x, void *y);
void linnet_cuda_glu_backward(struct linnet_device *device, size_t rows, size_t width, const void *x, const void *dy,
                              void *dx);
void linnet_cuda_log_softmax(struct linnet_device *device, size_t rows, size_t width, const float *x, float *y);
void linnet_cuda_feature_map_forward(struct linnet_device *device, const struct linnet_feature_map_terms *m,
                                     size_t rows, const void *x, void *phi);
void linnet_cuda_feature_map_backward(struct linnet_device *device, const struct linnet_feature_map_terms *m,
                                      size_t rows, const void *x, const void *phi, const void *dphi, void *dx);

/* y (n) = x as activations. */
void linnet_cuda_activations_of(struct linnet_device *device, size_t n, const float *x, void *y);

/* --- sums and the update ------------------------------------------------------------------------------------------ */

void linnet_cuda_add(struct linnet_device *device, size_t n, const float *x, float *y_add);
void linnet_cuda_column_sum(struct linnet_device *device, size_t rows, size_t width, const void *x, float *sums_add);
/* sums[c] += sum of partial[part * ld + c] over the parts, in their order: the second half of sums over rows. */
void linnet_cuda_add_partials(struct linnet_device *device, size_t parts, size_t ld, size_t width, const float *partial,
                              float *sums_add);
/* Rows of a part, so that the sums of all parts, `width` floats each, have room in a device's scratch. */
size_t linnet_cuda_stretch(size_t rows, size_t width);
void linnet_cuda_sum_of_squares(struct linnet_device *device, size_t n, const float *x, double *sum);
/* All parameters in one launch. `squares`: the sum of squares of the gradients; where it is not finite nothing is
 * changed, and gradients are scaled by clip / (norm + 1e-6) where that is below 1 (clip 0: never), norm being that of
 * the gradients times gradient_scale. NULL: neither. */
void linnet_cuda_update(struct linnet_device *device, const struct linnet_update *u, double clip, const double *squares,
                        size_t n, float *parameters, const float *gradients, float *m, float *v);

/* --- sequences ---------------------------------------------------------------------------------------------------- */

/* x (T, stack * channels), features: 0 where a mask of the sequence covers them. m->masks: device memory. */
void linnet_cuda_spec_augment(struct linnet_device *device, const struct linnet_cuda_pack *p,
                              const struct linnet_masks *m, void *x);
/* x (T, width): row t of each sequence += row t of the table (longest, width): positional encodings, made once. */
void linnet_cuda_add_table(struct linnet_device *device, const struct linnet_cuda_pack *p, size_t width,
                           const float *table, void *x);
/* before (T, width) = h of the step before each frame's, zero at a sequence's first step; rows of h are ld apart. */
void linnet_cuda_steps_before(struct linnet_device *device, const struct linnet_cuda_pack *p, bool reverse,
                              size_t width, const void *h, size_t ld, void *before);

void linnet_cuda_conv_forward(struct linnet_device *device, const struct linnet_conv *c,
                              const struct linnet_cuda_pack *p, const void *x, const float *w, const float *bias,
                              void *y);
void linnet_cuda_conv_backward(struct linnet_device *device, const struct linnet_conv *c,
                               const struct linnet_cuda_pack *p, const void *x, const float *w, const void *dy,
                               void *dx, float *dw_add, float *dbias_add);

/* A row of the table of attention kinds. Sizes are bounds from frames and sequences alone. */
struct linnet_cuda_attention_ops {
  size_t (*saved_bytes)(const struct linnet_attention *a, size_t frames, size_t sequences);
  size_t (*work_bytes)(const struct linnet_attention *a, size_t frames, size_t sequences);
  /* `p` has the tables of c->pack. */
  void (*forward)(struct linnet_device *device, const struct linnet_attention_call *c,
                  const struct linnet_cuda_pack *p);
  void (*backward)(struct linnet_device *device, const struct linnet_attention_call *c,
                   const struct linnet_cuda_pack *p);
};
extern const struct linnet_cuda_attention_ops linnet_cuda_linear_attention, linnet_cuda_causal_linear_attention;
extern const struct linnet_cuda_attention_ops linnet_cuda_softmax_attention, linnet_cuda_causal_softmax_attention;
extern const struct linnet_cuda_attention_ops linnet_cuda_lsh_attention, linnet_cuda_causal_lsh_attention;
/* All of them, by kind (table.c). */
extern const struct linnet_cuda_attention_ops *const linnet_cuda_attention[LINNET_ATTENTION_KINDS];

/* CTC of all sequences of a batch. */
struct linnet_cuda_ctc {
  const struct linnet_cuda_pack *pack;
  size_t symbols;
  size_t most_labels;            /* of a sequence */
  const uint32_t *label_offsets; /* (sequences + 1), device */
  const int *labels;             /* (label_offsets[sequences]), device */
  size_t total_labels;
  const float *logits; /* (T, symbols) */
  float scale;
  float *gradient; /* (T, symbols), may be `logits`; NULL: losses only */
  double *loss;    /* (sequences): as linnet_ops.ctc returns them */
};
size_t linnet_cuda_ctc_work_bytes(const struct linnet_cuda_ctc *c);
void linnet_cuda_ctc(struct linnet_device *device, const struct linnet_cuda_ctc *c, void *work);

/* An LSTM without cuDNN: `l->spans` is host memory, its copy `spans` is on the device; weights are W_hh (4H, H). Work:
 * linnet_cuda_lstm_work elements. */
size_t linnet_cuda_lstm_work(size_t width, size_t sequences);
void linnet_cuda_lstm_forward(struct linnet_device *device, const struct linnet_lstm *l,
                              const struct linnet_span *spans, void *gates, float *cells, float *state, void *h,
                              float *work);
void linnet_cuda_lstm_backward(struct linnet_device *device, const struct linnet_lstm *l,
                               const struct linnet_span *spans, const float *cells, const void *dh, void *gates,
                               float *work);

/* --- an LSTM layer by cuDNN (ops/lstm_layer.cu) ------------------------------------------------------------------- */

/* y (rows, width): rows of activations x in the order of steps, as floats, and back. */
void linnet_cuda_rows_to_steps(struct linnet_device *device, const struct linnet_cuda_steps *s, size_t width,
                               const void *x, float *y);
void linnet_cuda_rows_from_steps(struct linnet_device *device, const struct linnet_cuda_steps *s, size_t width,
                                 const float *x, void *y);

/* Tensors that lie in a buffer of the model, and again in a weight space of cuDNN: a matrix and a bias for each gate,
 * of inputs and of h, and for each direction. */
enum { LINNET_CUDA_LSTM_TENSORS = 2 * 2 * 4 * 2 };

struct linnet_cuda_lstm_tensors {
  size_t count, largest; /* largest: elements */
  struct {
    float *space;
    size_t offset, size; /* in the buffer; elements */
  } tensor[LINNET_CUDA_LSTM_TENSORS];
};

/* The weight space = weights; gradients += the weight space. */
void linnet_cuda_lstm_weights(struct linnet_device *device, const struct linnet_cuda_lstm_tensors *t,
                              const float *weights);
void linnet_cuda_lstm_gradients(struct linnet_device *device, const struct linnet_cuda_lstm_tensors *t,
                                float *gradients_add);

#endif
