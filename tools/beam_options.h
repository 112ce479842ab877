/* What the commands with a beam search share: its options. */
#ifndef LINNET_TOOL_BEAM_OPTIONS_H
#define LINNET_TOOL_BEAM_OPTIONS_H

#include <stdbool.h>

#include <linnet/beam.h>

#include "tool.h"

/* --beam, --nbest and the rest of the search; include it as the common options. */
extern struct poptOption beam_options_table[];

/* False after printing what is wrong. */
bool beam_options_check(void);

/* Whether any of the options asks for a beam search, and for more than the best hypothesis. */
bool beam_options_given(void);
bool beam_options_nbest(void);

void beam_options_settings(struct linnet_beam_settings *settings);

/* The number of hypotheses to write, at most. */
size_t beam_options_count(void);

#endif
