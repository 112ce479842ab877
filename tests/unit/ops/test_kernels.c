/* Every slot of every op table that runs here against the C reference: sizes 0, 1, tails and blocks, leading
 * dimensions, addresses without alignment, guard zones around outputs. Prints the largest error found and its bound. */
#include <float.h>

#include "backend/backend.h"
#include "buffers.h"
#include "ops/activation.h"
#include "ops/attention.h"
#include "ops/consistency.h"
#include "ops/ctc.h"
#include "ops/denominator.h"
#include "ops/depthwise_conv.h"
#include "ops/distillation.h"
#include "ops/dropout.h"
#include "ops/feature_map.h"
#include "ops/frame_targets.h"
#include "ops/gemm.h"
#include "ops/layernorm.h"
#include "ops/linear_attention.h"
#include "ops/log_softmax.h"
#include "ops/lstm.h"
#include "ops/optimizer.h"
#include "ops/vector.h"
#include "phone_model.h"
#include "tables.h"
#include "train/denominator_graph.h"

/* --- Products */

static size_t longer(struct test_random *r, size_t n) {
  return n + (test_below(r, 2) ? test_below(r, 20) : 0);
}

/* Rounded to nearest, ties to even. */
static float nearest_bfloat16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  memcpy(&x, &bits, sizeof x);
  return x;
}

struct gemm_case {
  struct linnet_gemm g;
  struct buffer a, b, c, bias;
};

/* Rounds the values of a row or column along k to the integers of the kernels times a scale; to signs if k may exceed a
 * block of the kernels, because each block has its own scale. */
static void as_integers(const struct linnet_ops *ops, size_t k, size_t stride, float *x) {
  const float most = strcmp(ops->name, "avx2-int8") == 0 ? 63 : 127;
  float largest = 0;
  for (size_t p = 0; p < k; p++)
    largest = fmaxf(largest, fabsf(x[p * stride]));
  for (size_t p = 0; p < k && largest > 0; p++)
    x[p * stride] = k > 1024 ? copysignf(1, x[p * stride]) : rintf(x[p * stride] * most / largest) * (largest / most);
}

/* Rounds operands as the products of a table do, so that only the sums are compared: `rows` of k numbers, `row` and
 * `depth` from one to the next. */
static void as_operands(const struct linnet_ops *ops, size_t rows, size_t k, size_t row, size_t depth,
                        struct buffer *b) {
  for (size_t i = 0; i < b->n && ops->precision == LINNET_BFLOAT16; i++)
    b->x[i] = nearest_bfloat16(b->x[i]);
  for (size_t i = 0; i < rows && ops->precision == LINNET_INT8; i++)
    as_integers(ops, k, depth, b->x + i * row);
}

static struct gemm_case gemm_case(const struct linnet_ops *ops, struct test_random *r) {
  struct gemm_case p = {.g = {.transpose_a = test_below(r, 2), .transpose_b = test_below(r, 2)}};
  struct linnet_gemm *g = &p.g;
  g->m = some_size(r, 300), g->n = some_size(r, test_below(r, 8) ? 100 : 1700);
  g->k = some_size(r, test_below(r, 8) ? 300 : 1200);
  g->lda = longer(r, g->transpose_a ? g->m : g->k), g->ldb = longer(r, g->transpose_b ? g->k : g->n);
  g->ldc = longer(r, g->n);
  g->accumulate = test_below(r, 3) == 0;
  p.a = buffer_random(r, g->lda * (g->transpose_a ? g->k : g->m));
  p.b = buffer_random(r, g->ldb * (g->transpose_b ? g->n : g->k));
  as_operands(ops, g->m, g->k, g->transpose_a ? 1 : g->lda, g->transpose_a ? g->lda : 1, &p.a);
  as_operands(ops, g->n, g->k, g->transpose_b ? g->ldb : 1, g->transpose_b ? 1 : g->ldb, &p.b);
  p.c = buffer_poisoned(r, g->ldc * g->m);
  p.bias = buffer_random(r, g->n);
  for (size_t i = 0; i < g->m && g->accumulate; i++)
    test_fill(r, p.c.x + i * g->ldc, g->n);
  if (!g->accumulate && test_below(r, 2))
    g->bias = p.bias.x;
  if (!g->accumulate)
    g->activation = (enum linnet_activation)test_below(r, 4);
  g->a = p.a.x, g->b = p.b.x, g->c = p.c.x;
  return p;
}

/* The product in blocks of rows: the same bits are due. */
static void gemm_by_rows(const struct linnet_ops *ops, struct linnet_gemm g, size_t height, float *work) {
  size_t m = g.m;
  for (size_t i = 0; i < m; i += height) {
    struct linnet_gemm part = g;
    part.m = i + height <= m ? height : m - i;
    part.a += g.transpose_a ? i : i * g.lda;
    part.c += i * g.ldc;
    ops->gemm(&part, work);
  }
}

/* Nothing, or blocks of memory whose sizes have nothing to do with the product. */
static struct linnet_prefetch some_prefetch(struct test_random *r, struct linnet_memory_block blocks[2],
                                            const float *memory) {
  const size_t count = test_below(r, 3);
  for (size_t i = 0; i < count; i++)
    blocks[i] = (struct linnet_memory_block){memory + i, 1 + test_below(r, 100000)};
  return (struct linnet_prefetch){blocks, count, 0};
}

/* What remains of a list of `count` blocks is its end, and the first block of it was not fetched whole. */
static bool prefetch_holds(const struct linnet_prefetch *p, const struct linnet_memory_block *blocks, size_t count) {
  return p->num_blocks <= count && p->blocks == blocks + count - p->num_blocks &&
         p->fetched < (p->num_blocks > 0 ? p->blocks->bytes : 1);
}

static double gemm_packed_difference(const struct linnet_ops *ops, struct test_random *r, struct linnet_gemm g,
                                     const struct buffer *before, const struct buffer *plain, float *work) {
  struct buffer c = buffer_copy(r, before), packed = buffer_poisoned(r, ops->pack_b_size(g.k, g.n));
  ops->pack_b(g.transpose_b, g.k, g.n, g.b, g.ldb, packed.x);
  bool held = guards_hold(&packed);
  struct linnet_memory_block blocks[2];
  struct linnet_prefetch prefetch = some_prefetch(r, blocks, packed.x);
  const size_t count = prefetch.num_blocks;
  g.b = NULL, g.packed = packed.x, g.c = c.x, g.prefetch = &prefetch;
  ops->gemm(&g, work);
  held = held && prefetch_holds(&prefetch, blocks, count);
  double error = held ? buffer_error(&c, plain) : INFINITY;
  RELEASE(c, packed);
  return error;
}

static double test_gemm(const struct linnet_ops *ops, struct test_random *r) {
  struct gemm_case p = gemm_case(ops, r);
  struct buffer plain = buffer_copy(r, &p.c), rows = buffer_copy(r, &p.c), expected = buffer_copy(r, &p.c);
  struct buffer work = buffer_poisoned(r, ops->gemm_work);
  struct linnet_gemm g = p.g;
  g.c = expected.x;
  linnet_gemm_reference(&g, NULL);
  g.c = plain.x;
  ops->gemm(&g, work.x);
  double error = buffer_error(&plain, &expected);
  g.c = rows.x;
  gemm_by_rows(ops, g, 1 + test_below(r, 120), work.x);
  bool library = strcmp(ops->name, "cblas") == 0; /* which rounds as it pleases */
  CHECK(buffer_error(&rows, &plain) <= (library ? 1e-5 : 0), "%s: gemm %zu %zu %zu by rows differs", ops->name, g.m,
        g.n, g.k);
  if (ops->pack_b)
    CHECK(gemm_packed_difference(ops, r, g, &p.c, &plain, work.x) == 0, "%s: gemm %zu %zu %zu packed differs",
          ops->name, g.m, g.n, g.k);
  if (!guards_hold(&work))
    error = INFINITY;
  RELEASE(p.a, p.b, p.c, p.bias, plain, rows, expected, work);
  return error;
}

/* --- CTC */

static void ctc_labels(struct test_random *r, const struct linnet_ctc *c, int *label) {
  size_t kinds = test_below(r, 3) ? c->symbols - 1 : 1; /* 1: all labels are equal */
  for (size_t i = 0; i < c->labels; i++)
    label[i] = 1 + (int)test_below(r, kinds);
}

static double ctc_difference(double a, double b) {
  if (a == b || (isnan(a) && isnan(b)))
    return 0;
  double d = fabs(a - b) / fmax(1, fabs(b));
  return isnan(d) ? INFINITY : d;
}

static double test_ctc(const struct linnet_ops *ops, struct test_random *r) {
  struct linnet_ctc c = {.frames = some_size(r, 300), .symbols = 2 + some_size(r, 100), .scale = 1};
  c.labels = test_below(r, 4) ? some_size(r, c.frames / 2) : some_size(r, c.frames + 1);
  int *label = malloc((c.labels + 1) * sizeof *label);
  ctc_labels(r, &c, label);
  struct buffer logits = buffer_random(r, c.frames * c.symbols);
  buffer_odd_logits(r, &logits, -1e30f, 200);
  struct buffer in_place = buffer_copy(r, &logits), gradient = buffer_poisoned(r, logits.n);
  struct buffer expected = buffer_poisoned(r, logits.n);
  struct buffer work = buffer_poisoned(r, linnet_ctc_work_bytes(c.frames, c.symbols, c.labels) / sizeof(float));
  double *double_work = malloc(work.n * sizeof(float)); /* the reference needs alignment */
  c.label = label, c.logits = logits.x, c.gradient = expected.x;
  double loss = linnet_ctc_reference(&c, double_work);
  c.gradient = gradient.x;
  float *aligned = (float *)(((uintptr_t)work.x + 7) & ~(uintptr_t)7);
  work.n -= (size_t)(aligned - work.x);
  double error = ctc_difference(ops->ctc(&c, aligned), loss);
  error = worst(error, buffer_error(&gradient, &expected));
  c.gradient = NULL;
  error = worst(error, ctc_difference(ops->ctc(&c, aligned), loss));
  c.logits = c.gradient = in_place.x;
  error = worst(error, ctc_difference(ops->ctc(&c, aligned), loss));
  CHECK(buffer_error(&in_place, &gradient) == 0, "%s: ctc in place differs", ops->name);
  error = worst(error, guards_hold(&work) ? 0 : INFINITY);
  RELEASE(logits, in_place, gradient, expected, work);
  free(label), free(double_work);
  return error;
}

static struct linnet_denominator_graph *some_graph(struct test_random *r, struct linnet_context *context) {
  struct phone_model m = {2 + some_size(r, 20), 1 + (unsigned)test_below(r, 3), test_below(r, 4), NULL};
  struct linnet_denominator_graph *graph = NULL;
  m.symbols = test_below(r, 10) ? m.symbols : 2 + test_below(r, 60);
  m.table = phone_table(r, m.symbols);
  struct linnet_language_model model = phone_language_model(&m);
  CHECK(linnet_denominator_graph_create(context, &model, m.symbols, NULL, &graph) == LINNET_OK, "%s",
        linnet_context_error(context));
  free((void *)(uintptr_t)m.table);
  return graph;
}

/* Random graphs; logits that are flat or peaked, with impossible symbols and rows without a distribution. */
static double test_denominator(const struct linnet_ops *ops, struct test_random *r) {
  static const float scales[] = {1, 10, 40};
  struct linnet_context *context = test_context();
  struct linnet_denominator_graph *graph = some_graph(r, context);
  size_t frames = some_size(r, graph->arcs < 3000 ? 60 : 5), n = frames * graph->symbols;
  struct buffer logits = buffer_scaled(r, n, scales[test_below(r, 3)]);
  buffer_odd_logits(r, &logits, -1e30f, 200);
  struct buffer expected = buffer_random(r, n), gradient = buffer_copy(r, &expected);
  size_t bytes = linnet_denominator_work_bytes(graph, frames);
  struct buffer work = buffer_poisoned(r, bytes / sizeof(float) + 2);
  double *double_work = malloc(bytes);
  struct linnet_denominator d = {graph, frames, logits.x, 0.7f, expected.x};
  double sum = linnet_denominator_reference(&d, double_work);
  void *aligned = (void *)(((uintptr_t)work.x + 7) & ~(uintptr_t)7);
  d.gradient_add = gradient.x;
  double error = ctc_difference(ops->denominator(&d, aligned), sum);
  error = worst(error, buffer_error(&gradient, &expected));
  d.gradient_add = NULL;
  error = worst(error, ctc_difference(ops->denominator(&d, aligned), sum));
  error = worst(error, guards_hold(&work) ? 0 : INFINITY);
  RELEASE(logits, expected, gradient, work);
  free(double_work);
  linnet_denominator_graph_destroy(context, graph);
  linnet_context_destroy(context);
  return error;
}

/* Logits (n / symbols, symbols) that are more or less alike, some symbols impossible in both. */
static void alike_logits(struct test_random *r, size_t n, size_t symbols, struct buffer *a, struct buffer *b) {
  static const float scales[] = {0.01f, 1, 5, 100};
  *a = buffer_scaled(r, n, 5);
  *b = buffer_scaled(r, n, scales[test_below(r, 4)]);
  for (size_t i = 0; i < n; i++)
    b->x[i] += a->x[i];
  for (size_t i = 0; i < n; i++)
    if (i % symbols != 0 && test_below(r, 10) == 0)
      a->x[i] = b->x[i] = -INFINITY;
}

static double test_consistency(const struct linnet_ops *ops, struct test_random *r) {
  size_t frames = some_size(r, 100), symbols = 1 + some_size(r, 200), n = frames * symbols;
  struct buffer a, b;
  alike_logits(r, n, symbols, &a, &b);
  struct buffer da = buffer_random(r, n), da2 = buffer_copy(r, &da), db = buffer_random(r, n),
                db2 = buffer_copy(r, &db);
  struct linnet_consistency c = {frames, symbols, a.x, b.x, 0.7f, da.x, db.x};
  double loss = linnet_consistency_reference(&c);
  c.gradient_a_add = da2.x, c.gradient_b_add = db2.x;
  double error = fabs(ops->consistency(&c) - loss) / fmax(1, loss);
  error = worst(error, worst(buffer_error(&da2, &da), buffer_error(&db2, &db)));
  RELEASE(a, b, da, da2, db, db2);
  return isnan(error) ? INFINITY : error;
}

static double test_distillation(const struct linnet_ops *ops, struct test_random *r) {
  size_t frames = some_size(r, 100), symbols = 1 + some_size(r, 200), n = frames * symbols;
  struct buffer teacher, student;
  alike_logits(r, n, symbols, &teacher, &student);
  struct buffer expected = buffer_random(r, n), gradient = buffer_copy(r, &expected);
  struct linnet_distillation d = {frames, symbols, teacher.x, student.x, 0.7f, expected.x};
  double loss = linnet_distillation_reference(&d);
  d.gradient_add = gradient.x;
  double error = fabs(ops->distillation(&d) - loss) / fmax(1, loss);
  error = worst(error, buffer_error(&gradient, &expected));
  RELEASE(teacher, student, expected, gradient);
  return isnan(error) ? INFINITY : error;
}

/* Some frames without a target, some symbols impossible. */
static double test_frame_targets(const struct linnet_ops *ops, struct test_random *r) {
  static const float scales[] = {0.01f, 1, 5, 100};
  size_t frames = some_size(r, 100), symbols = 2 + some_size(r, 200), n = frames * symbols;
  struct buffer logits = buffer_scaled(r, n, scales[test_below(r, 4)]), expected = buffer_random(r, n),
                gradient = buffer_copy(r, &expected);
  int *targets = calloc(frames + 1, sizeof *targets);
  for (size_t t = 0; t < frames; t++)
    targets[t] = test_below(r, 4) ? (int)test_below(r, symbols) : 0;
  for (size_t i = 0; i < n; i++)
    if (i % symbols != (size_t)targets[i / symbols] && test_below(r, 10) == 0)
      logits.x[i] = -INFINITY;
  struct linnet_frame_targets f = {frames, symbols, targets, logits.x, 0.7f, expected.x};
  double loss = 0, found = 0;
  for (size_t t = 0; t < frames; t++)
    if (targets[t] == 0)
      logits.x[t * symbols + test_below(r, symbols)] = NAN; /* which must not be read */
  loss = linnet_frame_targets_reference(&f);
  f.gradient_add = gradient.x;
  found = ops->frame_targets(&f);
  double error = worst(fabs(found - loss) / fmax(1, loss), buffer_error(&gradient, &expected));
  free(targets);
  RELEASE(logits, expected, gradient);
  return isnan(error) ? INFINITY : error;
}

/* --- Attention */

/* A batch of some sequences, some empty. */
static struct linnet_pack some_pack(struct test_random *r, size_t *offsets, size_t max_sequences, size_t longest) {
  struct linnet_pack p = {test_below(r, max_sequences + 1), offsets};
  offsets[0] = 0;
  for (size_t i = 0; i < p.sequences; i++)
    offsets[i + 1] = offsets[i] + some_size(r, longest);
  return p;
}

/* Attention of a random shape: queries, keys and values side by side, with or without columns between rows. Linear
 * attention also with mapped keys of another width: values away from 0, or vectors of length about 1 with a minimum
 * of the normaliser, like Fourier features. */
struct attention_case {
  struct linnet_attention a;
  struct linnet_pack pack;
  size_t offsets[6], rows;
  struct buffer qkv, dout;
  const float *q, *k, *v;
};

static struct attention_case attention_case(struct test_random *r, enum linnet_attention_kind kind, bool mapped) {
  struct attention_case c = {.a = {.kind = kind, .heads = 1 + test_below(r, 6), .width = 32}};
  struct linnet_attention *a = &c.a;
  if (test_below(r, 2))
    a->width = 1 + some_size(r, test_below(r, 10) ? 70 : 140);
  a->key_width = a->width;
  size_t maps = linnet_attention_traits[kind].shared_key ? 2 : 3;
  if (mapped) {
    a->map = LINNET_MAP_IDENTITY;
    a->key_width = 1 + some_size(r, test_below(r, 10) ? 150 : 1100);
    a->min_normaliser = test_below(r, 2) ? 0 : 1;
  }
  size_t keys = a->heads * a->key_width;
  a->out_ld = a->heads * a->width;
  a->key_ld = a->value_ld = a->out_ld + (maps - 1) * keys + (test_below(r, 2) ? test_below(r, 5) : 0);
  a->form = (enum linnet_causal_linear_form)test_below(r, LINNET_CAUSAL_LINEAR_FORMS);
  a->chunk = some_size(r, 300); /* 0: the default */
  a->lsh = (struct linnet_lsh){.rounds = 1 + test_below(r, 4),
                               .buckets = 2 + 2 * test_below(r, test_below(r, 2) ? 4 : 64),
                               .chunk = 1 + some_size(r, 70),
                               .seed = test_next(r),
                               .step = 1,
                               .site = 2};
  c.pack = some_pack(r, c.offsets, 4, 250);
  c.rows = c.offsets[c.pack.sequences];
  c.qkv = buffer_scaled(r, c.rows * a->key_ld, test_below(r, 4) ? 1 : 5);
  c.dout = buffer_random(r, c.rows * a->out_ld);
  const float length = 1 / sqrtf((float)a->key_width);
  for (size_t i = 0; i < c.qkv.n && a->map == LINNET_MAP_IDENTITY; i++)
    c.qkv.x[i] = a->min_normaliser > 0 ? c.qkv.x[i] * length : fabsf(c.qkv.x[i]) + 0.5f;
  c.q = c.qkv.x, c.k = c.q + keys, c.v = c.q + (maps - 1) * keys;
  return c;
}

/* Forward and backward of one table: outputs, then gradients; false: a guard was overwritten. */
static bool run_attention(const struct linnet_ops *ops, struct attention_case *c, struct test_random *r,
                          struct buffer *out, struct buffer *gradient) {
  const struct linnet_attention_ops *attention = ops->attention[c->a.kind];
  struct buffer saved = buffer_poisoned(r, attention->saved_bytes(&c->a, c->rows, c->pack.sequences) / sizeof(float));
  struct buffer work = buffer_poisoned(r, attention->work_bytes(&c->a, c->rows) / sizeof(float));
  c->pack.offsets = c->offsets;
  attention->forward(&(struct linnet_attention_call){.attention = &c->a,
                                                     .pack = &c->pack,
                                                     .q = c->q,
                                                     .k = c->k,
                                                     .v = c->v,
                                                     .saved = saved.x,
                                                     .out = out->x,
                                                     .work = work.x});
  attention->backward(&(struct linnet_attention_call){.attention = &c->a,
                                                      .pack = &c->pack,
                                                      .q = c->q,
                                                      .k = c->k,
                                                      .v = c->v,
                                                      .saved = saved.x,
                                                      .out = out->x,
                                                      .work = work.x,
                                                      .dout = c->dout.x,
                                                      .dq = gradient->x,
                                                      .dk = gradient->x + (c->k - c->q),
                                                      .dv = gradient->x + (c->v - c->q)});
  bool good = guards_hold(&saved) && guards_hold(&work);
  RELEASE(saved, work);
  return good;
}

static double test_attention(const struct linnet_ops *ops, struct test_random *r, enum linnet_attention_kind kind,
                             bool mapped) {
  struct attention_case c = attention_case(r, kind, mapped);
  struct buffer out = buffer_poisoned(r, c.rows * c.a.out_ld), out2 = buffer_copy(r, &out);
  struct buffer gradient = buffer_poisoned(r, c.rows * c.a.key_ld), gradient2 = buffer_copy(r, &gradient);
  bool good = run_attention(ops, &c, r, &out2, &gradient2);
  c.a.form = LINNET_CAUSAL_LINEAR_STATE; /* the forms are one function */
  good = good && run_attention(linnet_cpu_ops("reference"), &c, r, &out, &gradient);
  double error = worst(buffer_error(&out2, &out), buffer_error(&gradient2, &gradient));
  RELEASE(c.qkv, c.dout, out, out2, gradient, gradient2);
  return good ? error : INFINITY;
}

static double test_linear_attention(const struct linnet_ops *ops, struct test_random *r) {
  return test_attention(ops, r, LINNET_ATTENTION_LINEAR, false);
}

static double test_mapped_attention(const struct linnet_ops *ops, struct test_random *r) {
  return test_attention(ops, r, LINNET_ATTENTION_LINEAR, true);
}

static double test_lsh_attention(const struct linnet_ops *ops, struct test_random *r) {
  return test_attention(ops, r, test_below(r, 2) ? LINNET_ATTENTION_LSH : LINNET_ATTENTION_CAUSAL_LSH, false);
}

/* Each form with some chunk against the reference's state form. */
static double test_causal_linear_attention(const struct linnet_ops *ops, struct test_random *r) {
  return test_attention(ops, r, LINNET_ATTENTION_CAUSAL_LINEAR, false);
}

static double test_mapped_causal_linear_attention(const struct linnet_ops *ops, struct test_random *r) {
  return test_attention(ops, r, LINNET_ATTENTION_CAUSAL_LINEAR, true);
}

/* Both kinds, also with mapped keys. */
static double test_decaying_attention(const struct linnet_ops *ops, struct test_random *r) {
  const bool causal = test_below(r, 2), mapped = test_below(r, 2);
  return test_attention(ops, r, causal ? LINNET_ATTENTION_CAUSAL_LINEAR_DECAY : LINNET_ATTENTION_LINEAR_DECAY, mapped);
}

static double test_softmax_attention(const struct linnet_ops *ops, struct test_random *r) {
  return test_attention(ops, r, LINNET_ATTENTION_SOFTMAX, false);
}

static double test_causal_softmax_attention(const struct linnet_ops *ops, struct test_random *r) {
  return test_attention(ops, r, LINNET_ATTENTION_CAUSAL_SOFTMAX, false);
}

/* Frame by frame through a step, one sequence; the state of n frames is the beginning of that of n + 1. */
static void run_steps(const struct linnet_attention_ops *attention, const struct attention_case *c,
                      struct buffer *state, struct buffer *out) {
  for (size_t t = 0; t < c->rows; t++) {
    struct buffer now = *state;
    now.n = attention->state_size(&c->a, t);
    CHECK(now.n <= state->n, "%zu elements of state after %zu steps", now.n, t);
    attention->step(&c->a, t, c->q + t * c->a.key_ld, c->k + t * c->a.key_ld, c->v + t * c->a.value_ld, now.x,
                    out->x + t * c->a.out_ld);
  }
}

static double test_steps(const struct linnet_ops *ops, struct test_random *r, enum linnet_attention_kind kind,
                         bool mapped) {
  const struct linnet_attention_ops *tested = ops->attention[kind];
  const struct linnet_attention_ops *reference = linnet_cpu_ops("reference")->attention[kind];
  struct attention_case c = attention_case(r, kind, mapped);
  struct buffer out = buffer_poisoned(r, c.rows * c.a.out_ld), out2 = buffer_copy(r, &out);
  size_t size = tested->state_size(&c.a, c.rows);
  struct buffer state = buffer_scaled(r, size, 0), state2 = buffer_copy(r, &state);
  run_steps(reference, &c, &state, &out);
  run_steps(tested, &c, &state2, &out2);
  double error = worst(buffer_error(&out2, &out), buffer_error(&state2, &state));
  RELEASE(c.qkv, c.dout, out, out2, state, state2);
  return error;
}

static double test_softmax_steps(const struct linnet_ops *ops, struct test_random *r) {
  return test_steps(ops, r, LINNET_ATTENTION_CAUSAL_SOFTMAX, false);
}

static double test_linear_steps(const struct linnet_ops *ops, struct test_random *r) {
  return test_steps(ops, r, LINNET_ATTENTION_CAUSAL_LINEAR, test_below(r, 2));
}

static double test_linear_state(const struct linnet_ops *ops, struct test_random *r) {
  struct attention_case c = attention_case(r, LINNET_ATTENTION_LINEAR, test_below(r, 2));
  struct buffer state = buffer_random(r, linnet_linear_state_size(&c.a)), state2 = buffer_copy(r, &state);
  struct buffer out = buffer_poisoned(r, c.rows * c.a.out_ld), out2 = buffer_copy(r, &out);
  linnet_linear_accumulate_reference(&c.a, c.rows, c.k, c.v, state.x);
  ops->linear_accumulate(&c.a, c.rows, c.k, c.v, state2.x);
  double error = buffer_error(&state2, &state);
  for (size_t i = 0; i < linnet_linear_state_size(&c.a); i++)
    state.x[i] = fabsf(state.x[i]); /* normalisers away from 0 */
  linnet_linear_apply_reference(&c.a, c.rows, c.q, state.x, out.x);
  ops->linear_apply(&c.a, c.rows, c.q, state.x, out2.x);
  error = worst(error, buffer_error(&out2, &out));
  RELEASE(c.qkv, c.dout, state, state2, out, out2);
  return error;
}

/* --- LSTM */

enum { LSTM_SEQUENCES = 20 };

struct lstm_case {
  struct linnet_lstm lstm;
  struct linnet_sequence_span spans[LSTM_SEQUENCES];
  size_t offsets[LSTM_SEQUENCES + 1], rows;
  struct buffer weights, bias, gates;
};

static void lstm_case(struct test_random *r, struct lstm_case *c) {
  size_t width = 1 + some_size(r, test_below(r, 4) ? 40 : 330);
  struct linnet_pack pack = some_pack(r, c->offsets, test_below(r, 2) ? LSTM_SEQUENCES : 2, 24);
  linnet_spans_longest_first(&pack, c->spans);
  c->lstm = (struct linnet_lstm){.width = width,
                                 .ld = longer(r, width),
                                 .reverse = test_below(r, 2),
                                 .sequences = pack.sequences,
                                 .spans = c->spans};
  c->rows = c->offsets[pack.sequences];
  c->weights = buffer_scaled(r, 4 * width * width, 2 / sqrtf((float)width));
  c->bias = buffer_random(r, 4 * width);
  c->lstm.bias = c->bias.x;
  c->gates = buffer_scaled(r, c->rows * 4 * width, test_below(r, 8) ? 2 : 60);
}

/* The case's weights as a table lays them out. */
static struct buffer lstm_pack(const struct linnet_ops *ops, struct test_random *r, struct lstm_case *c,
                               enum linnet_lstm_use use) {
  struct buffer packed = buffer_poisoned(r, ops->lstm_pack_size(c->lstm.width, use));
  ops->lstm_pack(c->lstm.width, use, c->weights.x, packed.x);
  CHECK(guards_hold(&packed), "%s: lstm_pack of %zu units", ops->name, c->lstm.width);
  c->lstm.weights = packed.x;
  return packed;
}

static struct buffer lstm_work(struct test_random *r, const struct linnet_lstm *l) {
  return buffer_poisoned(r, linnet_lstm_work(l->width, l->sequences));
}

/* The longest sequence alone, in two pieces, must give the same bits. */
static double lstm_pieces_difference(const struct linnet_ops *ops, struct test_random *r, const struct lstm_case *c,
                                     const struct buffer *state, const struct buffer *whole) {
  struct linnet_sequence_span all = c->spans[0];
  size_t width = c->lstm.width, cut = test_below(r, all.frames + 1);
  struct linnet_sequence_span piece[2] = {{all.first, cut}, {all.first + cut, all.frames - cut}};
  struct buffer gates = buffer_copy(r, &c->gates), own = buffer_poisoned(r, 2 * width), work = lstm_work(r, &c->lstm);
  struct buffer h = buffer_copy(r, whole);
  memcpy(own.x, state->x, width * sizeof(float));
  memcpy(own.x + width, state->x + c->lstm.sequences * width, width * sizeof(float));
  for (size_t i = 0; i < all.frames; i++)
    memset(h.x + (all.first + i) * c->lstm.ld, 0, width * sizeof(float));
  for (size_t i = 0; i < 2; i++) {
    struct linnet_lstm one = c->lstm;
    one.sequences = 1, one.spans = &piece[one.reverse ? 1 - i : i];
    ops->lstm_forward(&one, gates.x, NULL, own.x, h.x, work.x);
  }
  double error = worst(buffer_error(&h, whole), guards_hold(&own) && guards_hold(&work) ? 0 : INFINITY);
  RELEASE(gates, own, work, h);
  return error;
}

static double test_lstm_forward(const struct linnet_ops *ops, struct test_random *r) {
  struct lstm_case c;
  lstm_case(r, &c);
  size_t width = c.lstm.width, n = 2 * c.lstm.sequences * width;
  struct buffer gates = buffer_copy(r, &c.gates), gates2 = buffer_copy(r, &c.gates);
  struct buffer cells = buffer_poisoned(r, c.rows * width), cells2 = buffer_copy(r, &cells);
  struct buffer h = buffer_poisoned(r, c.rows * c.lstm.ld), h2 = buffer_copy(r, &h);
  struct buffer state = buffer_random(r, n), state1 = buffer_copy(r, &state), state2 = buffer_copy(r, &state);
  struct buffer work = lstm_work(r, &c.lstm);
  c.lstm.weights = c.weights.x;
  linnet_lstm_forward_reference(&c.lstm, gates.x, cells.x, state1.x, h.x, work.x);
  struct buffer packed = lstm_pack(ops, r, &c, LINNET_LSTM_FORWARD);
  ops->lstm_forward(&c.lstm, gates2.x, cells2.x, state2.x, h2.x, work.x);
  double error = worst(buffer_error(&gates2, &gates), buffer_error(&cells2, &cells));
  error = worst(error, worst(buffer_error(&h2, &h), buffer_error(&state2, &state1)));
  error = worst(error, guards_hold(&work) ? 0 : INFINITY);
  if (c.lstm.sequences > 0)
    CHECK(lstm_pieces_difference(ops, r, &c, &state, &h2) == 0, "%s: lstm of %zu units in pieces differs", ops->name,
          width);
  RELEASE(c.weights, c.bias, c.gates, gates, gates2, cells, cells2, h, h2, state, state1, state2, work, packed);
  return error;
}

static double test_lstm_backward(const struct linnet_ops *ops, struct test_random *r) {
  struct lstm_case c;
  lstm_case(r, &c);
  size_t width = c.lstm.width;
  struct buffer cells = buffer_poisoned(r, c.rows * width), h = buffer_poisoned(r, c.rows * c.lstm.ld);
  struct buffer state = buffer_scaled(r, 2 * c.lstm.sequences * width, 0), work = lstm_work(r, &c.lstm);
  struct buffer dh = buffer_random(r, c.rows * c.lstm.ld);
  c.lstm.weights = c.weights.x;
  linnet_lstm_forward_reference(&c.lstm, c.gates.x, cells.x, state.x, h.x, work.x);
  struct buffer gates = buffer_copy(r, &c.gates);
  linnet_lstm_backward_reference(&c.lstm, cells.x, dh.x, c.gates.x, work.x);
  struct buffer packed = lstm_pack(ops, r, &c, LINNET_LSTM_BACKWARD);
  ops->lstm_backward(&c.lstm, cells.x, dh.x, gates.x, work.x);
  double error = worst(buffer_error(&gates, &c.gates), guards_hold(&work) ? 0 : INFINITY);
  RELEASE(c.weights, c.bias, c.gates, gates, cells, h, state, dh, work, packed);
  return error;
}

/* --- Feature maps */

static double test_feature_map(const struct linnet_ops *ops, struct test_random *r) {
  static const enum linnet_feature_map maps[] = {LINNET_MAP_RELU, LINNET_MAP_POLYNOMIAL, LINNET_MAP_FOURIER,
                                                 LINNET_MAP_POSITIVE};
  struct linnet_feature_map_terms m = {.map = maps[test_below(r, 4)], .heads = 1 + test_below(r, 4)};
  size_t rows = some_size(r, 300);
  m.width = 1 + some_size(r, 90);
  m.features = linnet_feature_map_random(m.map) ? 1 + some_size(r, 300) : 0;
  size_t size = linnet_feature_map_size(m.map, m.width, m.features);
  m.x_ld = longer(r, m.heads * m.width), m.phi_ld = longer(r, m.heads * size);
  /* Long vectors: large angles, exponents that are capped. */
  struct buffer x = buffer_scaled(r, rows * m.x_ld, test_below(r, 3) ? 2 : 30);
  struct buffer w = buffer_scaled(r, m.features * m.width, 2), dphi = buffer_random(r, rows * m.phi_ld);
  struct buffer phi = buffer_poisoned(r, dphi.n), phi2 = buffer_copy(r, &phi);
  struct buffer dx = buffer_poisoned(r, x.n), dx2 = buffer_copy(r, &dx);
  struct buffer work = buffer_poisoned(r, ops->feature_map_work);
  m.directions = w.x;
  linnet_feature_map_forward_reference(&m, rows, x.x, phi.x, NULL);
  linnet_feature_map_backward_reference(&m, rows, x.x, phi.x, dphi.x, dx.x, NULL);
  ops->feature_map_forward(&m, rows, x.x, phi2.x, work.x);
  double error = buffer_error(&phi2, &phi);
  ops->feature_map_backward(&m, rows, x.x, phi.x, dphi.x, dx2.x, work.x);
  error = worst(error, buffer_error(&dx2, &dx));
  error = worst(error, guards_hold(&work) ? 0 : INFINITY);
  RELEASE(x, w, dphi, phi, phi2, dx, dx2, work);
  return error;
}

/* --- Row by row */

/* Everything that layer norm reads and writes. */
struct norm_buffers {
  struct buffer x, gain, bias, y, mean, rstd, dy, residual, dx, dgain, dbias;
};

static struct linnet_layernorm layernorm_of(size_t rows, size_t width, const struct norm_buffers *b, bool added) {
  return (struct linnet_layernorm){.rows = rows,
                                   .width = width,
                                   .x = b->x.x,
                                   .gain = b->gain.x,
                                   .bias = b->bias.x,
                                   .y = b->y.x,
                                   .mean = b->mean.x,
                                   .rstd = b->rstd.x,
                                   .dy = b->dy.x,
                                   .residual = added ? b->residual.x : NULL,
                                   .dx = b->dx.x,
                                   .dgain_add = b->dgain.x,
                                   .dbias_add = b->dbias.x};
}

static struct norm_buffers norm_inputs(struct test_random *r, size_t rows, size_t width) {
  size_t n = rows * width;
  return (struct norm_buffers){.x = buffer_scaled(r, n, 3),
                               .gain = buffer_random(r, width),
                               .bias = buffer_random(r, width),
                               .y = buffer_poisoned(r, n),
                               .mean = buffer_poisoned(r, rows),
                               .rstd = buffer_poisoned(r, rows),
                               .dy = buffer_random(r, n),
                               .residual = buffer_random(r, n),
                               .dx = buffer_poisoned(r, n),
                               .dgain = buffer_random(r, width),
                               .dbias = buffer_random(r, width)};
}

/* The same inputs, but separate outputs. */
static struct norm_buffers norm_outputs(struct test_random *r, const struct norm_buffers *b) {
  struct norm_buffers other = *b;
  other.y = buffer_poisoned(r, b->y.n), other.dx = buffer_copy(r, &b->dy);
  other.mean = buffer_poisoned(r, b->mean.n), other.rstd = buffer_poisoned(r, b->rstd.n);
  other.dgain = buffer_copy(r, &b->dgain), other.dbias = buffer_copy(r, &b->dbias);
  return other;
}

static double norm_error(const struct norm_buffers *tested, const struct norm_buffers *b) {
  double error = worst(buffer_error(&tested->y, &b->y), buffer_error(&tested->dx, &b->dx));
  error = worst(error, worst(buffer_error(&tested->mean, &b->mean), buffer_error(&tested->rstd, &b->rstd)));
  return worst(error, worst(buffer_error(&tested->dgain, &b->dgain), buffer_error(&tested->dbias, &b->dbias)));
}

/* Backward in place of dy or, if a gradient is added, in place of that gradient. */
static double test_layernorm(const struct linnet_ops *ops, struct test_random *r) {
  size_t rows = some_size(r, 70), width = 1 + some_size(r, 400);
  const bool added = test_below(r, 2);
  struct norm_buffers b = norm_inputs(r, rows, width), b2 = norm_outputs(r, &b);
  struct buffer y3 = buffer_copy(r, &b.x);
  struct linnet_layernorm n = layernorm_of(rows, width, &b, added), n2 = layernorm_of(rows, width, &b2, added), n3 = n2;
  linnet_layernorm_forward_reference(&n);
  ops->layernorm_forward(&n2);
  n3.x = n3.y = y3.x, n3.mean = n3.rstd = NULL;
  ops->layernorm_forward(&n3);
  linnet_layernorm_backward_reference(&n);
  n2.mean = b.mean.x, n2.rstd = b.rstd.x, n2.dy = n2.dx;
  ops->layernorm_backward(&n2);
  double error = worst(norm_error(&b2, &b), buffer_error(&y3, &b.y));
  if (added) {
    n2.dy = b.dy.x, n2.dx = b.residual.x;
    ops->layernorm_backward(&n2);
    error = worst(error, buffer_error(&b.residual, &b.dx));
  }
  RELEASE(b2.y, b2.mean, b2.rstd, b2.dx, b2.dgain, b2.dbias, y3);
  RELEASE(b.x, b.gain, b.bias, b.y, b.mean, b.rstd, b.dy, b.residual, b.dx, b.dgain, b.dbias);
  return error;
}

static double test_log_softmax(const struct linnet_ops *ops, struct test_random *r) {
  size_t rows = some_size(r, 70), width = 1 + some_size(r, 400), n = rows * width;
  struct buffer x = buffer_scaled(r, n, test_below(r, 2) ? 3 : 200), y = buffer_poisoned(r, n);
  for (size_t i = 0; i < n; i++)
    if (i % width != 0 && test_below(r, 10) == 0)
      x.x[i] = -INFINITY;
  struct buffer y2 = buffer_poisoned(r, n), y3 = buffer_copy(r, &x);
  linnet_log_softmax_reference(rows, width, x.x, y.x);
  ops->log_softmax(rows, width, x.x, y2.x);
  ops->log_softmax(rows, width, y3.x, y3.x);
  double error = worst(buffer_error(&y2, &y), buffer_error(&y3, &y));
  RELEASE(x, y, y2, y3);
  return error;
}

static double test_glu(const struct linnet_ops *ops, struct test_random *r) {
  size_t rows = some_size(r, 70), width = some_size(r, 200), n = rows * width;
  struct buffer x = buffer_scaled(r, 2 * n, test_below(r, 2) ? 3 : 120), dy = buffer_random(r, n);
  struct buffer y = buffer_poisoned(r, n), y2 = buffer_poisoned(r, n);
  struct buffer dx = buffer_poisoned(r, 2 * n), dx2 = buffer_poisoned(r, 2 * n);
  linnet_glu_forward_reference(rows, width, x.x, y.x);
  ops->glu_forward(rows, width, x.x, y2.x);
  linnet_glu_backward_reference(rows, width, x.x, dy.x, dx.x);
  ops->glu_backward(rows, width, x.x, dy.x, dx2.x);
  double error = worst(buffer_error(&y2, &y), buffer_error(&dx2, &dx));
  RELEASE(x, dy, y, y2, dx, dx2);
  return error;
}

/* --- Element by element */

static double test_activation(const struct linnet_ops *ops, struct test_random *r) {
  static const float scales[] = {1, 6, 30, 1000};
  enum linnet_activation f = (enum linnet_activation)test_below(r, 4);
  size_t n = some_size(r, 2000);
  struct buffer x = buffer_scaled(r, n, scales[test_below(r, 4)]), dy = buffer_random(r, n);
  struct buffer y = buffer_poisoned(r, n), y2 = buffer_poisoned(r, n), y3 = buffer_copy(r, &x);
  struct buffer dx = buffer_poisoned(r, n), dx2 = buffer_poisoned(r, n), dx3 = buffer_copy(r, &dy);
  linnet_activation_forward_reference(f, n, x.x, y.x);
  ops->activation_forward(f, n, x.x, y2.x);
  ops->activation_forward(f, n, y3.x, y3.x);
  float scale = test_below(r, 2) ? 1 : 1.25f;
  linnet_activation_backward_reference(f, n, scale, x.x, dy.x, dx.x);
  ops->activation_backward(f, n, scale, x.x, dy.x, dx2.x);
  ops->activation_backward(f, n, scale, x.x, dx3.x, dx3.x);
  double error = worst(buffer_error(&y2, &y), buffer_error(&y3, &y));
  error = worst(error, worst(buffer_error(&dx2, &dx), buffer_error(&dx3, &dx)));
  RELEASE(x, dy, y, y2, y3, dx, dx2, dx3);
  return error;
}

static double test_dropout(const struct linnet_ops *ops, struct test_random *r) {
  static const double rates[] = {0, 1e-6, 0.1, 0.5, 0.9};
  struct linnet_dropout d = {.rate = rates[test_below(r, 5)],
                             .seed = test_next(r),
                             .step = (uint32_t)test_next(r),
                             .site = (uint32_t)test_next(r),
                             .row = test_next(r) >> 20};
  size_t rows = some_size(r, 70), width = some_size(r, 200), n = rows * width;
  struct buffer x = buffer_random(r, n), residual = buffer_random(r, n);
  const float *added = test_below(r, 2) ? residual.x : NULL;
  struct buffer y = buffer_poisoned(r, n), y2 = buffer_poisoned(r, n), y3 = buffer_copy(r, &x);
  linnet_dropout_reference(&d, rows, width, x.x, added, y.x);
  ops->dropout(&d, rows, width, x.x, added, y2.x);
  ops->dropout(&d, rows, width, y3.x, added, y3.x);
  double error = worst(buffer_error(&y2, &y), buffer_error(&y3, &y));
  if (added) {
    ops->dropout(&d, rows, width, x.x, residual.x, residual.x);
    error = worst(error, buffer_error(&residual, &y));
  }
  RELEASE(x, residual, y, y2, y3);
  return error;
}

static double test_update(const struct linnet_ops *ops, struct test_random *r) {
  size_t n = some_size(r, 2000);
  struct linnet_update u;
  linnet_update_terms(LINNET_RADAM, 1e-3, 1 + test_below(r, 12), &u);
  u.gradient_scale = 0.3;
  struct buffer p = buffer_random(r, n), g = buffer_random(r, n), m = buffer_random(r, n), v = buffer_random(r, n);
  for (size_t i = 0; i < n; i++)
    v.x[i] = fabsf(v.x[i]);
  struct buffer p2 = buffer_copy(r, &p), m2 = buffer_copy(r, &m), v2 = buffer_copy(r, &v);
  linnet_update_reference(&u, n, p.x, g.x, m.x, v.x);
  ops->update(&u, n, p2.x, g.x, m2.x, v2.x);
  double error = worst(buffer_error(&p2, &p), worst(buffer_error(&m2, &m), buffer_error(&v2, &v)));
  RELEASE(p, g, m, v, p2, m2, v2);
  return error;
}

static double test_sums(const struct linnet_ops *ops, struct test_random *r) {
  size_t rows = some_size(r, 200), width = some_size(r, 200), n = rows * width;
  struct buffer x = buffer_random(r, n), y = buffer_random(r, n), y2 = buffer_copy(r, &y);
  struct buffer sums = buffer_random(r, width), sums2 = buffer_copy(r, &sums);
  double expected = linnet_sum_of_squares_reference(n, x.x);
  double error = fabs(ops->sum_of_squares(n, x.x) - expected) / fmax(1, expected);
  linnet_add_reference(n, x.x, y.x);
  ops->add(n, x.x, y2.x);
  linnet_average_reference(n, 0.01, x.x, y.x);
  ops->average(n, 0.01, x.x, y2.x);
  linnet_column_sum_reference(rows, width, x.x, sums.x);
  ops->column_sum(rows, width, x.x, sums2.x);
  error = worst(error, worst(buffer_error(&y2, &y), buffer_error(&sums2, &sums)));
  RELEASE(x, y, y2, sums, sums2);
  return error;
}

/* --- Convolution */

static double test_conv(const struct linnet_ops *ops, struct test_random *r) {
  struct linnet_conv c = {1 + some_size(r, 200), test_below(r, 3) ? 15 : 1 + 2 * test_below(r, 10), 0};
  c.left = test_below(r, 2) ? c.kernel / 2 : test_below(r, c.kernel);
  size_t offsets[6];
  struct linnet_pack p = some_pack(r, offsets, 4, test_below(r, 2) ? 30 : 600);
  size_t n = offsets[p.sequences] * c.channels, taps = c.kernel * c.channels;
  struct buffer x = buffer_random(r, n), w = buffer_random(r, taps), bias = buffer_random(r, c.channels);
  struct buffer y = buffer_poisoned(r, n), y2 = buffer_poisoned(r, n), dy = buffer_random(r, n);
  struct buffer dx = buffer_poisoned(r, n), dx2 = buffer_poisoned(r, n), dw = buffer_random(r, taps);
  struct buffer dw2 = buffer_copy(r, &dw), dbias = buffer_random(r, c.channels), dbias2 = buffer_copy(r, &dbias);
  linnet_conv_forward_reference(&c, &p, x.x, w.x, bias.x, y.x);
  ops->conv_forward(&c, &p, x.x, w.x, bias.x, y2.x);
  const struct linnet_conv_gradients expected = {x.x, dy.x, w.x, dx.x, dw.x, dbias.x};
  const struct linnet_conv_gradients found = {x.x, dy.x, w.x, dx2.x, dw2.x, dbias2.x};
  linnet_conv_backward_reference(&c, &p, &expected);
  ops->conv_backward(&c, &p, &found);
  double error = worst(buffer_error(&y2, &y), buffer_error(&dx2, &dx));
  error = worst(error, worst(buffer_error(&dw2, &dw), buffer_error(&dbias2, &dbias)));
  RELEASE(x, w, bias, y, y2, dy, dx, dx2, dw, dw2, dbias, dbias2);
  return error;
}

/* In a window no tap reads outside: the rows of a convolution without left context, but for the last ones. */
static double test_conv_window(const struct linnet_ops *ops, struct test_random *r) {
  struct linnet_conv c = {1 + some_size(r, 200), test_below(r, 3) ? 15 : 1 + 2 * test_below(r, 10), 0};
  size_t rows = 1 + test_below(r, test_below(r, 2) ? 2 : 200), n = (rows + c.kernel - 1) * c.channels;
  size_t offsets[2] = {0, rows + c.kernel - 1};
  struct linnet_pack p = {1, offsets};
  struct buffer x = buffer_random(r, n), w = buffer_random(r, c.kernel * c.channels);
  struct buffer bias = buffer_random(r, c.channels), all = buffer_poisoned(r, n);
  struct buffer y = buffer_poisoned(r, rows * c.channels), y2 = buffer_poisoned(r, rows * c.channels);
  linnet_conv_forward_reference(&c, &p, x.x, w.x, bias.x, all.x);
  memcpy(y.x, all.x, rows * c.channels * sizeof *y.x);
  c.left = test_below(r, c.kernel);
  ops->conv_window(&c, rows, x.x, w.x, bias.x, y2.x);
  double error = buffer_error(&y2, &y);
  RELEASE(x, w, bias, all, y, y2);
  return error;
}

/* --- All of them */

static const struct {
  const char *name;
  double (*test)(const struct linnet_ops *ops, struct test_random *r);
  double bound;
  size_t cases;
} slots[] = {
    {"gemm", test_gemm, 1e-5, 400},
    {"ctc", test_ctc, 1e-5, 400},
    {"consistency", test_consistency, 1e-5, 200},
    {"distillation", test_distillation, 1e-5, 100},
    {"frame_targets", test_frame_targets, 1e-5, 100},
    {"denominator", test_denominator, 1e-5, 100},
    {"layernorm", test_layernorm, 5e-5, 200}, /* narrow rows with little variance magnify rounding */
    {"log_softmax", test_log_softmax, 1e-6, 200},
    {"glu", test_glu, 5e-6, 200},
    {"activation", test_activation, 1e-6, 400},
    {"dropout", test_dropout, 1e-7, 400},
    {"update", test_update, 1e-6, 200},
    {"sums", test_sums, 3e-6, 200},
    {"conv", test_conv, 5e-6, 200},
    {"conv_window", test_conv_window, 5e-6, 200},
    {"linear_attention", test_linear_attention, 1e-5, 100},
    {"mapped_attention", test_mapped_attention, 2e-4, 100}, /* signed features cancel in sums and normalisers */
    {"lsh_attention", test_lsh_attention, 1e-5, 100},
    {"causal_linear_attention", test_causal_linear_attention, 1e-5, 150},
    {"mapped_causal_linear", test_mapped_causal_linear_attention, 2e-4, 60},
    {"decaying_attention", test_decaying_attention, 1e-5, 100},
    {"linear_steps", test_linear_steps, 1e-5, 50},
    {"linear_state", test_linear_state, 1e-5, 100},
    {"lstm_forward", test_lstm_forward, 5e-6, 100},
    {"lstm_backward", test_lstm_backward, 1e-5, 100},
    {"softmax_attention", test_softmax_attention, 1e-5, 100},
    {"causal_softmax", test_causal_softmax_attention, 1e-5, 100},
    {"softmax_steps", test_softmax_steps, 1e-5, 30},
    {"feature_map", test_feature_map, 1e-4, 200}, /* errors of u = W y are in exponents and angles */
};

/* Products of less than float32 round the state of an LSTM at every step. */
static double bound_of(const struct linnet_ops *ops, size_t slot) {
  static const double bounds[] = {[LINNET_BFLOAT16] = 3e-2, [LINNET_INT8] = 4e-2};
  bool recurrent = slots[slot].test == test_lstm_forward || slots[slot].test == test_lstm_backward;
  return recurrent && ops->precision != LINNET_FLOAT32 ? bounds[ops->precision] : slots[slot].bound;
}

static void test_slots(const struct linnet_ops *ops, uint64_t seed) {
  for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
    double error = 0, bound = bound_of(ops, i);
    const size_t cases = 5 * test_cases(slots[i].cases / 5); /* these are quick */
    for (size_t j = 0; j < cases; j++) {
      uint64_t case_seed = seed + j;
      double e = slots[i].test(ops, &(struct test_random){case_seed});
      CHECK(e <= bound, "%s: %s: error %g, bound %g, seed %llu", ops->name, slots[i].name, e, bound,
            (unsigned long long)case_seed);
      error = worst(error, e);
    }
    printf("%-11s %-22s %4zu cases  error %.1e  bound %.0e\n", ops->name, slots[i].name, cases, error, bound);
  }
}

/* Every activation keeps NaN, so that a network that is not finite is noticed. */
static void test_nan(const struct linnet_ops *ops) {
  for (int f = LINNET_IDENTITY; f <= LINNET_SILU; f++) {
    float x[20], y[20];
    for (size_t i = 0; i < 20; i++)
      x[i] = NAN;
    ops->activation_forward((enum linnet_activation)f, 20, x, y);
    for (size_t i = 0; i < 20; i++)
      CHECK(isnan(y[i]), "%s: activation %d of NaN, element %zu: %g", ops->name, f, i, (double)y[i]);
  }
}

int main(int argc, char **argv) {
  uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  printf("seed %llu\n", (unsigned long long)seed);
  for (size_t i = 0; i < TEST_TABLES; i++) {
    const struct linnet_ops *ops = test_table(i);
    if (ops)
      test_nan(ops);
    if (ops && i > 0) /* not the reference */
      test_slots(ops, seed);
  }
  return test_result();
}
