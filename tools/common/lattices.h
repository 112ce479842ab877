/* The lattices that the commands with a beam search write. */
#ifndef LINNET_TOOL_LATTICES_H
#define LINNET_TOOL_LATTICES_H

#include <linnet/search.h>

#include "parallel.h"
#include "tool.h"

/* --lattice, --lattice-format, --lattice-symbols; include it as the common options. */
extern struct poptOption lattices_options[];

/* Where lattices are wanted; NULL: nowhere. */
const char *lattices_path(void);

/* False after printing what is wrong with the options. */
bool lattices_check(void);

/* One file of lattices, in the order of the inputs. */
struct lattices {
  const struct linnet_lattice_format *format;
  const struct linnet_search *search; /* whose tokens the lattices have */
  const char **names;                 /* of the symbols, where the format has names */
  struct tool_output output;
  struct ordered ordered;
};

/* Opens the file for the tokens of a search. Without --lattice, this and the functions below do nothing. False after
 * printing why it failed. */
bool lattices_open(struct lattices *lattices, const struct linnet_search *search);

/* Writes the lattice of a finished search; NULL: the input failed. From any thread, once per input. False after
 * printing why it failed. */
bool lattices_put(struct lattices *lattices, struct linnet_context *context, size_t item, const char *id,
                  const struct linnet_search_stream *search);

/* Publishes the file if it is complete: every input was processed, and the results are published, too; otherwise
 * discards it. Takes and returns the exit code. */
int lattices_close(struct lattices *lattices, int code, bool complete);

#endif
