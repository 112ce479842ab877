/* Reads golden files. If a tensor is missing or has another size, the test ends. */
#ifndef LINNET_GOLDEN_H
#define LINNET_GOLDEN_H

#include "model/format/safetensors.h"
#include "tables.h"

struct golden {
  struct linnet_context *context;
  void *data;
  struct linnet_safetensors file;
  char name[64];
};

static inline void golden_open(struct golden *g, struct linnet_context *context, const char *name) {
  char path[128];
  size_t bytes;
  *g = (struct golden){.context = context};
  snprintf(g->name, sizeof g->name, "%s", name);
  snprintf(path, sizeof path, "tests/golden/%s", name);
  REQUIRE(linnet_file_read(context, test_source(path), 1 << 20, &g->data, &bytes) == LINNET_OK, "%s",
          linnet_context_error(context));
  REQUIRE(linnet_safetensors_open(context, g->data, bytes, g->name, &g->file) == LINNET_OK, "%s",
          linnet_context_error(context));
}

static inline void golden_close(struct golden *g) {
  linnet_safetensors_close(&g->file);
  linnet_free(g->context, g->data);
}

static inline const char *golden_text(const struct golden *g, const char *key) {
  const char *text = linnet_safetensors_metadata(&g->file, key);
  REQUIRE(text, "%s: no metadata \"%s\"", g->name, key);
  return text;
}

/* The main function of a test whose file has a number of "cases": reads and checks each. */
static inline int golden_each_case(const char *file, void (*check)(const struct golden *g, size_t index)) {
  struct linnet_context *context = test_context();
  struct golden g;
  golden_open(&g, context, file);
  size_t cases = strtoul(golden_text(&g, "cases"), NULL, 10);
  REQUIRE(cases > 0, "no cases");
  for (size_t i = 0; i < cases; i++)
    check(&g, i);
  golden_close(&g);
  linnet_context_destroy(context);
  return test_result();
}

static inline const struct linnet_tensor *golden_tensor(const struct golden *g, const char *prefix, const char *name) {
  char full[160];
  snprintf(full, sizeof full, "%s%s", prefix, name);
  const struct linnet_tensor *tensor = linnet_safetensors_find(&g->file, full);
  REQUIRE(tensor, "%s: no tensor \"%s\"", g->name, full);
  return tensor;
}

/* All values of a tensor; free() them. `count` may be NULL. */
static inline float *golden_floats(const struct golden *g, const char *prefix, const char *name, size_t *count) {
  const struct linnet_tensor *tensor = golden_tensor(g, prefix, name);
  float *values = test_alloc(tensor->count, sizeof *values);
  REQUIRE(linnet_tensor_floats(tensor, 0, tensor->count, values), "%s: \"%s\" holds no floats", g->name, tensor->name);
  if (count)
    *count = tensor->count;
  return values;
}

static inline int32_t *golden_integers(const struct golden *g, const char *prefix, const char *name, size_t *count) {
  const struct linnet_tensor *tensor = golden_tensor(g, prefix, name);
  int32_t *values = test_alloc(tensor->count, sizeof *values);
  REQUIRE(linnet_tensor_integers(tensor, 0, tensor->count, values), "%s: \"%s\" holds no integers", g->name,
          tensor->name);
  if (count)
    *count = tensor->count;
  return values;
}

/* The largest |a - b|; 0 where both are the same infinity, infinity for NaN. */
static inline double golden_error(const float *a, const float *b, size_t n) {
  double worst = 0;
  for (size_t i = 0; i < n; i++) {
    double difference = a[i] == b[i] ? 0 : fabs((double)a[i] - b[i]);
    worst = test_worst(worst, difference);
  }
  return worst;
}

/* A loss and its gradient (n), against the expected ones. */
static inline void golden_check_loss(const char *table, const char *name, double loss, double expected,
                                     const float *gradient, const float *expected_gradient, size_t n) {
  char text[64];
  snprintf(text, sizeof text, "%s, loss", name);
  test_bound(table, text, fabs(loss - expected) / fmax(1, expected), 3e-6);
  snprintf(text, sizeof text, "%s, gradient", name);
  test_bound(table, text, golden_error(gradient, expected_gradient, n), 3e-6);
}

#endif
