/* Multi-head attention: heads = attention(x Wq, x Wk, x Wv), y = heads Wo. The first three linear layers are one
 * product: their weights are adjacent, as (3 D, D), or (2 D, D) without keys. A feature map that is separate from
 * attention is applied to queries and keys first. */
#include "model/layer.h"
#include "model/training/block.h"

/* The columns where keys and values begin in a row. */
struct columns {
  size_t key, value;
};

static struct columns columns_of(const struct linnet_sublayer_pass *s) {
  return (struct columns){s->sublayer->last.in, s->sublayer->first.out - s->sublayer->last.in};
}

static struct linnet_attention attention_of(const struct linnet_pass *pass, const struct linnet_sublayer_pass *s) {
  struct linnet_attention a = linnet_layer_attention(pass->network->config, s->sublayer->layer);
  a.lsh.seed = pass->shard->seed;
  a.lsh.step = pass->shard->step;
  return a;
}

/* Queries and keys in the form that attention takes. */
struct keys {
  void *q, *k;
};

static struct keys keys_of(const struct linnet_pass *pass, const struct linnet_sublayer_pass *s, void *qkv, void *phi) {
  const struct linnet_device *device = pass->network->device;
  if (phi)
    return (struct keys){
        phi, linnet_activation_at(device, phi, linnet_mapped_columns(pass->network->config, s->sublayer->layer) / 2)};
  return (struct keys){qkv, linnet_activation_at(device, qkv, columns_of(s).key)};
}

static struct linnet_feature_map_terms map_of(const struct linnet_pass *pass, const struct linnet_sublayer_pass *s) {
  return linnet_sublayer_feature_map(pass->network->config, s->sublayer, pass->weights);
}

static void map_forward(const struct linnet_pass *pass, const struct linnet_sublayer_pass *s) {
  const struct linnet_feature_map_terms map = map_of(pass, s);
  struct linnet_device *device = pass->network->device;
  const struct keys x = keys_of(pass, s, s->saved.attention.qkv, NULL),
                    phi = keys_of(pass, s, NULL, s->saved.attention.phi);
  device->ops->feature_map_forward(device, &map, pass->frames, x.q, phi.q, pass->work);
  device->ops->feature_map_forward(device, &map, pass->frames, x.k, phi.k, pass->work);
}

static void map_backward(const struct linnet_pass *pass, const struct linnet_sublayer_pass *s, void *dphi, void *dqkv) {
  const struct linnet_feature_map_terms map = map_of(pass, s);
  struct linnet_device *device = pass->network->device;
  const struct keys x = keys_of(pass, s, s->saved.attention.qkv, NULL),
                    phi = keys_of(pass, s, NULL, s->saved.attention.phi);
  const struct keys dx = keys_of(pass, s, dqkv, NULL), d = keys_of(pass, s, NULL, dphi);
  device->ops->feature_map_backward(device, &map, pass->frames, x.q, phi.q, d.q, dx.q, pass->work);
  device->ops->feature_map_backward(device, &map, pass->frames, x.k, phi.k, d.k, dx.k, pass->work);
}

static void plan(struct linnet_pass *pass, struct linnet_sublayer_pass *s, struct linnet_arena *arena) {
  struct linnet_device *device = pass->network->device;
  struct linnet_attention a = attention_of(pass, s);
  struct linnet_attention_saved *saved = &s->saved.attention;
  saved->qkv = linnet_take_activations(pass, arena, s->sublayer->first.out);
  size_t mapped = linnet_mapped_columns(pass->network->config, s->sublayer->layer);
  saved->phi = mapped > 0 ? linnet_take_activations(pass, arena, mapped) : NULL;
  size_t bytes = device->ops->attention_saved_bytes(device, &a, pass->frames, pass->shard->pack.sequences);
  saved->op = linnet_arena_take(arena, bytes, 1);
  saved->heads = linnet_take_activations(pass, arena, pass->width);
}

/* The arguments of the op, for forward and backward. */
static struct linnet_attention_call call_of(const struct linnet_pass *pass, const struct linnet_sublayer_pass *s,
                                            const struct linnet_attention *a) {
  const struct linnet_attention_saved *saved = &s->saved.attention;
  struct keys keys = keys_of(pass, s, saved->qkv, saved->phi);
  return (struct linnet_attention_call){
      .attention = a,
      .pack = &pass->shard->pack,
      .q = keys.q,
      .k = keys.k,
      .v = linnet_activation_at(pass->network->device, saved->qkv, columns_of(s).value),
      .saved = saved->op,
      .out = saved->heads,
      .work = pass->work};
}

static void forward(struct linnet_pass *pass, struct linnet_sublayer_pass *s, const void *x, void *y) {
  struct linnet_device *device = pass->network->device;
  struct linnet_attention a = attention_of(pass, s);
  struct linnet_attention_saved *saved = &s->saved.attention;
  struct linnet_attention_call call = call_of(pass, s, &a);
  linnet_linear_forward(pass, &s->sublayer->first, x, LINNET_IDENTITY, saved->qkv);
  if (saved->phi)
    map_forward(pass, s);
  device->ops->attention_forward(device, &call);
  linnet_linear_forward(pass, &s->sublayer->last, saved->heads, LINNET_IDENTITY, y);
}

static void backward(struct linnet_pass *pass, struct linnet_sublayer_pass *s, const void *x, void *dy, void *dx) {
  struct linnet_device *device = pass->network->device;
  struct linnet_attention a = attention_of(pass, s);
  struct linnet_attention_saved *saved = &s->saved.attention;
  struct linnet_attention_call call = call_of(pass, s, &a);
  struct columns at = columns_of(s);
  void *dheads = pass->narrow2, *dqkv = pass->wide;
  void *dphi = saved->phi ? linnet_activation_at(device, dqkv, pass->frames * s->sublayer->first.out) : NULL;
  struct keys dkeys = keys_of(pass, s, dqkv, dphi);
  linnet_linear_backward(pass, &s->sublayer->last, saved->heads, dy, dheads, false);
  call.dout = dheads;
  call.dq = dkeys.q, call.dk = dkeys.k, call.dv = linnet_activation_at(device, dqkv, at.value);
  device->ops->attention_backward(device, &call);
  if (dphi)
    map_backward(pass, s, dphi, dqkv);
  linnet_linear_backward(pass, &s->sublayer->first, x, dqkv, dx, !s->sublayer->pre);
}

const struct linnet_block linnet_attention_block = {plan, forward, backward};
