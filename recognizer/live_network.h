/* A causal network that runs while features arrive: in blocks of the frames that are there, with restarts between two
 * rows. Several networks run together, with one pass over the weights for a block of each. The rows depend neither on
 * the division into calls nor on that into blocks, nor on the networks beside it. */
#ifndef LINNET_RECOGNIZER_LIVE_NETWORK_H
#define LINNET_RECOGNIZER_LIVE_NETWORK_H

#include <stdint.h>

#include <linnet/recurrence.h>

struct linnet_live_network;

/* Receives a row of log-posteriors (num_symbols) and its index in the utterance. Another status than LINNET_OK ends the
 * call. */
typedef enum linnet_status (*linnet_row_fn)(void *user, const float *log_posteriors, size_t index);

/* `batch` (context, model) is for networks that run together, and must outlive them; NULL: the network has its own. */
enum linnet_status linnet_live_network_create(struct linnet_context *context, const struct linnet_model *model,
                                              struct linnet_recurrence_batch *batch, linnet_row_fn receive, void *user,
                                              struct linnet_live_network **network);
void linnet_live_network_destroy(struct linnet_live_network *network); /* NULL is allowed */

/* Needed before the first linnet_live_network_restart. */
enum linnet_status linnet_live_network_allow_restarts(struct linnet_live_network *network);

/* The network starts anew with the first frame that the rows so far did not need: from the receiver of rows, after the
 * row that it receives; between two calls, after the last row. The rows still pending for earlier frames come first, so
 * that each frame has its row. */
void linnet_live_network_restart(struct linnet_live_network *network);

/* The part of a network in a run of several. */
struct linnet_live_input {
  struct linnet_live_network *network;
  const float *features;     /* (frames, num_mel), normalised; what the network has not taken yet */
  size_t frames;             /* 0 after the run */
  enum linnet_status status; /* result; must be LINNET_OK before the run */
};

/* The input that failed first, and its error sentence, which inputs that go on may replace in the context. */
struct linnet_live_failure {
  size_t input; /* SIZE_MAX: none */
  char reason[LINNET_ERROR_BYTES];
};

/* Stores the failure of an input, if there is none yet. */
void linnet_live_failure_note(struct linnet_live_failure *failure, const struct linnet_context *context, size_t input);

/* Runs the frames of different networks of one batch. If one fails, the others go on. `blocks` (count) is scratch
 * memory. Can be cancelled between blocks. */
void linnet_live_networks_run(struct linnet_live_input *inputs, struct linnet_recurrence_input *blocks, size_t count,
                              struct linnet_live_failure *failure);

/* Ends the utterance. */
enum linnet_status linnet_live_network_finish(struct linnet_live_network *network);

/* The number of frames that the network had taken when it computed the row that the receiver sees, or that it has
 * taken. */
uint64_t linnet_live_network_num_taken(const struct linnet_live_network *network);

void linnet_live_network_reset(struct linnet_live_network *network);

#endif
