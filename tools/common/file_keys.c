/* Names files, and finds two with the same name. */
#include "file_keys.h"

#include <stdlib.h>
#include <string.h>

#include "tool.h"

char *file_id(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
  if (strcmp(path, "-") == 0)
    name = "stdin", dot = NULL;
  return strndup(name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

int key_character(char c) {
  return c && strchr(" \t\r\n\v\f", c) ? '_' : (unsigned char)c;
}

void file_key(char *id) {
  for (; *id; id++)
    *id = (char)key_character(*id);
}

static int by_key(const void *a, const void *b) {
  return strcmp(**(char *const *const *)a, **(char *const *const *)b);
}

int file_keys_check(char *const *keys, const char *const *paths, size_t count) {
  char *const **sorted = malloc((count + 1) * sizeof *sorted);
  int code = TOOL_OK;
  if (!sorted)
    return tool_fail("out of memory for %zu files", count);
  for (size_t i = 0; i < count; i++)
    sorted[i] = &keys[i];
  qsort(sorted, count, sizeof *sorted, by_key);
  for (size_t i = 1; i < count && code == TOOL_OK; i++)
    if (strcmp(*sorted[i - 1], *sorted[i]) == 0)
      code = tool_usage("%s and %s would both have the key %s: rename one, or use a data folder",
                        paths[sorted[i - 1] - keys], paths[sorted[i] - keys], *sorted[i]);
  free(sorted);
  return code;
}
