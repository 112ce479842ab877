/* The settings of a recognizer in a JSON file (recognizer.h). */
#ifndef LINNET_RECOGNIZER_FILE_H
#define LINNET_RECOGNIZER_FILE_H

#include <linnet/recognizer.h>

enum { LINNET_RECOGNIZER_SOURCES = 6, LINNET_RECOGNIZER_SILENCES = 64 };

struct linnet_recognizer_file {
  struct linnet_context *context;
  struct linnet_recognizer_settings settings; /* its pointers point to the members below */
  struct linnet_search_settings search;
  struct linnet_calibrations calibrations;
  struct linnet_endpoint_settings endpoint;
  struct linnet_endpoint_rule rules[LINNET_ENDPOINT_MAX_RULES];
  double max_silence, edge_silence;
  const char *silences[LINNET_RECOGNIZER_SILENCES];
  char *paths[LINNET_RECOGNIZER_SOURCES]; /* including the folder */
  void *root;                             /* the JSON document, which owns the strings */
};

/* Reads JSON text (bytes). `name` is the path of the file, for messages; paths in the file are relative to its folder.
 * Release the structure even after a failure. It must not be moved. */
enum linnet_status linnet_recognizer_file_read(struct linnet_recognizer_file *file, struct linnet_context *context,
                                               const char *text, size_t bytes, const char *name);
void linnet_recognizer_file_release(struct linnet_recognizer_file *file);

#endif
