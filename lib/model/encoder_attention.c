/* The attention of a layer in recognition: linear attention in blocks of rows around a state, other kinds over the
 * whole utterance, one head a task. */
#include <string.h>

#include "model/encoder.h"

static bool by_state(const struct linnet_encoder *e, size_t layer) {
  return e->model->config.attention[layer] == LINNET_ATTENTION_LINEAR;
}

static const struct linnet_attention_ops *ops_of(const struct linnet_encoder *e, size_t layer) {
  return e->ops->attention[e->model->config.attention[layer]];
}

/* --- linear attention: keys and values lie side by side in the scratch ------------------------------------------- */

static struct linnet_attention linear_attention(const struct linnet_encoder *e) {
  struct linnet_attention a = linnet_layer_attention(&e->model->config, e->layer);
  a.key_ld = a.value_ld = 2 * e->model->config.width;
  return a;
}

static void task_accumulate(void *user, size_t group, unsigned worker) {
  const struct linnet_encoder *e = user;
  const struct scratch *s = &e->scratch[worker];
  const struct linnet_layer_offsets *o = layer_offsets(e);
  const struct linnet_attention a = linear_attention(e);
  size_t size = linnet_linear_state_size(&a);
  real *state = e->states + group * size;
  memset(state, 0, size * sizeof *state);
  for (size_t b = group * e->blocks / e->groups; b < (group + 1) * e->blocks / e->groups; b++) {
    struct rows r = block_rows(e, b);
    const real *h = block_input(e, s, r.count, row(e, r.first), o->norm1_gain, o->norm1_bias);
    apply(e, s, &layer_maps(e)->key_value, r.count, h, LINNET_IDENTITY, s->wide);
    e->ops->linear_accumulate(&a, r.count, s->wide, s->wide + e->model->config.width, state);
  }
}

/* The sum of all groups' states into the first, in order. */
static void sum_states(const struct linnet_encoder *e) {
  const struct linnet_attention a = linear_attention(e);
  size_t size = linnet_linear_state_size(&a);
  for (size_t g = 1; g < e->groups; g++)
    e->ops->add(size, e->states + g * size, e->states);
}

static const real *linear_heads(const struct linnet_encoder *e, const struct scratch *s, struct rows r) {
  const struct linnet_layer_offsets *o = layer_offsets(e);
  struct linnet_attention a = linear_attention(e);
  a.key_ld = e->model->config.width;
  const real *h = block_input(e, s, r.count, row(e, r.first), o->norm1_gain, o->norm1_bias);
  apply(e, s, &layer_maps(e)->query, r.count, h, LINNET_IDENTITY, s->narrow);
  e->ops->linear_apply(&a, r.count, s->narrow, e->states, s->narrow2);
  return s->narrow2;
}

/* --- other kinds ----------------------------------------------------------------------------------------------------
 */

/* One head of a layer. */
static struct linnet_attention head_attention(const struct linnet_encoder *e, size_t layer) {
  struct linnet_attention a = linnet_layer_attention(&e->model->config, layer);
  a.heads = 1;
  return a;
}

static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

enum linnet_status linnet_encoder_plan_attention(struct linnet_encoder *e, size_t layer) {
  if (by_state(e, layer))
    return LINNET_OK;
  const struct linnet_attention a = head_attention(e, layer);
  const unsigned threads = linnet_context_threads(e->context);
  struct whole *w = &e->whole;
  w->kept_bytes = larger(w->kept_bytes, (ops_of(e, layer)->saved_bytes(&a, e->frames, 1) + 63) / 64 * 64);
  w->work_bytes = larger(w->work_bytes, (ops_of(e, layer)->work_bytes(&a, e->frames) + 63) / 64 * 64);
  LINNET_TRY(linnet_encoder_reserve(e, &w->qkv, e->frames, a.key_ld * sizeof(real)));
  LINNET_TRY(linnet_encoder_reserve(e, &w->heads, e->frames, row_bytes(e)));
  LINNET_TRY(linnet_encoder_reserve(e, &w->kept, threads, w->kept_bytes));
  return linnet_encoder_reserve(e, &w->work, threads, w->work_bytes);
}

void linnet_encoder_project(const struct linnet_encoder *e, const struct scratch *s, size_t rows, const real *x,
                            real *qkv) {
  const struct linnet_layer_offsets *o = layer_offsets(e);
  const struct linnet_layer_maps *maps = layer_maps(e);
  const size_t width = e->model->config.width, columns = linnet_attention_columns(&e->model->config, e->layer);
  const real *h = block_input(e, s, rows, x, o->norm1_gain, o->norm1_bias);
  linnet_map_apply(e->ops, &maps->query, rows, h, width, LINNET_IDENTITY, qkv, columns, s->work);
  linnet_map_apply(e->ops, &maps->key_value, rows, h, width, LINNET_IDENTITY, qkv + width, columns, s->work);
}

static void task_project(void *user, size_t block, unsigned worker) {
  const struct linnet_encoder *e = user;
  const size_t columns = linnet_attention_columns(&e->model->config, e->layer);
  struct rows r = block_rows(e, block);
  linnet_encoder_project(e, &e->scratch[worker], r.count, row(e, r.first),
                         (real *)e->whole.qkv.data + r.first * columns);
}

static void task_head(void *user, size_t head, unsigned worker) {
  const struct linnet_encoder *e = user;
  const struct whole *w = &e->whole;
  const struct linnet_attention a = head_attention(e, e->layer);
  const size_t offsets[2] = {0, e->frames}, width = e->model->config.width;
  const struct linnet_pack pack = {1, offsets};
  const real *q = (const real *)w->qkv.data + head * a.width, *k = q + width, *v = q + a.value_ld - width;
  real *out = (real *)w->heads.data + head * a.width;
  char *kept = (char *)w->kept.data + worker * w->kept_bytes, *work = (char *)w->work.data + worker * w->work_bytes;
  ops_of(e, e->layer)->forward(&a, &pack, q, k, v, kept, out, work);
}

static const real *whole_heads(const struct linnet_encoder *e, struct rows r) {
  return (const real *)e->whole.heads.data + r.first * e->model->config.width;
}

/* --- either ---------------------------------------------------------------------------------------------------------
 */

void linnet_encoder_keys(struct linnet_encoder *e) {
  if (by_state(e, e->layer)) {
    linnet_parallel(e->context, e->groups, task_accumulate, e);
    sum_states(e);
  } else {
    linnet_parallel(e->context, e->blocks, task_project, e);
    linnet_parallel(e->context, e->model->config.heads, task_head, e);
  }
}

const real *linnet_encoder_heads(const struct linnet_encoder *e, const struct scratch *s, struct rows r) {
  return by_state(e, e->layer) ? linear_heads(e, s, r) : whole_heads(e, r);
}
