/* Per pair (i, j) of a run, with p = exp(s - m_i) / l_i, D_i = dout_i . out_i and n_j = sqrt(|q_j|^2 + epsilon):
 *
 *   ds = p (dout_i . v_j - D_i) / sqrt(C)     dv_j += p dout_i
 *   dq_i += ds key_j                          dq_j += ds (q_i - key_j (key_j . q_i)) / n_j
 *
 * The last one is the gradient of key_j through its norm. m and l are those of all rounds, so that a round needs only
 * the running sums of the others: when m grows to m', forward multiplies its earlier sums by exp(m - m'). */
#include "ops/lsh_attention.h"

#include <string.h>

#include "base/numbers.h"
#include "base/philox.h"

/* --- buckets ------------------------------------------------------------------------------------------------------ */

static void draw_normal_pair(const uint32_t *word, double *normal) {
  const double pi = 3.14159265358979323846;
  double radius = sqrt(-2 * log((word[0] + 1.0) * 0x1p-32)), angle = 2 * pi * linnet_philox_uniform(word[1]);
  normal[0] = radius * cos(angle);
  normal[1] = radius * sin(angle);
}

void linnet_lsh_rotation(const struct linnet_attention *a, size_t round, real *rotation) {
  const struct linnet_lsh *lsh = &a->lsh;
  size_t count = a->key_width * (lsh->buckets / 2);
  for (size_t e = 0; e < count; e += 4) {
    struct linnet_philox random =
        linnet_philox(lsh->seed, (uint64_t)lsh->step << 32 | lsh->site, (uint64_t)round << 32 | e / 4);
    double normal[4];
    draw_normal_pair(random.word, normal);
    draw_normal_pair(random.word + 2, normal + 2);
    for (size_t i = 0; i < linnet_min_size(4, count - e); i++)
      rotation[e + i] = (real)normal[i];
  }
}

uint32_t linnet_lsh_bucket(const struct linnet_attention *a, const real *q, const real *rotation) {
  size_t half = a->lsh.buckets / 2, best = 0;
  real largest = -1, sign = 1;
  for (size_t b = 0; b < half; b++) {
    real x = 0;
    for (size_t c = 0; c < a->key_width; c++)
      x += q[c] * rotation[c * half + b];
    /* x and -x are the candidates b and b + half. Among equal maxima the candidate with the lowest index wins, so a
     * later x > 0 replaces an earlier -x. */
    if (real_fabs(x) > largest || (real_fabs(x) == largest && sign < 0 && x > 0)) {
      largest = real_fabs(x);
      sign = x < 0 ? -1 : 1;
      best = b;
    }
  }
  return (uint32_t)(sign < 0 ? best + half : best);
}

static void hash(const struct linnet_attention *a, size_t rows, const real *q, const real *rotation, uint32_t *bucket,
                 real *scratch) {
  (void)scratch;
  for (size_t t = 0; t < rows; t++)
    bucket[t] = linnet_lsh_bucket(a, q + t * a->key_ld, rotation);
}

/* Counting sort. It is stable, so that the rows of a bucket stay in order of time. `starts` has buckets + 1 elements.
 */
static void sort(size_t rows, size_t first_frame, size_t buckets, const uint32_t *bucket, uint32_t *starts,
                 struct linnet_lsh_row *sorted) {
  memset(starts, 0, (buckets + 1) * sizeof *starts);
  for (size_t t = 0; t < rows; t++)
    starts[bucket[t] + 1]++;
  for (size_t b = 0; b < buckets; b++)
    starts[b + 1] += starts[b];
  for (size_t t = 0; t < rows; t++)
    sorted[starts[bucket[t]]++] = (struct linnet_lsh_row){(uint32_t)(first_frame + t), bucket[t]};
}

/* Advances to the next run; a run of zeros starts the iteration. Returns false after the last one. */
static bool next_run(const struct linnet_lsh_head *h, struct linnet_lsh_run *run) {
  const struct linnet_lsh_row *sorted = h->sorted;
  size_t chunk = h->a->lsh.chunk, first = run->end, begin = first / chunk * chunk;
  size_t end = linnet_min_size(begin + chunk, h->rows), reach = begin < chunk ? 0 : begin - chunk;
  if (first == h->rows)
    return false;
  *run = (struct linnet_lsh_run){first, first, first + 1};
  while (run->end < end && sorted[run->end].bucket == sorted[first].bucket)
    run->end++;
  while (run->key > reach && sorted[run->key - 1].bucket == sorted[first].bucket)
    run->key--;
  return true;
}

/* --- the pairs of a run ------------------------------------------------------------------------------------------- */

static real dot(size_t n, const real *x, const real *y) {
  real sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}

static void add_scaled(size_t n, real scale, const real *x, real *y_add) {
  for (size_t i = 0; i < n; i++)
    y_add[i] += scale * x[i];
}

static const real *query(const struct linnet_lsh_head *h, size_t frame) {
  return h->q + frame * h->a->key_ld;
}

/* 1 / n_j */
static real inverse_norm(const struct linnet_lsh_head *h, size_t frame) {
  const real *q = query(h, frame);
  return 1 / real_sqrt(dot(h->a->key_width, q, q) + (real)LINNET_LSH_EPSILON);
}

static real score(const struct linnet_lsh_head *h, size_t i, size_t j) {
  real s = dot(h->a->key_width, query(h, i), query(h, j)) * inverse_norm(h, j) / real_sqrt((real)h->a->key_width);
  return i == j ? s + (real)LINNET_LSH_SELF : s;
}

static size_t keys_end(const struct linnet_lsh_head *h, const struct linnet_lsh_run *run, size_t row) {
  return h->causal ? row + 1 : run->end;
}

static void forward_row(const struct linnet_lsh_head *h, const struct linnet_lsh_run *run, size_t row, real *scores) {
  const size_t width = h->a->width, i = h->sorted[row].frame, count = keys_end(h, run, row) - run->key;
  const struct linnet_lsh_row *keys = h->sorted + run->key;
  real largest = h->largest[i], *out = h->out + i * h->a->out_ld;
  for (size_t j = 0; j < count; j++) {
    scores[j] = score(h, i, keys[j].frame);
    largest = scores[j] > largest ? scores[j] : largest;
  }
  real shrink = real_exp(h->largest[i] - largest);
  for (size_t m = 0; m < width; m++)
    out[m] *= shrink;
  h->sum[i] *= shrink;
  h->largest[i] = largest;
  for (size_t j = 0; j < count; j++) {
    real p = real_exp(scores[j] - largest);
    h->sum[i] += p;
    add_scaled(width, p, h->v + keys[j].frame * h->a->value_ld, out);
  }
}

static void backward_pair(const struct linnet_lsh_head *h, size_t i, size_t j, real d) {
  const struct linnet_attention *a = h->a;
  const real *dout = h->dout + i * a->out_ld, *qi = query(h, i), *qj = query(h, j);
  real *dqi = h->dq + i * a->key_ld, *dqj = h->dq + j * a->key_ld;
  real p = real_exp(score(h, i, j) - h->largest[i]) / h->sum[i], inverse = inverse_norm(h, j);
  real ds = p * (dot(a->width, dout, h->v + j * a->value_ld) - d) / real_sqrt((real)a->key_width);
  real along = dot(a->key_width, qi, qj) * inverse;
  add_scaled(a->width, p, dout, h->dv + j * a->value_ld);
  add_scaled(a->key_width, ds * inverse, qj, dqi);
  add_scaled(a->key_width, ds * inverse, qi, dqj);
  add_scaled(a->key_width, -ds * inverse * along * inverse, qj, dqj);
}

static void forward_run(const struct linnet_lsh_head *h, const struct linnet_lsh_run *run, real *scratch) {
  for (size_t row = run->first; row < run->end; row++)
    forward_row(h, run, row, scratch);
}

static void backward_run(const struct linnet_lsh_head *h, const struct linnet_lsh_run *run, real *scratch) {
  (void)scratch;
  for (size_t row = run->first; row < run->end; row++) {
    size_t i = h->sorted[row].frame, end = keys_end(h, run, row);
    real d = dot(h->a->width, h->dout + i * h->a->out_ld, h->out + i * h->a->out_ld);
    for (size_t j = run->key; j < end; j++)
      backward_pair(h, i, h->sorted[j].frame, d);
  }
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

struct linnet_lsh_saved linnet_lsh_saved(const struct linnet_attention *a, size_t frames, void *saved) {
  size_t n = a->heads * frames;
  real *largest = saved;
  return (struct linnet_lsh_saved){largest, largest + n, (struct linnet_lsh_row *)(largest + 2 * n)};
}

size_t linnet_lsh_saved_bytes(const struct linnet_attention *a, size_t frames, size_t sequences) {
  (void)sequences;
  return a->heads * frames * (2 * sizeof(real) + a->lsh.rounds * sizeof(struct linnet_lsh_row));
}

/* The scratch for a run of n rows and k keys: operands and products as rows and as panels, scores and their gradient;
 * or for hashing: rotated queries, and R. */
static size_t scratch_size(const struct linnet_attention *a, size_t longest) {
  size_t n = linnet_min_size(a->lsh.chunk, longest), k = linnet_min_size(2 * n, longest),
         columns = linnet_round_up(k, LINNET_LSH_PADDING);
  size_t width = linnet_round_up(a->key_width > a->width ? a->key_width : a->width, LINNET_LSH_PADDING);
  size_t run = (2 * n + 5 * k + 2 * columns) * width + 2 * n * columns + n + k;
  size_t hashing = (LINNET_LSH_ROWS + a->key_width) * linnet_round_up(a->lsh.buckets / 2, LINNET_LSH_PADDING);
  return linnet_round_up((run > hashing ? run : hashing) + 256, 64); /* each part begins at a multiple of 64 bytes */
}

struct work {
  real *scratch, *rotation;
  uint32_t *bucket, *starts; /* (longest), (buckets + 1) */
};

size_t linnet_lsh_work_bytes(const struct linnet_attention *a, size_t longest) {
  size_t reals = scratch_size(a, longest) + a->key_width * (a->lsh.buckets / 2);
  return 64 + linnet_round_up(reals * sizeof(real) + (longest + a->lsh.buckets + 1) * sizeof(uint32_t), 64);
}

static struct work lay_out(const struct linnet_attention *a, size_t longest, void *memory) {
  struct work w = {.scratch = linnet_align_up(memory, 64)};
  w.rotation = w.scratch + scratch_size(a, longest);
  w.bucket = (uint32_t *)(w.rotation + a->key_width * (a->lsh.buckets / 2));
  w.starts = w.bucket + longest;
  return w;
}

static size_t longest_of(const struct linnet_pack *p) {
  size_t longest = 0;
  for (size_t s = 0; s < p->sequences; s++)
    if (p->offsets[s + 1] - p->offsets[s] > longest)
      longest = p->offsets[s + 1] - p->offsets[s];
  return longest;
}

/* --- rounds, sequences, heads ------------------------------------------------------------------------------------- */

/* A call with all of its heads; head(b, i) returns one of them. */
struct batch {
  const struct linnet_lsh_kernels *kernels;
  const struct linnet_pack *pack;
  size_t frames;
  struct linnet_lsh_saved saved;
  struct linnet_lsh_head first; /* head 0, without `sorted` */
};

/* The part without gradients. */
static struct batch batch_of(const struct linnet_lsh_kernels *kernels, bool causal,
                             const struct linnet_attention_call *c) {
  size_t frames = c->pack->offsets[c->pack->sequences];
  return (struct batch){kernels,
                        c->pack,
                        frames,
                        linnet_lsh_saved(c->attention, frames, c->saved),
                        {.a = c->attention, .causal = causal, .q = c->q, .v = c->v, .out = c->out}};
}

static struct linnet_lsh_head head_of(const struct batch *b, size_t round, size_t sequence, size_t i) {
  struct linnet_lsh_head h = b->first;
  h.rows = b->pack->offsets[sequence + 1] - b->pack->offsets[sequence];
  h.q += i * h.a->key_width;
  h.v += i * h.a->width;
  h.out += i * h.a->width;
  h.largest = b->saved.largest + i * b->frames;
  h.sum = b->saved.sum + i * b->frames;
  h.sorted = b->saved.sorted + (round * h.a->heads + i) * b->frames + b->pack->offsets[sequence];
  if (h.dout) {
    h.dout += i * h.a->width;
    h.dq += i * h.a->key_width;
    h.dv += i * h.a->width;
  }
  return h;
}

static void clear(const struct batch *b) {
  const struct linnet_attention *a = b->first.a;
  for (size_t t = 0; t < b->frames; t++)
    memset(b->first.out + t * a->out_ld, 0, a->heads * a->width * sizeof(real));
  for (size_t i = 0; i < a->heads * b->frames; i++) {
    b->saved.largest[i] = -INFINITY;
    b->saved.sum[i] = 0;
  }
}

static void normalise(const struct batch *b) {
  const struct linnet_attention *a = b->first.a;
  for (size_t t = 0; t < b->frames; t++)
    for (size_t i = 0; i < a->heads; i++) {
      real *out = b->first.out + t * a->out_ld + i * a->width, scale = 1 / b->saved.sum[i * b->frames + t];
      for (size_t m = 0; m < a->width; m++)
        out[m] *= scale;
    }
}

static void forward_sequence(const struct batch *b, const struct work *w, size_t round, size_t s) {
  const struct linnet_attention *a = b->first.a;
  size_t begin = b->pack->offsets[s];
  for (size_t i = 0; i < a->heads; i++) {
    struct linnet_lsh_head h = head_of(b, round, s, i);
    struct linnet_lsh_run run = {0};
    b->kernels->hash(a, h.rows, h.q + begin * a->key_ld, w->rotation, w->bucket, w->scratch);
    sort(h.rows, begin, a->lsh.buckets, w->bucket, w->starts,
         b->saved.sorted + (round * a->heads + i) * b->frames + begin);
    while (!linnet_stopped(a->poll) && next_run(&h, &run))
      b->kernels->forward(&h, &run, w->scratch);
  }
}

static void backward_sequence(const struct batch *b, const struct work *w, size_t round, size_t s) {
  for (size_t i = 0; i < b->first.a->heads; i++) {
    struct linnet_lsh_head h = head_of(b, round, s, i);
    struct linnet_lsh_run run = {0};
    while (next_run(&h, &run))
      b->kernels->backward(&h, &run, w->scratch);
  }
}

void linnet_lsh_forward(const struct linnet_lsh_kernels *kernels, bool causal, const struct linnet_attention_call *c) {
  struct work w = lay_out(c->attention, longest_of(c->pack), c->work);
  struct batch b = batch_of(kernels, causal, c);
  clear(&b);
  for (size_t round = 0; round < c->attention->lsh.rounds; round++) {
    linnet_lsh_rotation(c->attention, round, w.rotation);
    for (size_t s = 0; s < c->pack->sequences; s++)
      forward_sequence(&b, &w, round, s);
  }
  normalise(&b);
}

void linnet_lsh_backward(const struct linnet_lsh_kernels *kernels, bool causal, const struct linnet_attention_call *c) {
  const struct linnet_attention *a = c->attention;
  struct work w = lay_out(a, longest_of(c->pack), c->work);
  struct batch b = batch_of(kernels, causal, c);
  b.first.dout = c->dout, b.first.dq = c->dq, b.first.dv = c->dv;
  for (size_t t = 0; t < b.frames; t++) {
    memset(b.first.dq + t * a->key_ld, 0, a->heads * a->key_width * sizeof(real));
    memset(b.first.dv + t * a->value_ld, 0, a->heads * a->width * sizeof(real));
  }
  for (size_t round = 0; round < a->lsh.rounds; round++)
    for (size_t s = 0; s < c->pack->sequences; s++)
      backward_sequence(&b, &w, round, s);
}

/* --- the functions of the reference ------------------------------------------------------------------------------- */

static const struct linnet_lsh_kernels reference = {hash, forward_run, backward_run};

LINNET_LSH_FUNCTIONS(whole, &reference, false)
LINNET_LSH_FUNCTIONS(causal, &reference, true)

const struct linnet_attention_ops linnet_lsh_attention_reference = LINNET_LSH_ROW(whole);
const struct linnet_attention_ops linnet_causal_lsh_attention_reference = LINNET_LSH_ROW(causal);
