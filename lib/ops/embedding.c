/* Sums of rows of tables, and their gradient. */
#include "ops/embedding.h"

#include <string.h>

size_t linnet_embedding_rows(const struct linnet_embedding *e) {
  size_t rows = 0;
  for (size_t i = 0; i < e->tables; i++)
    rows += e->sizes[i];
  return rows;
}

bool linnet_embedding_check(const struct linnet_embedding *e, size_t rows, const float *indices, size_t *bad) {
  for (size_t i = 0; i < rows * e->tables; i++)
    if (!(indices[i] >= 0 && indices[i] < (float)e->sizes[i % e->tables]) || indices[i] != (float)(size_t)indices[i]) {
      *bad = i;
      return false;
    }
  return true;
}

static void add_row(size_t width, const real *x, real *y_add) {
  for (size_t c = 0; c < width; c++)
    y_add[c] += x[c];
}

void linnet_embedding_forward(const struct linnet_embedding *e, size_t rows, const real *indices, const real *tables,
                              real *y) {
  memset(y, 0, rows * e->width * sizeof *y);
  for (size_t t = 0; t < rows; t++, y += e->width) {
    const real *table = tables;
    for (size_t i = 0; i < e->tables; table += e->sizes[i++] * e->width)
      add_row(e->width, table + (size_t)*indices++ * e->width, y);
  }
}

void linnet_embedding_backward(const struct linnet_embedding *e, size_t rows, const real *indices, const real *dy,
                               real *dtables_add) {
  for (size_t t = 0; t < rows; t++, dy += e->width) {
    real *table = dtables_add;
    for (size_t i = 0; i < e->tables; table += e->sizes[i++] * e->width)
      add_row(e->width, dy, table + (size_t)*indices++ * e->width);
  }
}
