/* The denominator of CTC-CRF in double: its value against the sum over all paths, one by one; its gradient with respect
 * to the logits, and that of the whole loss of a batch, against central differences; the product with `scale`, and that
 * gradients are added; impossible symbols; infeasible labels. */
#include "backend/device.h"
#include "gradient.h"
#include "phone_model.h"
#include "train/denominator_graph.h"

#define BOUND 1e-8

struct denominator_case {
  const char *name;
  size_t frames, symbols;
  unsigned order;
  size_t merged;
  double sharpness; /* factor on the logits */
};

static const struct denominator_case cases[] = {
    {"one frame", 1, 3, 3, 0, 1},    {"one label", 6, 2, 3, 0, 1}, {"unigram", 5, 4, 1, 0, 1},
    {"bigram", 5, 4, 2, 0, 1},       {"trigram", 5, 4, 3, 0, 1},   {"trigram, histories merged", 6, 3, 3, 2, 1},
    {"peaked", 5, 4, 3, 0, 8},       {"long", 30, 5, 3, 2, 2},     {"wide", 12, 20, 2, 0, 2},
    {"wide trigram", 3, 18, 3, 0, 1}};

enum { MAX_PATHS = 5000 };

static struct linnet_denominator_graph *make_graph(struct linnet_context *context, const struct phone_model *m) {
  struct linnet_denominator_graph *graph;
  struct linnet_language_model model = phone_language_model(m);
  REQUIRE(linnet_denominator_graph_create(context, &model, m->symbols, NULL, &graph) == LINNET_OK, "%s",
          linnet_context_error(context));
  return graph;
}

/* --- the value ---------------------------------------------------------------------------------------------------- */

/* The probability that the model gives the labels of a path, without repetitions and blanks. */
static double path_weight(const struct phone_model *m, const size_t *path, size_t frames) {
  struct phone_state s = {0};
  double sum = 0;
  for (size_t t = 0; t < frames; t++)
    if (path[t] != 0 && (t == 0 || path[t] != path[t - 1]))
      sum += (double)phone_score(m, &s, (unsigned)path[t], &s);
  return exp(sum + (double)phone_finish(m, &s));
}

/* The sum over all paths; 0 if they are too many. */
static double sum_of_paths(const struct phone_model *m, size_t frames, const real *logits) {
  size_t path[40] = {0}, paths = 1, V = m->symbols;
  double sum = 0;
  for (size_t t = 0; t < frames && paths <= MAX_PATHS; t++)
    paths *= V;
  for (size_t i = 0; paths <= MAX_PATHS && i < paths; i++) {
    double p = 1;
    for (size_t t = 0, rest = i; t < frames; t++, rest /= V) {
      double all = 0;
      path[t] = rest % V;
      for (size_t k = 0; k < V; k++)
        all += exp(logits[t * V + k]);
      p *= exp(logits[t * V + path[t]]) / all;
    }
    sum += p * path_weight(m, path, frames);
  }
  return sum;
}

/* --- the gradient ------------------------------------------------------------------------------------------------- */

struct moving {
  struct linnet_denominator d;
  real *logit;
  void *work;
};

static double sum_moved(void *user, double by) {
  struct moving *m = user;
  real saved = *m->logit;
  *m->logit += by;
  double sum = linnet_cpu_ops("reference")->denominator(&m->d, m->work);
  *m->logit = saved;
  return sum;
}

/* `impossible` is a symbol whose logits are -infinity (0: none). */
static void check_case(const struct denominator_case *c, real scale, size_t impossible, uint64_t seed) {
  struct test_random r = {seed};
  struct linnet_context *context = test_context();
  struct phone_model m = {c->symbols, c->order, c->merged, phone_table(&r, c->symbols)};
  struct linnet_denominator_graph *graph = make_graph(context, &m);
  size_t n = c->frames * c->symbols;
  real *logits = gradient_random(&r, n), *gradient = gradient_reals(n);
  void *work = malloc(linnet_denominator_work_bytes(graph, c->frames));
  for (size_t i = 0; i < n; i++) {
    logits[i] = impossible && i % c->symbols == impossible ? -INFINITY : logits[i] * c->sharpness;
    gradient[i] = 1;
  }
  struct linnet_denominator d = {graph, c->frames, logits, scale, gradient};
  double value = linnet_cpu_ops("reference")->denominator(&d, work), worst = 0, row = 0;
  double expected = sum_of_paths(&m, c->frames, logits);
  d.gradient_add = NULL;
  for (size_t i = 0; i < n; i++) {
    struct moving moving = {d, logits + i, work};
    double slope = impossible && i % c->symbols == impossible ? 0 : gradient_difference(sum_moved, &moving, 1e-3);
    worst = fmax(worst, gradient_error(1 + slope * scale, gradient[i], 1e-3));
    row = i % c->symbols == 0 ? gradient[i] - 1 : row + gradient[i] - 1;
    CHECK((i + 1) % c->symbols != 0 || fabs(row) < 1e-9, "%s: the gradient of a frame adds up to %g", c->name, row);
  }
  printf("%-26s scale %.2f, impossible %zu, seed %llu: %zu arcs, value %.9f (%.9f), error %.1e, bound %.0e\n", c->name,
         scale, impossible, (unsigned long long)seed, graph->arcs, value, log(expected), worst, BOUND);
  CHECK(value < 0, "%s: value %g", c->name, value);
  CHECK(expected == 0 || fabs(value - log(expected)) < 1e-6, "%s: %.12f, all paths %.12f", c->name, value,
        log(expected));
  CHECK(worst <= BOUND, "%s, scale %g: error %.3e, bound %.0e", c->name, scale, worst, BOUND);
  linnet_denominator_graph_destroy(context, graph);
  linnet_context_destroy(context);
  free((void *)(uintptr_t)m.table), free(logits), free(gradient), free(work);
}

/* --- a batch ------------------------------------------------------------------------------------------------------ */

enum { SYMBOLS = 4, ROWS = 14, SEQUENCES = 4 };

static const size_t offsets[] = {0, 6, 6, 12, 14};
static const int labels[][3] = {{1, 1, 3}, {0}, {2}, {3, 3}};
static const size_t num_labels[] = {3, 0, 1, 2};

/* The fourth sequence is too short for its labels. */
struct batch {
  struct linnet_cpu_device device;
  struct linnet_batch_ctc ctc;
  struct linnet_batch_denominator crf;
  double loss[SEQUENCES], crf_loss[SEQUENCES];
  real gradient[ROWS * SYMBOLS];
  real *logit;
  void *work;
};

/* CTC-CRF + 0.1 CTC of the feasible sequences. */
static double batch_moved(void *user, double by) {
  struct batch *b = user;
  double sum = 0;
  *b->logit += by;
  linnet_cpu_device_ops.ctc(&b->device.base, &b->ctc, b->work);
  linnet_cpu_device_ops.denominator(&b->device.base, &b->crf, b->work);
  *b->logit -= by;
  for (size_t s = 0; s < SEQUENCES; s++)
    sum += b->loss[s] == INFINITY ? 0 : b->crf_loss[s] + 0.1 * b->loss[s];
  return sum;
}

static void check_batch(void) {
  struct test_random r = {9};
  struct linnet_context *context = test_context();
  struct phone_model m = {SYMBOLS, 3, 0, phone_table(&r, SYMBOLS)};
  struct linnet_denominator_graph *graph = make_graph(context, &m);
  const int *label[] = {labels[0], labels[1], labels[2], labels[3]};
  const struct linnet_pack pack = {SEQUENCES, offsets};
  real *logits = gradient_random(&r, (size_t)ROWS * SYMBOLS), gradient[ROWS * SYMBOLS];
  struct batch b = {.device = linnet_cpu_device(context, linnet_cpu_ops("reference"))};
  b.ctc = (struct linnet_batch_ctc){&pack, SYMBOLS, label, num_labels, logits, 1.1, b.gradient, b.loss};
  b.crf = (struct linnet_batch_denominator){&pack, graph, label, num_labels, logits, b.loss, 1, b.gradient, b.crf_loss};
  size_t bytes = linnet_cpu_device_ops.denominator_work_bytes(&b.device.base, &b.crf);
  b.work = malloc(bytes + linnet_cpu_device_ops.ctc_work_bytes(&b.device.base, &b.ctc));
  b.logit = logits;
  batch_moved(&b, 0);
  memcpy(gradient, b.gradient, sizeof gradient);
  double worst = 0;
  for (size_t i = 0; i < (size_t)ROWS * SYMBOLS; i++) {
    b.logit = logits + i;
    worst = fmax(worst, gradient_error(gradient_difference(batch_moved, &b, 1e-3), gradient[i], 1e-3));
  }
  printf("a batch: losses %.6f %.6f %.6f %.6f, error %.1e, bound %.0e\n", b.crf_loss[0], b.crf_loss[1], b.crf_loss[2],
         b.crf_loss[3], worst, BOUND);
  CHECK(worst <= BOUND, "a batch: error %.3e, bound %.0e", worst, BOUND);
  for (size_t s = 0; s < SEQUENCES; s++)
    CHECK(b.crf_loss[s] >= 0 && (b.crf_loss[s] == INFINITY) == (s == 3), "sequence %zu: loss %g", s, b.crf_loss[s]);
  CHECK(fabs(b.crf_loss[1]) < 1e-6, "a sequence without frames: loss %g", b.crf_loss[1]);
  linnet_denominator_graph_destroy(context, graph);
  linnet_context_destroy(context);
  free((void *)(uintptr_t)m.table), free(logits), free(b.work);
}

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    check_case(&cases[i], 1, 0, i + 1);
    check_case(&cases[i], 0.25, 0, i + 101);
  }
  check_case(&cases[4], 1, 3, 201);
  check_case(&cases[7], 1, 2, 202);
  check_batch();
  return test_result();
}
