/* A causal network that runs while features arrive: in blocks of the frames that are there, with restarts between two
 * rows. The rows depend neither on the division into calls nor on that into blocks. */
#ifndef LINNET_RECOGNIZER_LIVE_NETWORK_H
#define LINNET_RECOGNIZER_LIVE_NETWORK_H

#include <stdint.h>

#include <linnet/recurrence.h>

struct linnet_live_network;

/* Receives a row of log-posteriors (num_symbols) and its index in the utterance. Another status than LINNET_OK ends the
 * call. */
typedef enum linnet_status (*linnet_row_fn)(void *user, const float *log_posteriors, size_t index);

enum linnet_status linnet_live_network_create(struct linnet_context *context, const struct linnet_model *model,
                                              linnet_row_fn receive, void *user, struct linnet_live_network **network);
void linnet_live_network_destroy(struct linnet_live_network *network); /* NULL is allowed */

/* Needed before the first linnet_live_network_restart. */
enum linnet_status linnet_live_network_allow_restarts(struct linnet_live_network *network);

/* From the receiver of rows: the network starts anew with the first frame that it had not taken before this row. The
 * rows still pending for earlier frames come first, so that each frame has its row. */
void linnet_live_network_restart(struct linnet_live_network *network);

/* Takes normalised features (frames, num_mel). Can be cancelled between blocks. */
enum linnet_status linnet_live_network_run(struct linnet_live_network *network, const float *features, size_t frames);

/* Ends the utterance. */
enum linnet_status linnet_live_network_finish(struct linnet_live_network *network);

/* The number of frames that the network had taken when it computed the row that the receiver sees, or that it has
 * taken. */
uint64_t linnet_live_network_num_taken(const struct linnet_live_network *network);

void linnet_live_network_reset(struct linnet_live_network *network);

#endif
