/* Functions that the benchmarks of whole networks share: options, the networks and their work, and measuring a run
 * on several threads. Options: [--threads N] [--network NAME] [--set NAME] [--kernels TABLE] [--device NAME]
 * [--seconds S] [--json] [--profile]. */
#ifndef LINNET_BENCH_NETWORK_H
#define LINNET_BENCH_NETWORK_H

#include <unistd.h>

#include "base/base.h"
#include "bench.h"
#include "model/config.h"
#include "model/format/feature_config.h"
#include "model/format/model.h"

/* --- options ------------------------------------------------------------------------------------------------------ */

struct bench_options {
  unsigned threads;    /* 0: one, then two */
  const char *network; /* NULL: all */
  const char *set;     /* of batches; NULL: all */
  const char *device;  /* NULL: the CPU */
  const char *kernels; /* NULL: the best that this machine runs */
  double seconds;      /* of measuring, each case */
  bool json;           /* one JSON object a line instead of a table */
  bool profile;        /* print the time of each op, if the benchmark can; on one thread */
};

static inline struct bench_options bench_parse(int argc, char **argv) {
  struct bench_options o = {.seconds = 2};
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--json") == 0)
      o.json = true;
    else if (strcmp(argv[i], "--profile") == 0)
      o.profile = true, o.threads = 1;
    else if (value && strcmp(argv[i], "--threads") == 0)
      o.threads = (unsigned)atoi(value), i++;
    else if (value && strcmp(argv[i], "--network") == 0)
      o.network = value, i++;
    else if (value && strcmp(argv[i], "--set") == 0)
      o.set = value, i++;
    else if (value && strcmp(argv[i], "--kernels") == 0)
      o.kernels = value, i++;
    else if (value && strcmp(argv[i], "--device") == 0)
      o.device = value, i++;
    else if (value && strcmp(argv[i], "--seconds") == 0)
      o.seconds = atof(value), i++;
    else {
      fprintf(stderr,
              "usage: %s [--threads N] [--network NAME] [--set NAME] [--kernels TABLE] [--device NAME] "
              "[--seconds S] [--json] [--profile]\n",
              argv[0]);
      exit(2);
    }
  }
  return o;
}

static inline struct linnet_context *bench_context(const struct bench_options *o, unsigned threads) {
  struct linnet_context_settings settings;
  struct linnet_context *context = NULL;
  linnet_context_settings_default(&settings);
  settings.num_threads = threads;
  settings.kernels = o->kernels;
  settings.device = o->device;
  if (linnet_context_create(&settings, &context) != LINNET_OK) {
    fprintf(stderr, "no context with kernels %s on %s\n", o->kernels ? o->kernels : "auto",
            o->device ? o->device : "cpu");
    exit(1);
  }
  return context;
}

static inline void bench_check(struct linnet_context *context, enum linnet_status status) {
  if (status == LINNET_OK)
    return;
  fprintf(stderr, "failed: %s\n", linnet_context_error(context));
  exit(1);
}

/* --- networks ----------------------------------------------------------------------------------------------------- */

enum { BENCH_OUTPUTS = 42 };

static const struct bench_network {
  const char *name, *config; /* differences from the paper's model */
} bench_networks[] = {
    {"paper", "{}"},
    {"stack3", "{\"stack\": 3, \"norm\": \"pre\"}"},
    {"conv", "{\"norm\": \"pre\", \"convolution\": 15}"},
    {"stack3-conv", "{\"stack\": 3, \"norm\": \"pre\", \"convolution\": 15}"},
    {"blstm", "{\"encoder\": \"blstm\", \"width\": 320, \"layers\": 3}"},
    {"stack3-blstm", "{\"encoder\": \"blstm\", \"width\": 320, \"layers\": 3, \"stack\": 3}"},
};

typedef void bench_network_fn(const struct bench_options *o, const struct bench_network *network, unsigned threads);

/* Calls `run` for the networks and numbers of threads that were asked for. */
static inline void bench_each_network(const struct bench_options *o, bench_network_fn *run) {
  unsigned first = o->threads ? o->threads : 1, last = o->threads ? o->threads : 2, runs = 0;
  for (size_t i = 0; i < sizeof bench_networks / sizeof *bench_networks; i++)
    for (unsigned threads = first; threads <= last; threads++)
      if (!o->network || strcmp(o->network, bench_networks[i].name) == 0) {
        run(o, &bench_networks[i], threads);
        runs++;
      }
  if (runs == 0)
    fprintf(stderr, "%s: no such network\n", o->network), exit(2);
}

static inline struct linnet_config bench_config(struct linnet_context *context, const struct bench_network *network) {
  struct linnet_config config;
  linnet_config_default(&config);
  config.outputs = BENCH_OUTPUTS;
  bench_check(context, linnet_config_parse(context, network->config, network->name, &config));
  bench_check(context, linnet_config_validate(context, network->name, &config));
  return config;
}

/* A model with random weights: written to a temporary file and loaded, as users do. */
static inline struct linnet_model *bench_model(struct linnet_context *context, const struct bench_network *network) {
  struct linnet_config config = bench_config(context, network);
  struct linnet_feature_config features;
  struct linnet_parameters *parameters = NULL;
  struct linnet_model *model = NULL;
  char path[] = "/tmp/linnet-bench-XXXXXX", text[BENCH_OUTPUTS][8] = {"<blk>"};
  const char *symbols[BENCH_OUTPUTS] = {text[0]};
  for (size_t i = 1; i < BENCH_OUTPUTS; i++)
    snprintf(text[i], sizeof text[i], "s%zu", i), symbols[i] = text[i];
  bench_check(context, linnet_parameters_create(context, &config, &parameters));
  real *weights = linnet_alloc(context, parameters->size, sizeof *weights);
  linnet_parameters_initialise(parameters, 1, weights);
  linnet_feature_config_default(&features);
  struct linnet_model_contents contents = {.config = &config,
                                           .parameters = parameters,
                                           .weights = weights,
                                           .symbols = symbols,
                                           .features = &features,
                                           .dtype = LINNET_F32};
  close(mkstemp(path));
  bench_check(context, linnet_model_save(context, path, &contents));
  bench_check(context, linnet_model_load(context, path, &model));
  unlink(path);
  linnet_free(context, weights);
  linnet_parameters_destroy(parameters);
  return model;
}

static inline double bench_blstm_flops(const struct linnet_config *c) {
  double h = (double)c->width, first = (double)(c->input_dim * c->stack), later = (double)(c->layers - 1);
  return 2 * 8 * h * (first + h + later * 3 * h) + 2 * 2 * h * (double)c->outputs;
}

/* Floating point operations of one output frame, a multiply-add being two: products, attention, depthwise
 * convolution. Norms, activations and softmax are left out. */
static inline double bench_forward_flops(const struct linnet_config *c) {
  if (c->encoder == LINNET_ENCODER_BLSTM)
    return bench_blstm_flops(c);
  double d = (double)c->width, f = (double)c->feed_forward, head = d / (double)c->heads;
  double attention = 4 * d * head + 3 * d; /* S += k v, z += k; q S, q z */
  double conv = c->convolution > 0 ? 2 * (2 * d * d + d * d + (double)c->convolution * d) : 0;
  double layer = 2 * (4 * d * d + 2 * d * f) + attention + conv;
  double ends = 2 * d * (double)(c->input_dim * c->stack + c->outputs);
  return (double)c->layers * layer + ends;
}

/* Forward and backward: every product becomes three, but there is no gradient of the features. */
static inline double bench_training_flops(const struct linnet_config *c) {
  size_t into =
      c->encoder == LINNET_ENCODER_BLSTM ? 8 * c->width : c->width; /* the width that the features are mapped to */
  return 3 * bench_forward_flops(c) - 2 * (double)(into * c->input_dim * c->stack);
}

/* --- measuring on several threads --------------------------------------------------------------------------------- */

static inline double bench_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct bench_cost {
  double wall, cpu; /* seconds of one call; cpu of all threads */
  double peak;      /* flop/s of one core, measured in turns */
  double share;     /* share of the peak, by CPU time, which does not include other programs */
};

enum { BENCH_MAX_SAMPLES = 201, BENCH_MIN_SAMPLES = 3 };

static inline double bench_middle(double *samples, size_t n) {
  qsort(samples, n, sizeof *samples, bench_order);
  return samples[n / 2];
}

/* Medians over calls of about `seconds` in all. */
static inline struct bench_cost bench_cost(const char *table, bench_fn *body, void *user, double flops,
                                           double seconds) {
  static double wall[BENCH_MAX_SAMPLES], cpu[BENCH_MAX_SAMPLES], peak[BENCH_MAX_SAMPLES], share[BENCH_MAX_SAMPLES];
  double start = bench_clock(CLOCK_MONOTONIC), peak_flops;
  bench_fn *loop = bench_peak_loop(table);
  body(user);
  size_t n = 0;
  while (n < BENCH_MAX_SAMPLES && (n < BENCH_MIN_SAMPLES || bench_clock(CLOCK_MONOTONIC) - start < seconds)) {
    double before = bench_sample(loop, &peak_flops, 1);
    double wall_start = bench_clock(CLOCK_MONOTONIC), cpu_start = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
    body(user);
    cpu[n] = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
    wall[n] = bench_clock(CLOCK_MONOTONIC) - wall_start;
    peak[n] = 2 * peak_flops / (before + bench_sample(loop, &peak_flops, 1));
    share[n] = flops / cpu[n] / peak[n];
    n++;
  }
  return (struct bench_cost){bench_middle(wall, n), bench_middle(cpu, n), bench_middle(peak, n),
                             bench_middle(share, n)};
}

#endif
