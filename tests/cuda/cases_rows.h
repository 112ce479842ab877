/* Cases of products, of ops on rows and elements, of sums and of the update. */
#ifndef LINNET_TEST_CASES_ROWS_H
#define LINNET_TEST_CASES_ROWS_H

#include "case_sizes.h"
#include "ops/activation.h"
#include "ops/dropout.h"
#include "ops/gemm.h"
#include "ops/layernorm.h"
#include "ops/log_softmax.h"
#include "ops/optimizer.h"
#include "ops/vector.h"

/* --- Products */

/* By the kernel, and by the kernel or library that linnet_cuda_gemm chooses; to activations, or to reals. */
static double test_gemm(struct mirrors *m) {
  struct test_random *r = &m->random;
  const enum linnet_gemm_result result = test_below(r, 2) ? LINNET_GEMM_REALS : LINNET_GEMM_ACTIVATIONS;
  void *(*const to)(struct mirrors *, const struct buffer *) =
      result == LINNET_GEMM_REALS ? mirror_reals : mirror_activations;
  struct linnet_gemm g = {.transpose_a = test_below(r, 2), .transpose_b = test_below(r, 2), .result = result};
  g.m = some_size(r, scaled(300)), g.n = some_size(r, scaled(200)), g.k = some_size(r, scaled(300));
  g.lda = (g.transpose_a ? g.m : g.k) + test_below(r, 3), g.ldb = (g.transpose_b ? g.k : g.n) + test_below(r, 3);
  g.ldc = g.n + test_below(r, 3), g.accumulate = test_below(r, 3) == 0;
  struct buffer a = activations_random(m, g.lda * (g.transpose_a ? g.k : g.m));
  struct buffer b = activations_random(m, g.ldb * (g.transpose_b ? g.n : g.k)), bias = activations_random(m, g.n);
  struct buffer c = buffer_poisoned(r, g.ldc * g.m), sums = activations_random(m, c.n);
  for (size_t i = 0; i < g.m && g.accumulate; i++)
    memcpy(c.x + i * g.ldc, sums.x + i * g.ldc, g.n * sizeof *c.x);
  struct buffer c2 = buffer_copy(r, &c), c3 = buffer_copy(r, &c);
  g.bias = !g.accumulate && test_below(r, 2) ? bias.x : NULL;
  g.activation = g.accumulate ? LINNET_IDENTITY : (enum linnet_activation)test_below(r, 4);
  struct linnet_gemm device = g;
  g.a = a.x, g.b = b.x, g.c = c.x;
  linnet_gemm_reference(&g, NULL);
  device.a = mirror_activations(m, &a), device.b = mirror_activations(m, &b), device.c = to(m, &c2);
  device.bias = g.bias ? to(m, &bias) : NULL;
  linnet_cuda_gemm_kernel(m->device, &device);
  device.c = to(m, &c3);
  linnet_cuda_gemm(m->device, &device);
  mirrors_return(m);
  double error = worst(buffer_error(&c2, &c), buffer_error(&c3, &c));
  RELEASE(a, b, bias, c, sums, c2, c3);
  return error;
}

/* --- Row by row */

static size_t some_rows(struct test_random *r) {
  return test_below(r, 4) ? some_size(r, scaled(70)) : test_below(r, scaled(1500));
}

/* --- Layer norm */

/* Its input, and the gradient of its output. */
struct norm_case {
  size_t rows, width;
  struct buffer x, gain, bias, dy;
  struct buffer rest; /* added to dx, or not */
  bool added;
  struct buffer dgain, dbias; /* earlier sums */
};

struct norm_results {
  struct buffer y, mean, rstd, dx, dgain, dbias;
};

static struct norm_case norm_case(struct mirrors *m, size_t rows, size_t width, float scale) {
  struct test_random *r = &m->random;
  struct norm_case c = {.rows = rows, .width = width};
  c.x = activations_scaled(m, rows * width, scale);
  c.gain = buffer_random(r, width), c.bias = buffer_random(r, width);
  c.dy = activations_random(m, rows * width), c.rest = activations_random(m, rows * width);
  c.added = test_below(r, 2);
  c.dgain = buffer_random(r, width), c.dbias = buffer_random(r, width);
  return c;
}

static struct norm_results norm_results(struct test_random *r, const struct norm_case *c) {
  size_t n = c->rows * c->width;
  struct norm_results results = {.y = buffer_poisoned(r, n)};
  results.mean = buffer_poisoned(r, c->rows), results.rstd = buffer_poisoned(r, c->rows);
  results.dx = buffer_copy(r, c->added ? &c->rest : &c->dy); /* written over one of them */
  results.dgain = buffer_copy(r, &c->dgain), results.dbias = buffer_copy(r, &c->dbias);
  return results;
}

static void norm_reference(const struct norm_case *c, const struct buffer *x, struct norm_results *n) {
  struct linnet_layernorm norm = {.rows = c->rows,
                                  .width = c->width,
                                  .x = x->x,
                                  .gain = c->gain.x,
                                  .bias = c->bias.x,
                                  .y = n->y.x,
                                  .mean = n->mean.x,
                                  .rstd = n->rstd.x,
                                  .dy = c->dy.x,
                                  .residual = c->added ? c->rest.x : NULL,
                                  .dx = n->dx.x,
                                  .dgain_add = n->dgain.x,
                                  .dbias_add = n->dbias.x};
  linnet_layernorm_forward_reference(&norm);
  linnet_layernorm_backward_reference(&norm);
}

static void release_norm_results(struct norm_results *n) {
  RELEASE(n->y, n->mean, n->rstd, n->dx, n->dgain, n->dbias);
}

static void note_norm_condition(struct mirrors *m, const struct norm_case *c, const struct buffer *x,
                                const struct norm_results *n) {
  struct test_random random = {c->rows};
  struct norm_results o = norm_results(&random, c);
  struct buffer nudged = buffer_nudged(x);
  norm_reference(c, &nudged, &o);
  note_condition(m, &o.y, &n->y), note_condition(m, &o.mean, &n->mean), note_condition(m, &o.rstd, &n->rstd);
  note_condition(m, &o.dx, &n->dx), note_condition(m, &o.dgain, &n->dgain), note_condition(m, &o.dbias, &n->dbias);
  free(nudged.memory);
  release_norm_results(&o);
}

static double norm_error(const struct norm_results *tested, const struct norm_results *n) {
  double error = worst(buffer_error(&tested->y, &n->y), buffer_error(&tested->dx, &n->dx));
  error = worst(error, worst(buffer_error(&tested->mean, &n->mean), buffer_error(&tested->rstd, &n->rstd)));
  return worst(error, worst(buffer_error(&tested->dgain, &n->dgain), buffer_error(&tested->dbias, &n->dbias)));
}

static void release_norm_case(struct norm_case *c) {
  RELEASE(c->x, c->gain, c->bias, c->dy, c->rest, c->dgain, c->dbias);
}

/* The arguments of a layer norm of x on the device; dx has the address of the added gradient, or of dy. */
static struct linnet_layernorm mirror_norm(struct mirrors *m, const struct norm_case *c, const void *x,
                                           struct norm_results *n) {
  void *dx = mirror_activations(m, &n->dx);
  return (struct linnet_layernorm){.rows = c->rows,
                                   .width = c->width,
                                   .x = x,
                                   .gain = mirror(m, &c->gain),
                                   .bias = mirror(m, &c->bias),
                                   .y = mirror_activations(m, &n->y),
                                   .mean = mirror(m, &n->mean),
                                   .rstd = mirror(m, &n->rstd),
                                   .dy = c->added ? mirror_activations(m, &c->dy) : dx,
                                   .residual = c->added ? dx : NULL,
                                   .dx = dx,
                                   .dgain_add = mirror(m, &n->dgain),
                                   .dbias_add = mirror(m, &n->dbias)};
}

static double test_layernorm(struct mirrors *m) {
  struct test_random *r = &m->random;
  size_t rows = some_rows(r), width = test_below(r, 3) ? 4 + 4 * test_below(r, 60) : 1 + some_size(r, scaled(400));
  if (test_below(r, 8) == 0)
    rows = test_below(r, 40), width = 6140 + test_below(r, 10); /* two rows of sums in 48 KiB, or not */
  struct norm_case c = norm_case(m, rows, width, 3);
  struct norm_results expected = norm_results(r, &c), n = norm_results(r, &c);
  struct buffer y = buffer_copy(r, &c.x);
  norm_reference(&c, &c.x, &expected);
  note_norm_condition(m, &c, &c.x, &expected);
  struct linnet_layernorm norm = mirror_norm(m, &c, mirror_activations(m, &c.x), &n), in_place = norm;
  linnet_cuda_layernorm_forward(m->device, &norm);
  in_place.x = in_place.y = mirror_activations(m, &y), in_place.mean = in_place.rstd = NULL;
  linnet_cuda_layernorm_forward(m->device, &in_place);
  linnet_cuda_layernorm_backward(m->device, &norm);
  mirrors_return(m);
  double error = worst(norm_error(&n, &expected), buffer_error(&y, &expected.y));
  release_norm_case(&c), release_norm_results(&expected), release_norm_results(&n);
  free(y.memory);
  return error;
}

static double test_log_softmax(struct mirrors *m) {
  struct test_random *r = &m->random;
  size_t rows = some_rows(r), width = 1 + some_size(r, scaled(400)), n = rows * width;
  struct buffer x = buffer_scaled(r, n, test_below(r, 2) ? 3 : 200), y = buffer_poisoned(r, n);
  for (size_t i = 0; i < n; i++)
    if (i % width != 0 && test_below(r, 10) == 0)
      x.x[i] = -INFINITY;
  struct buffer y2 = buffer_poisoned(r, n), y3 = buffer_copy(r, &x);
  linnet_log_softmax_reference(rows, width, x.x, y.x);
  float *in_place = mirror(m, &y3);
  linnet_cuda_log_softmax(m->device, rows, width, mirror(m, &x), mirror(m, &y2));
  linnet_cuda_log_softmax(m->device, rows, width, in_place, in_place);
  mirrors_return(m);
  double error = worst(buffer_error(&y2, &y), buffer_error(&y3, &y));
  RELEASE(x, y, y2, y3);
  return error;
}

static double test_glu(struct mirrors *m) {
  struct test_random *r = &m->random;
  size_t rows = some_rows(r), width = some_size(r, scaled(200)), n = rows * width;
  struct buffer x = activations_scaled(m, 2 * n, test_below(r, 2) ? 3 : 120), dy = activations_random(m, n);
  struct buffer y = buffer_poisoned(r, n), y2 = buffer_poisoned(r, n);
  struct buffer dx = buffer_poisoned(r, 2 * n), dx2 = buffer_poisoned(r, 2 * n);
  linnet_glu_forward_reference(rows, width, x.x, y.x);
  linnet_glu_backward_reference(rows, width, x.x, dy.x, dx.x);
  void *in = mirror_activations(m, &x);
  linnet_cuda_glu_forward(m->device, rows, width, in, mirror_activations(m, &y2));
  linnet_cuda_glu_backward(m->device, rows, width, in, mirror_activations(m, &dy), mirror_activations(m, &dx2));
  mirrors_return(m);
  double error = worst(buffer_error(&y2, &y), buffer_error(&dx2, &dx));
  RELEASE(x, dy, y, y2, dx, dx2);
  return error;
}

/* --- Element by element */

/* To float and to bfloat16, and floats rounded in place; the results must equal rounding on the host. */
static double test_activations_of(struct mirrors *m) {
  struct test_random *r = &m->random;
  size_t n = some_size(r, scaled(20000));
  struct buffer x = buffer_scaled(r, n, test_below(r, 2) ? 1 : 1e30f), y = buffer_copy(r, &x),
                y2 = buffer_poisoned(r, n);
  for (size_t i = 0; i < n; i++)
    x.x[i] = y.x[i] = test_below(r, 50) ? x.x[i] : test_below(r, 2) ? INFINITY : NAN;
  struct buffer rounded = buffer_copy(r, &x), in_place = buffer_copy(r, &x);
  for (size_t i = 0; i < n; i++)
    rounded.x[i] = from_upper_half(upper_half(x.x[i]));
  round_activations(m, &y);
  linnet_cuda_activations_of(m->device, n, mirror(m, &x), mirror_activations(m, &y2));
  linnet_cuda_round_bfloat16(m->device, n, mirror(m, &in_place));
  mirrors_return(m);
  double error = worst(buffer_error(&y2, &y), buffer_error(&in_place, &rounded));
  RELEASE(x, y, y2, rounded, in_place);
  return error;
}

/* To the halves that ranks send, and back in place: the floats are then those that rounding gives. */
static double test_wire(struct mirrors *m) {
  struct test_random *r = &m->random;
  size_t n = some_size(r, scaled(20000));
  struct buffer x = buffer_scaled(r, n, 1), rounded = buffer_copy(r, &x), halves = buffer_poisoned(r, n);
  for (size_t i = 0; i < n; i++)
    rounded.x[i] = from_upper_half(upper_half(x.x[i]));
  float *sent = mirror(m, &halves);
  linnet_cuda_pack_bfloat16(m->device, n, mirror(m, &x), (uint16_t *)(void *)sent);
  linnet_cuda_expand_bfloat16(m->device, n, sent);
  mirrors_return(m);
  double error = buffer_error(&halves, &rounded);
  RELEASE(x, rounded, halves);
  return error;
}

static struct linnet_dropout some_dropout(struct test_random *r) {
  static const double rates[] = {0, 1e-6, 0.1, 0.5, 0.9};
  return (struct linnet_dropout){.rate = rates[test_below(r, 5)],
                                 .seed = test_next(r),
                                 .step = (uint32_t)test_next(r),
                                 .site = (uint32_t)test_next(r),
                                 .row = test_next(r) >> 20};
}

/* The ops of the device with a mask, by references; backward of a ReLU uses its result. */
static void activation_reference(enum linnet_activation f, const struct linnet_dropout *d, size_t rows, size_t width,
                                 const float *x, const float *dy, float *y, float *dx) {
  linnet_activation_forward_reference(f, rows * width, x, y);
  linnet_dropout_reference(d, rows, width, y, NULL, y);
  if (f == LINNET_RELU) {
    linnet_activation_backward_reference(f, rows * width, (float)linnet_dropout_scale(d->rate), y, dy, dx);
  } else {
    linnet_dropout_reference(d, rows, width, dy, NULL, dx);
    linnet_activation_backward_reference(f, rows * width, 1, x, dx, dx);
  }
}

static double test_activation(struct mirrors *m) {
  static const float scales[] = {1, 6, 30, 1000};
  struct test_random *r = &m->random;
  enum linnet_activation f = (enum linnet_activation)test_below(r, 4);
  struct linnet_dropout drop = some_dropout(r);
  size_t rows = some_rows(r), width = some_size(r, scaled(200)), n = rows * width;
  struct buffer x = activations_scaled(m, n, scales[test_below(r, 4)]), dy = activations_random(m, n);
  struct buffer y = buffer_poisoned(r, n), y2 = buffer_poisoned(r, n), dx = buffer_poisoned(r, n);
  struct buffer dx2 = buffer_copy(r, &dy), y3 = buffer_copy(r, &x);
  activation_reference(f, &drop, rows, width, x.x, dy.x, y.x, dx.x);
  void *in = mirror_activations(m, &x), *d = mirror_activations(m, &dx2), *in_place = mirror_activations(m, &y3);
  linnet_cuda_activation_forward(m->device, f, &drop, rows, width, in, mirror_activations(m, &y2));
  linnet_cuda_activation_forward(m->device, f, &drop, rows, width, in_place, in_place);
  linnet_cuda_activation_backward(m->device, f, &drop, rows, width, f == LINNET_RELU ? in_place : in, d, d);
  mirrors_return(m);
  double error = worst(worst(buffer_error(&y2, &y), buffer_error(&y3, &y)), buffer_error(&dx2, &dx));
  RELEASE(x, dy, y, y2, y3, dx, dx2);
  return error;
}

static double test_dropout(struct mirrors *m) {
  struct test_random *r = &m->random;
  struct linnet_dropout d = some_dropout(r);
  size_t rows = some_rows(r), width = some_size(r, scaled(200)), n = rows * width;
  struct buffer x = activations_random(m, n), residual = activations_random(m, n);
  bool added = test_below(r, 2);
  struct buffer y = buffer_poisoned(r, n), y2 = buffer_poisoned(r, n), y3 = buffer_copy(r, &x);
  linnet_dropout_reference(&d, rows, width, x.x, added ? residual.x : NULL, y.x);
  void *rest = added ? mirror_activations(m, &residual) : NULL, *in_place = mirror_activations(m, &y3);
  linnet_cuda_dropout(m->device, &d, rows, width, mirror_activations(m, &x), rest, mirror_activations(m, &y2));
  linnet_cuda_dropout(m->device, &d, rows, width, in_place, rest, in_place);
  mirrors_return(m);
  double error = worst(buffer_error(&y2, &y), buffer_error(&y3, &y));
  RELEASE(x, residual, y, y2, y3);
  return error;
}

/* Forward with or without a residual connection, with the sum in place or not; backward with or without a gradient
 * to add, with the result over this gradient or over dy. The input of the norm is the sum. */
static double test_residual_norm(struct mirrors *m) {
  struct test_random *r = &m->random;
  struct linnet_dropout d = some_dropout(r);
  size_t rows = some_rows(r), width = 8 + 4 * test_below(r, 60) + (test_below(r, 3) ? 0 : test_below(r, 4));
  const bool connected = test_below(r, 4), in_place = test_below(r, 2);
  struct norm_case c = norm_case(m, rows, width, 1);
  struct norm_results expected = norm_results(r, &c), n = norm_results(r, &c);
  struct buffer residual = activations_random(m, c.x.n), sum = buffer_poisoned(r, c.x.n);
  struct buffer sum2 = buffer_copy(r, in_place ? &c.x : &sum), dx = buffer_copy(r, &sum), dx2 = buffer_copy(r, &sum);
  linnet_dropout_reference(&d, rows, width, c.x.x, connected ? residual.x : NULL, sum.x);
  norm_reference(&c, &sum, &expected);
  linnet_dropout_reference(&d, rows, width, expected.dx.x, NULL, dx.x);
  note_norm_condition(m, &c, &sum, &expected);
  void *to = mirror_activations(m, &sum2), *from = in_place ? to : mirror_activations(m, &c.x);
  struct linnet_residual_norm terms = {.mask = &d,
                                       .x = from,
                                       .residual = connected ? mirror_activations(m, &residual) : NULL,
                                       .sum = to,
                                       .dx = mirror_activations(m, &dx2),
                                       .norm = mirror_norm(m, &c, to, &n)};
  linnet_cuda_residual_norm(m->device, &terms);
  linnet_cuda_residual_norm_backward(m->device, &terms);
  mirrors_return(m);
  double error = worst(norm_error(&n, &expected), worst(buffer_error(&sum2, &sum), buffer_error(&dx2, &dx)));
  release_norm_case(&c), release_norm_results(&expected), release_norm_results(&n);
  RELEASE(residual, sum, sum2, dx, dx2);
  return error;
}

/* --- Sums and the update */

/* Three times: plain, clipped to half, and with gradients that are not finite, which change nothing. */
static double test_update(struct mirrors *m) {
  struct test_random *r = &m->random;
  size_t n = 1 + some_size(r, scaled(20000));
  struct linnet_update u;
  linnet_update_terms(LINNET_RADAM, 1e-3, 1 + test_below(r, 12), &u);
  u.gradient_scale = 0.3;
  struct buffer p = buffer_random(r, n), g = buffer_random(r, n), v = buffer_random(r, n), v0 = buffer_copy(r, &v);
  struct buffer m0 = buffer_random(r, n), m1 = buffer_copy(r, &m0);
  for (size_t i = 0; i < n; i++)
    v.x[i] = v0.x[i] = fabsf(v.x[i]);
  struct buffer p2 = buffer_copy(r, &p);
  double squares = linnet_sum_of_squares_reference(n, g.x), bad = INFINITY, norm = sqrt(squares) * 0.3;
  struct linnet_update half = u;
  half.gradient_scale *= norm / 2 / (norm + 1e-6);
  linnet_update_reference(&u, n, p.x, g.x, m0.x, v.x);
  linnet_update_reference(&half, n, p.x, g.x, m0.x, v.x);
  const struct linnet_update_arrays a = {n, mirror(m, &p2), mirror(m, &g), mirror(m, &m1), mirror(m, &v0)};
  double *sum = mirror_bytes(m, &squares, sizeof squares);
  linnet_cuda_update(m->device, &u, 2 * norm + 1, sum, &a);
  linnet_cuda_update(m->device, &u, norm / 2, sum, &a);
  linnet_cuda_update(m->device, &u, norm / 2, mirror_bytes(m, &bad, sizeof bad), &a);
  mirrors_return(m);
  double error = worst(buffer_error(&p2, &p), worst(buffer_error(&m1, &m0), buffer_error(&v0, &v)));
  RELEASE(p, g, v, v0, m0, m1, p2);
  return error;
}

static double test_sums(struct mirrors *m) {
  struct test_random *r = &m->random;
  size_t rows = some_size(r, scaled(3000)), width = some_size(r, scaled(200)), n = rows * width;
  struct buffer x = activations_random(m, n), y = buffer_random(r, n), y2 = buffer_copy(r, &y);
  struct buffer sums = buffer_random(r, width), sums2 = buffer_copy(r, &sums), square = buffer_poisoned(r, 2);
  double expected = linnet_sum_of_squares_reference(n, x.x), sum;
  linnet_add_reference(n, x.x, y.x);
  linnet_average_reference(n, 0.01, x.x, y.x);
  struct buffer without = buffer_unsigned(r, &x), unsigned_sums = buffer_unsigned(r, &sums);
  linnet_column_sum_reference(rows, width, x.x, sums.x);
  linnet_column_sum_reference(rows, width, without.x, unsigned_sums.x);
  note_cancellation(m, &unsigned_sums, &sums);
  square.x = square.memory + GUARD;
  float *in = mirror(m, &x);
  linnet_cuda_sum_of_squares(m->device, n, in, (double *)(void *)mirror(m, &square));
  float *out = mirror(m, &y2);
  linnet_cuda_add(m->device, n, in, out);
  linnet_cuda_average(m->device, n, 0.01, in, out);
  linnet_cuda_column_sum(m->device, rows, width, mirror_activations(m, &x), mirror(m, &sums2));
  mirrors_return(m);
  memcpy(&sum, square.x, sizeof sum);
  double error = guards_hold(&square) ? fabs(sum - expected) / fmax(1, expected) : INFINITY;
  error = worst(error, worst(buffer_error(&y2, &y), buffer_error(&sums2, &sums)));
  RELEASE(x, y, y2, sums, sums2, square, without, unsigned_sums);
  return error;
}

#endif
