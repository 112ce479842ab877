/* Causal linear attention (Katharopoulos et al. 2020, eq. 8-15). Its four forms compute the same function (Buckman and
 * Gelada 2024, "Linear transformers are faster"). They differ in the order of sums, and so in the cost for T frames and
 * key width C:
 *
 *   state            one row after the other, a running state           T C^2, nothing runs in parallel
 *   parallel-state   states of several rows at once, by prefix sums     T C^2, memory for several states
 *   attention        masked phi(Q) phi(K)^T in tiles, no state          T^2 C
 *   chunked          a state per chunk of c rows, attention inside it   T C^2 + T c C
 *
 * Nothing is saved for backward, and the workspace does not grow with the sequence. */
#ifndef LINNET_CAUSAL_LINEAR_ATTENTION_H
#define LINNET_CAUSAL_LINEAR_ATTENTION_H

#include "ops/attention.h"
#include "ops/linear_attention.h"

enum {
  LINNET_CAUSAL_LINEAR_CHUNK = 16, /* default of `chunk` */
  LINNET_CAUSAL_LINEAR_ROWS = 64   /* rows in a block: operands are computed and multiplied a block at a time */
};

/* "chunked", "state", "parallel-state", "attention". */
const char *linnet_causal_linear_form_name(enum linnet_causal_linear_form form);

/* The product that the op consists of, on a block of rows:
 *
 *   y_t += x_t^T S_t,  S_t = S + sum of a_s b_s^T over s <= t
 *
 * x, a are (rows, depth) with leading dimension depth_ld; b, y are (rows, width) with width_ld; S is (depth, width_ld).
 * In x, a, b and S the columns beyond depth and width are zero; in y they may hold anything. */
struct linnet_causal_linear_product {
  size_t rows, depth, width, depth_ld, width_ld;
  size_t chunk;  /* rows between the states of the chunked form */
  real decay;    /* of decaying_scan alone, as the next two */
  bool reversed; /* the scan goes from the last row to the first */
  bool earlier;  /* y_t reads the state before row t */
  const real *x;
  size_t keys; /* rows of a and b in `attend` */
  const real *a, *b;
  real *y, *state;
  real *workspace; /* scratch; linnet_causal_linear_kernels.workspace_size returns its size */
};

/* 1 / d, where `sum` is phi(q) . z. */
static inline real linnet_causal_linear_scale(real sum, real min_normaliser) {
  return 1 / ((sum < min_normaliser ? min_normaliser : sum) + (real)LINNET_ATTENTION_EPSILON);
}

/* Functions that compute the product and its operands: the C reference, or the kernels of an instruction set. */
struct linnet_causal_linear_kernels {
  size_t lanes; /* leading dimensions are multiples of this */
  size_t (*workspace_size)(size_t depth_ld, size_t width_ld);

  /* The whole product, row by row (scan) or by prefix sums. At return `state` is S of the last row. */
  void (*scan)(const struct linnet_causal_linear_product *p);
  void (*prefix_states)(const struct linnet_causal_linear_product *p);
  /* scan with S_t = decay S + a_t b_t^T, S of the row before it in the order of the scan. `earlier`: y_t += x_t^T
   * (decay S), without row t. */
  void (*decaying_scan)(const struct linnet_causal_linear_product *p);
  /* The parts of the product. apply: y_t += x_t^T S. attend: y_t += (x_t . a_s) b_s over all s, or over s <= t if
   * masked. accumulate: S += sum of a_s b_s^T. */
  void (*apply)(const struct linnet_causal_linear_product *p);
  void (*attend)(const struct linnet_causal_linear_product *p, bool masked);
  void (*accumulate)(const struct linnet_causal_linear_product *p);

  /* Rows of operands. Leading dimensions of the caller's tensors may be negative.
   *   phi: y = phi(x).              slope: dx = dy * phi'(x), from phi(x)
   *   normalise: scale_t = linnet_causal_linear_scale(fq_t . z_t, min_normaliser)
   *   scale: y_t = x_t * scale_t    project: e_t = -(n_t . out_t)
   *   prefix: z += f_t * in_t, y_t = z * by_t; in, by NULL: 1
   */
  void (*phi)(enum linnet_feature_map map, size_t rows, size_t width, const real *x, ptrdiff_t ldx, real *y,
              ptrdiff_t ldy);
  void (*slope)(enum linnet_feature_map map, size_t rows, size_t width, const real *phi, const real *dy, size_t ld,
                real *dx, ptrdiff_t ldx);
  void (*normalise)(size_t rows, size_t ld, const real *fq, const real *z, real min_normaliser, real *scale);
  void (*scale)(size_t rows, size_t width, const real *x, ptrdiff_t ldx, const real *scale, real *y, ptrdiff_t ldy);
  void (*project)(size_t rows, size_t width, const real *n, size_t ld, const real *out, ptrdiff_t ld_out, real *e);
  void (*prefix)(size_t rows, size_t ld, const real *f, const real *in, const real *by, real *z, real *y);
};

extern const struct linnet_causal_linear_kernels linnet_causal_linear_kernels_reference;

/* The functions of an op table's row, which call the given kernels. */
size_t linnet_causal_linear_work_bytes(const struct linnet_causal_linear_kernels *kernels,
                                       const struct linnet_attention *a);
void linnet_causal_linear_forward(const struct linnet_causal_linear_kernels *kernels,
                                  const struct linnet_attention_call *c);
void linnet_causal_linear_backward(const struct linnet_causal_linear_kernels *kernels,
                                   const struct linnet_attention_call *c);

size_t linnet_causal_linear_saved_bytes(const struct linnet_attention *a, size_t frames, size_t sequences);
/* S and z of each head, as in linear attention. */
size_t linnet_causal_linear_state_size(const struct linnet_attention *a, size_t steps);

extern const struct linnet_attention_ops linnet_causal_linear_attention_reference;

#endif
