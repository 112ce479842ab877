/* The table of CPU kernels. cpu.c fills one with the C reference; cpu_vec.c replaces slots by the kernels of an
 * instruction set. Inference on the CPU calls this table; training reaches it through device.h. The headers ops/NAME.h
 * describe the ops.
 *
 * Conventions
 * - Matrices are row-major and dense unless a leading dimension (elements from row to row) is given.
 * - A batch is packed: the frames of all its sequences follow each other, T rows in all, with offsets (ops/pack.h).
 *   There is no padding.
 * - `real` is float (double in the gradient checks).
 * - Ops neither allocate nor fail. An op that needs workspace takes it as `work`; a function `..._work` returns its
 *   size in elements. Outputs never alias inputs unless the op allows it.
 * - An op runs on one thread. Callers run ops on different data from different threads.
 * - Backward ops add to outputs whose name ends in `_add` (gradients of parameters) and overwrite all others.
 * - Results are the same from run to run and do not depend on how callers distribute work over threads. */
#ifndef LINNET_BACKEND_H
#define LINNET_BACKEND_H

#include <linnet/context.h>

#include "ops/activation.h"
#include "ops/attention.h"
#include "ops/consistency.h"
#include "ops/ctc.h"
#include "ops/denominator.h"
#include "ops/distillation.h"
#include "ops/frame_targets.h"
#include "ops/lstm.h"
#include "ops/op_list.h"
#include "ops/optimizer.h"

#define LINNET_KERNEL_SLOT(name, arguments, ...) void (*name)(__VA_ARGS__);

struct linnet_ops {
  const char *name;                /* "reference", "generic", "avx2", "avx512", ... */
  enum linnet_precision precision; /* of the operands of gemm and of the LSTM's products; everything else is float32 */

  /* --- ops that devices have in the same form */
  LINNET_OP_LIST(LINNET_KERNEL_SLOT, real)
  size_t gemm_work;        /* elements of workspace that are enough for any product */
  size_t feature_map_work; /* ... and for any feature map */

  /* --- ops/attention.h: one row for each kind, by enum linnet_attention_kind */
  const struct linnet_attention_ops *attention[LINNET_ATTENTION_KINDS];

  /* --- parts from which devices compose their ops */
  /* ops/activation.h without dropout, ops/lstm.h over spans, ops/ctc.h and ops/denominator.h for one sequence,
   * ops/consistency.h for one pair, ops/distillation.h and ops/frame_targets.h for one sequence, ops/optimizer.h
   * without clipping, ops/vector.h */
  void (*activation_forward)(enum linnet_activation f, size_t n, const real *x, real *y);
  void (*activation_backward)(enum linnet_activation f, size_t n, real scale, const real *x, const real *dy, real *dx);
  void (*lstm_forward)(const struct linnet_lstm *l, real *gates, real *cells, real *state, real *h, real *work);
  void (*lstm_backward)(const struct linnet_lstm *l, const real *cells, const real *dh, real *gates, real *work);
  double (*ctc)(const struct linnet_ctc *c, void *work);
  double (*consistency)(const struct linnet_consistency *c);
  double (*distillation)(const struct linnet_distillation *d);
  double (*frame_targets)(const struct linnet_frame_targets *f);
  double (*denominator)(const struct linnet_denominator *d, void *work);
  void (*update)(const struct linnet_update *u, size_t n, real *parameters, const real *gradients, real *m, real *v);
  double (*sum_of_squares)(size_t n, const real *x);

  /* --- only for inference */
  /* Weights in the layout that the kernels read, for products that use the same weights often.
   * pack_b is NULL if the table does not support this. */
  size_t (*pack_b_size)(size_t k, size_t n);
  void (*pack_b)(bool transpose_b, size_t k, size_t n, const real *b, size_t ldb, real *packed);
  size_t (*lstm_pack_size)(size_t width, enum linnet_lstm_use use);
  void (*lstm_pack)(size_t width, enum linnet_lstm_use use, const real *weights, real *packed);
  /* ops/depthwise_conv.h */
  void (*conv_window)(const struct linnet_conv *c, size_t rows, const real *x, const real *w, const real *bias,
                      real *y);
  /* Linear attention in parts (ops/linear_attention.h). */
  void (*linear_accumulate)(const struct linnet_attention *a, size_t rows, const real *k, const real *v,
                            real *state_add);
  void (*linear_apply)(const struct linnet_attention *a, size_t rows, const real *q, const real *state, real *out);
};

/* Returns the CPU table with this name. NULL: the name is unknown, or this processor cannot run the table. Tables are
 * constant and are never freed. */
const struct linnet_ops *linnet_cpu_ops(const char *name);

/* The fastest table that this processor runs with at least this precision. */
const struct linnet_ops *linnet_cpu_best_ops(enum linnet_precision precision);

#endif
