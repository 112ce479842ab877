/* Multi-head attention: heads = attention(x Wq, x Wk, x Wv), y = heads Wo. The three input maps are one product: their
 * weights lie side by side as (3 D, D). */
#include "model/block.h"

static struct linnet_attention_shape shape_of(const struct linnet_pass *pass) {
  size_t heads = pass->network->config->heads;
  return (struct linnet_attention_shape){.heads = heads, .width = pass->width / heads, .ld = 3 * pass->width};
}

static struct linnet_linear input_map(const struct linnet_pass *pass, const struct linnet_layer_offsets *o) {
  return (struct linnet_linear){pass->width, 3 * pass->width, o->qkv, o->qkv_bias};
}

static struct linnet_linear output_map(const struct linnet_pass *pass, const struct linnet_layer_offsets *o) {
  return (struct linnet_linear){pass->width, pass->width, o->attention_output, o->attention_output_bias};
}

static void plan(struct linnet_pass *pass, struct linnet_sublayer *s, struct linnet_arena *arena) {
  struct linnet_attention_shape shape = shape_of(pass);
  struct linnet_attention_saved *saved = &s->saved.attention;
  saved->qkv = linnet_take_reals(arena, pass->frames, 3 * pass->width);
  saved->state = linnet_take_reals(arena, pass->shard->pack.sequences, linnet_attention_state_size(&shape));
  saved->heads = linnet_take_reals(arena, pass->frames, pass->width);
}

static void forward(struct linnet_pass *pass, struct linnet_sublayer *s, const real *x, real *y) {
  struct linnet_attention_shape shape = shape_of(pass);
  struct linnet_attention_saved *saved = &s->saved.attention;
  struct linnet_linear in = input_map(pass, s->offsets), out = output_map(pass, s->offsets);
  linnet_linear_forward(pass, &in, x, LINNET_IDENTITY, saved->qkv);
  const real *q = saved->qkv, *k = q + pass->width, *v = k + pass->width;
  pass->network->ops->attention_forward(&shape, &pass->shard->pack, q, k, v, saved->state, saved->heads);
  linnet_linear_forward(pass, &out, saved->heads, LINNET_IDENTITY, y);
}

static void backward(struct linnet_pass *pass, struct linnet_sublayer *s, const real *x, real *dy, real *dx) {
  struct linnet_attention_shape shape = shape_of(pass);
  struct linnet_attention_saved *saved = &s->saved.attention;
  struct linnet_linear in = input_map(pass, s->offsets), out = output_map(pass, s->offsets);
  real *dheads = pass->narrow2, *dqkv = pass->wide;
  linnet_linear_backward(pass, &out, saved->heads, dy, dheads);
  const real *q = saved->qkv, *k = q + pass->width, *v = k + pass->width;
  pass->network->ops->attention_backward(&shape, &pass->shard->pack, q, k, v, saved->state, saved->heads, dheads, dqkv,
                                         dqkv + pass->width, dqkv + 2 * pass->width, pass->work);
  linnet_linear_backward(pass, &in, x, dqkv, dx);
}

const struct linnet_block linnet_attention_block = {plan, forward, backward};
