/* Sequences from a model, a batch of them on each thread. */
#include "model/inference/sample.h"

#include <stdio.h>
#include <unistd.h>

#include <linnet/recurrence.h>

#include "base/base.h"
#include "base/numbers.h"
#include "base/philox.h"
#include "base/settings.h"
#include "ops/logistic_mixture.h"

/* How many MiB the second cache of a core has: 1 to 8, 1 if this is unknown. */
static size_t cache_size(void) {
  long bytes = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE
  bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
  return linnet_min_size(linnet_max_size(bytes > 0 ? (size_t)bytes >> 20 : 1, 1), 8);
}

/* Each step reads all weights once and the states of all sequences of the group. In a larger group the states no longer
 * fit into the cache, and in a smaller one too few sequences share the weights. These numbers were chosen with the
 * paper's network for MNIST on an AMD EPYC (Zen 4), whose cores have 1 MiB. On an Intel Xeon with 2 MiB twice as many
 * are faster with 8-bit integers: recipes/images/RESULTS.md has a sweep. A group may be half as large again, because a
 * very small last group would be slow. */
static size_t default_batch(const struct linnet_context *context, size_t count) {
  const enum linnet_precision precision = linnet_context_precision(context);
  const size_t batch = cache_size() * (precision == LINNET_INT8 ? 8 : precision == LINNET_BFLOAT16 ? 16 : 32);
  return count <= batch + batch / 2 ? count : batch;
}

void linnet_sample_frame(const struct linnet_config *config, size_t step, int before, float *frame) {
  frame[0] = (float)before;
  for (size_t i = config->input_dim; i-- > 1; step /= config->tokens[i])
    frame[i] = (float)(step % config->tokens[i]);
}

struct generation {
  struct linnet_context *context;
  const struct linnet_model *model;
  struct linnet_sample_settings sampling;
  int *values; /* (count, steps) */
  bool failed; /* atomic; the first group that fails sets the next two */
  enum linnet_status status;
  char message[512];
};

/* Sequences that step together. */
struct group {
  struct linnet_context *context; /* a handle of its own */
  struct linnet_recurrence_batch *batch;
  struct linnet_recurrence_input *inputs; /* (count) */
  float *frames, *outputs;                /* (count, input_dim), (count, outputs) */
  size_t first, count;
};

static enum linnet_status check(struct linnet_context *context, const struct linnet_model *model,
                                const struct linnet_sample_settings *s) {
  const struct linnet_config *config = &model->config;
  size_t steps = 1;
  for (size_t i = 1; i < config->input_dim && config->tokens[0] > 0; i++)
    steps = linnet_mul_size(steps, config->tokens[i], &steps) ? steps : SIZE_MAX;
  if (config->tokens[0] < 3 || config->output != LINNET_OUTPUT_LINEAR || config->outputs % 3 != 0 ||
      config->outputs > 3 * LINNET_MAX_COMPONENTS)
    return linnet_fail(context, LINNET_ERROR_UNSUPPORTED,
                       "the model does not read tokens, or its outputs are no mixture of logistics");
  if (linnet_model_lookahead(model) > 0)
    return linnet_fail(context, LINNET_ERROR_UNSUPPORTED,
                       "the convolutions of the model look %zu values ahead, which are not drawn yet: train it with "
                       "\"convolution_lookahead\": 0",
                       linnet_model_lookahead(model));
  if (s->given > s->steps || (config->input_dim > 1 && s->steps > steps))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "sequences of %zu steps, %zu of them given; the model has positions for %zu", s->steps, s->given,
                       steps);
  return LINNET_OK;
}

static enum linnet_status check_given(struct linnet_context *context, const struct linnet_model *model,
                                      const struct linnet_sample_settings *s, const int *values) {
  const size_t levels = linnet_sample_levels(&model->config);
  for (size_t i = 0; i < s->count; i++)
    for (size_t t = 0; t < s->given; t++)
      if (values[i * s->steps + t] < 0 || (size_t)values[i * s->steps + t] >= levels)
        return linnet_fail(context, LINNET_ERROR_ARGUMENT, "sequence %zu, step %zu: value %d must be 0 to %zu", i, t,
                           values[i * s->steps + t], levels - 1);
  return LINNET_OK;
}

/* --- a group ------------------------------------------------------------------------------------------------------ */

static enum linnet_status open_group(const struct generation *g, struct group *group) {
  const struct linnet_config *config = &g->model->config;
  group->inputs = linnet_calloc(group->context, group->count, sizeof *group->inputs);
  group->frames = linnet_alloc(group->context, group->count * config->input_dim, sizeof *group->frames);
  group->outputs = linnet_alloc(group->context, group->count * config->outputs, sizeof *group->outputs);
  if (!group->inputs || !group->frames || !group->outputs)
    return linnet_fail(group->context, LINNET_ERROR_MEMORY, "out of memory for %zu sequences", group->count);
  LINNET_TRY(linnet_recurrence_batch_create(group->context, g->model, group->count, &group->batch));
  for (size_t i = 0; i < group->count; i++) {
    LINNET_TRY(linnet_recurrence_batch_open(group->batch, &group->inputs[i].recurrence));
    group->inputs[i].features = group->frames + i * config->input_dim;
    group->inputs[i].num_frames = 1;
    group->inputs[i].log_posteriors = group->outputs + i * config->outputs;
  }
  return LINNET_OK;
}

static void close_group(struct group *group) {
  for (size_t i = 0; group->inputs && i < group->count; i++)
    linnet_recurrence_destroy(group->inputs[i].recurrence);
  linnet_recurrence_batch_destroy(group->batch);
  linnet_free(group->context, group->inputs);
  linnet_free(group->context, group->frames);
  linnet_free(group->context, group->outputs);
}

static int draw(const struct generation *g, size_t sequence, size_t step, const float *outputs) {
  const struct linnet_config *config = &g->model->config;
  const struct linnet_philox random = linnet_philox(g->sampling.seed, g->sampling.first + sequence, step);
  return linnet_logistic_mixture_sample(config->outputs / 3, linnet_sample_levels(config), outputs, random.word[0],
                                        random.word[1]);
}

static enum linnet_status run_step(const struct generation *g, const struct group *group, size_t step) {
  const struct linnet_config *config = &g->model->config;
  int *values = g->values + group->first * g->sampling.steps + step;
  for (size_t i = 0; i < group->count; i++) {
    const int before = step > 0 ? values[i * g->sampling.steps - 1] : (int)linnet_sample_levels(config);
    linnet_sample_frame(config, step, before, group->frames + i * config->input_dim);
  }
  LINNET_TRY(linnet_recurrence_batch_step(group->batch, group->inputs, group->count));
  for (size_t i = 0; step >= g->sampling.given && i < group->count; i++)
    values[i * g->sampling.steps] = draw(g, group->first + i, step, group->outputs + i * config->outputs);
  return LINNET_OK;
}

static enum linnet_status run_group(const struct generation *g, struct group *group) {
  LINNET_TRY(open_group(g, group));
  for (size_t step = 0; step < g->sampling.steps && !linnet_poll_stopped(g->context); step++)
    LINNET_TRY(run_step(g, group, step));
  return LINNET_OK;
}

/* --- all groups --------------------------------------------------------------------------------------------------- */

static void note_failure(struct generation *g, enum linnet_status status, const char *message) {
  if (__atomic_exchange_n(&g->failed, true, __ATOMIC_RELAXED))
    return;
  g->status = status;
  snprintf(g->message, sizeof g->message, "%s", message);
}

static void task_group(void *user, size_t task, unsigned worker) {
  struct generation *g = user;
  const size_t first = task * g->sampling.batch;
  struct group group = {.first = first, .count = linnet_min_size(g->sampling.batch, g->sampling.count - first)};
  (void)worker;
  if (linnet_context_share(g->context, &group.context) != LINNET_OK) {
    note_failure(g, LINNET_ERROR_MEMORY, "out of memory for a context");
    return;
  }
  const enum linnet_status status = run_group(g, &group);
  if (status != LINNET_OK)
    note_failure(g, status, linnet_context_error(group.context));
  close_group(&group);
  linnet_context_destroy(group.context);
}

void(linnet_sample_settings_default)(struct linnet_sample_settings *settings, size_t size) {
  const struct linnet_sample_settings defaults = {.size = sizeof defaults, .count = 1};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

enum linnet_status linnet_sample(struct linnet_context *context, const struct linnet_model *model,
                                 const struct linnet_sample_settings *settings, int *values) {
  struct generation g = {.context = context, .model = model, .values = values};
  if (!context || !model || !values)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_sample: an argument is NULL");
  LINNET_TRY(LINNET_READ_SETTINGS(context, sample, settings, &g.sampling));
  LINNET_TRY(check(context, model, &g.sampling));
  LINNET_TRY(check_given(context, model, &g.sampling, values));
  if (g.sampling.batch == 0)
    g.sampling.batch = default_batch(model->context, g.sampling.count);
  g.sampling.batch = linnet_max_size(linnet_min_size(g.sampling.batch, g.sampling.count), 1);
  linnet_poll_begin(context);
  linnet_parallel(context, linnet_divide_up(g.sampling.count, g.sampling.batch), task_group, &g);
  LINNET_TRY(linnet_poll_check(context));
  return g.failed ? linnet_fail(context, g.status, "%s", g.message) : LINNET_OK;
}
