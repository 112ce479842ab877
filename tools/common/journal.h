/* Results as they come: each is appended to FILE.partial at once, so that an interrupted run loses none, not even by
 * SIGKILL. The end puts them into the order of the inputs and renames. --resume reads what is there. */
#ifndef LINNET_TOOL_JOURNAL_H
#define LINNET_TOOL_JOURNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What a result looks like in the file: lines that begin with a key, which is the part of the first line up to `end`
 * behind `begin`. */
struct journal_form {
  const char *name;  /* of the format, for messages */
  const char *begin; /* of a line; may be empty */
  char end;          /* the first character behind the key */
  bool ranks;        /* "-1", "-2" ... follow the key: a new result begins with "-1" */
  bool lines;        /* a result may be several lines: the last one in a partial file may be incomplete */
};

/* A result in the file; `item` SIZE_MAX: of an earlier run, and no input has claimed it. */
struct journal_piece {
  char *key; /* of an earlier run, else NULL */
  size_t item;
  long offset;
  size_t bytes;
};

struct journal {
  const char *target;
  char *path; /* of the partial file */
  bool there; /* an earlier run left it */
  FILE *stream;
  struct journal_form form;
  pthread_mutex_t mutex;        /* protects what follows */
  struct journal_piece *pieces; /* (count); the first `old` are of an earlier run, by key */
  size_t count, capacity, old;
  long end;
};

/* Of a format of linnet_output_format_find; `files`: results are called by paths, not by ids. */
struct journal_form journal_form(const char *format, bool files, bool ranks);

/* Whether a target can have a partial file beside it: it is a regular file, or will be one. */
bool journal_possible(const char *target);

/* Opens TARGET.partial, a regular file beside the target, and locks it. `resume`: keeps what an earlier run left there,
 * or what TARGET holds if that run came to its end. False after printing why not. */
bool journal_open(struct journal *journal, const char *target, const struct journal_form *form, bool resume);

/* The key of what is called `name`, to be freed; NULL after printing that there is no memory. */
char *journal_key(const struct journal *journal, const char *name);

/* Whether an earlier run left a result with this key; it becomes that of the item. From any thread, once per item. */
bool journal_claim(struct journal *journal, const char *key, size_t item);

/* False, after printing one, if results of the earlier run were not claimed. */
bool journal_is_claimed(const struct journal *journal);

/* Appends the result of an item; from any thread, once per item. False after printing why not. */
bool journal_put(struct journal *journal, size_t item, const char *text, size_t bytes);

/* Moves the results to the target in the order of items; false after printing why not, with the partial file kept. */
bool journal_commit(struct journal *journal);

/* Leaves the partial file for a later run, or removes it if there is nothing new in it; returns its results. */
size_t journal_keep(struct journal *journal);

#endif
