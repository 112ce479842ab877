/* An optimiser step as in the trainer, on the context's device, over a batch of utterances of random lengths with
 * features in host memory. peer_torch.py draws the same lengths. */
#ifndef LINNET_BENCH_STEP_H
#define LINNET_BENCH_STEP_H

#include "bench_network.h"
#include "ops/optimizer.h"
#include "train/batch.h"
#include "train/gradient.h"

enum { BENCH_UTTERANCES = 1024, BENCH_FRAMES_PER_LABEL = 8, BENCH_LONGEST = 3200 };

/* Packed batches, with as many utterances as fit into the number of input frames. */
struct bench_set {
  const char *name;
  size_t batch_frames;
  double median;  /* frames of an utterance */
  size_t longest; /* at most BENCH_LONGEST */
};

struct bench_corpus {
  size_t count, total, max_labels; /* of an utterance */
  size_t frames[BENCH_UTTERANCES], indices[BENCH_UTTERANCES];
  const float *features; /* (BENCH_LONGEST, 40): all utterances read from here, longer ones again and again */
  const int *labels;
};

/* Approximately log-normal lengths: the sum of three uniform numbers has variance 1. There is at least one
 * utterance. */
static inline void bench_corpus_fill(struct bench_corpus *c, const struct bench_set *set) {
  struct test_random random = {7};
  c->max_labels = BENCH_LONGEST / BENCH_FRAMES_PER_LABEL;
  for (c->count = c->total = 0; c->count < BENCH_UTTERANCES; c->count++) {
    double u = test_uniform(&random), v = test_uniform(&random), w = test_uniform(&random);
    size_t frames = (size_t)(set->median * exp(0.4 * (u + v + w)));
    frames = frames < set->longest ? frames : set->longest;
    if (c->count == 0 && frames > set->batch_frames)
      frames = set->batch_frames;
    if (c->total + frames > set->batch_frames)
      return;
    c->frames[c->count] = frames;
    c->indices[c->count] = c->count;
    c->total += frames;
  }
}

/* One utterance, with 100 labels at most, as in WSJ. */
static inline void bench_corpus_single(struct bench_corpus *c, size_t frames) {
  c->count = 1, c->total = c->frames[0] = frames, c->indices[0] = 0, c->max_labels = 100;
}

static inline const int *bench_corpus_labels(void *user, size_t u, size_t *count) {
  const struct bench_corpus *c = user;
  size_t labels = c->frames[u] / BENCH_FRAMES_PER_LABEL;
  *count = labels < c->max_labels ? labels : c->max_labels;
  return c->labels;
}

static inline enum linnet_status bench_corpus_features(void *user, struct linnet_context *context, size_t u,
                                                       uint64_t epoch, float *features, size_t capacity,
                                                       size_t *frames) {
  const struct bench_corpus *c = user;
  (void)context, (void)epoch, (void)capacity;
  *frames = c->frames[u];
  for (size_t t = 0; t < *frames; t += BENCH_LONGEST) {
    size_t rest = *frames - t, rows = rest < BENCH_LONGEST ? rest : BENCH_LONGEST;
    memcpy(features + t * 40, c->features, rows * 40 * sizeof *features);
  }
  return LINNET_OK;
}

struct bench_step {
  struct linnet_context *context;
  struct linnet_config config;
  struct linnet_parameters *parameters;
  struct linnet_network network;
  struct bench_corpus corpus;
  float *features;
  int *labels;
  struct linnet_batch batch;
  struct linnet_worker *workers;
  struct linnet_context **contexts; /* of the workers */
  struct linnet_gradient gradient;
  real *weights, *moment1, *moment2; /* on the device */
  uint32_t step;
  double loss; /* per label, of the last step */
};

/* A vector of parameters on the device, with values from the host. */
static inline real *bench_step_vector(struct bench_step *s, const real *host) {
  struct linnet_device *device = s->network.device;
  size_t bytes = s->parameters->size * sizeof *host;
  real *vector = device->ops->alloc(device, bytes);
  if (!vector)
    fprintf(stderr, "%s: out of memory for parameters\n", device->name), exit(1);
  device->ops->upload(device, vector, host, bytes);
  bench_check(s->context, device->ops->wait(device, s->context));
  return vector;
}

static inline void bench_step_vectors(struct bench_step *s) {
  real *host = bench_alloc(s->parameters->size * sizeof *host);
  s->moment1 = bench_step_vector(s, host);
  s->moment2 = bench_step_vector(s, host);
  linnet_parameters_initialise(s->parameters, 1, host);
  s->weights = bench_step_vector(s, host);
  free(host);
}

static inline void bench_step_corpus(struct bench_step *s) {
  struct test_random random = {1};
  s->labels = bench_alloc(BENCH_LONGEST * sizeof *s->labels);
  for (size_t i = 0; i < BENCH_LONGEST; i++)
    s->labels[i] = 1 + (int)test_below(&random, BENCH_OUTPUTS - 1);
  s->features = bench_floats(&random, BENCH_LONGEST * s->config.input_dim);
  s->corpus.features = s->features;
  s->corpus.labels = s->labels;
}

static inline struct bench_step *bench_step_create(struct linnet_context *context,
                                                   const struct bench_network *network) {
  struct bench_step *s = bench_alloc(sizeof *s);
  unsigned threads = linnet_context_num_threads(context);
  s->context = context;
  s->config = bench_config(context, network);
  bench_check(context, linnet_parameters_create(context, &s->config, &s->parameters));
  s->network = (struct linnet_network){linnet_device_of(context), &s->config, s->parameters};
  bench_step_vectors(s);
  bench_step_corpus(s);
  linnet_batch_init(&s->batch, context, &s->config);
  bench_check(context, linnet_workers_create(context, &s->network, &s->workers));
  s->contexts = bench_alloc(threads * sizeof *s->contexts);
  for (unsigned i = 0; i < threads; i++)
    s->contexts[i] = s->workers[i].context;
  bench_check(context, linnet_gradient_create(context, &s->network, s->workers, &s->gradient));
  return s;
}

static inline void bench_step_destroy(struct bench_step *s) {
  struct linnet_device *device = s->network.device;
  linnet_gradient_release(&s->gradient);
  linnet_workers_destroy(s->context, s->workers);
  linnet_batch_release(&s->batch);
  linnet_parameters_destroy(s->parameters);
  device->ops->free(device, s->weights);
  device->ops->free(device, s->moment1);
  device->ops->free(device, s->moment2);
  free(s->contexts), free(s->labels), free(s->features), free(s);
}

/* The three parts of a step: make a batch of the corpus' features, queue the work of the device, wait for it. */
static inline enum linnet_status bench_step_load(struct bench_step *s) {
  struct linnet_corpus corpus = {.user = &s->corpus, .labels = bench_corpus_labels, .features = bench_corpus_features};
  return linnet_batch_load(&s->batch, &corpus, s->corpus.indices, s->corpus.count, s->corpus.frames, 1, s->contexts);
}

static inline enum linnet_status bench_step_queue(struct bench_step *s) {
  struct linnet_update update;
  LINNET_TRY(linnet_gradient_compute(&s->gradient, s->weights, &s->batch, 1, s->step));
  linnet_update_terms(LINNET_RADAM, 1e-4, ++s->step, &update);
  linnet_gradient_update(&s->gradient, &update, 1, s->weights, s->moment1, s->moment2);
  return LINNET_OK;
}

static inline enum linnet_status bench_step_finish(struct bench_step *s) {
  struct linnet_gradient_result result;
  LINNET_TRY(linnet_gradient_finish(&s->gradient, &s->batch, &result));
  s->loss = result.losses[LINNET_LOSS_CTC] / (double)result.labels;
  return LINNET_OK;
}

#endif
