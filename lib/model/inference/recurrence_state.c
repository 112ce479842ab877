/* The state of a stream: its size, which may grow with the frames, and copies of it. */
#include <string.h>

#include "base/numbers.h"
#include "model/inference/recurrence.h"
#include "model/inference/recurrence_state.h"
#include "model/layer.h"

/* --- sizes -------------------------------------------------------------------------------------------------------- */

static size_t attention_state(const struct linnet_recurrence_batch *b, size_t layer, size_t frame) {
  const struct linnet_attention a = linnet_layer_attention(config_of(b), layer);
  return attention_ops(b, layer)->state_size(&a, frame);
}

/* The rows that the convolution read before, then those of the residual path that wait for later ones. */
static size_t convolution_state(const struct linnet_recurrence_batch *b, size_t layer, size_t frame) {
  const struct linnet_conv conv = linnet_layer_convolution(config_of(b), layer);
  (void)frame;
  return (2 * (conv.kernel - 1) - conv.left) * conv.channels;
}

/* By kind of block: elements of the state after row `frame`. NULL: none. */
static size_t (*const state_sizes[LINNET_BLOCK_KINDS])(const struct linnet_recurrence_batch *b, size_t layer,
                                                       size_t frame) = {
    [LINNET_BLOCK_ATTENTION] = attention_state, [LINNET_BLOCK_CONVOLUTION] = convolution_state};

/* Elements of the state after `frames` rows, at least one. */
static size_t state_size(const struct linnet_recurrence *r, size_t i, size_t frames) {
  const struct linnet_sublayer *s = sublayer(&r->batch->rows, i);
  return state_sizes[s->kind] ? state_sizes[s->kind](r->batch, s->layer, frames > 0 ? frames - 1 : 0) : 0;
}

size_t linnet_recurrence_used_size(const struct linnet_recurrence *r, size_t i) {
  return state_size(r, i, r->states[i].frames);
}

size_t linnet_recurrence_growth(const struct linnet_recurrence *r) {
  size_t elements = 0;
  for (size_t i = 0; i < num_sublayers(r->batch); i++)
    elements += state_size(r, i, 2) - state_size(r, i, 1);
  return elements;
}

static enum linnet_status reserve_state(struct linnet_recurrence *r, size_t i, size_t frames) {
  struct sublayer_state *state = &r->states[i];
  const size_t before = state->capacity, size = state_size(r, i, frames);
  if (size <= before)
    return LINNET_OK;
  struct linnet_context *context = r->batch->rows.context;
  real *grown = linnet_grow(context, state->data, &state->capacity, size, sizeof *state->data);
  if (!grown)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the state after %zu frames", state->frames);
  memset(grown + before, 0, (state->capacity - before) * sizeof *grown);
  state->data = grown;
  return LINNET_OK;
}

/* A sublayer gets at most the rows that enter, and those that the convolutions before it held back. */
enum linnet_status linnet_recurrence_reserve(struct linnet_recurrence *r, size_t rows) {
  for (size_t i = 0; i < num_sublayers(r->batch); i++)
    LINNET_TRY(reserve_state(r, i, r->entered + rows));
  return LINNET_OK;
}

size_t linnet_recurrence_state_bytes(const struct linnet_recurrence *r) {
  const struct linnet_config *config = config_of(r->batch);
  size_t elements = config->stack * config->input_dim;
  for (size_t i = 0; i < num_sublayers(r->batch); i++)
    elements += linnet_recurrence_used_size(r, i);
  return elements * sizeof(real);
}

/* --- counters ----------------------------------------------------------------------------------------------------- */

/* At the end, the lowest convolution that holds rows gets the next row of zeros. */
void linnet_recurrence_count_frames(struct linnet_recurrence *r) {
  const struct linnet_config *config = config_of(r->batch);
  size_t rows = r->entered, zeros = r->flushed;
  for (size_t i = 0; i < num_sublayers(r->batch); i++) {
    const struct linnet_sublayer *s = sublayer(&r->batch->rows, i);
    size_t *frames = &r->states[i].frames;
    *frames = s->kind == LINNET_BLOCK_FEED_FORWARD ? 0 : rows;
    if (s->kind != LINNET_BLOCK_CONVOLUTION)
      continue;
    const size_t ahead = linnet_layer_lookahead(config, s->layer), flushed = linnet_min_size(zeros, ahead);
    zeros -= flushed;
    *frames += flushed;
    rows = *frames - linnet_min_size(*frames, ahead);
  }
  r->frame = rows;
}

size_t linnet_recurrence_num_frames(const struct linnet_recurrence *r) {
  return r->frame;
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

enum linnet_status linnet_recurrence_copy(struct linnet_recurrence *to, const struct linnet_recurrence *from) {
  if (!to || !from || to->batch->rows.model != from->batch->rows.model)
    return linnet_fail(to ? to->batch->rows.context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recurrence_copy: an argument is NULL, or the recurrences are of different models");
  if (to == from)
    return LINNET_OK;
  const struct linnet_config *config = config_of(from->batch);
  to->entered = from->entered;
  LINNET_TRY(linnet_recurrence_reserve(to, 1));
  for (size_t i = 0; i < num_sublayers(from->batch); i++) {
    to->states[i].frames = from->states[i].frames;
    if (linnet_recurrence_used_size(from, i) > 0)
      memcpy(to->states[i].data, from->states[i].data, linnet_recurrence_used_size(from, i) * sizeof(real));
  }
  memcpy(to->input, from->input, config->stack * config->input_dim * sizeof *to->input);
  to->flushed = from->flushed;
  to->frame = from->frame;
  to->stacked = from->stacked;
  to->finished = from->finished;
  return LINNET_OK;
}

size_t linnet_recurrence_unstack(struct linnet_recurrence *r, float *features) {
  const size_t frames = r->stacked;
  if (frames > 0)
    memcpy(features, r->input, frames * config_of(r->batch)->input_dim * sizeof *r->input);
  r->stacked = 0;
  return frames;
}

void linnet_recurrence_reset(struct linnet_recurrence *r) {
  for (size_t i = 0; i < num_sublayers(r->batch); i++) {
    if (r->states[i].capacity > 0)
      memset(r->states[i].data, 0, r->states[i].capacity * sizeof(real));
    r->states[i].frames = 0;
  }
  r->entered = 0;
  r->flushed = 0;
  r->frame = 0;
  r->stacked = 0;
  r->finished = false;
}
