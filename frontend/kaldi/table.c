/* Reads a Kaldi list, checks its keys, and finds a line by its key. */
#include "frontend/kaldi/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linnet/kaldi.h>

#include "base/file.h"

enum { MAX_NAME = 65535 /* bytes of a file's name, and of its folder's */ };

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/* A linnet_head_fn. */
static enum linnet_status check_text(struct linnet_context *context, const char *name, const unsigned char *data,
                                     size_t bytes) {
  if (bytes == 0 || !memchr(data, 0, bytes))
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_FORMAT, "%s: is binary, but must be text", name);
}

/* Ends the text with a NUL; a NUL within it is an error. */
static enum linnet_status load(struct linnet_table *table, size_t *bytes) {
  void *data;
  LINNET_TRY(
      linnet_file_read_checked(table->context, table->name, LINNET_KALDI_MAX_LIST_BYTES, check_text, &data, bytes));
  enum linnet_status status = check_text(table->context, table->name, data, *bytes);
  table->text = status == LINNET_OK ? linnet_alloc(table->context, *bytes + 1, 1) : NULL;
  if (table->text) {
    memcpy(table->text, data, *bytes);
    table->text[*bytes] = '\0';
  }
  linnet_free(table->context, data);
  if (status == LINNET_OK && !table->text)
    return linnet_fail(table->context, LINNET_ERROR_MEMORY, "%s: out of memory", table->name);
  return status;
}

/* Divides a line [line, end) into key and value; false if it is empty. */
static bool parse_line(char *line, char *end, struct linnet_entry *entry) {
  while (end > line && is_space(end[-1]))
    end--;
  *end = '\0';
  while (is_space(*line))
    line++;
  if (!*line)
    return false;
  entry->key = line;
  while (*line && !is_space(*line))
    line++;
  if (*line)
    *line++ = '\0';
  while (is_space(*line))
    line++;
  entry->value = line;
  return true;
}

static size_t count_lines(const char *text) {
  size_t lines = 1;
  while ((text = strchr(text, '\n'))) {
    text++;
    lines++;
  }
  return lines;
}

static enum linnet_status parse(struct linnet_table *table, size_t bytes) {
  static const char mark[] = "\xef\xbb\xbf"; /* that some editors put before UTF-8 */
  char *line = table->text, *end = table->text + bytes;
  if (strncmp(line, mark, 3) == 0)
    line += 3;
  table->entries = linnet_alloc(table->context, count_lines(line), sizeof *table->entries);
  if (!table->entries)
    return linnet_fail(table->context, LINNET_ERROR_MEMORY, "%s: out of memory", table->name);
  for (size_t number = 1; line < end; number++) {
    char *newline = memchr(line, '\n', (size_t)(end - line));
    if (!newline)
      newline = end;
    struct linnet_entry *entry = &table->entries[table->count];
    if (parse_line(line, newline, entry)) {
      entry->line = number;
      table->count++;
    }
    line = newline + 1;
  }
  return LINNET_OK;
}

/* Equal keys stay in the order of their lines, so that the message about them is always the same. */
static int by_key(const void *a, const void *b) {
  const struct linnet_entry *x = a, *y = b;
  int order = strcmp(x->key, y->key);
  return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Whether the keys are in order and differ, as in most lists. */
static bool is_sorted(const struct linnet_table *table) {
  for (size_t i = 1; i < table->count; i++)
    if (strcmp(table->entries[i - 1].key, table->entries[i].key) >= 0)
      return false;
  return true;
}

static enum linnet_status sort(struct linnet_table *table) {
  if (is_sorted(table))
    return LINNET_OK;
  qsort(table->entries, table->count, sizeof *table->entries, by_key);
  for (size_t i = 1; i < table->count; i++) {
    const struct linnet_entry *first = &table->entries[i - 1], *second = &table->entries[i];
    if (strcmp(first->key, second->key) == 0)
      return linnet_fail(table->context, LINNET_ERROR_FORMAT, "%s:%zu: %.100s appears twice, first in line %zu",
                         table->name, second->line, second->key, first->line);
  }
  return LINNET_OK;
}

enum linnet_status linnet_table_read(struct linnet_context *context, const char *path, struct linnet_table *table) {
  *table = (struct linnet_table){.context = context, .name = linnet_strdup(context, path)};
  if (!table->name)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", path);
  size_t bytes = 0;
  enum linnet_status status = load(table, &bytes);
  if (status == LINNET_OK)
    status = parse(table, bytes);
  if (status == LINNET_OK)
    status = sort(table);
  if (status != LINNET_OK)
    linnet_table_release(table);
  return status;
}

static int compare_key(const void *key, const void *entry) {
  return strcmp(key, ((const struct linnet_entry *)entry)->key);
}

const struct linnet_entry *linnet_table_find(const struct linnet_table *table, const char *key) {
  if (table->count == 0)
    return NULL;
  return bsearch(key, table->entries, table->count, sizeof *table->entries, compare_key);
}

void linnet_table_release(struct linnet_table *table) {
  if (!table->context)
    return;
  linnet_free(table->context, table->name);
  linnet_free(table->context, table->text);
  linnet_free(table->context, table->entries);
  *table = (struct linnet_table){0};
}

/* --- file names inside lists -------------------------------------------------------------------------------------- */

/* Writes folder (its first `folder_length` characters, with the slash), `between` and path. */
static char *join(char *to, size_t capacity, const char *folder, size_t folder_length, const char *between,
                  const char *path, size_t length) {
  snprintf(to, capacity, "%.*s%s%.*s", (int)folder_length, folder, between, (int)length, path);
  return to;
}

enum linnet_status linnet_relative_path(struct linnet_context *context, const char *list, const char *path,
                                        size_t length, char **result) {
  const char *slash = strrchr(list, '/');
  size_t folder = slash ? (size_t)(slash - list) + 1 : 0, capacity = folder + length + sizeof "../../";
  *result = NULL;
  if (length > MAX_NAME || folder > MAX_NAME)
    return linnet_fail(context, LINNET_ERROR_LIMIT, "%.100s: a file name has more than %d bytes", list, MAX_NAME);
  char *found = *result = linnet_alloc(context, capacity, 1);
  if (!found)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for the name %.60s", list, path);
  if (path[0] == '/')
    folder = 0;
  if (access(join(found, capacity, list, folder, "", path, length), F_OK) == 0 || path[0] == '/' ||
      access(join(found, capacity, list, folder, "../", path, length), F_OK) == 0 ||
      access(join(found, capacity, list, folder, "../../", path, length), F_OK) == 0 ||
      access(join(found, capacity, list, 0, "", path, length), F_OK) == 0)
    return LINNET_OK;
  join(found, capacity, list, folder, "", path, length);
  return LINNET_OK;
}
