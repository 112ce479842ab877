/* Script files: random access to matrices by key. */
#include "frontend/kaldi/kaldi_value.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "frontend/kaldi/table.h"

/* Where the matrix of an entry begins. */
struct position {
  size_t file; /* index into the files */
  uint64_t offset;
};

/* Neighbouring entries that name the same file. */
struct run {
  const char *name; /* (length) */
  size_t length, first, end;
};

struct linnet_scp {
  struct linnet_context *context;
  struct linnet_table table;
  struct position *positions; /* (table.count) */
  char **files;               /* (num_files): their paths, each resolved once */
  size_t num_files;
};

static enum linnet_status check_entry(const struct linnet_scp *scp, const struct linnet_entry *entry) {
  const struct linnet_table *table = &scp->table;
  size_t length = strlen(entry->value);
  if (length == 0)
    return linnet_fail(scp->context, LINNET_ERROR_FORMAT, "%s:%zu: %.100s is not followed by a file", table->name,
                       entry->line, entry->key);
  if (entry->value[0] == '|' || entry->value[length - 1] == '|')
    return linnet_fail(scp->context, LINNET_ERROR_UNSUPPORTED,
                       "%s:%zu: %.100s is a command, which the library does not run: write its output to a file",
                       table->name, entry->line, entry->key);
  if (entry->value[length - 1] == ']')
    return linnet_fail(scp->context, LINNET_ERROR_UNSUPPORTED,
                       "%s:%zu: %.100s is a range of rows, which is not supported: copy the rows to an archive",
                       table->name, entry->line, entry->key);
  return LINNET_OK;
}

static bool same_name(const struct run *a, const struct run *b) {
  return a->length == b->length && memcmp(a->name, b->name, a->length) == 0;
}

static int by_name(const void *a, const void *b) {
  const struct run *x = a, *y = b;
  int order = memcmp(x->name, y->name, x->length < y->length ? x->length : y->length);
  return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* Fills in the offsets and the runs, and returns the number of runs. */
static size_t find_runs(struct linnet_scp *scp, struct run *runs) {
  size_t count = 0;
  for (size_t i = 0; i < scp->table.count; i++) {
    struct run run = {.name = scp->table.entries[i].value, .first = i};
    run.length = linnet_split_offset(run.name, &scp->positions[i].offset);
    if (count == 0 || !same_name(&runs[count - 1], &run))
      runs[count++] = run;
    runs[count - 1].end = i + 1;
  }
  return count;
}

/* Resolves each name once: a corpus has many utterances in few archives. */
static enum linnet_status resolve_runs(struct linnet_scp *scp, struct run *runs, size_t count) {
  qsort(runs, count, sizeof *runs, by_name);
  for (size_t r = 0; r < count; r++) {
    if (r == 0 || !same_name(&runs[r - 1], &runs[r])) {
      LINNET_TRY(linnet_relative_path(scp->context, scp->table.name, runs[r].name, runs[r].length,
                                      &scp->files[scp->num_files]));
      scp->num_files++;
    }
    for (size_t i = runs[r].first; i < runs[r].end; i++)
      scp->positions[i].file = scp->num_files - 1;
  }
  return LINNET_OK;
}

static enum linnet_status find_positions(struct linnet_scp *scp) {
  size_t count = scp->table.count;
  struct run *runs = linnet_alloc(scp->context, count, sizeof *runs);
  scp->positions = linnet_alloc(scp->context, count, sizeof *scp->positions);
  size_t num_runs = runs && scp->positions ? find_runs(scp, runs) : 0;
  if (runs && scp->positions)
    scp->files = linnet_calloc(scp->context, num_runs, sizeof *scp->files);
  enum linnet_status status =
      scp->files ? resolve_runs(scp, runs, num_runs)
                 : linnet_fail(scp->context, LINNET_ERROR_MEMORY, "%s: out of memory", scp->table.name);
  linnet_free(scp->context, runs);
  return status;
}

static enum linnet_status read_table(struct linnet_scp *scp, const char *path) {
  LINNET_TRY(linnet_table_read(scp->context, path, &scp->table));
  for (size_t i = 0; i < scp->table.count; i++)
    LINNET_TRY(check_entry(scp, &scp->table.entries[i]));
  return find_positions(scp);
}

enum linnet_status linnet_scp_open(struct linnet_context *context, const char *path, struct linnet_scp **result) {
  if (result)
    *result = NULL;
  if (!context || !path || !result)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_scp_open: an argument is NULL");
  struct linnet_scp *scp = linnet_calloc(context, 1, sizeof *scp);
  if (!scp)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", path);
  scp->context = context;
  enum linnet_status status = read_table(scp, path);
  if (status != LINNET_OK) {
    linnet_scp_destroy(scp);
    return status;
  }
  *result = scp;
  return LINNET_OK;
}

void linnet_scp_destroy(struct linnet_scp *scp) {
  if (!scp)
    return;
  for (size_t i = 0; i < scp->num_files; i++)
    linnet_free(scp->context, scp->files[i]);
  linnet_free(scp->context, scp->files);
  linnet_free(scp->context, scp->positions);
  linnet_table_release(&scp->table);
  linnet_free(scp->context, scp);
}

size_t linnet_scp_num_entries(const struct linnet_scp *scp) {
  return scp ? scp->table.count : 0;
}

const char *linnet_scp_key(const struct linnet_scp *scp, size_t index) {
  return scp && index < scp->table.count ? scp->table.entries[index].key : NULL;
}

size_t linnet_scp_find(const struct linnet_scp *scp, const char *key) {
  const struct linnet_entry *entry = scp && key ? linnet_table_find(&scp->table, key) : NULL;
  return entry ? (size_t)(entry - scp->table.entries) : LINNET_NOT_FOUND;
}

const char *linnet_scp_location(const struct linnet_scp *scp, size_t index, uint64_t *offset) {
  if (!scp || index >= scp->table.count || !offset)
    return NULL;
  *offset = scp->positions[index].offset;
  return scp->files[scp->positions[index].file];
}

static enum linnet_status open_entry(const struct linnet_scp *scp, struct linnet_context *context, size_t index,
                                     struct linnet_kaldi_input *input) {
  const struct position *position = &scp->positions[index];
  return linnet_kaldi_open_at(context, scp->files[position->file], position->offset, scp->table.entries[index].key,
                              input);
}

enum linnet_status linnet_scp_size(const struct linnet_scp *scp, struct linnet_context *context, size_t index,
                                   size_t *rows, size_t *cols) {
  if (!scp || !context || !rows || !cols || index >= scp->table.count)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_scp_size: an argument is NULL, or the entry does not exist");
  struct linnet_kaldi_input input;
  LINNET_TRY(open_entry(scp, context, index, &input));
  enum linnet_status status = linnet_kaldi_read_size(&input, rows, cols);
  linnet_kaldi_input_close(&input);
  return status;
}

enum linnet_status linnet_scp_read(const struct linnet_scp *scp, struct linnet_context *context, size_t index,
                                   struct linnet_matrix *matrix) {
  if (!scp || !context || !matrix || index >= scp->table.count)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_scp_read: an argument is NULL, or the entry does not exist");
  struct linnet_kaldi_input input;
  LINNET_TRY(open_entry(scp, context, index, &input));
  enum linnet_status status = linnet_kaldi_read_matrix(&input, matrix);
  linnet_kaldi_input_close(&input);
  return status;
}

enum linnet_status linnet_scp_read_cmvn(const struct linnet_scp *scp, struct linnet_context *context, size_t index,
                                        struct linnet_cmvn *cmvn) {
  if (!scp || !context || !cmvn || index >= scp->table.count)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_scp_read_cmvn: an argument is NULL, or the entry does not exist");
  struct linnet_kaldi_input input;
  LINNET_TRY(open_entry(scp, context, index, &input));
  enum linnet_status status = linnet_kaldi_read_cmvn(&input, cmvn);
  linnet_kaldi_input_close(&input);
  return status;
}

enum linnet_status linnet_scp_frame_shift(const struct linnet_scp *scp, struct linnet_context *context, size_t index,
                                          double *seconds) {
  if (!scp || !context || !seconds || index >= scp->table.count)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_scp_frame_shift: an argument is NULL, or the entry does not exist");
  return linnet_frame_shift_read(context, scp->files[scp->positions[index].file], seconds);
}
