/* Inference frame by frame: runs the sublayers of the encoder on one row, with a state for each sublayer that needs
 * earlier rows.
 *
 * A convolution that looks ahead by a number of rows outputs a row as soon as it has received that number of later
 * rows. So the sublayers after it run on an earlier row than those before it. At the end of the utterance, each such
 * convolution gets rows of zeros, from the lowest one upwards. */
#include <linnet/recurrence.h>

#include <string.h>

#include "model/inference/encoder.h"
#include "model/layer.h"
#include "ops/position.h"

enum { POSITIONS = 64 }; /* rows of positions computed at once: an efficient number for linnet_add_positions */

/* The state of a sublayer, which stands for all earlier rows. */
struct sublayer_state {
  real *data;
  size_t capacity; /* elements */
  size_t frames;   /* rows that it has got; for a convolution, also those of zeros behind the end */
};

struct linnet_recurrence {
  struct linnet_encoder rows;    /* for the functions of layers on rows: scratch of one row */
  struct sublayer_state *states; /* (num_sublayers) */
  size_t entered;                /* number of stacked frames that have entered the network */
  size_t frame;                  /* number of output frames so far */
  size_t stacked;                /* number of input frames in `input` */
  real *input;                   /* (stack, input_dim) */
  real *x;                       /* (D) */
  real *qkv;                     /* (3 D), or less */
  real *phi;                     /* mapped queries and keys, with a separate feature map */
  real *window;                  /* (kernel, D): what a convolution reads */
  real *positions;               /* (POSITIONS, D): of the current group of frames */
  bool finished;
};

/* --- layers ------------------------------------------------------------------------------------------------------- */

static const struct linnet_config *config_of(const struct linnet_recurrence *r) {
  return &r->rows.model->config;
}

static const struct linnet_attention_ops *ops_of(const struct linnet_recurrence *r, size_t layer) {
  return r->rows.ops->attention[config_of(r)->attention[layer]];
}

/* The reason why a layer cannot run frame by frame; NULL if it can. */
static const char *obstacle(const struct linnet_model *model, size_t layer) {
  const struct linnet_config *config = &model->config;
  if (config->encoder != LINNET_ENCODER_TRANSFORMER)
    return "is a bidirectional LSTM, which sees later frames";
  if (!linnet_layer_traits(config, layer)->causal)
    return "has attention that sees later frames";
  bool steps = linnet_context_ops(model->context)->attention[config->attention[layer]]->step;
  return steps ? NULL : "has attention that cannot continue from a state";
}

/* The first layer with an obstacle, or the number of layers. */
static size_t first_obstacle(const struct linnet_model *model) {
  size_t l = 0;
  while (l < model->config.layers && !obstacle(model, l))
    l++;
  return l;
}

static enum linnet_status check_causal(struct linnet_context *context, const struct linnet_model *model) {
  size_t l = first_obstacle(model);
  if (l == model->config.layers)
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_UNSUPPORTED, "the model cannot run frame by frame: layer %zu %s", l + 1,
                     obstacle(model, l));
}

int linnet_model_is_causal(const struct linnet_model *model) {
  return model && first_obstacle(model) == model->config.layers;
}

size_t linnet_model_lookahead(const struct linnet_model *model) {
  size_t frames = 0;
  for (size_t l = 0; linnet_model_is_causal(model) && l < model->config.layers; l++)
    frames += linnet_layer_lookahead(&model->config, l);
  return frames;
}

static size_t num_sublayers(const struct linnet_recurrence *r) {
  return r->rows.model->parameters->num_sublayers;
}

/* --- the size of the state ---------------------------------------------------------------------------------------- */

static size_t attention_state(const struct linnet_recurrence *r, size_t layer, size_t frame) {
  const struct linnet_attention a = linnet_layer_attention(config_of(r), layer);
  return ops_of(r, layer)->state_size(&a, frame);
}

/* The rows that the convolution read before, then those of the residual path that wait for later ones. */
static size_t convolution_state(const struct linnet_recurrence *r, size_t layer, size_t frame) {
  const struct linnet_conv conv = linnet_layer_convolution(config_of(r), layer);
  (void)frame;
  return (2 * (conv.kernel - 1) - conv.left) * conv.channels;
}

/* By kind of block: elements of the state after row `frame`. NULL: none. */
static size_t (*const state_sizes[LINNET_BLOCK_KINDS])(const struct linnet_recurrence *r, size_t layer,
                                                       size_t frame) = {
    [LINNET_BLOCK_ATTENTION] = attention_state, [LINNET_BLOCK_CONVOLUTION] = convolution_state};

static size_t state_size(const struct linnet_recurrence *r, size_t i, size_t frame) {
  const struct linnet_sublayer *s = sublayer(&r->rows, i);
  return state_sizes[s->kind] ? state_sizes[s->kind](r, s->layer, frame) : 0;
}

/* Elements of a sublayer's current state. */
static size_t used_size(const struct linnet_recurrence *r, size_t i) {
  const size_t frames = r->states[i].frames;
  return state_size(r, i, frames > 0 ? frames - 1 : 0);
}

/* Enlarges the states for the next row; new elements are zero. */
static enum linnet_status reserve(struct linnet_recurrence *r) {
  for (size_t i = 0; i < num_sublayers(r); i++) {
    struct sublayer_state *state = &r->states[i];
    const size_t before = state->capacity, size = state_size(r, i, state->frames);
    if (size <= before)
      continue;
    real *grown = linnet_grow(r->rows.context, state->data, &state->capacity, size, sizeof *state->data);
    if (!grown)
      return linnet_fail(r->rows.context, LINNET_ERROR_MEMORY, "out of memory for the state after %zu frames",
                         state->frames);
    memset(grown + before, 0, (state->capacity - before) * sizeof *grown);
    state->data = grown;
  }
  return LINNET_OK;
}

/* --- creation and destruction ------------------------------------------------------------------------------------- */

static size_t max_mapped_columns(const struct linnet_config *config) {
  size_t maximum = 0;
  for (size_t l = 0; l < config->layers; l++) {
    size_t mapped = linnet_mapped_columns(config, l);
    maximum = mapped > maximum ? mapped : maximum;
  }
  return maximum;
}

static enum linnet_status allocate(struct linnet_recurrence *r) {
  struct linnet_context *context = r->rows.context;
  const struct linnet_config *config = config_of(r);
  LINNET_TRY(linnet_encoder_create_scratch(&r->rows, 1, 1));
  r->states = linnet_calloc(context, num_sublayers(r), sizeof *r->states);
  r->input = linnet_alloc(context, config->stack * config->input_dim, sizeof *r->input);
  r->x = linnet_alloc(context, config->width, sizeof *r->x);
  r->qkv = linnet_alloc(context, 3 * config->width, sizeof *r->qkv);
  r->phi = linnet_alloc(context, max_mapped_columns(config), sizeof *r->phi);
  r->window = linnet_alloc(context, config->convolution * config->width, sizeof *r->window);
  r->positions = linnet_alloc(context, POSITIONS * config->width, sizeof *r->positions);
  if (!r->states || !r->input || !r->x || !r->qkv || !r->phi || !r->window || !r->positions)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a recurrence");
  return reserve(r);
}

enum linnet_status linnet_recurrence_create(struct linnet_context *context, const struct linnet_model *model,
                                            struct linnet_recurrence **recurrence) {
  if (!context || !model || !recurrence)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_recurrence_create: an argument is NULL");
  *recurrence = NULL;
  LINNET_TRY(check_causal(context, model));
  struct linnet_recurrence *r = linnet_calloc(context, 1, sizeof *r);
  if (!r)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a recurrence");
  r->rows.context = context;
  r->rows.model = model;
  r->rows.ops = linnet_context_ops(model->context);
  r->rows.kind = &linnet_transformer_encoder;
  r->rows.width = model->config.width;
  enum linnet_status status = allocate(r);
  if (status == LINNET_OK)
    *recurrence = r;
  else
    linnet_recurrence_destroy(r);
  return status;
}

void linnet_recurrence_destroy(struct linnet_recurrence *r) {
  if (!r)
    return;
  struct linnet_context *context = r->rows.context;
  for (size_t i = 0; r->states && i < num_sublayers(r); i++)
    linnet_free(context, r->states[i].data);
  void *blocks[] = {r->rows.scratch, r->rows.scratch_memory, r->states, r->input, r->x, r->qkv, r->phi, r->window,
                    r->positions};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    linnet_free(context, blocks[i]);
  linnet_free(context, r);
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

static void add_position(struct linnet_recurrence *r) {
  const size_t width = config_of(r)->width, within = r->entered % POSITIONS;
  if (within == 0) {
    memset(r->positions, 0, POSITIONS * width * sizeof *r->positions);
    linnet_add_positions(r->entered, POSITIONS, width, r->positions);
  }
  r->rows.ops->add(width, r->positions + within * width, r->x);
}

static bool step_attention(struct linnet_recurrence *r, size_t i) {
  const struct linnet_encoder *e = &r->rows;
  const struct scratch *s = e->scratch;
  struct sublayer_state *state = &r->states[i];
  const size_t layer = sublayer(e, i)->layer;
  const struct linnet_attention a = linnet_layer_attention(config_of(r), layer);
  const size_t mapped = linnet_mapped_columns(config_of(r), layer);
  const real *q = mapped > 0 ? r->phi : r->qkv, *k = q + (mapped > 0 ? mapped / 2 : a.out_ld);
  linnet_encoder_project(e, s, i, 1, r->x, r->qkv, r->phi);
  ops_of(r, layer)->step(&a, state->frames++, q, k, r->qkv + a.value_ld - a.out_ld, state->data, s->narrow2);
  linnet_encoder_add_heads(e, s, i, 1, s->narrow2, r->x);
  return true;
}

static bool step_feed_forward(struct linnet_recurrence *r, size_t i) {
  linnet_encoder_feed_forward(&r->rows, r->rows.scratch, i, 1, r->x);
  return true;
}

/* Replaces a row by the first one of a queue, and puts it at the end of the queue. */
static void delay_row(const struct scratch *s, real *queue, size_t rows, size_t width, real *row) {
  if (rows == 0)
    return;
  memcpy(s->narrow, queue, width * sizeof *row);
  memmove(queue, queue + width, (rows - 1) * width * sizeof *row);
  memcpy(queue + (rows - 1) * width, row, width * sizeof *row);
  memcpy(row, s->narrow, width * sizeof *row);
}

/* The next row of a convolution, whose gated input is the last row of the window. */
static bool convolve(struct linnet_recurrence *r, size_t i) {
  const struct linnet_encoder *e = &r->rows;
  const struct linnet_sublayer *c = sublayer(e, i);
  const struct linnet_conv conv = linnet_layer_convolution(config_of(r), c->layer);
  const size_t width = conv.channels, before = (conv.kernel - 1) * width, ahead = conv.kernel - 1 - conv.left;
  struct sublayer_state *state = &r->states[i];
  memcpy(r->window, state->data, before * sizeof *r->window);
  memcpy(state->data, r->window + width, before * sizeof *r->window);
  delay_row(e->scratch, state->data + before, ahead, width, r->x);
  if (state->frames++ < ahead)
    return false;
  real *y = e->scratch->narrow2;
  e->ops->conv_window(&conv, 1, r->window, weight(e, c->depthwise), weight(e, c->depthwise_bias), y);
  linnet_encoder_add_convolution(e, e->scratch, i, 1, y, r->x);
  return true;
}

/* The last row of the window. */
static real *newest(const struct linnet_recurrence *r) {
  return r->window + (config_of(r)->convolution - 1) * config_of(r)->width;
}

static bool step_convolution(struct linnet_recurrence *r, size_t i) {
  linnet_encoder_gate(&r->rows, r->rows.scratch, i, 1, r->x, newest(r));
  return convolve(r, i);
}

/* A row of zeros behind the end of the utterance. */
static bool flush_convolution(struct linnet_recurrence *r, size_t i) {
  memset(newest(r), 0, config_of(r)->width * sizeof *r->window);
  return convolve(r, i);
}

/* By kind of block: runs sublayer i on r->x. False: the sublayer needs later rows first. */
static bool (*const steps[LINNET_BLOCK_KINDS])(struct linnet_recurrence *r,
                                               size_t i) = {[LINNET_BLOCK_ATTENTION] = step_attention,
                                                            [LINNET_BLOCK_CONVOLUTION] = step_convolution,
                                                            [LINNET_BLOCK_FEED_FORWARD] = step_feed_forward};

/* Runs the sublayers from i on, and the end of the network, on r->x. */
static enum linnet_status run_sublayers(struct linnet_recurrence *r, size_t i, float *log_posteriors) {
  struct linnet_encoder *e = &r->rows;
  for (; i < num_sublayers(r); i++)
    if (!steps[sublayer(e, i)->kind](r, i))
      return LINNET_AGAIN;
  const real *h = r->x;
  if (config_of(r)->norm == LINNET_NORM_PRE)
    norm(e, &e->model->parameters->norm, 1, r->x, e->scratch->normed), h = e->scratch->normed;
  linnet_encoder_posteriors(e, e->scratch, 1, h, log_posteriors);
  r->frame++;
  return LINNET_OK;
}

/* Runs the network on the stacked frames. */
static enum linnet_status run_frame(struct linnet_recurrence *r, float *log_posteriors) {
  struct linnet_encoder *e = &r->rows;
  apply(e, e->scratch, &e->model->linear_layers->input, 1, r->input, LINNET_IDENTITY, r->x);
  if (config_of(r)->position == LINNET_POSITION_SINUSOIDAL)
    add_position(r);
  r->entered++;
  r->stacked = 0;
  return run_sublayers(r, 0, log_posteriors);
}

static void put_frame(struct linnet_recurrence *r, const float *features) {
  const size_t dim = config_of(r)->input_dim;
  memcpy(r->input + r->stacked++ * dim, features, dim * sizeof *r->input);
}

enum linnet_status linnet_recurrence_step(struct linnet_recurrence *r, const float *features, float *log_posteriors) {
  if (!r || !features || !log_posteriors)
    return linnet_fail(r ? r->rows.context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recurrence_step: an argument is NULL");
  if (r->finished)
    return linnet_fail(r->rows.context, LINNET_ERROR_STATE,
                       "the recurrence was finished: call linnet_recurrence_reset first");
  LINNET_TRY(reserve(r));
  put_frame(r, features);
  return r->stacked < config_of(r)->stack ? LINNET_AGAIN : run_frame(r, log_posteriors);
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

/* The last, incomplete stack of frames. */
static enum linnet_status finish_stack(struct linnet_recurrence *r, float *log_posteriors) {
  if (r->stacked == 0)
    return LINNET_AGAIN;
  const real *last = r->input + (r->stacked - 1) * config_of(r)->input_dim;
  while (r->stacked < config_of(r)->stack)
    put_frame(r, last);
  return run_frame(r, log_posteriors);
}

/* Whether a sublayer is a convolution that has not let all rows through. */
static bool holds_rows(const struct linnet_recurrence *r, size_t i) {
  const struct linnet_sublayer *s = sublayer(&r->rows, i);
  return s->kind == LINNET_BLOCK_CONVOLUTION &&
         r->states[i].frames < r->entered + linnet_layer_lookahead(config_of(r), s->layer);
}

static enum linnet_status flush(struct linnet_recurrence *r, float *log_posteriors) {
  enum linnet_status status = LINNET_AGAIN;
  for (size_t i = 0; i < num_sublayers(r) && status == LINNET_AGAIN; i++)
    while (status == LINNET_AGAIN && holds_rows(r, i)) {
      LINNET_TRY(reserve(r));
      if (flush_convolution(r, i))
        status = run_sublayers(r, i + 1, log_posteriors);
    }
  return status == LINNET_AGAIN ? LINNET_END : status;
}

enum linnet_status linnet_recurrence_finish(struct linnet_recurrence *r, float *log_posteriors) {
  if (!r || !log_posteriors)
    return linnet_fail(r ? r->rows.context : NULL, LINNET_ERROR_ARGUMENT, "linnet_recurrence_finish: NULL argument");
  r->finished = true;
  LINNET_TRY(reserve(r));
  enum linnet_status status = finish_stack(r, log_posteriors);
  return status == LINNET_AGAIN ? flush(r, log_posteriors) : status;
}

/* --- the state ---------------------------------------------------------------------------------------------------- */

size_t linnet_recurrence_num_frames(const struct linnet_recurrence *r) {
  return r->frame;
}

size_t linnet_recurrence_state_bytes(const struct linnet_recurrence *r) {
  size_t elements = config_of(r)->stack * config_of(r)->input_dim;
  for (size_t i = 0; i < num_sublayers(r); i++)
    elements += used_size(r, i);
  return elements * sizeof(real);
}

enum linnet_status linnet_recurrence_copy(struct linnet_recurrence *to, const struct linnet_recurrence *from) {
  if (!to || !from || to->rows.model != from->rows.model)
    return linnet_fail(to ? to->rows.context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recurrence_copy: an argument is NULL, or the recurrences are of different models");
  if (to == from)
    return LINNET_OK;
  const struct linnet_config *config = config_of(from);
  linnet_recurrence_reset(to);
  for (size_t i = 0; i < num_sublayers(from); i++)
    to->states[i].frames = from->states[i].frames;
  LINNET_TRY(reserve(to));
  for (size_t i = 0; i < num_sublayers(from); i++)
    if (used_size(from, i) > 0)
      memcpy(to->states[i].data, from->states[i].data, used_size(from, i) * sizeof(real));
  memcpy(to->input, from->input, config->stack * config->input_dim * sizeof *to->input);
  memcpy(to->positions, from->positions, POSITIONS * config->width * sizeof *to->positions);
  to->entered = from->entered;
  to->frame = from->frame;
  to->stacked = from->stacked;
  to->finished = from->finished;
  return LINNET_OK;
}

void linnet_recurrence_reset(struct linnet_recurrence *r) {
  for (size_t i = 0; i < num_sublayers(r); i++) {
    if (r->states[i].capacity > 0)
      memset(r->states[i].data, 0, r->states[i].capacity * sizeof(real));
    r->states[i].frames = 0;
  }
  r->entered = 0;
  r->frame = 0;
  r->stacked = 0;
  r->finished = false;
}
