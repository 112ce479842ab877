/* The fastest "causal_chunk" of a network on this machine, found by a short measurement. */
#include "model/layer.h"
#include "train/trainer.h"

enum { FRAMES = 512, ROUNDS = 5 };

static const size_t candidates[] = {0, 8, 16, 32, 64, 128};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

struct trial {
  const struct linnet_attention_ops *attention;
  struct linnet_attention a;
  real *rows; /* q, k, dq, dk, then v, out, dout, dv, each dense */
  void *work;
};

/* Elements of queries or keys, and of values or outputs. */
static size_t key_elements(const struct trial *t) {
  return FRAMES * t->a.heads * t->a.key_width;
}

static size_t value_elements(const struct trial *t) {
  return FRAMES * t->a.heads * t->a.width;
}

/* Seconds of one forward and backward. */
static double once(struct trial *t, size_t chunk) {
  static const size_t offsets[2] = {0, FRAMES};
  const struct linnet_pack pack = {1, offsets};
  const size_t keys = key_elements(t), values = value_elements(t);
  real *q = t->rows, *k = q + keys, *dq = k + keys, *dk = dq + keys;
  real *v = dk + keys, *out = v + values, *dout = out + values, *dv = dout + values;
  t->a.form = chunk > 0 ? LINNET_CAUSAL_LINEAR_CHUNKED : LINNET_CAUSAL_LINEAR_STATE;
  t->a.chunk = chunk;
  double start = linnet_train_clock();
  t->attention->forward(&(struct linnet_attention_call){
      .attention = &t->a, .pack = &pack, .q = q, .k = k, .v = v, .out = out, .work = t->work});
  t->attention->backward(&(struct linnet_attention_call){.attention = &t->a,
                                                         .pack = &pack,
                                                         .q = q,
                                                         .k = k,
                                                         .v = v,
                                                         .out = out,
                                                         .work = t->work,
                                                         .dout = dout,
                                                         .dq = dq,
                                                         .dk = dk,
                                                         .dv = dv});
  return linnet_train_clock() - start;
}

/* The candidate with the shortest time. Interference only lengthens a run, so the minimum of all rounds counts. Each
 * round measures every candidate once. */
static size_t fastest(struct trial *t) {
  double shortest[CANDIDATES];
  size_t best = 0;
  for (int round = 0; round < ROUNDS; round++)
    for (size_t i = 0; i < CANDIDATES; i++) {
      double seconds = once(t, candidates[i]);
      shortest[i] = round > 0 && shortest[i] < seconds ? shortest[i] : seconds;
    }
  for (size_t i = 1; i < CANDIDATES; i++)
    if (shortest[i] < shortest[best])
      best = i;
  return candidates[best];
}

enum linnet_status linnet_causal_chunk(struct linnet_context *context, const struct linnet_config *config,
                                       size_t *chunk) {
  struct linnet_config causal = *config;
  causal.attention[0] = LINNET_ATTENTION_CAUSAL_LINEAR;
  struct trial t = {.attention = linnet_context_ops(context)->attention[LINNET_ATTENTION_CAUSAL_LINEAR],
                    .a = linnet_layer_attention(&causal, 0)};
  t.a.key_ld = t.a.heads * t.a.key_width;
  t.a.value_ld = t.a.out_ld = t.a.heads * t.a.width;
  const size_t elements = 4 * (key_elements(&t) + value_elements(&t));
  t.rows = linnet_alloc(context, elements, sizeof(real));
  t.work = linnet_alloc(context, t.attention->work_bytes(&t.a, FRAMES), 1);
  enum linnet_status status = LINNET_OK;
  if (t.rows && t.work) {
    for (size_t i = 0; i < elements; i++)
      t.rows[i] = (real)((i * 7919) % 1000) / 1000; /* positive, so that any map's normaliser is */
    *chunk = fastest(&t);
  } else {
    status = linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for measuring chunks");
  }
  linnet_free(context, t.rows);
  linnet_free(context, t.work);
  return status;
}

bool linnet_has_causal_chunk(const struct linnet_config *config) {
  bool found = false;
  for (size_t l = 0; l < config->layers && config->encoder == LINNET_ENCODER_TRANSFORMER; l++)
    found = found || config->attention[l] == LINNET_ATTENTION_CAUSAL_LINEAR;
  return found;
}

enum linnet_status linnet_train_measure_chunk(struct linnet_context *context, const char *config, size_t *chunk) {
  struct linnet_config parsed;
  if (!context || !config || !chunk)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_train_measure_chunk: an argument is NULL");
  linnet_config_default(&parsed);
  LINNET_TRY(linnet_config_parse(context, config, "configuration", &parsed));
  if (parsed.outputs == 0)
    parsed.outputs = 2; /* the symbols do not matter here */
  parsed.causal_chunk = 0;
  LINNET_TRY(linnet_config_validate(context, "configuration", &parsed));
  if (!linnet_has_causal_chunk(&parsed))
    return linnet_fail(
        context, LINNET_ERROR_ARGUMENT,
        "attention is not causal-linear, so there is no causal_chunk: set \"attention\" to causal-linear");
  return linnet_causal_chunk(context, &parsed, chunk);
}
