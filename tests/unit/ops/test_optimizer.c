/* The terms of Adam and RAdam, and the update of every table: against the formulas of the papers in double, on zero
 * gradients, with a scale, on every length around a vector's. */
#include "ops/optimizer.h"
#include "tables.h"

enum { MAX_SIZE = 1003, STEPS = 40, SEED = 5 };

static const double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, rate = 1e-2;

/* --- the papers, in double ------------------------------------------------------------------------------------- */

/* Liu et al. 2019, algorithm 2; 0 where the variance of the adaptive rate is intractable. */
static double rectification(uint64_t step) {
  double limit = 2 / (1 - beta2) - 1, power = pow(beta2, (double)step);
  double length = limit - 2 * (double)step * power / (1 - power);
  if (length <= 5)
    return 0;
  return sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length));
}

/* One parameter. */
struct oracle {
  double x, m, v;
};

static void oracle_step(struct oracle *o, enum linnet_optimizer kind, uint64_t step, double g) {
  o->m = beta1 * o->m + (1 - beta1) * g;
  o->v = beta2 * o->v + (1 - beta2) * g * g;
  double corrected = o->m / (1 - pow(beta1, (double)step)), root = sqrt(1 - pow(beta2, (double)step));
  double factor = rectification(step);
  if (kind == LINNET_ADAM)
    o->x -= rate * corrected / (sqrt(o->v) / root + epsilon);
  else if (factor > 0)
    o->x -= rate * corrected * factor * root / (sqrt(o->v) + epsilon);
  else
    o->x -= rate * corrected;
}

/* --- terms ------------------------------------------------------------------------------------------------------- */

static void check_switch(void) {
  for (uint64_t step = 1; step <= 20; step++) {
    struct linnet_update adam, radam;
    linnet_update_terms(LINNET_ADAM, rate, step, &adam);
    linnet_update_terms(LINNET_RADAM, rate, step, &radam);
    CHECK(adam.adaptive, "Adam, step %d", (int)step);
    CHECK(radam.adaptive == (step >= 6), "RAdam is %sadaptive at step %d", radam.adaptive ? "" : "not ", (int)step);
    CHECK(adam.gradient_scale == 1 && radam.gradient_scale == 1, "step %d", (int)step);
  }
}

/* The rectification grows towards 1, so that RAdam becomes Adam; nothing overflows at any step. */
static void check_limits(void) {
  static const uint64_t steps[] = {6, 10, 100, 1000, 10000, 100000, 1u << 30, UINT64_C(1) << 52, UINT64_MAX};
  double before = 0;
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    struct linnet_update u;
    linnet_update_terms(LINNET_RADAM, rate, steps[i], &u);
    double factor = u.step * (1 - pow(beta1, (double)steps[i])) / rate / sqrt(1 - pow(beta2, (double)steps[i]));
    CHECK(isfinite(u.step) && isfinite(u.rescale) && factor >= before && factor < 1 + 1e-12,
          "step %.0f: factor %.17g, before %.17g", (double)steps[i], factor, before);
    before = factor;
  }
  CHECK(before > 0.999999, "the rectification ends at %.9g", before);
}

/* --- updates ------------------------------------------------------------------------------------------------------ */

struct vectors {
  float x[MAX_SIZE], m[MAX_SIZE], v[MAX_SIZE];
};

static void vectors_fill(struct vectors *s, struct test_random *r) {
  memset(s, 0, sizeof *s);
  test_fill(r, s->x, MAX_SIZE);
}

/* Gradients from 1e-6 to 1. */
static void draw_gradients(struct test_random *r, float *g) {
  for (size_t i = 0; i < MAX_SIZE; i++)
    g[i] = (float)(test_uniform(r) * pow(10, -6 * (double)(i % 7) / 6));
}

/* A run of steps on the first n elements; the others must not move. */
static double run_error(const struct linnet_ops *ops, enum linnet_optimizer kind, size_t n) {
  static struct vectors s, start;
  static struct oracle oracle[MAX_SIZE];
  struct test_random r = {SEED + n};
  float g[MAX_SIZE];
  double worst = 0;
  vectors_fill(&s, &r);
  start = s;
  for (size_t i = 0; i < n; i++)
    oracle[i] = (struct oracle){.x = s.x[i]};
  for (uint64_t step = 1; step <= STEPS; step++) {
    struct linnet_update u;
    draw_gradients(&r, g);
    linnet_update_terms(kind, rate, step, &u);
    ops->update(&u, n, s.x, g, s.m, s.v);
    for (size_t i = 0; i < n; i++) {
      oracle_step(&oracle[i], kind, step, g[i]);
      worst = test_worst(worst, fabs(s.x[i] - oracle[i].x));
    }
  }
  bool untouched = true;
  for (size_t i = n; i < MAX_SIZE; i++)
    untouched &= s.x[i] == start.x[i] && s.m[i] == 0 && s.v[i] == 0;
  CHECK(untouched, "%s: wrote beyond %zu elements", ops->name, n);
  return worst;
}

static void check_runs(const struct linnet_ops *ops) {
  static const size_t sizes[] = {0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 1000};
  double adam = 0, radam = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    adam = fmax(adam, run_error(ops, LINNET_ADAM, sizes[i]));
    radam = fmax(radam, run_error(ops, LINNET_RADAM, sizes[i]));
  }
  test_bound(ops->name, "40 steps of Adam", adam, 2e-6);
  test_bound(ops->name, "40 steps of RAdam", radam, 2e-6);
}

/* Parameters whose gradient is always 0, such as padding, keep their bits. */
static void check_zero_gradient(const struct linnet_ops *ops, enum linnet_optimizer kind) {
  static const float zeros[MAX_SIZE];
  struct vectors s, start;
  struct test_random r = {SEED};
  vectors_fill(&s, &r);
  s.x[0] = 0;
  start = s;
  for (uint64_t step = 1; step <= 10; step++) {
    struct linnet_update u;
    linnet_update_terms(kind, rate, step, &u);
    ops->update(&u, MAX_SIZE, s.x, zeros, s.m, s.v);
  }
  CHECK(memcmp(s.x, start.x, sizeof s.x) == 0, "%s, kind %d: a gradient of 0 moved parameters", ops->name, kind);
}

/* A scale of 1/4 and gradients four times as large are the same. */
static void check_scale(const struct linnet_ops *ops, enum linnet_optimizer kind) {
  struct vectors plain, scaled;
  struct test_random r = {SEED};
  float g[MAX_SIZE], larger[MAX_SIZE];
  vectors_fill(&plain, &r);
  scaled = plain;
  for (uint64_t step = 1; step <= 10; step++) {
    struct linnet_update u;
    draw_gradients(&r, g);
    for (size_t i = 0; i < MAX_SIZE; i++)
      larger[i] = 4 * g[i];
    linnet_update_terms(kind, rate, step, &u);
    ops->update(&u, MAX_SIZE, plain.x, g, plain.m, plain.v);
    u.gradient_scale = 0.25;
    ops->update(&u, MAX_SIZE, scaled.x, larger, scaled.m, scaled.v);
  }
  CHECK(memcmp(&plain, &scaled, sizeof plain) == 0, "%s, kind %d: the scale is not exact", ops->name, kind);
}

/* Adam's first step has the size of the rate for any gradient. */
static void check_first_step(const struct linnet_ops *ops) {
  static const float g[] = {1, -1, 1e-3f, -1e3f, 1e-5f};
  float x[5] = {0}, m[5] = {0}, v[5] = {0};
  struct linnet_update u;
  double worst = 0;
  linnet_update_terms(LINNET_ADAM, rate, 1, &u);
  ops->update(&u, 5, x, g, m, v);
  for (size_t i = 0; i < 5; i++)
    worst = fmax(worst, fabs(x[i] + copysign(rate, g[i]) / (1 + epsilon / fabs(g[i]))));
  test_bound(ops->name, "first step of Adam", worst, 1e-8);
}

static void check_table(const struct linnet_ops *ops) {
  check_runs(ops);
  check_first_step(ops);
  for (int kind = LINNET_ADAM; kind <= LINNET_RADAM; kind++) {
    check_zero_gradient(ops, (enum linnet_optimizer)kind);
    check_scale(ops, (enum linnet_optimizer)kind);
  }
}

int main(void) {
  check_switch();
  check_limits();
  test_each_table(check_table);
  return test_result();
}
