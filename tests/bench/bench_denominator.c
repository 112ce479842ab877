/* The denominator of CTC-CRF with gradient, of an n-gram over 39 phones, beside CTC of the same frames, in one run:
 * nanoseconds a frame, arcs a second, and the share of the core's multiply-add peak. */
#include "bench.h"
#include "phone_model.h"
#include "train/denominator_graph.h"

enum { FRAMES = 500, LABELS = 150, SYMBOLS = 40 };

struct run {
  const struct linnet_ops *ops;
  struct linnet_ctc ctc;
  struct linnet_denominator denominator;
  void *work;
};

static void run_ctc(void *user) {
  const struct run *r = user;
  r->ops->ctc(&r->ctc, r->work);
}

static void run_denominator(void *user) {
  const struct run *r = user;
  r->ops->denominator(&r->denominator, r->work);
}

/* `arcs` of a frame; each takes a product and a sum forward, and the same backward. */
static void report(struct run *r, const char *name, bench_fn *body, double arcs) {
  struct bench_result result = bench_share(r->ops->name, body, r, 4 * arcs * FRAMES, 0.5);
  printf("%-11s %-22s %8.0f arcs %9.1f ns a frame %7.2f G arcs/s %6.1f %% of the peak\n", r->ops->name, name, arcs,
         result.seconds * 1e9 / FRAMES, arcs * FRAMES / result.seconds * 1e-9, 100 * result.share);
}

static void measure(const struct linnet_ops *ops, unsigned order, size_t merged) {
  static const char *const names[] = {"", "unigram", "bigram", "trigram", "trigram, merged"};
  struct test_random random = {1};
  int label[LABELS];
  struct phone_model m = {SYMBOLS, order, merged, phone_table(&random, SYMBOLS)};
  struct linnet_language_model model = phone_language_model(&m);
  struct linnet_context *context = test_context();
  struct linnet_denominator_graph *graph;
  REQUIRE(linnet_denominator_graph_create(context, &model, SYMBOLS, NULL, &graph) == LINNET_OK, "%s",
          linnet_context_error(context));
  for (size_t i = 0; i < LABELS; i++)
    label[i] = 1 + (int)test_below(&random, SYMBOLS - 1);
  size_t size = (size_t)FRAMES * SYMBOLS;
  float *logits = bench_floats(&random, size), *gradient = bench_alloc(size * sizeof(float));
  struct run r = {.ops = ops,
                  .ctc = {FRAMES, SYMBOLS, LABELS, logits, label, 1, gradient},
                  .denominator = {graph, FRAMES, logits, 1, gradient},
                  .work = bench_alloc(linnet_denominator_work_bytes(graph, FRAMES) +
                                      linnet_ctc_work_bytes(FRAMES, SYMBOLS, LABELS))};
  report(&r, "CTC, 150 labels", run_ctc, 5 * LABELS + 1);
  report(&r, names[order + (merged > 0)], run_denominator, (double)(graph->arcs + 4 * (graph->arcs / (SYMBOLS - 1))));
  linnet_denominator_graph_destroy(context, graph);
  linnet_context_destroy(context);
  free((void *)(uintptr_t)m.table), free(logits), free(gradient), free(r.work);
}

int main(int argc, char **argv) {
  const struct linnet_ops *ops;
  size_t i = 0;
  for (; (ops = bench_table(argc, argv, i)); i++) {
    measure(ops, 2, 0);
    measure(ops, 3, 0);
    measure(ops, 3, 3);
  }
  return i == 0;
}
