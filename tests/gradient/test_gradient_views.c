/* The gradient of a step of training with two views of each utterance, with a teacher, with CTC on an
 * intermediate output, and with frame targets, from loaded batch to parameters, against central differences, in double.
 * The loss that is differentiated has constant targets (the posteriors before any step) and is computed here from its
 * definition, with masks and dropout of their own in each view, and an utterance whose labels do not fit. */
#include "gradient.h"
#include "train/gradient.h"

enum { UTTERANCES = 4, DIM = 3, STACK = 2, OUTPUTS = 5, STEP = 7, SEED = 99 };

static const struct {
  size_t frames, labels;
  int label[4];
} utterances[UTTERANCES] = {{21, 4, {1, 1, 4, 2}}, {4, 3, {1, 2, 3}}, {9, 0, {0}}, {14, 2, {2, 2}}};

static const int *labels_of(void *user, size_t u, size_t *count) {
  (void)user;
  *count = utterances[u].labels;
  return utterances[u].label;
}

static enum linnet_status features_of(void *user, struct linnet_context *context, size_t u, uint64_t epoch, float *x,
                                      size_t capacity, size_t *frames) {
  struct test_random r = {u + 10};
  (void)user, (void)context, (void)epoch;
  REQUIRE(utterances[u].frames <= capacity, "%zu frames", capacity);
  *frames = utterances[u].frames;
  test_fill(&r, x, *frames * DIM);
  return LINNET_OK;
}

/* The teacher's are twice those of the student. */
static enum linnet_status both_features_of(void *user, struct linnet_context *context, size_t u, uint64_t epoch,
                                           float *x, float *teacher, size_t capacity, size_t *frames) {
  enum linnet_status status = features_of(user, context, u, epoch, x, capacity, frames);
  for (size_t i = 0; i < *frames * DIM; i++)
    teacher[i] = 2 * x[i];
  return status;
}

/* Frames without a target among others. */
static void targets_of(void *user, size_t u, uint64_t epoch, size_t frames, int *targets) {
  (void)user, (void)epoch;
  for (size_t t = 0; t < frames; t++)
    targets[t] = (int)((t * 7 + u) % 11 % OUTPUTS);
}

static void masks_of(void *user, size_t u, uint64_t epoch, unsigned view, size_t frames,
                     struct linnet_feature_mask *masks) {
  (void)user, (void)epoch;
  masks[0] = (struct linnet_feature_mask){frames / 2, 2, 0, DIM};
  masks[1] = (struct linnet_feature_mask){0, frames, (u + view) % DIM, 1};
}

struct problem {
  struct linnet_context *context;
  struct linnet_config config;
  struct linnet_parameters *parameters;
  struct linnet_network network;
  struct linnet_worker *workers;
  struct linnet_gradient gradient;
  struct linnet_batch batch;
  struct linnet_teacher teacher;
  real *weights, *targets; /* targets (T, OUTPUTS): log-posteriors before any step */
  real *taught;            /* (T, OUTPUTS): log-posteriors of the teacher */
};

static void configure(struct linnet_config *config, size_t layers) {
  linnet_config_default(config);
  config->input_dim = DIM;
  config->stack = STACK;
  config->width = 8;
  config->heads = 2;
  config->layers = layers;
  config->feed_forward = 12;
  config->activation = LINNET_GELU;
  config->norm = LINNET_NORM_PRE;
  memset(config->attention, LINNET_ATTENTION_SOFTMAX, layers);
  config->outputs = OUTPUTS;
  config->dropout = 0.2;
}

static void load(struct problem *p) {
  static const size_t order[] = {0, 1, 2, 3};
  struct linnet_corpus corpus = {.size = sizeof corpus,
                                 .num_utterances = UTTERANCES,
                                 .labels = labels_of,
                                 .features = features_of,
                                 .both_features = both_features_of,
                                 .targets = targets_of,
                                 .num_masks = 2,
                                 .masks = masks_of};
  size_t nominal[UTTERANCES];
  for (size_t u = 0; u < UTTERANCES; u++)
    nominal[u] = utterances[u].frames;
  linnet_batch_init(&p->batch, p->context, &p->config);
  p->batch.views = 2;
  p->batch.taught = p->gradient.weights[LINNET_LOSS_DISTILLATION] > 0;
  p->batch.targeted = p->gradient.weights[LINNET_LOSS_FRAME_TARGETS] > 0;
  REQUIRE(linnet_batch_load(&p->batch, &corpus, order, UTTERANCES, nominal, 1, NULL) == LINNET_OK, "%s",
          linnet_context_error(p->context));
}

/* CTC of sequence s on the intermediate output. */
static double intermediate_loss(struct problem *p, size_t s) {
  const struct linnet_batch *b = &p->batch;
  const size_t frames = b->offsets[s + 1] - b->offsets[s];
  struct linnet_ctc ctc = {.frames = frames,
                           .symbols = OUTPUTS,
                           .labels = b->num_labels[s],
                           .logits = linnet_pass_intermediate(p->workers[0].pass) + b->offsets[s] * OUTPUTS,
                           .label = b->labels[s]};
  void *work = malloc(linnet_ctc_work_bytes(frames, OUTPUTS, b->num_labels[s]));
  double loss = linnet_cpu_ops("reference")->ctc(&ctc, work);
  free(work);
  return loss;
}

/* The log-posteriors (T, OUTPUTS) and CTC losses of the batch, as one shard. */
static void run_network(struct problem *p, real *log_p) {
  struct linnet_batch *b = &p->batch;
  struct linnet_device *device = p->network.device;
  struct linnet_worker *worker = &p->workers[0];
  struct linnet_shard shard = {.pack = {b->count, b->offsets},
                               .features = b->features,
                               .dropout = p->config.dropout,
                               .seed = SEED,
                               .step = STEP};
  struct linnet_masks masks = linnet_batch_masks(b, 0);
  device->ops->spec_augment(device, &shard.pack, &masks, b->features);
  REQUIRE(linnet_worker_forward(worker, &p->network, p->weights, &shard) == LINNET_OK, "forward");
  REQUIRE(linnet_worker_ctc(worker, &p->network, &shard, b->labels, b->num_labels, 1, NULL) == LINNET_OK, "CTC");
  memcpy(b->losses[LINNET_LOSS_CTC], worker->losses[LINNET_LOSS_CTC].data, b->count * sizeof(double));
  device->ops->log_softmax(device, b->offsets[b->count], OUTPUTS, worker->logits.data, log_p);
}

/* The log-posteriors of the teacher for each sequence of the batch, from the features in this file: no masks. */
static void run_teacher(struct problem *p) {
  const size_t *offsets = p->batch.offsets;
  float x[21 * DIM], doubled[21 * DIM];
  p->taught = gradient_reals(offsets[p->batch.count] * OUTPUTS);
  for (size_t s = 0; s < p->batch.count; s++) {
    size_t frames, one[] = {0, offsets[s + 1] - offsets[s]};
    both_features_of(NULL, NULL, s / 2, 1, x, doubled, 21, &frames);
    real *stacked = gradient_reals(one[1] * STACK * DIM);
    linnet_stack_frames(&p->config, doubled, frames, stacked);
    const struct linnet_shard shard = {.pack = {1, one}, .features = stacked, .forward_only = true};
    REQUIRE(linnet_worker_forward(&p->workers[0], &p->network, p->teacher.weights, &shard) == LINNET_OK, "forward");
    linnet_cpu_ops("reference")
        ->log_softmax(one[1], OUTPUTS, p->workers[0].logits.data, p->taught + offsets[s] * OUTPUTS);
    free(stacked);
  }
}

/* Of sequence `moving` from sequence `target` of `targets`. */
static double divergence(const struct problem *p, const real *targets, size_t target, size_t moving,
                         const real *log_p) {
  const size_t *offsets = p->batch.offsets;
  const real *t = targets + offsets[target] * OUTPUTS, *x = log_p + offsets[moving] * OUTPUTS;
  double sum = 0;
  for (size_t i = 0; i < (offsets[target + 1] - offsets[target]) * OUTPUTS; i++)
    sum += exp(t[i]) * (t[i] - x[i]);
  return sum;
}

/* Cross entropy of sequence s, of rows whose middle frame has a target, among the symbols without blank. */
static double frame_loss(const struct problem *p, size_t s, const real *log_p) {
  const size_t *offsets = p->batch.offsets, u = s / 2;
  int targets[21];
  double loss = 0;
  targets_of(NULL, u, 1, utterances[u].frames, targets);
  for (size_t t = 0; t < offsets[s + 1] - offsets[s]; t++) {
    const size_t middle = t * STACK + 1 < utterances[u].frames ? t * STACK + 1 : utterances[u].frames - 1;
    const real *row = log_p + (offsets[s] + t) * OUTPUTS;
    if (targets[middle] > 0)
      loss -= row[targets[middle]] - log(1 - exp(row[0]));
  }
  return loss;
}

/* The loss of the batch, by its definition. */
static double loss_of(struct problem *p) {
  size_t labels = 0;
  double sum = 0;
  const double *weights = p->gradient.weights, *ctc = p->batch.losses[LINNET_LOSS_CTC];
  real *log_p = gradient_reals(p->batch.offsets[p->batch.count] * OUTPUTS);
  run_network(p, log_p);
  for (size_t u = 0; u < UTTERANCES; u++) {
    size_t a = 2 * u, b = a + 1;
    bool feasible = !isinf(ctc[a]);
    labels += feasible ? utterances[u].labels : 0;
    sum += feasible ? (ctc[a] + ctc[b]) / 2 : 0;
    if (weights[LINNET_LOSS_INTERMEDIATE] > 0 && feasible)
      sum += weights[LINNET_LOSS_INTERMEDIATE] * (intermediate_loss(p, a) + intermediate_loss(p, b)) / 2;
    sum += weights[LINNET_LOSS_CONSISTENCY] *
           (divergence(p, p->targets, b, a, log_p) + divergence(p, p->targets, a, b, log_p)) / 2;
    for (size_t s = a; p->batch.taught && s <= b; s++)
      sum += weights[LINNET_LOSS_DISTILLATION] * divergence(p, p->taught, s, s, log_p) / 2;
    if (weights[LINNET_LOSS_FRAME_TARGETS] > 0)
      sum += weights[LINNET_LOSS_FRAME_TARGETS] * (frame_loss(p, a, log_p) + frame_loss(p, b, log_p)) / 2;
  }
  free(log_p);
  return sum / (double)labels;
}

struct moving {
  struct problem *p;
  const real *direction;
};

static double loss_moved(void *user, double by) {
  struct moving *m = user;
  struct problem *p = m->p;
  size_t n = p->parameters->size;
  real *before = gradient_reals(n);
  memcpy(before, p->weights, n * sizeof *before);
  for (size_t i = 0; i < n; i++)
    p->weights[i] += by * m->direction[i];
  double loss = loss_of(p);
  memcpy(p->weights, before, n * sizeof *before);
  free(before);
  return loss;
}

static void create_teacher(struct problem *p) {
  real *weights = gradient_reals(p->parameters->size);
  linnet_parameters_initialise(p->parameters, SEED + 1, weights);
  p->teacher = (struct linnet_teacher){p->network, weights, NULL};
  REQUIRE(linnet_workers_create(p->context, &p->network, &p->teacher.workers) == LINNET_OK, "workers");
  p->gradient.teacher = &p->teacher;
}

/* `weights` are those of the losses beside CTC. */
static void create(struct problem *p, const double *weights) {
  const double intermediate = weights[LINNET_LOSS_INTERMEDIATE];
  *p = (struct problem){.context = test_context()};
  configure(&p->config, intermediate > 0 ? 2 : 1);
  REQUIRE(linnet_parameters_create(p->context, &p->config, &p->parameters) == LINNET_OK, "parameters");
  p->network = (struct linnet_network){linnet_device_of(p->context), &p->config, p->parameters};
  REQUIRE(linnet_workers_create(p->context, &p->network, &p->workers) == LINNET_OK, "workers");
  REQUIRE(linnet_gradient_create(p->context, &p->network, p->workers, &p->gradient) == LINNET_OK, "gradient");
  for (int l = LINNET_LOSS_CTC + 1; l < LINNET_NUM_LOSSES; l++)
    p->gradient.weights[l] = weights[l];
  linnet_gradient_set_intermediate(&p->gradient, intermediate > 0 ? 1 : 0, intermediate);
  p->weights = gradient_reals(p->parameters->size);
  linnet_parameters_initialise(p->parameters, SEED, p->weights);
  create_teacher(p);
  load(p);
  run_teacher(p);
  p->targets = gradient_reals(p->batch.offsets[p->batch.count] * OUTPUTS);
  run_network(p, p->targets);
}

static void destroy(struct problem *p) {
  free(p->weights);
  free(p->targets);
  free(p->taught);
  free((real *)(uintptr_t)p->teacher.weights);
  linnet_batch_release(&p->batch);
  linnet_gradient_release(&p->gradient);
  linnet_workers_destroy(p->context, p->teacher.workers);
  linnet_workers_destroy(p->context, p->workers);
  linnet_parameters_destroy(p->parameters);
  linnet_context_destroy(p->context);
}

/* What the step reports. */
static void check_result(struct problem *p) {
  struct linnet_gradient_result result;
  REQUIRE(linnet_gradient_finish(&p->gradient, &p->batch, &result) == LINNET_OK, "%s",
          linnet_context_error(p->context));
  CHECK(result.labels == 6 && result.infeasible == 1, "%zu labels, %zu infeasible", result.labels, result.infeasible);
  double expected = loss_of(p) * 6, total = 0;
  for (int l = 0; l < LINNET_NUM_LOSSES; l++) {
    total += p->gradient.weights[l] * result.losses[l];
    CHECK((result.losses[l] > 0) == (p->gradient.weights[l] > 0), "%s %g", linnet_losses[l].name, result.losses[l]);
  }
  CHECK(gradient_error(total, expected, 1e-6) < 1e-9, "loss %.12f, expected %.12f", total, expected);
}

/* Along random directions, and the tensors one by one. */
static void check_gradient(const double *weights) {
  struct problem p;
  struct test_random r = {3};
  create(&p, weights);
  REQUIRE(linnet_gradient_compute(&p.gradient, p.weights, &p.batch, SEED, STEP) == LINNET_OK, "%s",
          linnet_context_error(p.context));
  check_result(&p);
  size_t n = p.parameters->size;
  const real *gradient = p.gradient.shards[0];
  double worst = 0, rms = gradient_rms(n, gradient);
  for (size_t i = 0; i < p.parameters->count + 3; i++) {
    real *direction = gradient_random(&r, n);
    const struct linnet_parameter *t = i < p.parameters->count ? &p.parameters->list[i] : NULL;
    for (size_t j = 0; t && j < n; j++)
      direction[j] = j >= t->offset && j < t->offset + t->count ? direction[j] : 0;
    struct moving m = {&p, direction};
    double slope = gradient_difference(loss_moved, &m, 1e-3), expected = gradient_dot(n, direction, gradient);
    worst = fmax(worst, gradient_error(slope, expected, rms * sqrt((double)(t ? t->count : n)) / 10));
    free(direction);
  }
  for (int l = 0; l < LINNET_NUM_LOSSES; l++)
    printf("%s %g, ", linnet_losses[l].name, p.gradient.weights[l]);
  printf("norm %g, %zu sequences, %zu rows, error %.1e, bound %.0e\n", rms * sqrt((double)n), p.batch.count,
         p.batch.offsets[p.batch.count], worst, GRADIENT_BOUND);
  CHECK(rms > 0 && worst <= GRADIENT_BOUND, "error %.3e", worst);
  destroy(&p);
}

int main(void) {
  static const double weights[][LINNET_NUM_LOSSES] = {
      {0},
      {[LINNET_LOSS_CONSISTENCY] = 0.2},
      {[LINNET_LOSS_CONSISTENCY] = 5},
      {[LINNET_LOSS_DISTILLATION] = 0.5},
      {[LINNET_LOSS_CONSISTENCY] = 0.2, [LINNET_LOSS_DISTILLATION] = 3},
      {[LINNET_LOSS_CONSISTENCY] = 0.2, [LINNET_LOSS_INTERMEDIATE] = 0.7},
      {[LINNET_LOSS_FRAME_TARGETS] = 0.3},
      {[LINNET_LOSS_CONSISTENCY] = 0.2, [LINNET_LOSS_DISTILLATION] = 0.5, [LINNET_LOSS_FRAME_TARGETS] = 2}};
  for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
    check_gradient(weights[i]);
  return test_result();
}
