/* Compares kinds of attention with PyTorch in double (make_attention.py): output, and gradients for a given dout;
 * linear attention also after each separate feature map. */
#include "golden.h"
#include "ops/attention.h"
#include "ops/feature_map.h"
#include "ops/linear_attention.h"

struct attention_data {
  size_t frames, width; /* width: of all heads */
  struct linnet_attention attention;
  struct linnet_pack pack;
  size_t offsets[8];
  float *q, *k, *v, *dout, *output, *gradients[3];
  struct linnet_feature_map_terms map; /* map 0: no feature map */
  float *directions;
};

static bool shared_key(const struct attention_data *d) {
  return linnet_attention_traits[d->attention.kind].shared_key;
}

static size_t number(const struct golden *g, const char *key) {
  return strtoull(golden_text(g, key), NULL, 10);
}

static struct linnet_lsh read_lsh(const struct golden *g) {
  return (struct linnet_lsh){.rounds = number(g, "rounds"),
                             .buckets = number(g, "buckets"),
                             .chunk = number(g, "chunk"),
                             .seed = strtoull(golden_text(g, "seed"), NULL, 10),
                             .step = (uint32_t)number(g, "step"),
                             .site = (uint32_t)number(g, "site")};
}

static void data_read(struct attention_data *d, const struct golden *g, enum linnet_attention_kind kind) {
  size_t count, sequences;
  int32_t *lengths = golden_integers(g, "", "lengths", &sequences);
  *d = (struct attention_data){.attention.kind = kind,
                               .q = golden_floats(g, "", "q", &count),
                               .v = golden_floats(g, "", "v", NULL),
                               .dout = golden_floats(g, "", "dout", NULL),
                               .output = golden_floats(g, "", "output", NULL),
                               .gradients = {golden_floats(g, "", "dq", NULL), NULL, golden_floats(g, "", "dv", NULL)}};
  if (shared_key(d)) {
    d->attention.lsh = read_lsh(g);
  } else {
    d->k = golden_floats(g, "", "k", NULL);
    d->gradients[1] = golden_floats(g, "", "dk", NULL);
  }
  REQUIRE(sequences < 8, "%zu sequences", sequences);
  d->attention.heads = number(g, "heads");
  d->attention.width = number(g, "head_width");
  d->width = d->attention.heads * d->attention.width;
  d->attention.key_width = d->attention.width;
  d->attention.key_ld = d->attention.value_ld = d->attention.out_ld = d->width;
  for (size_t i = 0; i < sequences; i++)
    d->offsets[i + 1] = d->offsets[i] + (size_t)lengths[i];
  d->pack = (struct linnet_pack){sequences, d->offsets};
  d->frames = d->offsets[sequences];
  REQUIRE(d->frames * d->width == count, "%zu values for %zu frames", count, d->frames);
  free(lengths);
}

static void data_free(struct attention_data *d) {
  free(d->q);
  free(d->k);
  free(d->v);
  free(d->dout);
  free(d->output);
  free(d->directions);
  for (size_t i = 0; i < 3; i++)
    free(d->gradients[i]);
}

/* Applies a feature map before the attention. */
static void data_map(struct attention_data *d, const struct golden *g, enum linnet_feature_map map) {
  size_t count = 0, width = d->attention.width;
  if (linnet_feature_map_random(map))
    d->directions = golden_floats(g, "", "directions", &count);
  d->map = (struct linnet_feature_map_terms){.map = map,
                                             .heads = d->attention.heads,
                                             .width = width,
                                             .features = count / width,
                                             .directions = d->directions,
                                             .x_ld = d->width};
  d->attention.key_width = linnet_feature_map_size(map, width, count / width);
  d->attention.key_ld = d->map.phi_ld = d->map.heads * d->attention.key_width;
  d->attention.map = LINNET_MAP_IDENTITY;
  d->attention.min_normaliser = map == LINNET_MAP_FOURIER ? LINNET_FOURIER_MIN_NORMALISER : 0;
}

static struct attention_data data;

/* Queries and keys mapped, attention over them, and both backwards. */
static void run_mapped(const struct linnet_ops *ops, const struct attention_data *d, float *out, float *const grad[3]) {
  const struct linnet_attention_ops *attention = ops->attention[d->attention.kind];
  size_t n = d->frames * d->map.phi_ld;
  void *saved = test_alloc(attention->saved_bytes(&d->attention, d->frames, d->pack.sequences), 1);
  void *work = test_alloc(attention->work_bytes(&d->attention, d->frames), 1);
  float *map_work = test_alloc(ops->feature_map_work, sizeof *map_work), *phi = test_alloc(4 * n, sizeof *phi);
  float *q = phi, *k = q + n, *dq = k + n, *dk = dq + n;
  ops->feature_map_forward(&d->map, d->frames, d->q, q, map_work);
  ops->feature_map_forward(&d->map, d->frames, d->k, k, map_work);
  attention->forward(&(struct linnet_attention_call){.attention = &d->attention,
                                                     .pack = &d->pack,
                                                     .q = q,
                                                     .k = k,
                                                     .v = d->v,
                                                     .saved = saved,
                                                     .out = out,
                                                     .work = work});
  attention->backward(&(struct linnet_attention_call){.attention = &d->attention,
                                                      .pack = &d->pack,
                                                      .q = q,
                                                      .k = k,
                                                      .v = d->v,
                                                      .saved = saved,
                                                      .out = out,
                                                      .work = work,
                                                      .dout = d->dout,
                                                      .dq = dq,
                                                      .dk = dk,
                                                      .dv = grad[2]});
  ops->feature_map_backward(&d->map, d->frames, d->q, q, dq, grad[0], map_work);
  ops->feature_map_backward(&d->map, d->frames, d->k, k, dk, grad[1], map_work);
  free(saved);
  free(work);
  free(map_work);
  free(phi);
}

static void run_plain(const struct linnet_ops *ops, const struct attention_data *d, float *out, float *const grad[3]) {
  const struct linnet_attention_ops *attention = ops->attention[d->attention.kind];
  void *saved = test_alloc(attention->saved_bytes(&d->attention, d->frames, d->pack.sequences), 1);
  void *work = test_alloc(attention->work_bytes(&d->attention, d->frames), 1);
  attention->forward(&(struct linnet_attention_call){.attention = &d->attention,
                                                     .pack = &d->pack,
                                                     .q = d->q,
                                                     .k = d->k,
                                                     .v = d->v,
                                                     .saved = saved,
                                                     .out = out,
                                                     .work = work});
  attention->backward(&(struct linnet_attention_call){.attention = &d->attention,
                                                      .pack = &d->pack,
                                                      .q = d->q,
                                                      .k = d->k,
                                                      .v = d->v,
                                                      .saved = saved,
                                                      .out = out,
                                                      .work = work,
                                                      .dout = d->dout,
                                                      .dq = grad[0],
                                                      .dk = grad[1],
                                                      .dv = grad[2]});
  free(saved);
  free(work);
}

static void check_table(const struct linnet_ops *ops) {
  const struct attention_data *d = &data;
  size_t n = d->frames * d->width;
  double bound = d->map.map ? 3e-6 : 1e-6; /* squares and exponentials magnify rounding */
  float *out = test_alloc(n, sizeof *out), *grad[3];
  for (size_t i = 0; i < 3; i++)
    grad[i] = test_alloc(n, sizeof *grad[i]);
  (d->map.map ? run_mapped : run_plain)(ops, d, out, grad);
  test_bound(ops->name, "output", golden_error(out, d->output, n), bound);
  test_bound(ops->name, "dq", golden_error(grad[0], d->gradients[0], n), bound);
  if (!shared_key(d))
    test_bound(ops->name, "dk", golden_error(grad[1], d->gradients[1], n), bound);
  test_bound(ops->name, "dv", golden_error(grad[2], d->gradients[2], n), bound);
  for (size_t i = 0; i < 3; i++)
    free(grad[i]);
  free(out);
}

/* `map_name` is NULL without a separate feature map. */
static void check_kind(struct linnet_context *context, enum linnet_attention_kind kind, enum linnet_feature_map map,
                       const char *map_name) {
  struct golden g;
  char name[64];
  snprintf(name, sizeof name, "attention_%s%s%s.safetensors", linnet_attention_traits[kind].name, map_name ? "_" : "",
           map_name ? map_name : "");
  golden_open(&g, context, name);
  data_read(&data, &g, kind);
  if (map_name)
    data_map(&data, &g, map);
  for (int form = 0; form < (kind == LINNET_ATTENTION_CAUSAL_LINEAR ? LINNET_CAUSAL_LINEAR_FORMS : 1); form++) {
    data.attention.form = (enum linnet_causal_linear_form)form;
    printf("%s, form %d\n", name, form);
    test_each_table(check_table);
  }
  data_free(&data);
  golden_close(&g);
}

int main(void) {
  struct linnet_context *context = test_context();
  static const enum linnet_attention_kind mapped[] = {LINNET_ATTENTION_LINEAR, LINNET_ATTENTION_CAUSAL_LINEAR};
  for (size_t i = 0; i < sizeof mapped / sizeof *mapped; i++) {
    check_kind(context, mapped[i], LINNET_MAP_ELU, NULL);
    check_kind(context, mapped[i], LINNET_MAP_RELU, "relu");
    check_kind(context, mapped[i], LINNET_MAP_POLYNOMIAL, "polynomial");
    check_kind(context, mapped[i], LINNET_MAP_FOURIER, "fourier");
    check_kind(context, mapped[i], LINNET_MAP_POSITIVE, "positive");
  }
  check_kind(context, LINNET_ATTENTION_LSH, LINNET_MAP_ELU, NULL);
  check_kind(context, LINNET_ATTENTION_CAUSAL_LSH, LINNET_MAP_ELU, NULL);
  check_kind(context, LINNET_ATTENTION_LINEAR_DECAY, LINNET_MAP_ELU, NULL);
  check_kind(context, LINNET_ATTENTION_CAUSAL_LINEAR_DECAY, LINNET_MAP_ELU, NULL);
  check_kind(context, LINNET_ATTENTION_SOFTMAX, LINNET_MAP_ELU, NULL);
  check_kind(context, LINNET_ATTENTION_CAUSAL_SOFTMAX, LINNET_MAP_ELU, NULL);
  linnet_context_destroy(context);
  return test_result();
}
