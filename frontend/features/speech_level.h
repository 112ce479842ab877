/* The level of frames of log-mel energies, and which frames are speech by their level. */
#ifndef LINNET_SPEECH_LEVEL_H
#define LINNET_SPEECH_LEVEL_H

#include <stddef.h>

/* The largest of a frame's energies. */
float linnet_frame_level(const float *frame, size_t dim);

/* The level above which a frame of the utterance, features (frames, dim), holds speech: `range` dB below the level of
 * the utterance, which is the log of the mean power of its 20 loudest frames in a row, and at least the floor of the
 * logarithm. */
double linnet_speech_threshold(const float *features, size_t frames, size_t dim, double range);

/* The level below which frames of the utterance are silence, at its ends or between words: 35 dB below the level of the
 * utterance, or 5 dB above its background noise if that is more, but at least 20 dB below the level of the utterance. A
 * twentieth of all windows of 10 frames without digital silence are softer than the noise. */
double linnet_silence_threshold(const float *features, size_t frames, size_t dim);

/* The middle of these 20 loudest frames, which is the 11th; of all frames if there are fewer. Of windows of equal
 * level, the first counts. */
size_t linnet_loudest_frame(const float *features, size_t frames, size_t dim);

#endif
