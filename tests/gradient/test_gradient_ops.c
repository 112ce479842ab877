/* The backward of every op against central differences of its forward, in double. The loss is <dout, out> with a random
 * dout. Outputs of a backward start as NaN, those that it adds to as 1. */
#include "backend/backend.h"
#include "gradient.h"
#include "ops/attention.h"
#include "ops/feature_map.h"

/* The error that remains with steps of 1e-3; narrow layer norms have the strongest curvature. */
#define BOUND 1e-7

enum { MAX_INPUTS = 3, MAX_SEQUENCES = 6, ADDED = 1 };

/* The settings of one run of an op; fields that the op does not use are 0. */
struct shape {
  size_t rows, width, inner; /* inner: depth of a product, kernel of a convolution, heads of an attention */
  size_t lengths[MAX_SEQUENCES];
  int variant; /* activation, transpositions, columns between rows */
};

struct problem;

struct op {
  const char *name;
  const struct shape *shapes; /* ends with rows 0 */
  void (*setup)(struct problem *p);
  void (*forward)(struct problem *p);
  void (*backward)(struct problem *p);
  enum linnet_attention_kind kind;
  struct linnet_attention terms; /* of attention: form, chunk, hashing */
};

struct problem {
  const struct linnet_ops *ops;
  const struct op *op;
  const struct shape *shape;
  struct test_random random;
  size_t offsets[MAX_SEQUENCES + 1];
  struct linnet_pack pack;
  struct linnet_sequence_span spans[MAX_SEQUENCES];
  struct input {
    const char *name;
    size_t n;
    real *x, *gradient;
    bool adds, off_zero;
  } inputs[MAX_INPUTS];
  size_t num_inputs, num_outputs;
  real *out, *dout;
  real *saved[2]; /* statistics or state between forward and backward */
};

static void input(struct problem *p, const char *name, size_t n, bool adds, bool off_zero) {
  p->inputs[p->num_inputs++] = (struct input){.name = name, .n = n, .adds = adds, .off_zero = off_zero};
}

static void pack_lengths(struct problem *p) {
  size_t n = 0;
  p->offsets[0] = 0;
  for (; n < MAX_SEQUENCES && p->shape->lengths[n] > 0; n++)
    p->offsets[n + 1] = p->offsets[n] + p->shape->lengths[n];
  p->pack = (struct linnet_pack){.sequences = n, .offsets = p->offsets};
}

static size_t total(const struct problem *p) {
  return p->offsets[p->pack.sequences];
}

/* --- layer norm ----------------------------------------------------------------------------------------------- */

static const struct shape layernorm_shapes[] = {{1, 2, 0, {0}, 0}, {5, 7, 0, {0}, 0}, {3, 24, 0, {0}, 0}, {0}};

static void layernorm_setup(struct problem *p) {
  const struct shape *s = p->shape;
  input(p, "x", s->rows * s->width, false, false);
  input(p, "gain", s->width, true, false);
  input(p, "bias", s->width, true, false);
  p->num_outputs = s->rows * s->width;
  p->saved[0] = gradient_reals(s->rows);
  p->saved[1] = gradient_reals(s->rows);
}

static struct linnet_layernorm layernorm(const struct problem *p) {
  return (struct linnet_layernorm){.rows = p->shape->rows,
                                   .width = p->shape->width,
                                   .x = p->inputs[0].x,
                                   .gain = p->inputs[1].x,
                                   .bias = p->inputs[2].x,
                                   .y = p->out,
                                   .mean = p->saved[0],
                                   .rstd = p->saved[1],
                                   .dy = p->dout,
                                   .dx = p->inputs[0].gradient,
                                   .dgain_add = p->inputs[1].gradient,
                                   .dbias_add = p->inputs[2].gradient};
}

static void layernorm_forward(struct problem *p) {
  const struct linnet_layernorm n = layernorm(p);
  p->ops->layernorm_forward(&n);
}

static void layernorm_backward(struct problem *p) {
  const struct linnet_layernorm n = layernorm(p);
  p->ops->layernorm_backward(&n);
}

/* --- activations ------------------------------------------------------------------------------------------------ */

static const struct shape activation_shapes[] = {{1, 1, 0, {0}, LINNET_IDENTITY}, {9, 7, 0, {0}, LINNET_IDENTITY},
                                                 {9, 7, 0, {0}, LINNET_RELU},     {9, 7, 0, {0}, LINNET_GELU},
                                                 {9, 7, 0, {0}, LINNET_SILU},     {0}};

static void activation_setup(struct problem *p) {
  input(p, "x", p->shape->rows * p->shape->width, false, p->shape->variant == LINNET_RELU);
  p->num_outputs = p->inputs[0].n;
}

static void activation_forward(struct problem *p) {
  p->ops->activation_forward((enum linnet_activation)p->shape->variant, p->num_outputs, p->inputs[0].x, p->out);
}

static void activation_backward(struct problem *p) {
  p->ops->activation_backward((enum linnet_activation)p->shape->variant, p->num_outputs, 1, p->inputs[0].x, p->dout,
                              p->inputs[0].gradient);
}

/* --- gated linear unit ------------------------------------------------------------------------------------------ */

static const struct shape glu_shapes[] = {{1, 1, 0, {0}, 0}, {6, 5, 0, {0}, 0}, {0}};

static void glu_setup(struct problem *p) {
  input(p, "x", 2 * p->shape->rows * p->shape->width, false, false);
  p->num_outputs = p->shape->rows * p->shape->width;
}

static void glu_forward(struct problem *p) {
  p->ops->glu_forward(p->shape->rows, p->shape->width, p->inputs[0].x, p->out);
}

static void glu_backward(struct problem *p) {
  p->ops->glu_backward(p->shape->rows, p->shape->width, p->inputs[0].x, p->dout, p->inputs[0].gradient);
}

/* --- dropout: its backward is itself, with the same counters ------------------------------------------------------ */

static const struct shape dropout_shapes[] = {{1, 5, 0, {0}, 10}, {7, 9, 0, {0}, 10}, {7, 9, 0, {0}, 50}, {0}};

static struct linnet_dropout mask_of(const struct problem *p) {
  return (struct linnet_dropout){.rate = p->shape->variant / 100.0, .seed = 11, .step = 3, .site = 5, .row = 1000};
}

static void dropout_setup(struct problem *p) {
  p->num_outputs = p->shape->rows * p->shape->width;
  input(p, "x", p->num_outputs, false, false);
  input(p, "residual", p->num_outputs, false, false);
}

static void dropout_forward(struct problem *p) {
  struct linnet_dropout d = mask_of(p);
  p->ops->dropout(&d, p->shape->rows, p->shape->width, p->inputs[0].x, p->inputs[1].x, p->out);
}

static void dropout_backward(struct problem *p) {
  struct linnet_dropout d = mask_of(p);
  p->ops->dropout(&d, p->shape->rows, p->shape->width, p->dout, NULL, p->inputs[0].gradient);
  memcpy(p->inputs[1].gradient, p->dout, p->num_outputs * sizeof(real));
}

/* --- depthwise convolution; variant: frames of left context ------------------------------------------------------- */

static const struct shape conv_shapes[] = {{1, 3, 3, {1}, 1},           {1, 3, 15, {1, 2, 1}, 7},
                                           {1, 4, 5, {6, 1, 11, 2}, 2}, {1, 5, 15, {20, 1, 7}, 7},
                                           {1, 2, 1, {3, 4}, 0},        {1, 4, 5, {6, 1, 11, 2}, 4},
                                           {1, 5, 15, {20, 1, 7}, 13},  {1, 3, 3, {4, 1, 5}, 0},
                                           {1, 3, 15, {1, 2, 17}, 14},  {0}};

static struct linnet_conv conv_of(const struct problem *p) {
  return (struct linnet_conv){
      .channels = p->shape->width, .kernel = p->shape->inner, .left = (size_t)p->shape->variant};
}

static void conv_setup(struct problem *p) {
  pack_lengths(p);
  p->num_outputs = total(p) * p->shape->width;
  input(p, "x", p->num_outputs, false, false);
  input(p, "w", p->shape->inner * p->shape->width, true, false);
  input(p, "bias", p->shape->width, true, false);
}

static void conv_forward(struct problem *p) {
  struct linnet_conv conv = conv_of(p);
  p->ops->conv_forward(&conv, &p->pack, p->inputs[0].x, p->inputs[1].x, p->inputs[2].x, p->out);
}

static void conv_backward(struct problem *p) {
  struct linnet_conv conv = conv_of(p);
  const struct linnet_conv_gradients gradients = {.x = p->inputs[0].x,
                                                  .dy = p->dout,
                                                  .w = p->inputs[1].x,
                                                  .dx = p->inputs[0].gradient,
                                                  .dw_add = p->inputs[1].gradient,
                                                  .dbias_add = p->inputs[2].gradient};
  p->ops->conv_backward(&conv, &p->pack, &gradients);
}

/* --- attention: q, k, v (or q, v where queries are keys) side by side as in the network, `variant` spare columns -- */

#define ATTENTION_SHAPES                                                                                               \
  {1, 1, 1, {1}, 0}, {1, 4, 1, {1, 1}, 0}, {1, 4, 3, {9, 1, 14}, 0}, {                                                 \
    1, 5, 2, {2, 1, 6, 1}, 3                                                                                           \
  }
static const struct shape attention_shapes[] = {ATTENTION_SHAPES, {1, 2, 1, {70, 2}, 0}, {0}};
static const struct shape lsh_shapes[] = {ATTENTION_SHAPES, {0}}; /* no query near the bound of two buckets */
static const struct shape causal_shapes[] = {ATTENTION_SHAPES, {1, 2, 1, {70, 1, 131}, 0}, {0}};

static size_t attention_maps(const struct problem *p) {
  return linnet_attention_traits[p->op->kind].shared_key ? 2 : 3;
}

static struct linnet_attention attention_of(const struct problem *p) {
  size_t width = p->shape->width, heads = p->shape->inner;
  size_t ld = attention_maps(p) * heads * width + (size_t)p->shape->variant;
  struct linnet_attention a = p->op->terms;
  a.kind = p->op->kind;
  a.heads = heads, a.key_width = a.width = width;
  a.key_ld = a.value_ld = ld, a.out_ld = heads * width;
  return a;
}

static const struct linnet_attention_ops *attention_ops(const struct problem *p) {
  return p->ops->attention[p->op->kind];
}

static void attention_setup(struct problem *p) {
  struct linnet_attention a = attention_of(p);
  pack_lengths(p);
  p->num_outputs = total(p) * a.out_ld;
  input(p, "qkv", total(p) * a.key_ld, false, true);
  p->saved[0] = gradient_reals(attention_ops(p)->saved_bytes(&a, total(p), p->pack.sequences) / sizeof(real));
  p->saved[1] = gradient_reals(attention_ops(p)->work_bytes(&a, total(p)) / sizeof(real));
}

static void attention_forward(struct problem *p) {
  struct linnet_attention a = attention_of(p);
  const real *q = p->inputs[0].x, *k = q + a.out_ld, *v = q + (attention_maps(p) - 1) * a.out_ld;
  attention_ops(p)->forward(&(struct linnet_attention_call){.attention = &a,
                                                            .pack = &p->pack,
                                                            .q = q,
                                                            .k = k,
                                                            .v = v,
                                                            .saved = p->saved[0],
                                                            .out = p->out,
                                                            .work = p->saved[1]});
}

/* Spare columns have no meaning; they are set to zero for the comparison. */
static void attention_backward(struct problem *p) {
  struct linnet_attention a = attention_of(p);
  size_t width = a.out_ld, value = (attention_maps(p) - 1) * width, spare = a.key_ld - value - width;
  const real *q = p->inputs[0].x, *k = q + width, *v = q + value;
  real *dq = p->inputs[0].gradient, *dk = dq + width, *dv = dq + value;
  attention_ops(p)->backward(&(struct linnet_attention_call){.attention = &a,
                                                             .pack = &p->pack,
                                                             .q = q,
                                                             .k = k,
                                                             .v = v,
                                                             .saved = p->saved[0],
                                                             .out = p->out,
                                                             .work = p->saved[1],
                                                             .dout = p->dout,
                                                             .dq = dq,
                                                             .dk = dk,
                                                             .dv = dv});
  for (size_t t = 0; t < total(p); t++)
    for (size_t c = 0; c < spare; c++) {
      CHECK(isnan(dv[t * a.key_ld + width + c]), "column between rows was written, row %zu", t);
      dv[t * a.key_ld + width + c] = 0;
    }
}

/* --- LSTM: sums of the gates to h; variant: 1 reverse, 2 a spare column in h -------------------------------------- */

static const struct shape lstm_shapes[] = {
    {1, 1, 0, {1}, 0}, {1, 3, 0, {4}, 1}, {1, 4, 0, {5, 1, 9, 5}, 0}, {1, 5, 0, {2, 1, 6, 1}, 3}, {0}};

/* saved[1]: both layouts of W_hh, equally large in the reference, and b_hh. */
static struct linnet_lstm lstm_of(const struct problem *p, enum linnet_lstm_use use) {
  size_t width = p->shape->width, size = p->ops->lstm_pack_size(width, use);
  const real *saved = p->saved[1]; /* NULL while memory is planned */
  return (struct linnet_lstm){.width = width,
                              .ld = width + (p->shape->variant & 2 ? 1 : 0),
                              .bias = saved ? saved + 2 * size : NULL,
                              .reverse = p->shape->variant & 1,
                              .sequences = p->pack.sequences,
                              .spans = p->spans,
                              .weights = saved && use == LINNET_LSTM_BACKWARD ? saved + size : saved};
}

static void lstm_setup(struct problem *p) {
  size_t width = p->shape->width, size = p->ops->lstm_pack_size(width, LINNET_LSTM_FORWARD);
  pack_lengths(p);
  linnet_spans_longest_first(&p->pack, p->spans);
  p->num_outputs = total(p) * lstm_of(p, LINNET_LSTM_FORWARD).ld;
  input(p, "gates", total(p) * 4 * width, false, false);
  p->saved[0] = gradient_reals(total(p) * width);
  p->saved[1] = gradient_reals(2 * size + 4 * width);
  real *weights = gradient_random(&p->random, 4 * width * width);
  p->ops->lstm_pack(width, LINNET_LSTM_FORWARD, weights, p->saved[1]);
  p->ops->lstm_pack(width, LINNET_LSTM_BACKWARD, weights, p->saved[1] + size);
  free(weights);
  for (size_t i = 0; i < 4 * width; i++)
    p->saved[1][2 * size + i] = test_uniform(&p->random);
}

/* Copies the activated gates into the gradient of their sums, which backward computes in place. Spare columns of h
 * are zero. */
static void lstm_forward(struct problem *p) {
  struct linnet_lstm l = lstm_of(p, LINNET_LSTM_FORWARD);
  size_t n = 2 * l.sequences * l.width;
  real *state = gradient_reals(n), *work = gradient_reals(linnet_lstm_work(l.width, l.sequences));
  real *gates = gradient_reals(p->inputs[0].n);
  memset(state, 0, n * sizeof *state);
  memset(p->out, 0, p->num_outputs * sizeof *p->out);
  memcpy(gates, p->inputs[0].x, p->inputs[0].n * sizeof *gates);
  p->ops->lstm_forward(&l, gates, p->saved[0], state, p->out, work);
  if (isnan(p->inputs[0].gradient[0]))
    memcpy(p->inputs[0].gradient, gates, p->inputs[0].n * sizeof *gates);
  free(state);
  free(work);
  free(gates);
}

static void lstm_backward(struct problem *p) {
  struct linnet_lstm l = lstm_of(p, LINNET_LSTM_BACKWARD);
  real *work = gradient_reals(linnet_lstm_work(l.width, l.sequences));
  p->ops->lstm_backward(&l, p->saved[0], p->dout, p->inputs[0].gradient, work);
  free(work);
}

/* --- feature maps: variant is the map, inner the heads, lengths[0] the random directions -------------------------- */

static const struct shape map_shapes[] = {
    {1, 1, 1, {0}, LINNET_MAP_RELU},       {5, 6, 3, {0}, LINNET_MAP_RELU},     {1, 1, 2, {0}, LINNET_MAP_POLYNOMIAL},
    {5, 6, 3, {0}, LINNET_MAP_POLYNOMIAL}, {1, 1, 1, {1}, LINNET_MAP_FOURIER},  {5, 6, 3, {9}, LINNET_MAP_FOURIER},
    {1, 1, 1, {1}, LINNET_MAP_POSITIVE},   {5, 6, 3, {9}, LINNET_MAP_POSITIVE}, {0}};

enum { SPARE = 2 }; /* columns between rows of x; rows of phi have none */

static struct linnet_feature_map_terms map_of(const struct problem *p) {
  const struct shape *s = p->shape;
  struct linnet_feature_map_terms m = {.map = (enum linnet_feature_map)s->variant,
                                       .heads = s->inner,
                                       .width = s->width,
                                       .features = s->lengths[0],
                                       .directions = p->saved[0],
                                       .x_ld = s->inner * s->width + SPARE};
  m.phi_ld = m.heads * linnet_feature_map_size(m.map, m.width, m.features);
  return m;
}

static void map_setup(struct problem *p) {
  const struct linnet_feature_map_terms m = map_of(p);
  input(p, "x", p->shape->rows * m.x_ld, false, m.map == LINNET_MAP_RELU);
  p->num_outputs = p->shape->rows * m.phi_ld;
  p->saved[0] = gradient_random(&p->random, m.features * m.width);
}

static void map_forward(struct problem *p) {
  const struct linnet_feature_map_terms m = map_of(p);
  p->ops->feature_map_forward(&m, p->shape->rows, p->inputs[0].x, p->out, NULL);
}

static void map_backward(struct problem *p) {
  const struct linnet_feature_map_terms m = map_of(p);
  real *dx = p->inputs[0].gradient;
  p->ops->feature_map_backward(&m, p->shape->rows, p->inputs[0].x, p->out, p->dout, dx, NULL);
  for (size_t t = 1; t <= p->shape->rows; t++)
    for (size_t c = 1; c <= SPARE; c++) {
      CHECK(isnan(dx[t * m.x_ld - c]), "column between rows was written, row %zu", t);
      dx[t * m.x_ld - c] = 0;
    }
}

/* --- products: dA = dC op(B)^T and dB = op(A)^T dC, transposed where A and B are ---------------------------------- */

/* rows m, width n, inner k; variant: 1 A is transposed, 2 B is transposed, 4 no bias, and the product is added to C. */
static const struct shape gemm_shapes[] = {{1, 1, 1, {0}, 0}, {3, 4, 5, {0}, 0}, {3, 4, 5, {0}, 1}, {3, 4, 5, {0}, 2},
                                           {3, 4, 5, {0}, 3}, {6, 2, 9, {0}, 4}, {6, 2, 9, {0}, 7}, {0}};

static void gemm_setup(struct problem *p) {
  const struct shape *s = p->shape;
  p->num_outputs = s->rows * s->width;
  input(p, "a", s->rows * s->inner, false, false);
  input(p, "b", s->inner * s->width, true, false);
  input(p, s->variant & 4 ? "c" : "bias", s->variant & 4 ? p->num_outputs : s->width, true, false);
}

static void gemm_forward(struct problem *p) {
  const struct shape *s = p->shape;
  bool ta = s->variant & 1, tb = s->variant & 2, add = s->variant & 4;
  if (add)
    memcpy(p->out, p->inputs[2].x, p->num_outputs * sizeof(real));
  struct linnet_gemm g = {.transpose_a = ta,
                          .transpose_b = tb,
                          .m = s->rows,
                          .n = s->width,
                          .k = s->inner,
                          .a = p->inputs[0].x,
                          .lda = ta ? s->rows : s->inner,
                          .b = p->inputs[1].x,
                          .ldb = tb ? s->inner : s->width,
                          .c = p->out,
                          .ldc = s->width,
                          .accumulate = add,
                          .bias = add ? NULL : p->inputs[2].x};
  p->ops->gemm(&g, NULL);
}

/* da (m, k) = dc op(b)^T, or its transpose (k, m) = op(b) dc^T. */
static void gemm_backward_a(struct problem *p) {
  const struct shape *s = p->shape;
  bool ta = s->variant & 1, tb = s->variant & 2;
  const real *b = p->inputs[1].x;
  size_t ldb = tb ? s->inner : s->width;
  struct linnet_gemm straight = {.transpose_b = !tb,
                                 .m = s->rows,
                                 .n = s->inner,
                                 .k = s->width,
                                 .a = p->dout,
                                 .lda = s->width,
                                 .b = b,
                                 .ldb = ldb,
                                 .c = p->inputs[0].gradient,
                                 .ldc = s->inner};
  struct linnet_gemm turned = {.transpose_a = tb,
                               .transpose_b = true,
                               .m = s->inner,
                               .n = s->rows,
                               .k = s->width,
                               .a = b,
                               .lda = ldb,
                               .b = p->dout,
                               .ldb = s->width,
                               .c = p->inputs[0].gradient,
                               .ldc = s->rows};
  p->ops->gemm(ta ? &turned : &straight, NULL);
}

/* db (k, n) += op(a)^T dc, or its transpose (n, k) += dc^T op(a). */
static void gemm_backward_b(struct problem *p) {
  const struct shape *s = p->shape;
  bool ta = s->variant & 1, tb = s->variant & 2;
  const real *a = p->inputs[0].x;
  size_t lda = ta ? s->rows : s->inner;
  struct linnet_gemm straight = {.transpose_a = !ta,
                                 .m = s->inner,
                                 .n = s->width,
                                 .k = s->rows,
                                 .a = a,
                                 .lda = lda,
                                 .b = p->dout,
                                 .ldb = s->width,
                                 .c = p->inputs[1].gradient,
                                 .ldc = s->width,
                                 .accumulate = true};
  struct linnet_gemm turned = {.transpose_a = true,
                               .transpose_b = ta,
                               .m = s->width,
                               .n = s->inner,
                               .k = s->rows,
                               .a = p->dout,
                               .lda = s->width,
                               .b = a,
                               .ldb = lda,
                               .c = p->inputs[1].gradient,
                               .ldc = s->inner,
                               .accumulate = true};
  p->ops->gemm(tb ? &turned : &straight, NULL);
}

static void gemm_backward(struct problem *p) {
  gemm_backward_a(p);
  gemm_backward_b(p);
  if (p->shape->variant & 4)
    p->ops->add(p->num_outputs, p->dout, p->inputs[2].gradient);
  else
    p->ops->column_sum(p->shape->rows, p->shape->width, p->dout, p->inputs[2].gradient);
}

/* --- the check ---------------------------------------------------------------------------------------------------- */

#define ATTENTION attention_setup, attention_forward, attention_backward
#define CAUSAL(name, of, rows)                                                                                         \
  {                                                                                                                    \
    name, causal_shapes, ATTENTION, LINNET_ATTENTION_CAUSAL_LINEAR, {                                                  \
      .form = (of), .chunk = (rows)                                                                                    \
    }                                                                                                                  \
  }

static const struct op table[] = {
    {"layernorm", layernorm_shapes, layernorm_setup, layernorm_forward, layernorm_backward, 0, {0}},
    {"activation", activation_shapes, activation_setup, activation_forward, activation_backward, 0, {0}},
    {"glu", glu_shapes, glu_setup, glu_forward, glu_backward, 0, {0}},
    {"dropout", dropout_shapes, dropout_setup, dropout_forward, dropout_backward, 0, {0}},
    {"conv", conv_shapes, conv_setup, conv_forward, conv_backward, 0, {0}},
    {"linear", attention_shapes, ATTENTION, LINNET_ATTENTION_LINEAR, {0}},
    {"softmax", attention_shapes, ATTENTION, LINNET_ATTENTION_SOFTMAX, {0}},
    {"causal-softmax", attention_shapes, ATTENTION, LINNET_ATTENTION_CAUSAL_SOFTMAX, {0}},
    {"lsh", lsh_shapes, ATTENTION, LINNET_ATTENTION_LSH, {.lsh = {.rounds = 3, .buckets = 4, .chunk = 4, .seed = 1}}},
    {"causal-lsh",
     lsh_shapes,
     ATTENTION,
     LINNET_ATTENTION_CAUSAL_LSH,
     {.lsh = {.rounds = 2, .buckets = 2, .chunk = 3, .seed = 1}}},
    {"linear-decay", attention_shapes, ATTENTION, LINNET_ATTENTION_LINEAR_DECAY, {0}},
    {"causal-linear-decay", attention_shapes, ATTENTION, LINNET_ATTENTION_CAUSAL_LINEAR_DECAY, {0}},
    {"linear-decay-features",
     attention_shapes,
     ATTENTION,
     LINNET_ATTENTION_LINEAR_DECAY,
     {.first_head = 3, .map = LINNET_MAP_IDENTITY, .min_normaliser = 1}},
    {"map", map_shapes, map_setup, map_forward, map_backward, 0, {0}},
    {"gemm", gemm_shapes, gemm_setup, gemm_forward, gemm_backward, 0, {0}},
    {"lstm", lstm_shapes, lstm_setup, lstm_forward, lstm_backward, 0, {0}},
    CAUSAL("state", LINNET_CAUSAL_LINEAR_STATE, 0),
    CAUSAL("prefix", LINNET_CAUSAL_LINEAR_PARALLEL_STATE, 0),
    CAUSAL("attention", LINNET_CAUSAL_LINEAR_ATTENTION, 0),
    CAUSAL("chunked 1", LINNET_CAUSAL_LINEAR_CHUNKED, 1),
    CAUSAL("chunked 4", LINNET_CAUSAL_LINEAR_CHUNKED, 4),
    CAUSAL("chunked", LINNET_CAUSAL_LINEAR_CHUNKED, 0),
};

struct moving {
  const struct op *op;
  struct problem *problem;
  real *x;
};

static double loss_moved(void *user, double by) {
  struct moving *m = user;
  real saved = *m->x;
  *m->x += by;
  m->op->forward(m->problem);
  *m->x = saved;
  return gradient_dot(m->problem->num_outputs, m->problem->out, m->problem->dout);
}

static double input_error(const struct op *op, struct problem *p, struct input *in) {
  double worst = 0, min_scale = gradient_rms(in->n, in->gradient) / 10;
  for (size_t i = 0; i < in->n; i++) {
    struct moving m = {op, p, in->x + i};
    worst =
        fmax(worst, gradient_error(gradient_difference(loss_moved, &m, 1e-3), in->gradient[i], fmax(min_scale, 1e-6)));
  }
  return worst;
}

static void fill_problem(struct problem *p) {
  for (size_t i = 0; i < p->num_inputs; i++) {
    struct input *in = &p->inputs[i];
    in->x = in->off_zero ? gradient_random_off_zero(&p->random, in->n) : gradient_random(&p->random, in->n);
    in->gradient = gradient_reals(in->n);
    for (size_t j = 0; in->adds && j < in->n; j++)
      in->gradient[j] = ADDED;
  }
  p->out = gradient_reals(p->num_outputs);
  p->dout = gradient_random(&p->random, p->num_outputs);
}

static void free_problem(struct problem *p) {
  for (size_t i = 0; i < p->num_inputs; i++) {
    free(p->inputs[i].x);
    free(p->inputs[i].gradient);
  }
  free(p->out);
  free(p->dout);
  free(p->saved[0]);
  free(p->saved[1]);
}

static void check_shape(const struct op *op, const struct shape *shape, uint64_t seed) {
  struct problem p = {.ops = linnet_cpu_ops("reference"), .op = op, .shape = shape, .random = {seed}};
  op->setup(&p);
  fill_problem(&p);
  op->forward(&p);
  op->backward(&p);
  for (size_t i = 0; i < p.num_inputs; i++) {
    struct input *in = &p.inputs[i];
    for (size_t j = 0; in->adds && j < in->n; j++)
      in->gradient[j] -= ADDED;
    double error = input_error(op, &p, in);
    printf("%-14s shape %td, d%-8s seed %llu: error %.1e, bound %.0e\n", op->name, shape - op->shapes, in->name,
           (unsigned long long)seed, error, BOUND);
    CHECK(error <= BOUND, "%s, shape %td, d%s, seed %llu: error %.3e, bound %.0e", op->name, shape - op->shapes,
          in->name, (unsigned long long)seed, error, BOUND);
  }
  free_problem(&p);
}

int main(void) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    for (const struct shape *shape = table[i].shapes; shape->rows > 0; shape++)
      check_shape(&table[i], shape, 100 * i + (uint64_t)(shape - table[i].shapes));
  return test_result();
}
