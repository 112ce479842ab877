/* CTC against PyTorch in double (make_ctc.py): loss and gradient with respect to the logits. */
#include "golden.h"

struct ctc_case {
  const char *name;
  size_t frames, symbols, labels;
  float *logits, *loss, *gradient;
  int32_t *label;
};

static struct ctc_case now; /* for check_table */

static void read_case(struct ctc_case *c, const struct golden *g, size_t index) {
  char prefix[32];
  snprintf(prefix, sizeof prefix, "%zu.", index);
  const struct linnet_tensor *logits = golden_tensor(g, prefix, "logits");
  REQUIRE(logits->rank == 2, "%s: rank %zu", logits->name, logits->rank);
  char key[48];
  snprintf(key, sizeof key, "%sname", prefix);
  *c = (struct ctc_case){.name = golden_text(g, key),
                         .frames = logits->shape[0],
                         .symbols = logits->shape[1],
                         .logits = golden_floats(g, prefix, "logits", NULL),
                         .loss = golden_floats(g, prefix, "loss", NULL),
                         .gradient = golden_floats(g, prefix, "grad", NULL)};
  c->label = golden_integers(g, prefix, "labels", &c->labels);
}

static void free_case(struct ctc_case *c) {
  free(c->logits);
  free(c->loss);
  free(c->gradient);
  free(c->label);
}

static void check_case(const struct linnet_ops *ops, const struct ctc_case *c) {
  size_t n = c->frames * c->symbols;
  float *gradient = test_alloc(n, sizeof *gradient);
  void *work = test_alloc(linnet_ctc_work_bytes(c->frames, c->symbols, c->labels), 1);
  struct linnet_ctc ctc = {c->frames, c->symbols, c->labels, c->logits, c->label, 1, gradient};
  double loss = ops->ctc(&ctc, work), expected = c->loss[0];
  char name[64];
  snprintf(name, sizeof name, "%s, loss", c->name);
  test_bound(ops->name, name, loss == expected ? 0 : fabs(loss - expected) / fmax(1, expected), 1e-6);
  snprintf(name, sizeof name, "%s, gradient", c->name);
  test_bound(ops->name, name, golden_error(gradient, c->gradient, n), 1e-6);
  free(gradient);
  free(work);
}

static void check_table(const struct linnet_ops *ops) {
  check_case(ops, &now);
}

static void check(const struct golden *g, size_t index) {
  read_case(&now, g, index);
  test_each_table(check_table);
  free_case(&now);
}

int main(void) {
  return golden_each_case("ctc.safetensors", check);
}
