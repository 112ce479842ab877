/* Finds endpoints (linnet/endpoint.h) from features and posteriors, frame by frame. */
#ifndef LINNET_RECOGNIZER_ENDPOINT_H
#define LINNET_RECOGNIZER_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include <linnet/endpoint.h>

/* Checked settings, with their rules. */
struct linnet_endpoint_rules {
  struct linnet_endpoint_settings settings; /* its pointer points to `rules` */
  struct linnet_endpoint_rule rules[LINNET_ENDPOINT_MAX_RULES];
};

/* Copies settings. LINNET_ERROR_ARGUMENT, which names the member, if a value is not possible. The result must not be
 * moved. */
enum linnet_status linnet_endpoint_read(struct linnet_context *context, const struct linnet_endpoint_settings *given,
                                        struct linnet_endpoint_rules *rules);

/* How frames of posteriors follow from frames of features. */
struct linnet_endpoint_frames {
  size_t dim;             /* of features */
  size_t stride;          /* frames of features per frame of posteriors */
  size_t lookahead;       /* frames of features after these that the frame of posteriors also depends on */
  double feature_seconds; /* time between two frames of features */
};

struct linnet_endpoint;

/* `rules` must outlive the object; silences (num_silences) are symbols like the blank, and are copied. */
enum linnet_status linnet_endpoint_create(struct linnet_context *context, const struct linnet_endpoint_rules *rules,
                                          const struct linnet_endpoint_frames *frames, const int *silences,
                                          size_t num_silences, struct linnet_endpoint **endpoint);
void linnet_endpoint_destroy(struct linnet_endpoint *endpoint);

/* Takes features (frames, dim): log energies before normalisation. They come before the posteriors that depend on
 * them. */
enum linnet_status linnet_endpoint_accept_features(struct linnet_endpoint *endpoint, const float *features,
                                                   size_t frames);

/* Whether the last word is complete; called only if all other conditions of a rule hold. */
typedef bool (*linnet_word_end_fn)(void *user);

/* Takes a row of log-posteriors, which the network gave after `taken` frames of features: later ones do not count for
 * it, even if the object has them. So the result does not depend on how many frames came at once. Returns true if the
 * row ends the segment; a new segment then begins with the next row. */
bool linnet_endpoint_step(struct linnet_endpoint *endpoint, const float *log_posteriors, uint64_t taken,
                          linnet_word_end_fn ends_word, void *user);

/* The caller ends the segment: a new one begins with the next row. */
void linnet_endpoint_start_segment(struct linnet_endpoint *endpoint);

/* Starts again: a new stream. */
void linnet_endpoint_reset(struct linnet_endpoint *endpoint);

/* --- speech ------------------------------------------------------------------------------------------------------- */

/* Whether frames have the level of speech, judged frame by frame against running estimates of the levels of speech and
 * of the noise: the level of the noise follows minimums, the level of speech maximums. */

/* Start with zeros. Levels are in dB. */
struct linnet_speech_detector {
  double seconds; /* since the first frame */
  double noise, speech;
};

/* Takes the level of the next frame; `seconds` is the time since the frame before. */
bool linnet_speech_detect(struct linnet_speech_detector *detector, double level, double seconds);

#endif
