/* Script files: random access to matrices by key. */
#include "frontend/kaldi/kaldi_value.h"

#include <string.h>

#include "base/file.h"
#include "frontend/kaldi/table.h"

struct linnet_scp {
  struct linnet_context *context;
  struct linnet_table table;
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

static enum linnet_status read_table(struct linnet_scp *scp, const char *path) {
  LINNET_TRY(linnet_table_read(scp->context, path, &scp->table));
  for (size_t i = 0; i < scp->table.count; i++)
    LINNET_TRY(check_entry(scp, &scp->table.entries[i]));
  return LINNET_OK;
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

/* The position of an entry; the caller frees *path. */
static enum linnet_status locate(const struct linnet_scp *scp, struct linnet_context *context, size_t index,
                                 char **path, uint64_t *offset) {
  const char *value = scp->table.entries[index].value;
  size_t length = linnet_split_offset(value, offset);
  return linnet_relative_path(context, scp->table.name, value, length, path);
}

static enum linnet_status open_entry(const struct linnet_scp *scp, struct linnet_context *context, size_t index,
                                     struct linnet_kaldi_input *input) {
  uint64_t offset;
  char *path;
  LINNET_TRY(locate(scp, context, index, &path, &offset));
  enum linnet_status status = linnet_kaldi_open_at(context, path, offset, scp->table.entries[index].key, input);
  linnet_free(context, path);
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
  uint64_t offset;
  char *path;
  LINNET_TRY(locate(scp, context, index, &path, &offset));
  enum linnet_status status = linnet_frame_shift_read(context, path, seconds);
  linnet_free(context, path);
  return status;
}
