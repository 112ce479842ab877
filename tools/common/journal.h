/* A file of results: each result is appended to FILE.partial at once, so that no interrupt, not even SIGKILL, loses
 * one. At the end the results are put into the order of the inputs, and the file is renamed. --resume reads the partial
 * file.
 */
#ifndef LINNET_TOOL_JOURNAL_H
#define LINNET_TOOL_JOURNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The format of a result in the file: lines that begin with a key. The key is the part of the first line between
 * `begin` and `end`. */
struct journal_form {
  const char *name;  /* of the format, for messages */
  const char *begin; /* of a line; may be empty */
  char end;          /* the first character behind the key */
  bool files;        /* keys are paths, not ids */
  bool ranks;        /* "-1", "-2" ... follow the key: a new result begins with "-1" */
  bool lines;        /* a result may have several lines, so the last one in a partial file may be incomplete */
};

/* A result in the file. `item` SIZE_MAX: an earlier run wrote it, and no input has claimed it. */
struct journal_piece {
  char *key; /* of an earlier run, else NULL */
  size_t item;
  long offset;
  size_t bytes;
};

struct journal {
  const char *target;
  char *path; /* of the partial file */
  bool there; /* the partial file of an earlier run exists */
  FILE *stream;
  struct journal_form form;
  pthread_mutex_t mutex;        /* protects what follows */
  struct journal_piece *pieces; /* (count); the first `old` come from an earlier run and are sorted by key */
  size_t count, capacity, old;
  long end;
};

/* The journal format for a format of linnet_output_format_find. */
struct journal_form journal_form(const char *format, bool files, bool ranks);

/* Whether a target can have a partial file beside it: it is a regular file, or will be one. */
bool journal_possible(const char *target);

/* Opens TARGET.partial, a regular file beside the target, and locks it. `resume`: keeps the results of an earlier run:
 * those in the partial file, or those in TARGET if that run was completed. False after printing why it failed. */
bool journal_open(struct journal *journal, const char *target, const struct journal_form *form, bool resume);

/* The key of the results of `name`, an id or a path; the caller frees it. NULL without memory, after printing so. */
char *journal_key(const struct journal *journal, const char *name);

/* Whether an earlier run wrote a result with this key; if so, it becomes the result of the item. From any thread, once
 * per item. */
bool journal_claim(struct journal *journal, const char *key, size_t item);

/* False if the inputs did not claim all results of the earlier run; prints one of the others. */
bool journal_is_claimed(const struct journal *journal);

/* Appends the result of an item; from any thread, once per item. False after printing why not. */
bool journal_put(struct journal *journal, size_t item, const char *text, size_t bytes);

/* Moves the results to the target in the order of items; false after printing why not, with the partial file kept. */
bool journal_commit(struct journal *journal);

/* Leaves the partial file for a later run, or removes it if it has nothing new. Returns the number of its results. */
size_t journal_keep(struct journal *journal);

#endif
