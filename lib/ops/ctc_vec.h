/* CTC over vectors of states. The lattice is kept as numbers m * 2^e, m a float and e an integer per state, which adds
 * like a log domain (no range to fall out of) but without exponentials and logarithms, and keeps 24 bits where the
 * logarithm of a long sequence keeps 13.
 *
 * States: label i and the blank after it are lane i % VW of chunk i / VW; the blank before all labels stands apart
 * (`lead`). With u_t(k) = exp(logit_t(k) - largest logit of t), not normalised:
 *
 *   alpha: lead' = lead u(0)        blank'_i = (blank_i + label_i) u(0)
 *          label'_i = (label_i + blank_{i-1} + [label_{i-1}]) u(l_i)        where the skip [] is allowed
 *   beta:  the same backwards, with the emission of its own frame included
 *
 * and loss = sum_t log Z_t - log P, Z_t = sum_k u_t(k). Sums align on the largest exponent: what is 2^-127 of it is
 * nothing. Mantissas are left to grow, at most 2^2.1 a frame, and brought back to [1, 2) every 16 frames.
 *
 * Of frame t only the labels that t frames reach, and that the frames left can finish from, are computed. Lanes
 * outside are stale or zero; they never meet a path that counts.
 *
 * An impossible symbol (-infinity) has the exponent of CTC_IMPOSSIBLE. Where the best path is that improbable, where
 * the input is no distribution, or has more frames than an exponent can count, the reference decides. */

enum {
  CTC_PERIOD = 16,                 /* frames between normalisations */
  CTC_ZERO = -(1 << 28),           /* exponent of nothing */
  CTC_IMPROBABLE = -(1 << 21),     /* of a total that is left to the reference */
  CTC_FRAMES = 1 << 18             /* no more than this, for the same reason */
};
#define CTC_IMPOSSIBLE (-2097152.0f) /* the least exponent of e; 2^22 in powers of 2 */

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
  float largest, inverse_sum;
};

struct ctc_vec {
  const struct linnet_ctc *c;
  size_t chunks;            /* (labels / VW), rounded up */
  struct ctc_chunk *now;    /* (chunks + 1): alpha or beta of one frame; the last is nothing */
  vi *skip;                 /* (chunks + 1): 0 where label i may follow label i-1 directly, else CTC_ZERO */
  struct ctc_number *u;     /* (chunks) of the labels, and of the blank below */
  float *x;                 /* (chunks * VW): logits of the labels, later their occupancies */
  struct ctc_number u_blank;
  struct ctc_lead now_lead;
  struct ctc_chunk *alpha;  /* (frames, chunks) */
  struct ctc_lead *lead;    /* (frames) */
  struct ctc_row *rows;     /* (frames) */
};

/* --- Numbers */

VEC_INLINE struct ctc_number ctc_nothing(void) { return (struct ctc_number){vf_set(1), vi_set(CTC_ZERO)}; }

/* 2^d for -127 < d < 128, 0 below. */
VEC_INLINE vf ctc_power(vi d) { return (vf)(vi_max(d + 127, vi_set(0)) << 23); }

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
  return (struct ctc_number){(vf)((bits & 0x007fffff) | 0x3f800000), vi_max(a.e + (bits >> 23) - 127, vi_set(CTC_ZERO))};
}

/* e^x */
VEC_INLINE struct ctc_number ctc_exp(vf x) {
  vf n, m = vf_exp_parts(vf_max(x, vf_set(CTC_IMPOSSIBLE)), &n);
  return (struct ctc_number){m, vi_from(n)};
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

static inline struct ctc_lead ctc_lane(struct ctc_number a, size_t i) { return (struct ctc_lead){a.m[i], a.e[i]}; }

/* --- One frame of input */

/* Largest logit and the sum of exponentials. False if the frame has no distribution. */
static bool ctc_read_row(size_t symbols, const float *x, struct ctc_row *row, float *sum) {
  vf largest = vf_set(-INFINITY), odd = vf_set(0), total = vf_set(0);
  size_t k = 0;
  for (; k + VW <= symbols; k += VW) {
    vf v = vf_load(x + k);
    odd += v * 0.0f; /* NaN for NaN and the infinities */
    largest = vf_max(largest, v);
  }
  if (k < symbols)
    largest = vf_max(largest, vf_select(vi_first(symbols - k), vf_load_n(x + k, symbols - k), vf_set(-INFINITY)));
  row->largest = vf_largest(largest);
  (void)odd;
  for (k = 0; k + VW <= symbols; k += VW)
    total += vf_exp(vf_load(x + k) - row->largest);
  if (k < symbols)
    total += vf_select(vi_first(symbols - k), vf_exp(vf_load_n(x + k, symbols - k) - row->largest), vf_set(0));
  *sum = vf_sum(total);
  row->inverse_sum = 1 / *sum;
  return row->largest > -INFINITY && *sum < INFINITY; /* false for NaN */
}
