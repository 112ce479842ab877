/* The output of results: one file or standard output, in the order of the inputs, or one file per input. */
#ifndef LINNET_TOOL_RESULTS_H
#define LINNET_TOOL_RESULTS_H

#include <pthread.h>
#include <stdbool.h>

#include "inputs.h"
#include "journal.h"
#include "parallel.h"

/* --format, --output, --output-dir, --resume: include as {NULL, 0, POPT_ARG_INCLUDE_TABLE, results_options(), 0,
 * "Output:", NULL}. */
struct poptOption *results_options(void);

struct results {
  const struct linnet_output_format *format;
  const struct inputs *inputs;
  const char *folder; /* where a file per input goes; NULL: all results go to one output: */
  bool journalled;    /* a file, through `journal`, or else `output` */
  bool complete;      /* an earlier run has written it */
  bool published;     /* after results_close: the results of all inputs that did not fail are where they belong */
  struct journal journal;
  struct tool_output output; /* such as standard output, which --resume cannot continue */
  struct ordered ordered;
  bool *there;           /* (inputs): results of an earlier run; NULL: none */
  pthread_mutex_t mutex; /* protects what follows */
  bool blocked;          /* no other result can be written, such as on a full disk */
  size_t failures, skipped, done;
  size_t untried;          /* after `blocked` */
  double seconds, started; /* of audio; on the clock */
  struct tool_progress progress;
};

/* False after printing why it failed, with the exit code. `label` is the activity, such as "transcribing". */
bool results_open(struct results *results, const struct inputs *inputs, const char *label, int *code);

/* Makes a folder for results, and those above it. False after printing why it failed. */
bool results_make_folder(const char *folder);

/* False after printing that two inputs have the same name, which identifies results in `what`, such as "--lattice". */
bool results_check_ids(const struct inputs *inputs, const char *what);

/* Whether the format can hold several hypotheses per input; false after printing that it cannot. results_open reports
 * unknown formats. */
bool results_take_alternatives(void);

/* Whether standard output is free for the results if they go there; false after printing what else does. */
bool results_check_standard(void);

/* For results that are printed while they come, as lines of text or JSON: false after printing which option of the
 * table does not fit. */
bool results_are_lines(bool *json);

/* Whether nothing remains to do for the input, because an earlier run wrote its result, or because no more
 * results can be written: then it counts as untried. Once per input, before results_put. */
bool results_skip(struct results *results, size_t item);

/* Writes the result of one input; NULL: the input failed, with a message. From any thread, once per input. */
void results_put(struct results *results, size_t item, const struct linnet_output *output);

/* Completes the output after tool_parallel, whose result it takes. After an interrupt, leaves the partial file for
 * --resume. Reports failures and returns the exit code. */
int results_close(struct results *results, int parallel);

/* --- formats ------------------------------------------------------------------------------------------------------ */

/* The output formats, from the table of the library, for the help and the messages of --format. */

/* The names, such as "text, json, ctm". Only with `single`, formats that hold one recording per file are among them.
 * The text stays valid; call it from one thread. */
const char *format_names(bool single);

/* The help of --format. `item` is what a line of JSON is for, such as "recording". As above. */
const char *format_help(bool single, const char *item);

#endif
