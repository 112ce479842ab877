/* CTC over vectors of states. The lattice stores each state's probability as m * 2^e, with a float m and an integer e.
 * Like logarithms, these numbers neither overflow nor underflow. Sums need no exponential and no logarithm, and keep 24
 * bits, while the logarithm of a long sequence keeps 13.
 *
 * States: label i and the blank after it are lane i % VW of chunk i / VW. The blank before all labels is stored
 * separately (`lead`). With u_t(k) = exp(logit_t(k)) / 2^n_t, where n_t makes the largest u_t(k) of a frame about 1
 * (u_t is not normalised):
 *
 *   alpha: lead' = lead u(0)        blank'_i = (blank_i + label_i) u(0)
 *          label'_i = (label_i + blank_{i-1} + [label_{i-1}]) u(l_i)        where the skip [] is allowed
 *   beta:  the same backwards, with the emission of its own frame included
 *
 * and loss = sum_t log Z_t - log P, Z_t = sum_k u_t(k). Sums align on the largest exponent: terms below 2^-127 of it
 * are dropped. Mantissas grow by at most 2^2.1 a frame; every 16 frames they are normalised to [1, 2).
 *
 * At frame t, only labels are computed that a path can reach in t frames and from which it can finish in the remaining
 * frames. Other lanes hold old values or zero; no path that contributes reads them.
 *
 * An impossible symbol (-infinity) gets the logit CTC_IMPOSSIBLE. The reference takes over if the best path is that
 * improbable, if logits form no distribution or are too large, or if there are more frames than an exponent can count.
 */
#ifndef LINNET_CTC_VEC_H
#define LINNET_CTC_VEC_H

#include "base/arena.h"
#include "ops/ctc.h"
#include "ops/vec.h"

enum {
  CTC_PERIOD = 16,             /* frames between normalisations */
  CTC_ZERO = -(1 << 28),       /* exponent of zero */
  CTC_IMPROBABLE = -(1 << 21), /* a total with a smaller exponent is left to the reference */
  CTC_FRAMES = 1 << 18         /* maximum number of frames, for the same reason */
};
#define CTC_IMPOSSIBLE (-0x1p21f)
#define CTC_EXCESSIVE 0x1p18f /* maximum of a frame's largest logit, in size */

struct ctc_number {
  vf m;
  vi e;
};

struct ctc_chunk {
  struct ctc_number label, blank;
};

struct ctc_lead {
  float m;
  int32_t e;
};

struct ctc_row {
  float largest, inverse_sum; /* of exp(logit - largest) */
};

struct ctc_vec {
  struct ctc_number blank; /* u(0) of one frame */
  const struct linnet_ctc *c;
  size_t chunks;             /* labels / VW, rounded up */
  struct ctc_chunk *alpha;   /* (frames, chunks) */
  struct ctc_lead *leads;    /* (frames): alpha of the first blank */
  struct ctc_row *rows;      /* (frames) */
  struct ctc_chunk *now;     /* (chunks + 1): alpha or beta of one frame; the last chunk is zero */
  vi *skip_in, *skip_out;    /* (chunks): 0 where label i may directly follow i-1, or i+1 follow i; else CTC_ZERO */
  float *logits, *occupancy; /* (chunks * VW): of the labels at one frame */
  struct ctc_lead lead;
  struct ctc_lead total; /* P */
  int32_t shift;         /* n_t of that frame */
};

/* --- Numbers */

VEC_INLINE struct ctc_number ctc_nothing(void) {
  return (struct ctc_number){vf_set(1), vi_set(CTC_ZERO)};
}

/* 2^d for -127 < d < 128; 0 for smaller d. */
VEC_INLINE vf ctc_power(vi d) {
  return (vf)(vi_max(d + 127, vi_set(0)) << 23);
}

VEC_INLINE struct ctc_number ctc_add(struct ctc_number a, struct ctc_number b) {
  vi e = vi_max(a.e, b.e);
  return (struct ctc_number){a.m * ctc_power(a.e - e) + b.m * ctc_power(b.e - e), e};
}

VEC_INLINE struct ctc_number ctc_add3(struct ctc_number a, struct ctc_number b, struct ctc_number c) {
  vi e = vi_max(vi_max(a.e, b.e), c.e);
  return (struct ctc_number){a.m * ctc_power(a.e - e) + b.m * ctc_power(b.e - e) + c.m * ctc_power(c.e - e), e};
}

VEC_INLINE struct ctc_number ctc_multiply(struct ctc_number a, struct ctc_number b) {
  return (struct ctc_number){a.m * b.m, a.e + b.e};
}

VEC_INLINE struct ctc_number ctc_normalise(struct ctc_number a) {
  vi bits = (vi)a.m;
  return (struct ctc_number){(vf)((bits & 0x007fffff) | 0x3f800000),
                             vi_max(a.e + (bits >> 23) - 127, vi_set(CTC_ZERO))};
}

/* e^x / 2^shift */
VEC_INLINE struct ctc_number ctc_exp(vf x, int32_t shift) {
  vf n, m = vf_exp_parts(vf_max(x, vf_set(CTC_IMPOSSIBLE)), &n);
  return (struct ctc_number){m, vi_from(n) - shift};
}

/* n_t */
static int32_t ctc_shift(float largest) {
  return (int32_t)(largest * 0x1.715476p0f);
}

/* Lane i is lane i - 1 of `a`; lane 0 is the last lane of `before`. */
VEC_INLINE struct ctc_number ctc_up(struct ctc_number before, struct ctc_number a) {
#if VW == 16
#define CTC_LANES_UP 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
#define CTC_LANES_DOWN 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
#elif VW == 8
#define CTC_LANES_UP 7, 8, 9, 10, 11, 12, 13, 14
#define CTC_LANES_DOWN 1, 2, 3, 4, 5, 6, 7, 8
#else
#define CTC_LANES_UP 3, 4, 5, 6
#define CTC_LANES_DOWN 1, 2, 3, 4
#endif
  return (struct ctc_number){__builtin_shufflevector(before.m, a.m, CTC_LANES_UP),
                             __builtin_shufflevector(before.e, a.e, CTC_LANES_UP)};
}

/* Lane i is lane i + 1 of `a`; the last lane is lane 0 of `after`. */
VEC_INLINE struct ctc_number ctc_down(struct ctc_number a, struct ctc_number after) {
  return (struct ctc_number){__builtin_shufflevector(a.m, after.m, CTC_LANES_DOWN),
                             __builtin_shufflevector(a.e, after.e, CTC_LANES_DOWN)};
}

VEC_INLINE struct ctc_number ctc_penalise(struct ctc_number a, vi penalty) {
  return (struct ctc_number){a.m, a.e + penalty};
}

static float ctc_scalar_power(int32_t d) {
  int32_t bits = d > -127 ? (int32_t)((uint32_t)(d + 127) << 23) : 0;
  float power;
  memcpy(&power, &bits, sizeof power);
  return power;
}

static struct ctc_lead ctc_lead_add(struct ctc_lead a, struct ctc_lead b) {
  int32_t e = a.e > b.e ? a.e : b.e;
  return (struct ctc_lead){a.m * ctc_scalar_power(a.e - e) + b.m * ctc_scalar_power(b.e - e), e};
}

static struct ctc_lead ctc_lead_multiply(struct ctc_lead a, struct ctc_lead b) {
  return (struct ctc_lead){a.m * b.m, a.e + b.e};
}

static struct ctc_lead ctc_lead_normalise(struct ctc_lead a) {
  int32_t bits;
  memcpy(&bits, &a.m, sizeof bits);
  int32_t e = a.e + (bits >> 23) - 127;
  bits = (bits & 0x007fffff) | 0x3f800000;
  memcpy(&a.m, &bits, sizeof bits);
  return (struct ctc_lead){a.m, e > CTC_ZERO ? e : CTC_ZERO};
}

static inline struct ctc_lead ctc_lane(struct ctc_number a, size_t i) {
  return (struct ctc_lead){a.m[i], a.e[i]};
}

/* --- One frame of input */

/* Computes the largest logit and the sum of exponentials. Returns false if the frame has no distribution or too large
 * logits. NaN and +infinity always reach the sum, whatever the largest logit is. */
static bool ctc_read_row(size_t symbols, const float *x, struct ctc_row *row, float *sum) {
  const vf none = vf_set(0);
  size_t full = symbols / VW * VW, rest = symbols - full;
  vf total = none;
  row->largest = vf_row_largest(symbols, x);
  for (size_t k = 0; k < full; k += VW) {
    __builtin_prefetch(x + symbols + k); /* the next frame */
    total += vf_exp_negative(vf_load(x + k) - row->largest);
  }
  if (rest)
    total += vf_select(vi_first(rest), vf_exp_negative(vf_load_n(x + full, rest) - row->largest), none);
  *sum = vf_sum(total);
  row->inverse_sum = 1 / *sum;
  return *sum < INFINITY && fabsf(row->largest) <= CTC_EXCESSIVE;
}

/* Softmax times scale; y may be x. */
static void ctc_write_row(size_t symbols, const float *x, struct ctc_row row, float scale, float *y) {
  size_t full = symbols / VW * VW, rest = symbols - full;
  scale *= row.inverse_sum;
  for (size_t k = 0; k < full; k += VW) {
    __builtin_prefetch(x - symbols + k); /* the frame before */
    __builtin_prefetch(y - symbols + k, 1);
    vf_store(y + k, vf_exp_negative(vf_load(x + k) - row.largest) * scale);
  }
  if (rest)
    vf_store_n(y + full, vf_exp_negative(vf_load_n(x + full, rest) - row.largest) * scale, rest);
}

/* Chunks [*first, *end) contain all labels that a path can be at in frame t. */
static void ctc_band(const struct ctc_vec *v, size_t t, size_t *first, size_t *end) {
  size_t labels = v->c->labels, left = v->c->frames - t;
  *first = labels > left ? (labels - left) / VW : 0;
  *end = t / VW < v->chunks ? t / VW + 1 : v->chunks;
}

/* Computes u(0), and reads the logits of the labels in chunks [first, end). */
static void ctc_gather(struct ctc_vec *v, size_t t, size_t first, size_t end) {
  const float *x = v->c->logits + t * v->c->symbols;
  size_t last = linnet_min_size(end * VW, v->c->labels);
  for (size_t i = first * VW; i < last; i++)
    v->logits[i] = x[v->c->label[i]];
  v->shift = ctc_shift(v->rows[t].largest);
  v->blank = ctc_exp(vf_set(x[0]), v->shift);
}

/* --- Forward */

VEC_INLINE void ctc_forward_frame(struct ctc_vec *v, size_t t, const bool normalise) {
  size_t first, end;
  ctc_band(v, t, &first, &end);
  ctc_gather(v, t, first, end);
  const int32_t shift = v->shift;
  const struct ctc_lead lead = v->lead;
  struct ctc_chunk *now = v->now, *saved = v->c->gradient ? v->alpha + t * v->chunks : NULL, here;
  if (end > first)
    here = now[end - 1];
  for (size_t j = end; j-- > first;) {
    struct ctc_chunk before = {ctc_nothing(), {vf_set(lead.m), vi_set(lead.e)}}, after;
    if (j > 0)
      before = now[j - 1];
    struct ctc_number u = ctc_exp(vf_load(v->logits + j * VW), shift);
    struct ctc_number skipped = ctc_penalise(ctc_up(before.label, here.label), v->skip_in[j]);
    after.blank = ctc_multiply(ctc_add(here.blank, here.label), v->blank);
    after.label = ctc_multiply(ctc_add3(here.label, ctc_up(before.blank, here.blank), skipped), u);
    if (normalise)
      after = (struct ctc_chunk){ctc_normalise(after.label), ctc_normalise(after.blank)};
    now[j] = after;
    if (saved)
      saved[j] = after;
    here = before;
  }
  v->lead = ctc_lead_multiply(lead, ctc_lane(v->blank, 0));
  if (normalise)
    v->lead = ctc_lead_normalise(v->lead);
  if (saved)
    v->leads[t] = v->lead;
}

static void ctc_clear(struct ctc_vec *v) {
  v->lead = (struct ctc_lead){1, CTC_ZERO};
  for (size_t j = 0; j <= v->chunks; j++)
    v->now[j] = (struct ctc_chunk){ctc_nothing(), ctc_nothing()};
}

/* Computes alpha. Returns sum_t log Z_t, NaN if a frame has no distribution. */
static double ctc_forward(struct ctc_vec *v) {
  const struct linnet_ctc *c = v->c;
  double product = 1, log_sums = 0;
  ctc_clear(v);
  v->lead.e = 0;
  for (size_t t = 0; t < c->frames; t++) {
    float sum;
    if (!ctc_read_row(c->symbols, c->logits + t * c->symbols, &v->rows[t], &sum))
      return NAN;
    product *= sum;
    log_sums += v->rows[t].largest - ctc_shift(v->rows[t].largest) * M_LN2;
    if (product > 1e200) {
      log_sums += log(product);
      product = 1;
    }
    if (t % CTC_PERIOD == CTC_PERIOD - 1)
      ctc_forward_frame(v, t, true);
    else
      ctc_forward_frame(v, t, false);
  }
  return log_sums + log(product);
}

static struct ctc_lead ctc_total(const struct ctc_vec *v) {
  size_t labels = v->c->labels, last = labels - 1;
  if (labels == 0)
    return v->lead;
  const struct ctc_chunk *end = &v->now[last / VW];
  return ctc_lead_add(ctc_lane(end->label, last % VW), ctc_lane(end->blank, last % VW));
}

/* --- Backward */

/* alpha * beta / P * scale */
VEC_INLINE vf ctc_occupancy(struct ctc_number alpha, struct ctc_number beta, float scale, int32_t total) {
  return alpha.m * beta.m * scale * ctc_power(alpha.e + beta.e - total);
}

/* Computes beta of frame t, stores the occupancies of the labels, and returns that of the blank. */
VEC_INLINE float ctc_backward_frame(struct ctc_vec *v, size_t t, size_t first, size_t end, const bool normalise) {
  const float scale = v->c->scale / v->total.m;
  const int32_t shift = v->shift, total = v->total.e;
  struct ctc_chunk *now = v->now, here = now[first];
  const struct ctc_chunk *alpha = v->alpha + t * v->chunks;
  struct ctc_lead lead = v->lead;
  if (first == 0)
    lead = ctc_lead_add(lead, ctc_lane(here.label, 0));
  struct ctc_lead alpha_lead = v->leads[t];
  float lead_blank = alpha_lead.m * lead.m * scale * ctc_scalar_power(alpha_lead.e + lead.e - total);
  vf blanks = vf_set(0);
  for (size_t j = first; j < end; j++) {
    struct ctc_chunk after = now[j + 1], beta;
    struct ctc_number u = ctc_exp(vf_load(v->logits + j * VW), shift), next = ctc_down(here.label, after.label);
    beta.blank = ctc_add(here.blank, next);
    beta.label = ctc_add3(here.label, here.blank, ctc_penalise(next, v->skip_out[j]));
    blanks += ctc_occupancy(alpha[j].blank, beta.blank, scale, total);
    vf_store(v->occupancy + j * VW, ctc_occupancy(alpha[j].label, beta.label, scale, total));
    beta = (struct ctc_chunk){ctc_multiply(beta.label, u), ctc_multiply(beta.blank, v->blank)};
    if (normalise)
      beta = (struct ctc_chunk){ctc_normalise(beta.label), ctc_normalise(beta.blank)};
    now[j] = beta;
    here = after;
  }
  v->lead = ctc_lead_multiply(lead, ctc_lane(v->blank, 0));
  if (normalise)
    v->lead = ctc_lead_normalise(v->lead);
  return lead_blank + vf_sum(blanks);
}

static void ctc_backward(struct ctc_vec *v) {
  const struct linnet_ctc *c = v->c;
  ctc_clear(v);
  if (c->labels == 0)
    v->lead.e = 0;
  else
    v->now[(c->labels - 1) / VW].blank.e[(c->labels - 1) % VW] = 0;
  for (size_t t = c->frames; t-- > 0;) {
    float *gradient = c->gradient + t * c->symbols, blank;
    size_t first, end;
    ctc_band(v, t, &first, &end);
    ctc_gather(v, t, first, end);
    if (t % CTC_PERIOD == 0)
      blank = ctc_backward_frame(v, t, first, end, true);
    else
      blank = ctc_backward_frame(v, t, first, end, false);
    ctc_write_row(c->symbols, c->logits + t * c->symbols, v->rows[t], c->scale, gradient);
    gradient[0] -= blank;
    size_t last = linnet_min_size(end * VW, c->labels);
    for (size_t i = first * VW; i < last; i++)
      gradient[c->label[i]] -= v->occupancy[i];
  }
}

/* --- The op */

static void ctc_skips(struct ctc_vec *v) {
  const int *label = v->c->label;
  int32_t *in = (int32_t *)v->skip_in, *out = (int32_t *)v->skip_out;
  for (size_t i = 0; i < v->chunks * VW; i++) {
    in[i] = i > 0 && i < v->c->labels && label[i] != label[i - 1] ? 0 : CTC_ZERO;
    out[i] = i + 1 < v->c->labels && label[i] != label[i + 1] ? 0 : CTC_ZERO;
    v->logits[i] = -INFINITY; /* for the lanes beyond the labels */
  }
}

static void ctc_lay_out(struct ctc_vec *v, void *work) {
  struct linnet_arena arena = {.base = linnet_align_up(work, 64), .size = SIZE_MAX};
  size_t chunks = v->chunks, frames = v->c->frames;
  v->alpha = linnet_arena_take(&arena, frames * chunks, sizeof *v->alpha);
  v->leads = linnet_arena_take(&arena, frames, sizeof *v->leads);
  v->rows = linnet_arena_take(&arena, frames, sizeof *v->rows);
  v->now = linnet_arena_take(&arena, chunks + 1, sizeof *v->now);
  v->skip_in = linnet_arena_take(&arena, chunks, sizeof(vi));
  v->skip_out = linnet_arena_take(&arena, chunks, sizeof(vi));
  v->logits = linnet_arena_take(&arena, chunks, sizeof(vf));
  v->occupancy = linnet_arena_take(&arena, chunks, sizeof(vf));
}

static double ctc_vec(const struct linnet_ctc *c, void *work) {
  struct ctc_vec v = {.c = c, .chunks = linnet_divide_up(c->labels, VW)};
  if (c->frames == 0 || c->frames > CTC_FRAMES || linnet_ctc_min_frames(c->label, c->labels) > c->frames)
    return linnet_ctc_reference(c, work);
  ctc_lay_out(&v, work);
  ctc_skips(&v);
  double log_sums = ctc_forward(&v);
  if (isnan(log_sums))
    return linnet_ctc_reference(c, work);
  v.total = ctc_total(&v);
  if (v.total.e < CTC_IMPROBABLE)
    return linnet_ctc_reference(c, work);
  if (c->gradient)
    ctc_backward(&v);
  return log_sums - (double)v.total.e * M_LN2 - log((double)v.total.m);
}

#endif
