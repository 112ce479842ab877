/* An hour of frames in one sequence through linear attention, causal or not: the sums over 360 000 frames stay finite,
 * and outputs and gradients equal those of sums in double. The values have a mean and follow the keys, as in speech:
 * the sums grow, and the gradient of a query is not the difference of two large numbers. */
#include <time.h>

#include "ops/attention.h"
#include "ops/causal_attention.h"
#include "ops/linear_attention.h"
#include "tables.h"

enum { FRAMES = 360000, WIDTH = 32, LD = 3 * WIDTH, STATE = WIDTH * (WIDTH + 1), STRIDE = 1201, SEED = 42 };
enum { ROWS = (FRAMES + STRIDE - 1) / STRIDE };

/* Relative to the largest value of a tensor. */
#define BOUND 1e-3

static const struct scenario {
  enum linnet_attention_kind kind;
  enum linnet_causal_form form;
} scenarios[] = {
    {LINNET_ATTENTION_LINEAR, 0},
    {LINNET_ATTENTION_CAUSAL_LINEAR, LINNET_CAUSAL_STATE},
    {LINNET_ATTENTION_CAUSAL_LINEAR, LINNET_CAUSAL_CHUNKED},
};
static const struct scenario *scenario; /* the running one */

static float *qkv, *dqkv, *out, *dout;
static double expected_rows[ROWS][4][WIDTH]; /* output, dq, dk, dv of every STRIDEth row */

struct sums {
  double s[WIDTH][WIDTH], z[WIDTH];   /* of keys and values */
  double ds[WIDTH][WIDTH], dz[WIDTH]; /* their gradient */
};
static struct sums sums;

static double phi(double x) {
  return x > 0 ? x + 1 : exp(x);
}
static double phi_slope(double x) {
  return x > 0 ? 1 : exp(x);
}

static void draw(void) {
  struct test_random r = {SEED};
  test_fill(&r, qkv, (size_t)FRAMES * LD);
  test_fill(&r, dout, (size_t)FRAMES * WIDTH);
  for (size_t t = 0; t < FRAMES; t++)
    for (size_t c = 0; c < WIDTH; c++) {
      qkv[t * LD + WIDTH + c] *= 3;
      qkv[t * LD + 2 * WIDTH + c] += 0.5f + qkv[t * LD + WIDTH + c];
      dout[t * WIDTH + c] += 0.25f;
    }
}

/* --- the same in double ------------------------------------------------------------------------------------------- */

static double normaliser(const float *q) {
  double d = LINNET_ATTENTION_EPSILON;
  for (size_t c = 0; c < WIDTH; c++)
    d += phi(q[c]) * sums.z[c];
  return d;
}

static void expected_out(const float *q, double *o) {
  double d = normaliser(q);
  for (size_t m = 0; m < WIDTH; m++) {
    o[m] = 0;
    for (size_t c = 0; c < WIDTH; c++)
      o[m] += phi(q[c]) * sums.s[c][m] / d;
  }
}

/* Adds a row `times` 1, or takes it out again by -1. */
static void add_key(const float *k, const float *v, double times) {
  for (size_t c = 0; c < WIDTH; c++) {
    double f = times * phi(k[c]);
    sums.z[c] += f;
    for (size_t m = 0; m < WIDTH; m++)
      sums.s[c][m] += f * v[m];
  }
}

static void add_query(const float *q, const float *g) {
  double o[WIDTH], f[WIDTH], d = LINNET_ATTENTION_EPSILON, e = 0;
  for (size_t m = 0; m < WIDTH; m++)
    o[m] = 0;
  for (size_t c = 0; c < WIDTH; c++) {
    f[c] = phi(q[c]);
    d += f[c] * sums.z[c];
    for (size_t m = 0; m < WIDTH; m++)
      o[m] += f[c] * sums.s[c][m];
  }
  for (size_t m = 0; m < WIDTH; m++)
    e -= g[m] * o[m] / d / d;
  for (size_t c = 0; c < WIDTH; c++) {
    sums.dz[c] += f[c] * e;
    for (size_t m = 0; m < WIDTH; m++)
      sums.ds[c][m] += f[c] / d * g[m];
  }
}

/* Gradients of one row. */
static void expected_gradient(const float *row, const float *g, double *gq, double *gk, double *gv) {
  const float *q = row, *k = row + WIDTH, *v = row + 2 * WIDTH;
  double o[WIDTH], n = normaliser(q);
  expected_out(q, o);
  for (size_t c = 0; c < WIDTH; c++) {
    double dq = 0, dk = sums.dz[c], dv = 0;
    for (size_t m = 0; m < WIDTH; m++) {
      dq += g[m] / n * (sums.s[c][m] - sums.z[c] * o[m]);
      dk += sums.ds[c][m] * v[m];
      dv += sums.ds[m][c] * phi(k[m]);
    }
    gq[c] = dq * phi_slope(q[c]);
    gk[c] = dk * phi_slope(k[c]);
    gv[c] = dv;
  }
}

static void expect_row(size_t row) {
  const float *q = qkv + row * STRIDE * LD;
  double(*e)[WIDTH] = expected_rows[row];
  expected_out(q, e[0]);
  expected_gradient(q, dout + row * STRIDE * WIDTH, e[1], e[2], e[3]);
}

/* A row of causal attention sees the keys up to it and is seen by the queries from it on: from the last row to the
 * first, its query comes and its key goes. Others see all. */
static void expect(void) {
  const bool causal = linnet_attention_traits[scenario->kind].causal;
  sums = (struct sums){0};
  for (size_t t = 0; t < FRAMES; t++)
    add_key(qkv + t * LD + WIDTH, qkv + t * LD + 2 * WIDTH, 1);
  for (size_t t = 0; t < FRAMES && !causal; t++)
    add_query(qkv + t * LD, dout + t * WIDTH);
  for (size_t t = FRAMES; t-- > 0;) {
    if (causal)
      add_query(qkv + t * LD, dout + t * WIDTH);
    if (t % STRIDE == 0)
      expect_row(t / STRIDE);
    if (causal)
      add_key(qkv + t * LD + WIDTH, qkv + t * LD + 2 * WIDTH, -1);
  }
}

/* --- comparison ----------------------------------------------------------------------------------------------------
 */

struct comparison {
  double difference, scale;
};

static void compare(struct comparison *c, const float *got, const double *expected, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double d = fabs(got[i] - expected[i]);
    c->difference = isnan(d) ? INFINITY : fmax(c->difference, d);
    c->scale = fmax(c->scale, fabs(expected[i]));
  }
}

static void check_rows(const struct linnet_ops *ops) {
  static const char *const names[] = {"output", "dq", "dk", "dv"};
  struct comparison comparisons[4] = {{0}};
  for (size_t row = 0; row < ROWS; row++) {
    compare(&comparisons[0], out + row * STRIDE * WIDTH, expected_rows[row][0], WIDTH);
    for (size_t i = 0; i < 3; i++)
      compare(&comparisons[1 + i], dqkv + row * STRIDE * LD + i * WIDTH, expected_rows[row][1 + i], WIDTH);
  }
  for (size_t i = 0; i < 4; i++)
    test_bound(ops->name, names[i], comparisons[i].difference / comparisons[i].scale, BOUND);
}

static bool all_finite(const float *x, size_t n) {
  bool finite = true;
  for (size_t i = 0; i < n; i++)
    finite &= isfinite(x[i]) != 0;
  return finite;
}

/* The state of the whole from blocks of rows, as recognition computes it, reads the same. */
static void check_blocks(const struct linnet_ops *ops, const float *state) {
  static float blocks[STATE];
  const struct linnet_attention attention = {
      .heads = 1, .key_width = WIDTH, .width = WIDTH, .key_ld = LD, .value_ld = LD, .out_ld = WIDTH};
  double difference = 0, scale = 0;
  memset(blocks, 0, sizeof blocks);
  for (size_t t = 0; t < FRAMES; t += 500)
    ops->linear_accumulate(&attention, 500, qkv + t * LD + WIDTH, qkv + t * LD + 2 * WIDTH, blocks);
  for (size_t i = 0; i < STATE; i++) {
    difference = fmax(difference, fabs((double)blocks[i] - state[i]));
    scale = fmax(scale, fabs(state[i]));
  }
  test_bound(ops->name, "state from blocks of 500 frames", difference / scale, BOUND);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check_table(const struct linnet_ops *ops) {
  static const size_t offsets[] = {0, FRAMES};
  static float state[STATE]; /* of kinds that keep none: 0 */
  const struct linnet_attention attention = {.heads = 1,
                                             .key_width = WIDTH,
                                             .width = WIDTH,
                                             .key_ld = LD,
                                             .value_ld = LD,
                                             .out_ld = WIDTH,
                                             .form = scenario->form};
  const struct linnet_pack pack = {1, offsets};
  const float *q = qkv, *k = q + WIDTH, *v = k + WIDTH;
  const struct linnet_attention_ops *kind = ops->attention[scenario->kind];
  void *work = test_alloc(kind->work_bytes(&attention, FRAMES), 1);
  double start = now();
  kind->forward(&attention, &pack, q, k, v, state, out, work);
  double middle = now();
  kind->backward(&attention, &pack, q, k, v, state, out, dout, dqkv, dqkv + WIDTH, dqkv + 2 * WIDTH, work);
  printf("%-10s %d frames: forward %.2f s, backward %.2f s\n", ops->name, FRAMES, middle - start, now() - middle);
  CHECK(all_finite(state, STATE) && all_finite(out, (size_t)FRAMES * WIDTH) && all_finite(dqkv, (size_t)FRAMES * LD),
        "%s: a value is not finite", ops->name);
  check_rows(ops);
  if (scenario->kind == LINNET_ATTENTION_LINEAR)
    check_blocks(ops, state);
  free(work);
}

int main(void) {
  qkv = test_alloc((size_t)FRAMES * LD, sizeof *qkv);
  dqkv = test_alloc((size_t)FRAMES * LD, sizeof *dqkv);
  out = test_alloc((size_t)FRAMES * WIDTH, sizeof *out);
  dout = test_alloc((size_t)FRAMES * WIDTH, sizeof *dout);
  printf("seed %d\n", SEED);
  draw();
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
    scenario = &scenarios[i];
    printf("%s, form %d\n", linnet_attention_traits[scenario->kind].name, (int)scenario->form);
    expect();
    test_each_table(check_table);
  }
  free(qkv);
  free(dqkv);
  free(out);
  free(dout);
  return test_result();
}
