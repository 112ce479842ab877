/* Runs recurrences in blocks. If the receiver of a row asks for a restart and the block had later frames, the network
 * goes back to its state before the block and takes only the frames up to this row. */
#include "recognizer/live_network.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/base.h"
#include "base/numbers.h"
#include "model/inference/recurrence_state.h"

enum { MAX_ROWS = 32 }; /* of a block of one network */

struct linnet_live_network {
  struct linnet_context *context;
  const struct linnet_model *model;
  size_t num_mel;
  linnet_row_fn receive;
  void *user;
  struct linnet_recurrence_batch *batch; /* of the two recurrences */
  bool owns_batch;
  struct linnet_recurrence *recurrence;
  struct linnet_recurrence *before; /* the state before the running block; NULL: there are no restarts */
  float *kept;               /* (stride, num_mel): frames that a restart passes on; NULL: there are no restarts */
  float *rows;               /* of a block, or of the end: (max_rows, num_symbols) */
  uint64_t start, first_row; /* of the recurrence in the utterance: index of its first frame and row */
  uint64_t taken;            /* number of frames */
  bool restarts;             /* the recurrence starts anew before the next frame */
};

/* --- creation and destruction ------------------------------------------------------------------------------------- */

static size_t num_mel_of(const struct linnet_model *model) {
  struct linnet_feature_config config;
  linnet_model_features(model, &config);
  return config.fbank.num_mel;
}

static enum linnet_status open_parts(struct linnet_live_network *n) {
  const size_t max_rows = linnet_max_size(MAX_ROWS, 1 + linnet_model_lookahead(n->model));
  n->rows = linnet_alloc(n->context, max_rows * linnet_model_num_symbols(n->model), sizeof *n->rows);
  if (!n->rows)
    return linnet_fail(n->context, LINNET_ERROR_MEMORY, "out of memory for a stream");
  if (n->owns_batch)
    LINNET_TRY(linnet_recurrence_batch_create(n->context, n->model, MAX_ROWS, &n->batch));
  return linnet_recurrence_batch_open(n->batch, &n->recurrence);
}

enum linnet_status linnet_live_network_create(struct linnet_context *context, const struct linnet_model *model,
                                              struct linnet_recurrence_batch *batch, linnet_row_fn receive, void *user,
                                              struct linnet_live_network **network) {
  struct linnet_live_network *n = *network = linnet_calloc(context, 1, sizeof *n);
  if (!n)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a stream");
  *n = (struct linnet_live_network){.context = context,
                                    .model = model,
                                    .num_mel = num_mel_of(model),
                                    .receive = receive,
                                    .user = user,
                                    .batch = batch,
                                    .owns_batch = batch == NULL};
  enum linnet_status status = open_parts(n);
  if (status != LINNET_OK) {
    linnet_live_network_destroy(n);
    *network = NULL;
  }
  return status;
}

enum linnet_status linnet_live_network_allow_restarts(struct linnet_live_network *n) {
  if (!n->kept)
    n->kept = linnet_alloc(n->context, linnet_model_stride(n->model) * n->num_mel, sizeof *n->kept);
  if (!n->kept)
    return linnet_fail(n->context, LINNET_ERROR_MEMORY, "out of memory for a stream");
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
  if (n->owns_batch)
    linnet_recurrence_batch_destroy(n->batch);
  linnet_free(n->context, n->kept);
  linnet_free(n->context, n->rows);
  linnet_free(n->context, n);
}

uint64_t linnet_live_network_num_taken(const struct linnet_live_network *n) {
  return n->taken;
}

/* --- the end and restarts ----------------------------------------------------------------------------------------- */

/* Passes on the rows that the recurrence still holds. */
static enum linnet_status flush(struct linnet_live_network *n) {
  struct linnet_recurrence_input end = {.recurrence = n->recurrence, .log_posteriors = n->rows, .finish = 1};
  const size_t symbols = linnet_model_num_symbols(n->model);
  LINNET_TRY(linnet_recurrence_batch_step(n->batch, &end, 1));
  const size_t first = (size_t)n->first_row + linnet_recurrence_num_frames(n->recurrence) - end.num_rows;
  for (size_t i = 0; i < end.num_rows; i++)
    LINNET_TRY(n->receive(n->user, n->rows + i * symbols, first + i));
  return LINNET_OK;
}

void linnet_live_network_restart(struct linnet_live_network *n) {
  n->restarts = n->before != NULL;
}

/* Frames that have not filled an output frame are the first ones of the new start. */
static enum linnet_status restart(struct linnet_live_network *n) {
  const size_t kept = linnet_recurrence_unstack(n->recurrence, n->kept);
  size_t rows;
  n->taken -= kept;
  LINNET_TRY(flush(n));
  n->first_row += linnet_recurrence_num_frames(n->recurrence);
  n->start = n->taken;
  n->taken += kept;
  linnet_recurrence_reset(n->recurrence);
  n->restarts = false;
  return linnet_recurrence_accept(n->recurrence, n->kept, kept, n->rows, &rows);
}

enum linnet_status linnet_live_network_finish(struct linnet_live_network *n) {
  if (n->restarts && (n->taken - n->start) % linnet_model_stride(n->model) > 0)
    LINNET_TRY(restart(n));
  return flush(n);
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

/* Makes the next block of a network; it has no frames if nothing is left. */
static enum linnet_status begin_block(const struct linnet_live_input *input, struct linnet_recurrence_input *block) {
  struct linnet_live_network *n = input->network;
  *block = (struct linnet_recurrence_input){
      .recurrence = n->recurrence, .features = input->features, .log_posteriors = n->rows};
  if (input->frames == 0)
    return LINNET_OK;
  if (n->restarts)
    LINNET_TRY(restart(n));
  const size_t frames = block_frames(n, input->frames);
  if (n->before && frames > linnet_model_stride(n->model))
    LINNET_TRY(linnet_recurrence_copy(n->before, n->recurrence));
  block->num_frames = frames;
  return LINNET_OK;
}

/* Sets the state to that after the first `frames` of a block. */
static enum linnet_status go_back(struct linnet_live_network *n, const float *features, size_t frames) {
  size_t rows;
  LINNET_TRY(linnet_recurrence_copy(n->recurrence, n->before));
  return linnet_recurrence_accept(n->recurrence, features, frames, n->rows, &rows);
}

/* Passes on the rows of a block. If the receiver asks for a restart, the frames after it remain in the input. */
static enum linnet_status end_block(struct linnet_live_input *input, const struct linnet_recurrence_input *block) {
  struct linnet_live_network *n = input->network;
  const uint64_t first = n->taken;
  LINNET_TRY(pass_on(n, block->num_rows));
  if (!n->restarts)
    n->taken = first + block->num_frames;
  const size_t frames = (size_t)(n->taken - first);
  input->features += frames * n->num_mel;
  input->frames -= frames;
  return frames == block->num_frames ? LINNET_OK : go_back(n, block->features, frames);
}

void linnet_live_failure_note(struct linnet_live_failure *failure, const struct linnet_context *context, size_t input) {
  if (failure->input != SIZE_MAX)
    return;
  failure->input = input;
  snprintf(failure->reason, sizeof failure->reason, "%s", linnet_context_error(context));
}

/* A network that fails takes nothing more. */
static void note(struct linnet_live_input *inputs, size_t i, enum linnet_status status,
                 struct linnet_live_failure *failure) {
  if (status == LINNET_OK)
    return;
  inputs[i].status = status;
  inputs[i].frames = 0;
  linnet_live_failure_note(failure, inputs[i].network->context, i);
}

/* Returns whether there are frames. */
static bool begin_blocks(struct linnet_live_input *inputs, struct linnet_recurrence_input *blocks, size_t count,
                         struct linnet_live_failure *failure) {
  bool any = false;
  for (size_t i = 0; i < count; i++) {
    note(inputs, i, begin_block(&inputs[i], &blocks[i]), failure);
    any = any || blocks[i].num_frames > 0;
  }
  return any;
}

static enum linnet_status run_blocks(const struct linnet_live_network *n, struct linnet_recurrence_input *blocks,
                                     size_t count) {
  LINNET_TRY(linnet_poll_check(n->context));
  return linnet_recurrence_batch_step(n->batch, blocks, count);
}

void linnet_live_networks_run(struct linnet_live_input *inputs, struct linnet_recurrence_input *blocks, size_t count,
                              struct linnet_live_failure *failure) {
  if (count > 0)
    linnet_poll_begin(inputs[0].network->context);
  while (begin_blocks(inputs, blocks, count, failure)) {
    const enum linnet_status status = run_blocks(inputs[0].network, blocks, count);
    for (size_t i = 0; i < count; i++)
      if (blocks[i].num_frames > 0)
        note(inputs, i, status == LINNET_OK ? end_block(&inputs[i], &blocks[i]) : status, failure);
  }
}
