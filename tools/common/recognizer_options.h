/* The recognizer that the options ask for: a model or a folder, and a search. */
#ifndef LINNET_TOOL_RECOGNIZER_OPTIONS_H
#define LINNET_TOOL_RECOGNIZER_OPTIONS_H

#include <popt.h>
#include <stdbool.h>

#include <linnet/recognizer.h>

/* --phones; include it beside the options of searches. */
extern struct poptOption recognizer_options_table[];

/* False after printing what is wrong with the options for the model or recognizer at `path`. */
bool recognizer_options_check(const char *path);

/* Settings of a recognizer, with all that they point to. */
struct recognizer_options {
  struct linnet_recognizer_file *file; /* NULL: there is only a model */
  struct linnet_recognizer_settings settings;
  struct linnet_search_settings search;
};

/* Loads the settings of the recognizer or model at `path` and applies the options. False after printing why not. The
 * structure must not be moved; `path` must outlive it. Release it with recognizer_options_release in either case. */
bool recognizer_options_read(struct recognizer_options *options, struct linnet_context *context, const char *path);
void recognizer_options_release(struct recognizer_options *options);

#endif
