/* Embeddings: rows of tables that are chosen by indices. A row of input has an index into each table, and its result is
 * the sum of the chosen rows. For example the first table has a row for each token, the second one for each position.
 * The op runs on the host only. */
#ifndef LINNET_EMBEDDING_H
#define LINNET_EMBEDDING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/real.h"

enum { LINNET_MAX_TABLES = 8 };

/* The tables lie one behind the other, each (size, width). */
struct linnet_embedding {
  size_t tables, width;
  size_t sizes[LINNET_MAX_TABLES];
};

/* Rows of all tables together. */
size_t linnet_embedding_rows(const struct linnet_embedding *e);

/* Whether all indices (rows, tables) are whole numbers within their tables; *bad is the first that is not. */
bool linnet_embedding_check(const struct linnet_embedding *e, size_t rows, const float *indices, size_t *bad);

/* y (rows, width) = sums of rows of the tables. */
void linnet_embedding_forward(const struct linnet_embedding *e, size_t rows, const real *indices, const real *tables,
                              real *y);

/* Adds dy (rows, width) to the rows of the tables' gradient. */
void linnet_embedding_backward(const struct linnet_embedding *e, size_t rows, const real *indices, const real *dy,
                               real *dtables_add);

#endif
