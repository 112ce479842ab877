/* Runs a recurrence in blocks. If the receiver of a row asks for a restart and the block had later frames, the network
 * goes back to its state before the block and takes only the frames up to this row. */
#include "recognizer/live_network.h"

#include <stdbool.h>

#include "base/base.h"
#include "base/numbers.h"

enum { MAX_ROWS = 32 }; /* of a block */

struct linnet_live_network {
  struct linnet_context *context;
  const struct linnet_model *model;
  size_t num_mel;
  linnet_row_fn receive;
  void *user;
  struct linnet_recurrence_batch *batch; /* of the two: */
  struct linnet_recurrence *recurrence;
  struct linnet_recurrence *before; /* the state before the running block; NULL: there are no restarts */
  float *rows;                      /* (MAX_ROWS, num_symbols) */
  uint64_t start, first_row;        /* of the recurrence in the utterance: index of its first frame and row */
  uint64_t taken;                   /* number of frames */
  bool restarts;                    /* the recurrence starts anew before the next frame */
};

/* --- creation and destruction ------------------------------------------------------------------------------------- */

static size_t num_mel_of(const struct linnet_model *model) {
  struct linnet_feature_config config;
  linnet_model_features(model, &config);
  return config.fbank.num_mel;
}

enum linnet_status linnet_live_network_create(struct linnet_context *context, const struct linnet_model *model,
                                              linnet_row_fn receive, void *user, struct linnet_live_network **network) {
  struct linnet_live_network *n = *network = linnet_calloc(context, 1, sizeof *n);
  if (!n)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a stream");
  *n = (struct linnet_live_network){
      .context = context, .model = model, .num_mel = num_mel_of(model), .receive = receive, .user = user};
  n->rows = linnet_alloc(context, MAX_ROWS * linnet_model_num_symbols(model), sizeof *n->rows);
  enum linnet_status status =
      n->rows ? LINNET_OK : linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a stream");
  if (status == LINNET_OK)
    status = linnet_recurrence_batch_create(context, model, MAX_ROWS, &n->batch);
  if (status == LINNET_OK)
    status = linnet_recurrence_batch_open(n->batch, &n->recurrence);
  if (status != LINNET_OK) {
    linnet_live_network_destroy(n);
    *network = NULL;
  }
  return status;
}

enum linnet_status linnet_live_network_allow_restarts(struct linnet_live_network *n) {
  return n->before ? LINNET_OK : linnet_recurrence_batch_open(n->batch, &n->before);
}

void linnet_live_network_reset(struct linnet_live_network *n) {
  linnet_recurrence_reset(n->recurrence);
  n->start = n->first_row = n->taken = 0;
  n->restarts = false;
}

void linnet_live_network_destroy(struct linnet_live_network *n) {
  if (!n)
    return;
  linnet_recurrence_destroy(n->recurrence);
  linnet_recurrence_destroy(n->before);
  linnet_recurrence_batch_destroy(n->batch);
  linnet_free(n->context, n->rows);
  linnet_free(n->context, n);
}

uint64_t linnet_live_network_num_taken(const struct linnet_live_network *n) {
  return n->taken;
}

/* --- the end and restarts ----------------------------------------------------------------------------------------- */

enum linnet_status linnet_live_network_finish(struct linnet_live_network *n) {
  enum linnet_status status = LINNET_OK;
  while (status == LINNET_OK) {
    status = linnet_recurrence_finish(n->recurrence, n->rows);
    if (status == LINNET_OK)
      status = n->receive(n->user, n->rows, (size_t)n->first_row + linnet_recurrence_num_frames(n->recurrence) - 1);
  }
  return status == LINNET_END ? LINNET_OK : status;
}

void linnet_live_network_restart(struct linnet_live_network *n) {
  n->restarts = n->before != NULL;
}

static enum linnet_status restart(struct linnet_live_network *n) {
  LINNET_TRY(linnet_live_network_finish(n));
  n->first_row += linnet_recurrence_num_frames(n->recurrence);
  n->start = n->taken;
  linnet_recurrence_reset(n->recurrence);
  n->restarts = false;
  return LINNET_OK;
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* The number of frames in the next block: it ends with a complete output frame, if there are enough frames. */
static size_t block_frames(const struct linnet_live_network *n, size_t frames) {
  const size_t stride = linnet_model_stride(n->model), first = stride - (size_t)((n->taken - n->start) % stride);
  return frames < first ? frames : first + linnet_min_size((frames - first) / stride, MAX_ROWS - 1) * stride;
}

/* The number of frames that the network has taken when it can compute a row of the recurrence. */
static uint64_t taken_for(const struct linnet_live_network *n, size_t row) {
  const uint64_t entered = row + 1 + linnet_model_lookahead(n->model);
  return n->start + entered * linnet_model_stride(n->model);
}

/* Passes on the rows of a block until the receiver asks for a restart. */
static enum linnet_status pass_on(struct linnet_live_network *n, size_t rows) {
  const size_t first = linnet_recurrence_num_frames(n->recurrence) - rows, symbols = linnet_model_num_symbols(n->model);
  for (size_t i = 0; i < rows && !n->restarts; i++) {
    n->taken = taken_for(n, first + i);
    LINNET_TRY(n->receive(n->user, n->rows + i * symbols, (size_t)n->first_row + first + i));
  }
  return LINNET_OK;
}

/* Runs a block. If the receiver asks for a restart, *frames becomes the number of frames before it. */
static enum linnet_status run_block(struct linnet_live_network *n, const float *features, size_t *frames) {
  const uint64_t first = n->taken, end = first + *frames;
  size_t rows = 0;
  if (n->before && *frames > linnet_model_stride(n->model))
    LINNET_TRY(linnet_recurrence_copy(n->before, n->recurrence));
  LINNET_TRY(linnet_recurrence_accept(n->recurrence, features, *frames, n->rows, &rows));
  LINNET_TRY(pass_on(n, rows));
  if (!n->restarts)
    n->taken = end;
  if (n->taken == end)
    return LINNET_OK;
  *frames = (size_t)(n->taken - first);
  LINNET_TRY(linnet_recurrence_copy(n->recurrence, n->before));
  return linnet_recurrence_accept(n->recurrence, features, *frames, n->rows, &rows);
}

enum linnet_status linnet_live_network_run(struct linnet_live_network *n, const float *features, size_t frames) {
  linnet_poll_begin(n->context);
  for (size_t t = 0, count; t < frames; t += count) {
    LINNET_TRY(linnet_poll_check(n->context));
    if (n->restarts)
      LINNET_TRY(restart(n));
    count = block_frames(n, frames - t);
    LINNET_TRY(run_block(n, features + t * n->num_mel, &count));
  }
  return LINNET_OK;
}
