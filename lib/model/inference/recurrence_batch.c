/* Steps of several streams together: divides what the streams have into passes of a limited number of rows. */
#include "base/numbers.h"
#include "model/inference/recurrence.h"

/* --- creation and destruction ------------------------------------------------------------------------------------- */

static size_t max_mapped_columns(const struct linnet_config *config) {
  size_t maximum = 0;
  for (size_t l = 0; l < config->layers; l++)
    maximum = linnet_max_size(maximum, linnet_mapped_columns(config, l));
  return maximum;
}

/* Assigns the parts of the memory. With `memory` NULL it only counts. Returns the number of elements. */
static size_t divide_memory(struct linnet_recurrence_batch *b) {
  const struct linnet_config *config = config_of(b);
  const struct {
    real **part;
    size_t rows, columns;
  } parts[] = {{&b->stacked, b->max_rows, config->stack * config->input_dim},
               {&b->x, b->max_rows, config->width},
               {&b->next, b->max_rows, config->width},
               {&b->qkv, b->max_rows, 3 * config->width},
               {&b->phi, b->max_rows, max_mapped_columns(config)},
               {&b->line, b->max_rows + config->convolution, config->width},
               {&b->log_p, b->max_rows, config->outputs}};
  size_t used = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    *parts[i].part = b->memory ? b->memory + used : NULL;
    used += linnet_round_up(parts[i].rows * parts[i].columns, 16);
  }
  return used;
}

static enum linnet_status allocate(struct linnet_recurrence_batch *b) {
  struct linnet_context *context = b->rows.context;
  LINNET_TRY(linnet_encoder_create_scratch(&b->rows, 1, b->max_rows));
  b->spans = linnet_alloc(context, b->max_rows, sizeof *b->spans);
  b->upcoming = linnet_alloc(context, b->max_rows, sizeof *b->upcoming);
  b->memory = linnet_alloc(context, divide_memory(b), sizeof *b->memory);
  if (!b->spans || !b->upcoming || !b->memory)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a batch of %zu rows", b->max_rows);
  divide_memory(b);
  b->rows.scratch->prefetch = &b->prefetch;
  return LINNET_OK;
}

enum linnet_status linnet_recurrence_batch_create(struct linnet_context *context, const struct linnet_model *model,
                                                  size_t max_rows, struct linnet_recurrence_batch **batch) {
  if (batch)
    *batch = NULL;
  if (!context || !model || !batch)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_recurrence_batch_create: an argument is NULL");
  if (max_rows > LINNET_MAX_BATCH_ROWS)
    return linnet_fail(context, LINNET_ERROR_LIMIT, "%zu rows in a batch; there can be at most %d", max_rows,
                       LINNET_MAX_BATCH_ROWS);
  LINNET_TRY(linnet_recurrence_check_model(context, model));
  struct linnet_recurrence_batch *b = linnet_calloc(context, 1, sizeof *b);
  if (!b)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a batch");
  b->max_rows = max_rows > 0 ? max_rows : BLOCK_ROWS;
  b->rows.context = context;
  b->rows.model = model;
  b->rows.ops = linnet_context_ops(model->context);
  b->rows.kind = &linnet_transformer_encoder;
  b->rows.width = model->config.width;
  enum linnet_status status = allocate(b);
  if (status == LINNET_OK)
    *batch = b;
  else
    linnet_recurrence_batch_destroy(b);
  return status;
}

void linnet_recurrence_batch_destroy(struct linnet_recurrence_batch *b) {
  if (!b)
    return;
  linnet_free(b->rows.context, b->rows.scratch);
  linnet_free(b->rows.context, b->rows.scratch_memory);
  linnet_free(b->rows.context, b->spans);
  linnet_free(b->rows.context, b->upcoming);
  linnet_free(b->rows.context, b->memory);
  linnet_free(b->rows.context, b);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static enum linnet_status check_input(const struct linnet_recurrence_batch *b,
                                      const struct linnet_recurrence_input *input, size_t index) {
  struct linnet_context *context = b->rows.context;
  const struct linnet_recurrence *r = input->recurrence;
  if (!r || (!input->features && input->num_frames > 0) ||
      (!input->log_posteriors && (input->num_frames > 0 || input->finish)))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "input %zu of the batch: an argument is NULL", index);
  if (r->batch != b)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "input %zu is of another batch", index);
  if (r->listed)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "input %zu: its recurrence is there twice", index);
  if (r->finished && input->num_frames > 0)
    return linnet_fail(context, LINNET_ERROR_STATE, "the recurrence was finished: call linnet_recurrence_reset first");
  return linnet_encoder_check_frames(context, config_of(b), input->features, input->num_frames);
}

/* Reserves memory for all rows of an input, so that a failure leaves all streams as they were. The last row may be of
 * an incomplete stack. */
static enum linnet_status prepare_input(const struct linnet_recurrence_batch *b, struct linnet_recurrence_input *input,
                                        size_t index) {
  LINNET_TRY(check_input(b, input, index));
  input->num_rows = 0;
  input->recurrence->listed = true;
  const size_t frames = input->recurrence->stacked + input->num_frames;
  return linnet_recurrence_reserve(input->recurrence, linnet_divide_up(frames, config_of(b)->stack));
}

static enum linnet_status prepare(const struct linnet_recurrence_batch *b, struct linnet_recurrence_input *inputs,
                                  size_t count) {
  enum linnet_status status = LINNET_OK;
  size_t end = 0;
  for (; end < count && status == LINNET_OK; end++)
    status = prepare_input(b, &inputs[end], end);
  for (size_t i = 0; i < end; i++)
    if (inputs[i].recurrence && inputs[i].recurrence->batch == b)
      inputs[i].recurrence->listed = false;
  return status;
}

/* Fills a pass from input *next on, whose first *taken frames went into earlier passes. An input that uses all rows of
 * the pass may have more. */
static void fill_pass(struct linnet_recurrence_batch *b, struct linnet_recurrence_input *inputs, size_t count,
                      size_t *next, size_t *taken) {
  linnet_recurrence_begin_pass(b);
  for (size_t rows = b->max_rows; *next < count && rows > 0;) {
    rows -= linnet_recurrence_add_span(b, &inputs[*next], rows, taken);
    if (rows > 0)
      ++*next, *taken = 0;
  }
}

enum linnet_status linnet_recurrence_batch_step(struct linnet_recurrence_batch *b,
                                                struct linnet_recurrence_input *inputs, size_t count) {
  if (!b || (!inputs && count > 0))
    return linnet_fail(b ? b->rows.context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_recurrence_batch_step: an argument is NULL");
  LINNET_TRY(prepare(b, inputs, count));
  for (size_t next = 0, taken = 0; next < count;) {
    fill_pass(b, inputs, count, &next, &taken);
    linnet_recurrence_run_pass(b);
  }
  return LINNET_OK;
}
