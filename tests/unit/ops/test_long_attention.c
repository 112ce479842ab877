/* One sequence of an hour through linear attention, causal or not, and sequences of six minutes with every feature map:
 * the sums over 360 000 frames stay finite, and outputs and gradients equal those of sums in double. The values have a
 * mean and depend on the keys, as in speech: the sums grow, and the gradient of a query is not the difference of two
 * large numbers. The test also uses random values without a mean. It does not test the attention form of the causal
 * kind, which has no sum longer than a row and would take hours. */
#include <time.h>

#include "ops/attention.h"
#include "ops/causal_linear_attention.h"
#include "ops/feature_map.h"
#include "ops/linear_attention.h"
#include "tables.h"

enum { HOUR = 360000 / TEST_SHARE, MINUTES = 36000 / TEST_SHARE, MAX_ROWS = 300, SEED = 42 };
enum { WIDTH = 32, SIZE = 32 }; /* largest: of a head's values, and of its mapped keys */

/* Relative to the largest value of a tensor. */
#define BOUND 1e-3

static const struct scenario {
  const char *name;
  size_t frames;
  enum linnet_attention_kind kind;
  enum linnet_causal_linear_form form;
  enum linnet_feature_map map;
  size_t width, features;
  float key_scale, key_mean; /* an even map needs a mean, too; scale 0: keys and values are plain */
} scenarios[] = {
    {"elu", HOUR, LINNET_ATTENTION_LINEAR, 0, LINNET_MAP_ELU, 32, 0, 3, 0},
    {"relu", MINUTES, LINNET_ATTENTION_LINEAR, 0, LINNET_MAP_RELU, 16, 0, 3, 0},
    {"polynomial", MINUTES, LINNET_ATTENTION_LINEAR, 0, LINNET_MAP_POLYNOMIAL, 6, 0, 3, 1.5},
    {"fourier", MINUTES, LINNET_ATTENTION_LINEAR, 0, LINNET_MAP_FOURIER, 16, 16, 1, 0},
    {"positive", MINUTES, LINNET_ATTENTION_LINEAR, 0, LINNET_MAP_POSITIVE, 16, 16, 1, 0},
    {"causal, state", HOUR, LINNET_ATTENTION_CAUSAL_LINEAR, LINNET_CAUSAL_LINEAR_STATE, LINNET_MAP_ELU, 32, 0, 3, 0},
    {"causal, parallel-state", HOUR, LINNET_ATTENTION_CAUSAL_LINEAR, LINNET_CAUSAL_LINEAR_PARALLEL_STATE,
     LINNET_MAP_ELU, 32, 0, 3, 0},
    {"causal, chunked", HOUR, LINNET_ATTENTION_CAUSAL_LINEAR, LINNET_CAUSAL_LINEAR_CHUNKED, LINNET_MAP_ELU, 32, 0, 3,
     0},
    {"plain", MINUTES, LINNET_ATTENTION_LINEAR, 0, LINNET_MAP_ELU, 32, 0, 0, 0},
    {"plain causal, state", MINUTES, LINNET_ATTENTION_CAUSAL_LINEAR, LINNET_CAUSAL_LINEAR_STATE, LINNET_MAP_ELU, 32, 0,
     0, 0},
    {"causal relu", MINUTES, LINNET_ATTENTION_CAUSAL_LINEAR, LINNET_CAUSAL_LINEAR_CHUNKED, LINNET_MAP_RELU, 16, 0, 3,
     0},
    {"causal polynomial", MINUTES, LINNET_ATTENTION_CAUSAL_LINEAR, LINNET_CAUSAL_LINEAR_CHUNKED, LINNET_MAP_POLYNOMIAL,
     6, 0, 3, 1.5},
    {"causal fourier", MINUTES, LINNET_ATTENTION_CAUSAL_LINEAR, LINNET_CAUSAL_LINEAR_CHUNKED, LINNET_MAP_FOURIER, 16,
     16, 1, 0},
    {"causal positive", MINUTES, LINNET_ATTENTION_CAUSAL_LINEAR, LINNET_CAUSAL_LINEAR_CHUNKED, LINNET_MAP_POSITIVE, 16,
     16, 1, 0},
};

/* Of the running scenario. */
static const struct scenario *scenario;
static size_t frames, stride; /* rows 0, stride, 2 stride ... are compared; odd, to be at any place of a block */
static size_t width, size;    /* of values, and of mapped keys */
static float *qkv, *dqkv;     /* (frames, 3 width) */
static float *out, *dout;     /* (frames, width) */
static float *phi, *dphi;     /* (frames, 2 size): mapped queries and keys */
static float directions[SIZE * WIDTH];

struct sums {
  double s[SIZE][WIDTH], z[SIZE];   /* of keys and values */
  double ds[SIZE][WIDTH], dz[SIZE]; /* their gradient */
};
static struct sums sums;

static bool mapped(void) {
  return scenario->map != LINNET_MAP_ELU;
}

static struct linnet_attention attention(void) {
  size_t ld = 3 * width;
  return (struct linnet_attention){.heads = 1,
                                   .key_width = size,
                                   .width = width,
                                   .key_ld = mapped() ? 2 * size : ld,
                                   .value_ld = ld,
                                   .out_ld = width,
                                   .form = scenario->form,
                                   .map = mapped() ? LINNET_MAP_IDENTITY : LINNET_MAP_ELU,
                                   .min_normaliser =
                                       scenario->map == LINNET_MAP_FOURIER ? LINNET_FOURIER_MIN_NORMALISER : 0};
}

static void draw(void) {
  struct test_random r = {SEED};
  test_fill(&r, qkv, frames * 3 * width);
  test_fill(&r, dout, frames * width);
  for (size_t i = 0; i < scenario->features * width; i++)
    directions[i] = (float)(test_uniform(&r) + test_uniform(&r) + test_uniform(&r)); /* variance 1 */
  for (size_t t = 0; t < frames && scenario->key_scale > 0; t++)
    for (size_t c = 0; c < width; c++) {
      float *row = qkv + t * 3 * width;
      row[width + c] = scenario->key_scale * row[width + c] + scenario->key_mean;
      row[2 * width + c] += 0.5f + row[width + c];
      dout[t * width + c] += 0.25f;
    }
}

/* --- the same in double ------------------------------------------------------------------------------------------- */

static double slope(double x) {
  return mapped() || x > 0 ? 1 : exp(x);
}

static double square(const float *x) {
  double sum = 0;
  for (size_t c = 0; c < width; c++)
    sum += (double)x[c] * x[c];
  return sum;
}

/* f (size) of x (width); formulas: ops/feature_map.h. */
static void map(const float *x, double *f) {
  const double scale = pow((double)width, -0.25), n = 1 / sqrt((double)scenario->features);
  if (scenario->map == LINNET_MAP_POLYNOMIAL)
    for (size_t i = 0; i < width; i++)
      for (size_t j = i; j < width; j++)
        *f++ = (i == j ? 1 : sqrt(2)) * x[i] * x[j];
  for (size_t c = 0; scenario->map == LINNET_MAP_ELU && c < width; c++)
    f[c] = x[c] > 0 ? x[c] + 1 : exp(x[c]);
  for (size_t c = 0; scenario->map == LINNET_MAP_RELU && c < width; c++)
    f[c] = (x[c] > 0 ? x[c] : 0) + LINNET_RELU_EPSILON;
  for (size_t i = 0; i < scenario->features; i++) {
    double u = 0;
    for (size_t c = 0; c < width; c++)
      u += scale * directions[i * width + c] * x[c];
    if (scenario->map == LINNET_MAP_FOURIER)
      f[i] = n * cos(u), f[scenario->features + i] = n * sin(u);
    else
      f[i] = n * exp(fmin(u - scale * scale * square(x) / 2, LINNET_MAX_EXPONENT));
  }
}

/* Computes the normaliser of a mapped query; *above: it exceeds the minimum. */
static double normaliser(const double *f, bool *above) {
  double d = 0, min_normaliser = attention().min_normaliser;
  for (size_t c = 0; c < size; c++)
    d += f[c] * sums.z[c];
  *above = d > min_normaliser;
  return fmax(d, min_normaliser) + LINNET_ATTENTION_EPSILON;
}

static double expected_out(const double *f, double *o, bool *above) {
  const double d = normaliser(f, above);
  memset(o, 0, width * sizeof *o);
  for (size_t c = 0; c < size; c++)
    for (size_t m = 0; m < width; m++)
      o[m] += f[c] * sums.s[c][m];
  for (size_t m = 0; m < width; m++)
    o[m] /= d;
  return d;
}

/* Adds `times` a row; -1 removes it again. */
static void add_key(const float *k, const float *v, double times) {
  double f[SIZE];
  map(k, f);
  for (size_t c = 0; c < size; c++) {
    sums.z[c] += times * f[c];
    for (size_t m = 0; m < width; m++)
      sums.s[c][m] += times * f[c] * v[m];
  }
}

static void add_query(const float *q, const float *g) {
  double o[WIDTH], f[SIZE], e = 0;
  bool above;
  map(q, f);
  double d = expected_out(f, o, &above);
  for (size_t m = 0; above && m < width; m++)
    e -= g[m] * o[m] / d;
  for (size_t c = 0; c < size; c++) {
    sums.dz[c] += f[c] * e;
    for (size_t m = 0; m < width; m++)
      sums.ds[c][m] += f[c] / d * g[m];
  }
}

/* Of one row: the output, and the gradients of its query and key (mapped or not) and its value. */
struct expected {
  double out[WIDTH], q[SIZE], k[SIZE], v[WIDTH];
};
static struct expected expected_rows[MAX_ROWS]; /* of every `stride`th row */

static void expect_row(const float *row, const float *g, struct expected *d) {
  const float *v = row + 2 * width;
  double q[SIZE], k[SIZE];
  bool above;
  map(row, q);
  map(row + width, k);
  double n = expected_out(q, d->out, &above);
  for (size_t c = 0; c < size; c++) {
    d->q[c] = 0, d->k[c] = sums.dz[c];
    for (size_t m = 0; m < width; m++) {
      d->q[c] += g[m] / n * (sums.s[c][m] - (above ? sums.z[c] * d->out[m] : 0));
      d->k[c] += sums.ds[c][m] * v[m];
    }
    if (!mapped())
      d->q[c] *= slope(row[c]), d->k[c] *= slope(row[width + c]);
  }
  for (size_t m = 0; m < width; m++) {
    d->v[m] = 0;
    for (size_t c = 0; c < size; c++)
      d->v[m] += sums.ds[c][m] * k[c];
  }
}

/* In causal attention, a row attends to the keys up to it, and the queries from it on attend to it. So from the last
 * row to the first, its query is added and its key removed. Other kinds attend to all. */
static void expect(void) {
  const bool causal = linnet_attention_traits[scenario->kind].causal;
  sums = (struct sums){0};
  for (size_t t = 0; t < frames; t++)
    add_key(qkv + (3 * t + 1) * width, qkv + (3 * t + 2) * width, 1);
  for (size_t t = 0; t < frames && !causal; t++)
    add_query(qkv + 3 * t * width, dout + t * width);
  for (size_t t = frames; t-- > 0;) {
    if (causal)
      add_query(qkv + 3 * t * width, dout + t * width);
    if (t % stride == 0)
      expect_row(qkv + 3 * t * width, dout + t * width, &expected_rows[t / stride]);
    if (causal)
      add_key(qkv + (3 * t + 1) * width, qkv + (3 * t + 2) * width, -1);
  }
}

/* --- comparison --------------------------------------------------------------------------------------------------- */

struct comparison {
  double difference, scale;
};

static void compare(struct comparison *c, const float *got, const double *expected, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double d = fabs(got[i] - expected[i]);
    c->difference = test_worst(c->difference, d);
    c->scale = test_worst(c->scale, fabs(expected[i]));
  }
}

/* Where queries and keys of attention lie, and their gradients. */
static float *queries(float *plain, float *map_of_it) {
  return mapped() ? map_of_it : plain;
}
static float *keys(float *plain, float *map_of_it) {
  return mapped() ? map_of_it + size : plain + width;
}

static void check_comparison(const struct linnet_ops *ops, const char *what, const struct comparison *c) {
  char name[64];
  snprintf(name, sizeof name, "%s, %s", scenario->name, what);
  test_bound(ops->name, name, c->difference / c->scale, BOUND);
}

static void check_rows(const struct linnet_ops *ops) {
  static const char *const names[] = {"output", "dq", "dk", "dv"};
  struct comparison comparisons[4] = {{0}};
  const size_t ld = attention().key_ld;
  for (size_t row = 0; row * stride < frames; row++) {
    const struct expected *e = &expected_rows[row];
    const size_t t = row * stride;
    compare(&comparisons[0], out + t * width, e->out, width);
    compare(&comparisons[1], queries(dqkv, dphi) + t * ld, e->q, size);
    compare(&comparisons[2], keys(dqkv, dphi) + t * ld, e->k, size);
    compare(&comparisons[3], dqkv + (3 * t + 2) * width, e->v, width);
  }
  for (size_t i = 0; i < 4; i++)
    check_comparison(ops, names[i], &comparisons[i]);
}

static bool all_finite(const float *x, size_t n) {
  bool finite = true;
  for (size_t i = 0; i < n; i++)
    finite &= isfinite(x[i]) != 0;
  return finite;
}

/* The state of the whole from blocks of rows, as recognition computes it, reads the same. */
static void check_blocks(const struct linnet_ops *ops, const float *state) {
  static float blocks[SIZE * (WIDTH + 1)];
  const struct linnet_attention a = attention();
  double difference = 0, scale = 0;
  memset(blocks, 0, sizeof blocks);
  for (size_t t = 0; t < frames; t += 500)
    ops->linear_accumulate(&a, 500, keys(qkv, phi) + t * a.key_ld, qkv + (3 * t + 2) * width, blocks);
  for (size_t i = 0; i < linnet_linear_state_size(&a); i++) {
    difference = test_worst(difference, fabs((double)blocks[i] - state[i]));
    scale = test_worst(scale, fabs(state[i]));
  }
  test_bound(ops->name, "state from blocks of 500 frames", difference / scale, BOUND);
}

/* The recurrence: a step for each frame. */
static void check_steps(const struct linnet_ops *ops, const struct linnet_attention_ops *kind) {
  static float state[SIZE * (WIDTH + 1)];
  const struct linnet_attention a = attention();
  struct comparison comparison = {0};
  REQUIRE(kind->state_size(&a, frames) <= sizeof state / sizeof *state, "a state of %zu", kind->state_size(&a, frames));
  memset(state, 0, sizeof state);
  for (size_t t = 0; t < frames; t++) {
    float row[WIDTH];
    const size_t at = t * a.key_ld;
    kind->step(&a, t, queries(qkv, phi) + at, keys(qkv, phi) + at, qkv + (3 * t + 2) * width, state, row);
    if (t % stride == 0)
      compare(&comparison, row, expected_rows[t / stride].out, width);
  }
  CHECK(all_finite(state, kind->state_size(&a, frames)), "%s, %s: a state is not finite", ops->name, scenario->name);
  check_comparison(ops, "steps", &comparison);
}

static void map_all(const struct linnet_ops *ops) {
  const struct linnet_feature_map_terms m = {.map = scenario->map,
                                             .heads = 1,
                                             .width = width,
                                             .features = scenario->features,
                                             .directions = directions,
                                             .x_ld = 3 * width,
                                             .phi_ld = 2 * size};
  float *work = test_alloc(ops->feature_map_work, sizeof *work);
  ops->feature_map_forward(&m, frames, qkv, phi, work);
  ops->feature_map_forward(&m, frames, qkv + width, phi + size, work);
  free(work);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check_table(const struct linnet_ops *ops) {
  const size_t offsets[] = {0, frames};
  static float state[SIZE * (WIDTH + 1)]; /* unchanged, for kinds that save none */
  const struct linnet_attention a = attention();
  const struct linnet_pack pack = {1, offsets};
  const struct linnet_attention_ops *kind = ops->attention[scenario->kind];
  void *work = test_alloc(kind->work_bytes(&a, frames), 1);
  if (mapped())
    map_all(ops);
  const float *q = queries(qkv, phi), *k = keys(qkv, phi), *v = qkv + 2 * width;
  double start = now();
  kind->forward(&(struct linnet_attention_call){
      .attention = &a, .pack = &pack, .q = q, .k = k, .v = v, .saved = state, .out = out, .work = work});
  double middle = now();
  kind->backward(&(struct linnet_attention_call){.attention = &a,
                                                 .pack = &pack,
                                                 .q = q,
                                                 .k = k,
                                                 .v = v,
                                                 .saved = state,
                                                 .out = out,
                                                 .work = work,
                                                 .dout = dout,
                                                 .dq = queries(dqkv, dphi),
                                                 .dk = keys(dqkv, dphi),
                                                 .dv = dqkv + 2 * width});
  printf("%-10s %s, %zu frames: forward %.2f s, backward %.2f s\n", ops->name, scenario->name, frames, middle - start,
         now() - middle);
  CHECK(all_finite(state, linnet_linear_state_size(&a)) && all_finite(out, frames * width) &&
            (mapped() ? all_finite(dphi, frames * 2 * size) : all_finite(dqkv, frames * 3 * width)),
        "%s, %s: a value is not finite", ops->name, scenario->name);
  check_rows(ops);
  if (scenario->kind == LINNET_ATTENTION_LINEAR)
    check_blocks(ops, state);
  if (scenario->kind == LINNET_ATTENTION_CAUSAL_LINEAR && scenario->form == LINNET_CAUSAL_LINEAR_STATE)
    check_steps(ops, kind);
  free(work);
}

/* Whether the row before had the same data and sums: all forms have. */
static bool same_sums(const struct scenario *s) {
  return s > scenarios && s->frames == s[-1].frames && s->kind == s[-1].kind && s->map == s[-1].map &&
         s->width == s[-1].width && s->key_scale == s[-1].key_scale;
}

static void check_scenario(const struct scenario *running) {
  scenario = running;
  frames = running->frames;
  stride = frames / MAX_ROWS | 1;
  width = running->width;
  size = linnet_feature_map_size(running->map, width, running->features);
  REQUIRE(width <= WIDTH && size <= SIZE, "%zu, %zu", width, size);
  if (!same_sums(running)) {
    draw();
    expect();
  }
  test_each_table(check_table);
}

int main(void) {
  qkv = test_alloc((size_t)HOUR * 3 * WIDTH, sizeof *qkv);
  dqkv = test_alloc((size_t)HOUR * 3 * WIDTH, sizeof *dqkv);
  out = test_alloc((size_t)HOUR * WIDTH, sizeof *out);
  dout = test_alloc((size_t)HOUR * WIDTH, sizeof *dout);
  phi = test_alloc((size_t)HOUR * 2 * SIZE, sizeof *phi);
  dphi = test_alloc((size_t)HOUR * 2 * SIZE, sizeof *dphi);
  printf("seed %d\n", SEED);
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
    check_scenario(&scenarios[i]);
  float *blocks[] = {qkv, dqkv, out, dout, phi, dphi};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    free(blocks[i]);
  return test_result();
}
