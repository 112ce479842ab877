/* The gradient of CTC with respect to the logits against central differences, in double: repeats, single paths, empty
 * labels, one frame, impossible symbols; and the product with `scale`. */
#include "backend/backend.h"
#include "gradient.h"

#define BOUND 1e-8

struct ctc_case {
  const char *name;
  size_t frames, symbols, labels;
  int label[12];
  double sharpness; /* factor on the logits */
};

static const struct ctc_case cases[] = {
    {"one frame, one label", 1, 3, 1, {2}, 1},
    {"one frame, empty", 1, 3, 0, {0}, 1},
    {"empty", 9, 4, 0, {0}, 1},
    {"no repeats", 8, 5, 3, {1, 4, 2}, 1},
    {"repeats", 11, 4, 5, {1, 1, 2, 2, 2}, 1},
    {"repeats, a single path", 6, 4, 4, {1, 1, 2, 2}, 1},
    {"all equal", 12, 2, 5, {1, 1, 1, 1, 1}, 1},
    {"as many labels as frames", 6, 5, 6, {1, 2, 3, 4, 3, 2}, 1},
    {"peaked", 20, 6, 4, {5, 1, 1, 3}, 8},
    {"long", 40, 9, 12, {3, 3, 8, 1, 7, 7, 7, 2, 5, 5, 4, 6}, 2},
};

struct moving {
  struct linnet_ctc ctc;
  real *logit;
  void *work;
};

static double loss_moved(void *user, double by) {
  struct moving *m = user;
  real saved = *m->logit;
  *m->logit += by;
  double loss = linnet_cpu_ops("reference")->ctc(&m->ctc, m->work);
  *m->logit = saved;
  return loss;
}

/* Every derivative of one case; `impossible` is a symbol whose logits are -infinity (0: none). */
static void check_case(const struct ctc_case *c, real scale, size_t impossible, uint64_t seed) {
  struct test_random r = {seed};
  size_t n = c->frames * c->symbols;
  real *logits = gradient_random(&r, n), *gradient = gradient_reals(n);
  void *work = malloc(linnet_ctc_work_bytes(c->frames, c->symbols, c->labels));
  for (size_t i = 0; i < n; i++)
    logits[i] = impossible && i % c->symbols == impossible ? -INFINITY : logits[i] * c->sharpness;
  struct linnet_ctc ctc = {c->frames, c->symbols, c->labels, logits, c->label, scale, gradient};
  double loss = linnet_cpu_ops("reference")->ctc(&ctc, work), worst = 0, rms = gradient_rms(n, gradient);
  ctc.gradient = NULL;
  for (size_t i = 0; i < n; i++) {
    struct moving m = {ctc, logits + i, work};
    double slope = impossible && i % c->symbols == impossible ? 0 : gradient_difference(loss_moved, &m, 1e-3);
    worst = fmax(worst, gradient_error(slope * scale, gradient[i], rms / 10));
  }
  printf("%-26s scale %.2f, impossible %zu, seed %llu: loss %.6f, error %.1e, bound %.0e\n", c->name, scale, impossible,
         (unsigned long long)seed, loss, worst, BOUND);
  CHECK(isfinite(loss) && rms > 0, "%s: loss %g, gradient %g", c->name, loss, rms);
  CHECK(worst <= BOUND, "%s, scale %g, seed %llu: error %.3e, bound %.0e", c->name, scale, (unsigned long long)seed,
        worst, BOUND);
  free(logits);
  free(gradient);
  free(work);
}

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    check_case(&cases[i], 1, 0, i + 1);
    check_case(&cases[i], 0.25, 0, i + 101);
  }
  check_case(&cases[3], 1, 3, 201);
  check_case(&cases[4], 1, 3, 202);
  return test_result();
}
