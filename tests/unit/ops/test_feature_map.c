/* Checks feature maps by their meaning: products of features equal kernels of dot products, random features converge to
 * softmax attention as their number grows, and extreme vectors are handled. */
#include "ops/feature_map.h"
#include "ops/linear_attention.h"
#include "tables.h"

enum { FRAMES = 48, WIDTH = 16, FEATURES = 1024, SIZE = 2 * FEATURES, DRAWS = 4, SEED = 7 };

static const enum linnet_feature_map maps[] = {LINNET_MAP_RELU, LINNET_MAP_POLYNOMIAL, LINNET_MAP_FOURIER,
                                               LINNET_MAP_POSITIVE};

static float q[FRAMES * WIDTH], k[FRAMES * WIDTH], v[FRAMES * WIDTH], out[FRAMES * WIDTH];
static float directions[FEATURES * WIDTH], phi_q[FRAMES * SIZE], phi_k[FRAMES * SIZE];

static void draw(struct test_random *r, float scale) {
  test_fill(r, q, FRAMES * WIDTH);
  test_fill(r, k, FRAMES * WIDTH);
  test_fill(r, v, FRAMES * WIDTH);
  for (size_t i = 0; i < FRAMES * WIDTH; i++)
    q[i] *= scale, k[i] *= scale;
}

/* Sums of twelve uniform numbers are near enough to normal ones. */
static void draw_directions(struct test_random *r) {
  for (size_t i = 0; i < FEATURES * WIDTH; i++) {
    double sum = 0;
    for (int j = 0; j < 12; j++)
      sum += test_uniform(r) / 2;
    directions[i] = (float)sum;
  }
}

static struct linnet_feature_map_terms terms(enum linnet_feature_map map, size_t features) {
  size_t count = linnet_feature_map_random(map) ? features : 0;
  return (struct linnet_feature_map_terms){.map = map,
                                           .heads = 1,
                                           .width = WIDTH,
                                           .features = count,
                                           .directions = directions,
                                           .x_ld = WIDTH,
                                           .phi_ld = linnet_feature_map_size(map, WIDTH, count)};
}

/* out of the first `frames` rows; phi_q and phi_k are left for the caller. */
static void attend(const struct linnet_ops *ops, const struct linnet_feature_map_terms *m, size_t frames) {
  const size_t offsets[] = {0, frames};
  const struct linnet_pack pack = {1, offsets};
  const struct linnet_attention a = {.heads = 1,
                                     .key_width = m->phi_ld,
                                     .width = WIDTH,
                                     .key_ld = m->phi_ld,
                                     .value_ld = WIDTH,
                                     .out_ld = WIDTH,
                                     .map = LINNET_MAP_IDENTITY,
                                     .min_normaliser =
                                         m->map == LINNET_MAP_FOURIER ? LINNET_FOURIER_MIN_NORMALISER : 0};
  const struct linnet_attention_ops *linear = ops->attention[LINNET_ATTENTION_LINEAR];
  void *saved = test_alloc(linear->saved_bytes(&a, frames, 1), 1),
       *work = test_alloc(linear->work_bytes(&a, frames), 1);
  float *map_work = test_alloc(ops->feature_map_work, sizeof *map_work);
  ops->feature_map_forward(m, frames, q, phi_q, map_work);
  ops->feature_map_forward(m, frames, k, phi_k, map_work);
  linear->forward(&(struct linnet_attention_call){
      .attention = &a, .pack = &pack, .q = phi_q, .k = phi_k, .v = v, .saved = saved, .out = out, .work = work});
  free(saved);
  free(work);
  free(map_work);
}

static double dot(size_t n, const float *x, const float *y) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += (double)x[i] * y[i];
  return sum;
}

/* --- kernels ------------------------------------------------------------------------------------------------------ */

/* The value of phi(x) . phi(y), or of its expectation. */
static double kernel(enum linnet_feature_map map, const float *x, const float *y) {
  double product = dot(WIDTH, x, y), squares = dot(WIDTH, x, x) + dot(WIDTH, y, y), root = sqrt(WIDTH);
  switch (map) {
  case LINNET_MAP_POLYNOMIAL:
    return product * product;
  case LINNET_MAP_FOURIER:
    return exp(-(squares - 2 * product) / (2 * root));
  default:
    return exp(product / root);
  }
}

/* The largest difference of phi(q) . phi(k) over all pairs, relative to the largest kernel. */
static double kernel_error(const struct linnet_feature_map_terms *m) {
  double worst = 0, scale = 0;
  for (size_t i = 0; i < FRAMES; i++)
    for (size_t j = 0; j < FRAMES; j++) {
      double expected = kernel(m->map, q + i * WIDTH, k + j * WIDTH);
      worst = fmax(worst, fabs(dot(m->phi_ld, phi_q + i * m->phi_ld, phi_k + j * m->phi_ld) - expected));
      scale = fmax(scale, expected);
    }
  return worst / scale;
}

static void check_kernels(const struct linnet_ops *ops) {
  struct test_random r = {SEED};
  struct linnet_feature_map_terms polynomial = terms(LINNET_MAP_POLYNOMIAL, 0);
  struct linnet_feature_map_terms fourier = terms(LINNET_MAP_FOURIER, FEATURES);
  draw_directions(&r);
  draw(&r, 1);
  attend(ops, &polynomial, FRAMES);
  test_bound(ops->name, "polynomial, (q . k)^2", kernel_error(&polynomial), 1e-5);
  attend(ops, &fourier, FRAMES);
  test_bound(ops->name, "fourier, Gaussian kernel", kernel_error(&fourier), 5 / sqrt(FEATURES));
}

/* --- softmax ------------------------------------------------------------------------------------------------------ */

/* Mean square of the difference from softmax attention. */
static double softmax_error(void) {
  double error = 0;
  for (size_t i = 0; i < FRAMES; i++) {
    double sum = 0, row[WIDTH] = {0};
    for (size_t j = 0; j < FRAMES; j++) {
      double weight = kernel(LINNET_MAP_POSITIVE, q + i * WIDTH, k + j * WIDTH);
      sum += weight;
      for (size_t c = 0; c < WIDTH; c++)
        row[c] += weight * v[j * WIDTH + c];
    }
    for (size_t c = 0; c < WIDTH; c++)
      error += pow(row[c] / sum - out[i * WIDTH + c], 2);
  }
  return error / (FRAMES * WIDTH);
}

/* The variance of an estimate falls as 1 / features: with four times as many the error should halve; 0.7 is asked. */
static void check_softmax(const struct linnet_ops *ops) {
  double before = INFINITY;
  for (size_t features = 16; features <= FEATURES; features *= 4) {
    struct test_random r = {SEED};
    double sum = 0;
    for (int i = 0; i < DRAWS; i++) {
      struct linnet_feature_map_terms m = terms(LINNET_MAP_POSITIVE, features);
      draw_directions(&r);
      draw(&r, 0.7f);
      attend(ops, &m, FRAMES);
      sum += softmax_error() / DRAWS;
    }
    double error = sqrt(sum);
    printf("%-10s %4zu positive features: error %.4f\n", ops->name, features, error);
    CHECK(error < 0.7 * before, "%s: error %g with %zu features, %g with a quarter", ops->name, error, features,
          before);
    before = error;
  }
}

/* --- any input ---------------------------------------------------------------------------------------------------- */

static void check_finite(const struct linnet_ops *ops) {
  static const float scales[] = {0, 1e-20f, 1, 30, 1e4f};
  static const size_t lengths[] = {0, 1, 2, FRAMES};
  struct test_random r = {SEED};
  draw_directions(&r);
  for (size_t i = 0; i < sizeof maps / sizeof *maps * sizeof scales / sizeof *scales; i++) {
    struct linnet_feature_map_terms m = terms(maps[i % 4], 32);
    draw(&r, scales[i / 4]);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
      bool finite = true;
      attend(ops, &m, lengths[l]);
      for (size_t c = 0; c < lengths[l] * WIDTH; c++)
        finite = finite && isfinite(out[c]);
      CHECK(finite, "%s: map %d, vectors of %g, %zu frames: not finite", ops->name, m.map, scales[i / 4], lengths[l]);
    }
  }
}

static void check_table(const struct linnet_ops *ops) {
  check_kernels(ops);
  check_softmax(ops);
  check_finite(ops);
}

int main(void) {
  printf("seed %d\n", SEED);
  test_each_table(check_table);
  return test_result();
}
