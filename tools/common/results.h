/* Where results go: one file or standard output, in the order of the inputs, or a file per input. */
#ifndef LINNET_TOOL_RESULTS_H
#define LINNET_TOOL_RESULTS_H

#include <pthread.h>

#include "inputs.h"
#include "journal.h"
#include "ordered.h"

/* --format, --output, --output-dir, --resume: include as {NULL, 0, POPT_ARG_INCLUDE_TABLE, results_options, 0,
 * "Output:", NULL}. */
extern struct poptOption results_options[];

struct results {
  const struct linnet_output_format *format;
  const struct inputs *inputs;
  const char *folder; /* where a file per input goes; NULL: all results go to one output: */
  bool journalled;    /* a file, through `journal`, or else `output` */
  bool complete;      /* an earlier run has written it */
  struct journal journal;
  struct tool_output output; /* such as standard output, with which --resume cannot go on */
  struct ordered ordered;
  bool *there;           /* (inputs): results of an earlier run; NULL: none */
  pthread_mutex_t mutex; /* protects what follows */
  size_t failures, skipped, done;
  double seconds, started; /* of audio; on the clock */
  struct tool_progress progress;
};

/* False after printing why not, with the exit code. `label` says what is done ("transcribing"). */
bool results_open(struct results *results, const struct inputs *inputs, const char *label, int *code);

/* Whether the format can hold several hypotheses of an input; false after printing that it cannot. One that is unknown
 * is left to results_open. */
bool results_take_alternatives(void);

/* Whether an earlier run left the result of the input, which is then done. Once per input, before results_put. */
bool results_skip(struct results *results, size_t item);

/* The result of one input, NULL if there is none, which was said. From any thread, once per input. */
void results_put(struct results *results, size_t item, const struct linnet_output *output);

/* Completes the output, given what tool_parallel returned, or leaves what is there for --resume if it was interrupted;
 * reports what failed. Returns the exit code. */
int results_close(struct results *results, int parallel);

#endif
