/* Long silences that a network does not hear: their frames are left out of what it gets, and come back as blanks among
 * what it gives. */
#ifndef LINNET_SILENCE_H
#define LINNET_SILENCE_H

#include <linnet/encoder.h>

struct linnet_silence; /* which output frames of an utterance are left out */

/* Finds them in features (frames, dim), log-mel energies that are not normalised: of a silence longer than `keep`
 * frames half of `keep` stays at either end. An output frame stands for `stride` input frames. *silence is NULL where
 * nothing is left out. Release it with linnet_silence_destroy. */
enum linnet_status linnet_silence_find(struct linnet_context *context, const float *features, size_t frames, size_t dim,
                                       size_t keep, size_t stride, struct linnet_silence **silence);
void linnet_silence_destroy(struct linnet_silence *silence);

/* Removes them from features (frames, dim), in place, and returns the number of frames that are left. */
size_t linnet_silence_remove(const struct linnet_silence *silence, float *features, size_t frames, size_t dim);

/* Hands posteriors (frames, symbols) of what is left to `sink`, with blanks where frames were left out before them;
 * no frames: the blanks at the end. Returns what the sink returned if it is not 0, and 1 without memory. */
int linnet_silence_restore(struct linnet_silence *silence, const float *log_posteriors, size_t frames, size_t symbols,
                           linnet_posterior_fn sink, void *user);

#endif
