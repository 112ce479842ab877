/* The ops that the CPU's kernels and all devices have in the same form, one row each. struct linnet_ops
 * (backend/backend.h), struct linnet_device_ops (backend/device.h) and the CPU's device (backend/cpu_device.c) take
 * their slots from this list. The header with the name of an op describes what it computes.
 *
 *   OP(name, (arguments), parameters)
 *
 * `activation` is the type of the tensors that layers pass on: `real` in a table of kernels, and `void` on a device,
 * which may store them with fewer bits. Structures of arguments carry such tensors as `void *`. */
#ifndef LINNET_OP_LIST_H
#define LINNET_OP_LIST_H

#include "ops/attention.h"
#include "ops/depthwise_conv.h"
#include "ops/dropout.h"
#include "ops/feature_map.h"
#include "ops/gemm.h"
#include "ops/layernorm.h"

/* NOLINTBEGIN(bugprone-macro-parentheses): `activation` is a type, which cannot stand in parentheses here */
#define LINNET_OP_LIST(OP, activation)                                                                                 \
  OP(gemm, (g, work), const struct linnet_gemm *g, real *work)                                                         \
  OP(layernorm_forward, (n), const struct linnet_layernorm *n)                                                         \
  OP(layernorm_backward, (n), const struct linnet_layernorm *n)                                                        \
  OP(dropout, (d, rows, width, x, residual, y), const struct linnet_dropout *d, size_t rows, size_t width,             \
     const activation *x, const activation *residual, activation *y)                                                   \
  OP(glu_forward, (rows, width, x, y), size_t rows, size_t width, const activation *x, activation *y)                  \
  OP(glu_backward, (rows, width, x, dy, dx), size_t rows, size_t width, const activation *x, const activation *dy,     \
     activation *dx)                                                                                                   \
  OP(log_softmax, (rows, width, x, y), size_t rows, size_t width, const real *x, real *y)                              \
  OP(feature_map_forward, (m, rows, x, phi, work), const struct linnet_feature_map_terms *m, size_t rows,              \
     const activation *x, activation *phi, real *work)                                                                 \
  OP(feature_map_backward, (m, rows, x, phi, dphi, dx, work), const struct linnet_feature_map_terms *m, size_t rows,   \
     const activation *x, const activation *phi, const activation *dphi, activation *dx, real *work)                   \
  OP(conv_forward, (c, p, x, w, bias, y), const struct linnet_conv *c, const struct linnet_pack *p,                    \
     const activation *x, const real *w, const real *bias, activation *y)                                              \
  OP(conv_backward, (c, p, g), const struct linnet_conv *c, const struct linnet_pack *p,                               \
     const struct linnet_conv_gradients *g)                                                                            \
  OP(add, (n, x, y_add), size_t n, const real *x, real *y_add)                                                         \
  OP(average, (n, weight, x, average_add), size_t n, double weight, const real *x, real *average_add)                  \
  OP(column_sum, (rows, width, x, sums_add), size_t rows, size_t width, const activation *x, real *sums_add)
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
