/* Shortens silences: removes their frames from the input of the network, and inserts blanks for them into its
 * output. */
#ifndef LINNET_SILENCE_H
#define LINNET_SILENCE_H

#include <linnet/encoder.h>
#include <linnet/features.h>

#include <stdbool.h>

struct linnet_silence; /* the output frames of an utterance that are removed */

struct linnet_silence_rule {
  /* A silence longer than this many frames is shortened to them, half of them at each end. 0: all silences stay. */
  size_t keep;
  /* Whether the silences at the beginning and at the end of the utterance are shortened to `edge` frames. Then an
   * output frame begins at the middle of the loudest 20 frames. */
  bool edges;
  /* With `edges`, this many frames stay before the first frame with speech and after the last one. */
  size_t edge;
  /* The number of input frames of an output frame. */
  size_t stride;
};

/* Finds silences in features (frames, dim), which are log-mel energies before normalisation. With `edges`, the input of
 * the network does not depend on the length of the silence around speech. For this, the length must be a whole number
 * of frames above `edge`. Less than `stride` frames at either end may be removed although they are close to speech. An
 * output frame is then up to `stride` / 2 frames early or late. *silence is NULL if no frame is removed. Release it
 * with linnet_silence_destroy. */
enum linnet_status linnet_silence_find(struct linnet_context *context, const float *features, size_t frames, size_t dim,
                                       struct linnet_silence_rule rule, struct linnet_silence **silence);
void linnet_silence_destroy(struct linnet_silence *silence);

/* Removes these silences from features (frames, dim) in place, and returns the number of remaining frames. */
size_t linnet_silence_remove(const struct linnet_silence *silence, float *features, size_t frames, size_t dim);

/* Passes the posteriors (frames, symbols) of the remaining frames to `sink`, with blanks for the frames that were
 * removed before them. A call with 0 frames adds the blanks at the end. Returns the sink's result if it is not 0, and 1
 * if memory is missing. */
int linnet_silence_restore(struct linnet_silence *silence, const float *log_posteriors, size_t frames, size_t symbols,
                           linnet_posterior_fn sink, void *user);

/* --- lengths ------------------------------------------------------------------------------------------------------ */

/* The lengths of silence that recognition keeps: those of the model's features, or those of settings. */

struct linnet_silence_lengths {
  double max_silence, edge_silence; /* seconds, as in struct linnet_feature_config */
};

/* Of settings: NULL means as the model. LINNET_ERROR_LIMIT, naming `name` and the member, if a length is not a number
 * from 0 to LINNET_MAX_SILENCE. */
enum linnet_status linnet_silence_lengths_check(struct linnet_context *context, const char *name,
                                                const double *max_silence, const double *edge_silence);

/* The lengths of `features`, unless the settings give others. */
struct linnet_silence_lengths linnet_silence_lengths_of(const struct linnet_feature_config *features,
                                                        const double *max_silence, const double *edge_silence);

#endif
