/* Whether frames have the level of speech, judged frame by frame against running estimates of the levels of speech and
 * of the noise. */
#ifndef LINNET_SPEECH_DETECTOR_H
#define LINNET_SPEECH_DETECTOR_H

#include <stdbool.h>

/* Start with zeros. Levels are in dB. */
struct linnet_speech_detector {
  double seconds; /* since the first frame */
  double noise, speech;
};

/* Takes the level of the next frame; `seconds` is the time since the frame before. */
bool linnet_speech_detect(struct linnet_speech_detector *detector, double level, double seconds);

#endif
