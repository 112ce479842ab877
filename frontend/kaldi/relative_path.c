/* Finds a file that a list names: beside the list, in the folder above, or in the current folder. */
#include "frontend/kaldi/relative_path.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Writes folder (its first `folder_length` characters, with the slash), `between` and path. */
static char *join(char *to, size_t capacity, const char *folder, size_t folder_length, const char *between,
                  const char *path, size_t length) {
  snprintf(to, capacity, "%.*s%s%.*s", (int)folder_length, folder, between, (int)length, path);
  return to;
}

enum linnet_status linnet_relative_path(struct linnet_context *context, const char *list, const char *path,
                                        size_t length, char **result) {
  const char *slash = strrchr(list, '/');
  size_t folder = slash ? (size_t)(slash - list) + 1 : 0, capacity = folder + length + sizeof "../";
  char *found = length < 65536 && folder < 65536 ? linnet_alloc(context, capacity, 1) : NULL;
  *result = found;
  if (!found)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for the name %.60s", list, path);
  if (path[0] == '/')
    folder = 0;
  if (access(join(found, capacity, list, folder, "", path, length), F_OK) == 0 || folder == 0 ||
      access(join(found, capacity, list, folder, "../", path, length), F_OK) == 0 ||
      access(join(found, capacity, list, 0, "", path, length), F_OK) == 0)
    return LINNET_OK;
  join(found, capacity, list, folder, "", path, length);
  return LINNET_OK;
}
