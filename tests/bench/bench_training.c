/* One optimiser step: stacking of features that lie in memory, forward and backward with dropout and CTC, clipping
 * norm, RAdam. Batches as the trainer packs them, of utterances of random lengths; the same lengths and label counts
 * come out of peer_torch.py. */
#include "bench_network.h"
#include "bench_profile.h"
#include "ops/optimizer.h"
#include "train/batch.h"
#include "train/gradient.h"

enum { MAX_UTTERANCES = 256, FRAMES_PER_LABEL = 8 };

static const struct set {
  const char *name;
  size_t batch_frames; /* input frames, at most */
  double median;       /* frames of an utterance */
} sets[] = {
    {"4000x3.5s", 4000, 350},
    {"12000x3.5s", 12000, 350},
    {"12000x8s", 12000, 800},
};

struct corpus {
  size_t count, total;
  size_t frames[MAX_UTTERANCES], indices[MAX_UTTERANCES];
  const float *features; /* (longest, 40): all utterances read from here */
  const int *labels;
};

/* Log-normal lengths, near enough: the sum of three uniform numbers has variance 1. */
static void fill_corpus(struct corpus *c, const struct set *set) {
  struct test_random random = {7};
  for (c->count = c->total = 0; c->count < MAX_UTTERANCES; c->count++) {
    double u = test_uniform(&random), v = test_uniform(&random), w = test_uniform(&random);
    size_t frames = (size_t)(set->median * exp(0.4 * (u + v + w)));
    if (c->total + frames > set->batch_frames)
      return;
    c->frames[c->count] = frames;
    c->indices[c->count] = c->count;
    c->total += frames;
  }
}

static const int *corpus_labels(void *user, size_t u, size_t *count) {
  const struct corpus *c = user;
  *count = c->frames[u] / FRAMES_PER_LABEL;
  return c->labels;
}

static enum linnet_status corpus_features(void *user, struct linnet_context *context, size_t u, uint64_t epoch,
                                          float *features, size_t capacity, size_t *frames) {
  const struct corpus *c = user;
  (void)context, (void)epoch, (void)capacity;
  *frames = c->frames[u];
  memcpy(features, c->features, *frames * 40 * sizeof *features);
  return LINNET_OK;
}

struct run {
  struct linnet_context *context;
  struct corpus corpus;
  struct linnet_batch batch;
  struct linnet_worker *workers;
  struct linnet_context *contexts[8]; /* of the workers */
  struct linnet_gradient gradient;
  real *weights, *moment1, *moment2;
  uint32_t step;
  double loss; /* per label, of the last step */
};

static void body(void *user) {
  struct run *r = user;
  struct linnet_corpus corpus = {.user = &r->corpus, .labels = corpus_labels, .features = corpus_features};
  struct linnet_gradient_result result;
  struct linnet_update update;
  bench_check(r->context, linnet_batch_load(&r->batch, &corpus, r->corpus.indices, r->corpus.count, r->corpus.frames, 1,
                                            r->contexts));
  bench_check(r->context, linnet_gradient_compute(&r->gradient, r->weights, &r->batch, 1, r->step));
  linnet_update_terms(LINNET_RADAM, 1e-4, ++r->step, &update);
  linnet_gradient_update(&r->gradient, &update, 1, r->weights, r->moment1, r->moment2);
  bench_check(r->context, linnet_gradient_finish(&r->gradient, &r->batch, &result));
  r->loss = result.loss / (double)result.labels;
}

/* Some steps once more, with the profiling table: `network` is the gradient's. */
static void profile(struct linnet_network *network, struct run *r) {
  enum { RUNS = 2 };
  struct linnet_device *device = network->device;
  struct linnet_ops timed = bench_profiled(linnet_context_ops(r->context));
  struct linnet_cpu_device profiled = linnet_cpu_device(r->context, &timed);
  network->device = &profiled.base;
  double start = bench_now();
  for (size_t i = 0; i < RUNS; i++)
    body(r);
  bench_profile_print(RUNS, bench_now() - start);
  network->device = device;
}

static void measure_set(const struct bench_options *o, const struct bench_network *network, struct linnet_network *n,
                        const struct set *set, struct run *r) {
  fill_corpus(&r->corpus, set);
  size_t rows = 0;
  for (size_t i = 0; i < r->corpus.count; i++)
    rows += linnet_stacked_frames(n->config, r->corpus.frames[i]);
  unsigned threads = linnet_context_threads(r->context);
  const char *kernels = linnet_context_kernels(r->context);
  double flops = (double)rows * bench_training_flops(n->config);
  struct bench_cost cost = bench_cost(kernels, body, r, flops, o->seconds);
  double rate = (double)r->corpus.total / cost.wall;
  if (o->json)
    printf("{\"bench\": \"training\", \"network\": \"%s\", \"set\": \"%s\", \"threads\": %u, \"kernels\": \"%s\", "
           "\"frames\": %zu, \"utterances\": %zu, \"loss\": %.4f, \"wall\": %.9f, \"cpu\": %.9f, \"flops\": %.0f, "
           "\"peak\": %.0f, \"share\": %.4f}\n",
           network->name, set->name, threads, kernels, r->corpus.total, r->corpus.count, r->loss, cost.wall, cost.cpu,
           flops, cost.peak, cost.share);
  else
    printf("%-12s %-11s %7u  %-9s %8.1f %8.1f  %8.0f %8.1f  %8.1f %7.1f %%\n", network->name, set->name, threads,
           kernels, cost.wall * 1e3, cost.cpu * 1e3, rate, rate / 100, cost.peak * 1e-9, cost.share * 100);
  if (o->profile)
    profile(n, r);
}

static void measure(const struct bench_options *o, const struct bench_network *network, unsigned threads) {
  struct test_random random = {1};
  struct run *r = bench_alloc(sizeof *r);
  r->context = bench_context(o, threads);
  threads = linnet_context_threads(r->context);
  struct linnet_config config = bench_config(r->context, network);
  struct linnet_parameters *parameters = NULL;
  bench_check(r->context, linnet_parameters_create(r->context, &config, &parameters));
  struct linnet_network n = {linnet_device_of(r->context), &config, parameters};
  r->weights = bench_alloc(parameters->size * sizeof(real));
  r->moment1 = bench_alloc(parameters->size * sizeof(real));
  r->moment2 = bench_alloc(parameters->size * sizeof(real));
  linnet_parameters_initialise(parameters, 1, r->weights);
  enum { LONGEST = 800 * 4 };
  int *labels = bench_alloc(LONGEST * sizeof *labels);
  for (size_t i = 0; i < LONGEST; i++)
    labels[i] = 1 + (int)test_below(&random, BENCH_OUTPUTS - 1);
  float *features = bench_floats(&random, LONGEST * config.input_dim);
  r->corpus.features = features;
  r->corpus.labels = labels;
  linnet_batch_init(&r->batch, r->context, &config);
  bench_check(r->context, linnet_workers_create(r->context, &n, &r->workers));
  for (unsigned i = 0; i < threads && i < sizeof r->contexts / sizeof *r->contexts; i++)
    r->contexts[i] = r->workers[i].context;
  bench_check(r->context, linnet_gradient_create(r->context, &n, r->workers, &r->gradient));
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    if (!o->set || strcmp(o->set, sets[i].name) == 0)
      measure_set(o, network, &n, &sets[i], r);
  linnet_gradient_release(&r->gradient);
  linnet_workers_destroy(r->context, r->workers);
  linnet_batch_release(&r->batch);
  linnet_parameters_destroy(parameters);
  linnet_context_destroy(r->context);
  free(r->weights), free(r->moment1), free(r->moment2), free(labels), free(features), free(r);
}

int main(int argc, char **argv) {
  struct bench_options o = bench_parse(argc, argv);
  if (!o.json)
    printf("%-12s %-11s %7s  %-9s %8s %8s  %8s %8s  %8s %9s\n", "network", "batch", "threads", "kernels", "wall ms",
           "CPU ms", "frames/s", "h/h", "peak GF", "share");
  bench_each_network(&o, measure);
  return 0;
}
