/* Linear attention with other weights, as weighted_linear_attention.h defines them: outputs against sums over all pairs
 * of frames in double, for each kind and each table; one head of several as all heads at once; sequences of no frame.
 */
#include "ops/weighted_linear_attention.h"

#include "model/training/network.h"
#include "ops/linear_attention.h"
#include "tables.h"

enum { HEADS = 3, WIDTH = 7, COLUMNS = HEADS * WIDTH, LD = 3 * COLUMNS, SEQUENCES = 4, FRAMES = 161, SEED = 8 };
static const size_t offsets[SEQUENCES + 1] = {0, 130, 130, 131, FRAMES};

static const enum linnet_attention_kind kinds[] = {LINNET_ATTENTION_LINEAR_COSINE,
                                                   LINNET_ATTENTION_LINEAR_ROTARY,
                                                   LINNET_ATTENTION_LINEAR_DECAY,
                                                   LINNET_ATTENTION_LINEAR_MAGNITUDE,
                                                   LINNET_ATTENTION_LINEAR_ROTARY_MAGNITUDE,
                                                   LINNET_ATTENTION_LINEAR_DECAY_MAGNITUDE,
                                                   LINNET_ATTENTION_LINEAR_ROTARY_DECAY};

static float qkv[FRAMES * LD];
static double expected[FRAMES * COLUMNS];

/* --- sums over all pairs ------------------------------------------------------------------------------------------ */

struct pair {
  double weight, plain; /* without rotary positions */
};

static double feature(float x) {
  return x > 0 ? (double)x + 1 : exp(x);
}

/* q and k are rows of one head, `distance` frames apart in a sequence of `frames`. */
static struct pair pair_of(const struct linnet_weighting *w, size_t head, const float *q, const float *k,
                           double distance, size_t frames) {
  struct pair p = {0};
  for (size_t c = 0; c < WIDTH; c++)
    p.plain += feature(q[c]) * feature(k[c]);
  for (size_t c = 0; c + 1 < WIDTH; c += 2) {
    const double angle = distance / pow(10000, (double)c / WIDTH), q0 = feature(q[c]), q1 = feature(q[c + 1]),
                 k0 = feature(k[c]), k1 = feature(k[c + 1]);
    p.weight += (q0 * k0 + q1 * k1) * cos(angle) + (q1 * k0 - q0 * k1) * sin(-angle);
  }
  p.weight = w->rotary ? p.weight + feature(q[WIDTH - 1]) * feature(k[WIDTH - 1]) : p.plain;
  double factor = w->cosine ? cos(acos(0) * distance / (double)frames) : 1;
  factor *= w->decay ? pow(1 - pow(2, -2 - (double)head), fabs(distance)) : 1;
  factor *= w->magnitude ? 1 / ((double)frames * sqrt(WIDTH)) : 1;
  return (struct pair){p.weight * factor, p.plain * factor};
}

static void expect_row(const struct linnet_weighting *w, size_t head, size_t sequence, size_t i) {
  const size_t first = offsets[sequence], end = offsets[sequence + 1];
  const float *q = qkv + i * LD + head * WIDTH;
  double sum = 0, weighted[WIDTH] = {0}, mean[WIDTH] = {0};
  for (size_t j = first; j < end; j++) {
    const float *k = qkv + j * LD + COLUMNS + head * WIDTH, *v = k + COLUMNS;
    const struct pair p = pair_of(w, head, q, k, (double)i - (double)j, end - first);
    sum += p.plain;
    for (size_t c = 0; c < WIDTH; c++) {
      weighted[c] += p.weight * v[c];
      mean[c] += v[c] / (double)(end - first);
    }
  }
  for (size_t c = 0; c < WIDTH; c++)
    expected[i * COLUMNS + head * WIDTH + c] =
        weighted[c] * ((w->magnitude ? 1 : 0) + 1 / (sum + LINNET_ATTENTION_EPSILON)) -
        (w->magnitude ? sum * mean[c] : 0);
}

static void expect(const struct linnet_weighting *w) {
  for (size_t s = 0; s < SEQUENCES; s++)
    for (size_t i = offsets[s]; i < offsets[s + 1]; i++)
      for (size_t head = 0; head < HEADS; head++)
        expect_row(w, head, s, i);
}

/* --- the ops ------------------------------------------------------------------------------------------------------ */

/* The outputs of heads first ... first + heads - 1, as the columns of these heads in `out`. */
static void run_heads(const struct linnet_ops *ops, enum linnet_attention_kind kind, size_t first, size_t heads,
                      float *out) {
  const struct linnet_attention_ops *op = ops->attention[kind];
  const struct linnet_attention a = {.kind = kind,
                                     .heads = heads,
                                     .first_head = first,
                                     .key_width = WIDTH,
                                     .width = WIDTH,
                                     .key_ld = LD,
                                     .value_ld = LD,
                                     .out_ld = COLUMNS};
  const struct linnet_pack pack = {SEQUENCES, offsets};
  const float *q = qkv + first * WIDTH;
  void *saved = test_alloc(op->saved_bytes(&a, FRAMES, SEQUENCES), 1), *work = test_alloc(op->work_bytes(&a, 130), 1);
  op->forward(&(struct linnet_attention_call){.attention = &a,
                                              .pack = &pack,
                                              .q = q,
                                              .k = q + COLUMNS,
                                              .v = q + 2 * COLUMNS,
                                              .saved = saved,
                                              .out = out + first * WIDTH,
                                              .work = work});
  free(saved), free(work);
}

static double error_of(const float *out) {
  double worst = 0, largest = 0;
  for (size_t i = 0; i < FRAMES * COLUMNS; i++) {
    worst = test_worst(worst, fabs(out[i] - expected[i]));
    largest = fmax(largest, fabs(expected[i]));
  }
  return worst / largest;
}

static void check_table(const struct linnet_ops *ops) {
  static float all[FRAMES * COLUMNS], one[FRAMES * COLUMNS];
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    expect(&linnet_weightings[kinds[i]]);
    run_heads(ops, kinds[i], 0, HEADS, all);
    for (size_t head = 0; head < HEADS; head++)
      run_heads(ops, kinds[i], head, 1, one);
    test_bound(ops->name, linnet_attention_traits[kinds[i]].name, error_of(all), 1e-6);
    CHECK(memcmp(one, all, sizeof one) == 0, "%s: heads alone and together differ", ops->name);
  }
}

/* A device whose numbers are not in host memory. */
static void check_device(void) {
  struct linnet_device_ops ops = linnet_cpu_device_ops;
  struct linnet_device device = {&ops, "elsewhere", sizeof(float)};
  struct linnet_context *context = test_context();
  struct linnet_config config;
  const struct linnet_network network = {.device = &device, .config = &config};
  struct linnet_pass *pass = NULL;
  linnet_config_default(&config);
  config.attention[2] = LINNET_ATTENTION_LINEAR_DECAY;
  ops.host = false;
  CHECK(
      linnet_pass_create(context, &network, &pass) == LINNET_ERROR_UNSUPPORTED && !pass &&
          strstr(linnet_context_error(context), "elsewhere: the \"attention\" linear-decay of layer 3 is not on a GPU"),
      "%s", linnet_context_error(context));
  linnet_context_destroy(context);
}

int main(void) {
  struct test_random r = {SEED};
  printf("seed %d\n", SEED);
  test_fill(&r, qkv, FRAMES * LD);
  test_each_table(check_table);
  check_device();
  return test_result();
}
