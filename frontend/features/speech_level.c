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

/* Log power of the loudest window; if the utterance is shorter than a window, of the whole utterance. */
static double utterance_level(const float *features, size_t frames, size_t dim) {
  double window[LEVEL_WINDOW], loudest = 0;
  size_t length = frames < LEVEL_WINDOW ? frames : LEVEL_WINDOW;
  for (size_t t = 0; t < frames; t++) {
    window[t % LEVEL_WINDOW] = exp((double)linnet_frame_level(features + t * dim, dim));
    if (t + 1 >= length)
      loudest = fmax(loudest, mean(window, length));
  }
  return log(loudest);
}

double linnet_speech_threshold(const float *features, size_t frames, size_t dim, double range) {
  return fmax(utterance_level(features, frames, dim) - range * log(10) / 10, log_floor);
}
