/* Twelve steps of RAdam and Adam on given gradients against PyTorch in double (make_optimizer.py). The sixth step is
 * the first that RAdam rectifies. */
#include "golden.h"
#include "ops/optimizer.h"

static const struct {
  const char *name;
  enum linnet_optimizer kind;
} kinds[] = {{"radam", LINNET_RADAM}, {"adam", LINNET_ADAM}};

static struct golden golden;

static void check_kind(const struct linnet_ops *ops, enum linnet_optimizer kind, const char *name) {
  size_t n, count;
  double rate = strtod(golden_text(&golden, "learning_rate"), NULL), plain = 0, adaptive = 0;
  float *x = golden_floats(&golden, "", "start", &n), *gradients = golden_floats(&golden, "", "grads", &count);
  float *expected = golden_floats(&golden, "", name, NULL), *m = test_alloc(n, sizeof *m),
        *v = test_alloc(n, sizeof *v);
  size_t steps = count / n;
  memset(m, 0, n * sizeof *m);
  memset(v, 0, n * sizeof *v);
  for (size_t i = 0; i < steps; i++) {
    struct linnet_update u;
    linnet_update_terms(kind, rate, i + 1, &u);
    ops->update(&u, n, x, gradients + i * n, m, v);
    double *worst = u.adaptive ? &adaptive : &plain;
    *worst = fmax(*worst, golden_error(x, expected + i * n, n));
  }
  char text[64];
  CHECK(steps == 12, "%zu steps", steps);
  snprintf(text, sizeof text, "%s, plain steps", name);
  test_bound(ops->name, text, plain, 3e-7);
  snprintf(text, sizeof text, "%s, adaptive steps", name);
  test_bound(ops->name, text, adaptive, 6e-7);
  free(x);
  free(gradients);
  free(expected);
  free(m);
  free(v);
}

static void check_table(const struct linnet_ops *ops) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    check_kind(ops, kinds[i].kind, kinds[i].name);
}

int main(void) {
  struct linnet_context *context = test_context();
  golden_open(&golden, context, "optimizer.safetensors");
  test_each_table(check_table);
  golden_close(&golden);
  linnet_context_destroy(context);
  return test_result();
}
