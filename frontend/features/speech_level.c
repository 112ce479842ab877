/* Estimates the level of each frame and the threshold above which a frame counts as speech. */
#include "frontend/features/speech_level.h"

#include <math.h>

enum { LEVEL_WINDOW = 20, NOISE_WINDOW = 10 }; /* frames */
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

/* The powers of the last frames. */
struct window {
  double powers[LEVEL_WINDOW];
  size_t length;
};

/* The whole utterance, if it is shorter than the length. */
static struct window start_window(size_t length, size_t frames) {
  return (struct window){.length = frames < length ? frames : length};
}

/* Takes frame t, and returns the mean power of the window that ends there; 0 if it would begin before frame 0. */
static double slide(struct window *window, const float *frame, size_t t, size_t dim) {
  window->powers[t % window->length] = exp((double)linnet_frame_level(frame, dim));
  return t + 1 >= window->length ? mean(window->powers, window->length) : 0;
}

struct loudest {
  double power;
  size_t middle; /* frame */
};

/* The loudest window. The mean is a sum in an order that depends on the frame's index, so windows of equal frames may
 * differ by rounding. The margin makes the first of them the loudest, however many frames come before it. */
static struct loudest find_loudest(const float *features, size_t frames, size_t dim) {
  const double margin = 1 + 1e-12;
  double first_power = 0;
  struct loudest loudest = {0, 0};
  struct window window = start_window(LEVEL_WINDOW, frames);
  for (size_t t = 0; t < frames; t++) {
    double power = slide(&window, features + t * dim, t, dim);
    loudest.power = fmax(loudest.power, power);
    if (power > first_power * margin) {
      first_power = power;
      loudest.middle = t + 1 - window.length + window.length / 2;
    }
  }
  return loudest;
}

/* x dB as a difference of levels, which are natural logarithms of power. */
static double decibels(double x) {
  return x * log(10) / 10;
}

double linnet_speech_threshold(const float *features, size_t frames, size_t dim, double range) {
  return fmax(log(find_loudest(features, frames, dim).power) - decibels(range), log_floor);
}

size_t linnet_loudest_frame(const float *features, size_t frames, size_t dim) {
  return find_loudest(features, frames, dim).middle;
}

/* --- background noise --------------------------------------------------------------------------------------------- */

enum { LEVEL_BINS = 512, QUIET_PART = 20 };
static const double bin_width = 0.1; /* 0.43 dB: from the floor, the bins reach above all levels of 16-bit audio */

static size_t bin_of(double power) {
  return (size_t)fmin(fmax((log(power) - log_floor) / bin_width, 0), LEVEL_BINS - 1);
}

/* The level below which a twentieth of all windows without digital silence are. So the noise of a recording does not
 * depend on the silence around it. */
static double noise_level(const float *features, size_t frames, size_t dim) {
  size_t counts[LEVEL_BINS] = {0}, total = 0, below = 0, bin = 0, sound = 0; /* frames since digital silence */
  struct window window = start_window(NOISE_WINDOW, frames);
  for (size_t t = 0; t < frames; t++) {
    const double power = slide(&window, features + t * dim, t, dim);
    sound = linnet_frame_level(features + t * dim, dim) > log_floor ? sound + 1 : 0;
    if (sound < window.length)
      continue;
    counts[bin_of(power)]++;
    total++;
  }
  while (bin < LEVEL_BINS - 1 && QUIET_PART * (below += counts[bin]) < total)
    bin++;
  return log_floor + bin_width * (double)bin;
}

double linnet_silence_threshold(const float *features, size_t frames, size_t dim) {
  const double range = 35, least_range = 20, above_noise = 5; /* dB */
  const double peak = linnet_speech_threshold(features, frames, dim, 0);
  const double noise = noise_level(features, frames, dim) + decibels(above_noise);
  return fmax(fmax(peak - decibels(range), log_floor), fmin(noise, peak - decibels(least_range)));
}
