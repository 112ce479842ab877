/* Every op of the CUDA backend, forward and backward, against the C reference: ragged packed batches, poisoned outputs,
 * guards, addresses of any alignment. The same cases run on a device (test_cuda_device; skipped without one), on the
 * emulated one (test_cuda_emulated), and, few and small, where races are found (test_cuda_races; emulate.h). Each runs
 * twice, emulated with threads in the opposite order: the same bytes are due. Prints the largest error found and its
 * bound. Arguments: seed, name of one op; LINNET_TEST_CASES in the environment: no more cases of each. */
#include <float.h>

#include "mirror.h"
#include "ops/activation.h"
#include "ops/attention.h"
#include "ops/causal_attention.h"
#include "ops/ctc.h"
#include "ops/depthwise_conv.h"
#include "ops/dropout.h"
#include "ops/feature_map.h"
#include "ops/gemm.h"
#include "ops/layernorm.h"
#include "ops/linear_attention.h"
#include "ops/log_softmax.h"
#include "ops/lsh_attention.h"
#include "ops/lstm.h"
#include "ops/optimizer.h"
#include "ops/softmax_attention.h"
#include "ops/spec_augment.h"
#include "ops/vector.h"

/* A size that takes the time it is given. */
static size_t scaled(size_t n) {
  return n / test_cuda_share();
}

/* --- Products */

/* By the kernel, and by whatever linnet_cuda_gemm takes; to activations, or to reals. */
static double test_gemm(struct mirrors *m) {
  struct test_random *r = &m->random;
  const enum linnet_gemm_result result = test_below(r, 2) ? LINNET_GEMM_REALS : LINNET_GEMM_ACTIVATIONS;
  void *(*const to)(struct mirrors *, const struct buffer *) =
      result == LINNET_GEMM_REALS ? mirror_reals : mirror_activations;
  struct linnet_gemm g = {.transpose_a = test_below(r, 2), .transpose_b = test_below(r, 2)};
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
  linnet_cuda_gemm_kernel(m->device, result, &device);
  device.c = to(m, &c3);
  linnet_cuda_gemm(m->device, result, &device);
  mirrors_return(m);
  double error = worst(buffer_error(&c2, &c), buffer_error(&c3, &c));
  RELEASE(a, b, bias, c, sums, c2, c3);
  return error;
}

/* --- Row by row */

static size_t some_rows(struct test_random *r) {
  return test_below(r, 4) ? some_size(r, scaled(70)) : test_below(r, scaled(1500));
}

static double test_layernorm(struct mirrors *m) {
  struct test_random *r = &m->random;
  size_t rows = some_rows(r), width = test_below(r, 3) ? 4 + 4 * test_below(r, 60) : 1 + some_size(r, scaled(400));
  if (test_below(r, 8) == 0)
    rows = test_below(r, 40), width = 6140 + test_below(r, 10); /* two rows of sums in 48 KiB, or not */
  size_t n = rows * width;
  struct buffer x = activations_scaled(m, n, 3), gain = buffer_random(r, width), bias = buffer_random(r, width);
  struct buffer y = buffer_poisoned(r, n), y2 = buffer_poisoned(r, n), y3 = buffer_copy(r, &x);
  struct buffer mean = buffer_poisoned(r, rows), mean2 = buffer_poisoned(r, rows);
  struct buffer rstd = buffer_poisoned(r, rows), rstd2 = buffer_poisoned(r, rows);
  struct buffer dy = activations_random(m, n), dx = buffer_poisoned(r, n), dx2 = buffer_copy(r, &dy);
  struct buffer dgain = buffer_random(r, width), dgain2 = buffer_copy(r, &dgain);
  struct buffer dbias = buffer_random(r, width), dbias2 = buffer_copy(r, &dbias), residual = activations_random(m, n);
  const bool added = test_below(r, 2);
  linnet_layernorm_forward_reference(rows, width, x.x, gain.x, bias.x, y.x, mean.x, rstd.x);
  linnet_layernorm_backward_reference(rows, width, x.x, gain.x, mean.x, rstd.x, dy.x, added ? residual.x : NULL, dx.x,
                                      dgain.x, dbias.x);

  void *in = mirror_activations(m, &x), *in_place = mirror_activations(m, &y3), *d = mirror_activations(m, &dx2);
  float *g = mirror(m, &gain), *b = mirror(m, &bias), *means = mirror(m, &mean2), *rstds = mirror(m, &rstd2);
  linnet_cuda_layernorm_forward(m->device, rows, width, in, g, b, mirror_activations(m, &y2), means, rstds);
  linnet_cuda_layernorm_forward(m->device, rows, width, in_place, g, b, in_place, NULL, NULL);
  void *rest = added ? mirror_activations(m, &residual) : NULL, *to = added ? rest : d; /* in place of one of them */
  linnet_cuda_layernorm_backward(m->device, rows, width, in, g, means, rstds, d, rest, to, mirror(m, &dgain2),
                                 mirror(m, &dbias2));
  mirrors_return(m);
  double error = worst(buffer_error(&y2, &y), buffer_error(&y3, &y));
  error = worst(error, worst(buffer_error(&mean2, &mean), buffer_error(&rstd2, &rstd)));
  error = worst(error, worst(buffer_error(added ? &residual : &dx2, &dx), buffer_error(&dgain2, &dgain)));
  error = worst(error, buffer_error(&dbias2, &dbias));
  RELEASE(residual, x, gain, bias, y, y2, y3, mean, mean2, rstd, rstd2, dy, dx, dx2, dgain, dgain2, dbias, dbias2);
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

/* To float and to bfloat16; the buffer that comes back is what rounding on the host gives. */
static double test_activations_of(struct mirrors *m) {
  struct test_random *r = &m->random;
  size_t n = some_size(r, scaled(20000));
  struct buffer x = buffer_scaled(r, n, test_below(r, 2) ? 1 : 1e30f), y = buffer_copy(r, &x),
                y2 = buffer_poisoned(r, n);
  for (size_t i = 0; i < n; i++)
    x.x[i] = y.x[i] = test_below(r, 50) ? x.x[i] : test_below(r, 2) ? INFINITY : NAN;
  round_activations(m, &y);
  linnet_cuda_activations_of(m->device, n, mirror(m, &x), mirror_activations(m, &y2));
  mirrors_return(m);
  double error = buffer_error(&y2, &y);
  RELEASE(x, y, y2);
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

/* What the ops of the device do with a mask, by references; a ReLU goes back from its result. */
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

/* Forward with a residual connection or without, the sum in place or not; back with a gradient to add or without, in
 * place of it or of dy. */
static double test_dropout_layernorm(struct mirrors *m) {
  struct test_random *r = &m->random;
  struct linnet_dropout d = some_dropout(r);
  size_t rows = some_rows(r), width = 8 + 4 * test_below(r, 60) + (test_below(r, 3) ? 0 : test_below(r, 4));
  size_t n = rows * width;
  const bool connected = test_below(r, 4), in_place = test_below(r, 2), added = test_below(r, 2);
  struct buffer x = activations_random(m, n), residual = activations_random(m, n), gain = buffer_random(r, width);
  struct buffer bias = buffer_random(r, width), mean = buffer_poisoned(r, rows), rstd = buffer_poisoned(r, rows);
  struct buffer sum = buffer_poisoned(r, n), y = buffer_poisoned(r, n), sum2 = buffer_copy(r, in_place ? &x : &sum);
  struct buffer y2 = buffer_copy(r, &y), mean2 = buffer_copy(r, &mean), rstd2 = buffer_copy(r, &rstd);
  struct buffer dy = activations_random(m, n), dsum = buffer_poisoned(r, n), dy2 = buffer_copy(r, &dy);
  struct buffer rest = activations_random(m, n), rest2 = buffer_copy(r, &rest);
  struct buffer dx = buffer_poisoned(r, n), dx2 = buffer_copy(r, &dx), dgain = buffer_random(r, width);
  struct buffer dgain2 = buffer_copy(r, &dgain), dbias = buffer_random(r, width), dbias2 = buffer_copy(r, &dbias);
  linnet_dropout_reference(&d, rows, width, x.x, connected ? residual.x : NULL, sum.x);
  linnet_layernorm_forward_reference(rows, width, sum.x, gain.x, bias.x, y.x, mean.x, rstd.x);
  linnet_layernorm_backward_reference(rows, width, sum.x, gain.x, mean.x, rstd.x, dy.x, added ? rest.x : NULL, dsum.x,
                                      dgain.x, dbias.x);
  linnet_dropout_reference(&d, rows, width, dsum.x, NULL, dx.x);
  float *g = mirror(m, &gain), *means = mirror(m, &mean2), *rstds = mirror(m, &rstd2);
  void *to = mirror_activations(m, &sum2), *from = in_place ? to : mirror_activations(m, &x);
  linnet_cuda_dropout_layernorm(m->device, &d, rows, width, from, connected ? mirror_activations(m, &residual) : NULL,
                                g, mirror(m, &bias), to, mirror_activations(m, &y2), means, rstds);
  void *gradient = mirror_activations(m, &dy2), *more = added ? mirror_activations(m, &rest2) : NULL;
  linnet_cuda_dropout_layernorm_backward(m->device, &d, rows, width, to, g, means, rstds, gradient, more,
                                         more ? more : gradient, mirror_activations(m, &dx2), mirror(m, &dgain2),
                                         mirror(m, &dbias2));
  mirrors_return(m);
  double error = worst(buffer_error(&sum2, &sum), buffer_error(&y2, &y));
  error = worst(error, worst(buffer_error(&mean2, &mean), buffer_error(&rstd2, &rstd)));
  error = worst(error, worst(buffer_error(added ? &rest2 : &dy2, &dsum), buffer_error(&dx2, &dx)));
  error = worst(error, worst(buffer_error(&dgain2, &dgain), buffer_error(&dbias2, &dbias)));
  RELEASE(dy, dy2, dsum, rest, rest2, dx, dx2, dgain, dgain2, dbias, dbias2);
  RELEASE(x, residual, gain, bias, mean, rstd, sum, y, sum2, y2, mean2, rstd2);
  return error;
}

/* --- Sums and the update */

/* Three times: plain, clipped by half, and with gradients that are not finite, which change nothing. */
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
  float *parameters = mirror(m, &p2), *gradients = mirror(m, &g), *first = mirror(m, &m1), *second = mirror(m, &v0);
  double *sum = mirror_bytes(m, &squares, sizeof squares);
  linnet_cuda_update(m->device, &u, 2 * norm + 1, sum, n, parameters, gradients, first, second);
  linnet_cuda_update(m->device, &u, norm / 2, sum, n, parameters, gradients, first, second);
  linnet_cuda_update(m->device, &u, norm / 2, mirror_bytes(m, &bad, sizeof bad), n, parameters, gradients, first,
                     second);
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
  linnet_column_sum_reference(rows, width, x.x, sums.x);
  square.x = square.memory + GUARD;
  float *in = mirror(m, &x);
  linnet_cuda_sum_of_squares(m->device, n, in, (double *)(void *)mirror(m, &square));
  linnet_cuda_add(m->device, n, in, mirror(m, &y2));
  linnet_cuda_column_sum(m->device, rows, width, mirror_activations(m, &x), mirror(m, &sums2));
  mirrors_return(m);
  memcpy(&sum, square.x, sizeof sum);
  double error = guards_hold(&square) ? fabs(sum - expected) / fmax(1, expected) : INFINITY;
  error = worst(error, worst(buffer_error(&y2, &y), buffer_error(&sums2, &sums)));
  RELEASE(x, y, y2, sums, sums2, square);
  return error;
}

/* --- Sequences */

enum { MOST_SEQUENCES = 8 };

/* Some sequences, some empty, seldom long ones. Where races are searched, in few cases, all have what there is to have:
 * a second piece, a second tile of one, a sequence without frames. */
static struct linnet_pack some_pack(struct test_random *r, size_t *offsets, size_t longest) {
  static const size_t searched[] = {0, 140, 140, 150};
  struct linnet_pack p = {test_below(r, MOST_SEQUENCES), offsets};
  longest *= longest > 140 ? test_cuda_stretch() : 1;
  offsets[0] = 0;
  for (size_t i = 0; i < p.sequences; i++)
    offsets[i + 1] = offsets[i] + some_size(r, test_below(r, 4) && longest > 140 ? 140 : longest);
  if (test_cuda_share() > 1) {
    memcpy(offsets, searched, sizeof searched);
    p.sequences = sizeof searched / sizeof *searched - 1;
  }
  return p;
}

/* A shape of attention, its operands side by side, with or without columns between rows. */
struct attention_case {
  struct linnet_attention a;
  struct linnet_pack pack;
  size_t offsets[MOST_SEQUENCES + 1], rows;
  struct buffer qkv, dout;
  size_t k, v; /* columns where they begin */
};

static void attention_case(struct mirrors *m, enum linnet_attention_kind kind, bool mapped, size_t longest,
                           struct attention_case *c) {
  struct test_random *r = &m->random;
  struct linnet_attention *a = &c->a;
  *a = (struct linnet_attention){.heads = 1 + test_below(r, 3), .width = 32};
  if (test_below(r, 2))
    a->width = 1 + some_size(r, 70);
  a->key_width = a->width;
  size_t maps = linnet_attention_traits[kind].shared_key ? 2 : 3;
  if (mapped) {
    a->map = LINNET_MAP_IDENTITY;
    a->key_width = 1 + some_size(r, 150);
    a->least = test_below(r, 2) ? 0 : 1;
  }
  size_t keys = a->heads * a->key_width;
  a->out_ld = a->heads * a->width + (test_below(r, 2) ? test_below(r, 5) : 0);
  a->key_ld = a->value_ld = a->heads * a->width + (maps - 1) * keys + (test_below(r, 2) ? test_below(r, 5) : 0);
  a->lsh = (struct linnet_lsh){.rounds = 1 + test_below(r, 4),
                               .buckets = 2 + 2 * test_below(r, test_below(r, 2) ? 4 : 64),
                               .chunk = test_below(r, 8) ? 16 + test_below(r, 100) : 1 + some_size(r, 15),
                               .seed = test_next(r),
                               .step = 1,
                               .site = 2};
  c->pack = some_pack(r, c->offsets, longest);
  c->rows = c->offsets[c->pack.sequences];
  c->qkv = activations_scaled(m, c->rows * a->key_ld, test_below(r, 4) ? 1 : 5);
  c->dout = activations_random(m, c->rows * a->out_ld);
  const float length = 1 / sqrtf((float)a->key_width);
  for (size_t i = 0; i < c->qkv.n && a->map == LINNET_MAP_IDENTITY; i++)
    c->qkv.x[i] = a->least > 0 ? c->qkv.x[i] * length : fabsf(c->qkv.x[i]) + 0.5f;
  round_activations(m, &c->qkv);
  c->k = (maps - 2) * keys, c->v = (maps - 1) * keys;
}

static void run_reference(enum linnet_attention_kind kind, const struct attention_case *c, float *out, float *d) {
  const struct linnet_attention_ops *ops = linnet_cpu_ops("reference")->attention[kind];
  struct linnet_attention a = c->a;
  a.form = LINNET_CAUSAL_STATE;
  void *saved = malloc(ops->saved_bytes(&a, c->rows, c->pack.sequences) + 64);
  void *work = malloc(ops->work_bytes(&a, c->rows) + 64);
  const float *q = c->qkv.x;
  ops->forward(&a, &c->pack, q, q + c->k, q + c->v, saved, out, work);
  ops->backward(&a, &c->pack, q, q + c->k, q + c->v, saved, out, c->dout.x, d, d + c->k, d + c->v, work);
  free(saved), free(work);
}

static double test_attention(struct mirrors *m, enum linnet_attention_kind kind, bool mapped, size_t longest) {
  const struct linnet_cuda_attention_ops *ops = linnet_cuda_attention[kind];
  struct test_random *r = &m->random;
  struct attention_case c;
  attention_case(m, kind, mapped, longest, &c);
  struct buffer out = buffer_poisoned(r, c.rows * c.a.out_ld), out2 = buffer_copy(r, &out);
  struct buffer gradient = buffer_poisoned(r, c.qkv.n), gradient2 = buffer_copy(r, &gradient);
  run_reference(kind, &c, out.x, gradient.x);
  struct buffer saved = buffer_poisoned(r, ops->saved_bytes(&c.a, c.rows, c.pack.sequences) / sizeof(float));
  struct buffer work = buffer_poisoned(r, ops->work_bytes(&c.a, c.rows, c.pack.sequences) / sizeof(float));
  saved.x = saved.memory + GUARD, work.x = work.memory + GUARD;
  struct linnet_cuda_pack pack = mirror_pack(m, &c.pack);
  void *q = mirror_activations(m, &c.qkv), *kept = mirror(m, &saved), *room = mirror(m, &work);
  void *k = linnet_activation_at(m->device, q, c.k), *v = linnet_activation_at(m->device, q, c.v);
  void *y = mirror_activations(m, &out2), *dy = mirror_activations(m, &c.dout);
  void *d = mirror_activations(m, &gradient2);
  ops->forward(m->device, &c.a, &pack, q, k, v, kept, y, room);
  ops->backward(m->device, &c.a, &pack, q, k, v, kept, y, dy, d, linnet_activation_at(m->device, d, c.k),
                linnet_activation_at(m->device, d, c.v), room);
  mirrors_return(m);
  double error = worst(buffer_error(&out2, &out), buffer_error(&gradient2, &gradient));
  error = worst(error, guards_hold(&saved) && guards_hold(&work) ? 0 : INFINITY);
  RELEASE(c.qkv, c.dout, out, out2, gradient, gradient2, saved, work);
  return error;
}

static double test_linear_attention(struct mirrors *m) {
  return test_attention(m, LINNET_ATTENTION_LINEAR, false, 3000);
}

static double test_mapped_attention(struct mirrors *m) {
  return test_attention(m, LINNET_ATTENTION_LINEAR, true, 600);
}

static double test_causal_attention(struct mirrors *m) {
  return test_attention(m, LINNET_ATTENTION_CAUSAL_LINEAR, false, 3000);
}

static double test_mapped_causal(struct mirrors *m) {
  return test_attention(m, LINNET_ATTENTION_CAUSAL_LINEAR, true, 600);
}

static double test_softmax_attention(struct mirrors *m) {
  return test_attention(m, LINNET_ATTENTION_SOFTMAX, false, 700);
}

static double test_causal_softmax(struct mirrors *m) {
  return test_attention(m, LINNET_ATTENTION_CAUSAL_SOFTMAX, false, 700);
}

static double test_lsh_attention(struct mirrors *m) {
  bool causal = test_below(&m->random, 2);
  return test_attention(m, causal ? LINNET_ATTENTION_CAUSAL_LSH : LINNET_ATTENTION_LSH, false, 150);
}

/* --- SpecAugment */

/* Some of `total` places, or all. */
static void some_span(struct test_random *r, size_t total, size_t *first, size_t *length) {
  *length = test_below(r, 5) ? test_below(r, (total < 40 ? total : 40) + 1) : total;
  *first = test_below(r, total - *length + 1);
}

static double test_spec_augment(struct mirrors *m) {
  enum { MOST_MASKS = 12 };
  struct test_random *r = &m->random;
  size_t offsets[MOST_SEQUENCES + 1];
  struct linnet_feature_mask masks[MOST_SEQUENCES * MOST_MASKS];
  struct linnet_pack p = some_pack(r, offsets, 1000);
  struct linnet_masks t = {.count = test_below(r, MOST_MASKS + 1), .stack = 1 + test_below(r, 4), .masks = masks};
  t.channels = 1 + some_size(r, 100);
  for (size_t i = 0; i < p.sequences * t.count; i++) {
    const size_t s = i / t.count;
    some_span(r, (offsets[s + 1] - offsets[s]) * t.stack, &masks[i].first_frame, &masks[i].frames);
    some_span(r, t.channels, &masks[i].first_channel, &masks[i].channels);
  }
  struct buffer x = activations_random(m, offsets[p.sequences] * t.stack * t.channels), x2 = buffer_copy(r, &x);
  linnet_spec_augment_reference(&p, &t, x.x);
  struct linnet_cuda_pack pack = mirror_pack(m, &p);
  t.masks = mirror_bytes(m, masks, p.sequences * t.count * sizeof *masks);
  linnet_cuda_spec_augment(m->device, &pack, &t, mirror_activations(m, &x2));
  mirrors_return(m);
  double error = buffer_error(&x2, &x);
  RELEASE(x, x2);
  return error;
}

/* --- Convolution, LSTM, feature maps */

static double test_conv(struct mirrors *m) {
  struct test_random *r = &m->random;
  struct linnet_conv c = {1 + some_size(r, scaled(100)), test_below(r, 3) ? 15 : 1 + 2 * test_below(r, 10)};
  size_t offsets[MOST_SEQUENCES + 1];
  struct linnet_pack p = some_pack(r, offsets, test_below(r, 2) ? 30 : 1000);
  size_t n = offsets[p.sequences] * c.channels, taps = c.kernel * c.channels;
  struct buffer x = activations_random(m, n), w = buffer_random(r, taps), bias = buffer_random(r, c.channels);
  struct buffer y = buffer_poisoned(r, n), y2 = buffer_poisoned(r, n), dy = activations_random(m, n);
  struct buffer dx = buffer_poisoned(r, n), dx2 = buffer_poisoned(r, n), dw = buffer_random(r, taps);
  struct buffer dw2 = buffer_copy(r, &dw), dbias = buffer_random(r, c.channels), dbias2 = buffer_copy(r, &dbias);
  linnet_conv_forward_reference(&c, &p, x.x, w.x, bias.x, y.x);
  linnet_conv_backward_reference(&c, &p, x.x, w.x, dy.x, dx.x, dw.x, dbias.x);
  struct linnet_cuda_pack pack = mirror_pack(m, &p);
  void *in = mirror_activations(m, &x);
  float *weights = mirror(m, &w);
  linnet_cuda_conv_forward(m->device, &c, &pack, in, weights, mirror(m, &bias), mirror_activations(m, &y2));
  linnet_cuda_conv_backward(m->device, &c, &pack, in, weights, mirror_activations(m, &dy), mirror_activations(m, &dx2),
                            mirror(m, &dw2), mirror(m, &dbias2));
  mirrors_return(m);
  double error = worst(buffer_error(&y2, &y), buffer_error(&dx2, &dx));
  error = worst(error, worst(buffer_error(&dw2, &dw), buffer_error(&dbias2, &dbias)));
  RELEASE(x, w, bias, y, y2, dy, dx, dx2, dw, dw2, dbias, dbias2);
  return error;
}

static double test_packed_rows(struct mirrors *m) {
  struct test_random *r = &m->random;
  size_t offsets[MOST_SEQUENCES + 1], width = 1 + some_size(r, scaled(70)), ld = width + test_below(r, 3), longest = 0;
  struct linnet_pack p = some_pack(r, offsets, 700);
  size_t rows = offsets[p.sequences];
  bool reverse = test_below(r, 2);
  for (size_t s = 0; s < p.sequences; s++)
    longest = offsets[s + 1] - offsets[s] > longest ? offsets[s + 1] - offsets[s] : longest;
  struct buffer table = buffer_random(r, longest * width), x = activations_random(m, rows * width),
                y = buffer_copy(r, &x);
  struct buffer h = activations_random(m, rows * ld), before = buffer_poisoned(r, rows * width);
  struct buffer expected = buffer_copy(r, &before);
  for (size_t s = 0; s < p.sequences; s++)
    for (size_t t = offsets[s]; t < offsets[s + 1]; t++)
      for (size_t c = 0; c < width; c++) {
        bool first = t == (reverse ? offsets[s + 1] - 1 : offsets[s]);
        x.x[t * width + c] += table.x[(t - offsets[s]) * width + c];
        expected.x[t * width + c] = first ? 0 : h.x[(reverse ? t + 1 : t - 1) * ld + c];
      }
  struct linnet_cuda_pack pack = mirror_pack(m, &p);
  linnet_cuda_add_table(m->device, &pack, width, mirror(m, &table), mirror_activations(m, &y));
  linnet_cuda_steps_before(m->device, &pack, reverse, width, mirror_activations(m, &h), ld,
                           mirror_activations(m, &before));
  mirrors_return(m);
  double error = worst(buffer_error(&y, &x), buffer_error(&before, &expected));
  RELEASE(table, x, y, h, before, expected);
  return error;
}

static double test_lstm(struct mirrors *m) {
  struct test_random *r = &m->random;
  enum { SEQUENCES = 80 };
  size_t offsets[SEQUENCES + 1] = {0}, width = 1 + some_size(r, 70), most = test_below(r, 3) ? 6 : SEQUENCES;
  struct linnet_span spans[SEQUENCES];
  struct linnet_pack pack = {test_below(r, most), offsets};
  for (size_t s = 0; s < pack.sequences; s++)
    offsets[s + 1] = offsets[s] + some_size(r, test_below(r, 10) ? 9 : scaled(120));
  linnet_spans_longest_first(&pack, spans);
  size_t rows = offsets[pack.sequences];
  struct linnet_lstm l = {.width = width,
                          .ld = width + test_below(r, 3),
                          .reverse = test_below(r, 2),
                          .sequences = pack.sequences,
                          .spans = spans};
  struct buffer weights = buffer_scaled(r, 4 * width * width, 2 / sqrtf((float)width));
  struct buffer bias = buffer_random(r, 4 * width), gates = activations_scaled(m, rows * 4 * width, 2);
  struct buffer gates2 = buffer_copy(r, &gates), gates3 = buffer_poisoned(r, gates.n);
  struct buffer cells = buffer_poisoned(r, rows * width), cells2 = buffer_copy(r, &cells);
  struct buffer h = buffer_poisoned(r, rows * l.ld), h2 = buffer_copy(r, &h), dh = activations_random(m, rows * l.ld);
  struct buffer state = buffer_random(r, 2 * pack.sequences * width), state2 = buffer_copy(r, &state);
  struct buffer work = buffer_poisoned(r, linnet_lstm_work(width, pack.sequences));
  struct buffer work2 = buffer_poisoned(r, linnet_cuda_lstm_work(width, pack.sequences));
  const struct linnet_span *device_spans = mirror_bytes(m, spans, pack.sequences * sizeof *spans);
  l.weights = weights.x, l.bias = bias.x;
  linnet_lstm_forward_reference(&l, gates.x, cells.x, state.x, h.x, work.x);
  memcpy(gates3.x, gates.x, gates.n * sizeof(float));
  void *forward = mirror_activations(m, &gates2), *backward = mirror_activations(m, &gates3);
  float *room = mirror(m, &work2), *kept = mirror(m, &cells2);
  struct linnet_lstm device = l;
  device.weights = mirror(m, &weights), device.bias = mirror(m, &bias);
  linnet_cuda_lstm_forward(m->device, &device, device_spans, forward, kept, mirror(m, &state2),
                           mirror_activations(m, &h2), room);
  linnet_cuda_lstm_backward(m->device, &device, device_spans, kept, mirror_activations(m, &dh), backward, room);
  mirrors_return(m);
  double error = worst(buffer_error(&gates2, &gates), buffer_error(&cells2, &cells));
  error = worst(error, worst(buffer_error(&h2, &h), buffer_error(&state2, &state)));
  linnet_lstm_backward_reference(&l, cells.x, dh.x, gates.x, work.x);
  error = worst(error, worst(buffer_error(&gates3, &gates), guards_hold(&work2) ? 0 : INFINITY));
  RELEASE(weights, bias, gates, gates2, gates3, cells, cells2, h, h2, dh, state, state2, work, work2);
  return error;
}

/* The tables of steps on the device. */
static struct linnet_cuda_steps mirror_steps(struct mirrors *m, const struct linnet_pack *p) {
  struct linnet_span *spans = malloc((p->sequences + 1) * sizeof *spans);
  size_t bytes = linnet_cuda_steps_bytes(p);
  void *host = malloc(bytes + 1), *device = mirror_add(m, NULL, bytes);
  linnet_spans_longest_first(p, spans);
  const struct linnet_span *device_spans = mirror_bytes(m, spans, p->sequences * sizeof *spans);
  struct linnet_cuda_steps steps = linnet_cuda_steps_write(p, spans, device_spans, host, device);
  linnet_cuda_upload(m->device, device, host, bytes);
  linnet_cuda_wait(m->device, NULL);
  free(host);
  free(spans);
  return steps;
}

static double test_rows_of_steps(struct mirrors *m) {
  struct test_random *r = &m->random;
  size_t offsets[MOST_SEQUENCES + 1], width = 1 + some_size(r, scaled(70)), row = 0, running = 1;
  struct linnet_pack p = some_pack(r, offsets, 300);
  struct linnet_span spans[MOST_SEQUENCES];
  size_t n = offsets[p.sequences] * width;
  struct buffer x = activations_random(m, n), y = buffer_poisoned(r, n), back = buffer_poisoned(r, n);
  struct buffer expected = buffer_poisoned(r, n);
  linnet_spans_longest_first(&p, spans);
  for (size_t step = 0; running > 0; step++) {
    running = 0;
    for (size_t s = 0; s < p.sequences; s++)
      if (step < spans[s].frames) {
        memcpy(expected.x + row++ * width, x.x + (spans[s].first + step) * width, width * sizeof(float));
        running++;
      }
  }
  struct linnet_cuda_steps steps = mirror_steps(m, &p);
  float *by_step = mirror(m, &y);
  linnet_cuda_rows_to_steps(m->device, &steps, width, mirror_activations(m, &x), by_step);
  linnet_cuda_rows_from_steps(m->device, &steps, width, by_step, mirror_activations(m, &back));
  mirrors_return(m);
  double error = worst(buffer_error(&y, &expected), buffer_error(&back, &x));
  RELEASE(x, y, back, expected);
  return error;
}

/* Tensors of all sizes, one after the other in the buffer and the other way around, with gaps, in the space. */
static double test_lstm_tensors(struct mirrors *m) {
  struct test_random *r = &m->random;
  struct linnet_cuda_lstm_tensors t = {.count = 1 + test_below(r, LINNET_CUDA_LSTM_TENSORS)};
  size_t n = 0, room = 0;
  for (size_t i = 0; i < t.count; i++) {
    t.tensor[i].offset = n;
    n += t.tensor[i].size = some_size(r, scaled(40000));
    t.largest = t.tensor[i].size > t.largest ? t.tensor[i].size : t.largest;
  }
  room = n + t.count;
  struct buffer weights = buffer_random(r, n), space = buffer_poisoned(r, room), expected = buffer_copy(r, &space);
  struct buffer gradients = buffer_random(r, n), sums = buffer_copy(r, &gradients);
  float *device = mirror(m, &space);
  for (size_t i = 0; i < t.count; i++) {
    room -= t.tensor[i].size + 1;
    t.tensor[i].space = device + room;
    memcpy(expected.x + room, weights.x + t.tensor[i].offset, t.tensor[i].size * sizeof(float));
  }
  for (size_t i = 0; i < n; i++)
    sums.x[i] += weights.x[i];
  if (t.largest > 0) {
    linnet_cuda_lstm_weights(m->device, &t, mirror(m, &weights));
    linnet_cuda_lstm_gradients(m->device, &t, mirror(m, &gradients));
  }
  mirrors_return(m);
  double error = t.largest > 0 ? worst(buffer_error(&space, &expected), buffer_error(&gradients, &sums)) : 0;
  RELEASE(weights, space, expected, gradients, sums);
  return error;
}

static double test_feature_map(struct mirrors *m) {
  static const enum linnet_feature_map maps[] = {LINNET_MAP_RELU, LINNET_MAP_POLYNOMIAL, LINNET_MAP_FOURIER,
                                                 LINNET_MAP_POSITIVE};
  struct test_random *r = &m->random;
  struct linnet_feature_map_terms t = {.map = maps[test_below(r, 4)], .heads = 1 + test_below(r, 4)};
  size_t rows = some_size(r, scaled(300));
  t.width = 1 + some_size(r, scaled(90));
  t.features = linnet_feature_map_random(t.map) ? 1 + some_size(r, scaled(300)) : 0;
  size_t size = linnet_feature_map_size(t.map, t.width, t.features);
  t.x_ld = t.heads * t.width + test_below(r, 3), t.phi_ld = t.heads * size + test_below(r, 3);
  struct buffer x =
      activations_scaled(m, rows * t.x_ld, test_below(r, 3) ? 2 : 30); /* also large angles and exponents */
  struct buffer w = buffer_scaled(r, t.features * t.width, 2), dphi = activations_random(m, rows * t.phi_ld);
  struct buffer phi = buffer_poisoned(r, dphi.n), phi2 = buffer_copy(r, &phi), phi3 = buffer_copy(r, &phi);
  struct buffer dx = buffer_poisoned(r, x.n), dx2 = buffer_copy(r, &dx);
  t.directions = w.x;
  linnet_feature_map_forward_reference(&t, rows, x.x, phi.x, NULL);
  linnet_feature_map_backward_reference(&t, rows, x.x, phi.x, dphi.x, dx.x, NULL);
  memcpy(phi3.x, phi.x, phi.n * sizeof(float));
  void *in = mirror_activations(m, &x);
  t.directions = mirror(m, &w);
  linnet_cuda_feature_map_forward(m->device, &t, rows, in, mirror_activations(m, &phi2));
  linnet_cuda_feature_map_backward(m->device, &t, rows, in, mirror_activations(m, &phi3), mirror_activations(m, &dphi),
                                   mirror_activations(m, &dx2));
  mirrors_return(m);
  double error = worst(buffer_error(&phi2, &phi), buffer_error(&dx2, &dx));
  RELEASE(x, w, dphi, phi, phi2, phi3, dx, dx2);
  return error;
}

/* --- CTC */

/* Logits of which some are impossible, or not numbers. */
static void ctc_logits(struct test_random *r, struct buffer *x) {
  static const float scales[] = {1, 1, 5, 30, 300, 5000};
  float scale = scales[test_below(r, 6)];
  size_t odd = test_below(r, 12);
  for (size_t i = 0; i < x->n; i++) {
    x->x[i] *= scale;
    if (odd < 4 && test_below(r, 20) == 0)
      x->x[i] = -INFINITY;
    if (odd == 5 && test_below(r, 2000) == 0)
      x->x[i] = test_below(r, 2) ? NAN : INFINITY;
  }
}

struct ctc_case {
  struct linnet_pack pack;
  size_t offsets[MOST_SEQUENCES + 1], symbols, most_labels;
  uint32_t label_offsets[MOST_SEQUENCES + 1];
  int *labels;
  double loss[MOST_SEQUENCES];
  struct buffer logits, gradient;
};

/* Labels of sequence s: as many as fit, or a few too many; all alike, or not. */
static void ctc_labels(struct test_random *r, struct ctc_case *c, size_t s) {
  size_t frames = c->offsets[s + 1] - c->offsets[s], first = c->label_offsets[s];
  size_t count = test_below(r, 6) ? some_size(r, frames / 2) : some_size(r, frames + 1);
  size_t kinds = test_below(r, 3) ? c->symbols - 1 : 1;
  for (size_t i = 0; i < count; i++)
    c->labels[first + i] = 1 + (int)test_below(r, kinds);
  c->label_offsets[s + 1] = (uint32_t)(first + count);
  c->most_labels = count > c->most_labels ? count : c->most_labels;
}

static void ctc_case(struct test_random *r, struct ctc_case *c) {
  *c = (struct ctc_case){.symbols = 2 + some_size(r, scaled(100))};
  c->pack = some_pack(r, c->offsets, test_below(r, 8) ? 700 : 3000);
  size_t rows = c->offsets[c->pack.sequences];
  c->labels = malloc((rows + 2 * MOST_SEQUENCES) * sizeof *c->labels);
  for (size_t s = 0; s < c->pack.sequences; s++)
    ctc_labels(r, c, s);
  c->logits = buffer_random(r, rows * c->symbols);
  ctc_logits(r, &c->logits);
  c->gradient = buffer_poisoned(r, c->logits.n);
}

static void ctc_reference(struct ctc_case *c, float scale) {
  for (size_t s = 0; s < c->pack.sequences; s++) {
    size_t first = c->offsets[s], labels = c->label_offsets[s + 1] - c->label_offsets[s];
    struct linnet_ctc one = {.frames = c->offsets[s + 1] - first,
                             .symbols = c->symbols,
                             .labels = labels,
                             .logits = c->logits.x + first * c->symbols,
                             .label = c->labels + c->label_offsets[s],
                             .scale = scale,
                             .gradient = c->gradient.x + first * c->symbols};
    void *work = malloc(linnet_ctc_work_bytes(one.frames, one.symbols, labels));
    c->loss[s] = linnet_ctc_reference(&one, work);
    free(work);
  }
}

static double loss_error(const struct ctc_case *c, const struct buffer *losses) {
  double error = guards_hold(losses) ? 0 : INFINITY;
  for (size_t s = 0; s < c->pack.sequences; s++) {
    double loss, expected = c->loss[s];
    memcpy(&loss, losses->x + 2 * s, sizeof loss);
    if (loss == expected || (isnan(loss) && isnan(expected)))
      continue;
    double d = fabs(loss - expected) / fmax(1, fabs(expected));
    error = worst(error, isnan(d) ? INFINITY : d);
  }
  return error;
}

static double test_ctc(struct mirrors *m) {
  struct test_random *r = &m->random;
  struct ctc_case c;
  ctc_case(r, &c);
  ctc_reference(&c, 0.5f);
  struct buffer losses = buffer_poisoned(r, 2 * c.pack.sequences), only = buffer_poisoned(r, losses.n);
  struct buffer in_place = buffer_copy(r, &c.logits), gradient = buffer_poisoned(r, c.logits.n);
  losses.x = losses.memory + GUARD, only.x = only.memory + GUARD;
  struct linnet_cuda_pack pack = mirror_pack(m, &c.pack);
  size_t total = c.label_offsets[c.pack.sequences];
  struct linnet_cuda_ctc op = {.pack = &pack,
                               .symbols = c.symbols,
                               .most_labels = c.most_labels,
                               .label_offsets =
                                   mirror_bytes(m, c.label_offsets, (c.pack.sequences + 1) * sizeof *c.label_offsets),
                               .labels = mirror_bytes(m, c.labels, total * sizeof *c.labels),
                               .total_labels = total,
                               .logits = mirror(m, &c.logits),
                               .scale = 0.5f,
                               .loss = (double *)(void *)mirror(m, &only)};
  void *work = mirror_room(m, linnet_cuda_ctc_work_bytes(&op));
  linnet_cuda_ctc(m->device, &op, work);
  op.loss = (double *)(void *)mirror(m, &losses);
  op.gradient = mirror(m, &gradient);
  linnet_cuda_ctc(m->device, &op, work);
  op.logits = op.gradient = mirror(m, &in_place);
  linnet_cuda_ctc(m->device, &op, work);
  mirrors_return(m);
  double error = worst(loss_error(&c, &losses), loss_error(&c, &only));
  error = worst(error, buffer_error(&gradient, &c.gradient));
  CHECK(buffer_error(&in_place, &gradient) == 0, "ctc in place differs");
  RELEASE(c.logits, c.gradient, losses, only, in_place, gradient);
  free(c.labels);
  return error;
}

/* --- All of them */

enum { PRECISIONS = 3 };

/* Bounds for float32, bfloat16 (activations and operands of products are rounded to 2^-9) and tf32 (operands to 2^-11;
 * 0: there are none). */
static const struct {
  const char *name;
  double (*test)(struct mirrors *m);
  size_t cases;
  double bounds[PRECISIONS];
} ops[] = {
    {"gemm", test_gemm, 40, {1e-5, 1e-2, 2e-3}},
    {"layernorm", test_layernorm, 60, {5e-5, 1e-2, 0}}, /* narrow rows with little variance magnify rounding */
    {"dropout", test_dropout, 60, {0, 4e-3, 0}},
    {"dropout_layernorm", test_dropout_layernorm, 30, {5e-6, 2e-2, 0}},
    {"activation", test_activation, 60, {1e-6, 4e-3, 0}},
    {"activations_of", test_activations_of, 10, {0, 0, 0}},
    {"glu", test_glu, 40, {1e-6, 4e-3, 0}},
    {"log_softmax", test_log_softmax, 40, {1e-6, 1e-6, 0}},
    {"sums", test_sums, 60, {3e-6, 3e-6, 0}},
    {"update", test_update, 30, {1e-6, 1e-6, 0}},
    {"linear_attention", test_linear_attention, 40, {2e-6, 1e-2, 2e-3}},
    {"mapped_attention", test_mapped_attention, 20, {1e-4, 1e-1, 2e-2}}, /* signed features cancel in sums */
    {"causal_attention", test_causal_attention, 30, {2e-6, 1e-2, 2e-3}},
    {"mapped_causal", test_mapped_causal, 20, {1e-4, 1e-1, 2e-2}},
    {"ctc", test_ctc, 60, {5e-6, 5e-6, 0}},
    {"softmax_attention", test_softmax_attention, 20, {5e-6, 3e-2, 1e-2}}, /* exponents of scores up to about 100 */
    {"causal_softmax", test_causal_softmax, 20, {5e-6, 3e-2, 1e-2}},
    {"lsh_attention", test_lsh_attention, 12, {1e-5, 3e-2, 5e-3}},
    {"spec_augment", test_spec_augment, 60, {0, 0, 0}},
    {"packed_rows", test_packed_rows, 30, {0, 4e-3, 0}},
    {"conv", test_conv, 30, {5e-6, 4e-3, 0}},
    {"lstm", test_lstm, 30, {5e-6, 3e-2, 5e-3}},
    {"rows_of_steps", test_rows_of_steps, 20, {0, 0, 0}},
    {"lstm_tensors", test_lstm_tensors, 20, {0, 0, 0}},
    {"feature_map", test_feature_map, 40, {1e-4, 1e-2, 0}}, /* errors of u = W y stand in exponents and angles */
};

/* No more than the environment asks for; fewer of what float32 has shown already; few where races are searched, which
 * one case shows. */
static size_t cases_of(size_t op, enum linnet_precision precision) {
  const char *most = getenv("LINNET_TEST_CASES");
  size_t share = test_cuda_share() > 1 ? 40 : precision == LINNET_FLOAT32 ? 1 : 3;
  size_t all = (ops[op].cases + share - 1) / share;
  size_t asked = most ? (size_t)strtoull(most, NULL, 10) : all;
  return asked < all ? asked : all;
}

static void test_op(struct linnet_device *device, size_t op, enum linnet_precision precision, uint64_t seed) {
  static const char *const names[] = {
      [LINNET_FLOAT32] = "float32", [LINNET_TF32] = "tf32", [LINNET_BFLOAT16] = "bfloat16"};
  const size_t cases = cases_of(op, precision);
  const int runs = test_cuda_share() > 1 ? 1 : 2;
  const double bound = ops[op].bounds[precision];
  double error = 0;
  for (size_t i = 0; i < cases; i++) {
    struct mirrors m[2];
    for (int again = 0; again < runs; again++) {
      m[again] = (struct mirrors){.device = device, .random = {seed + i}};
      test_cuda_reverse(again);
      double e = ops[op].test(&m[again]);
      CHECK(e <= bound, "%s, %s: error %g, bound %g, seed %llu", ops[op].name, names[precision], e, bound,
            (unsigned long long)(seed + i));
      error = worst(error, e);
    }
    CHECK(m[0].hash == m[runs - 1].hash, "%s: a second run differs, seed %llu", ops[op].name,
          (unsigned long long)(seed + i));
  }
  printf("%-18s %-8s %4zu cases  error %.1e  bound %.0e\n", ops[op].name, names[precision], cases, error, bound);
}

static enum linnet_status test_precision(struct linnet_context *context, enum linnet_precision precision,
                                         const char *name, uint64_t seed) {
  struct linnet_device *device = NULL;
  enum linnet_status status = linnet_cuda_open(context, 0, precision, &device);
  if (status != LINNET_OK)
    return status;
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if ((!name || strcmp(name, ops[i].name) == 0) && (precision != LINNET_TF32 || ops[i].bounds[precision] > 0))
      test_op(device, i, precision, seed);
  linnet_cuda_close(device);
  return LINNET_OK;
}

int main(int argc, char **argv) {
  static const enum linnet_precision precisions[PRECISIONS] = {LINNET_FLOAT32, LINNET_BFLOAT16, LINNET_TF32};
  uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  struct linnet_context *context = test_context();
  enum linnet_status status = LINNET_OK;
  printf("seed %llu\n", (unsigned long long)seed);
  for (size_t i = 0; i < PRECISIONS && status == LINNET_OK; i++)
    status = test_precision(context, precisions[i], argc > 2 ? argv[2] : NULL, seed);
  if (status == LINNET_ERROR_DEVICE) {
    printf("%s\n", linnet_context_error(context));
    linnet_context_destroy(context);
    return test_skip("no CUDA device");
  }
  REQUIRE(status == LINNET_OK, "%s", linnet_context_error(context));
  linnet_context_destroy(context);
  return test_result();
}
