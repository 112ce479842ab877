/* The encoder and its training step against PyTorch in double (make_encoder.py): log-probabilities, losses, gradients
 * of all parameters, and the parameters after three clipped steps of each optimiser, through every op table. */
#include "golden.h"
#include "model/training/network.h"
#include "ops/optimizer.h"

enum { MAX_SEQUENCES = 8 };

/* Largest accepted absolute errors, by the precision of products. PyTorch in float32 has 5e-7, 3e-6 (of losses up to
 * 90, which are 8e-6 apart as floats), 2e-5 (of a gradient of norm 13), 2e-7 and 3e-5 on the same cases; Adam divides
 * by the size of the gradient, which magnifies rounding. */
struct bounds {
  double log_probs, nll, loss, gradient, radam, adam;
};
static const struct bounds bounds_of[] = {[LINNET_FLOAT32] = {1.5e-6, 8e-6, 1e-6, 5e-6, 4e-7, 1e-4},
                                          [LINNET_BFLOAT16] = {1.5e-2, 6e-2, 1e-2, 6e-2, 1e-4, 0.1},
                                          [LINNET_INT8] = {4e-2, 0.15, 2e-2, 0, 0, 0}}; /* recognition only */

struct encoder_case {
  struct golden golden;
  struct linnet_context *context;
  struct linnet_config config;
  struct linnet_parameters *parameters;
  size_t sequences, frames, offsets[MAX_SEQUENCES + 1]; /* output frames */
  int32_t *labels, *label_lengths;
  float *features;               /* (frames, stack * input_dim) */
  float *log_probs, *nll, *loss; /* expected */
  double learning_rate, max_norm;
  size_t steps;
};

/* The results of one table. All buffers of parameters have parameters->size elements. */
struct run {
  const struct encoder_case *c;
  const struct linnet_ops *ops;
  struct linnet_cpu_device device;
  struct linnet_network network;
  struct linnet_pass *pass;
  float *weights, *gradients, *m, *v, *logits, *dlogits, *nll;
  void *memory, *work;
  size_t bytes;
};

/* --- reading ------------------------------------------------------------------------------------------------------ */

static void read_features(struct encoder_case *c) {
  size_t sequences, dim = c->config.input_dim, row = dim * c->config.stack;
  float *features = golden_floats(&c->golden, "", "features", NULL);
  int32_t *lengths = golden_integers(&c->golden, "", "lengths", &sequences);
  REQUIRE(sequences == c->sequences && sequences <= MAX_SEQUENCES, "%zu sequences", sequences);
  for (size_t i = 0; i < sequences; i++)
    c->offsets[i + 1] = c->offsets[i] + linnet_stacked_frames(&c->config, (size_t)lengths[i]);
  c->frames = c->offsets[sequences];
  c->features = test_alloc(c->frames * row, sizeof *c->features);
  const float *next = features;
  for (size_t i = 0; i < sequences; next += (size_t)lengths[i++] * dim)
    linnet_stack_frames(&c->config, next, (size_t)lengths[i], c->features + c->offsets[i] * row);
  free(features);
  free(lengths);
}

static void case_open(struct encoder_case *c, struct linnet_context *context, const char *name) {
  *c = (struct encoder_case){.context = context};
  golden_open(&c->golden, context, name);
  REQUIRE(linnet_config_parse_complete(context, golden_text(&c->golden, "config"), name, &c->config) == LINNET_OK &&
              linnet_parameters_create(context, &c->config, &c->parameters) == LINNET_OK,
          "%s", linnet_context_error(context));
  c->labels = golden_integers(&c->golden, "", "labels", NULL);
  c->label_lengths = golden_integers(&c->golden, "", "label_lengths", &c->sequences);
  c->log_probs = golden_floats(&c->golden, "", "log_probs", NULL);
  c->nll = golden_floats(&c->golden, "", "nll", NULL);
  c->loss = golden_floats(&c->golden, "", "loss", NULL);
  c->learning_rate = strtod(golden_text(&c->golden, "learning_rate"), NULL);
  c->max_norm = strtod(golden_text(&c->golden, "max_norm"), NULL);
  c->steps = strtoul(golden_text(&c->golden, "steps"), NULL, 10);
  read_features(c);
}

static void case_close(struct encoder_case *c) {
  free(c->labels);
  free(c->label_lengths);
  free(c->features);
  free(c->log_probs);
  free(c->nll);
  free(c->loss);
  linnet_parameters_destroy(c->parameters);
  golden_close(&c->golden);
}

/* Tensors `prefix` + name of all parameters into a buffer; padding 0, and so are gradients of fixed tensors. */
static void read_parameters(const struct encoder_case *c, const char *prefix, float *buffer) {
  memset(buffer, 0, c->parameters->size * sizeof *buffer);
  for (size_t i = 0; i < c->parameters->count; i++) {
    const struct linnet_parameter *p = &c->parameters->list[i];
    if (p->fixed && strcmp(prefix, "grad.") == 0)
      continue;
    const struct linnet_tensor *tensor = golden_tensor(&c->golden, prefix, p->name);
    size_t rank = p->cols ? 2 : 1;
    REQUIRE(tensor->rank == rank && tensor->shape[0] == p->rows && (rank == 1 || tensor->shape[1] == p->cols),
            "%s has another shape", tensor->name);
    REQUIRE(linnet_tensor_floats(tensor, 0, p->count, buffer + p->offset), "%s holds no floats", tensor->name);
  }
}

static size_t max_labels(const struct encoder_case *c) {
  int32_t maximum = 0;
  for (size_t i = 0; i < c->sequences; i++)
    maximum = c->label_lengths[i] > maximum ? c->label_lengths[i] : maximum;
  return (size_t)maximum;
}

static void run_create(struct run *r, const struct encoder_case *c, const struct linnet_ops *ops) {
  const struct linnet_pack pack = {c->sequences, c->offsets};
  size_t n = c->parameters->size, outputs = c->frames * c->config.outputs;
  *r = (struct run){.c = c, .ops = ops, .device = linnet_cpu_device(c->context, ops)};
  r->network = (struct linnet_network){&r->device.base, &c->config, c->parameters};
  REQUIRE(linnet_pass_create(c->context, &r->network, &r->pass) == LINNET_OK, "no memory");
  r->bytes = linnet_pass_bytes(r->pass, &pack, false);
  r->memory = linnet_alloc(c->context, r->bytes, 1);
  r->work = linnet_alloc(c->context, linnet_ctc_work_bytes(c->frames, c->config.outputs, max_labels(c)), 1);
  float **buffers[] = {&r->weights, &r->gradients, &r->m, &r->v};
  for (size_t i = 0; i < 4; i++)
    *buffers[i] = linnet_calloc(c->context, n, sizeof(float));
  r->logits = linnet_calloc(c->context, outputs, sizeof(float));
  r->dlogits = linnet_calloc(c->context, outputs, sizeof(float));
  r->nll = linnet_calloc(c->context, c->sequences, sizeof(float));
  REQUIRE(r->memory && r->work && r->weights && r->gradients && r->m && r->v && r->logits && r->dlogits && r->nll,
          "no memory");
}

static void run_destroy(struct run *r) {
  void *blocks[] = {r->weights, r->gradients, r->m, r->v, r->logits, r->dlogits, r->nll, r->memory, r->work};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    linnet_free(r->c->context, blocks[i]);
  linnet_pass_destroy(r->pass);
}

/* --- one step ----------------------------------------------------------------------------------------------------- */

/* Losses, and their gradient times `scale`; returns the sum of the finite ones. *labels counts theirs. */
static double losses(struct run *r, float scale, size_t *labels) {
  const struct encoder_case *c = r->c;
  const int32_t *label = c->labels;
  size_t outputs = c->config.outputs;
  double sum = 0;
  *labels = 0;
  for (size_t i = 0; i < c->sequences; label += c->label_lengths[i++]) {
    struct linnet_ctc ctc = {.frames = c->offsets[i + 1] - c->offsets[i],
                             .symbols = outputs,
                             .labels = (size_t)c->label_lengths[i],
                             .logits = r->logits + c->offsets[i] * outputs,
                             .label = label,
                             .scale = scale,
                             .gradient = r->dlogits + c->offsets[i] * outputs};
    double nll = r->ops->ctc(&ctc, r->work);
    r->nll[i] = (float)nll;
    sum += isinf(nll) ? 0 : nll;
    *labels += isinf(nll) ? 0 : ctc.labels;
  }
  return sum;
}

/* Forward and backward; returns the batch's loss per label. */
static double step_gradients(struct run *r) {
  const struct encoder_case *c = r->c;
  struct linnet_shard shard = {.pack = {c->sequences, c->offsets}, .features = c->features};
  size_t labels;
  memset(r->gradients, 0, c->parameters->size * sizeof(float));
  linnet_pass_forward(r->pass, r->weights, &shard, r->memory, r->bytes, r->logits);
  losses(r, 1, &labels);
  REQUIRE(labels > 0, "no feasible sequence");
  double sum = losses(r, 1 / (float)labels, &labels);
  linnet_pass_backward(r->pass, r->dlogits, r->gradients);
  return sum / (double)labels;
}

/* Clipping as torch.nn.utils.clip_grad_norm_ does it; returns the norm. */
static double step_update(struct run *r, enum linnet_optimizer kind, uint64_t step) {
  const struct linnet_parameters *p = r->c->parameters;
  struct linnet_update u;
  double norm = sqrt(r->ops->sum_of_squares(p->size, r->gradients));
  linnet_update_terms(kind, r->c->learning_rate, step, &u);
  u.gradient_scale = fmin(1, r->c->max_norm / (norm + 1e-6));
  r->ops->update(&u, p->size, r->weights, r->gradients, r->m, r->v);
  return norm;
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

static void check_bound(const struct run *r, const char *what, double error, double bound) {
  char name[64], *dot;
  snprintf(name, sizeof name, "%s", r->c->golden.name + strlen("encoder_"));
  dot = strchr(name, '.');
  snprintf(dot ? dot : name, sizeof name - 32, ", %s", what);
  test_bound(r->ops->name, name, error, bound);
}

/* The largest error of a buffer against the tensors `prefix`..., padding included. */
static void check_parameters(const struct run *r, const char *prefix, const float *buffer, double bound) {
  size_t n = r->c->parameters->size;
  float *expected = test_alloc(n, sizeof *expected);
  read_parameters(r->c, prefix, expected);
  check_bound(r, prefix, golden_error(buffer, expected, n), bound);
  free(expected);
}

static void check_first_step(struct run *r) {
  const struct encoder_case *c = r->c;
  const struct bounds bounds = bounds_of[r->ops->precision];
  size_t outputs = c->config.outputs;
  read_parameters(c, "param.", r->weights);
  double loss = step_gradients(r);
  r->ops->log_softmax(c->frames, outputs, r->logits, r->logits);
  check_bound(r, "log_probs", golden_error(r->logits, c->log_probs, c->frames * outputs), bounds.log_probs);
  check_bound(r, "nll", golden_error(r->nll, c->nll, c->sequences), bounds.nll);
  check_bound(r, "loss", fabs(loss - c->loss[0]), bounds.loss);
  if (r->ops->precision != LINNET_INT8)
    check_parameters(r, "grad.", r->gradients, bounds.gradient);
}

static void check_training(struct run *r, enum linnet_optimizer kind, const char *prefix, double bound) {
  size_t n = r->c->parameters->size;
  read_parameters(r->c, "param.", r->weights);
  memset(r->m, 0, n * sizeof *r->m);
  memset(r->v, 0, n * sizeof *r->v);
  for (size_t i = 0; i < r->c->steps; i++) {
    step_gradients(r);
    double norm = step_update(r, kind, i + 1);
    CHECK(norm > r->c->max_norm, "%s: norm %g is not clipped", r->c->golden.name, norm);
  }
  check_parameters(r, prefix, r->weights, bound);
}

static const struct encoder_case *current;

static void check_table(const struct linnet_ops *ops) {
  const struct bounds bounds = bounds_of[ops->precision];
  struct run r;
  run_create(&r, current, ops);
  check_first_step(&r);
  if (ops->precision != LINNET_INT8) {
    check_training(&r, LINNET_RADAM, "radam.", bounds.radam);
    check_training(&r, LINNET_ADAM, "adam.", bounds.adam);
  }
  run_destroy(&r);
}

int main(void) {
  static const char *const names[] = {"encoder_post.safetensors",     "encoder_pre.safetensors",
                                      "encoder_conv_pre.safetensors", "encoder_conv_post.safetensors",
                                      "encoder_fourier.safetensors",  "encoder_polynomial.safetensors",
                                      "encoder_blstm.safetensors",    "encoder_causal.safetensors"};
  struct linnet_context *context = test_context();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct encoder_case c;
    case_open(&c, context, names[i]);
    current = &c;
    test_each_table(check_table);
    case_close(&c);
  }
  linnet_context_destroy(context);
  return test_result();
}
