/* The gradient of the consistency of two views with respect to their logits against central differences, in double. The
 * loss that is differentiated has constant targets, the posteriors of the views before any step, and is computed here
 * from its definition. Also: the value, the product with `scale`, that gradients are added, equal views, impossible
 * symbols, and the order of the sequences of a batch. */
#include "backend/device.h"
#include "gradient.h"

#define BOUND 1e-8

struct consistency_case {
  const char *name;
  size_t frames, symbols;
  double sharpness; /* factor on the logits */
};

static const struct consistency_case cases[] = {{"one frame, two symbols", 1, 2, 1},
                                                {"one symbol", 3, 1, 1},
                                                {"small", 7, 5, 1},
                                                {"peaked", 20, 6, 8},
                                                {"wide", 4, 300, 3},
                                                {"long", 60, 39, 4}};

static void log_posteriors(size_t frames, size_t symbols, const real *x, real *log_p) {
  for (size_t t = 0; t < frames; t++, x += symbols, log_p += symbols) {
    double sum = 0;
    for (size_t k = 0; k < symbols; k++)
      sum += exp(x[k]);
    for (size_t k = 0; k < symbols; k++)
      log_p[k] = x[k] - log(sum);
  }
}

/* The sum over frames of KL(target || posteriors of the logits). */
static double divergence(size_t frames, size_t symbols, const real *log_target, const real *logits) {
  real *log_p = gradient_reals(frames * symbols);
  double sum = 0;
  log_posteriors(frames, symbols, logits, log_p);
  for (size_t i = 0; i < frames * symbols; i++)
    sum += exp(log_target[i]) * (log_target[i] - log_p[i]);
  free(log_p);
  return sum;
}

/* A frame, and its logit that moves. */
struct moving {
  size_t symbols;
  const real *log_target, *logits;
  real *logit;
};

/* The part of the loss that depends on the logit. */
static double loss_moved(void *user, double by) {
  struct moving *m = user;
  real before = *m->logit;
  *m->logit += by;
  double loss = divergence(1, m->symbols, m->log_target, m->logits) / 2;
  *m->logit = before;
  return loss;
}

/* The largest error of the derivatives of one view. */
static double view_error(const struct consistency_case *c, real scale, const real *log_target, real *logits,
                         const real *gradient) {
  size_t n = c->frames * c->symbols;
  double worst = 0, rms = gradient_rms(n, gradient);
  for (size_t i = 0; i < n; i++) {
    size_t row = i / c->symbols * c->symbols;
    struct moving m = {c->symbols, log_target + row, logits + row, logits + i};
    double slope = gradient_difference(loss_moved, &m, 1e-3);
    worst = fmax(worst, gradient_error(slope * scale, gradient[i], fmax(rms / 10, 1e-3)));
  }
  return worst;
}

static void check_case(const struct consistency_case *c, real scale, uint64_t seed) {
  struct test_random r = {seed};
  size_t n = c->frames * c->symbols;
  real *a = gradient_random(&r, n), *b = gradient_random(&r, n), *log_a = gradient_reals(n), *log_b = gradient_reals(n);
  real *da = calloc(n, sizeof *da), *db = calloc(n, sizeof *db);
  for (size_t i = 0; i < n; i++)
    a[i] *= c->sharpness, b[i] *= c->sharpness;
  log_posteriors(c->frames, c->symbols, a, log_a);
  log_posteriors(c->frames, c->symbols, b, log_b);
  struct linnet_consistency pair = {c->frames, c->symbols, a, b, scale, da, db};
  double loss = linnet_cpu_ops("reference")->consistency(&pair);
  double expected = (divergence(c->frames, c->symbols, log_b, a) + divergence(c->frames, c->symbols, log_a, b)) / 2;
  double error_a = view_error(c, scale, log_b, a, da), error_b = view_error(c, scale, log_a, b, db);
  printf("%-24s scale %.2f, seed %llu: loss %.6f, errors %.1e and %.1e, bound %.0e\n", c->name, scale,
         (unsigned long long)seed, loss, error_a, error_b, BOUND);
  CHECK(gradient_error(loss, expected, 1e-12) < 1e-9, "%s: loss %.12f, expected %.12f", c->name, loss, expected);
  CHECK(error_a <= BOUND && error_b <= BOUND, "%s, scale %g: errors %.3e and %.3e, bound %.0e", c->name, scale, error_a,
        error_b, BOUND);
  linnet_cpu_ops("reference")->consistency(&pair);
  CHECK(gradient_error(2 * error_a, error_a + view_error(c, 2 * scale, log_b, a, da), 1e-3) < 1e-3,
        "%s: a second call does not add", c->name);
  free(a), free(b), free(log_a), free(log_b), free(da), free(db);
}

/* Equal views, also with an impossible symbol: loss and gradient are 0. */
static void check_equal(void) {
  real a[] = {0.5, -1, 2, -INFINITY, 0, 3}, zero[6] = {0}, da[6] = {0}, db[6] = {0};
  struct linnet_consistency pair = {2, 3, a, a, 1, da, db};
  CHECK(linnet_cpu_ops("reference")->consistency(&pair) == 0, "loss of equal views");
  CHECK(memcmp(da, zero, sizeof zero) == 0 && memcmp(db, zero, sizeof zero) == 0, "gradient of equal views");
}

/* A batch of two utterances gives what its pairs give; one of them has no frames. */
static void check_batch(void) {
  enum { SYMBOLS = 4, ROWS = 16 };
  struct test_random r = {5};
  const size_t offsets[] = {0, 5, 10, 10, 10, 13, 16};
  struct linnet_context *context = test_context();
  struct linnet_cpu_device device = linnet_cpu_device(context, linnet_cpu_ops("reference"));
  real *logits = gradient_random(&r, ROWS * SYMBOLS), gradient[ROWS * SYMBOLS] = {0}, expected[ROWS * SYMBOLS] = {0};
  double loss[3] = {NAN, NAN, NAN};
  struct linnet_pack pack = {6, offsets};
  struct linnet_batch_consistency c = {&pack, SYMBOLS, logits, 0.5, gradient, loss};
  linnet_cpu_device_ops.consistency(&device.base, &c);
  for (size_t u = 0; u < 3; u++) {
    size_t a = offsets[2 * u] * SYMBOLS, b = offsets[2 * u + 1] * SYMBOLS;
    struct linnet_consistency pair = {
        offsets[2 * u + 1] - offsets[2 * u], SYMBOLS, logits + a, logits + b, 0.5, expected + a, expected + b};
    CHECK(linnet_cpu_ops("reference")->consistency(&pair) == loss[u], "loss of utterance %zu", u);
  }
  CHECK(loss[0] > 0 && loss[1] == 0 && loss[2] > 0, "losses %g, %g, %g", loss[0], loss[1], loss[2]);
  CHECK(memcmp(gradient, expected, sizeof expected) == 0, "gradient of a batch");
  free(logits);
  linnet_context_destroy(context);
}

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    check_case(&cases[i], 1, i + 1);
    check_case(&cases[i], 0.25, i + 101);
  }
  check_equal();
  check_batch();
  return test_result();
}
