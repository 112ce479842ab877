/* Dropout: compares the generator with published numbers, and the mask of every table with its definition, bit for bit.
 * Checks that the mask does not depend on how rows are divided, its rate, and the scale of the remaining elements. */
#include "base/philox.h"
#include "ops/dropout.h"
#include "tables.h"

/* --- Philox4x32-10: the test vectors of Random123 ----------------------------------------------------------------- */

static void check_philox(void) {
  static const struct {
    uint64_t key, high, low;
    uint32_t words[4];
  } known[] = {
      {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct linnet_philox got = linnet_philox(known[i].key, known[i].high, known[i].low);
    CHECK(memcmp(got.word, known[i].words, sizeof got.word) == 0, "vector %zu: %08x %08x %08x %08x", i, got.word[0],
          got.word[1], got.word[2], got.word[3]);
  }
  CHECK(linnet_philox_uniform(0) == 0 && linnet_philox_uniform(UINT32_MAX) < 1, "uniform");
}

/* --- the mask ----------------------------------------------------------------------------------------------------- */

/* As lib/ops/dropout.c describes it. */
static bool is_kept(const struct linnet_dropout *d, uint64_t element) {
  struct linnet_philox random = linnet_philox(d->seed, (uint64_t)d->step << 32 | d->site, element / 8);
  uint32_t draw = random.word[element % 8 / 2] >> element % 2 * 16 & 0xFFFF;
  return draw >= (uint32_t)floor(d->rate * 65536 + 0.5);
}

static const struct mask_case {
  size_t rows, width;
  struct linnet_dropout d;
} cases[] = {
    {0, 5, {0.5, 1, 1, 0, 0}},         {1, 1, {0.5, 1, 1, 0, 0}},
    {1, 1, {0.5, 1, 1, 0, 3}},         {7, 5, {0.3, 2, 9, 4, 1}},
    {64, 24, {0.1, 3, 0, 1, 0}},       {33, 7, {0.1, UINT64_MAX, UINT32_MAX, UINT32_MAX, 11}},
    {5, 192, {0.9, 4, 7, 8, 1000000}}, {9, 768, {0.2, 5, 123456, 17, UINT64_C(1) << 40}},
    {3, 100, {0.00002, 6, 1, 2, 3}},   {3, 13, {0, 6, 1, 2, 3}},
};

/* Every table gives the same bits: elements that are not dropped are x / (1 - rate), with the rate rounded to 2^-16,
 * plus the residual. */
static void check_case(const struct linnet_ops *ops, const struct mask_case *c, bool residual, bool in_place) {
  size_t n = c->rows * c->width, wrong = 0;
  struct test_random r = {c->d.seed};
  float *x = test_alloc(n, sizeof *x), *rest = test_alloc(n, sizeof *rest), *y = test_alloc(n, sizeof *y);
  float *before = test_alloc(n, sizeof *before);
  double threshold = floor(c->d.rate * 65536 + 0.5) / 65536;
  float scale = (float)(1 / (1 - threshold));
  test_fill(&r, x, n);
  test_fill(&r, rest, n);
  memcpy(before, x, n * sizeof *x);
  ops->dropout(&c->d, c->rows, c->width, x, residual ? rest : NULL, in_place ? x : y);
  for (size_t i = 0; i < n; i++) {
    float value = is_kept(&c->d, c->d.row * c->width + i) ? before[i] * scale : 0;
    wrong += (in_place ? x : y)[i] != (residual ? rest[i] + value : value);
  }
  CHECK(wrong == 0, "%s: %zu of %zu elements are wrong: (%zu, %zu), rate %g, seed %llu, row %llu%s%s", ops->name, wrong,
        n, c->rows, c->width, c->d.rate, (unsigned long long)c->d.seed, (unsigned long long)c->d.row,
        residual ? ", residual" : "", in_place ? ", in place" : "");
  free(x);
  free(rest);
  free(y);
  free(before);
}

static void check_masks(const struct linnet_ops *ops) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int variant = 0; variant < 4; variant++)
      check_case(ops, &cases[i], variant & 1, variant & 2);
}

/* y may be the residual. */
static void check_residual_in_place(const struct linnet_ops *ops) {
  const struct linnet_dropout d = {0.25, 8, 2, 6, 5};
  float x[21 * 3], apart[21 * 3], together[21 * 3];
  struct test_random r = {9};
  test_fill(&r, x, 63);
  test_fill(&r, together, 63);
  ops->dropout(&d, 3, 21, x, together, apart);
  ops->dropout(&d, 3, 21, x, together, together);
  CHECK(memcmp(apart, together, sizeof apart) == 0, "%s: y = residual", ops->name);
}

/* --- independence of the division --------------------------------------------------------------------------------- */

static void check_shards(const struct linnet_ops *ops, size_t width) {
  enum { ROWS = 50 };
  static const size_t cuts[] = {0, 1, 2, 9, 16, 17, 40, ROWS};
  struct linnet_dropout d = {0.4, 77, 5, 3, 1000};
  size_t n = ROWS * width;
  struct test_random r = {width};
  float *x = test_alloc(n, sizeof *x), *whole = test_alloc(n, sizeof *whole), *parts = test_alloc(n, sizeof *parts);
  test_fill(&r, x, n);
  ops->dropout(&d, ROWS, width, x, NULL, whole);
  for (size_t i = sizeof cuts / sizeof *cuts - 1; i-- > 0;) { /* last first: order does not matter */
    d.row = 1000 + cuts[i];
    ops->dropout(&d, cuts[i + 1] - cuts[i], width, x + cuts[i] * width, NULL, parts + cuts[i] * width);
  }
  CHECK(memcmp(whole, parts, n * sizeof *whole) == 0, "%s: the mask depends on the cut, width %zu", ops->name, width);
  free(x);
  free(whole);
  free(parts);
}

/* --- statistics --------------------------------------------------------------------------------------------------- */

enum { DRAWS = 1 << 20 };

static float *ones, *kept, *others;

/* Number of dropped elements, and of elements for which two masks agree. */
static size_t dropped(const float *y) {
  size_t count = 0;
  for (size_t i = 0; i < DRAWS; i++)
    count += y[i] == 0;
  return count;
}

static size_t alike(const float *y, const float *z) {
  size_t count = 0;
  for (size_t i = 0; i < DRAWS; i++)
    count += (y[i] == 0) == (z[i] == 0);
  return count;
}

static void check_count(const struct linnet_ops *ops, const char *what, double rate, size_t count, double probability) {
  double deviation = fabs((double)count / DRAWS - probability) / sqrt(probability * (1 - probability) / DRAWS);
  CHECK(deviation < 4.5, "%s, rate %g, %s: %zu of %d, %.1f standard deviations off, bound 4.5", ops->name, rate, what,
        count, DRAWS, deviation);
}

static void check_statistics(const struct linnet_ops *ops, double rate) {
  const struct linnet_dropout d = {rate, 20, 1, 2, 0};
  const struct linnet_dropout others_[] = {{rate, 21, 1, 2, 0},
                                           {rate, 20, 2, 2, 0},
                                           {rate, 20, 1, 3, 0},
                                           {rate, 20, 1, 2, 1},
                                           {rate, 20 + (UINT64_C(1) << 32), 1, 2, 0}};
  static const char *const names[] = {"another seed", "another step", "another site", "the next row", "seed + 2^32"};
  double sum = 0;
  ops->dropout(&d, DRAWS / 64, 64, ones, NULL, kept);
  for (size_t i = 0; i < DRAWS; i++)
    sum += kept[i];
  check_count(ops, "dropped", rate, dropped(kept), rate);
  double error = fabs(sum / DRAWS - 1), bound = 4.5 * sqrt(rate / (1 - rate) / DRAWS);
  CHECK(error < bound, "%s, rate %g: the mean is off by %.2e, bound %.2e", ops->name, rate, error, bound);
  for (size_t i = 0; i < sizeof others_ / sizeof *others_; i++) {
    ops->dropout(&others_[i], DRAWS / 64, 64, ones, NULL, others);
    check_count(ops, names[i], rate, alike(kept, others), rate * rate + (1 - rate) * (1 - rate));
  }
}

static void check_table(const struct linnet_ops *ops) {
  static const size_t widths[] = {1, 3, 5, 8, 24, 100, 192};
  static const double rates[] = {0.1, 0.5, 0.9};
  check_masks(ops);
  check_residual_in_place(ops);
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
    check_shards(ops, widths[i]);
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
    check_statistics(ops, rates[i]);
}

int main(void) {
  ones = test_alloc(DRAWS, sizeof *ones);
  kept = test_alloc(DRAWS, sizeof *kept);
  others = test_alloc(DRAWS, sizeof *others);
  for (size_t i = 0; i < DRAWS; i++)
    ones[i] = 1;
  check_philox();
  test_each_table(check_table);
  free(ones);
  free(kept);
  free(others);
  return test_result();
}
