/* The denominator of CTC-CRF against PyTorch in double (make_denominator.py): its value, its gradient with respect to
 * the logits, and the loss of a label sequence. */
#include "golden.h"
#include "phone_model.h"
#include "train/denominator_graph.h"

struct denominator_case {
  const char *name;
  size_t frames, labels;
  struct linnet_denominator_graph *graph;
  int label[16];
  float *logits, *value, *gradient, *loss;
};

static struct denominator_case now; /* for check_table */

static struct linnet_denominator_graph *read_graph(const struct golden *g, const char *prefix) {
  char key[48];
  snprintf(key, sizeof key, "%sorder", prefix);
  struct phone_model m = {golden_tensor(g, prefix, "table")->shape[0], (unsigned)strtoul(golden_text(g, key), NULL, 10),
                          0, golden_floats(g, prefix, "table", NULL)};
  struct linnet_language_model model = phone_language_model(&m);
  struct linnet_denominator_graph *graph;
  REQUIRE(linnet_denominator_graph_create(g->context, &model, m.symbols, NULL, &graph) == LINNET_OK, "%s",
          linnet_context_error(g->context));
  free((void *)(uintptr_t)m.table);
  return graph;
}

static void read_case(struct denominator_case *c, const struct golden *g, size_t index) {
  char prefix[32], key[48];
  snprintf(prefix, sizeof prefix, "%zu.", index);
  snprintf(key, sizeof key, "%sname", prefix);
  *c = (struct denominator_case){.name = golden_text(g, key),
                                 .frames = golden_tensor(g, prefix, "logits")->shape[0],
                                 .graph = read_graph(g, prefix),
                                 .logits = golden_floats(g, prefix, "logits", NULL),
                                 .value = golden_floats(g, prefix, "value", NULL),
                                 .gradient = golden_floats(g, prefix, "gradient", NULL),
                                 .loss = golden_floats(g, prefix, "loss", NULL)};
  float *labels = golden_floats(g, prefix, "labels", &c->labels);
  REQUIRE(c->labels <= 16, "%zu labels", c->labels);
  for (size_t i = 0; i < c->labels; i++)
    c->label[i] = (int)labels[i];
  free(labels);
}

static void check_table(const struct linnet_ops *ops) {
  const struct denominator_case *c = &now;
  size_t n = c->frames * c->graph->symbols;
  float *gradient = calloc(n, sizeof *gradient);
  size_t bytes = linnet_denominator_work_bytes(c->graph, c->frames);
  void *work = malloc(bytes + linnet_ctc_work_bytes(c->frames, c->graph->symbols, c->labels));
  struct linnet_denominator d = {c->graph, c->frames, c->logits, 1, gradient};
  struct linnet_ctc ctc = {c->frames, c->graph->symbols, c->labels, c->logits, c->label, 1, NULL};
  char name[64];
  double value = ops->denominator(&d, work);
  double loss = value + ops->ctc(&ctc, work) - linnet_denominator_label_score(c->graph, c->label, c->labels);
  snprintf(name, sizeof name, "%s, value", c->name);
  test_bound(ops->name, name, fabs(value - (double)c->value[0]) / fmax(1, fabs((double)c->value[0])), 1e-6);
  snprintf(name, sizeof name, "%s, loss", c->name);
  test_bound(ops->name, name, fabs(loss - (double)c->loss[0]) / fmax(1, fabs((double)c->loss[0])), 2e-6);
  snprintf(name, sizeof name, "%s, gradient", c->name);
  test_bound(ops->name, name, golden_error(gradient, c->gradient, n), 1e-6);
  free(gradient);
  free(work);
}

static void check(const struct golden *g, size_t index) {
  read_case(&now, g, index);
  test_each_table(check_table);
  linnet_denominator_graph_destroy(g->context, now.graph);
  free(now.logits), free(now.value), free(now.gradient), free(now.loss);
}

int main(void) {
  return golden_each_case("denominator.safetensors", check);
}
