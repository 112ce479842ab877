/* CTC of every table: against a brute-force sum over all paths on tiny cases, all label sequences included; against
 * the reference on long ones; on degenerate and non-finite input; and properties of any input: rows of the gradient
 * sum to 0, the gradient may overwrite the logits, nothing outside the stated memory is touched. */
#include "ops/ctc.h"
#include "tables.h"

enum { MAX_FRAMES = 6, MAX_SYMBOLS = 4, GUARD = 64 };

/* How logits are drawn. */
enum kind {
  PLAIN,       /* in +-3 */
  SHARP,       /* in +-60 */
  HUGE_LOGITS, /* -1e4, 0 or 1e4, and a little */
  SPARSE,      /* a third is -infinity, at least one per row is not */
  NO_BLANK,    /* the blank is -infinity everywhere */
  NO_LABELS,   /* all except the blank are -infinity everywhere */
  LOW_BLANK,   /* the blank is -1e5 everywhere */
  MIN_BLANK,   /* the blank is -3e38 everywhere: of use only where a path does without */
  LOW_LABELS,  /* all except the blank are -1e5 everywhere */
  EQUAL        /* all 0 */
};
static const char *const kind_names[] = {"plain",     "sharp",     "+-1e4",       "sparse",     "no blank",
                                         "no labels", "low blank", "least blank", "low labels", "equal"};

static float draw(struct test_random *r, enum kind kind, size_t symbol) {
  double u = test_uniform(r);
  switch (kind) {
  case SHARP:
    return (float)(60 * u);
  case HUGE_LOGITS:
    return (float)(1e4 * ((double)test_below(r, 3) - 1) + u);
  case SPARSE:
    return test_below(r, 3) ? (float)u : -INFINITY;
  case NO_BLANK:
    return symbol == 0 ? -INFINITY : (float)u;
  case NO_LABELS:
    return symbol > 0 ? -INFINITY : (float)u;
  case LOW_BLANK:
    return symbol == 0 ? -1e5f : (float)u;
  case MIN_BLANK:
    return symbol == 0 ? -3e38f : (float)u;
  case LOW_LABELS:
    return symbol > 0 ? -1e5f : (float)u;
  case EQUAL:
    return 0;
  case PLAIN:
    break;
  }
  return (float)(3 * u);
}

static void fill_logits(struct test_random *r, enum kind kind, size_t frames, size_t symbols, float *x) {
  for (size_t t = 0; t < frames; t++) {
    for (size_t k = 0; k < symbols; k++)
      x[t * symbols + k] = draw(r, kind, k);
    if (kind == SPARSE)
      x[t * symbols + test_below(r, symbols)] = 0;
  }
}

/* --- a call with everything around it guarded ------------------------------------------------------------------- */

struct call {
  struct linnet_ctc ctc;
  float *logits, *gradient; /* (frames, symbols) */
  unsigned char *work;
  size_t work_bytes;
};

static void call_create(struct call *c, size_t frames, size_t symbols, size_t labels, const int *label) {
  size_t n = frames * symbols;
  *c = (struct call){.work_bytes = linnet_ctc_work_bytes(frames, symbols, labels)};
  c->logits = test_alloc(n + GUARD, sizeof(float));
  c->gradient = test_alloc(n + GUARD, sizeof(float));
  c->work = aligned_alloc(64, (c->work_bytes + GUARD + 63) / 64 * 64);
  REQUIRE(c->work, "no memory");
  memset(c->gradient, 0xFF, (n + GUARD) * sizeof(float));
  memset(c->work, 0xA5, c->work_bytes + GUARD);
  c->ctc = (struct linnet_ctc){frames, symbols, labels, c->logits, label, 1, c->gradient};
}

static void call_destroy(struct call *c) {
  free(c->logits);
  free(c->gradient);
  free(c->work);
}

static size_t call_size(const struct call *c) {
  return c->ctc.frames * c->ctc.symbols;
}

static double call_run(struct call *c, const struct linnet_ops *ops) {
  unsigned char ones[GUARD * sizeof(float)], fives[GUARD];
  memset(ones, 0xFF, sizeof ones);
  memset(fives, 0xA5, sizeof fives);
  double loss = ops->ctc(&c->ctc, c->work);
  CHECK(memcmp(c->work + c->work_bytes, fives, sizeof fives) == 0, "%s: wrote beyond its work", ops->name);
  CHECK(memcmp(c->gradient + call_size(c), ones, sizeof ones) == 0, "%s: wrote beyond the gradient", ops->name);
  return loss;
}

static bool all_zero(const float *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (x[i] != 0)
      return false;
  return true;
}

/* --- brute force ------------------------------------------------------------------------------------------------- */

struct brute {
  double log_p[MAX_FRAMES * MAX_SYMBOLS], log_occupancy[MAX_FRAMES * MAX_SYMBOLS], log_total;
};

static double log_add(double a, double b) {
  double high = fmax(a, b), low = fmin(a, b);
  return low == -INFINITY ? high : high + log1p(exp(low - high));
}

static void brute_log_softmax(const struct linnet_ctc *c, double *log_p) {
  for (size_t t = 0; t < c->frames; t++) {
    double largest = -INFINITY, sum = 0;
    for (size_t k = 0; k < c->symbols; k++)
      largest = test_worst(largest, c->logits[t * c->symbols + k]);
    for (size_t k = 0; k < c->symbols; k++)
      sum += exp(c->logits[t * c->symbols + k] - largest);
    for (size_t k = 0; k < c->symbols; k++)
      log_p[t * c->symbols + k] = c->logits[t * c->symbols + k] - largest - log(sum);
  }
}

/* Whether a path, repeats merged and blanks dropped, reads the labels. */
static bool reads(const struct linnet_ctc *c, const int *path) {
  size_t n = 0;
  for (size_t t = 0; t < c->frames; t++)
    if (path[t] != 0 && (t == 0 || path[t] != path[t - 1])) {
      if (n == c->labels || path[t] != c->label[n])
        return false;
      n++;
    }
  return n == c->labels;
}

/* The next path in counting order; false after the last. */
static bool next_path(const struct linnet_ctc *c, int *path) {
  for (size_t t = 0; t < c->frames; t++) {
    if ((size_t)++path[t] < c->symbols)
      return true;
    path[t] = 0;
  }
  return false;
}

static void brute_run(const struct linnet_ctc *c, struct brute *b) {
  int path[MAX_FRAMES] = {0};
  brute_log_softmax(c, b->log_p);
  b->log_total = -INFINITY;
  for (size_t i = 0; i < c->frames * c->symbols; i++)
    b->log_occupancy[i] = -INFINITY;
  do {
    double log_path = 0;
    if (!reads(c, path))
      continue;
    for (size_t t = 0; t < c->frames; t++)
      log_path += b->log_p[t * c->symbols + (size_t)path[t]];
    b->log_total = log_add(b->log_total, log_path);
    for (size_t t = 0; t < c->frames; t++) {
      double *o = &b->log_occupancy[t * c->symbols + (size_t)path[t]];
      *o = log_add(*o, log_path);
    }
  } while (next_path(c, path));
}

static const struct brute_case {
  size_t frames, symbols;
} brute_cases[] = {{1, 2}, {1, 4}, {2, 3}, {3, 3}, {4, 4}, {5, 3}, {6, 2}};

struct worst {
  double loss, gradient;
  unsigned cases, infeasible;
};

/* Errors of the loss are relative where it is above 1. */
static double loss_error(double loss, double expected) {
  double error = loss == expected ? 0 : fabs(loss - expected) / fmax(1, fabs(expected));
  return isnan(error) ? INFINITY : error;
}

static void compare_with_brute(const struct linnet_ops *ops, struct call *c, struct worst *worst) {
  struct brute b;
  double loss = call_run(c, ops);
  brute_run(&c->ctc, &b);
  worst->cases++;
  if (b.log_total == -INFINITY) {
    worst->infeasible++;
    CHECK(loss == INFINITY && all_zero(c->gradient, call_size(c)), "%s: impossible labels, loss %g", ops->name, loss);
    return;
  }
  worst->loss = fmax(worst->loss, loss_error(loss, -b.log_total));
  for (size_t i = 0; i < call_size(c); i++) {
    double expected = exp(b.log_p[i]) - exp(b.log_occupancy[i] - b.log_total), error = fabs(c->gradient[i] - expected);
    worst->gradient = test_worst(worst->gradient, error);
  }
}

/* All label sequences over the symbols 1 ... of up to frames + 1 labels. */
static void brute_labels(const struct linnet_ops *ops, const struct brute_case *bc, enum kind kind,
                         struct test_random *r, struct worst *worst) {
  for (size_t labels = 0; labels <= bc->frames + 1; labels++) {
    int label[MAX_FRAMES + 1], digits[MAX_FRAMES + 1] = {0};
    struct linnet_ctc counter = {.frames = labels, .symbols = bc->symbols - 1};
    do {
      struct call c;
      for (size_t i = 0; i < labels; i++)
        label[i] = digits[i] + 1;
      call_create(&c, bc->frames, bc->symbols, labels, label);
      fill_logits(r, kind, bc->frames, bc->symbols, c.logits);
      compare_with_brute(ops, &c, worst);
      call_destroy(&c);
    } while (next_path(&counter, digits));
  }
}

static bool is_reference(const struct linnet_ops *ops) {
  return strcmp(ops->name, "reference") == 0;
}

static void check_brute_force(const struct linnet_ops *ops) {
  static const enum kind kinds[] = {PLAIN,     SHARP,     HUGE_LOGITS, SPARSE, NO_BLANK,
                                    NO_LABELS, LOW_BLANK, LOW_LABELS,  EQUAL};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    struct test_random r = {1000 + i};
    struct worst worst = {0};
    char name[64];
    for (size_t j = 0; j < sizeof brute_cases / sizeof *brute_cases; j++)
      brute_labels(ops, &brute_cases[j], kinds[i], &r, &worst);
    CHECK(worst.cases > 300 && worst.infeasible > 50, "%u cases, %u infeasible", worst.cases, worst.infeasible);
    snprintf(name, sizeof name, "brute force, %s, seed %zu, loss", kind_names[kinds[i]], 1000 + i);
    test_bound(ops->name, name, worst.loss, is_reference(ops) ? 1e-12 : 3e-6);
    snprintf(name, sizeof name, "brute force, %s, seed %zu, gradient", kind_names[kinds[i]], 1000 + i);
    test_bound(ops->name, name, worst.gradient, is_reference(ops) ? 2e-7 : 1e-6);
  }
}

/* --- long cases against the reference ---------------------------------------------------------------------------- */

static const struct long_case {
  size_t frames, symbols, labels;
  enum kind kind;
  bool repeats; /* labels 1 1 1 2 2 2 ..., as many frames as they need are added to `frames` */
} long_cases[] = {
    {800, 42, 80, PLAIN, false},      {800, 42, 80, SHARP, false},      {801, 42, 81, HUGE_LOGITS, false},
    {200, 5000, 40, PLAIN, false},    {33, 2, 16, PLAIN, true},         {0, 9, 31, PLAIN, true},
    {0, 9, 32, SHARP, true},          {1, 9, 33, PLAIN, true},          {300, 12, 300, PLAIN, false},
    {1500, 8, 0, PLAIN, false},       {1500, 8, 1, NO_BLANK, false},    {1500, 8, 40, NO_BLANK, false},
    {2500, 6, 900, NO_LABELS, false}, {2500, 6, 0, NO_LABELS, false},   {400, 7, 20, SPARSE, false},
    {1200, 8, 700, SHARP, false},     {3000, 5, 40, SHARP, true},       {5000, 4, 10, HUGE_LOGITS, false},
    {17, 40, 16, EQUAL, false},       {5000, 3, 200, EQUAL, false},     {30000, 4, 5, LOW_BLANK, false},
    {30000, 4, 5, MIN_BLANK, false},  {30000, 4, 5, LOW_LABELS, false}, {40000, 3, 60, NO_BLANK, false},
};

static int *long_labels(struct test_random *r, const struct long_case *l) {
  int *label = test_alloc(l->labels, sizeof *label);
  for (size_t i = 0; i < l->labels; i++) {
    if (l->repeats)
      label[i] = (int)(1 + i / 3 % (l->symbols - 1));
    else /* no two equal neighbours, if there are symbols enough */
      label[i] = (int)(1 + (i * 2 + test_below(r, 2)) % (l->symbols - 1));
  }
  return label;
}

static double gradient_difference(const float *a, const float *b, size_t n) {
  double worst = 0;
  for (size_t i = 0; i < n; i++) {
    double d = fabs((double)a[i] - b[i]);
    worst = test_worst(worst, d);
  }
  return worst;
}

static void check_long_case(const struct linnet_ops *ops, const struct long_case *l, uint64_t seed) {
  struct test_random r = {seed};
  int *label = long_labels(&r, l);
  size_t frames = l->frames + (l->repeats ? linnet_ctc_min_frames(label, l->labels) : 0);
  struct call tested, expected;
  call_create(&tested, frames, l->symbols, l->labels, label);
  call_create(&expected, frames, l->symbols, l->labels, label);
  fill_logits(&r, l->kind, frames, l->symbols, tested.logits);
  memcpy(expected.logits, tested.logits, call_size(&tested) * sizeof(float));
  double loss = call_run(&tested, ops), right = call_run(&expected, linnet_cpu_ops("reference"));
  char name[96];
  snprintf(name, sizeof name, "T %zu V %zu L %zu %s, loss", frames, l->symbols, l->labels, kind_names[l->kind]);
  test_bound(ops->name, name, loss_error(loss, right), 3e-6);
  snprintf(name, sizeof name, "T %zu V %zu L %zu %s, gradient", frames, l->symbols, l->labels, kind_names[l->kind]);
  test_bound(ops->name, name, gradient_difference(tested.gradient, expected.gradient, call_size(&tested)),
             4e-6 + 1e-9 * (double)frames);
  CHECK(!isnan(loss), "T %zu V %zu L %zu: NaN", frames, l->symbols, l->labels);
  call_destroy(&tested);
  call_destroy(&expected);
  free(label);
}

static void check_long(const struct linnet_ops *ops) {
  for (size_t i = 0; !is_reference(ops) && i < sizeof long_cases / sizeof *long_cases; i++)
    check_long_case(ops, &long_cases[i], 2000 + i);
}

/* --- degenerate input --------------------------------------------------------------------------------------------- */

#define NONE SIZE_MAX

/* 3 symbols, all logits 0 but one (or a whole row). */
static const struct special {
  const char *name;
  size_t frames, labels;
  int label[4];
  size_t row, symbol; /* symbol NONE: the whole row; row NONE: nothing is changed */
  float value;
  double loss; /* in units of ln 3 where finite */
} specials[] = {
    {"no frames, no labels", 0, 0, {0}, NONE, 0, 0, 0},
    {"no frames, a label", 0, 1, {1}, NONE, 0, 0, INFINITY},
    {"one frame, no label", 1, 0, {0}, NONE, 0, 0, 1},
    {"one frame, a label", 1, 1, {2}, NONE, 0, 0, 1},
    {"one frame, two labels", 1, 2, {1, 2}, NONE, 0, 0, INFINITY},
    {"a repeat without its blank", 2, 2, {1, 1}, NONE, 0, 0, INFINITY},
    {"a repeat with its blank", 3, 2, {1, 1}, NONE, 0, 0, 3},
    {"the only path is impossible", 3, 2, {1, 1}, 1, 0, -INFINITY, INFINITY},
    {"no label, impossible blank", 4, 0, {0}, 2, 0, -INFINITY, INFINITY},
    {"a row of -infinity", 4, 1, {1}, 2, NONE, -INFINITY, NAN},
    {"first row of -infinity", 4, 1, {1}, 0, NONE, -INFINITY, NAN},
    {"+infinity", 4, 1, {1}, 1, 1, INFINITY, NAN},
    {"+infinity in the last row", 4, 1, {1}, 3, 2, INFINITY, NAN},
    {"+infinity of the blank", 4, 0, {0}, 0, 0, INFINITY, NAN},
    {"NaN", 4, 1, {1}, 0, 1, NAN, NAN},
    {"NaN of a symbol that no label uses", 4, 1, {1}, 2, 2, NAN, NAN},
    {"NaN in the last row", 4, 2, {1, 2}, 3, 0, NAN, NAN},
    {"a row of NaN", 4, 0, {0}, 3, NONE, NAN, NAN},
};

static void check_special(const struct linnet_ops *ops, const struct special *s) {
  struct call c;
  call_create(&c, s->frames, 3, s->labels, s->label);
  for (size_t i = 0; i < 3 * s->frames; i++)
    c.logits[i] = i / 3 == s->row && (s->symbol == NONE || i % 3 == s->symbol) ? s->value : 0;
  double loss = call_run(&c, ops), expected = isfinite(s->loss) ? s->loss * log(3) : s->loss;
  CHECK(isnan(expected) ? isnan(loss) : loss_error(loss, expected) < 1e-6, "%s, %s: loss %g instead of %g", ops->name,
        s->name, loss, expected);
  CHECK(isfinite(expected) || all_zero(c.gradient, call_size(&c)), "%s, %s: the gradient is not 0", ops->name, s->name);
  call_destroy(&c);
}

static void check_specials(const struct linnet_ops *ops) {
  for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
    check_special(ops, &specials[i]);
}

/* Labels that do not fit and input without a distribution, in either order: the loss is not finite and the gradient
 * is 0. */
static void check_doubly_wrong(const struct linnet_ops *ops) {
  static const int label[] = {1, 1, 1};
  struct call c;
  call_create(&c, 3, 3, 3, label);
  for (size_t i = 0; i < 9; i++)
    c.logits[i] = i == 8 ? NAN : 0;
  double loss = call_run(&c, ops);
  CHECK(!isfinite(loss) && all_zero(c.gradient, 9), "%s: loss %g", ops->name, loss);
  call_destroy(&c);
}

/* --- properties of any input -------------------------------------------------------------------------------------- */

enum { ALWAYS_FRAMES = 90, ALWAYS_SYMBOLS = 11, ALWAYS_LABELS = 25 };

struct always {
  int label[ALWAYS_LABELS];
  struct call call;
  double loss;
  size_t n;
};

static void always_create(struct always *a, const struct linnet_ops *ops) {
  struct test_random r = {3000};
  for (size_t i = 0; i < ALWAYS_LABELS; i++)
    a->label[i] = (int)(1 + test_below(&r, ALWAYS_SYMBOLS - 1));
  call_create(&a->call, ALWAYS_FRAMES, ALWAYS_SYMBOLS, ALWAYS_LABELS, a->label);
  fill_logits(&r, PLAIN, ALWAYS_FRAMES, ALWAYS_SYMBOLS, a->call.logits);
  a->loss = call_run(&a->call, ops);
  a->n = call_size(&a->call);
}

static void check_rows(const struct linnet_ops *ops, const struct always *a) {
  double worst = 0;
  for (size_t t = 0; t < ALWAYS_FRAMES; t++) {
    double sum = 0;
    for (size_t k = 0; k < ALWAYS_SYMBOLS; k++)
      sum += a->call.gradient[t * ALWAYS_SYMBOLS + k];
    worst = test_worst(worst, fabs(sum));
  }
  test_bound(ops->name, "sums of the gradient's rows", worst, 2e-6);
}

/* The same call again with `change`d arguments has the same loss and, scaled, the same gradient. */
static void check_again(const struct linnet_ops *ops, struct always *a, const char *what, float scale, bool in_place,
                        bool gradient) {
  float *logits = test_alloc(a->n, sizeof *logits), *out = test_alloc(a->n, sizeof *out);
  struct linnet_ctc ctc = a->call.ctc;
  memcpy(logits, a->call.logits, a->n * sizeof *logits);
  ctc.logits = logits;
  ctc.scale = scale;
  ctc.gradient = !gradient ? NULL : in_place ? logits : out;
  memset(a->call.work, 0xFF, a->call.work_bytes);
  double loss = ops->ctc(&ctc, a->call.work);
  CHECK(loss == a->loss, "%s, %s: loss %.17g, before %.17g", ops->name, what, loss, a->loss);
  bool same = true;
  for (size_t i = 0; gradient && i < a->n; i++)
    same &= ctc.gradient[i] == scale * a->call.gradient[i];
  CHECK(same, "%s, %s: another gradient", ops->name, what);
  free(logits);
  free(out);
}

/* A constant added to a row of logits is no change. */
static void check_shift(const struct linnet_ops *ops, struct always *a) {
  struct call moved;
  call_create(&moved, ALWAYS_FRAMES, ALWAYS_SYMBOLS, ALWAYS_LABELS, a->label);
  for (size_t i = 0; i < a->n; i++)
    moved.logits[i] = a->call.logits[i] + (float)(64 * (int)(i / ALWAYS_SYMBOLS % 5));
  double loss = call_run(&moved, ops);
  test_bound(ops->name, "rows of logits moved, loss", loss_error(loss, a->loss), 2e-6);
  test_bound(ops->name, "rows of logits moved, gradient", gradient_difference(moved.gradient, a->call.gradient, a->n),
             5e-5);
  call_destroy(&moved);
}

static void check_always(const struct linnet_ops *ops) {
  struct always a;
  always_create(&a, ops);
  check_rows(ops, &a);
  check_again(ops, &a, "again", 1, false, true);
  check_again(ops, &a, "in place", 1, true, true);
  check_again(ops, &a, "half", 0.5f, false, true);
  check_again(ops, &a, "minus two, in place", -2, true, true);
  check_again(ops, &a, "scale 0", 0, false, true);
  check_again(ops, &a, "loss only", 1, false, false);
  check_shift(ops, &a);
  call_destroy(&a.call);
}

static void check_table(const struct linnet_ops *ops) {
  check_specials(ops);
  check_doubly_wrong(ops);
  check_brute_force(ops);
  check_always(ops);
  check_long(ops);
}

int main(void) {
  static const int labels[] = {1, 1, 2, 2, 2, 3};
  CHECK(linnet_ctc_min_frames(labels, 6) == 9 && linnet_ctc_min_frames(labels, 1) == 1 &&
            linnet_ctc_min_frames(labels, 0) == 0,
        "linnet_ctc_min_frames");
  test_each_table(check_table);
  return test_result();
}
