/* LSH attention against dense attention masked to the same buckets and chunks, in double, for every op table:
 * outputs and gradients. The buckets come from the op; the test also checks that they follow the definition and that
 * all tables agree on them. Also: heads computed one by one give the same bits; many rounds of two buckets approach
 * their limit. */
#include "ops/lsh_attention.h"
#include "tables.h"

enum { MAX_SEQUENCES = 5, SEED = 31 };

#define BOUND 2e-6

enum content { RANDOM, EQUAL, ZERO, SOME_ZERO, TIED };

struct lsh_case {
  const char *name;
  size_t lengths[MAX_SEQUENCES]; /* ends with SIZE_MAX */
  size_t heads, key_width, width, rounds, buckets, chunk;
  bool causal;
  enum content content;
};

#define END SIZE_MAX

static const struct lsh_case cases[] = {
    {"no sequence", {END}, 2, 8, 8, 2, 4, 4, false, RANDOM},
    {"no frames", {0, 0, END}, 2, 8, 8, 2, 4, 4, false, RANDOM},
    {"one frame", {1, END}, 2, 8, 8, 3, 4, 4, false, RANDOM},
    {"one frame", {1, 0, 1, END}, 1, 1, 1, 1, 2, 1, true, RANDOM},
    {"several", {37, 1, 0, 90, END}, 2, 8, 8, 2, 4, 8, false, RANDOM},
    {"several", {37, 1, 0, 90, END}, 2, 8, 8, 2, 4, 8, true, RANDOM},
    {"the model's", {150, 45, END}, 2, 32, 32, 4, 64, 32, false, RANDOM},
    {"the model's", {150, 45, END}, 2, 32, 32, 4, 64, 32, true, RANDOM},
    {"few buckets", {300, 5, END}, 1, 32, 32, 1, 2, 32, false, RANDOM},
    {"few buckets", {300, 5, END}, 1, 32, 32, 1, 2, 32, true, RANDOM},
    {"wide", {70, 33, END}, 1, 70, 70, 2, 6, 16, false, RANDOM},
    {"values wider", {60, END}, 3, 5, 39, 2, 6, 7, false, RANDOM},
    {"values narrower", {60, END}, 3, 40, 3, 2, 6, 7, true, RANDOM},
    {"chunk of one", {40, END}, 2, 8, 8, 2, 4, 1, false, RANDOM},
    {"chunk larger than T", {40, 7, END}, 2, 8, 8, 2, 4, 1024, false, RANDOM},
    {"chunk larger than T", {40, 7, END}, 2, 8, 8, 2, 4, 1024, true, RANDOM},
    {"more buckets than T", {9, 20, END}, 2, 8, 8, 3, 1024, 32, false, RANDOM},
    {"all frames equal", {80, 3, END}, 2, 8, 8, 3, 8, 16, false, EQUAL},
    {"all frames equal", {80, 3, END}, 2, 8, 8, 3, 8, 16, true, EQUAL},
    {"zero vectors", {50, 1, END}, 2, 8, 8, 2, 8, 16, false, ZERO},
    {"some zero vectors", {50, 1, END}, 2, 8, 8, 2, 8, 16, true, SOME_ZERO},
    {"ties up to rounding", {300, END}, 2, 32, 32, 1, 64, 32, false, TIED},
    {"ties up to rounding", {300, END}, 2, 8, 8, 1, 2, 32, true, TIED},
};

struct problem {
  const struct lsh_case *c;
  struct linnet_attention a;
  enum linnet_attention_kind kind;
  size_t offsets[MAX_SEQUENCES + 1], frames;
  struct linnet_pack pack;
  float *q, *v, *dout;                 /* (T, heads C), (T, heads M) twice */
  void *saved, *work;                  /* of the last run */
  float *out, *dq, *dv;                /* as computed */
  float *want_out, *want_dq, *want_dv; /* by the dense form */
};

static size_t key_columns(const struct problem *p) {
  return p->a.heads * p->a.key_width;
}

static size_t columns(const struct problem *p) {
  return p->a.heads * p->a.width;
}

static const struct linnet_attention_ops *attention_of(const struct problem *p, const struct linnet_ops *ops) {
  return ops->attention[p->kind];
}

static float *draw(struct test_random *r, size_t n, float scale) {
  float *x = test_alloc(n, sizeof *x);
  test_fill(r, x, n);
  for (size_t i = 0; i < n; i++)
    x[i] *= scale;
  return x;
}

static float column_product(const struct problem *p, const float *q, const float *rotation, size_t b) {
  float sum = 0;
  for (size_t c = 0; c < p->a.key_width; c++)
    sum += q[c] * rotation[c * (p->a.lsh.buckets / 2) + b];
  return sum;
}

/* Moves a query to where the two largest rotated values are equal, or with two buckets to where both are 0. */
static void tie(const struct problem *p, const float *rotation, float *q) {
  const size_t half = p->a.lsh.buckets / 2;
  float largest = 0, second = 0, across = 0, square = 0, difference[64];
  size_t first = 0, next = 0;
  for (size_t b = 0; b < half; b++) {
    float x = column_product(p, q, rotation, b);
    if (fabsf(x) > fabsf(largest))
      second = largest, next = first, largest = x, first = b;
    else if (fabsf(x) > fabsf(second))
      second = x, next = b;
  }
  for (size_t c = 0; c < p->a.key_width; c++) {
    difference[c] = copysignf(1, largest) * rotation[c * half + first];
    if (half > 1)
      difference[c] -= copysignf(1, second) * rotation[c * half + next];
    across += q[c] * difference[c];
    square += difference[c] * difference[c];
  }
  for (size_t c = 0; c < p->a.key_width; c++)
    q[c] -= difference[c] * across / square;
}

static void tie_all(struct problem *p) {
  float *rotation = test_alloc(p->a.key_width * p->a.lsh.buckets / 2, sizeof *rotation);
  linnet_lsh_rotation(&p->a, 0, rotation);
  for (size_t i = 0; i < p->frames * p->a.heads; i++)
    tie(p, rotation, p->q + i * p->a.key_width);
  free(rotation);
}

static void set_content(struct problem *p) {
  size_t n = key_columns(p);
  for (size_t t = 0; t < p->frames; t++) {
    if (p->c->content == EQUAL)
      memcpy(p->q + t * n, p->q, n * sizeof *p->q);
    if (p->c->content == ZERO || (p->c->content == SOME_ZERO && t % 3 == 0))
      memset(p->q + t * n, 0, n * sizeof *p->q);
  }
  if (p->c->content == TIED)
    tie_all(p);
}

static void problem_create(struct problem *p, const struct lsh_case *c) {
  struct test_random r = {SEED};
  *p = (struct problem){.c = c, .kind = c->causal ? LINNET_ATTENTION_CAUSAL_LSH : LINNET_ATTENTION_LSH};
  for (size_t s = 0; c->lengths[s] != END; s++)
    p->offsets[++p->pack.sequences] = p->offsets[s] + c->lengths[s];
  p->pack.offsets = p->offsets;
  p->frames = p->offsets[p->pack.sequences];
  p->a = (struct linnet_attention){
      .heads = c->heads,
      .key_width = c->key_width,
      .width = c->width,
      .key_ld = c->heads * c->key_width,
      .value_ld = c->heads * c->width,
      .out_ld = c->heads * c->width,
      .lsh = {.rounds = c->rounds, .buckets = c->buckets, .chunk = c->chunk, .seed = 5, .step = 7, .site = 3}};
  p->q = draw(&r, p->frames * key_columns(p), 3);
  p->v = draw(&r, p->frames * columns(p), 1);
  p->dout = draw(&r, p->frames * columns(p), 1);
  set_content(p);
  const struct linnet_attention_ops *attention = attention_of(p, linnet_cpu_ops("reference"));
  p->saved = test_alloc(attention->saved_bytes(&p->a, p->frames, p->pack.sequences), 1);
  p->work = test_alloc(attention->work_bytes(&p->a, p->frames), 1);
  p->out = test_alloc(p->frames * columns(p), sizeof *p->out);
  p->dq = test_alloc(p->frames * key_columns(p), sizeof *p->dq);
  p->dv = test_alloc(p->frames * columns(p), sizeof *p->dv);
  p->want_out = test_alloc(p->frames * columns(p), sizeof *p->out);
  p->want_dq = test_alloc(p->frames * key_columns(p), sizeof *p->dq);
  p->want_dv = test_alloc(p->frames * columns(p), sizeof *p->dv);
}

static void problem_destroy(struct problem *p) {
  void *const blocks[] = {p->q,  p->v,  p->dout,     p->saved,   p->work,   p->out,
                          p->dq, p->dv, p->want_out, p->want_dq, p->want_dv};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    free(blocks[i]);
}

/* --- the dense form ----------------------------------------------------------------------------------------------- */

/* One head of one sequence, T frames, in double. place, bucket: (rounds, T). */
struct dense {
  size_t frames, key_width, width, rounds, chunk;
  bool causal;
  double *q, *key, *norm, *v, *dout, *out, *dq, *dkey, *dv;
  size_t *index, *bucket;
};

static double *doubles(size_t n) {
  double *x = test_alloc(n, sizeof *x);
  memset(x, 0, n * sizeof *x);
  return x;
}

static double dot(size_t n, const double *x, const double *y) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}

static bool visible(const struct dense *d, size_t round, size_t i, size_t j) {
  size_t at = round * d->frames, ci = d->index[at + i] / d->chunk, cj = d->index[at + j] / d->chunk;
  return d->bucket[at + i] == d->bucket[at + j] && (cj == ci || cj + 1 == ci) && (!d->causal || j <= i);
}

/* Row i of the (T, T) matrix of weights, summed over the rounds. */
static void weights(const struct dense *d, size_t i, double *w) {
  double largest = -INFINITY, sum = 0;
  for (size_t j = 0; j < d->frames; j++) {
    size_t times = 0;
    for (size_t r = 0; r < d->rounds; r++)
      times += visible(d, r, i, j);
    double s = dot(d->key_width, d->q + i * d->key_width, d->key + j * d->key_width) / sqrt((double)d->key_width);
    w[j] = times ? s + log((double)times) + (i == j ? -1e5 : 0) : -INFINITY;
    largest = fmax(largest, w[j]);
  }
  for (size_t j = 0; j < d->frames; j++)
    sum += w[j] = exp(w[j] - largest);
  for (size_t j = 0; j < d->frames; j++)
    w[j] /= sum;
}

static void add_scaled(size_t n, double scale, const double *x, double *y_add) {
  for (size_t i = 0; i < n; i++)
    y_add[i] += scale * x[i];
}

static void dense_row(const struct dense *d, size_t i, double *w) {
  const size_t c = d->key_width, m = d->width;
  double *out = d->out + i * m;
  const double *dout = d->dout + i * m;
  weights(d, i, w);
  for (size_t j = 0; j < d->frames; j++)
    add_scaled(m, w[j], d->v + j * m, out);
  for (size_t j = 0; j < d->frames; j++) {
    double ds = w[j] * (dot(m, dout, d->v + j * m) - dot(m, dout, out)) / sqrt((double)c);
    add_scaled(m, w[j], dout, d->dv + j * m);
    add_scaled(c, ds, d->key + j * c, d->dq + i * c);
    add_scaled(c, ds, d->q + i * c, d->dkey + j * c);
  }
}

static void dense_keys(const struct dense *d) {
  const size_t c = d->key_width;
  for (size_t j = 0; j < d->frames; j++) {
    d->norm[j] = sqrt(dot(c, d->q + j * c, d->q + j * c) + LINNET_LSH_EPSILON);
    add_scaled(c, 1 / d->norm[j], d->q + j * c, d->key + j * c);
  }
}

static void dense_key_gradients(const struct dense *d) {
  const size_t c = d->key_width;
  for (size_t j = 0; j < d->frames; j++) {
    const double *key = d->key + j * c, *dkey = d->dkey + j * c;
    add_scaled(c, 1 / d->norm[j], dkey, d->dq + j * c);
    add_scaled(c, -dot(c, key, dkey) / d->norm[j], key, d->dq + j * c);
  }
}

static struct dense dense_create(const struct problem *p, size_t frames) {
  size_t keys = frames * p->a.key_width, values = frames * p->a.width, hashes = p->a.lsh.rounds * frames;
  return (struct dense){.frames = frames,
                        .key_width = p->a.key_width,
                        .width = p->a.width,
                        .rounds = p->a.lsh.rounds,
                        .chunk = p->a.lsh.chunk,
                        .causal = p->c->causal,
                        .q = doubles(keys),
                        .key = doubles(keys),
                        .norm = doubles(frames),
                        .v = doubles(values),
                        .dout = doubles(values),
                        .out = doubles(values),
                        .dq = doubles(keys),
                        .dkey = doubles(keys),
                        .dv = doubles(values),
                        .index = test_alloc(hashes, sizeof(size_t)),
                        .bucket = test_alloc(hashes, sizeof(size_t))};
}

static void dense_destroy(struct dense *d) {
  void *const blocks[] = {d->q, d->key, d->norm, d->v, d->dout, d->out, d->dq, d->dkey, d->dv, d->index, d->bucket};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    free(blocks[i]);
}

/* (frames, width) of a head from rows of floats, and back. */
static void take(const float *from, size_t ld, size_t frames, size_t width, double *to) {
  for (size_t t = 0; t < frames; t++)
    for (size_t i = 0; i < width; i++)
      to[t * width + i] = from[t * ld + i];
}

static void put(const double *from, size_t frames, size_t width, float *to, size_t ld) {
  for (size_t t = 0; t < frames; t++)
    for (size_t i = 0; i < width; i++)
      to[t * ld + i] = (float)from[t * width + i];
}

static void take_order(const struct problem *p, size_t head, size_t first, struct dense *d) {
  const struct linnet_lsh_saved saved = linnet_lsh_saved(&p->a, p->frames, p->saved);
  for (size_t r = 0; r < d->rounds; r++) {
    const struct linnet_lsh_row *sorted = saved.sorted + (r * p->a.heads + head) * p->frames + first;
    for (size_t i = 0; i < d->frames; i++) {
      REQUIRE(sorted[i].frame >= first && sorted[i].frame < first + d->frames, "frame %u", sorted[i].frame);
      d->index[r * d->frames + sorted[i].frame - first] = i;
      d->bucket[r * d->frames + sorted[i].frame - first] = sorted[i].bucket;
    }
  }
}

static void dense_head(struct problem *p, size_t sequence, size_t head) {
  size_t first = p->offsets[sequence], frames = p->offsets[sequence + 1] - first;
  size_t key = first * p->a.key_ld + head * p->a.key_width, value = first * p->a.value_ld + head * p->a.width;
  struct dense d = dense_create(p, frames);
  double *w = doubles(frames);
  take(p->q + key, p->a.key_ld, frames, p->a.key_width, d.q);
  take(p->v + value, p->a.value_ld, frames, p->a.width, d.v);
  take(p->dout + value, p->a.out_ld, frames, p->a.width, d.dout);
  take_order(p, head, first, &d);
  dense_keys(&d);
  for (size_t i = 0; i < frames; i++)
    dense_row(&d, i, w);
  dense_key_gradients(&d);
  put(d.out, frames, p->a.width, p->want_out + value, p->a.out_ld);
  put(d.dq, frames, p->a.key_width, p->want_dq + key, p->a.key_ld);
  put(d.dv, frames, p->a.width, p->want_dv + value, p->a.value_ld);
  free(w);
  dense_destroy(&d);
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

/* The value that the definition maximises, of one bucket. */
static double rotated(const struct problem *p, const float *q, const float *rotation, size_t bucket) {
  size_t half = p->a.lsh.buckets / 2, b = bucket % half;
  double sum = 0;
  for (size_t c = 0; c < p->a.key_width; c++)
    sum += (double)q[c] * rotation[c * half + b];
  return bucket < half ? sum : -sum;
}

/* Every frame once, in order of bucket and time, in the bucket with the largest value up to rounding. */
static void check_order(const struct problem *p, size_t round, size_t head, size_t sequence, const float *rotation) {
  const struct linnet_lsh_saved saved = linnet_lsh_saved(&p->a, p->frames, p->saved);
  const struct linnet_lsh_row *sorted = saved.sorted + (round * p->a.heads + head) * p->frames;
  for (size_t i = p->offsets[sequence]; i < p->offsets[sequence + 1]; i++) {
    const float *q = p->q + sorted[i].frame * p->a.key_ld + head * p->a.key_width;
    double largest = 0;
    for (size_t b = 0; b < p->a.lsh.buckets; b++)
      largest = fmax(largest, rotated(p, q, rotation, b));
    CHECK(sorted[i].bucket < p->a.lsh.buckets, "%s: bucket %u", p->c->name, sorted[i].bucket);
    CHECK(rotated(p, q, rotation, sorted[i].bucket) >= largest - 1e-4, "%s: round %zu, frame %u is in bucket %u",
          p->c->name, round, sorted[i].frame, sorted[i].bucket);
    bool after = i == p->offsets[sequence] || sorted[i - 1].bucket < sorted[i].bucket ||
                 (sorted[i - 1].bucket == sorted[i].bucket && sorted[i - 1].frame < sorted[i].frame);
    CHECK(after, "%s: round %zu is not sorted at %zu", p->c->name, round, i);
  }
}

static void check_orders(const struct problem *p) {
  float *rotation = test_alloc(p->a.key_width * p->a.lsh.buckets / 2, sizeof *rotation);
  for (size_t r = 0; r < p->a.lsh.rounds; r++) {
    linnet_lsh_rotation(&p->a, r, rotation);
    for (size_t h = 0; h < p->a.heads; h++)
      for (size_t s = 0; s < p->pack.sequences; s++)
        check_order(p, r, h, s, rotation);
  }
  free(rotation);
}

static void run(struct problem *p, const struct linnet_ops *ops) {
  const struct linnet_attention_ops *attention = attention_of(p, ops);
  attention->forward(&(struct linnet_attention_call){
      .attention = &p->a, .pack = &p->pack, .q = p->q, .v = p->v, .saved = p->saved, .out = p->out, .work = p->work});
  attention->backward(&(struct linnet_attention_call){.attention = &p->a,
                                                      .pack = &p->pack,
                                                      .q = p->q,
                                                      .v = p->v,
                                                      .saved = p->saved,
                                                      .out = p->out,
                                                      .work = p->work,
                                                      .dout = p->dout,
                                                      .dq = p->dq,
                                                      .dv = p->dv});
}

/* Recognition runs heads one by one. */
static void check_heads(struct problem *p, const struct linnet_ops *ops) {
  struct linnet_attention one = p->a;
  float *out = test_alloc(p->frames * columns(p), sizeof *out);
  one.heads = 1;
  for (size_t h = 0; h < p->a.heads; h++)
    attention_of(p, ops)->forward(&(struct linnet_attention_call){.attention = &one,
                                                                  .pack = &p->pack,
                                                                  .q = p->q + h * one.key_width,
                                                                  .v = p->v + h * one.width,
                                                                  .saved = p->saved,
                                                                  .out = out + h * one.width,
                                                                  .work = p->work});
  CHECK(memcmp(out, p->out, p->frames * columns(p) * sizeof *out) == 0, "%s, %s: heads one by one differ", ops->name,
        p->c->name);
  free(out);
}

static struct problem problem;
static size_t orders_bytes;
static void *orders; /* the reference's */

static void check_table(const struct linnet_ops *ops) {
  struct problem *p = &problem;
  run(p, ops);
  const struct linnet_lsh_saved saved = linnet_lsh_saved(&p->a, p->frames, p->saved);
  if (strcmp(ops->name, "reference") == 0) {
    check_orders(p);
    memcpy(orders, saved.sorted, orders_bytes);
    for (size_t s = 0; s < p->pack.sequences; s++)
      for (size_t h = 0; h < p->a.heads; h++)
        dense_head(p, s, h);
  }
  CHECK(memcmp(orders, saved.sorted, orders_bytes) == 0, "%s, %s: other buckets than the reference", ops->name,
        p->c->name);
  char name[64];
  double error = test_error(p->out, p->want_out, p->frames * columns(p));
  error = fmax(error, test_error(p->dq, p->want_dq, p->frames * key_columns(p)));
  error = fmax(error, test_error(p->dv, p->want_dv, p->frames * columns(p)));
  snprintf(name, sizeof name, "%s%s", p->c->name, p->c->causal ? ", causal" : "");
  test_bound(ops->name, name, error, BOUND);
  check_heads(p, ops);
}

static void check_case(const struct lsh_case *c) {
  problem_create(&problem, c);
  orders_bytes = c->rounds * c->heads * problem.frames * sizeof(struct linnet_lsh_row);
  orders = test_alloc(orders_bytes, 1);
  test_each_table(check_table);
  free(orders);
  problem_destroy(&problem);
}

/* --- the limit of many rounds ------------------------------------------------------------------------------------- */

/* With two buckets and one chunk, i and j meet in a round with probability 1 - angle / pi (Charikar 2002), so
 * weights tend to (1 - angle / pi) exp(s_ij): full attention with less weight for other directions. */
static double limit_error(struct problem *p) {
  size_t frames = p->frames, c = p->a.key_width, m = p->a.width;
  struct dense d = dense_create(p, frames);
  take(p->q, p->a.key_ld, frames, c, d.q);
  take(p->v, p->a.value_ld, frames, m, d.v);
  dense_keys(&d);
  for (size_t i = 0; i < frames; i++) {
    double sum = 0, *out = d.out + i * m;
    for (size_t j = 0; j < frames; j++) {
      double cosine = dot(c, d.key + i * c, d.key + j * c), s = dot(c, d.q + i * c, d.key + j * c) / sqrt((double)c);
      double w = i == j ? 0 : (1 - acos(fmin(1, cosine)) / acos(-1)) * exp(s);
      add_scaled(m, w, d.v + j * m, out);
      sum += w;
    }
    add_scaled(m, 1 / sum - 1, out, out);
  }
  put(d.out, frames, m, p->want_out, p->a.out_ld);
  dense_destroy(&d);
  return test_error(p->out, p->want_out, frames * m);
}

static void check_limit(void) {
  static const struct lsh_case limit = {"two buckets, many rounds", {24, END}, 1, 8, 8, 4000, 2, 24, false, RANDOM};
  problem_create(&problem, &limit);
  attention_of(&problem, linnet_cpu_ops("reference"))
      ->forward(&(struct linnet_attention_call){.attention = &problem.a,
                                                .pack = &problem.pack,
                                                .q = problem.q,
                                                .v = problem.v,
                                                .saved = problem.saved,
                                                .out = problem.out,
                                                .work = problem.work});
  test_bound("reference", limit.name, limit_error(&problem), 0.02);
  problem_destroy(&problem);
}

/* Another seed, step, site or round turns otherwise. */
static void check_rotations(void) {
  enum { COUNT = 32 * 32 };
  const struct linnet_attention at = {.key_width = 32, .lsh = {.buckets = 64, .seed = 1, .step = 1, .site = 1}};
  static float one[COUNT], other[COUNT];
  linnet_lsh_rotation(&at, 0, one);
  for (int i = 0; i < 4; i++) {
    struct linnet_attention b = at;
    b.lsh.seed += i == 0, b.lsh.step += i == 1, b.lsh.site += i == 2;
    linnet_lsh_rotation(&b, i == 3, other);
    double product = 0, square = 0;
    for (size_t e = 0; e < COUNT; e++)
      product += (double)one[e] * other[e], square += (double)other[e] * other[e];
    CHECK(fabs(product) < 0.15 * COUNT && fabs(square - COUNT) < 0.2 * COUNT,
          "rotation %d: correlation %g, variance %g", i, product / COUNT, square / COUNT);
  }
}

int main(void) {
  printf("seed %d\n", SEED);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_case(&cases[i]);
  check_limit();
  check_rotations();
  return test_result();
}
