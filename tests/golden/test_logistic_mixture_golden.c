/* The mixture of logistics against PyTorch in double (make_logistic_mixture.py): loss, and gradient with respect to the
 * outputs. */
#include "golden.h"
#include "ops/logistic_mixture.h"

static void check(const struct golden *g, size_t index) {
  char prefix[32], key[48];
  snprintf(prefix, sizeof prefix, "%zu.", index);
  snprintf(key, sizeof key, "%sname", prefix);
  size_t rows, count;
  int32_t *values = golden_integers(g, prefix, "values", &rows), *levels = golden_integers(g, prefix, "levels", NULL);
  float *outputs = golden_floats(g, prefix, "outputs", &count), *loss = golden_floats(g, prefix, "loss", NULL);
  float *expected = golden_floats(g, prefix, "gradient", NULL), *gradient = test_alloc(count, sizeof *gradient);
  const struct linnet_logistic_mixture m = {.rows = rows,
                                            .components = count / rows / 3,
                                            .levels = (size_t)levels[0],
                                            .outputs = outputs,
                                            .values = values,
                                            .scale = 1,
                                            .gradient = gradient};
  const double error = fabs(linnet_logistic_mixture_reference(&m) - loss[0]) / fmax(1, loss[0]);
  test_bound(golden_text(g, key), "loss", error, 1e-6);
  test_bound(golden_text(g, key), "gradient", golden_error(gradient, expected, count), 1e-6);
  free(values), free(levels), free(outputs), free(loss), free(expected), free(gradient);
}

int main(void) {
  return golden_each_case("logistic_mixture.safetensors", check);
}
