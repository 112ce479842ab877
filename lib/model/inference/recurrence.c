/* Inference frame by frame: runs the layers of the encoder on one row, and the step functions of each kind of
 * attention. */
#include <linnet/recurrence.h>

#include <string.h>

#include "model/inference/encoder.h"
#include "ops/position.h"

enum { POSITIONS = 64 }; /* rows of positions computed at once: an efficient number for linnet_add_positions */

/* The state of a layer, which stands for all earlier frames. */
struct layer_state {
  real *data;
  size_t capacity; /* elements */
};

struct linnet_recurrence {
  struct linnet_encoder rows; /* for the functions of layers on rows: scratch of one row */
  struct layer_state *layers;
  size_t frame;    /* number of output frames so far */
  size_t stacked;  /* number of input frames in `input` */
  real *input;     /* (stack, input_dim) */
  real *x;         /* (D) */
  real *qkv;       /* (3 D), or less */
  real *phi;       /* mapped queries and keys, with a separate feature map */
  real *positions; /* (POSITIONS, D): of the current group of frames */
  bool finished;
};

/* --- making ------------------------------------------------------------------------------------------------------- */

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
  if (!linnet_context_ops(model->context)->attention[config->attention[layer]]->step)
    return "has attention that cannot go on from a state";
  return config->convolution > 0 ? "has a convolution module, whose kernel sees later frames" : NULL;
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

/* Elements of a layer's state after the next frame. */
static size_t state_size(const struct linnet_recurrence *r, size_t layer, size_t frame) {
  const struct linnet_attention a = linnet_layer_attention(config_of(r), layer);
  return ops_of(r, layer)->state_size(&a, frame);
}

/* Enlarges the states for the next frame; new elements are zero. */
static enum linnet_status reserve(struct linnet_recurrence *r, size_t frame) {
  for (size_t l = 0; l < config_of(r)->layers; l++) {
    struct layer_state *layer = &r->layers[l];
    size_t before = layer->capacity;
    real *grown =
        linnet_grow(r->rows.context, layer->data, &layer->capacity, state_size(r, l, frame), sizeof *layer->data);
    if (!grown)
      return linnet_fail(r->rows.context, LINNET_ERROR_MEMORY, "out of memory for the state after %zu frames", frame);
    memset(grown + before, 0, (layer->capacity - before) * sizeof *grown);
    layer->data = grown;
  }
  return LINNET_OK;
}

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
  r->layers = linnet_calloc(context, config->layers, sizeof *r->layers);
  r->input = linnet_alloc(context, config->stack * config->input_dim, sizeof *r->input);
  r->x = linnet_alloc(context, config->width, sizeof *r->x);
  r->qkv = linnet_alloc(context, 3 * config->width, sizeof *r->qkv);
  r->phi = linnet_alloc(context, max_mapped_columns(config), sizeof *r->phi);
  r->positions = linnet_alloc(context, POSITIONS * config->width, sizeof *r->positions);
  if (!r->layers || !r->input || !r->x || !r->qkv || !r->phi || !r->positions)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a recurrence");
  return reserve(r, 0);
}

enum linnet_status linnet_recurrence_create(struct linnet_context *context, const struct linnet_model *model,
                                            struct linnet_recurrence **recurrence) {
  if (!context || !model || !recurrence)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_recurrence_create: NULL argument");
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
  for (size_t l = 0; r->layers && l < config_of(r)->layers; l++)
    linnet_free(context, r->layers[l].data);
  void *blocks[] = {r->rows.scratch, r->rows.scratch_memory, r->layers, r->input, r->x, r->qkv, r->phi, r->positions};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    linnet_free(context, blocks[i]);
  linnet_free(context, r);
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

static void add_position(struct linnet_recurrence *r) {
  const size_t width = config_of(r)->width, within = r->frame % POSITIONS;
  if (within == 0) {
    memset(r->positions, 0, POSITIONS * width * sizeof *r->positions);
    linnet_add_positions(r->frame, POSITIONS, width, r->positions);
  }
  r->rows.ops->add(width, r->positions + within * width, r->x);
}

static void step_attention(struct linnet_recurrence *r, size_t i) {
  const struct linnet_encoder *e = &r->rows;
  const struct scratch *s = e->scratch;
  const size_t layer = sublayer(e, i)->layer;
  const struct linnet_attention a = linnet_layer_attention(config_of(r), layer);
  const size_t mapped = linnet_mapped_columns(config_of(r), layer);
  const real *q = mapped > 0 ? r->phi : r->qkv, *k = q + (mapped > 0 ? mapped / 2 : a.out_ld);
  linnet_encoder_project(e, s, i, 1, r->x, r->qkv, r->phi);
  ops_of(r, layer)->step(&a, r->frame, q, k, r->qkv + a.value_ld - a.out_ld, r->layers[layer].data, s->narrow2);
  linnet_encoder_add_heads(e, s, i, 1, s->narrow2, r->x);
}

static void step_feed_forward(struct linnet_recurrence *r, size_t i) {
  linnet_encoder_feed_forward(&r->rows, r->rows.scratch, i, 1, r->x);
}

/* By kind of block: runs sublayer i on one frame. NULL: the kind cannot run frame by frame. */
static void (*const steps[LINNET_BLOCK_KINDS])(struct linnet_recurrence *r, size_t i) = {
    [LINNET_BLOCK_ATTENTION] = step_attention, [LINNET_BLOCK_FEED_FORWARD] = step_feed_forward};

/* Runs the network on the stacked frames. */
static enum linnet_status run_frame(struct linnet_recurrence *r, float *log_posteriors) {
  struct linnet_encoder *e = &r->rows;
  apply(e, e->scratch, &e->model->linear_layers->input, 1, r->input, LINNET_IDENTITY, r->x);
  if (config_of(r)->position == LINNET_POSITION_SINUSOIDAL)
    add_position(r);
  for (size_t i = 0; i < e->model->parameters->num_sublayers; i++)
    steps[sublayer(e, i)->kind](r, i);
  const real *h = r->x;
  if (config_of(r)->norm == LINNET_NORM_PRE)
    norm(e, &e->model->parameters->norm, 1, r->x, e->scratch->normed), h = e->scratch->normed;
  linnet_encoder_posteriors(e, e->scratch, 1, h, log_posteriors);
  r->frame++;
  r->stacked = 0;
  return LINNET_OK;
}

static void put_frame(struct linnet_recurrence *r, const float *features) {
  const size_t dim = config_of(r)->input_dim;
  memcpy(r->input + r->stacked++ * dim, features, dim * sizeof *r->input);
}

enum linnet_status linnet_recurrence_step(struct linnet_recurrence *r, const float *features, float *log_posteriors) {
  if (!r || !features || !log_posteriors)
    return linnet_fail(r ? r->rows.context : NULL, LINNET_ERROR_ARGUMENT, "linnet_recurrence_step: NULL argument");
  if (r->finished)
    return linnet_fail(r->rows.context, LINNET_ERROR_STATE,
                       "the recurrence was finished: call linnet_recurrence_reset first");
  LINNET_TRY(reserve(r, r->frame));
  put_frame(r, features);
  return r->stacked < config_of(r)->stack ? LINNET_AGAIN : run_frame(r, log_posteriors);
}

enum linnet_status linnet_recurrence_finish(struct linnet_recurrence *r, float *log_posteriors) {
  if (!r || !log_posteriors)
    return linnet_fail(r ? r->rows.context : NULL, LINNET_ERROR_ARGUMENT, "linnet_recurrence_finish: NULL argument");
  r->finished = true;
  if (r->stacked == 0)
    return LINNET_END;
  const real *last = r->input + (r->stacked - 1) * config_of(r)->input_dim;
  while (r->stacked < config_of(r)->stack)
    put_frame(r, last);
  return run_frame(r, log_posteriors);
}

/* --- the state ---------------------------------------------------------------------------------------------------- */

/* Elements of a layer's current state. */
static size_t used_size(const struct linnet_recurrence *r, size_t layer) {
  return state_size(r, layer, r->frame > 0 ? r->frame - 1 : 0);
}

size_t linnet_recurrence_num_frames(const struct linnet_recurrence *r) {
  return r->frame;
}

size_t linnet_recurrence_state_bytes(const struct linnet_recurrence *r) {
  size_t elements = config_of(r)->stack * config_of(r)->input_dim;
  for (size_t l = 0; l < config_of(r)->layers; l++)
    elements += used_size(r, l);
  return elements * sizeof(real);
}

enum linnet_status linnet_recurrence_copy(struct linnet_recurrence *to, const struct linnet_recurrence *from) {
  if (!to || !from || to->rows.model != from->rows.model)
    return linnet_fail(to ? to->rows.context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recurrence_copy: NULL, or recurrences over different models");
  if (to == from)
    return LINNET_OK;
  const struct linnet_config *config = config_of(from);
  linnet_recurrence_reset(to);
  LINNET_TRY(reserve(to, from->frame));
  for (size_t l = 0; l < config->layers; l++)
    memcpy(to->layers[l].data, from->layers[l].data, used_size(from, l) * sizeof(real));
  memcpy(to->input, from->input, config->stack * config->input_dim * sizeof *to->input);
  memcpy(to->positions, from->positions, POSITIONS * config->width * sizeof *to->positions);
  to->frame = from->frame;
  to->stacked = from->stacked;
  to->finished = from->finished;
  return LINNET_OK;
}

void linnet_recurrence_reset(struct linnet_recurrence *r) {
  for (size_t l = 0; l < config_of(r)->layers; l++)
    memset(r->layers[l].data, 0, r->layers[l].capacity * sizeof(real));
  r->frame = 0;
  r->stacked = 0;
  r->finished = false;
}
