/* Trains an autoregressive model of images (Katharopoulos et al. 2020, section 4.2) and measures bits per dimension:
 * the negative log-likelihood of the test images, in bits per value. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/numbers.h"
#include "base/philox.h"
#include "images.h"
#include "model/inference/sample.h"
#include "model/training/network.h"
#include "ops/logistic_mixture.h"

static struct options {
  const char *train, *test, *out, *initial;
  int updates, batch, scale, train_images, test_images, seed, report, checkpoint, decay;
  double rate, seconds;
} options = {.updates = 1000,
             .batch = 10,
             .scale = 1,
             .test_images = 1000,
             .seed = 1,
             .report = 10,
             .checkpoint = 50,
             .decay = 1,
             .rate = 1e-4};

#define INT(name, member, help) name, 0, POPT_ARG_INT | POPT_ARGFLAG_SHOW_DEFAULT, &options.member, 0, help, "N"
static const struct poptOption own_options[] = {
    {"train", 0, POPT_ARG_STRING, &options.train, 0, "Training images: IDX, or CIFAR-10 records", "FILES"},
    {"test", 0, POPT_ARG_STRING, &options.test, 0, "Test images", "FILES"},
    {"out", 0, POPT_ARG_STRING, &options.out, 0,
     "Prefix of the results: OUT.log (update, bits per dimension, seconds of the processor), OUT.model, OUT.result, "
     "and "
     "OUT.bits (bits per dimension of each test image)",
     "OUT"},
    {"initial", 0, POPT_ARG_STRING, &options.initial, 0,
     "Begin with the weights of this checkpoint of an earlier training, unless OUT.checkpoint exists", "FILE"},
    {INT("updates", updates, "Optimiser steps")},
    {INT("batch", batch, "Images of a step")},
    {INT("scale", scale, "Divide height and width by N")},
    {INT("train-images", train_images, "Use only the first N training images; 0: all")},
    {INT("test-images", test_images, "Use only the first N test images; 0: all")},
    {INT("seed", seed, "Seed of weights and of the order of images")},
    {INT("report", report, "Steps of a line of the log")},
    {INT("checkpoint", checkpoint, "Reports between two checkpoints")},
    {INT("decay", decay, "Divide the learning rate by 10 over the last 1/N of the steps, linearly; 1: never")},
    {"rate", 0, POPT_ARG_DOUBLE | POPT_ARGFLAG_SHOW_DEFAULT, &options.rate, 0, "Learning rate of RAdam", "R"},
    {"seconds", 0, POPT_ARG_DOUBLE, &options.seconds, 0,
     "Stop at the first report after S seconds of the processor (default: after --updates only)", "S"},
    POPT_TABLEEND};
#undef INT

static const struct poptOption option_table[] = {
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, (void *)own_options, 0, NULL, NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, (void *)images_network_options, 0, "Network:", NULL},
    POPT_TABLEEND};

/* One shard's images and memory. */
struct shard {
  size_t sequences, *offsets;
  int *values; /* (T) */
  real *rows, *outputs;
  struct linnet_pass *pass;
  void *memory;
  double *losses; /* (sequences): nats */
};

struct training {
  struct linnet_config config;
  struct linnet_parameters *parameters;
  struct linnet_network network;
  struct experiment experiment;
  struct images train_set, test_set;
  struct shard shards[EXPERIMENT_SHARDS];
  size_t bytes; /* of a shard's memory */
  bool training;
};

/* --- batches ------------------------------------------------------------------------------------------------------ */

static void add_image(struct training *t, struct shard *s, const unsigned char *values) {
  const size_t size = images_size(&t->train_set), first = s->offsets[s->sequences], columns = t->config.input_dim;
  for (size_t i = 0; i < size; i++) {
    s->values[first + i] = values[i];
    linnet_sample_frame(&t->config, i, i > 0 ? values[i - 1] : START, s->rows + (first + i) * columns);
  }
  s->offsets[++s->sequences] = first + size;
}

static void clear_batch(struct training *t) {
  for (size_t i = 0; i < EXPERIMENT_SHARDS; i++)
    t->shards[i].sequences = 0;
}

/* The images of an update depend on the seed and the update only. */
static void draw_batch(struct training *t, uint64_t update) {
  clear_batch(t);
  for (size_t i = 0; i < (size_t)options.batch; i++) {
    const uint32_t word = linnet_philox((uint64_t)options.seed, update, i).word[0];
    const size_t image = (size_t)((uint64_t)word * t->train_set.count >> 32);
    add_image(t, &t->shards[i % EXPERIMENT_SHARDS], t->train_set.values + image * images_size(&t->train_set));
  }
}

/* --- loss --------------------------------------------------------------------------------------------------------- */

/* Bits per dimension of the shard's part of the batch, and its gradient. */
static double shard_loss(void *user, size_t index, const real *weights, real *gradient_add) {
  struct training *t = user;
  struct shard *s = &t->shards[index];
  const struct linnet_shard input = {.pack = {s->sequences, s->offsets},
                                     .features = s->rows,
                                     .forward_only = !t->training,
                                     .seed = ~(uint64_t)options.seed, /* of hashes; new ones in each update */
                                     .step = t->training ? (uint32_t)t->experiment.step + 1 : 0};
  const size_t size = images_size(&t->train_set), width = t->config.outputs;
  const double scale = 1 / ((double)options.batch * (double)size * log(2));
  double loss = 0;
  if (s->sequences == 0)
    return 0;
  linnet_pass_forward(s->pass, weights, &input, s->memory, t->bytes, s->outputs);
  for (size_t i = 0; i < s->sequences; i++) {
    real *outputs = s->outputs + s->offsets[i] * width;
    const struct linnet_logistic_mixture m = {.rows = size,
                                              .components = width / 3,
                                              .levels = LEVELS,
                                              .outputs = outputs,
                                              .values = s->values + s->offsets[i],
                                              .scale = (real)scale,
                                              .gradient = t->training ? outputs : NULL};
    loss += s->losses[i] = linnet_logistic_mixture_reference(&m);
  }
  if (t->training)
    linnet_pass_backward(s->pass, s->outputs, gradient_add);
  return loss * scale;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void create_shard(struct training *t, struct shard *s) {
  struct linnet_context *context = t->experiment.context;
  const size_t sequences = linnet_divide_up((size_t)options.batch, EXPERIMENT_SHARDS),
               size = images_size(&t->train_set);
  images_check(linnet_pass_create(context, &t->network, &s->pass), context);
  s->offsets = experiment_alloc(context, sequences + 1, sizeof *s->offsets);
  for (size_t k = 0; k <= sequences; k++)
    s->offsets[k] = k * size;
  t->bytes = linnet_pass_bytes(s->pass, &(struct linnet_pack){sequences, s->offsets}, false);
  s->values = experiment_alloc(context, sequences * size, sizeof *s->values);
  s->rows = experiment_alloc(context, sequences * size, t->config.input_dim * sizeof(real));
  s->outputs = experiment_alloc(context, sequences * size, t->config.outputs * sizeof(real));
  s->losses = experiment_alloc(context, sequences, sizeof *s->losses);
  s->memory = experiment_alloc(context, t->bytes, 1);
}

static void create(struct training *t, struct linnet_context *context) {
  const size_t scale = (size_t)options.scale;
  t->train_set = images_read(context, options.train, scale, (size_t)options.train_images);
  t->test_set = images_read(context, options.test, scale, (size_t)options.test_images);
  if (images_size(&t->train_set) != images_size(&t->test_set))
    experiment_die("%s and %s: images of different sizes", options.train, options.test);
  images_configure(context, t->train_set.height, t->train_set.width, t->train_set.channels, &t->config);
  images_check(linnet_parameters_create(context, &t->config, &t->parameters), context);
  experiment_create_parameters(&t->experiment, context, LINNET_RADAM, t->parameters->size);
  linnet_parameters_initialise(t->parameters, (uint64_t)options.seed, t->experiment.weights);
  t->network = (struct linnet_network){linnet_device_of(context), &t->config, t->parameters};
  for (size_t i = 0; i < EXPERIMENT_SHARDS; i++)
    create_shard(t, &t->shards[i]);
}

static void release(struct training *t) {
  struct linnet_context *context = t->experiment.context;
  for (size_t i = 0; i < EXPERIMENT_SHARDS; i++) {
    const struct shard *s = &t->shards[i];
    void *blocks[] = {s->offsets, s->values, s->rows, s->outputs, s->losses, s->memory};
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++)
      linnet_free(context, blocks[k]);
    linnet_pass_destroy(s->pass);
  }
  linnet_free(context, t->train_set.values);
  linnet_free(context, t->test_set.values);
  experiment_release(&t->experiment);
  linnet_parameters_destroy(t->parameters);
  linnet_context_destroy(context);
}

/* --- training ----------------------------------------------------------------------------------------------------- */

enum { SETTINGS = 14, NETWORK_SETTINGS = 6 }; /* all, and those of the network, which come first */

/* The position of a training in its checkpoint, and its settings. */
struct progress {
  char attention[32];
  double settings[SETTINGS];
  long log_bytes;
  double seconds;
};

static struct progress progress_of(long log_bytes, double seconds) {
  const struct images_network *n = &images_network;
  struct progress p;
  memset(&p, 0, sizeof p);
  snprintf(p.attention, sizeof p.attention, "%s", n->attention);
  const double settings[SETTINGS] = {n->layers,
                                     n->heads,
                                     n->width,
                                     n->feed_forward,
                                     n->components,
                                     n->rounds,
                                     options.batch,
                                     options.scale,
                                     options.train_images,
                                     options.seed,
                                     options.report,
                                     options.decay,
                                     options.rate,
                                     options.decay > 1 ? options.updates : 0};
  memcpy(p.settings, settings, sizeof settings);
  p.log_bytes = log_bytes, p.seconds = seconds;
  return p;
}

/* Whether the attention and the first `count` settings are the same. */
static bool are_equal(const struct progress *a, const struct progress *b, size_t count) {
  return memcmp(a->attention, b->attention, sizeof a->attention) == 0 &&
         memcmp(a->settings, b->settings, count * sizeof *a->settings) == 0; /* the same bits */
}

/* Weights of an earlier training of the same network; its other settings may differ. */
static void read_initial_weights(struct training *t) {
  const struct progress own = progress_of(0, 0);
  struct experiment *e = &t->experiment;
  struct progress saved;
  if (!experiment_load(e, options.initial, &saved, sizeof saved))
    experiment_die("%s: %s", options.initial, strerror(ENOENT));
  if (!are_equal(&own, &saved, NETWORK_SETTINGS))
    experiment_die("%s: is a checkpoint of another network", options.initial);
  memset(e->moment1, 0, e->size * sizeof *e->moment1);
  memset(e->moment2, 0, e->size * sizeof *e->moment2);
  e->step = 0;
}

static void output_name(const char *suffix, char *name, size_t size) {
  snprintf(name, size, "%s.%s", options.out, suffix);
}

/* Opens the log of a new or continued training; removes lines after its checkpoint. */
static FILE *open_log(struct training *t, const char *checkpoint, double *seconds) {
  struct progress own = progress_of(0, 0), saved = own;
  char name[4096];
  const bool again = experiment_load(&t->experiment, checkpoint, &saved, sizeof saved);
  if (!again && options.initial)
    read_initial_weights(t);
  if (!are_equal(&own, &saved, SETTINGS))
    experiment_die("%s: is a checkpoint of other settings; remove it to start again", checkpoint);
  output_name("log", name, sizeof name);
  FILE *log = fopen(name, again ? "r+" : "w");
  if (!log || ftruncate(fileno(log), saved.log_bytes) != 0 || fseek(log, 0, SEEK_END) != 0)
    experiment_die("%s: %s", name, strerror(errno));
  if (!again)
    fprintf(log, "# update, bits per dimension of the last %d batches, seconds of the processor\n", options.report);
  *seconds = saved.seconds;
  return log;
}

static double rate_of(int update) {
  const double last = (double)options.updates / options.decay, left = options.updates - update;
  return options.decay > 1 && left < last ? options.rate * (0.1 + 0.9 * left / last) : options.rate;
}

static void save(const struct training *t, FILE *log, const char *checkpoint, double seconds) {
  const struct progress p = progress_of(experiment_log_bytes(log, options.out), seconds);
  experiment_save(&t->experiment, checkpoint, &p, sizeof p);
}

static bool in_budget(double seconds) {
  return options.seconds <= 0 || seconds < options.seconds;
}

/* The share of the updates, or of the budget of seconds, that is over. */
static double share_of(int first, int update, double before, double seconds) {
  const double updates = (double)(update - first) / (options.updates - first);
  const double budget = options.seconds > 0 ? (seconds - before) / (options.seconds - before) : 0;
  return fmin(1, fmax(updates, budget));
}

static void show(int first, int update, double before, double seconds, double bits, double started) {
  char line[200];
  snprintf(line, sizeof line, "%s: update %d of %d, %.3f bits, %.2f s of the processor each", images_network.attention,
           update, options.updates, bits, (seconds - before) / (update - first));
  experiment_progress(line, started, share_of(first, update, before, seconds));
}

/* Returns the seconds of the processor, with those before the checkpoint. */
static double train(struct training *t, FILE *log, const char *checkpoint, double before) {
  const double start = experiment_processor_seconds() - before, started = experiment_seconds();
  const int first = (int)t->experiment.step;
  double loss = 0, seconds = before;
  int summed = 0; /* updates */
  t->training = true;
  for (int u = first + 1; u <= options.updates && in_budget(seconds) && !experiment_interrupted(); u++) {
    draw_batch(t, (uint64_t)u);
    loss += experiment_step(&t->experiment, rate_of(u), shard_loss, t);
    summed++;
    if (!isfinite(loss))
      experiment_die("%s: the loss is not finite at update %d", images_network.attention, u);
    if (u % options.report != 0)
      continue;
    seconds = experiment_processor_seconds() - start;
    fprintf(log, "%d\t%.6f\t%.2f\n", u, loss / summed, seconds);
    fflush(log);
    show(first, u, before, seconds, loss / summed, started);
    loss = 0, summed = 0;
    if (u % (options.report * options.checkpoint) == 0)
      save(t, log, checkpoint, seconds);
  }
  experiment_end_progress();
  seconds = experiment_processor_seconds() - start;
  save(t, log, checkpoint, seconds);
  experiment_catch_interrupt(false);
  if (experiment_interrupted())
    experiment_stop(checkpoint);
  t->training = false;
  return seconds;
}

/* --- evaluation --------------------------------------------------------------------------------------------------- */

static void store_losses(const struct training *t, double *bits) {
  const double scale = 1 / ((double)images_size(&t->test_set) * log(2));
  for (size_t i = 0; i < EXPERIMENT_SHARDS; i++)
    for (size_t k = 0; k < t->shards[i].sequences; k++)
      bits[k * EXPERIMENT_SHARDS + i] = t->shards[i].losses[k] * scale;
}

static void test_shard(void *user, size_t index, unsigned worker) {
  struct training *t = user;
  (void)worker;
  shard_loss(t, index, t->experiment.weights, NULL);
}

/* Bits per dimension of each test image; free with linnet_free. */
static double *test(struct training *t) {
  const size_t size = images_size(&t->test_set);
  double *bits = experiment_alloc(t->experiment.context, t->test_set.count, sizeof *bits);
  for (size_t first = 0; first < t->test_set.count; first += (size_t)options.batch) {
    const size_t count = linnet_min_size((size_t)options.batch, t->test_set.count - first);
    clear_batch(t);
    for (size_t i = 0; i < count; i++)
      add_image(t, &t->shards[i % EXPERIMENT_SHARDS], t->test_set.values + (first + i) * size);
    linnet_parallel(t->experiment.context, EXPERIMENT_SHARDS, test_shard, t);
    store_losses(t, bits + first);
  }
  return bits;
}

static void write_bits(const double *bits, size_t count) {
  char name[4096];
  output_name("bits", name, sizeof name);
  FILE *file = experiment_create(name);
  for (size_t i = 0; i < count; i++)
    fprintf(file, "%.6f\n", bits[i]);
  experiment_finish(file, name);
}

/* kind, updates, bits per dimension and its interval of 95 %, test images, parameters, seconds of the
 * processor in training */
static void write_result(const struct training *t, const double *bits, double seconds) {
  char name[4096];
  const double n = (double)t->test_set.count;
  double mean = 0, squares = 0;
  for (size_t i = 0; i < t->test_set.count; i++)
    mean += bits[i] / n;
  for (size_t i = 0; i < t->test_set.count; i++)
    squares += (bits[i] - mean) * (bits[i] - mean);
  const double variance = n > 1 ? squares / (n - 1) : 0;
  output_name("result", name, sizeof name);
  FILE *file = experiment_create(name);
  fprintf(file, "%s\t%llu\t%.4f\t%.4f\t%zu\t%zu\t%.0f\n", images_network.attention,
          (unsigned long long)t->experiment.step, mean, 1.96 * sqrt(variance / n), t->test_set.count,
          t->parameters->trained, seconds);
  experiment_finish(file, name);
}

static void write_model(const struct training *t) {
  char name[4096];
  output_name("model", name, sizeof name);
  const struct linnet_model_contents contents = {
      .config = &t->config, .parameters = t->parameters, .weights = t->experiment.weights, .dtype = LINNET_F32};
  images_check(linnet_model_save(t->experiment.context, name, &contents), t->experiment.context);
}

static void check_options(void) {
  const int positive[] = {options.updates,          options.batch,          options.scale,
                          options.report,           options.checkpoint,     options.decay,
                          options.train_images + 1, options.test_images + 1};
  for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
    if (positive[i] < 1)
      experiment_die("numbers of updates, images and reports must be positive; see --help");
  if (!options.train || !options.test || !options.out)
    experiment_die("needs --train, --test and --out; see --help");
}

int main(int argc, const char **argv) {
  static struct training t;
  char checkpoint[4096];
  double seconds;
  struct linnet_context *context = experiment_start(argc, argv, option_table);
  check_options();
  create(&t, context);
  output_name("checkpoint", checkpoint, sizeof checkpoint);
  FILE *log = open_log(&t, checkpoint, &seconds);
  experiment_catch_interrupt(true);
  seconds = train(&t, log, checkpoint, seconds);
  if (fclose(log) != 0)
    experiment_die("%s.log: cannot write", options.out);
  write_model(&t);
  double *bits = test(&t);
  write_bits(bits, t.test_set.count);
  write_result(&t, bits, seconds);
  linnet_free(context, bits);
  release(&t);
  return 0;
}
