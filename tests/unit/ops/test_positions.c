/* Compares sinusoidal positions with sine and cosine of each angle in long double, up to an hour of frames. Any
 * division of the rows gives the same bits; the op adds to its output. */
#include "ops/position.h"
#include "tables.h"

enum { HOUR = 360000 };

static double position(size_t t, size_t c, size_t width) {
  long double angle = (long double)t * powl(10000, -(long double)(c / 2 * 2) / (long double)width);
  return (double)(c % 2 ? cosl(angle) : sinl(angle));
}

static float *zeros(size_t n) {
  float *x = test_alloc(n, sizeof *x);
  memset(x, 0, n * sizeof *x);
  return x;
}

/* Half an ulp of a float below 1 is 3e-8. */
static void check_values(size_t first, size_t rows, size_t width) {
  float *x = zeros(rows * width);
  double worst = 0;
  char name[64];
  linnet_add_positions(first, rows, width, x);
  for (size_t i = 0; i < rows * width; i++)
    worst = fmax(worst, fabs(x[i] - position(first + i / width, i % width, width)));
  snprintf(name, sizeof name, "frames %zu to %zu, width %zu", first, first + rows, width);
  test_bound("positions", name, worst, 3.1e-8);
  free(x);
}

/* An hour in one call; every 211th row is compared, and all of the last second. */
static void check_hour(size_t width) {
  float *x = zeros((size_t)HOUR * width);
  double worst = 0;
  linnet_add_positions(0, HOUR, width, x);
  for (size_t t = 0; t < HOUR; t += t < HOUR - 100 - 211 ? 211 : 1)
    for (size_t c = 0; c < width; c++)
      worst = fmax(worst, fabs(x[t * width + c] - position(t, c, width)));
  test_bound("positions", "an hour of frames", worst, 3.1e-8);
  free(x);
}

static void check_cut(size_t first, size_t rows, size_t width, size_t piece) {
  size_t n = rows * width;
  float *whole = zeros(n), *parts = zeros(n);
  linnet_add_positions(first, rows, width, whole);
  for (size_t t = 0; t < rows; t += piece)
    linnet_add_positions(first + t, t + piece < rows ? piece : rows - t, width, parts + t * width);
  CHECK(memcmp(whole, parts, n * sizeof *whole) == 0, "rows %zu + %zu, width %zu: pieces of %zu differ", first, rows,
        width, piece);
  free(whole);
  free(parts);
}

static void check_added(void) {
  enum { N = 70 * 6 };
  float x[N], bare[N] = {0}, before[N];
  struct test_random r = {3};
  size_t wrong = 0;
  test_fill(&r, x, N);
  memcpy(before, x, sizeof x);
  linnet_add_positions(5, 70, 6, x);
  linnet_add_positions(5, 70, 6, bare);
  for (size_t i = 0; i < N; i++)
    wrong += x[i] != before[i] + bare[i];
  CHECK(wrong == 0, "%zu of %d values are not what was there plus the position", wrong, N);
  linnet_add_positions(5, 0, 6, x);
  CHECK(x[0] == before[0] + bare[0], "no rows, but something was added");
}

int main(void) {
  static const size_t widths[] = {1, 2, 3, 7, 24, 192}, firsts[] = {0, 1, 63, 64, 1000, HOUR - 100};
  static const size_t pieces[] = {1, 3, 63, 64, 65, 128, 199};
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
    for (size_t j = 0; j < sizeof firsts / sizeof *firsts; j++)
      check_values(firsts[j], 200, widths[i]);
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
    for (size_t j = 0; j < sizeof firsts / sizeof *firsts; j++)
      check_cut(firsts[j], 200, 24, pieces[i]);
  check_hour(16);
  check_added();
  return test_result();
}
