/* File names inside lists. */
#ifndef LINNET_RELATIVE_PATH_H
#define LINNET_RELATIVE_PATH_H

#include "base/base.h"

/* Where `path`, a name that stands in the file `list`, is: as it is if absolute, else beside the list, in the folder
 * above, or in the current folder, whichever is there first; beside the list if none is. Only the first `length`
 * characters of `path` count. Release *result with linnet_free. */
enum linnet_status linnet_relative_path(struct linnet_context *context, const char *list, const char *path,
                                        size_t length, char **result);

#endif
