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
  struct linnet_entry *entries; /* (count), sorted by key in the C locale; keys are unique */
  size_t count;
};

/* Reads a file. Spaces and tabs separate fields, lines may end in CR LF, and empty lines are ignored. On failure
 * nothing needs to be released. */
enum linnet_status linnet_table_read(struct linnet_context *context, const char *path, struct linnet_table *table);

/* The entry of a key, NULL if there is none. */
const struct linnet_entry *linnet_table_find(const struct linnet_table *table, const char *key);

/* Harmless on a struct of zeros. */
void linnet_table_release(struct linnet_table *table);

/* --- file names inside lists -------------------------------------------------------------------------------------- */

/* File names inside lists. */

/* Resolves `path`, a name in the file `list`. An absolute path does not change. A relative path is searched in the
 * folder of the list, in the two folders above, and in the current folder; if it is nowhere, the result is in the
 * folder of the list. Only the first `length` characters of `path` are used. Release *result with linnet_free. */
enum linnet_status linnet_relative_path(struct linnet_context *context, const char *list, const char *path,
                                        size_t length, char **result);

#endif
