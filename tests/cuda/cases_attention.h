/* Cases of attention, forward and backward. */
#ifndef LINNET_TEST_CASES_ATTENTION_H
#define LINNET_TEST_CASES_ATTENTION_H

#include "case_sizes.h"
#include "ops/attention.h"

/* A shape of attention, its operands side by side, with or without columns between rows. */
struct attention_case {
  struct linnet_attention a;
  struct linnet_pack pack;
  size_t offsets[MAX_SEQUENCES + 1], rows;
  struct buffer qkv, dout;
  size_t k, v; /* first columns */
};

static void attention_case(struct mirrors *m, enum linnet_attention_kind kind, bool mapped, size_t longest,
                           struct attention_case *c) {
  struct test_random *r = &m->random;
  struct linnet_attention *a = &c->a;
  *a = (struct linnet_attention){.heads = 1 + test_below(r, 3), .width = 32};
  if (test_below(r, 2))
    a->width = 1 + some_size(r, 70);
  a->key_width = a->width;
  size_t maps = linnet_attention_traits[kind].shared_key ? 2 : 3;
  if (mapped) {
    a->map = LINNET_MAP_IDENTITY;
    a->key_width = 1 + some_size(r, 150);
    a->min_normaliser = test_below(r, 2) ? 0 : 1;
  }
  size_t keys = a->heads * a->key_width;
  a->out_ld = a->heads * a->width + (test_below(r, 2) ? test_below(r, 5) : 0);
  a->key_ld = a->value_ld = a->heads * a->width + (maps - 1) * keys + (test_below(r, 2) ? test_below(r, 5) : 0);
  a->lsh = (struct linnet_lsh){.rounds = 1 + test_below(r, 4),
                               .buckets = 2 + 2 * test_below(r, test_below(r, 2) ? 4 : 64),
                               .chunk = test_below(r, 8) ? 16 + test_below(r, 100) : 1 + some_size(r, 15),
                               .seed = test_next(r),
                               .step = 1,
                               .site = 2};
  c->pack = some_pack(r, c->offsets, longest);
  c->rows = c->offsets[c->pack.sequences];
  c->qkv = activations_scaled(m, c->rows * a->key_ld, test_below(r, 4) ? 1 : 5);
  c->dout = activations_random(m, c->rows * a->out_ld);
  const float length = 1 / sqrtf((float)a->key_width);
  for (size_t i = 0; i < c->qkv.n && a->map == LINNET_MAP_IDENTITY; i++)
    c->qkv.x[i] = a->min_normaliser > 0 ? c->qkv.x[i] * length : fabsf(c->qkv.x[i]) + 0.5f;
  round_activations(m, &c->qkv);
  c->k = (maps - 2) * keys, c->v = (maps - 1) * keys;
}

static void run_reference(enum linnet_attention_kind kind, const struct attention_case *c, const struct buffer *qkv,
                          float *out, float *d) {
  const struct linnet_attention_ops *ops = linnet_cpu_ops("reference")->attention[kind];
  struct linnet_attention a = c->a;
  a.form = LINNET_CAUSAL_LINEAR_STATE;
  void *saved = malloc(ops->saved_bytes(&a, c->rows, c->pack.sequences) + 64);
  void *work = malloc(ops->work_bytes(&a, c->rows) + 64);
  const float *q = qkv->x;
  ops->forward(&(struct linnet_attention_call){.attention = &a,
                                               .pack = &c->pack,
                                               .q = q,
                                               .k = q + c->k,
                                               .v = q + c->v,
                                               .saved = saved,
                                               .out = out,
                                               .work = work});
  ops->backward(&(struct linnet_attention_call){.attention = &a,
                                                .pack = &c->pack,
                                                .q = q,
                                                .k = q + c->k,
                                                .v = q + c->v,
                                                .saved = saved,
                                                .out = out,
                                                .work = work,
                                                .dout = c->dout.x,
                                                .dq = d,
                                                .dk = d + c->k,
                                                .dv = d + c->v});
  free(saved), free(work);
}

static void note_attention_condition(struct mirrors *m, enum linnet_attention_kind kind, const struct attention_case *c,
                                     const struct buffer *out, const struct buffer *gradient) {
  struct test_random random = {c->rows};
  if (linnet_attention_traits[kind].shared_key)
    return; /* LSH: an ulp may move a frame to another bucket */
  struct buffer nudged = buffer_nudged(&c->qkv), out2 = buffer_poisoned(&random, out->n);
  struct buffer gradient2 = buffer_poisoned(&random, gradient->n);
  run_reference(kind, c, &nudged, out2.x, gradient2.x);
  note_condition(m, &out2, out);
  note_condition(m, &gradient2, gradient);
  RELEASE(nudged, out2, gradient2);
}

static double test_attention(struct mirrors *m, enum linnet_attention_kind kind, bool mapped, size_t longest) {
  const struct linnet_cuda_attention_ops *ops = linnet_cuda_attention[kind];
  struct test_random *r = &m->random;
  struct attention_case c;
  attention_case(m, kind, mapped, longest, &c);
  struct buffer out = buffer_poisoned(r, c.rows * c.a.out_ld), out2 = buffer_copy(r, &out);
  struct buffer gradient = buffer_poisoned(r, c.qkv.n), gradient2 = buffer_copy(r, &gradient);
  run_reference(kind, &c, &c.qkv, out.x, gradient.x);
  note_attention_condition(m, kind, &c, &out, &gradient);
  struct buffer saved = buffer_poisoned(r, ops->saved_bytes(&c.a, c.rows, c.pack.sequences) / sizeof(float));
  struct buffer work = buffer_poisoned(r, ops->work_bytes(&c.a, c.rows, c.pack.sequences) / sizeof(float));
  saved.x = saved.memory + GUARD, work.x = work.memory + GUARD;
  struct linnet_cuda_pack pack = mirror_pack(m, &c.pack);
  void *q = mirror_activations(m, &c.qkv), *mirrored = mirror(m, &saved), *workspace = mirror(m, &work);
  void *k = linnet_activation_at(m->device, q, c.k), *v = linnet_activation_at(m->device, q, c.v);
  void *y = mirror_activations(m, &out2), *dy = mirror_activations(m, &c.dout);
  void *d = mirror_activations(m, &gradient2);
  const struct linnet_attention_call call = {.attention = &c.a,
                                             .pack = &c.pack,
                                             .q = q,
                                             .k = k,
                                             .v = v,
                                             .saved = mirrored,
                                             .out = y,
                                             .work = workspace,
                                             .dout = dy,
                                             .dq = d,
                                             .dk = linnet_activation_at(m->device, d, c.k),
                                             .dv = linnet_activation_at(m->device, d, c.v)};
  ops->forward(m->device, &call, &pack);
  ops->backward(m->device, &call, &pack);
  mirrors_return(m);
  double error = worst(buffer_error(&out2, &out), buffer_error(&gradient2, &gradient));
  error = worst(error, guards_hold(&saved) && guards_hold(&work) ? 0 : INFINITY);
  RELEASE(c.qkv, c.dout, out, out2, gradient, gradient2, saved, work);
  return error;
}

static double test_linear_attention(struct mirrors *m) {
  return test_attention(m, LINNET_ATTENTION_LINEAR, false, 3000);
}

static double test_mapped_attention(struct mirrors *m) {
  return test_attention(m, LINNET_ATTENTION_LINEAR, true, 300);
}

static double test_causal_linear_attention(struct mirrors *m) {
  return test_attention(m, LINNET_ATTENTION_CAUSAL_LINEAR, false, 3000);
}

static double test_mapped_causal(struct mirrors *m) {
  return test_attention(m, LINNET_ATTENTION_CAUSAL_LINEAR, true, 300);
}

static double test_softmax_attention(struct mirrors *m) {
  return test_attention(m, LINNET_ATTENTION_SOFTMAX, false, 700);
}

static double test_causal_softmax(struct mirrors *m) {
  return test_attention(m, LINNET_ATTENTION_CAUSAL_SOFTMAX, false, 700);
}

static double test_lsh_attention(struct mirrors *m) {
  bool causal = test_below(&m->random, 2);
  return test_attention(m, causal ? LINNET_ATTENTION_CAUSAL_LSH : LINNET_ATTENTION_LSH, false, 150);
}

#endif
