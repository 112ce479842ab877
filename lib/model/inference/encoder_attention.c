/* Attention in inference. For kinds whose frames all read one state, blocks of rows first build the state, then read
 * it. Other kinds run over the whole utterance, with one task per head. */
#include <string.h>

#include "base/numbers.h"
#include "model/inference/encoder.h"

static bool by_state(const struct linnet_encoder *e, size_t layer) {
  return linnet_layer_traits(&e->model->config, layer)->one_state;
}

static const struct linnet_attention_ops *ops_of(const struct linnet_encoder *e, size_t layer) {
  return e->ops->attention[e->model->config.attention[layer]];
}

/* Applies the layer's feature map to queries or keys of some rows; the columns of the heads are side by side. */
static void map_rows(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t rows, const real *x,
                     size_t ld, real *phi, size_t phi_ld) {
  struct linnet_feature_map_terms map =
      linnet_sublayer_feature_map(&e->model->config, sublayer(e, i), e->model->weights);
  map.x_ld = ld;
  map.phi_ld = phi_ld;
  e->ops->feature_map_forward(&map, rows, x, phi, s->work);
}

/* --- around a state: keys and values lie side by side in the scratch --------------------------------------------- */

static struct linnet_attention linear_attention(const struct linnet_encoder *e) {
  struct linnet_attention a = linnet_layer_attention(&e->model->config, e->layer);
  a.value_ld = 2 * e->model->config.width;
  return a;
}

/* The rows in the form that attention takes: x, or phi(x) in the scratch. */
static const real *linear_rows(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t rows,
                               const real *x, size_t ld, struct linnet_attention *a) {
  size_t mapped = linnet_mapped_columns(&e->model->config, e->layer) / 2;
  a->key_ld = mapped > 0 ? mapped : ld;
  if (mapped == 0)
    return x;
  map_rows(e, s, i, rows, x, ld, s->phi, mapped);
  return s->phi;
}

static void task_accumulate(void *user, size_t group, unsigned worker) {
  struct linnet_encoder *e = user;
  const struct scratch *s = &e->scratch[worker];
  const size_t i = e->stage.first;
  struct linnet_attention a = linear_attention(e);
  size_t size = linnet_linear_state_size(&a);
  real *state = (real *)e->states.data + group * size;
  memset(state, 0, size * sizeof *state);
  for (size_t b = group * e->blocks / e->groups; b < (group + 1) * e->blocks / e->groups; b++) {
    if (!linnet_encoder_unit(e, worker))
      return;
    struct rows r = block_rows(e, b);
    const real *h = block_input(e, s, i, r.count, row(e, r.first));
    apply(e, s, &packed(e, i)->rest, r.count, h, LINNET_IDENTITY, s->wide);
    const real *k = linear_rows(e, s, i, r.count, s->wide, a.value_ld, &a);
    e->ops->linear_accumulate(&a, r.count, k, s->wide + e->model->config.width, state);
  }
}

/* Adds the states of all groups to the first one, in order. */
static void sum_states(const struct linnet_encoder *e) {
  const struct linnet_attention a = linear_attention(e);
  size_t size = linnet_linear_state_size(&a);
  real *states = e->states.data;
  for (size_t g = 1; g < e->groups; g++)
    e->ops->add(size, states + g * size, states);
}

static const real *linear_heads(const struct linnet_encoder *e, const struct scratch *s, size_t i, struct rows r) {
  struct linnet_attention a = linear_attention(e);
  const real *h = block_input(e, s, i, r.count, row(e, r.first));
  apply(e, s, &packed(e, i)->first, r.count, h, LINNET_IDENTITY, s->narrow);
  const real *q = linear_rows(e, s, i, r.count, s->narrow, e->model->config.width, &a);
  e->ops->linear_apply(&a, r.count, q, e->states.data, s->narrow2);
  return s->narrow2;
}

/* --- other kinds -------------------------------------------------------------------------------------------------- */

/* One head of a layer. */
static struct linnet_attention head_attention(const struct linnet_encoder *e, size_t layer, size_t head) {
  struct linnet_attention a = linnet_layer_attention(&e->model->config, layer);
  a.heads = 1;
  a.first_head = head;
  a.poll = linnet_poll_of(e->context);
  return a;
}

static enum linnet_status plan(struct linnet_encoder *e, size_t i) {
  const size_t layer = sublayer(e, i)->layer;
  const struct linnet_config *config = &e->model->config;
  const struct linnet_attention all = linnet_layer_attention(config, layer), a = head_attention(e, layer, 0);
  if (by_state(e, layer))
    return linnet_encoder_reserve(e, &e->states, e->groups, linnet_linear_state_size(&all) * sizeof(real));
  const unsigned threads = linnet_context_num_threads(e->context);
  struct whole *w = &e->whole;
  w->saved_bytes =
      linnet_max_size(w->saved_bytes, linnet_round_up(ops_of(e, layer)->saved_bytes(&a, e->frames, 1), 64));
  w->work_bytes = linnet_max_size(w->work_bytes, linnet_round_up(ops_of(e, layer)->work_bytes(&a, e->frames), 64));
  LINNET_TRY(linnet_encoder_reserve(e, &w->qkv, e->frames, linnet_attention_columns(config, layer) * sizeof(real)));
  LINNET_TRY(linnet_encoder_reserve(e, &w->phi, e->frames, linnet_mapped_columns(config, layer) * sizeof(real)));
  LINNET_TRY(linnet_encoder_reserve(e, &w->heads, e->frames, row_bytes(e)));
  LINNET_TRY(linnet_encoder_reserve(e, &w->saved, threads, w->saved_bytes));
  return linnet_encoder_reserve(e, &w->work, threads, w->work_bytes);
}

void linnet_encoder_project(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t rows,
                            const real *x, real *qkv, real *phi) {
  const struct linnet_packed_linear *l = &packed(e, i)->first;
  const size_t mapped = linnet_mapped_columns(&e->model->config, sublayer(e, i)->layer);
  apply(e, s, l, rows, block_input(e, s, i, rows, x), LINNET_IDENTITY, qkv);
  if (mapped == 0)
    return;
  map_rows(e, s, i, rows, qkv, l->out, phi, mapped);
  map_rows(e, s, i, rows, qkv + l->in, l->out, phi + mapped / 2, mapped);
}

static void task_project(void *user, size_t block, unsigned worker) {
  struct linnet_encoder *e = user;
  const size_t columns = linnet_attention_columns(&e->model->config, e->layer);
  const size_t mapped = linnet_mapped_columns(&e->model->config, e->layer);
  struct rows r = block_rows(e, block);
  if (!linnet_encoder_unit(e, worker))
    return;
  real *qkv = (real *)e->whole.qkv.data + r.first * columns;
  real *phi = mapped > 0 ? (real *)e->whole.phi.data + r.first * mapped : NULL;
  linnet_encoder_project(e, &e->scratch[worker], e->stage.first, r.count, row(e, r.first), qkv, phi);
}

static void task_head(void *user, size_t head, unsigned worker) {
  struct linnet_encoder *e = user;
  const struct whole *w = &e->whole;
  const struct linnet_attention a = head_attention(e, e->layer, head);
  const size_t offsets[2] = {0, e->frames}, width = e->model->config.width;
  const struct linnet_pack pack = {1, offsets};
  const size_t mapped = linnet_mapped_columns(&e->model->config, e->layer);
  const real *qkv = w->qkv.data, *v = qkv + a.value_ld - width + head * a.width;
  const real *q = (mapped > 0 ? (const real *)w->phi.data : qkv) + head * a.key_width;
  const real *k = q + (mapped > 0 ? mapped / 2 : width);
  real *out = (real *)w->heads.data + head * a.width;
  char *saved = w->saved_bytes > 0 ? (char *)w->saved.data + worker * w->saved_bytes : NULL;
  char *work = w->work_bytes > 0 ? (char *)w->work.data + worker * w->work_bytes : NULL;
  if (linnet_encoder_unit(e, worker))
    ops_of(e, e->layer)
        ->forward(&(struct linnet_attention_call){
            .attention = &a, .pack = &pack, .q = q, .k = k, .v = v, .saved = saved, .out = out, .work = work});
}

static const real *whole_heads(const struct linnet_encoder *e, struct rows r) {
  return (const real *)e->whole.heads.data + r.first * e->model->config.width;
}

/* --- either ------------------------------------------------------------------------------------------------------- */

/* With a state: each group of blocks sums keys and values of x into its state (S, z); then the states of the groups are
 * summed in order. Otherwise: each block computes its queries, keys and values of x, which all stay in memory; then
 * each head computes its attention. */
static void prepare(struct linnet_encoder *e, size_t i) {
  if (by_state(e, sublayer(e, i)->layer)) {
    linnet_encoder_stage_loop(e, 0, 0.3, e->blocks, e->groups, task_accumulate);
    sum_states(e);
  } else {
    linnet_encoder_stage_loop(e, 0, 0.1, e->blocks, e->blocks, task_project);
    linnet_encoder_stage_loop(e, 0.1, 0.3, e->model->config.heads, e->model->config.heads, task_head);
  }
}

void linnet_encoder_add_heads(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t rows,
                              const real *heads, real *x) {
  apply(e, s, &packed(e, i)->last, rows, heads, LINNET_IDENTITY, s->narrow);
  linnet_encoder_residual(e, i, rows, s->narrow, x);
}

/* With a state, the queries of x read it. Otherwise the outputs of all heads are already there. */
static void run(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t block) {
  struct rows r = block_rows(e, block);
  const real *heads = by_state(e, sublayer(e, i)->layer) ? linear_heads(e, s, i, r) : whole_heads(e, r);
  linnet_encoder_add_heads(e, s, i, r.count, heads, row(e, r.first));
}

const struct linnet_block_rows linnet_attention_rows = {
    .neighbours = true, .plan = plan, .prepare = prepare, .run = run};
