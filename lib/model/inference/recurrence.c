/* Inference frame by frame: which models can do it, the creation of streams, and steps of one stream. */
#include "model/inference/recurrence.h"

#include "model/layer.h"

/* --- models ------------------------------------------------------------------------------------------------------- */

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

int linnet_model_is_causal(const struct linnet_model *model) {
  return model && first_obstacle(model) == model->config.layers;
}

size_t linnet_model_lookahead(const struct linnet_model *model) {
  size_t frames = 0;
  for (size_t l = 0; linnet_model_is_causal(model) && l < model->config.layers; l++)
    frames += linnet_layer_lookahead(&model->config, l);
  return frames;
}

enum linnet_status linnet_recurrence_check_model(struct linnet_context *context, const struct linnet_model *model) {
  size_t l = first_obstacle(model);
  if (l == model->config.layers)
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_UNSUPPORTED, "the model cannot run frame by frame: layer %zu %s", l + 1,
                     obstacle(model, l));
}

/* --- creation and destruction ------------------------------------------------------------------------------------- */

static enum linnet_status allocate(struct linnet_recurrence *r) {
  struct linnet_context *context = r->batch->rows.context;
  const struct linnet_config *config = config_of(r->batch);
  const size_t positions = config->position == LINNET_POSITION_SINUSOIDAL ? LINNET_POSITION_GROUP : 0;
  r->position_group = SIZE_MAX;
  r->states = linnet_calloc(context, num_sublayers(r->batch), sizeof *r->states);
  r->input = linnet_calloc(context, config->stack * config->input_dim, sizeof *r->input);
  r->positions = linnet_alloc(context, positions * config->width, sizeof *r->positions);
  if (!r->states || !r->input || !r->positions)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a recurrence");
  return linnet_recurrence_reserve(r, 1);
}

enum linnet_status linnet_recurrence_batch_open(struct linnet_recurrence_batch *batch,
                                                struct linnet_recurrence **recurrence) {
  struct linnet_context *context = batch ? batch->rows.context : NULL;
  if (recurrence)
    *recurrence = NULL;
  if (!batch || !recurrence)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_recurrence_batch_open: an argument is NULL");
  struct linnet_recurrence *r = *recurrence = linnet_calloc(context, 1, sizeof *r);
  if (!r)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a recurrence");
  r->batch = batch;
  enum linnet_status status = allocate(r);
  if (status != LINNET_OK) {
    linnet_recurrence_destroy(r);
    *recurrence = NULL;
  }
  return status;
}

enum linnet_status linnet_recurrence_create(struct linnet_context *context, const struct linnet_model *model,
                                            struct linnet_recurrence **recurrence) {
  struct linnet_recurrence_batch *batch = NULL;
  if (recurrence)
    *recurrence = NULL;
  if (!context || !model || !recurrence)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_recurrence_create: an argument is NULL");
  LINNET_TRY(linnet_recurrence_batch_create(context, model, LINNET_STREAM_ROWS, &batch));
  enum linnet_status status = linnet_recurrence_batch_open(batch, recurrence);
  if (status == LINNET_OK)
    (*recurrence)->owns_batch = true;
  else
    linnet_recurrence_batch_destroy(batch);
  return status;
}

void linnet_recurrence_destroy(struct linnet_recurrence *r) {
  if (!r)
    return;
  struct linnet_context *context = r->batch->rows.context;
  struct linnet_recurrence_batch *own_batch = r->owns_batch ? r->batch : NULL;
  for (size_t i = 0; r->states && i < num_sublayers(r->batch); i++)
    linnet_free(context, r->states[i].data);
  linnet_free(context, r->states);
  linnet_free(context, r->input);
  linnet_free(context, r->positions);
  linnet_free(context, r);
  linnet_recurrence_batch_destroy(own_batch);
}

/* --- steps of one stream ------------------------------------------------------------------------------------------ */

enum linnet_status linnet_recurrence_accept(struct linnet_recurrence *r, const float *features, size_t num_frames,
                                            float *log_posteriors, size_t *num_rows) {
  if (!r || !num_rows)
    return linnet_fail(r ? r->batch->rows.context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recurrence_accept: an argument is NULL");
  struct linnet_recurrence_input input = {
      .recurrence = r, .features = features, .num_frames = num_frames, .log_posteriors = log_posteriors};
  *num_rows = 0;
  LINNET_TRY(linnet_recurrence_batch_step(r->batch, &input, 1));
  *num_rows = input.num_rows;
  return LINNET_OK;
}

enum linnet_status linnet_recurrence_step(struct linnet_recurrence *r, const float *features, float *log_posteriors) {
  size_t rows = 0;
  if (!r || !features || !log_posteriors)
    return linnet_fail(r ? r->batch->rows.context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recurrence_step: an argument is NULL");
  LINNET_TRY(linnet_recurrence_accept(r, features, 1, log_posteriors, &rows));
  return rows > 0 ? LINNET_OK : LINNET_AGAIN;
}

/* Each pass has one row: of the last frames, or of zeros for the lowest convolution that holds rows. */
enum linnet_status linnet_recurrence_finish(struct linnet_recurrence *r, float *log_posteriors) {
  if (!r || !log_posteriors)
    return linnet_fail(r ? r->batch->rows.context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recurrence_finish: NULL argument");
  struct linnet_recurrence_input input = {.recurrence = r, .log_posteriors = log_posteriors, .finish = 1};
  LINNET_TRY(linnet_recurrence_reserve(r, 1));
  for (size_t rows = 1, taken = 0; input.num_rows == 0 && rows > 0;) {
    linnet_recurrence_begin_pass(r->batch);
    rows = linnet_recurrence_add_span(r->batch, &input, 1, &taken);
    linnet_recurrence_run_pass(r->batch);
  }
  return input.num_rows > 0 ? LINNET_OK : LINNET_END;
}
