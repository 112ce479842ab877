/* Where results go: one file or standard output, in the order of the inputs, or a file per input. */
#ifndef LINNET_TOOL_RESULTS_H
#define LINNET_TOOL_RESULTS_H

#include <pthread.h>

#include "inputs.h"
#include "ordered.h"

/* --format, --output: include as {NULL, 0, POPT_ARG_INCLUDE_TABLE, results_options, 0, "Output:", NULL}. */
extern struct poptOption results_options[];

struct results {
  const struct linnet_output_format *format;
  const struct inputs *inputs;
  const char *folder;        /* a file per input goes there, NULL: */
  struct tool_output output; /* all go here */
  struct ordered ordered;
  pthread_mutex_t mutex; /* protects what follows */
  size_t failures;
  double seconds, started; /* of audio; on the clock */
  struct tool_progress progress;
};

/* False after printing why not, with the exit code. `label` says what is done ("transcribing"). */
bool results_open(struct results *results, const struct inputs *inputs, const char *label, int *code);

/* Whether the format can hold several hypotheses of an input; false after printing that it cannot. One that is unknown
 * is left to results_open. */
bool results_take_alternatives(void);

/* The result of one input, NULL if there is none, which was said. From any thread, once per input. */
void results_put(struct results *results, size_t item, const struct linnet_output *output);

/* Completes the output, given what tool_parallel returned; tells what failed. Returns the exit code. */
int results_close(struct results *results, int parallel);

#endif
