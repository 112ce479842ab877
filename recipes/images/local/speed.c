/* Measures how fast a network with random weights generates sequences of values: recurrently, or without a state by
 * running the network over all values so far for each new one. Speed does not depend on the weights.
 *
 * Without a state, each of --points lengths is measured, and stands for an equal part of the steps. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include <linnet/encoder.h>

#include "images.h"
#include "model/inference/sample.h"

static struct options {
  int length, side, channels, batch, count, points, whole;
} options = {.side = 28, .channels = 1, .batch = 1, .count = 1, .points = 8};

#define INT(name, member, help) name, 0, POPT_ARG_INT | POPT_ARGFLAG_SHOW_DEFAULT, &options.member, 0, help, "N"
static const struct poptOption own_options[] = {
    {INT("side", side, "Height and width of the images")},
    {INT("channels", channels, "Colours: 1 or 3")},
    {INT("length", length, "Instead of images, sequences of this many values; 0: images")},
    {INT("count", count, "Sequences to generate")},
    {INT("batch", batch, "Sequences that step together; 0: as linnet_sample chooses")},
    {"whole", 0, POPT_ARG_NONE, &options.whole, 0, "Without a state: run the network over all values so far", NULL},
    {INT("points", points, "Lengths that are measured with --whole")},
    POPT_TABLEEND};
#undef INT

static const struct poptOption option_table[] = {
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, (void *)own_options, 0, NULL, NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, (void *)images_network_options, 0, "Network:", NULL},
    POPT_TABLEEND};

/* Seconds on the clock, and of processor time of all threads. */
struct seconds {
  double wall, processor;
};

static struct seconds seconds_now(void) {
  return (struct seconds){experiment_seconds(), experiment_processor_seconds()};
}

static struct seconds seconds_since(struct seconds start) {
  const struct seconds now = seconds_now();
  return (struct seconds){now.wall - start.wall, now.processor - start.processor};
}

/* --- a model with random weights ---------------------------------------------------------------------------------- */

static void write_model(struct linnet_context *context, const struct linnet_config *config, const char *path) {
  struct linnet_parameters *parameters = NULL;
  images_check(linnet_parameters_create(context, config, &parameters), context);
  real *weights = experiment_alloc(context, parameters->size, sizeof *weights);
  linnet_parameters_initialise(parameters, 1, weights);
  const struct linnet_model_contents contents = {
      .config = config, .parameters = parameters, .weights = weights, .dtype = LINNET_F32};
  images_check(linnet_model_save(context, path, &contents), context);
  linnet_free(context, weights);
  linnet_parameters_destroy(parameters);
}

static struct linnet_model *create_model(struct linnet_context *context, size_t *steps) {
  const size_t side = (size_t)options.side, channels = (size_t)options.channels;
  struct linnet_config config;
  struct linnet_model *model = NULL;
  char path[] = "/tmp/linnet-images.XXXXXX";
  *steps = options.length > 0 ? (size_t)options.length : side * side * channels;
  if (options.length > 0)
    images_configure(context, *steps, 1, 1, &config);
  else
    images_configure(context, side, side, channels, &config);
  const int descriptor = mkstemp(path);
  if (descriptor < 0 || close(descriptor) != 0)
    experiment_die("%s: cannot create it", path);
  write_model(context, &config, path);
  images_check(linnet_model_load_tokens(context, path, &model), context);
  remove(path);
  return model;
}

/* --- measurements ------------------------------------------------------------------------------------------------- */

static struct seconds measure_recurrence(struct linnet_context *context, const struct linnet_model *model,
                                         size_t steps) {
  struct linnet_sample_settings settings;
  linnet_sample_settings_default(&settings);
  settings.count = (size_t)options.count;
  settings.steps = steps;
  settings.batch = (size_t)options.batch;
  int *values = experiment_alloc(context, settings.count * steps, sizeof *values);
  const struct seconds start = seconds_now();
  images_check(linnet_sample(context, model, &settings, values), context);
  const struct seconds used = seconds_since(start);
  linnet_free(context, values);
  return used;
}

static struct seconds measure_whole(struct linnet_context *context, const struct linnet_model *model, size_t steps) {
  const struct linnet_config *config = &model->config;
  struct linnet_encoder *encoder = NULL;
  struct seconds sum = {0};
  float *frames = experiment_alloc(context, steps * config->input_dim, sizeof *frames);
  float *outputs = experiment_alloc(context, steps * config->outputs, sizeof *outputs);
  const double points = options.points, part = (double)steps / points;
  images_check(linnet_encoder_create(context, model, &encoder), context);
  for (size_t t = 0; t < steps; t++)
    linnet_sample_frame(config, t, (int)(t * 37 % LEVELS), frames + t * config->input_dim);
  for (int i = 0; i < options.points; i++) {
    const size_t length = (size_t)ceil((i + 0.5) * part);
    const struct seconds start = seconds_now();
    images_check(linnet_encoder_compute(encoder, frames, length, outputs), context);
    const struct seconds used = seconds_since(start);
    sum.wall += used.wall * part, sum.processor += used.processor * part;
  }
  linnet_encoder_destroy(encoder);
  linnet_free(context, frames);
  linnet_free(context, outputs);
  return sum;
}

/* kind, rounds, steps, batch, sequences, seconds, seconds of processor time, sequences per second of either */
static void print(size_t steps, double count, struct seconds used) {
  printf("%s%s\t%d\t%zu\t%d\t%g\t%.4g\t%.4g\t%.4g\t%.4g\n", images_network.attention, options.whole ? "-whole" : "",
         images_network.rounds, steps, options.batch, count, used.wall, used.processor, count / used.wall,
         count / used.processor);
}

int main(int argc, const char **argv) {
  size_t steps;
  struct linnet_context *context = experiment_start(argc, argv, option_table);
  if (options.side < 1 || options.side > 1024 || (options.channels != 1 && options.channels != 3) ||
      options.length < 0 || options.length > LINNET_MAX_TOKENS || options.batch < 0 || options.count < 1 ||
      options.points < 1)
    experiment_die("numbers must be positive, and --channels 1 or 3; see --help");
  struct linnet_model *model = create_model(context, &steps);
  if (options.whole)
    print(steps, 1, measure_whole(context, model, steps));
  else
    print(steps, options.count, measure_recurrence(context, model, steps));
  linnet_model_destroy(model);
  linnet_context_destroy(context);
  return 0;
}
