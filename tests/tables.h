/* The CPU's op tables, for tests that go through all of them. */
#ifndef LINNET_TEST_TABLES_H
#define LINNET_TEST_TABLES_H

#include "backend/backend.h"
#include "test.h"

static const char *const test_table_names[] = {"reference",   "generic",         "cblas",           "avx2",
                                               "avx2-int8",   "avxvnni",         "avx512",          "avx512-bf16",
                                               "avx512-vnni", "avx512-amx-bf16", "avx512-amx-int8", "dotprod"};
enum { TEST_TABLES = sizeof test_table_names / sizeof *test_table_names };

/* Whether LINNET_TEST_TABLES in the environment, names between spaces, has this one or is not set. */
static inline bool test_table_wanted(const char *name) {
  const char *wanted = getenv("LINNET_TEST_TABLES");
  const size_t length = strlen(name);
  for (const char *at = wanted; at && *at; at += strcspn(at, " ")) {
    at += strspn(at, " ");
    if (strncmp(at, name, length) == 0 && (at[length] == ' ' || !at[length]))
      return true;
  }
  return !wanted;
}

/* Table `i` of the names above, NULL if it is not wanted, or (after saying so) not compiled in or not for this
 * processor. */
static inline const struct linnet_ops *test_table(size_t i) {
  const struct linnet_ops *ops = linnet_cpu_ops(test_table_names[i]);
  if (!test_table_wanted(test_table_names[i]))
    return NULL;
  if (!ops)
    printf("%s: not here\n", test_table_names[i]);
  CHECK(ops || i > 0, "the reference is always there");
  return ops;
}

/* Calls `body` with each table that runs here. */
static inline void test_each_table(void (*body)(const struct linnet_ops *ops)) {
  for (size_t i = 0; i < TEST_TABLES; i++) {
    const struct linnet_ops *ops = test_table(i);
    if (ops)
      body(ops);
  }
}

/* Prints a measured error and checks it; `name` describes it. */
static inline void test_bound(const char *table, const char *name, double error, double bound) {
  printf("%-10s %-34s error %.2e, bound %.1e\n", table, name, error, bound);
  CHECK(error <= bound, "%s, %s: error %.3e, bound %.1e", table, name, error, bound);
}

/* The bound for errors of log-posteriors against float32, where `exact` is that of a table which rounds no operands.
 * Integers of 7 bits (avx2-int8) have twice the errors of those of 8. */
static inline double test_precision_bound(const struct linnet_ops *ops, double exact) {
  const double integers = strcmp(ops->name, "avx2-int8") == 0 ? 8e-2 : 4e-2;
  return ops->precision == LINNET_INT8 ? integers : ops->precision == LINNET_BFLOAT16 ? 1.5e-2 : exact;
}

/* malloc that ends the test when memory runs out; n may be 0. */
static inline void *test_alloc(size_t n, size_t bytes) {
  void *block = malloc(n * bytes + 1);
  if (!block) {
    fprintf(stderr, "no memory for %zu elements\n", n);
    exit(1);
  }
  return block;
}

#endif
