/* Text files of a key and the rest of the line, such as wav.scp, text and utt2spk. */
#ifndef LINNET_TABLE_H
#define LINNET_TABLE_H

#include "base/base.h"

struct linnet_entry {
  const char *key, *value; /* the value begins and ends with no space; "" if there is none */
  size_t line;             /* counted from 1 */
};

struct linnet_table {
  struct linnet_context *context;
  char *name;                   /* the file's path */
  char *text;                   /* what the entries point into */
  struct linnet_entry *entries; /* (count), sorted by key in the C locale; no key is there twice */
  size_t count;
};

/* Reads a file: fields are parted by spaces and tabs, lines may end in CR LF, empty lines do not count. On failure
 * nothing needs releasing. */
enum linnet_status linnet_table_read(struct linnet_context *context, const char *path, struct linnet_table *table);

/* NULL if the key is not there. */
const struct linnet_entry *linnet_table_find(const struct linnet_table *table, const char *key);

/* Harmless on a struct of zeros. */
void linnet_table_release(struct linnet_table *table);

/* --- file names inside lists -------------------------------------------------------------------------------------- */

/* File names inside lists. */

/* Where `path`, a name that stands in the file `list`, is: as it is if absolute, else beside the list, in the folder
 * above, or in the current folder, whichever is there first; beside the list if none is. Only the first `length`
 * characters of `path` count. Release *result with linnet_free. */
enum linnet_status linnet_relative_path(struct linnet_context *context, const char *list, const char *path,
                                        size_t length, char **result);

#endif
