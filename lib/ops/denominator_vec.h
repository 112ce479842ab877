/* The denominator of CTC-CRF over vectors of states. Sums are float32 probabilities, multiplied at each frame by a
 * power of 2 that brings the sum over all states near 2^96 (alpha) or 1 (beta):
 *
 *   alpha:  s = on + off
 *           into(next(h, q)) = sum over sources h of a group of s(h) weight(h, q)         a product by a dense matrix
 *           into(repeated(h)) += off(h) repeat(h)
 *           on'(h) = (on(h) + into(h)) u(last h)        off'(h) = s(h) u(blank)
 *   beta:   with its own frame's emission: e(h) = on(h) u(last h), f(h) = off(h) u(blank)
 *           out(h) = f(h) + sum over q of e(next(h, q)) weight(h, q)                      by its transposed
 *           on'(h) = out(h) + e(h)       off'(h) = out(h) + e(repeated(h)) repeat(h)
 *
 * with u the softmax of a frame. The occupancies of a frame are alpha * beta divided by their own sum, so the powers of
 * 2 cancel and errors do not grow along the sequence.
 *
 * States below 2^-222 of a frame's sum are 0. In a smooth graph (graph->smooth) each history can be followed by each
 * label, so the betas of two states differ by the probabilities of a few labels, and what is lost does not matter.
 * The reference takes over for other graphs, and where a sum is 0 or not finite. */
#ifndef LINNET_DENOMINATOR_VEC_H
#define LINNET_DENOMINATOR_VEC_H

#include "base/arena.h"
#include "ops/denominator.h"
#include "ops/vec.h"

enum { DENOMINATOR_ALPHA_EXPONENT = 96, DENOMINATOR_TILE = 4 /* vectors */ };

struct denominator_vec {
  const struct linnet_denominator *d;
  const struct linnet_denominator_graph *g;
  float *alpha;      /* (frames + 1, 2, states): on and off, before frame 0, after frame 0 ... */
  float *posteriors; /* (frames, columns): u, then the occupancies minus u */
  float *on, *off;   /* (states): beta */
  float *sum, *into; /* (states): s or e; into or out */
  float *emission;   /* (states): u(last h) */
  float *row;        /* (max(columns, width)): of one group */
  vf *occupied;      /* (symbols) */
  bool *uniform;     /* (states / LINNET_DENOMINATOR_BLOCK): all states of the block have the same last label */
  int64_t exponents; /* of the powers of 2 in alpha */
};

/* --- products ----------------------------------------------------------------------------------------------------- */

/* y (n vectors) = the sum over i of x_i * row i of m (rows, stride) */
VEC_INLINE void denominator_tile(size_t rows, size_t stride, const float *x, const float *m, float *y, const size_t n) {
  vf sum[DENOMINATOR_TILE];
  VEC_UNROLL
  for (size_t j = 0; j < n; j++)
    sum[j] = vf_set(0);
  for (size_t i = 0; i < rows; i++, m += stride)
    VEC_UNROLL
  for (size_t j = 0; j < n; j++)
    sum[j] += vf_load(m + j * VW) * x[i];
  VEC_UNROLL
  for (size_t j = 0; j < n; j++)
    vf_store(y + j * VW, sum[j]);
}

/* y (width) = x (rows) times m (rows, width) */
static void denominator_product(size_t rows, size_t width, const float *x, const float *m, float *y) {
  size_t left = width / VW, step;
  for (; left > 0; left -= step, m += step * VW, y += step * VW) {
    step = linnet_min_size(left, DENOMINATOR_TILE);
    if (step == 4)
      denominator_tile(rows, width, x, m, y, 4);
    else if (step == 3)
      denominator_tile(rows, width, x, m, y, 3);
    else if (step == 2)
      denominator_tile(rows, width, x, m, y, 2);
    else
      denominator_tile(rows, width, x, m, y, 1);
  }
}

/* --- blocks of states --------------------------------------------------------------------------------------------- */

/* Sets v->emission from the probabilities of a frame. */
static void denominator_emit(struct denominator_vec *v, const float *u) {
  const uint32_t *last = v->g->last;
  for (size_t h = 0; h < v->g->states; h += LINNET_DENOMINATOR_BLOCK)
    if (v->uniform[h / LINNET_DENOMINATOR_BLOCK])
      for (size_t i = 0; i < LINNET_DENOMINATOR_BLOCK; i += VW)
        vf_store(v->emission + h + i, vf_set(u[last[h]]));
    else
      for (size_t i = 0; i < LINNET_DENOMINATOR_BLOCK; i++)
        v->emission[h + i] = u[last[h + i]];
}

/* into(repeated(h)) += off(h) repeat(h) */
static void denominator_repeat(struct denominator_vec *v, const float *off) {
  const struct linnet_denominator_graph *g = v->g;
  for (size_t h = 0; h < g->states; h += LINNET_DENOMINATOR_BLOCK) {
    vf sum = vf_set(0);
    if (v->uniform[h / LINNET_DENOMINATOR_BLOCK]) {
      for (size_t i = h; i < h + LINNET_DENOMINATOR_BLOCK; i += VW)
        sum += vf_load(off + i) * vf_load(g->repeat + i);
      v->into[g->repeated[h]] += vf_sum(sum);
    } else
      for (size_t i = h; i < h + LINNET_DENOMINATOR_BLOCK; i++)
        v->into[g->repeated[i]] += off[i] * g->repeat[i];
  }
}

/* e(repeated(h)) repeat(h), into v->emission */
static void denominator_repeated(struct denominator_vec *v, const float *e) {
  const struct linnet_denominator_graph *g = v->g;
  for (size_t h = 0; h < g->states; h += LINNET_DENOMINATOR_BLOCK)
    if (v->uniform[h / LINNET_DENOMINATOR_BLOCK])
      for (size_t i = h; i < h + LINNET_DENOMINATOR_BLOCK; i += VW)
        vf_store(v->emission + i, vf_load(g->repeat + i) * e[g->repeated[h]]);
    else
      for (size_t i = h; i < h + LINNET_DENOMINATOR_BLOCK; i++)
        v->emission[i] = g->repeat[i] * e[g->repeated[i]];
}

/* Adds alpha * beta of the states' last labels to v->occupied. */
static void denominator_occupy(struct denominator_vec *v, const float *alpha) {
  const uint32_t *last = v->g->last;
  for (size_t h = 0; h < v->g->states; h += LINNET_DENOMINATOR_BLOCK)
    if (v->uniform[h / LINNET_DENOMINATOR_BLOCK])
      for (size_t i = h; i < h + LINNET_DENOMINATOR_BLOCK; i += VW)
        v->occupied[last[h]] += vf_load(alpha + i) * vf_load(v->on + i);
    else
      for (size_t i = h; i < h + LINNET_DENOMINATOR_BLOCK; i++)
        v->occupied[last[i]][0] += alpha[i] * v->on[i];
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

/* The power of 2 that brings `sum` to [2^to, 2^(to + 1)); its exponent is added to *exponents. */
static float denominator_scale(float sum, int to, int64_t *exponents) {
  int exponent = to + 1;
  frexpf(sum, &exponent);
  *exponents += to + 1 - exponent;
  return ldexpf(1, to + 1 - exponent);
}

/* Softmax of a frame; false if it has no distribution. */
static bool denominator_softmax(size_t symbols, const float *x, float *u) {
  const float largest = vf_row_largest(symbols, x);
  vf total = vf_set(0);
  for (size_t k = 0; k < symbols; k += VW) {
    size_t n = linnet_min_size(VW, symbols - k);
    vf p = vf_exp_negative(vf_load_part(x + k, n) - largest);
    vf_store_part(u + k, p, n);
    total += vf_select(vi_first(n), p, vf_set(0));
  }
  const float sum = vf_sum(total);
  for (size_t k = 0; k < symbols; k++)
    u[k] *= 1 / sum;
  return sum >= 1 && sum < INFINITY;
}

static void denominator_forward_groups(struct denominator_vec *v) {
  const struct linnet_denominator_graph *g = v->g;
  memset(v->into, 0, g->states * sizeof *v->into);
  for (size_t i = 0; i < g->groups; i++) {
    const struct linnet_denominator_group *group = &g->group[i];
    const uint32_t *next = g->next + i * g->columns;
    denominator_product(group->sources, g->columns, v->sum + group->start, g->weight + group->start * g->columns,
                        v->row);
    for (size_t q = 1; q < g->symbols; q++)
      v->into[next[q]] += v->row[q];
  }
}

/* Computes a row of alpha from the one before, `before`, whose sum is `total`; returns the sum. */
static float denominator_forward_frame(struct denominator_vec *v, const float *before, const float *u, float total) {
  const size_t states = v->g->states;
  const float scale = denominator_scale(total, DENOMINATOR_ALPHA_EXPONENT, &v->exponents), blank = u[0] * scale;
  const float *on = before, *off = before + states;
  float *after = v->alpha + (before - v->alpha) + 2 * states;
  vf sum = vf_set(0);
  for (size_t h = 0; h < states; h += VW)
    vf_store(v->sum + h, vf_load(on + h) + vf_load(off + h));
  denominator_forward_groups(v);
  denominator_repeat(v, off);
  denominator_emit(v, u);
  for (size_t h = 0; h < states; h += VW) {
    vf a = (vf_load(on + h) + vf_load(v->into + h)) * (vf_load(v->emission + h) * scale);
    vf b = vf_load(v->sum + h) * blank;
    vf_store(after + h, a);
    vf_store(after + states + h, b);
    sum += a + b;
  }
  return vf_sum(sum);
}

/* The probability of the end, not counting v->exponents; 0 or not finite: ask the reference. */
static float denominator_forward(struct denominator_vec *v) {
  const struct linnet_denominator_graph *g = v->g;
  float total = 1;
  memset(v->alpha, 0, 2 * g->states * sizeof *v->alpha);
  v->alpha[g->states + g->begin] = 1;
  for (size_t t = 0; t < v->d->frames; t++) {
    float *u = v->posteriors + t * g->columns;
    if (!denominator_softmax(g->symbols, v->d->logits + t * g->symbols, u))
      return NAN;
    total = denominator_forward_frame(v, v->alpha + t * 2 * g->states, u, total);
    if (!(total > 0 && total < INFINITY))
      return NAN;
  }
  const float *on = v->alpha + v->d->frames * 2 * g->states, *off = on + g->states;
  vf sum = vf_set(0);
  for (size_t h = 0; h < g->states; h += VW)
    sum += (vf_load(on + h) + vf_load(off + h)) * vf_load(g->finish + h);
  return vf_sum(sum);
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

/* Replaces the probabilities of a frame by the occupancies minus them. Returns false if the sum is 0 or not finite. */
static bool denominator_occupancies(struct denominator_vec *v, const float *alpha, float *u) {
  const struct linnet_denominator_graph *g = v->g;
  vf blanks = vf_set(0);
  float sum = 0;
  for (size_t k = 0; k < g->symbols; k++)
    v->occupied[k] = blanks;
  denominator_occupy(v, alpha);
  for (size_t h = 0; h < g->states; h += VW)
    blanks += vf_load(alpha + g->states + h) * vf_load(v->off + h);
  v->occupied[0] += blanks;
  for (size_t k = 0; k < g->symbols; k++)
    sum += v->row[k] = vf_sum(v->occupied[k]);
  for (size_t k = 0; k < g->symbols; k++)
    u[k] = v->row[k] / sum - u[k];
  return sum > 0 && sum < INFINITY;
}

/* v->into = out without f: the arcs to other labels, from v->sum = e. */
static void denominator_backward_groups(struct denominator_vec *v) {
  const struct linnet_denominator_graph *g = v->g;
  for (size_t i = 0; i < g->groups; i++) {
    const struct linnet_denominator_group *group = &g->group[i];
    const uint32_t *next = g->next + i * g->columns;
    for (size_t q = 1; q < g->symbols; q++)
      v->row[q] = v->sum[next[q]];
    denominator_product(g->symbols - 1, group->width, v->row + 1,
                        g->transposed + group->start * g->symbols + group->width, v->into + group->start);
  }
}

/* Computes beta before a frame from beta after it, whose sum is `total`; returns the sum. */
static float denominator_backward_frame(struct denominator_vec *v, float blank, float total) {
  const size_t states = v->g->states;
  int64_t unused = 0;
  const float scale = denominator_scale(total, 0, &unused);
  vf sum = vf_set(0);
  for (size_t h = 0; h < states; h += VW)
    vf_store(v->sum + h, vf_load(v->on + h) * (vf_load(v->emission + h) * scale));
  denominator_backward_groups(v);
  denominator_repeated(v, v->sum);
  for (size_t h = 0; h < states; h += VW) {
    vf out = vf_load(v->into + h) + vf_load(v->off + h) * (blank * scale);
    vf a = out + vf_load(v->sum + h), b = out + vf_load(v->emission + h);
    vf_store(v->on + h, a);
    vf_store(v->off + h, b);
    sum += a + b;
  }
  return vf_sum(sum);
}

/* Replaces all posteriors; false: ask the reference. */
static bool denominator_backward(struct denominator_vec *v) {
  const struct linnet_denominator_graph *g = v->g;
  float total = 1;
  memcpy(v->on, g->finish, g->states * sizeof *v->on);
  memcpy(v->off, g->finish, g->states * sizeof *v->off);
  for (size_t t = v->d->frames; t-- > 0;) {
    float *u = v->posteriors + t * g->columns, blank = u[0];
    denominator_emit(v, u);
    if (!denominator_occupancies(v, v->alpha + (t + 1) * 2 * g->states, u))
      return false;
    if (t > 0)
      total = denominator_backward_frame(v, blank, total);
  }
  return true;
}

/* --- the op ------------------------------------------------------------------------------------------------------- */

static void denominator_lay_out(struct denominator_vec *v, void *work) {
  const struct linnet_denominator_graph *g = v->g;
  struct linnet_arena arena = {.base = linnet_align_up(work, 64), .size = SIZE_MAX};
  size_t widest = linnet_max_size(g->states, g->columns);
  v->alpha = linnet_arena_take(&arena, (v->d->frames + 1) * 2 * g->states, sizeof(float));
  v->posteriors = linnet_arena_take(&arena, v->d->frames * g->columns, sizeof(float));
  v->on = linnet_arena_take(&arena, g->states, sizeof(float));
  v->off = linnet_arena_take(&arena, g->states, sizeof(float));
  v->sum = linnet_arena_take(&arena, g->states, sizeof(float));
  v->into = linnet_arena_take(&arena, g->states, sizeof(float));
  v->emission = linnet_arena_take(&arena, g->states, sizeof(float));
  v->row = linnet_arena_take(&arena, widest, sizeof(float));
  v->occupied = linnet_arena_take(&arena, g->symbols, sizeof(vf));
  v->uniform = linnet_arena_take(&arena, g->states / LINNET_DENOMINATOR_BLOCK, 1);
}

static void denominator_find_uniform(struct denominator_vec *v) {
  const uint32_t *last = v->g->last;
  for (size_t h = 0; h < v->g->states; h += LINNET_DENOMINATOR_BLOCK) {
    bool uniform = true;
    for (size_t i = h; i < h + LINNET_DENOMINATOR_BLOCK; i++)
      uniform = uniform && last[i] == last[h];
    v->uniform[h / LINNET_DENOMINATOR_BLOCK] = uniform;
  }
}

static void denominator_add(const struct denominator_vec *v) {
  size_t symbols = v->g->symbols;
  for (size_t t = 0; t < v->d->frames; t++)
    for (size_t k = 0; k < symbols; k++)
      v->d->gradient_add[t * symbols + k] += v->d->scale * v->posteriors[t * v->g->columns + k];
}

static double denominator_vec(const struct linnet_denominator *d, void *work) {
  struct denominator_vec v = {.d = d, .g = d->graph};
  if (!d->graph->smooth)
    return linnet_denominator_reference(d, work);
  denominator_lay_out(&v, work);
  denominator_find_uniform(&v);
  float total = denominator_forward(&v);
  if (!(total > 0 && total < INFINITY) || (d->gradient_add && !denominator_backward(&v)))
    return linnet_denominator_reference(d, work);
  if (d->gradient_add)
    denominator_add(&v);
  return log((double)total) - (double)v.exponents * M_LN2;
}

#endif
