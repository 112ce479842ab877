/* The kernels of the CPU behind one table: cpu.c fills it with the C reference, which instruction sets override slot by
 * slot (cpu_vec.c). Recognition on the CPU runs on it; networks and training see it through device.h. The ops are
 * described in ops/NAME.h.
 *
 * Conventions
 * - Matrices are row-major and dense unless a leading dimension (elements from row to row) is given.
 * - A batch is packed: the frames of all its sequences one after the other, T rows in all, and offsets
 *   (ops/pack.h). No padding exists.
 * - `real` is float (double in the gradient checks).
 * - Ops neither allocate nor fail; what they need beyond their arguments comes as `work`, whose size in elements the
 *   `..._work` functions tell. Outputs never alias inputs unless the op says so.
 * - An op runs on one thread. Callers run ops on different data from different threads.
 * - Backward ops whose name ends in `_add` outputs (gradients of parameters) accumulate; others overwrite.
 * - Results are the same from run to run and do not depend on how callers distribute work over threads. */
#ifndef LINNET_BACKEND_H
#define LINNET_BACKEND_H

#include <linnet/context.h>

#include "ops/activation.h"
#include "ops/attention.h"
#include "ops/ctc.h"
#include "ops/lstm.h"
#include "ops/op_list.h"
#include "ops/optimizer.h"

#define LINNET_KERNEL_SLOT(name, arguments, ...) void (*name)(__VA_ARGS__);

struct linnet_ops {
  const char *name;                /* "reference", "generic", "avx2", "avx512", ... */
  enum linnet_precision precision; /* of the operands of gemm and of the LSTM's products; all else is float32 */

  /* --- those that devices have in the same form */
  LINNET_OP_LIST(LINNET_KERNEL_SLOT, real)
  size_t gemm_work;        /* elements of work that any product needs */
  size_t feature_map_work; /* ... and any feature map */

  /* --- ops/attention.h: one row for each kind, by enum linnet_attention_kind */
  const struct linnet_attention_ops *attention[LINNET_ATTENTION_KINDS];

  /* --- what devices put together: ops/activation.h without dropout, ops/lstm.h over spans, ops/ctc.h of one sequence,
   * ops/optimizer.h without clipping, ops/vector.h */
  void (*activation_forward)(enum linnet_activation f, size_t n, const real *x, real *y);
  void (*activation_backward)(enum linnet_activation f, size_t n, real scale, const real *x, const real *dy, real *dx);
  void (*lstm_forward)(const struct linnet_lstm *l, real *gates, real *cells, real *state, real *h, real *work);
  void (*lstm_backward)(const struct linnet_lstm *l, const real *cells, const real *dh, real *gates, real *work);
  double (*ctc)(const struct linnet_ctc *c, void *work);
  void (*update)(const struct linnet_update *u, size_t n, real *parameters, const real *gradients, real *m, real *v);
  double (*sum_of_squares)(size_t n, const real *x);

  /* --- what recognition needs besides. Weights laid out as the kernels read them, for products that use them often; a
   * NULL slot of pack_b: not offered. */
  size_t (*pack_b_size)(size_t k, size_t n);
  void (*pack_b)(bool transpose_b, size_t k, size_t n, const real *b, size_t ldb, real *packed);
  size_t (*lstm_pack_size)(size_t width, enum linnet_lstm_use use);
  void (*lstm_pack)(size_t width, enum linnet_lstm_use use, const real *weights, real *packed);
  /* Linear attention in parts (ops/linear_attention.h). */
  void (*linear_accumulate)(const struct linnet_attention *a, size_t rows, const real *k, const real *v,
                            real *state_add);
  void (*linear_apply)(const struct linnet_attention *a, size_t rows, const real *q, const real *state, real *out);
};

/* The CPU table by name. NULL: unknown name, or not runnable here. Tables are constant and live for ever. */
const struct linnet_ops *linnet_cpu_ops(const char *name);

/* The fastest table that this processor runs, none less precise than that. */
const struct linnet_ops *linnet_cpu_best_ops(enum linnet_precision precision);

#endif
