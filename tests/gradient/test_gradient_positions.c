/* Positions in double, where errors of the rotation from frame to frame would be visible: they equal sine and cosine of
 * each angle, and any division of the rows gives the same bits. */
#include "gradient.h"
#include "ops/position.h"

enum { ROWS = 200, WIDTH = 24, HOUR = 360000 };

/* The relative error of an angle in double is 5e-17. */
#define BOUND 1e-10
#define BOUND_BEGINNING 1e-13

static double position(size_t t, size_t c) {
  long double angle = (long double)t * powl(10000, -(long double)(c / 2 * 2) / WIDTH);
  return (double)(c % 2 ? cosl(angle) : sinl(angle));
}

static void check_values(size_t first, const real *x, double bound) {
  double worst = 0;
  for (size_t i = 0; i < ROWS * WIDTH; i++)
    worst = fmax(worst, fabs(x[i] - position(first + i / WIDTH, i % WIDTH)));
  printf("positions from %6zu: error %.1e, bound %.0e\n", first, worst, bound);
  CHECK(worst <= bound, "positions from %zu: error %.3e, bound %.0e", first, worst, bound);
}

static void check_cut(size_t first, size_t piece, const real *whole) {
  real parts[ROWS * WIDTH] = {0};
  for (size_t t = 0; t < ROWS; t += piece)
    linnet_add_positions(first + t, t + piece < ROWS ? piece : ROWS - t, WIDTH, parts + t * WIDTH);
  CHECK(memcmp(whole, parts, sizeof parts) == 0, "from %zu on, pieces of %zu rows differ", first, piece);
}

int main(void) {
  static const size_t firsts[] = {0, 1, 63, 64, 1000, HOUR - 100}, pieces[] = {1, 3, 63, 64, 65, 128, 199};
  for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
    real whole[ROWS * WIDTH] = {0};
    linnet_add_positions(firsts[i], ROWS, WIDTH, whole);
    check_values(firsts[i], whole, firsts[i] < 100 ? BOUND_BEGINNING : BOUND);
    for (size_t j = 0; j < sizeof pieces / sizeof *pieces; j++)
      check_cut(firsts[i], pieces[j], whole);
  }
  return test_result();
}
