/* The audio files that a command line names: files, and with --recursive those in folders. */
#ifndef LINNET_TOOL_WALK_H
#define LINNET_TOOL_WALK_H

#include <stdbool.h>
#include <stddef.h>

struct walk {
  char **paths;  /* (count) */
  size_t *roots; /* (count): offset of the path within the folder that was walked; 0: the command line names the path */
  size_t count, capacity;
};

/* Keeps the order of the command line; sorts the files of a folder by name, folder by folder. Skips names that begin
 * with a dot, and, unless `all`, names without an extension of audio. False after printing why it failed; release the
 * list in either case. */
bool walk_paths(struct walk *walk, const char **paths, size_t count, bool recursive, bool all);
void walk_release(struct walk *walk);

#endif
