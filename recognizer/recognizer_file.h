/* The settings of a recognizer as they stand in a JSON file (recognizer.h). */
#ifndef LINNET_RECOGNIZER_FILE_H
#define LINNET_RECOGNIZER_FILE_H

#include <linnet/recognizer.h>

enum { LINNET_RECOGNIZER_SOURCES = 5, LINNET_RECOGNIZER_SILENCES = 64 };

struct linnet_recognizer_file {
  struct linnet_context *context;
  struct linnet_recognizer_settings settings; /* pointers lead to what follows: */
  struct linnet_search_settings search;
  struct linnet_calibrations calibrations;
  const char *silences[LINNET_RECOGNIZER_SILENCES];
  char *paths[LINNET_RECOGNIZER_SOURCES]; /* with the folder */
  void *root;                             /* the JSON, which has the strings */
};

/* Reads JSON text (bytes). `name` is the file's path: for messages, and its folder is where paths begin. To be released
 * also after a failure. The structure must not be moved. */
enum linnet_status linnet_recognizer_file_read(struct linnet_recognizer_file *file, struct linnet_context *context,
                                               const char *text, size_t bytes, const char *name);
void linnet_recognizer_file_release(struct linnet_recognizer_file *file);

#endif
