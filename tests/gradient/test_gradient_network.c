/* The whole network in double: the gradient of summed CTC losses with respect to every tensor of parameters against
 * central differences, element by element (a random subset) and along one random direction per tensor (all elements).
 * Also with CTC on an intermediate output. The results of a batch do not depend on how it is divided into shards, with
 * dropout too.
 *
 * relu and elu + 1 have no (second) derivative at 0, linear attention has none where a normaliser is at its minimum,
 * and LSH attention jumps where a bucket changes. So the test wraps some slots of the reference op table and hashes
 * these signs and buckets. If a step changes the hash, it crosses such a point, and the test shortens the step. */
#include "backend/backend.h"
#include "gradient.h"
#include "model/training/network.h"
#include "ops/attention.h"
#include "ops/lsh_attention.h"

enum { MAX_SEQUENCES = 4, MAX_LABELS = 8, SAMPLES = 1 + 5 / TEST_SHARE, INPUT_DIM = 3, SEED = 77 };

#define MIXED LINNET_ATTENTION_KINDS /* a linear layer, then a softmax layer */

struct network_case {
  const char *name;
  enum linnet_norm_order norm;
  enum linnet_activation activation;
  size_t convolution, stack;
  enum linnet_position position;
  double dropout;
  enum linnet_attention_kind attention;
  enum linnet_encoder_kind encoder;
  enum linnet_feature_map map;
  size_t features;
  bool left;   /* convolutions with a look-ahead of one frame in the first layer and none in the second, not centred */
  bool tokens; /* embedding tables instead of features */
};

static const struct network_case cases[] = {
    {"post relu", LINNET_NORM_POST, LINNET_RELU, 0, 1, LINNET_POSITION_SINUSOIDAL, 0, LINNET_ATTENTION_LINEAR,
     LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {"post gelu dropout", LINNET_NORM_POST, LINNET_GELU, 0, 2, LINNET_POSITION_SINUSOIDAL, 0.2, LINNET_ATTENTION_LINEAR,
     LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {"post relu conv dropout", LINNET_NORM_POST, LINNET_RELU, 5, 4, LINNET_POSITION_NONE, 0.1, LINNET_ATTENTION_LINEAR,
     LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {"post gelu conv", LINNET_NORM_POST, LINNET_GELU, 15, 1, LINNET_POSITION_NONE, 0, LINNET_ATTENTION_LINEAR,
     LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {"pre relu dropout", LINNET_NORM_PRE, LINNET_RELU, 0, 3, LINNET_POSITION_SINUSOIDAL, 0.3, LINNET_ATTENTION_LINEAR,
     LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {"pre gelu", LINNET_NORM_PRE, LINNET_GELU, 0, 4, LINNET_POSITION_NONE, 0, LINNET_ATTENTION_LINEAR,
     LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {"pre relu conv", LINNET_NORM_PRE, LINNET_RELU, 7, 2, LINNET_POSITION_SINUSOIDAL, 0, LINNET_ATTENTION_LINEAR,
     LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {"pre gelu conv dropout", LINNET_NORM_PRE, LINNET_GELU, 15, 3, LINNET_POSITION_SINUSOIDAL, 0.5,
     LINNET_ATTENTION_LINEAR, LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {"post gelu softmax dropout", LINNET_NORM_POST, LINNET_GELU, 0, 1, LINNET_POSITION_SINUSOIDAL, 0.1,
     LINNET_ATTENTION_SOFTMAX, LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {"pre gelu causal softmax", LINNET_NORM_PRE, LINNET_GELU, 0, 1, LINNET_POSITION_NONE, 0,
     LINNET_ATTENTION_CAUSAL_SOFTMAX, LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {"pre relu conv mixed", LINNET_NORM_PRE, LINNET_RELU, 3, 2, LINNET_POSITION_SINUSOIDAL, 0.2, MIXED,
     LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {.name = "blstm", .stack = 1, .activation = LINNET_RELU, .encoder = LINNET_ENCODER_BLSTM},
    {.name = "blstm dropout", .stack = 3, .dropout = 0.4, .activation = LINNET_RELU, .encoder = LINNET_ENCODER_BLSTM},
    {"post gelu lsh", LINNET_NORM_POST, LINNET_GELU, 0, 2, LINNET_POSITION_SINUSOIDAL, 0, LINNET_ATTENTION_LSH,
     LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {"pre relu lsh dropout", LINNET_NORM_PRE, LINNET_RELU, 3, 1, LINNET_POSITION_NONE, 0.2, LINNET_ATTENTION_CAUSAL_LSH,
     LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {"post gelu causal", LINNET_NORM_POST, LINNET_GELU, 0, 2, LINNET_POSITION_SINUSOIDAL, 0.1,
     LINNET_ATTENTION_CAUSAL_LINEAR, LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {"pre relu conv causal", LINNET_NORM_PRE, LINNET_RELU, 5, 1, LINNET_POSITION_SINUSOIDAL, 0,
     LINNET_ATTENTION_CAUSAL_LINEAR, LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {"relu map", LINNET_NORM_PRE, LINNET_GELU, 0, 1, LINNET_POSITION_SINUSOIDAL, 0, LINNET_ATTENTION_LINEAR,
     LINNET_ENCODER_TRANSFORMER, LINNET_MAP_RELU, 0, false, false},
    {"polynomial map", LINNET_NORM_POST, LINNET_GELU, 3, 2, LINNET_POSITION_SINUSOIDAL, 0.1, LINNET_ATTENTION_LINEAR,
     LINNET_ENCODER_TRANSFORMER, LINNET_MAP_POLYNOMIAL, 0, false, false},
    {"fourier map", LINNET_NORM_PRE, LINNET_GELU, 0, 1, LINNET_POSITION_SINUSOIDAL, 0.1, LINNET_ATTENTION_LINEAR,
     LINNET_ENCODER_TRANSFORMER, LINNET_MAP_FOURIER, 7, false, false},
    {"positive map", LINNET_NORM_POST, LINNET_GELU, 0, 1, LINNET_POSITION_SINUSOIDAL, 0, LINNET_ATTENTION_LINEAR,
     LINNET_ENCODER_TRANSFORMER, LINNET_MAP_POSITIVE, 9, false, false},
    {"pre gelu left conv", LINNET_NORM_PRE, LINNET_GELU, 5, 2, LINNET_POSITION_SINUSOIDAL, 0.1,
     LINNET_ATTENTION_CAUSAL_LINEAR, LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, true, false},
    {"post relu left conv", LINNET_NORM_POST, LINNET_RELU, 15, 1, LINNET_POSITION_NONE, 0,
     LINNET_ATTENTION_CAUSAL_SOFTMAX, LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, true, false},
    {"causal fourier map", LINNET_NORM_PRE, LINNET_GELU, 0, 1, LINNET_POSITION_SINUSOIDAL, 0.1,
     LINNET_ATTENTION_CAUSAL_LINEAR, LINNET_ENCODER_TRANSFORMER, LINNET_MAP_FOURIER, 7, false, false},
    {"pre gelu decay", LINNET_NORM_PRE, LINNET_GELU, 3, 1, LINNET_POSITION_NONE, 0.1, LINNET_ATTENTION_LINEAR_DECAY,
     LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {"post gelu decay positive map", LINNET_NORM_POST, LINNET_GELU, 0, 2, LINNET_POSITION_SINUSOIDAL, 0,
     LINNET_ATTENTION_LINEAR_DECAY, LINNET_ENCODER_TRANSFORMER, LINNET_MAP_POSITIVE, 9, false, false},
    {"causal decay", LINNET_NORM_PRE, LINNET_GELU, 0, 1, LINNET_POSITION_NONE, 0.1,
     LINNET_ATTENTION_CAUSAL_LINEAR_DECAY, LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, false},
    {"tokens causal", LINNET_NORM_POST, LINNET_GELU, 0, 1, LINNET_POSITION_NONE, 0, LINNET_ATTENTION_CAUSAL_LINEAR,
     LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, true},
    {"tokens pre dropout", LINNET_NORM_PRE, LINNET_GELU, 0, 1, LINNET_POSITION_SINUSOIDAL, 0.2,
     LINNET_ATTENTION_CAUSAL_SOFTMAX, LINNET_ENCODER_TRANSFORMER, LINNET_MAP_ELU, 0, false, true},
};

/* Rows of the embedding tables; each has rows that occur several times, and rows that do not occur. */
static const size_t tables[INPUT_DIM] = {5, 19, 2};

/* Output frames and labels of the sequences: one of a single frame, one that its labels do not fit into. */
static const struct {
  size_t frames, labels;
  int label[MAX_LABELS];
} batch[MAX_SEQUENCES] = {{11, 4, {1, 1, 4, 2}}, {1, 1, {3}}, {2, 3, {1, 2, 3}}, {7, 2, {2, 2}}};

/* --- the op table ----------------------------------------------------------------------------------------------- */

static uint64_t signs;

static void hash_signs(size_t n, const real *x) {
  for (size_t i = 0; i < n; i++)
    signs = (signs ^ (x[i] > 0)) * 0x100000001B3u;
}

static void hashing_gemm(const struct linnet_gemm *g, real *work) {
  linnet_cpu_ops("reference")->gemm(g, work);
  for (size_t i = 0; g->activation == LINNET_RELU && i < g->m; i++)
    hash_signs(g->n, g->c + i * g->ldc);
}

/* Hashes which normalisers of a sequence and head are at the minimum. */
static void hash_normalisers(const struct linnet_attention *a, size_t rows, bool causal, const real *q, const real *k) {
  for (size_t t = 0; t < rows; t++) {
    real sum = -a->min_normaliser;
    for (size_t j = 0; j < (causal ? t + 1 : rows); j++)
      sum += gradient_dot(a->key_width, q + t * a->key_ld, k + j * a->key_ld);
    hash_signs(1, &sum);
  }
}

static void hashing_map(const struct linnet_feature_map_terms *m, size_t rows, const real *x, real *phi, real *work) {
  for (size_t t = 0; m->map == LINNET_MAP_RELU && t < rows; t++)
    hash_signs(m->heads * m->width, x + t * m->x_ld);
  linnet_cpu_ops("reference")->feature_map_forward(m, rows, x, phi, work);
}

static void hash_keys(const struct linnet_attention *a, const struct linnet_pack *p, bool causal, const real *q,
                      const real *k) {
  for (size_t s = 0; a->min_normaliser > 0 && s < p->sequences; s++)
    for (size_t h = 0; h < a->heads; h++) {
      size_t first = p->offsets[s] * a->key_ld + h * a->key_width;
      hash_normalisers(a, p->offsets[s + 1] - p->offsets[s], causal, q + first, k + first);
    }
  for (size_t t = 0; a->map == LINNET_MAP_ELU && t < p->offsets[p->sequences]; t++) {
    hash_signs(a->heads * a->key_width, q + t * a->key_ld);
    hash_signs(a->heads * a->key_width, k + t * a->key_ld);
  }
}

static void hashing_linear(const struct linnet_attention_call *c) {
  const enum linnet_attention_kind kind = c->attention->kind;
  hash_keys(c->attention, c->pack, linnet_attention_traits[kind].causal, c->q, c->k);
  linnet_cpu_ops("reference")->attention[kind]->forward(c);
}

/* --- LSH attention: the order of the frames shows their buckets */

static void hash_buckets(const struct linnet_attention_call *c) {
  const struct linnet_attention *a = c->attention;
  size_t frames = c->pack->offsets[c->pack->sequences], n = a->lsh.rounds * a->heads * frames;
  const struct linnet_lsh_row *sorted = linnet_lsh_saved(a, frames, c->saved).sorted;
  for (size_t i = 0; i < n; i++)
    signs = (signs ^ sorted[i].frame ^ (uint64_t)sorted[i].bucket << 32) * 0x100000001B3u;
}

static void hashing_lsh(const struct linnet_attention_call *c) {
  linnet_cpu_ops("reference")->attention[LINNET_ATTENTION_LSH]->forward(c);
  hash_buckets(c);
}

static void hashing_causal_lsh(const struct linnet_attention_call *c) {
  linnet_cpu_ops("reference")->attention[LINNET_ATTENTION_CAUSAL_LSH]->forward(c);
  hash_buckets(c);
}

/* The replacement for the forward op of a kind. */
static const struct wrapper {
  enum linnet_attention_kind kind;
  void (*forward)(const struct linnet_attention_call *c);
} wrappers[] = {{LINNET_ATTENTION_LINEAR, hashing_linear},
                {LINNET_ATTENTION_CAUSAL_LINEAR, hashing_linear},
                {LINNET_ATTENTION_LSH, hashing_lsh},
                {LINNET_ATTENTION_CAUSAL_LSH, hashing_causal_lsh},
                {LINNET_ATTENTION_LINEAR_DECAY, hashing_linear},
                {LINNET_ATTENTION_CAUSAL_LINEAR_DECAY, hashing_linear}};
enum { WRAPPERS = sizeof wrappers / sizeof *wrappers };

/* --- a problem ---------------------------------------------------------------------------------------------------- */

struct problem {
  const struct network_case *c;
  struct linnet_context *context;
  struct linnet_config config;
  struct linnet_parameters *parameters;
  struct linnet_ops ops;
  struct linnet_attention_ops wrapped[WRAPPERS]; /* in ops */
  struct linnet_cpu_device device;               /* with ops */
  struct linnet_network network;
  struct linnet_pass *pass;
  struct linnet_shard shard; /* the whole batch */
  size_t offsets[MAX_SEQUENCES + 1];
  real *weights, *gradients, *features, *logits, *dlogits;
  void *work;
};

static void configure(struct problem *p) {
  linnet_config_default(&p->config);
  p->config.encoder = p->c->encoder;
  p->config.input_dim = INPUT_DIM;
  p->config.stack = p->c->stack;
  p->config.width = 12;
  p->config.heads = 3;
  p->config.layers = 2;
  p->config.feed_forward = 20;
  p->config.activation = p->c->activation;
  p->config.norm = p->c->norm;
  p->config.position = p->c->position;
  p->config.convolution = p->c->convolution;
  memset(p->config.lookahead, LINNET_CENTRED, sizeof p->config.lookahead);
  if (p->c->left)
    p->config.lookahead[0] = 1, p->config.lookahead[1] = 0;
  p->config.outputs = 5;
  p->config.lsh_rounds = 2;
  p->config.lsh_buckets = 4;
  p->config.lsh_chunk = 4;
  p->config.feature_map = p->c->map;
  p->config.features = p->c->features;
  if (p->c->tokens)
    memcpy(p->config.tokens, tables, sizeof tables);
}

/* Initial values, with the vectors (0 or 1 where they belong to norms) moved. */
static void fill_weights(struct problem *p, struct test_random *r) {
  linnet_parameters_initialise(p->parameters, SEED, p->weights);
  for (size_t i = 0; i < p->parameters->count; i++) {
    const struct linnet_parameter *t = &p->parameters->list[i];
    for (size_t j = 0; t->cols == 0 && j < t->count; j++)
      p->weights[t->offset + j] += 0.3 * test_uniform(r);
  }
}

/* The last stack of a sequence is incomplete. */
static void fill_features(struct problem *p, struct test_random *r) {
  size_t row = INPUT_DIM * p->c->stack;
  for (size_t s = 0; s < MAX_SEQUENCES; s++) {
    size_t frames = batch[s].frames * p->c->stack - (s % 2 && p->c->stack > 1);
    float features[16 * 4 * INPUT_DIM];
    test_fill(r, features, frames * INPUT_DIM);
    for (size_t i = 0; p->c->tokens && i < frames * INPUT_DIM; i++)
      features[i] = (float)test_below(r, tables[i % INPUT_DIM]);
    linnet_stack_frames(&p->config, features, frames, p->features + p->offsets[s] * row);
    CHECK(linnet_stacked_frames(&p->config, frames) == batch[s].frames, "%zu frames", frames);
  }
}

static void problem_create(struct problem *p, const struct network_case *c) {
  struct test_random r = {SEED};
  *p = (struct problem){.c = c, .context = test_context(), .ops = *linnet_cpu_ops("reference")};
  p->ops.gemm = hashing_gemm;
  p->ops.feature_map_forward = hashing_map;
  for (size_t i = 0; i < WRAPPERS; i++) {
    p->wrapped[i] = *p->ops.attention[wrappers[i].kind];
    p->wrapped[i].forward = wrappers[i].forward;
    p->ops.attention[wrappers[i].kind] = &p->wrapped[i];
  }
  configure(p);
  memset(p->config.attention, (int)c->attention, p->config.layers);
  if (c->attention == MIXED) {
    p->config.attention[0] = LINNET_ATTENTION_LINEAR;
    p->config.attention[1] = LINNET_ATTENTION_SOFTMAX;
  }
  REQUIRE(linnet_parameters_create(p->context, &p->config, &p->parameters) == LINNET_OK, "%s",
          linnet_context_error(p->context));
  for (size_t s = 0; s < MAX_SEQUENCES; s++)
    p->offsets[s + 1] = p->offsets[s] + batch[s].frames;
  size_t frames = p->offsets[MAX_SEQUENCES];
  p->weights = gradient_reals(p->parameters->size);
  p->gradients = gradient_reals(p->parameters->size);
  p->features = gradient_reals(frames * c->stack * INPUT_DIM);
  p->logits = gradient_reals(frames * p->config.outputs);
  p->dlogits = gradient_reals(frames * p->config.outputs);
  p->work = malloc(linnet_ctc_work_bytes(frames, p->config.outputs, MAX_LABELS));
  p->device = linnet_cpu_device(p->context, &p->ops);
  p->network = (struct linnet_network){&p->device.base, &p->config, p->parameters};
  REQUIRE(linnet_pass_create(p->context, &p->network, &p->pass) == LINNET_OK, "%s", linnet_context_error(p->context));
  p->shard = (struct linnet_shard){.pack = {MAX_SEQUENCES, p->offsets},
                                   .features = p->features,
                                   .dropout = c->dropout,
                                   .seed = 1234567890123,
                                   .step = 9,
                                   .first_row = 0};
  fill_weights(p, &r);
  fill_features(p, &r);
}

static void problem_destroy(struct problem *p) {
  free(p->weights);
  free(p->gradients);
  free(p->features);
  free(p->logits);
  free(p->dlogits);
  free(p->work);
  linnet_pass_destroy(p->pass);
  linnet_parameters_destroy(p->parameters);
  linnet_context_destroy(p->context);
}

/* --- loss and gradient -------------------------------------------------------------------------------------------- */

/* The sum over sequences first ... of a shard, infeasible ones left out; dlogits may be NULL. */
static double ctc_sum(struct problem *p, const struct linnet_pack *pack, size_t first, const real *logits,
                      real *dlogits) {
  size_t outputs = p->config.outputs;
  double sum = 0;
  for (size_t s = 0; s < pack->sequences; s++) {
    size_t start = pack->offsets[s] * outputs;
    struct linnet_ctc ctc = {.frames = batch[first + s].frames,
                             .symbols = outputs,
                             .labels = batch[first + s].labels,
                             .logits = logits + start,
                             .label = batch[first + s].label,
                             .scale = 1,
                             .gradient = dlogits ? dlogits + start : NULL};
    double loss = p->ops.ctc(&ctc, p->work);
    sum += isinf(loss) ? 0 : loss;
  }
  return sum;
}

/* Forward and, if gradients_add is given, backward of a shard that begins at sequence `first`. */
static double pass(struct problem *p, const struct linnet_shard *shard, size_t first, real *logits,
                   real *gradients_add) {
  size_t bytes = linnet_pass_bytes(p->pass, &shard->pack, shard->forward_only);
  unsigned char *memory = linnet_alloc(p->context, bytes + 64, 1); /* a guard after it */
  REQUIRE(bytes < SIZE_MAX && memory, "%zu bytes", bytes);
  memset(memory, 0xFF, bytes); /* NaNs */
  unsigned char guard[64];
  memset(guard, 0xA5, sizeof guard);
  memcpy(memory + bytes, guard, sizeof guard);
  linnet_pass_forward(p->pass, p->weights, shard, memory, bytes, logits);
  double loss = ctc_sum(p, &shard->pack, first, logits, gradients_add ? p->dlogits : NULL);
  real *intermediate = linnet_pass_intermediate(p->pass);
  if (intermediate)
    loss += ctc_sum(p, &shard->pack, first, intermediate, gradients_add ? intermediate : NULL);
  if (gradients_add)
    linnet_pass_backward(p->pass, p->dlogits, gradients_add);
  REQUIRE(memcmp(memory + bytes, guard, sizeof guard) == 0, "wrote beyond the %zu bytes asked for", bytes);
  linnet_free(p->context, memory);
  return loss;
}

/* --- differences -------------------------------------------------------------------------------------------------- */

/* Moves a tensor along `direction` (count) or, if NULL, one element of it. */
struct moving {
  struct problem *p;
  const struct linnet_parameter *tensor;
  const real *direction;
  size_t element;
  uint64_t signs; /* at rest */
  bool crossed;
};

static double loss_moved(void *user, double by) {
  struct moving *m = user;
  real *w = m->p->weights + m->tensor->offset, *saved = gradient_reals(m->tensor->count);
  memcpy(saved, w, m->tensor->count * sizeof *w);
  for (size_t i = 0; m->direction && i < m->tensor->count; i++)
    w[i] += by * m->direction[i];
  if (!m->direction)
    w[m->element] += by;
  signs = 0;
  double loss = pass(m->p, &m->p->shard, 0, m->p->logits, NULL);
  m->crossed |= signs != m->signs;
  memcpy(w, saved, m->tensor->count * sizeof *w);
  free(saved);
  return loss;
}

struct tally {
  double worst_element, worst_direction;
  unsigned shortened, skipped, measured;
};

/* The derivative with the longest step that crosses no kink; false if there is none. */
static bool derivative(struct moving *m, struct tally *tally, double *slope) {
  for (double step = 1e-4; step > 1e-6; step /= 4) {
    m->crossed = false;
    *slope = gradient_difference(loss_moved, m, step);
    if (!m->crossed)
      return ++tally->measured > 0;
    tally->shortened++;
  }
  tally->skipped++;
  return false;
}

/* A vector added to all keys adds the same number to all scores of a row, so softmax does not change. */
static bool without_effect(const struct problem *p, const struct linnet_parameter *t) {
  size_t layer;
  if (sscanf(t->name, "layers.%zu.", &layer) != 1 || !strstr(t->name, ".attention.key.bias"))
    return false;
  unsigned char kind = p->config.attention[layer];
  return kind == LINNET_ATTENTION_SOFTMAX || kind == LINNET_ATTENTION_CAUSAL_SOFTMAX;
}

static void check_tensor(struct problem *p, const struct linnet_parameter *t, uint64_t at_rest, struct test_random *r,
                         struct tally *tally) {
  const real *gradient = p->gradients + t->offset;
  double rms = gradient_rms(t->count, gradient), slope, error;
  if (without_effect(p, t)) {
    CHECK(rms < 1e-14, "%s, %s: the gradient is %g, expected 0", p->c->name, t->name, rms);
    return;
  }
  if (t->fixed) {
    CHECK(rms == 0, "%s, %s is not trained, but has a gradient of %g", p->c->name, t->name, rms);
    return;
  }
  CHECK(rms > 1e-6, "%s, %s: the gradient is %g", p->c->name, t->name, rms);
  for (size_t i = 0; i < SAMPLES; i++) {
    struct moving m = {.p = p, .tensor = t, .element = test_below(r, t->count), .signs = at_rest};
    if (!derivative(&m, tally, &slope))
      continue;
    error = gradient_error(slope, gradient[m.element], rms / 10);
    tally->worst_element = fmax(tally->worst_element, error);
    CHECK(error <= GRADIENT_BOUND,
          "%s, %s[%zu], seed %d: %.10g by differences, %.10g by backward, error %.2e, bound %.0e", p->c->name, t->name,
          m.element, SEED, slope, gradient[m.element], error, GRADIENT_BOUND);
  }
  real *direction = gradient_random(r, t->count);
  struct moving m = {.p = p, .tensor = t, .direction = direction, .signs = at_rest};
  if (derivative(&m, tally, &slope)) {
    double expected = gradient_dot(t->count, direction, gradient);
    error = gradient_error(slope, expected, rms * sqrt((double)t->count) / 10);
    tally->worst_direction = fmax(tally->worst_direction, error);
    CHECK(error <= GRADIENT_BOUND, "%s, %s, a direction, seed %d: %.10g by differences, %.10g, error %.2e, bound %.0e",
          p->c->name, t->name, SEED, slope, expected, error, GRADIENT_BOUND);
  }
  free(direction);
}

static void check_gradients(struct problem *p) {
  struct test_random r = {SEED + 1};
  struct tally tally = {0};
  memset(p->gradients, 0, p->parameters->size * sizeof(real));
  signs = 0;
  pass(p, &p->shard, 0, p->logits, p->gradients);
  uint64_t at_rest = signs;
  for (size_t i = 0; i < p->parameters->count; i++)
    check_tensor(p, &p->parameters->list[i], at_rest, &r, &tally);
  printf("%-24s %zu tensors, seed %d: error %.1e of elements, %.1e along directions, bound %.0e; %u derivatives, %u "
         "steps shortened, %u skipped\n",
         p->c->name, p->parameters->count, SEED, tally.worst_element, tally.worst_direction, GRADIENT_BOUND,
         tally.measured, tally.shortened, tally.skipped);
  CHECK(tally.skipped * 50 <= tally.measured, "%s: %u of %u derivatives lie at kinks", p->c->name, tally.skipped,
        tally.measured + tally.skipped);
}

/* Nothing is added to the padding between tensors. */
static void check_padding(struct problem *p) {
  size_t n = p->parameters->size;
  real *rest = gradient_reals(n);
  memcpy(rest, p->gradients, n * sizeof *rest);
  for (size_t i = 0; i < p->parameters->count; i++)
    memset(rest + p->parameters->list[i].offset, 0, p->parameters->list[i].count * sizeof *rest);
  CHECK(gradient_rms(n, rest) == 0, "%s: the padding has a gradient", p->c->name);
  free(rest);
}

/* Sequence by sequence: logits are the same bits, gradients add up. */
static void check_shards(struct problem *p) {
  size_t n = p->parameters->size, outputs = p->config.outputs, row = INPUT_DIM * p->c->stack;
  real *sum = gradient_reals(n), *logits = gradient_reals(16 * outputs);
  double worst = 0, loss = 0, whole = ctc_sum(p, &p->shard.pack, 0, p->logits, NULL);
  memset(sum, 0, n * sizeof *sum);
  for (size_t s = 0; s < MAX_SEQUENCES; s++) {
    const size_t offsets[2] = {0, batch[s].frames};
    struct linnet_shard shard = p->shard;
    shard.pack = (struct linnet_pack){1, offsets};
    shard.features = p->features + p->offsets[s] * row;
    shard.first_row = p->offsets[s];
    loss += pass(p, &shard, s, logits, sum);
    CHECK(memcmp(logits, p->logits + p->offsets[s] * outputs, batch[s].frames * outputs * sizeof *logits) == 0,
          "%s: the logits of sequence %zu depend on its neighbours", p->c->name, s);
  }
  for (size_t i = 0; i < n; i++)
    worst = fmax(worst, gradient_error(sum[i], p->gradients[i], 1e-2));
  CHECK(worst <= 1e-10, "%s: gradients of shards differ by %.2e, bound 1e-10", p->c->name, worst);
  CHECK(fabs(loss - whole) <= 1e-10, "%s: loss %.12g by shards, %.12g at once", p->c->name, loss, whole);
  free(sum);
  free(logits);
}

/* Another step or seed draws another mask and other rotations; without either neither matters. */
static void check_counters(struct problem *p) {
  struct linnet_shard shard = p->shard;
  double loss = ctc_sum(p, &p->shard.pack, 0, p->logits, NULL);
  shard.step++;
  double next = pass(p, &shard, 0, p->logits, NULL);
  shard = p->shard;
  shard.seed++;
  double other = pass(p, &shard, 0, p->logits, NULL);
  bool drops = p->c->dropout > 0 || linnet_attention_traits[p->c->attention].shared_key;
  CHECK((loss != next) == drops && (loss != other) == drops, "%s: losses %.9g, %.9g (step), %.9g (seed)", p->c->name,
        loss, next, other);
}

/* Gradients as they were when backward said that they are complete. */
struct passed {
  const real *gradients;
  real *seen;
  size_t first, calls;
};

static void note_passed(void *user, size_t first) {
  struct passed *passed = user;
  CHECK(first < passed->first, "parameter %zu after %zu", first, passed->first);
  memcpy(passed->seen + first, passed->gradients + first, (passed->first - first) * sizeof(real));
  passed->first = first;
  passed->calls++;
}

static void check_passed(struct problem *p) {
  const size_t n = p->parameters->size;
  struct passed passed = {.gradients = p->gradients, .seen = gradient_reals(n), .first = n};
  struct linnet_shard shard = p->shard;
  shard.passed = note_passed;
  shard.passed_user = &passed;
  memset(p->gradients, 0, n * sizeof *p->gradients);
  pass(p, &shard, 0, p->logits, p->gradients);
  CHECK(passed.calls >= p->config.layers, "%s: %zu calls", p->c->name, passed.calls);
  CHECK(memcmp(passed.seen + passed.first, p->gradients + passed.first, (n - passed.first) * sizeof(real)) == 0,
        "%s: backward changes gradients that are complete", p->c->name);
  free(passed.seen);
}

/* The sum of two losses: of the output, and of the output layer after the first layer. */
static void check_intermediate(const char *name) {
  struct problem p;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (strcmp(cases[i].name, name) != 0)
      continue;
    problem_create(&p, &cases[i]);
    linnet_pass_set_intermediate(p.pass, 1);
    check_gradients(&p);
    check_padding(&p);
    check_passed(&p);
    struct linnet_shard shard = p.shard;
    shard.forward_only = true;
    pass(&p, &shard, 0, p.logits, NULL);
    CHECK(!linnet_pass_intermediate(p.pass), "%s: an intermediate output without backward", name);
    problem_destroy(&p);
  }
}

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct problem p;
    problem_create(&p, &cases[i]);
    check_gradients(&p);
    pass(&p, &p.shard, 0, p.logits, NULL); /* the differences left moved logits */
    check_padding(&p);
    check_shards(&p);
    check_counters(&p);
    check_passed(&p);
    problem_destroy(&p);
  }
  check_intermediate("pre gelu conv dropout");
  check_intermediate("post gelu dropout");
  return test_result();
}
