/* The lattices that the commands with a beam search write. */
#ifndef LINNET_TOOL_LATTICES_H
#define LINNET_TOOL_LATTICES_H

#include <linnet/search.h>

#include "ordered.h"
#include "tool.h"

/* --lattice, --lattice-format, --lattice-symbols; include it as the common options. */
extern struct poptOption lattices_options[];

/* Whether lattices are wanted. */
bool lattices_given(void);

/* False after printing what is wrong with the options. */
bool lattices_check(void);

/* One file of lattices, in the order of the inputs. */
struct lattices {
  const struct linnet_lattice_format *format;
  const char **names; /* of the symbols, where the format has names */
  struct tool_output output;
  struct ordered ordered;
};

/* For the tokens of a search. Without --lattice nothing is opened, and what follows does nothing. False after printing
 * why not. */
bool lattices_open(struct lattices *lattices, const struct linnet_search *search);

/* What is left of a finished search; NULL: the input failed. From any thread, once per input; false after printing
 * why not. */
bool lattices_put(struct lattices *lattices, struct linnet_context *context, size_t item, const char *id,
                  const struct linnet_search_stream *search);

/* Completes the file, or drops it if the command was interrupted or did not get to the first input. Takes and returns
 * the exit code. */
int lattices_close(struct lattices *lattices, int code);

#endif
