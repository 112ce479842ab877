/* Softmax attention where the answer is known: scores of +-10 000 in sequences of no, one and many frames; steps over
 * stored keys and values against the whole sequence; memory that does not depend on its length. */
#include "ops/softmax_attention.h"
#include "tables.h"

enum { HEADS = 2, WIDTH = 24, COLUMNS = HEADS * WIDTH, LD = 3 * COLUMNS, SEED = 5 };

static const struct linnet_attention attention = {
    .heads = HEADS, .key_width = WIDTH, .width = WIDTH, .key_ld = LD, .value_ld = LD, .out_ld = COLUMNS};

static float *random_floats(struct test_random *r, size_t n) {
  float *x = test_alloc(n, sizeof *x);
  test_fill(r, x, n);
  return x;
}

static bool all_finite(const float *x, size_t n) {
  bool finite = true;
  for (size_t i = 0; i < n; i++)
    finite &= isfinite(x[i]) != 0;
  return finite;
}

/* --- large scores ------------------------------------------------------------------------------------------------- */

/* In each sequence the frame HOT has a score of 10 000 in every row, all others have -10 000. */
enum { HOT = 150, LONG = 333, FRAMES = LONG + 1 + 100, SEQUENCES = 4 };
static const size_t offsets[SEQUENCES + 1] = {0, LONG, LONG, LONG + 1, FRAMES};

/* Every product of queries and keys is +-size^2 * WIDTH. */
static void large_scores(float *qkv) {
  const float size = sqrtf(10000 / sqrtf(WIDTH));
  for (size_t s = 0; s < SEQUENCES; s++)
    for (size_t t = offsets[s]; t < offsets[s + 1]; t++)
      for (size_t c = 0; c < COLUMNS; c++) {
        qkv[t * LD + c] = size;
        qkv[t * LD + COLUMNS + c] = t - offsets[s] == HOT ? size : -size;
      }
}

/* The mean of rows first ... end. */
static double mean(const float *x, size_t ld, size_t first, size_t end, size_t column) {
  double sum = 0;
  for (size_t t = first; t < end; t++)
    sum += x[t * ld + column];
  return sum / (double)(end - first);
}

/* Rows that attend to the hot frame have its value; others weight all their frames equally. */
static double expected_out(const float *v, bool causal, size_t sequence, size_t t, size_t column) {
  size_t first = offsets[sequence], end = causal ? t + 1 : offsets[sequence + 1];
  return first + HOT < end ? v[(first + HOT) * LD + column] : mean(v, LD, first, end, column);
}

/* The gradient of the hot frame's values, summed over the rows that attend to it. */
static double expected_hot_gradient(const float *dout, bool causal, size_t column) {
  size_t first = causal ? HOT : 0;
  return mean(dout, COLUMNS, first, LONG, column) * (double)(LONG - first);
}

static double out_error(const float *v, const float *out, bool causal) {
  double error = 0;
  for (size_t s = 0; s < SEQUENCES; s++)
    for (size_t t = offsets[s]; t < offsets[s + 1]; t++)
      for (size_t c = 0; c < COLUMNS; c++)
        error = test_worst(error, fabs(out[t * COLUMNS + c] - expected_out(v, causal, s, t, c)));
  return error;
}

static double hot_error(const float *dout, const float *dv, bool causal) {
  double error = 0;
  for (size_t c = 0; c < COLUMNS; c++)
    error = test_worst(error, fabs(dv[HOT * LD + c] - expected_hot_gradient(dout, causal, c)));
  return error / LONG;
}

static void check_large(const struct linnet_ops *ops, enum linnet_attention_kind kind) {
  const struct linnet_attention_ops *op = ops->attention[kind];
  const bool causal = kind == LINNET_ATTENTION_CAUSAL_SOFTMAX;
  const struct linnet_pack pack = {SEQUENCES, offsets};
  struct test_random r = {SEED};
  float *qkv = random_floats(&r, FRAMES * LD), *dqkv = test_alloc(FRAMES * LD, sizeof *dqkv);
  float *out = test_alloc(FRAMES * COLUMNS, sizeof *out), *dout = random_floats(&r, FRAMES * COLUMNS);
  const float *q = qkv, *k = q + COLUMNS, *v = k + COLUMNS;
  void *saved = test_alloc(op->saved_bytes(&attention, FRAMES, SEQUENCES), 1);
  void *work = test_alloc(op->work_bytes(&attention, LONG), 1);
  large_scores(qkv);
  op->forward(&(struct linnet_attention_call){
      .attention = &attention, .pack = &pack, .q = q, .k = k, .v = v, .saved = saved, .out = out, .work = work});
  op->backward(&(struct linnet_attention_call){.attention = &attention,
                                               .pack = &pack,
                                               .q = q,
                                               .k = k,
                                               .v = v,
                                               .saved = saved,
                                               .out = out,
                                               .work = work,
                                               .dout = dout,
                                               .dq = dqkv,
                                               .dk = dqkv + COLUMNS,
                                               .dv = dqkv + 2 * COLUMNS});
  CHECK(all_finite(out, FRAMES * COLUMNS) && all_finite(dqkv, FRAMES * LD), "%s: a value is not finite", ops->name);
  test_bound(ops->name, causal ? "large scores, causal: output" : "large scores: output", out_error(v, out, causal),
             1e-5);
  test_bound(ops->name, "dv of the hot frame", hot_error(dout, dqkv + 2 * COLUMNS, causal), 1e-4);
  free(qkv), free(dqkv), free(out), free(dout), free(saved), free(work);
}

static void check_large_scores(const struct linnet_ops *ops) {
  check_large(ops, LINNET_ATTENTION_SOFTMAX);
  check_large(ops, LINNET_ATTENTION_CAUSAL_SOFTMAX);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

enum { STEPS = 2000 };

/* The state moves to a block of exactly the size that the next step asks for. */
static float *grow(const struct linnet_attention_ops *op, size_t steps, float *state) {
  size_t before = steps > 0 ? op->state_size(&attention, steps - 1) : 0, size = op->state_size(&attention, steps);
  float *larger = calloc(size, sizeof *larger);
  REQUIRE(larger && size > before, "%zu elements after %zu", size, before);
  if (before > 0)
    memcpy(larger, state, before * sizeof *larger);
  free(state);
  return larger;
}

static void check_steps(const struct linnet_ops *ops) {
  static const size_t whole[] = {0, STEPS};
  const struct linnet_attention_ops *op = ops->attention[LINNET_ATTENTION_CAUSAL_SOFTMAX];
  const struct linnet_pack pack = {1, whole};
  struct test_random r = {SEED};
  float *qkv = random_floats(&r, STEPS * LD), *out = test_alloc(STEPS * COLUMNS, sizeof *out);
  float *stepped = test_alloc(STEPS * COLUMNS, sizeof *stepped), *state = NULL;
  void *saved = test_alloc(op->saved_bytes(&attention, STEPS, 1), 1);
  void *work = test_alloc(op->work_bytes(&attention, STEPS), 1);
  for (size_t i = 0; i < STEPS * 2 * (size_t)COLUMNS; i++)
    qkv[i / (2 * COLUMNS) * LD + i % (2 * COLUMNS)] *= 3; /* queries and keys: weights that differ */
  op->forward(&(struct linnet_attention_call){.attention = &attention,
                                              .pack = &pack,
                                              .q = qkv,
                                              .k = qkv + COLUMNS,
                                              .v = qkv + 2 * COLUMNS,
                                              .saved = saved,
                                              .out = out,
                                              .work = work});
  for (size_t t = 0; t < STEPS; t++) {
    const float *row = qkv + t * LD;
    state = grow(op, t, state);
    op->step(&attention, t, row, row + COLUMNS, row + 2 * COLUMNS, state, stepped + t * COLUMNS);
  }
  test_bound(ops->name, "2000 steps, the batch form", test_error(stepped, out, STEPS * COLUMNS), 1e-5);
  free(qkv), free(out), free(stepped), free(state), free(saved), free(work);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void check_memory(const struct linnet_ops *ops) {
  static const enum linnet_attention_kind kinds[] = {LINNET_ATTENTION_SOFTMAX, LINNET_ATTENTION_CAUSAL_SOFTMAX};
  for (size_t i = 0; i < 2; i++) {
    const struct linnet_attention_ops *op = ops->attention[kinds[i]];
    CHECK(op->work_bytes(&attention, 1) == op->work_bytes(&attention, 1000000), "%s: work grows", ops->name);
    CHECK(op->saved_bytes(&attention, 1000, 3) == 1000 * HEADS * sizeof(float), "%s: %zu bytes saved", ops->name,
          op->saved_bytes(&attention, 1000, 3));
  }
}

int main(void) {
  printf("seed %d\n", SEED);
  test_each_table(check_large_scores);
  test_each_table(check_steps);
  test_each_table(check_memory);
  return test_result();
}
