/* Adds sinusoidal positions to the rows of a matrix. */
#include "ops/position.h"

/* Within a stretch of STRETCH frames, sine and cosine of a frame are computed from those of the previous frame by a
 * rotation in double. The error stays below 1e-14, and the values depend on the position only. */
enum { STRETCH = 64 };

struct turn {
  double sine, cosine, step_sine, step_cosine;
};

static struct turn turn_start(size_t t, double frequency) {
  double angle = (double)t * frequency;
  return (struct turn){sin(angle), cos(angle), sin(frequency), cos(frequency)};
}

static void turn_step(struct turn *turn) {
  double sine = turn->sine * turn->step_cosine + turn->cosine * turn->step_sine;
  turn->cosine = turn->cosine * turn->step_cosine - turn->sine * turn->step_sine;
  turn->sine = sine;
}

/* Adds one pair of columns over rows [first, end) of a stretch that begins at `start`. */
static void add_pair(size_t start, size_t first, size_t end, double frequency, size_t width, bool cosine, real *x) {
  struct turn turn = turn_start(start, frequency);
  for (size_t t = start; t < end; t++, turn_step(&turn)) {
    if (t < first)
      continue;
    x[(t - first) * width] += (real)turn.sine;
    if (cosine)
      x[(t - first) * width + 1] += (real)turn.cosine;
  }
}

void linnet_add_positions(size_t first, size_t rows, size_t width, real *x) {
  size_t end = first + rows;
  for (size_t start = first / STRETCH * STRETCH; start < end; start += STRETCH) {
    size_t from = start < first ? first : start, to = start + STRETCH < end ? start + STRETCH : end;
    for (size_t c = 0; c < width; c += 2)
      add_pair(start, from, to, pow(10000, -(double)c / (double)width), width, c + 1 < width,
               x + (from - first) * width + c);
  }
}
