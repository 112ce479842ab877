/* The body of weighted linear attention, for the C reference and for each instruction set. The file that includes it
 * defines weighted_elu(n, x, phi).
 *
 * Sequence by sequence and head by head. The weights are products of features of queries and keys, f_i . f_j g^|i - j|:
 * cosine locality has two features for each of phi, [phi cos(a t), phi sin(a t)]; rotary positions turn pairs of
 * features. Sums with such weights,
 *
 *   out_i = sum_j g^|i - j| (u_i . x_j) y_j    for rows u, x (T, F) and y, out (T, M)
 *
 * need one state sum_j x_j y_j^T (F, M), or, where weights decay, one running state in each direction of time. Forward
 * is n = sums(fq, fk, v). The gradients are sums of the same form, with dn of the numerators and ds of s:
 *
 *   dv = sums(fk, fq, dn)    dfq = sums(dn, v, fk)    dfk = sums(v, dn, fq)
 *   dgq_i = ds_i sum_j g^|i - j| gk_j                 dgk_j = sum_i g^|i - j| ds_i gq_i
 *
 * where g are the features without rotary positions, so that s_i = gq_i . sum_j g^|i - j| gk_j. */
#include <string.h>

#include "base/arena.h"
#include "ops/linear_attention.h"

/* The features of queries or keys of a head, (T, G) each; `turned` is `plain` without rotary positions. */
struct weighted_features {
  real *plain, *turned;
};

/* One head of one sequence. */
struct weighted_head {
  const struct linnet_attention *a;
  struct linnet_weighting weighting;
  size_t rows, features; /* T, G */
  real decay;
  real scale;                    /* of the weights */
  real *locality;                /* (T, 2): cosine and sine of cosine locality */
  real *turns;                   /* (T, C / 2, 2): cosine and sine of rotary positions */
  struct weighted_features q, k; /* of queries and keys */
  real *v, *n;                   /* (T, M): values; numerators, or their gradients */
  real *mean, *dmean;            /* (M): the mean value and its gradient */
  real *sums, *gradient;         /* (T, max(G, M)) */
  real *ones, *ds;               /* (T) */
  real *state;                   /* (G, M) */
};

/* --- weighted sums ------------------------------------------------------------------------------------------------ */

/* state (F, M) = decay * state + x y^T */
static void weighted_add_row(size_t f, size_t m, real decay, const real *x, const real *restrict y,
                             real *restrict state) {
  for (size_t c = 0; c < f; c++, state += m)
    for (size_t j = 0; j < m; j++)
      state[j] = decay * state[j] + x[c] * y[j];
}

/* out (M) += scale u S */
static void weighted_read_row(size_t f, size_t m, real scale, const real *u, const real *restrict state,
                              real *restrict out) {
  for (size_t c = 0; c < f; c++, state += m) {
    real factor = scale * u[c];
    for (size_t j = 0; j < m; j++)
      out[j] += factor * state[j];
  }
}

/* The formula above: u, x (T, F); y, out (T, M). */
static void weighted_sums(const struct weighted_head *h, size_t f, size_t m, const real *u, const real *x,
                          const real *y, real *out) {
  const bool decays = h->weighting.decay;
  memset(out, 0, h->rows * m * sizeof *out);
  memset(h->state, 0, f * m * sizeof *h->state);
  for (size_t t = 0; t < h->rows; t++) {
    weighted_add_row(f, m, h->decay, x + t * f, y + t * m, h->state);
    if (decays)
      weighted_read_row(f, m, 1, u + t * f, h->state, out + t * m);
  }
  if (decays)
    memset(h->state, 0, f * m * sizeof *h->state);
  for (size_t t = h->rows; t-- > 0;) {
    weighted_read_row(f, m, h->decay, u + t * f, h->state, out + t * m);
    if (decays)
      weighted_add_row(f, m, h->decay, x + t * f, y + t * m, h->state);
  }
}

/* --- positions ---------------------------------------------------------------------------------------------------- */

/* table[t * ld] = cos(angle t), then sin(angle t): each from the row before, in double. */
static void weighted_turn_column(size_t rows, double angle, real *table, size_t ld) {
  const double step_cosine = cos(angle), step_sine = sin(angle);
  double cosine = 1, sine = 0;
  for (size_t t = 0; t < rows; t++, table += ld) {
    table[0] = (real)cosine;
    table[1] = (real)sine;
    double next = cosine * step_cosine - sine * step_sine;
    sine = sine * step_cosine + cosine * step_sine;
    cosine = next;
  }
}

static void weighted_positions(const struct weighted_head *h) {
  const size_t pairs = h->a->key_width / 2;
  const double half_pi = 1.57079632679489661923;
  if (h->weighting.cosine)
    weighted_turn_column(h->rows, half_pi / (double)h->rows, h->locality, 2);
  for (size_t p = 0; h->weighting.rotary && p < pairs; p++)
    weighted_turn_column(h->rows, pow(10000, -2 * (double)p / (double)h->a->key_width), h->turns + 2 * p, 2 * pairs);
}

/* Turns the pairs of each half of the features, by -t with direction -1. */
static void weighted_turn(const struct weighted_head *h, real direction, const real *x, real *y) {
  const size_t width = h->a->key_width, pairs = width / 2, halves = h->rows * (h->features / width);
  for (size_t i = 0; i < halves; i++, x += width, y += width) {
    const real *turn = h->turns + i / (h->features / width) * 2 * pairs;
    for (size_t p = 0; p < pairs; p++, turn += 2) {
      real first = x[2 * p], second = x[2 * p + 1], sine = direction * turn[1];
      y[2 * p] = first * turn[0] - second * sine;
      y[2 * p + 1] = first * sine + second * turn[0];
    }
    if (width % 2 != 0)
      y[width - 1] = x[width - 1];
  }
}

/* --- queries, keys and values of a head --------------------------------------------------------------------------- */

static void weighted_load(const struct weighted_head *h, const real *x, const struct weighted_features *to) {
  const size_t width = h->a->key_width;
  real *g = to->plain;
  for (size_t t = 0; t < h->rows; t++, x += h->a->key_ld, g += h->features) {
    if (h->a->map == LINNET_MAP_IDENTITY)
      memcpy(g, x, width * sizeof *g);
    else
      weighted_elu(width, x, g);
    for (size_t c = 0; h->weighting.cosine && c < width; c++) {
      g[width + c] = g[c] * h->locality[2 * t + 1];
      g[c] *= h->locality[2 * t];
    }
  }
  if (h->weighting.rotary)
    weighted_turn(h, 1, to->plain, to->turned);
}

/* dx from dg; x gives the slope of elu, which is phi where that is below 1. */
static void weighted_store(const struct weighted_head *h, const real *x, const real *dg, real *dx) {
  const size_t width = h->a->key_width, ld = h->a->key_ld;
  for (size_t t = 0; t < h->rows; t++, x += ld, dx += ld, dg += h->features) {
    if (h->a->map == LINNET_MAP_IDENTITY)
      for (size_t c = 0; c < width; c++)
        dx[c] = 1;
    else
      weighted_elu(width, x, dx);
    for (size_t c = 0; c < width; c++) {
      real slope = dx[c] < 1 ? dx[c] : 1;
      dx[c] =
          slope * (h->weighting.cosine ? dg[c] * h->locality[2 * t] + dg[width + c] * h->locality[2 * t + 1] : dg[c]);
    }
  }
}

static void weighted_load_values(const struct weighted_head *h, const real *v) {
  const size_t width = h->a->width;
  memset(h->mean, 0, width * sizeof *h->mean);
  for (size_t t = 0; t < h->rows; t++)
    for (size_t j = 0; j < width; j++) {
      h->v[t * width + j] = v[t * h->a->value_ld + j];
      h->mean[j] += v[t * h->a->value_ld + j] / (real)h->rows;
    }
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static real *weighted_take(struct linnet_arena *arena, size_t rows, size_t width) {
  size_t count;
  return linnet_arena_take(arena, linnet_mul_size(rows, width, &count) ? count : SIZE_MAX, sizeof(real));
}

/* `kind` has several heads; the memory serves one after the other. */
static struct weighted_head weighted_plan(const struct linnet_attention *a, size_t rows, struct linnet_arena *arena) {
  struct weighted_head h = {.a = a, .weighting = linnet_weightings[a->kind], .rows = rows};
  h.features = a->key_width * (h.weighting.cosine ? 2 : 1);
  const size_t widest = h.features > a->width ? h.features : a->width;
  const bool rotary = h.weighting.rotary;
  h.scale = h.weighting.magnitude ? 1 / (real_sqrt((real)a->key_width) * (real)rows) : 1;
  h.locality = weighted_take(arena, h.weighting.cosine ? rows : 0, 2);
  h.turns = weighted_take(arena, rotary ? rows : 0, a->key_width);
  h.q.plain = weighted_take(arena, rows, h.features);
  h.k.plain = weighted_take(arena, rows, h.features);
  h.q.turned = rotary ? weighted_take(arena, rows, h.features) : h.q.plain;
  h.k.turned = rotary ? weighted_take(arena, rows, h.features) : h.k.plain;
  h.v = weighted_take(arena, rows, a->width);
  h.n = weighted_take(arena, rows, a->width);
  h.mean = weighted_take(arena, 2, a->width);
  h.dmean = h.mean ? h.mean + a->width : NULL;
  h.sums = weighted_take(arena, rows, widest);
  h.gradient = weighted_take(arena, rows, widest);
  h.ones = weighted_take(arena, rows, 1);
  h.ds = weighted_take(arena, rows, 1);
  h.state = weighted_take(arena, h.features, a->width > h.features ? a->width : h.features);
  return h;
}

/* (T, heads): s of each row, without scale. */
static size_t weighted_saved_bytes(const struct linnet_attention *a, size_t frames, size_t sequences) {
  (void)sequences;
  return frames * a->heads * sizeof(real);
}

static size_t weighted_work_bytes(const struct linnet_attention *a, size_t longest) {
  struct linnet_arena arena = {0};
  weighted_plan(a, longest, &arena);
  return arena.used;
}

/* Decides on the rows of a sequence in the memory of a call. */
static struct weighted_head weighted_sequence(const struct linnet_attention_call *c, size_t rows) {
  struct linnet_arena arena = {.base = c->work, .size = SIZE_MAX};
  struct weighted_head h = weighted_plan(c->attention, rows, &arena);
  weighted_positions(&h);
  for (size_t t = 0; t < rows; t++)
    h.ones[t] = 1;
  return h;
}

/* Reads the head `i` of the sequence whose first frame is `first`. */
static void weighted_read_head(const struct linnet_attention_call *c, struct weighted_head *h, size_t first, size_t i) {
  const struct linnet_attention *a = c->attention;
  const size_t at = first * a->key_ld + i * a->key_width;
  h->decay = h->weighting.decay ? (real)(1 - ldexp(1, -(int)(2 + a->first_head + i))) : 1;
  weighted_load(h, (const real *)c->q + at, &h->q);
  weighted_load(h, (const real *)c->k + at, &h->k);
  weighted_load_values(h, (const real *)c->v + first * a->value_ld + i * a->width);
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

static real weighted_dot(size_t n, const real *x, const real *y) {
  real sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}

/* The factor of the numerator of a row. s is scaled. */
static real weighted_factor(const struct weighted_head *h, real s) {
  return ((h->weighting.magnitude ? 1 : 0) + 1 / (s + (real)LINNET_ATTENTION_EPSILON)) * h->scale;
}

static real weighted_normaliser(const struct weighted_head *h, real sum) {
  return (sum < h->a->min_normaliser ? h->a->min_normaliser : sum) * h->scale;
}

static void weighted_forward_head(const struct weighted_head *h, real *saved, real *out) {
  const struct linnet_attention *a = h->a;
  const size_t features = h->features, width = a->width;
  weighted_sums(h, features, width, h->q.turned, h->k.turned, h->v, h->n);
  weighted_sums(h, 1, features, h->ones, h->ones, h->k.plain, h->sums);
  for (size_t t = 0; t < h->rows; t++) {
    real sum = weighted_dot(features, h->q.plain + t * features, h->sums + t * features);
    real s = weighted_normaliser(h, sum), factor = weighted_factor(h, s), offset = h->weighting.magnitude ? s : 0;
    saved[t * a->heads] = sum;
    for (size_t j = 0; j < width; j++)
      out[t * a->out_ld + j] = factor * h->n[t * width + j] - offset * h->mean[j];
  }
}

static void weighted_forward(const struct linnet_attention_call *c) {
  const struct linnet_attention *a = c->attention;
  const struct linnet_pack *p = c->pack;
  for (size_t s = 0; s < p->sequences; s++) {
    const size_t first = p->offsets[s];
    struct weighted_head h = weighted_sequence(c, p->offsets[s + 1] - first);
    for (size_t i = 0; i < a->heads; i++) {
      weighted_read_head(c, &h, first, i);
      weighted_forward_head(&h, (real *)c->saved + first * a->heads + i,
                            (real *)c->out + first * a->out_ld + i * a->width);
    }
  }
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

/* The gradients of numerators, normalisers and the mean value. With the factor b of a row and c = scale * s:
 * dn = b dout, and dc = -(n scale . dout) / (c + epsilon)^2, with magnitude also - mean . dout; dmean = -c dout. */
static void weighted_row_gradients(const struct weighted_head *h, const real *saved, const real *out,
                                   const real *dout) {
  const size_t width = h->a->width;
  memset(h->dmean, 0, width * sizeof *h->dmean);
  for (size_t t = 0; t < h->rows; t++, out += h->a->out_ld, dout += h->a->out_ld) {
    const real sum = saved[t * h->a->heads], s = weighted_normaliser(h, sum), factor = weighted_factor(h, s);
    const real offset = h->weighting.magnitude ? s : 0, shift = h->weighting.magnitude ? 1 : 0;
    const real inverse = 1 / (s + (real)LINNET_ATTENTION_EPSILON), mean_dot = weighted_dot(width, h->mean, dout);
    const real n_dot = (weighted_dot(width, out, dout) + offset * mean_dot) / factor;
    h->ds[t] = sum > h->a->min_normaliser ? -h->scale * (h->scale * inverse * inverse * n_dot + shift * mean_dot) : 0;
    for (size_t j = 0; j < width; j++) {
      h->n[t * width + j] = factor * dout[j];
      h->dmean[j] -= offset * dout[j];
    }
  }
}

static void weighted_values_gradient(const struct weighted_head *h, real *dv) {
  const size_t width = h->a->width;
  weighted_sums(h, h->features, width, h->k.turned, h->q.turned, h->n, h->gradient);
  for (size_t t = 0; t < h->rows; t++)
    for (size_t j = 0; j < width; j++)
      dv[t * h->a->value_ld + j] = h->gradient[t * width + j] + h->dmean[j] / (real)h->rows;
}

/* h->gradient += factors_i sums_i, behind turning it back. */
static void weighted_features_gradient(const struct weighted_head *h, const real *factors) {
  if (h->weighting.rotary)
    weighted_turn(h, -1, h->gradient, h->gradient);
  for (size_t t = 0; t < h->rows; t++)
    for (size_t c = 0; c < h->features; c++)
      h->gradient[t * h->features + c] += factors[t] * h->sums[t * h->features + c];
}

static void weighted_backward_head(const struct weighted_head *h, const real *q, const real *k, real *dq, real *dk,
                                   real *dv) {
  const size_t features = h->features, width = h->a->width;
  weighted_values_gradient(h, dv);
  weighted_sums(h, width, features, h->n, h->v, h->k.turned, h->gradient);
  weighted_sums(h, 1, features, h->ones, h->ones, h->k.plain, h->sums);
  weighted_features_gradient(h, h->ds);
  weighted_store(h, q, h->gradient, dq);
  weighted_sums(h, width, features, h->v, h->n, h->q.turned, h->gradient);
  weighted_sums(h, 1, features, h->ones, h->ds, h->q.plain, h->sums);
  weighted_features_gradient(h, h->ones);
  weighted_store(h, k, h->gradient, dk);
}

static void weighted_backward(const struct linnet_attention_call *c) {
  const struct linnet_attention *a = c->attention;
  const struct linnet_pack *p = c->pack;
  for (size_t s = 0; s < p->sequences; s++) {
    const size_t first = p->offsets[s];
    struct weighted_head h = weighted_sequence(c, p->offsets[s + 1] - first);
    for (size_t i = 0; i < a->heads; i++) {
      const size_t in = first * a->key_ld + i * a->key_width, out = first * a->out_ld + i * a->width;
      weighted_read_head(c, &h, first, i);
      weighted_row_gradients(&h, (const real *)c->saved + first * a->heads + i, (const real *)c->out + out,
                             (const real *)c->dout + out);
      weighted_backward_head(&h, (const real *)c->q + in, (const real *)c->k + in, (real *)c->dq + in,
                             (real *)c->dk + in, (real *)c->dv + first * a->value_ld + i * a->width);
    }
  }
}
