/* Measures how much the bits per dimension of a model depend on values that it must not see. Each test image runs
 * through the network whole, as in the test of linnet-images-train, and then once for each value, with only the values
 * before it. The two are the same for causal attention, but for rounding. In causal LSH attention later values move the
 * bounds of chunks (ops/lsh_attention.h), so only the second is a likelihood.
 *
 * Prints images, bits per dimension whole and by prefixes, their difference (prefixes - whole) with its 95 % interval,
 * and the share of values whose likelihood differs by more than 1e-3 nats. */
#include <math.h>

#include <linnet/encoder.h>

#include "images.h"
#include "model/inference/sample.h"
#include "ops/logistic_mixture.h"

static struct options {
  const char *model, *test;
  int count, scale;
} options = {.count = 20, .scale = 1};

#define INT(name, member, help) name, 0, POPT_ARG_INT | POPT_ARGFLAG_SHOW_DEFAULT, &options.member, 0, help, "N"
static const struct poptOption option_table[] = {
    {"model", 0, POPT_ARG_STRING, &options.model, 0, "Model that linnet-images-train wrote", "MODEL"},
    {"test", 0, POPT_ARG_STRING, &options.test, 0, "Test images", "FILES"},
    {INT("count", count, "Use only the first N test images")},
    {INT("scale", scale, "Divide height and width by N")},
    POPT_TABLEEND};
#undef INT

struct measurement {
  struct linnet_context *context;
  struct linnet_model *model;
  struct linnet_encoder *encoder;
  size_t steps;
  float *frames, *whole, *prefix; /* (steps, input_dim), (steps, outputs) twice */
};

/* Sums over the values of images, in bits per dimension of each image. */
struct sums {
  double whole, prefix, squares; /* of the differences */
  size_t images, values, others;
};

static void create(struct measurement *m, size_t steps) {
  const struct linnet_config *config = &m->model->config;
  m->steps = steps;
  m->frames = experiment_alloc(m->context, steps * config->input_dim, sizeof *m->frames);
  m->whole = experiment_alloc(m->context, steps * config->outputs, sizeof *m->whole);
  m->prefix = experiment_alloc(m->context, steps * config->outputs, sizeof *m->prefix);
  images_check(linnet_encoder_create(m->context, m->model, &m->encoder), m->context);
}

static void destroy(struct measurement *m) {
  linnet_encoder_destroy(m->encoder);
  linnet_free(m->context, m->frames);
  linnet_free(m->context, m->whole);
  linnet_free(m->context, m->prefix);
  linnet_model_destroy(m->model);
  linnet_context_destroy(m->context);
}

static double nats(const struct measurement *m, const float *outputs, size_t step, int value) {
  const size_t width = m->model->config.outputs;
  const struct linnet_logistic_mixture mixture = {.rows = 1,
                                                  .components = width / 3,
                                                  .levels = LEVELS,
                                                  .outputs = outputs + step * width,
                                                  .values = &value,
                                                  .scale = 1};
  return linnet_logistic_mixture_reference(&mixture);
}

static void add_image(const struct measurement *m, const unsigned char *values, struct sums *sums) {
  const struct linnet_config *config = &m->model->config;
  const double scale = 1 / ((double)m->steps * log(2));
  double whole = 0, prefix = 0;
  for (size_t t = 0; t < m->steps; t++)
    linnet_sample_frame(config, t, t > 0 ? values[t - 1] : START, m->frames + t * config->input_dim);
  images_check(linnet_encoder_compute(m->encoder, m->frames, m->steps, m->whole), m->context);
  for (size_t t = 0; t < m->steps; t++) {
    images_check(linnet_encoder_compute(m->encoder, m->frames, t + 1, m->prefix), m->context);
    const double a = nats(m, m->whole, t, values[t]), b = nats(m, m->prefix, t, values[t]);
    whole += a * scale, prefix += b * scale;
    sums->others += fabs(a - b) > 1e-3;
  }
  sums->whole += whole, sums->prefix += prefix;
  sums->squares += (prefix - whole) * (prefix - whole);
  sums->images++, sums->values += m->steps;
}

static void print(const struct sums *s) {
  const double n = (double)s->images, mean = (s->prefix - s->whole) / n;
  const double variance = s->images > 1 ? fmax(s->squares / n - mean * mean, 0) / (n - 1) : INFINITY;
  printf("%zu\t%.4f\t%.4f\t%.4f\t%.4f\t%.3f\n", s->images, s->whole / n, s->prefix / n, mean, 1.96 * sqrt(variance),
         (double)s->others / (double)s->values);
}

int main(int argc, const char **argv) {
  struct measurement m = {.context = experiment_start(argc, argv, option_table)};
  struct images shape = {0};
  struct sums sums = {0};
  if (!options.model || !options.test || options.count < 1 || options.scale < 1)
    experiment_die("needs --model and --test, and positive numbers; see --help");
  images_check(linnet_model_load_tokens(m.context, options.model, &m.model), m.context);
  if (!images_shape(&m.model->config, &shape.height, &shape.width, &shape.channels))
    experiment_die("%s: is not a model of images", options.model);
  const struct images images = images_read(m.context, options.test, (size_t)options.scale, (size_t)options.count);
  if (images_size(&images) != images_size(&shape))
    experiment_die("%s: its images are not of the model's size, %zu x %zu; see --scale", options.test, shape.height,
                   shape.width);
  create(&m, images_size(&images));
  for (size_t i = 0; i < images.count; i++)
    add_image(&m, images.values + i * m.steps, &sums);
  print(&sums);
  linnet_free(m.context, images.values);
  destroy(&m);
  return 0;
}
