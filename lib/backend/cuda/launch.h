/* The ops of backend.h on a CUDA device: each function queues one op. All pointers to numbers are device memory;
 * structures are read before the call returns. Arguments have the same meaning as in linnet_ops, with these exceptions:
 *
 * - The device is the first argument.
 * - Activations are `void *`: float or bfloat16 (device.h).
 * - A packed batch is a linnet_cuda_pack, whose tables are on the device.
 * - Results that a CPU op returns are written to device memory, so that the call does not wait. */
#ifndef LINNET_CUDA_LAUNCH_H
#define LINNET_CUDA_LAUNCH_H

#include "backend/cuda/memory.h"
#include "backend/device.h"

/* --- packed batches (pack.c) -------------------------------------------------------------------------------------- */

/* The number of rows per piece of a sequence; the last piece of a sequence may be shorter. Attention and
 * convolution run one block of threads per piece, so that work is spread evenly for all lengths. */
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
/* Writes the tables to `host`, with pointers for their copy at `device`; the caller copies them, together with other
 * data beside them. Both addresses are aligned to 16 bytes. */
struct linnet_cuda_pack linnet_cuda_pack_write(const struct linnet_pack *p, void *host, const void *device);

/* Rows in the order of steps: first the first step of all sequences, the longest sequence first, then the second step
 * of all sequences that have one, and so on. Sequences without frames are left out. */
struct linnet_cuda_steps {
  size_t sequences, longest;
  const struct linnet_sequence_span *spans; /* (sequences), longest first */
  const uint32_t *first;                    /* (longest): each step's first row */
  const int32_t *lengths;                   /* (sequences) */
};

size_t linnet_cuda_steps_bytes(const struct linnet_pack *p);
/* As linnet_cuda_pack_write. The lengths are the first table. `spans` (p->sequences) is host memory, and `device_spans`
 * its copy. */
struct linnet_cuda_steps linnet_cuda_steps_write(const struct linnet_pack *p, const struct linnet_sequence_span *spans,
                                                 const struct linnet_sequence_span *device_spans, void *host,
                                                 const void *device);

/* --- products (products.c, ops/gemm.cu) --------------------------------------------------------------------------- */

/* By cuBLASLt, or by Linnet's own kernel where cuBLASLt is missing. b is not packed. If activations are bfloat16, a and
 * b are too; c and the bias are bfloat16 if `result` says so. `g` only carries the pointers. */
void linnet_cuda_gemm(struct linnet_device *device, const struct linnet_gemm *g);
void linnet_cuda_gemm_kernel(struct linnet_device *device, const struct linnet_gemm *g);

/* --- rows and elements -------------------------------------------------------------------------------------------- */

void linnet_cuda_layernorm_forward(struct linnet_device *device, const struct linnet_layernorm *n);
void linnet_cuda_layernorm_backward(struct linnet_device *device, const struct linnet_layernorm *n);
/* Each op in one pass. */
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

/* y (n) = x, converted to the type of activations. */
void linnet_cuda_activations_of(struct linnet_device *device, size_t n, const float *x, void *y);

/* --- sums and the update ------------------------------------------------------------------------------------------ */

void linnet_cuda_add(struct linnet_device *device, size_t n, const float *x, float *y_add);
/* x (n), rounded to bfloat16; it stays float. */
void linnet_cuda_round_bfloat16(struct linnet_device *device, size_t n, float *x);
/* halves (n) = x (n) as bfloat16, and in place: the halves at the beginning of x (n) become floats. */
void linnet_cuda_pack_bfloat16(struct linnet_device *device, size_t n, const float *x, uint16_t *halves);
void linnet_cuda_expand_bfloat16(struct linnet_device *device, size_t n, float *x);
void linnet_cuda_average(struct linnet_device *device, size_t n, double weight, const float *x, float *average_add);
void linnet_cuda_column_sum(struct linnet_device *device, size_t rows, size_t width, const void *x, float *sums_add);
/* sums[c] += sum over the parts, in their order, of partial[part * ld + c]: the second half of sums over rows. */
void linnet_cuda_add_partials(struct linnet_device *device, size_t parts, size_t ld, size_t width, const float *partial,
                              float *sums_add);
/* The number of rows per part for which the sums of all parts, `width` floats each, fit into a device's scratch. */
size_t linnet_cuda_stretch(size_t rows, size_t width);
void linnet_cuda_sum_of_squares(struct linnet_device *device, size_t n, const float *x, double *sum);
/* Updates all parameters in one launch. `squares` is the sum of squares of the gradients. If it is not finite, nothing
 * changes. The norm is that of the gradients times gradient_scale; gradients are multiplied by clip / (norm + 1e-6) if
 * this factor is below 1 (clip 0: never). squares NULL: no check and no clipping. */
void linnet_cuda_update(struct linnet_device *device, const struct linnet_update *u, double clip, const double *squares,
                        const struct linnet_update_arrays *a);

/* --- sequences ---------------------------------------------------------------------------------------------------- */

/* Features x (T, stack * channels) become 0 where a mask of the sequence covers them. m->masks: device memory. */
void linnet_cuda_spec_augment(struct linnet_device *device, const struct linnet_cuda_pack *p,
                              const struct linnet_masks *m, void *x);
/* x (T, width): adds row t of the table (longest, width) to row t of each sequence. The table holds positional
 * encodings and is computed once. */
void linnet_cuda_add_table(struct linnet_device *device, const struct linnet_cuda_pack *p, size_t width,
                           const float *table, void *x);
/* before (T, width): for each frame, h of the step before; zero at the first step of a sequence. h has leading
 * dimension ld. */
void linnet_cuda_steps_before(struct linnet_device *device, const struct linnet_cuda_pack *p, bool reverse,
                              size_t width, const void *h, size_t ld, void *before);

void linnet_cuda_conv_forward(struct linnet_device *device, const struct linnet_conv *c,
                              const struct linnet_cuda_pack *p, const void *x, const float *w, const float *bias,
                              void *y);
void linnet_cuda_conv_backward(struct linnet_device *device, const struct linnet_conv *c,
                               const struct linnet_cuda_pack *p, const struct linnet_conv_gradients *g);

/* One row of the table of attention kinds. The sizes depend on the numbers of frames and sequences only and are upper
 * bounds. */
struct linnet_cuda_attention_ops {
  size_t (*saved_bytes)(const struct linnet_attention *a, size_t frames, size_t sequences);
  size_t (*work_bytes)(const struct linnet_attention *a, size_t frames, size_t sequences);
  /* `p` holds the tables of c->pack on the device. */
  void (*forward)(struct linnet_device *device, const struct linnet_attention_call *c,
                  const struct linnet_cuda_pack *p);
  void (*backward)(struct linnet_device *device, const struct linnet_attention_call *c,
                   const struct linnet_cuda_pack *p);
};
extern const struct linnet_cuda_attention_ops linnet_cuda_linear_attention, linnet_cuda_causal_linear_attention;
extern const struct linnet_cuda_attention_ops linnet_cuda_softmax_attention, linnet_cuda_causal_softmax_attention;
extern const struct linnet_cuda_attention_ops linnet_cuda_lsh_attention, linnet_cuda_causal_lsh_attention;
/* All kinds of attention, by linnet_attention_kind (table.c). */
extern const struct linnet_cuda_attention_ops *const linnet_cuda_attention[LINNET_ATTENTION_KINDS];

/* CTC of all sequences of a batch. */
struct linnet_cuda_ctc {
  const struct linnet_cuda_pack *pack;
  size_t symbols;
  size_t max_labels;             /* the maximum over the sequences */
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
/* `p` holds the tables of c->pack on the device. */
void linnet_cuda_consistency(struct linnet_device *device, const struct linnet_batch_consistency *c,
                             const struct linnet_cuda_pack *p);

/* An LSTM without cuDNN. `l->spans` is host memory, and `spans` its copy on the device; the weights are W_hh (4H, H).
 * Work: linnet_cuda_lstm_work elements. */
size_t linnet_cuda_lstm_work(size_t width, size_t sequences);
void linnet_cuda_lstm_forward(struct linnet_device *device, const struct linnet_lstm *l,
                              const struct linnet_sequence_span *spans, void *gates, float *cells, float *state,
                              void *h, float *work);
void linnet_cuda_lstm_backward(struct linnet_device *device, const struct linnet_lstm *l,
                               const struct linnet_sequence_span *spans, const float *cells, const void *dh,
                               void *gates, float *work);

/* --- an LSTM layer by cuDNN (ops/lstm_layer.cu) ------------------------------------------------------------------- */

/* y (rows, width): the activations x, in the order of steps and as floats; and the reverse. */
void linnet_cuda_rows_to_steps(struct linnet_device *device, const struct linnet_cuda_steps *s, size_t width,
                               const void *x, float *y);
void linnet_cuda_rows_from_steps(struct linnet_device *device, const struct linnet_cuda_steps *s, size_t width,
                                 const float *x, void *y);

/* The tensors of a layer, with their offsets in a buffer of the model and in a weight space of cuDNN: for each
 * direction and each gate, a matrix and a bias for the inputs, and a matrix and a bias for h. */
enum { LINNET_CUDA_LSTM_TENSORS = 2 * 2 * 4 * 2 };

struct linnet_cuda_lstm_tensors {
  size_t count, largest; /* largest: the maximum size, in elements */
  struct {
    float *space;
    size_t offset, size; /* in the buffer; elements */
  } tensor[LINNET_CUDA_LSTM_TENSORS];
};

/* linnet_cuda_lstm_weights copies the weights to the weight space; the second function adds the weight space to
 * gradients. */
void linnet_cuda_lstm_weights(struct linnet_device *device, const struct linnet_cuda_lstm_tensors *t,
                              const float *weights);
void linnet_cuda_lstm_gradients(struct linnet_device *device, const struct linnet_cuda_lstm_tensors *t,
                                float *gradients_add);

#endif
