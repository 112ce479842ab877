/* Cases of CTC and of the consistency of two views. */
#ifndef LINNET_TEST_CASES_CTC_H
#define LINNET_TEST_CASES_CTC_H

#include "case_sizes.h"
#include "ops/consistency.h"
#include "ops/ctc.h"

struct ctc_case {
  struct linnet_pack pack;
  size_t offsets[MAX_SEQUENCES + 1], symbols, max_labels;
  uint32_t label_offsets[MAX_SEQUENCES + 1];
  int *labels;
  double loss[MAX_SEQUENCES];
  struct buffer logits, gradient;
};

/* Labels of sequence s: as many as fit, or a few more; all equal, or not. */
static void ctc_labels(struct test_random *r, struct ctc_case *c, size_t s) {
  size_t frames = c->offsets[s + 1] - c->offsets[s], first = c->label_offsets[s];
  size_t count = test_below(r, 6) ? some_size(r, frames / 2) : some_size(r, frames + 1);
  size_t kinds = test_below(r, 3) ? c->symbols - 1 : 1;
  for (size_t i = 0; i < count; i++)
    c->labels[first + i] = 1 + (int)test_below(r, kinds);
  c->label_offsets[s + 1] = (uint32_t)(first + count);
  c->max_labels = count > c->max_labels ? count : c->max_labels;
}

static void ctc_case(struct test_random *r, struct ctc_case *c) {
  *c = (struct ctc_case){.symbols = 2 + some_size(r, scaled(100))};
  c->pack = some_pack(r, c->offsets, test_below(r, 8) ? 700 : 3000);
  size_t rows = c->offsets[c->pack.sequences];
  c->labels = malloc((rows + 2 * MAX_SEQUENCES) * sizeof *c->labels);
  for (size_t s = 0; s < c->pack.sequences; s++)
    ctc_labels(r, c, s);
  c->logits = buffer_random(r, rows * c->symbols);
  buffer_odd_logits(r, &c->logits, -INFINITY, 2000); /* a device treats lower ones as impossible */
  c->gradient = buffer_poisoned(r, c->logits.n);
}

static void ctc_reference(struct ctc_case *c, float scale) {
  for (size_t s = 0; s < c->pack.sequences; s++) {
    size_t first = c->offsets[s], labels = c->label_offsets[s + 1] - c->label_offsets[s];
    struct linnet_ctc one = {.frames = c->offsets[s + 1] - first,
                             .symbols = c->symbols,
                             .labels = labels,
                             .logits = c->logits.x + first * c->symbols,
                             .label = c->labels + c->label_offsets[s],
                             .scale = scale,
                             .gradient = c->gradient.x + first * c->symbols};
    void *work = malloc(linnet_ctc_work_bytes(one.frames, one.symbols, labels));
    c->loss[s] = linnet_ctc_reference(&one, work);
    free(work);
  }
}

static void note_ctc_condition(struct mirrors *m, const struct ctc_case *c, float scale) {
  struct test_random random = {c->logits.n};
  struct ctc_case nudged = *c;
  nudged.logits = buffer_nudged(&c->logits), nudged.gradient = buffer_poisoned(&random, c->gradient.n);
  ctc_reference(&nudged, scale);
  note_condition(m, &nudged.gradient, &c->gradient);
  RELEASE(nudged.logits, nudged.gradient);
}

static double loss_error(const struct ctc_case *c, const struct buffer *losses) {
  double error = guards_hold(losses) ? 0 : INFINITY;
  for (size_t s = 0; s < c->pack.sequences; s++) {
    double loss, expected = c->loss[s];
    memcpy(&loss, losses->x + 2 * s, sizeof loss);
    if (loss == expected || (isnan(loss) && isnan(expected)))
      continue;
    double d = fabs(loss - expected) / fmax(1, fabs(expected));
    error = worst(error, isnan(d) ? INFINITY : d);
  }
  return error;
}

static double test_ctc(struct mirrors *m) {
  struct test_random *r = &m->random;
  struct ctc_case c;
  ctc_case(r, &c);
  ctc_reference(&c, 0.5f);
  note_ctc_condition(m, &c, 0.5f);
  struct buffer losses = buffer_poisoned(r, 2 * c.pack.sequences), only = buffer_poisoned(r, losses.n);
  struct buffer in_place = buffer_copy(r, &c.logits), gradient = buffer_poisoned(r, c.logits.n);
  losses.x = losses.memory + GUARD, only.x = only.memory + GUARD;
  struct linnet_cuda_pack pack = mirror_pack(m, &c.pack);
  size_t total = c.label_offsets[c.pack.sequences];
  struct linnet_cuda_ctc op = {.pack = &pack,
                               .symbols = c.symbols,
                               .max_labels = c.max_labels,
                               .label_offsets =
                                   mirror_bytes(m, c.label_offsets, (c.pack.sequences + 1) * sizeof *c.label_offsets),
                               .labels = mirror_bytes(m, c.labels, total * sizeof *c.labels),
                               .total_labels = total,
                               .logits = mirror(m, &c.logits),
                               .scale = 0.5f,
                               .loss = (double *)(void *)mirror(m, &only)};
  void *work = mirror_workspace(m, linnet_cuda_ctc_work_bytes(&op));
  linnet_cuda_ctc(m->device, &op, work);
  op.loss = (double *)(void *)mirror(m, &losses);
  op.gradient = mirror(m, &gradient);
  linnet_cuda_ctc(m->device, &op, work);
  op.logits = op.gradient = mirror(m, &in_place);
  linnet_cuda_ctc(m->device, &op, work);
  mirrors_return(m);
  double error = worst(loss_error(&c, &losses), loss_error(&c, &only));
  error = worst(error, buffer_error(&gradient, &c.gradient));
  CHECK(buffer_error(&in_place, &gradient) == 0, "ctc in place differs");
  RELEASE(c.logits, c.gradient, losses, only, in_place, gradient);
  free(c.labels);
  return error;
}

/* --- consistency */

/* Logits of pairs of views, and what the reference makes of them. */
struct consistency_case {
  struct linnet_pack pack;
  size_t offsets[2 * MAX_SEQUENCES + 1], symbols;
  struct buffer logits, gradient; /* with gradients that were there before */
  double loss[MAX_SEQUENCES];
};

static void consistency_case(struct test_random *r, struct consistency_case *c) {
  size_t offsets[MAX_SEQUENCES + 1];
  struct linnet_pack utterances = some_pack(r, offsets, 300);
  *c = (struct consistency_case){.symbols = 1 + some_size(r, scaled(200))};
  c->pack = (struct linnet_pack){2 * utterances.sequences, c->offsets};
  for (size_t s = 0; s < c->pack.sequences; s++)
    c->offsets[s + 1] = c->offsets[s] + offsets[s / 2 + 1] - offsets[s / 2];
  size_t n = c->offsets[c->pack.sequences] * c->symbols;
  c->logits = buffer_scaled(r, n, test_below(r, 2) ? 3 : 30);
  for (size_t i = 0; i < n; i++)
    if (i % c->symbols == 1 && c->symbols > 2) /* an impossible symbol */
      c->logits.x[i] = -INFINITY;
  c->gradient = buffer_random(r, n);
}

static void consistency_reference(struct consistency_case *c, float scale) {
  for (size_t s = 0; s < c->pack.sequences; s += 2) {
    size_t a = c->offsets[s] * c->symbols, b = c->offsets[s + 1] * c->symbols;
    struct linnet_consistency pair = {.frames = c->offsets[s + 1] - c->offsets[s],
                                      .symbols = c->symbols,
                                      .a = c->logits.x + a,
                                      .b = c->logits.x + b,
                                      .scale = scale,
                                      .gradient_a_add = c->gradient.x + a,
                                      .gradient_b_add = c->gradient.x + b};
    c->loss[s / 2] = linnet_consistency_reference(&pair);
  }
}

static double test_consistency(struct mirrors *m) {
  struct consistency_case c;
  consistency_case(&m->random, &c);
  struct buffer gradient = buffer_copy(&m->random, &c.gradient), nudged = buffer_nudged(&c.logits);
  struct buffer losses = buffer_poisoned(&m->random, c.pack.sequences);
  losses.x = losses.memory + GUARD;
  struct consistency_case moved = c;
  moved.logits = nudged, moved.gradient = buffer_copy(&m->random, &c.gradient);
  consistency_reference(&c, 0.7f);
  consistency_reference(&moved, 0.7f);
  note_condition(m, &moved.gradient, &c.gradient);
  struct linnet_cuda_pack pack = mirror_pack(m, &c.pack);
  struct linnet_batch_consistency op = {.pack = &c.pack,
                                        .symbols = c.symbols,
                                        .logits = mirror(m, &c.logits),
                                        .scale = 0.7f,
                                        .gradient_add = mirror(m, &gradient),
                                        .loss = (double *)(void *)mirror(m, &losses)};
  linnet_cuda_consistency(m->device, &op, &pack);
  mirrors_return(m);
  double error = worst(buffer_error(&gradient, &c.gradient), guards_hold(&losses) ? 0 : INFINITY);
  for (size_t u = 0; u < c.pack.sequences / 2; u++) {
    double loss;
    memcpy(&loss, losses.x + 2 * u, sizeof loss);
    error = worst(error, fabs(loss - c.loss[u]) / fmax(1, c.loss[u]));
  }
  RELEASE(c.logits, c.gradient, gradient, nudged, losses, moved.gradient);
  return error;
}

#endif
