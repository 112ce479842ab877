/* The consistency of two views against PyTorch in double (make_consistency.py): loss and gradients with respect to the
 * logits. */
#include "golden.h"

struct consistency_case {
  const char *name;
  size_t frames, symbols;
  float *a, *b, *loss, *gradient_a, *gradient_b;
};

static struct consistency_case now; /* for check_table */

static void read_case(struct consistency_case *c, const struct golden *g, size_t index) {
  char prefix[32], key[48];
  snprintf(prefix, sizeof prefix, "%zu.", index);
  snprintf(key, sizeof key, "%sname", prefix);
  const struct linnet_tensor *logits = golden_tensor(g, prefix, "a");
  REQUIRE(logits->rank == 2, "%s: rank %zu", logits->name, logits->rank);
  *c = (struct consistency_case){.name = golden_text(g, key),
                                 .frames = logits->shape[0],
                                 .symbols = logits->shape[1],
                                 .a = golden_floats(g, prefix, "a", NULL),
                                 .b = golden_floats(g, prefix, "b", NULL),
                                 .loss = golden_floats(g, prefix, "loss", NULL),
                                 .gradient_a = golden_floats(g, prefix, "grad_a", NULL),
                                 .gradient_b = golden_floats(g, prefix, "grad_b", NULL)};
}

static void free_case(struct consistency_case *c) {
  free(c->a);
  free(c->b);
  free(c->loss);
  free(c->gradient_a);
  free(c->gradient_b);
}

static void check_case(const struct linnet_ops *ops, const struct consistency_case *c) {
  size_t n = c->frames * c->symbols;
  float *da = calloc(n, sizeof *da), *db = calloc(n, sizeof *db);
  struct linnet_consistency pair = {c->frames, c->symbols, c->a, c->b, 1, da, db};
  double loss = ops->consistency(&pair), expected = c->loss[0];
  char name[64];
  snprintf(name, sizeof name, "%s, loss", c->name);
  test_bound(ops->name, name, fabs(loss - expected) / fmax(1, expected), 1e-6);
  snprintf(name, sizeof name, "%s, gradients", c->name);
  test_bound(ops->name, name, fmax(golden_error(da, c->gradient_a, n), golden_error(db, c->gradient_b, n)), 1e-6);
  free(da);
  free(db);
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
  return golden_each_case("consistency.safetensors", check);
}
