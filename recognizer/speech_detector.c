/* Follows the level of the noise by minimums and the level of speech by maximums. */
#include "recognizer/speech_detector.h"

#include <math.h>

/* Changes of the estimates: towards a level beyond them within frames, otherwise so slowly that a long word does not
 * become noise, and a pause does not make the noise speech. */
static const double noise_fall = 0.2, speech_rise = 0.5; /* of the difference, per frame */
static const double noise_rise = 1, speech_fall = 1;     /* dB per second */

/* A stream may begin with speech: the noise is first assumed to be lower by `unknown`, and the estimate soon rises if
 * it is not. */
static const double unknown = 20, early_rise = 10, early = 2; /* dB, dB per second, seconds */

/* The threshold lies between noise and speech, nearer to the noise; at most `range` below speech, where there is no
 * noise to speak of, and well above steady noise. */
static const double share = 0.2, range = 35, margin = 3; /* dB */

static void follow(struct linnet_speech_detector *d, double level, double seconds) {
  const double rise = d->seconds < early ? early_rise : noise_rise;
  if (d->seconds == 0)
    *d = (struct linnet_speech_detector){.noise = level - unknown, .speech = level};
  d->seconds += seconds;
  d->noise += level < d->noise ? noise_fall * (level - d->noise) : fmin(rise * seconds, level - d->noise);
  d->speech += level > d->speech ? speech_rise * (level - d->speech) : fmax(-speech_fall * seconds, level - d->speech);
}

bool linnet_speech_detect(struct linnet_speech_detector *d, double level, double seconds) {
  if (!isfinite(level)) /* would stay in the estimates */
    return false;
  follow(d, level, seconds);
  return level > fmax(d->noise + fmax(share * (d->speech - d->noise), margin), d->speech - range);
}
