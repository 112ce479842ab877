/* The audio files that a command line names: files, and with --recursive those in folders. */
#ifndef LINNET_TOOL_WALK_H
#define LINNET_TOOL_WALK_H

#include <stdbool.h>
#include <stddef.h>

struct walk {
  char **paths;  /* (count) */
  size_t *roots; /* (count): where the path inside the folder that was walked begins; 0: the path was named itself */
  size_t count, capacity;
};

/* Files stay in the order of the command line; those of a folder are sorted by name, folder by folder. Names that begin
 * with a point are left out, others without an extension of audio, too, unless `all`. False after printing why not; to
 * be released in either case. */
bool walk_paths(struct walk *walk, const char **paths, size_t count, bool recursive, bool all);
void walk_release(struct walk *walk);

#endif
