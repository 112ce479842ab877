/* The ops of a device behind one table. Layers are written once against it; cpu.c fills it with the C reference,
 * which instruction sets override slot by slot (cpu_vec.c).
 *
 * Conventions
 * - Matrices are row-major and dense unless a leading dimension (elements from row to row) is given.
 * - A batch is packed: the frames of all its sequences one after the other, T rows in all, and offsets[0..sequences]
 *   (offsets[0] = 0, offsets[sequences] = T). No padding exists.
 * - `real` is float (double in the gradient checks).
 * - Ops neither allocate nor fail; what they need beyond their arguments comes as `work`, whose size in elements the
 *   `..._work` functions tell. Outputs never alias inputs unless the op says so.
 * - An op runs on one thread. Callers run ops on different data from different threads.
 * - Backward ops whose name ends in `_add` outputs (gradients of parameters) accumulate; others overwrite.
 * - Results are the same from run to run and do not depend on how callers distribute work over threads. */
#ifndef LINNET_BACKEND_H
#define LINNET_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linnet/context.h>

#include "base/poll.h"
#include "base/real.h"

/* A packed batch, or a part of one. */
struct linnet_pack {
  size_t sequences;
  const size_t *offsets; /* (sequences + 1) */
};

enum linnet_activation { LINNET_IDENTITY, LINNET_RELU, LINNET_GELU, LINNET_SILU };

/* Where a dropout mask lies in the run: bits depend on (seed, step, site, row, column) alone. */
struct linnet_dropout {
  double rate; /* 0: nothing is dropped; at most 0.9 */
  uint64_t seed;
  uint32_t step; /* of the optimiser */
  uint32_t site; /* which dropout of the network */
  uint64_t row;  /* index of the first row in the whole batch */
};

/* Masks on the features of a packed batch (SpecAugment), T rows of `stack` frames with `channels` each. Those of a
 * sequence count its frames from its first row on, lie inside it, and may overlap. */
struct linnet_masks {
  size_t count; /* of each sequence; 0: none */
  size_t stack, channels;
  const struct linnet_feature_mask *masks; /* (sequences, count), see linnet/train.h */
};

/* A matrix product C = op(A) op(B) [+ C | + bias], then the activation.
 * op(A) is (m, k), op(B) is (k, n), C is (m, n). */
struct linnet_gemm {
  bool transpose_a, transpose_b; /* A is stored (k, m), B is stored (n, k) */
  size_t m, n, k;
  const real *a;
  size_t lda;
  const real *b; /* NULL: `packed` is used instead */
  size_t ldb;
  real *c;
  size_t ldc;
  bool accumulate;                   /* add to C */
  const real *bias;                  /* (n) or NULL; not with accumulate */
  enum linnet_activation activation; /* not with accumulate */
  const real *packed;                /* op(B) as pack_b wrote it */
};

/* A convolution over time of each channel by itself, zero outside the sequence; `kernel` is odd:
 * y[t][c] = bias[c] + sum_j w[j][c] x[t + j - kernel/2][c]. */
struct linnet_conv {
  size_t channels, kernel;
};

/* Kinds of attention, the rows of linnet_ops.attention. Their names and traits: ops/attention.h. */
enum linnet_attention_kind {
  LINNET_ATTENTION_LINEAR,
  LINNET_ATTENTION_CAUSAL_LINEAR,
  LINNET_ATTENTION_SOFTMAX,
  LINNET_ATTENTION_CAUSAL_SOFTMAX,
  LINNET_ATTENTION_LSH,
  LINNET_ATTENTION_CAUSAL_LSH,
  LINNET_ATTENTION_KINDS
};

/* What linear attention applies to queries and keys; see ops/feature_map.h. */
enum linnet_feature_map {
  LINNET_MAP_ELU, /* elu(x) + 1 */
  LINNET_MAP_RELU,
  LINNET_MAP_POLYNOMIAL,
  LINNET_MAP_FOURIER,
  LINNET_MAP_POSITIVE,
  LINNET_MAP_IDENTITY /* they were mapped before */
};

/* A feature map of queries or keys, heads side by side: x is (rows, heads * width) with leading dimension x_ld, phi is
 * (rows, heads * F) with phi_ld, F = linnet_feature_map_size; gradients lie as what they belong to. */
struct linnet_feature_map_terms {
  enum linnet_feature_map map; /* one that attention does not apply itself: neither elu nor identity */
  size_t heads, width;
  size_t features;        /* random maps */
  const real *directions; /* random maps: W (features, width), shared by the heads */
  size_t x_ld, phi_ld;
};

/* Forms of causal linear attention, one function; see ops/causal_attention.h. */
enum linnet_causal_form {
  LINNET_CAUSAL_CHUNKED,
  LINNET_CAUSAL_STATE,
  LINNET_CAUSAL_PARALLEL_STATE,
  LINNET_CAUSAL_ATTENTION,
  LINNET_CAUSAL_FORMS
};

/* Hashing of LSH attention; see ops/lsh_attention.h. Buckets depend on (seed, step, site, round) and the queries. */
struct linnet_lsh {
  size_t rounds, buckets, chunk;
  uint64_t seed;
  uint32_t step, site;
};

/* Attention on packed sequences, heads side by side: q, k are (T, heads * key_width) with leading dimension key_ld,
 * v is (T, heads * width) with value_ld, out is (T, heads * width) with out_ld; gradients lie as what they belong to.
 */
struct linnet_attention {
  size_t heads;
  size_t key_width; /* of a head's queries and keys; linear attention: as the op's own map sees them */
  size_t width;     /* of a head's values */
  size_t key_ld, value_ld, out_ld;
  enum linnet_feature_map map;  /* linear kinds: LINNET_MAP_ELU or LINNET_MAP_IDENTITY */
  real least;                   /* linear kinds: a normaliser below counts as this; see ops/linear_attention.h */
  enum linnet_causal_form form; /* causal linear */
  size_t chunk;                 /* rows per chunk of the chunked form */
  struct linnet_lsh lsh;
  const struct linnet_poll *poll; /* forward of kinds that take more than linear time asks it; may be NULL */
};

/* One kind of attention. `saved` is what forward keeps for backward besides its arguments. Kinds with shared keys take
 * no k, and backward writes no dk: dq is the gradient of both. */
struct linnet_attention_ops {
  size_t (*saved_bytes)(const struct linnet_attention *a, size_t frames, size_t sequences);
  size_t (*work_bytes)(const struct linnet_attention *a, size_t longest); /* frames of the longest sequence */
  void (*forward)(const struct linnet_attention *a, const struct linnet_pack *p, const real *q, const real *k,
                  const real *v, void *saved, real *out, void *work);
  void (*backward)(const struct linnet_attention *a, const struct linnet_pack *p, const real *q, const real *k,
                   const real *v, const void *saved, const real *out, const real *dout, real *dq, real *dk, real *dv,
                   void *work);
  /* Causal kinds, one frame of one sequence: q, k, v, out are one row; `state` holds what `steps` frames before this
   * one left (zeros at first) and is updated. Its size is that with this frame; where it grows, it does so at its end.
   * NULL slots: cannot go frame by frame. */
  size_t (*state_size)(const struct linnet_attention *a, size_t steps);
  void (*step)(const struct linnet_attention *a, size_t steps, const real *q, const real *k, const real *v, real *state,
               real *out);
};

/* Consecutive rows of a batch: a sequence. */
struct linnet_span {
  size_t first, frames;
};

/* What recurrent weights are laid out for. */
enum linnet_lstm_use { LINNET_LSTM_FORWARD, LINNET_LSTM_BACKWARD };

/* One direction of an LSTM layer with H units; gates lie side by side in PyTorch's order: i, f, g, o, H columns each.
 * Formulas: ops/lstm.c. */
struct linnet_lstm {
  size_t width; /* H */
  size_t ld;    /* of h and dh: the directions of a layer lie side by side */
  bool reverse; /* sequences are walked from their last frame to their first */
  size_t sequences;
  const struct linnet_span *spans; /* (sequences), longest first */
  const real *weights;             /* W_hh (4H, H) as lstm_pack laid it out for this use */
  const real *bias;                /* b_hh (4H); not for backward */
};

/* Where the tensors of one direction of a layer lie in a buffer of weights or gradients, as torch.nn.LSTM has them. H
 * units, I inputs. */
struct linnet_lstm_offsets {
  size_t weight_ih, weight_hh; /* (4H, I), (4H, H) */
  size_t bias_ih, bias_hh;     /* (4H) */
};

/* An LSTM layer of two directions, whose outputs lie side by side. */
struct linnet_lstm_layer {
  size_t inputs, width;                         /* I, H */
  bool forward_only;                            /* no backward will follow */
  const struct linnet_lstm_offsets *directions; /* (2): forward, reverse */
  const real *weights;                          /* the buffer */
};

/* The terms of one Adam or RAdam update; see ops/optimizer.h. */
struct linnet_update {
  double gradient_scale; /* gradients are multiplied by this first (clipping, averaging) */
  double beta1, beta2;
  double step;    /* learning rate with bias correction and rectification: p -= step * m / ... */
  double rescale; /* ... (sqrt(v) * rescale + epsilon) */
  double epsilon;
  bool adaptive; /* false: step * m without the second moment (RAdam's first steps) */
};

/* CTC on one sequence; see ops/ctc.h. */
struct linnet_ctc {
  size_t frames, symbols, labels;
  const real *logits; /* (frames, symbols), not normalised */
  const int *label;   /* (labels), 1 .. symbols-1 */
  real scale;         /* the gradient is multiplied by this */
  real *gradient;     /* (frames, symbols) with respect to the logits; may be `logits`; NULL: loss only */
};

struct linnet_ops {
  const char *name;                /* "reference", "generic", "avx2", "avx512", ... */
  enum linnet_precision precision; /* of the operands of gemm and of the LSTM's products; all else is float32 */

  /* --- ops/gemm.h */
  void (*gemm)(const struct linnet_gemm *g, real *work);
  size_t gemm_work; /* elements of work that any product needs */
  /* Lays op(B) (k, n) out as the kernels read it, for products that use it often. NULL slot: not offered. */
  size_t (*pack_b_size)(size_t k, size_t n);
  void (*pack_b)(bool transpose_b, size_t k, size_t n, const real *b, size_t ldb, real *packed);

  /* --- ops/layernorm.h: y = (x - mean) * rstd * gain + bias, per row; x, y (rows, width); mean, rstd (rows) or NULL
   * in forward. forward: y may be x. backward: residual (rows, width), NULL for 0, is added to dx; dx may be dy or
   * residual. */
  void (*layernorm_forward)(size_t rows, size_t width, const real *x, const real *gain, const real *bias, real *y,
                            real *mean, real *rstd);
  void (*layernorm_backward)(size_t rows, size_t width, const real *x, const real *gain, const real *mean,
                             const real *rstd, const real *dy, const real *residual, real *dx, real *dgain_add,
                             real *dbias_add);

  /* --- ops/dropout.h: y = residual + mask * x / (1 - rate); residual NULL: 0; y may be x or residual. */
  void (*dropout)(const struct linnet_dropout *d, size_t rows, size_t width, const real *x, const real *residual,
                  real *y);

  /* --- ops/activation.h: n elements; backward: dx = scale * dy * f'(x), dx may be dy. LINNET_RELU takes y for x. */
  void (*activation_forward)(enum linnet_activation f, size_t n, const real *x, real *y);
  void (*activation_backward)(enum linnet_activation f, size_t n, real scale, const real *x, const real *dy, real *dx);
  /* Gated linear unit: x (rows, 2 * width), y = x[:, :width] * sigmoid(x[:, width:]) (rows, width). */
  void (*glu_forward)(size_t rows, size_t width, const real *x, real *y);
  void (*glu_backward)(size_t rows, size_t width, const real *x, const real *dy, real *dx);

  /* --- ops/depthwise_conv.h: x, y (T, channels); w (kernel, channels). */
  void (*conv_forward)(const struct linnet_conv *c, const struct linnet_pack *p, const real *x, const real *w,
                       const real *bias, real *y);
  void (*conv_backward)(const struct linnet_conv *c, const struct linnet_pack *p, const real *x, const real *w,
                        const real *dy, real *dx, real *dw_add, real *dbias_add);

  /* --- ops/attention.h: one row for each kind, by enum linnet_attention_kind */
  const struct linnet_attention_ops *attention[LINNET_ATTENTION_KINDS];

  /* --- ops/linear_attention.h: linear attention in parts. `state` of a sequence: per head S (key_width, width), then
   * z (key_width). accumulate adds rows of keys and values to the state; apply reads queries against it. */
  void (*linear_accumulate)(const struct linnet_attention *a, size_t rows, const real *k, const real *v,
                            real *state_add);
  void (*linear_apply)(const struct linnet_attention *a, size_t rows, const real *q, const real *state, real *out);

  /* --- ops/lstm.h. W_ih x + b_ih comes in `gates` (T, 4H); forward replaces them by the activated gates,
   * keeps c in `cells` (T, H) (NULL: not kept) and writes h (T, H). `state` (2, sequences, H) is h, then c, before each
   * sequence's first step, and is replaced by that after its last, so that a sequence may be run in pieces.
   * backward takes what a forward from zero state kept, and dh (T, H), and replaces the gates by the gradients of their
   * sums (T, 4H), from which those of weights, bias and inputs are products over all frames. */
  size_t (*lstm_pack_size)(size_t width, enum linnet_lstm_use use);
  void (*lstm_pack)(size_t width, enum linnet_lstm_use use, const real *weights, real *packed);
  void (*lstm_forward)(const struct linnet_lstm *l, real *gates, real *cells, real *state, real *h, real *work);
  void (*lstm_backward)(const struct linnet_lstm *l, const real *cells, const real *dh, real *gates, real *work);

  /* --- ops/feature_map.h: backward writes dx from x, phi(x) and dphi. */
  void (*feature_map_forward)(const struct linnet_feature_map_terms *m, size_t rows, const real *x, real *phi,
                              real *work);
  void (*feature_map_backward)(const struct linnet_feature_map_terms *m, size_t rows, const real *x, const real *phi,
                               const real *dphi, real *dx, real *work);
  size_t feature_map_work; /* elements of work that any map needs */

  /* --- ops/log_softmax.h: rows of `width`; y may be x. */
  void (*log_softmax)(size_t rows, size_t width, const real *x, real *y);

  /* --- ops/ctc.h: returns the negative log likelihood, +infinity if infeasible (then the gradient is zero). */
  double (*ctc)(const struct linnet_ctc *c, void *work);

  /* --- ops/optimizer.h: m, v (n) are the moments. */
  void (*update)(const struct linnet_update *u, size_t n, real *parameters, const real *gradients, real *m, real *v);

  /* --- ops/vector.h */
  double (*sum_of_squares)(size_t n, const real *x);
  void (*add)(size_t n, const real *x, real *y_add);                            /* y += x */
  void (*column_sum)(size_t rows, size_t width, const real *x, real *sums_add); /* sums += sum of rows */
};

/* Elements of the state of linear attention. */
static inline size_t linnet_linear_state_size(const struct linnet_attention *a) {
  return a->heads * a->key_width * (a->width + 1);
}
size_t linnet_lstm_work(size_t width, size_t sequences);
size_t linnet_ctc_work_bytes(size_t frames, size_t symbols, size_t labels);

/* The sequences of a batch as spans, longest first; equally long ones in their order. */
void linnet_spans_longest_first(const struct linnet_pack *pack, struct linnet_span *spans);

/* The CPU table by name. NULL: unknown name, or not runnable here. Tables are constant and live for ever. */
const struct linnet_ops *linnet_cpu_ops(const char *name);

/* The fastest table that this processor runs, none less precise than that. */
const struct linnet_ops *linnet_cpu_best_ops(enum linnet_precision precision);

#endif
