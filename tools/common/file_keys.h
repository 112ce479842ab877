/* What files of the command line are called in archives, and in lines of results. */
#ifndef LINNET_TOOL_FILE_KEYS_H
#define LINNET_TOOL_FILE_KEYS_H

#include <stdbool.h>
#include <stddef.h>

/* The name of a file without folder and extension; "stdin" for "-". The caller frees it; NULL without memory. */
char *file_id(const char *path);

/* A character of an id as it stands in a key, which is one field: white space becomes '_'. */
int key_character(char c);

/* Makes a key of an id. */
void file_key(char *id);

/* Refuses two of (count) files that have the same key. Returns the exit code. */
int file_keys_check(char *const *keys, const char *const *paths, size_t count);

#endif
