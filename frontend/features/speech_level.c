/* Estimates the level of each frame and the threshold above which a frame counts as speech. */
#include "frontend/features/speech_level.h"

#include <math.h>

enum { LEVEL_WINDOW = 20 };
static const float log_floor = -15.9423f; /* ln FLT_EPSILON, rounded up: the filterbank's value of digital silence */

float linnet_frame_level(const float *x, size_t dim) {
  float level = x[0];
  for (size_t i = 1; i < dim; i++)
    level = x[i] > level ? x[i] : level;
  return level;
}

static double mean(const double *x, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += x[i];
  return sum / (double)count;
}

struct loudest {
  double power;
  size_t middle; /* frame */
};

/* The loudest window; if the utterance is shorter than a window, the whole utterance. The mean is a sum in an order
 * that depends on the frame's index, so windows of equal frames may differ by rounding. The margin makes the first of
 * them the loudest, however many frames come before it. */
static struct loudest find_loudest(const float *features, size_t frames, size_t dim) {
  const double margin = 1 + 1e-12;
  double window[LEVEL_WINDOW], first_power = 0;
  struct loudest loudest = {0, 0};
  size_t length = frames < LEVEL_WINDOW ? frames : LEVEL_WINDOW;
  for (size_t t = 0; t < frames; t++) {
    window[t % LEVEL_WINDOW] = exp((double)linnet_frame_level(features + t * dim, dim));
    double power = t + 1 >= length ? mean(window, length) : 0;
    loudest.power = fmax(loudest.power, power);
    if (power > first_power * margin) {
      first_power = power;
      loudest.middle = t + 1 - length + length / 2;
    }
  }
  return loudest;
}

double linnet_speech_threshold(const float *features, size_t frames, size_t dim, double range) {
  return fmax(log(find_loudest(features, frames, dim).power) - range * log(10) / 10, log_floor);
}

size_t linnet_loudest_frame(const float *features, size_t frames, size_t dim) {
  return find_loudest(features, frames, dim).middle;
}
