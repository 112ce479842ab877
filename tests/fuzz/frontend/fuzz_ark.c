/* Any bytes as a Kaldi archive: read as matrices, and as CMVN statistics, within a budget of memory and without
 * leaks. The matrices are written, and reading them again must give the same. */
#include <linnet/kaldi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

static struct linnet_context *context;

/* Aborts with the message of the context unless the status is LINNET_OK. */
static void demand(enum linnet_status status) {
  check(status == LINNET_OK, linnet_context_error(context));
}

/* Writes a matrix as float and reads it back. */
static void check_round_trip(const char *key, const struct linnet_matrix *matrix) {
  static char path[64];
  struct linnet_ark_writer *writer = NULL;
  struct linnet_ark *ark = NULL;
  struct linnet_matrix again = {0};
  const char *found;
  snprintf(path, sizeof path, "fuzz_ark_%ld.tmp", (long)getpid());
  demand(linnet_ark_writer_create(context, path, NULL, LINNET_KALDI_FLOAT, &writer));
  demand(linnet_ark_write(writer, key, matrix->values, matrix->rows, matrix->cols));
  demand(linnet_ark_writer_commit(writer));
  linnet_ark_writer_destroy(writer);
  demand(linnet_ark_open(context, path, &ark));
  demand(linnet_ark_next(ark, &found, &again));
  check(strcmp(found, key) == 0, "another key");
  check(again.rows == matrix->rows && again.cols == matrix->cols, "another size");
  check(memcmp(again.values, matrix->values, matrix->rows * matrix->cols * sizeof(float)) == 0, "other values");
  linnet_matrix_release(context, &again);
  linnet_ark_destroy(ark);
  remove(path);
}

static void read_matrices(const uint8_t *data, size_t size, int check) {
  struct linnet_ark *ark = NULL;
  struct linnet_matrix matrix = {0};
  const char *key;
  demand(linnet_ark_open_memory(context, data, size, "fuzz", &ark));
  while (linnet_ark_next(ark, &key, &matrix) == LINNET_OK)
    if (check && matrix.rows * matrix.cols < 100)
      check_round_trip(key, &matrix);
  linnet_matrix_release(context, &matrix);
  linnet_ark_destroy(ark);
}

static void read_statistics(const uint8_t *data, size_t size) {
  struct linnet_ark *ark = NULL;
  struct linnet_cmvn cmvn;
  const char *key;
  demand(linnet_ark_open_memory(context, data, size, "fuzz", &ark));
  while (linnet_ark_next_cmvn(ark, &key, &cmvn) == LINNET_OK)
    check(cmvn.dim >= 1 && cmvn.dim <= LINNET_CMVN_MAX_DIM && cmvn.count >= 0, "statistics");
  linnet_ark_destroy(ark);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static unsigned runs;
  if (!context)
    context = budget_context();
  check(context != NULL, "no context");
  size_t before = budget.live;
  budget.limit = before + 16 * size + (1 << 20);
  read_matrices(data, size, runs++ % 64 == 0); /* files are slow */
  read_statistics(data, size);
  budget.limit = 0;
  check(!budget.exceeded, "asked for more memory than such a file deserves");
  check(budget.live == before, "memory was not released");
  return 0;
}
