/* Greedy decoding against the definition, row by row, on random posteriors in random chunkings. */
#include <linnet/greedy.h>

#include "allocators.h"

enum { MAX_FRAMES = 200, MAX_SYMBOLS = 12 };

/* The definition, without any state carried along: best symbol of each frame by a scan from the last symbol down. */
static int best_of(const float *row, int symbols) {
  int best = 0;
  float value = -INFINITY;
  for (int v = symbols - 1; v >= 0; v--)
    if (!isnan(row[v]) && row[v] >= value && row[v] > -INFINITY) {
      value = row[v];
      best = v;
    }
  return best;
}

static size_t decode_plainly(const float *rows, size_t frames, int symbols, struct linnet_segment *segments) {
  size_t count = 0;
  for (size_t start = 0, end; start < frames; start = end) {
    int symbol = best_of(rows + start * (size_t)symbols, symbols);
    double sum = 0;
    for (end = start; end < frames && best_of(rows + end * (size_t)symbols, symbols) == symbol; end++)
      sum += exp(rows[end * (size_t)symbols + (size_t)symbol]);
    if (symbol != 0)
      segments[count++] = (struct linnet_segment){symbol, start, end, (float)(sum / (double)(end - start))};
  }
  return count;
}

static void check_segments(const struct linnet_greedy *greedy, const struct linnet_segment *expected, size_t count,
                           uint64_t seed) {
  size_t got;
  const struct linnet_segment *segments = linnet_greedy_segments(greedy, &got);
  CHECK(got == count, "seed %llu: %zu segments, expected %zu", (unsigned long long)seed, got, count);
  for (size_t i = 0; i < count && i < got; i++) {
    const struct linnet_segment *a = &segments[i], *b = &expected[i];
    CHECK(a->symbol == b->symbol && a->start == b->start && a->end == b->end,
          "seed %llu, segment %zu: %d at %zu-%zu, expected %d at %zu-%zu", (unsigned long long)seed, i, a->symbol,
          a->start, a->end, b->symbol, b->start, b->end);
    CHECK(fabs(a->confidence - b->confidence) <= 1e-6, "seed %llu, segment %zu: confidence %g, expected %g",
          (unsigned long long)seed, i, a->confidence, b->confidence);
  }
}

/* Log-posteriors of few different values, so that ties and runs are common; some are -infinity or NaN. */
static void fill_rows(struct test_random *r, float *rows, size_t n) {
  for (size_t i = 0; i < n; i++) {
    size_t kind = test_below(r, 40);
    rows[i] = kind == 0 ? NAN : kind == 1 ? -INFINITY : -0.25f * (float)test_below(r, 8);
  }
}

static void accept_in_chunks(struct linnet_greedy *greedy, const float *rows, size_t frames, int symbols,
                             struct test_random *r) {
  for (size_t at = 0; at < frames;) {
    size_t chunk = test_below(r, 9);
    if (chunk > frames - at)
      chunk = frames - at;
    CHECK(linnet_greedy_accept(greedy, chunk > 0 ? rows + at * (size_t)symbols : NULL, chunk) == LINNET_OK, "chunk");
    at += chunk;
  }
}

static void test_random_chunks(void) {
  static float rows[MAX_FRAMES * MAX_SYMBOLS];
  struct linnet_context *context = test_context();
  for (uint64_t seed = 0; seed < 500; seed++) {
    struct test_random r = {seed};
    int symbols = 1 + (int)test_below(&r, MAX_SYMBOLS);
    size_t frames = test_below(&r, MAX_FRAMES + 1);
    struct linnet_segment expected[MAX_FRAMES];
    struct linnet_greedy *greedy;
    REQUIRE(linnet_greedy_create(context, symbols, &greedy) == LINNET_OK, "create");
    for (int round = 0; round < 2; round++) { /* the second after a reset */
      fill_rows(&r, rows, frames * (size_t)symbols);
      accept_in_chunks(greedy, rows, frames, symbols, &r);
      check_segments(greedy, expected, decode_plainly(rows, frames, symbols, expected), seed);
      linnet_greedy_reset(greedy);
    }
    linnet_greedy_destroy(greedy);
  }
  linnet_context_destroy(context);
}

/* A A blank A B: the repeated A is merged, the blank separates the next A; then the last segment grows. */
static void test_growing(void) {
  struct linnet_context *context = test_context();
  struct linnet_greedy *greedy;
  REQUIRE(linnet_greedy_create(context, 3, &greedy) == LINNET_OK, "create");
  const float low = -3,
              rows[5][3] = {{low, -0.1f, low}, {low, -0.2f, low}, {0, low, low}, {low, 0, low}, {low, low, 0}};
  const float more[1][3] = {{low, low, logf(0.5f)}};
  CHECK(linnet_greedy_accept(greedy, rows[0], 5) == LINNET_OK, "accept");
  struct linnet_segment expected[] = {{1, 0, 2, (expf(-0.1f) + expf(-0.2f)) / 2}, {1, 3, 4, 1}, {2, 4, 5, 1}};
  check_segments(greedy, expected, 3, 0);
  CHECK(linnet_greedy_accept(greedy, more[0], 1) == LINNET_OK, "accept");
  expected[2] = (struct linnet_segment){2, 4, 6, 0.75f};
  check_segments(greedy, expected, 3, 1);
  linnet_greedy_destroy(greedy);
  linnet_context_destroy(context);
}

/* Takes all final segments after every row: together they equal the segments of one call at the end. */
static void test_drop(void) {
  static float rows[MAX_FRAMES * 4];
  struct linnet_context *context = test_context();
  struct linnet_greedy *greedy;
  struct linnet_segment expected[MAX_FRAMES], taken[MAX_FRAMES];
  struct test_random r = {3};
  size_t count, total = 0;
  fill_rows(&r, rows, MAX_FRAMES * 4);
  REQUIRE(linnet_greedy_create(context, 4, &greedy) == LINNET_OK, "create");
  for (size_t t = 0; t < MAX_FRAMES; t++) {
    CHECK(linnet_greedy_accept(greedy, rows + 4 * t, 1) == LINNET_OK, "accept");
    const struct linnet_segment *segments = linnet_greedy_segments(greedy, &count);
    for (size_t i = 0; i + 1 < count; i++)
      taken[total++] = segments[i];
    CHECK(linnet_greedy_drop(greedy, count > 0 ? count - 1 : 0) == LINNET_OK, "drop");
    CHECK(count == 0 || linnet_greedy_drop(greedy, 1) == LINNET_ERROR_ARGUMENT, "the last was dropped");
  }
  const struct linnet_segment *last = linnet_greedy_segments(greedy, &count);
  REQUIRE(count == 1, "%zu segments are left", count);
  taken[total++] = *last;
  CHECK(decode_plainly(rows, MAX_FRAMES, 4, expected) == total, "%zu segments were taken", total);
  for (size_t i = 0; i < total; i++)
    CHECK(taken[i].symbol == expected[i].symbol && taken[i].start == expected[i].start &&
              taken[i].end == expected[i].end,
          "segment %zu of those that were taken", i);
  CHECK(linnet_greedy_drop(NULL, 0) == LINNET_ERROR_ARGUMENT, "no decoder");
  linnet_greedy_destroy(greedy);
  linnet_context_destroy(context);
}

/* The penalty gives the segments of rows whose blank is that much less probable, with the confidences of the rows as
 * they are. */
static void test_blank_penalty(void) {
  static float rows[MAX_FRAMES * 4], lowered[MAX_FRAMES * 4];
  const float penalty = 0.625f;
  struct linnet_context *context = test_context();
  struct linnet_greedy *greedy;
  struct linnet_segment plain[MAX_FRAMES], expected[MAX_FRAMES];
  struct test_random r = {8};
  fill_rows(&r, rows, MAX_FRAMES * 4);
  memcpy(lowered, rows, sizeof rows);
  for (size_t t = 0; t < MAX_FRAMES; t++)
    lowered[4 * t] -= penalty;
  const size_t count = decode_plainly(lowered, MAX_FRAMES, 4, expected);
  REQUIRE(count > decode_plainly(rows, MAX_FRAMES, 4, plain), "the penalty has no effect");
  REQUIRE(linnet_greedy_create(context, 4, &greedy) == LINNET_OK, "create");
  CHECK(linnet_greedy_set_blank_penalty(greedy, penalty) == LINNET_OK, "set");
  accept_in_chunks(greedy, rows, MAX_FRAMES, 4, &r);
  check_segments(greedy, expected, count, 8);
  CHECK(linnet_greedy_set_blank_penalty(greedy, 0) == LINNET_ERROR_STATE, "within an utterance");
  linnet_greedy_reset(greedy);
  CHECK(linnet_greedy_set_blank_penalty(greedy, NAN) == LINNET_ERROR_ARGUMENT, "not a number");
  CHECK(linnet_greedy_set_blank_penalty(NULL, 0) == LINNET_ERROR_ARGUMENT, "no decoder");
  linnet_greedy_destroy(greedy);
  linnet_context_destroy(context);
}

static void test_not_finite(void) {
  struct linnet_context *context = test_context();
  struct linnet_greedy *greedy;
  REQUIRE(linnet_greedy_create(context, 3, &greedy) == LINNET_OK, "create");
  const float rows[5][3] = {{NAN, NAN, NAN},
                            {-INFINITY, NAN, -INFINITY},
                            {NAN, -2, -1},
                            {NAN, INFINITY, 5}, /* a posterior above 1 counts as 1 */
                            {NAN, NAN, 0}};
  CHECK(linnet_greedy_accept(greedy, rows[0], 5) == LINNET_OK, "accept");
  const struct linnet_segment expected[] = {{2, 2, 3, expf(-1)}, {1, 3, 4, 1}, {2, 4, 5, 1}};
  check_segments(greedy, expected, 3, 0);
  linnet_greedy_destroy(greedy);
  linnet_context_destroy(context);
}

static void test_warm(void) {
  static float rows[MAX_FRAMES * 4];
  struct failing_allocator allocator;
  struct linnet_context *context = failing_context(&allocator);
  struct linnet_greedy *greedy;
  struct test_random r = {1};
  fill_rows(&r, rows, MAX_FRAMES * 4);
  REQUIRE(linnet_greedy_create(context, 4, &greedy) == LINNET_OK, "create");
  CHECK(linnet_greedy_accept(greedy, rows, MAX_FRAMES) == LINNET_OK, "accept");
  size_t before = allocator.calls;
  for (int round = 0; round < 10; round++) {
    linnet_greedy_reset(greedy);
    accept_in_chunks(greedy, rows, MAX_FRAMES, 4, &r);
  }
  CHECK(allocator.calls == before, "%zu allocations by a warm decoder", allocator.calls - before);
  linnet_greedy_destroy(greedy);
  linnet_context_destroy(context);
}

static void test_arguments(void) {
  struct linnet_context *context = test_context();
  struct linnet_greedy *greedy;
  CHECK(linnet_greedy_create(context, 0, &greedy) == LINNET_ERROR_ARGUMENT && !greedy, "no symbols");
  CHECK(*linnet_context_error(context), "no sentence");
  CHECK(linnet_greedy_create(context, -1, &greedy) == LINNET_ERROR_ARGUMENT, "negative");
  CHECK(linnet_greedy_create(context, 2000000000, &greedy) == LINNET_ERROR_ARGUMENT, "huge");
  CHECK(linnet_greedy_create(NULL, 3, &greedy) == LINNET_ERROR_ARGUMENT, "no context");
  CHECK(linnet_greedy_create(context, 3, NULL) == LINNET_ERROR_ARGUMENT, "no result");
  REQUIRE(linnet_greedy_create(context, 3, &greedy) == LINNET_OK, "create");
  CHECK(linnet_greedy_accept(greedy, NULL, 1) == LINNET_ERROR_ARGUMENT, "no rows");
  CHECK(linnet_greedy_accept(NULL, NULL, 0) == LINNET_ERROR_ARGUMENT, "no decoder");
  check_segments(greedy, NULL, 0, 0);
  linnet_greedy_destroy(greedy);
  linnet_greedy_destroy(NULL);
  linnet_context_destroy(context);
}

static enum linnet_status scenario(struct linnet_context *context) {
  float rows[100][3];
  for (size_t t = 0; t < 100; t++)
    for (size_t v = 0; v < 3; v++)
      rows[t][v] = t % 3 == v ? 0 : -9;
  struct linnet_greedy *greedy;
  enum linnet_status status = linnet_greedy_create(context, 3, &greedy);
  if (status == LINNET_OK)
    status = linnet_greedy_accept(greedy, rows[0], 100);
  linnet_greedy_destroy(greedy);
  return status;
}

int main(void) {
  test_random_chunks();
  test_growing();
  test_drop();
  test_blank_penalty();
  test_not_finite();
  test_warm();
  test_arguments();
  torture("greedy", scenario);
  return test_result();
}
