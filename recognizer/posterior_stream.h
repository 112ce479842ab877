/* Internal functions of linnet_stream for recognizer streams. */
#ifndef LINNET_POSTERIOR_STREAM_H
#define LINNET_POSTERIOR_STREAM_H

#include <stdint.h>

#include <linnet/stream.h>

/* Receives features (frames, num_mel) before their normalisation, each frame before the posteriors that depend on it.
 * Another status than LINNET_OK ends the call that took the audio. */
typedef enum linnet_status (*linnet_feature_fn)(void *user, const float *features, size_t frames);

/* NULL removes the listener. */
void linnet_stream_set_listener(struct linnet_stream *stream, linnet_feature_fn listener, void *user);

/* From a sink: the number of frames of features that the network had taken, since the reset, when it could compute the
 * last of the rows that the sink receives. */
uint64_t linnet_stream_num_taken(const struct linnet_stream *stream);

/* Needed once before linnet_stream_restart_network. */
enum linnet_status linnet_stream_allow_restarts(struct linnet_stream *stream);

/* From a sink: restarts a causal network after the row that the sink receives. The posteriors still pending for earlier
 * audio come first, so that each frame has its row. Other networks ignore the call. */
void linnet_stream_restart_network(struct linnet_stream *stream);

#endif
