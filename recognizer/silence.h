/* Shortens long silences: removes their frames from the input of the network, and inserts blanks for them into its
 * output. */
#ifndef LINNET_SILENCE_H
#define LINNET_SILENCE_H

#include <linnet/encoder.h>

struct linnet_silence; /* the output frames of an utterance that are left out */

/* Finds long silences in features (frames, dim), which are log-mel energies before normalisation. Of a silence longer
 * than `keep` frames, `keep` / 2 frames stay at each end. An output frame consists of `stride` input frames. *silence
 * is NULL if nothing is left out. Release it with linnet_silence_destroy. */
enum linnet_status linnet_silence_find(struct linnet_context *context, const float *features, size_t frames, size_t dim,
                                       size_t keep, size_t stride, struct linnet_silence **silence);
void linnet_silence_destroy(struct linnet_silence *silence);

/* Removes these silences from features (frames, dim) in place, and returns the number of remaining frames. */
size_t linnet_silence_remove(const struct linnet_silence *silence, float *features, size_t frames, size_t dim);

/* Passes the posteriors (frames, symbols) of the remaining frames to `sink`, with blanks for the frames that were left
 * out before them. A call with 0 frames adds the blanks at the end. Returns the sink's result if it is not 0, and 1 if
 * memory is missing. */
int linnet_silence_restore(struct linnet_silence *silence, const float *log_posteriors, size_t frames, size_t symbols,
                           linnet_posterior_fn sink, void *user);

#endif
