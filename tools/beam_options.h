/* What the commands with a beam search share: its options, and how hypotheses are written. */
#ifndef LINNET_TOOL_BEAM_OPTIONS_H
#define LINNET_TOOL_BEAM_OPTIONS_H

#include <jansson.h>
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

/* The number of hypotheses to write. */
size_t beam_options_count(const struct linnet_beam *beam);

/* The name of a symbol. */
typedef const char *(*beam_symbol_fn)(const void *user, int symbol);

/* "AH N D" */
void beam_options_write_symbols(FILE *out, const struct linnet_hypothesis *h, beam_symbol_fn name, const void *user);

/* [{"symbol", "start", "end", "confidence"}, ...], a frame lasting so many seconds. */
json_t *beam_options_segments(const struct linnet_hypothesis *h, beam_symbol_fn name, const void *user, double frame);

/* [{"score", "acoustic", "language", KEY: segments}, ...] */
json_t *beam_options_hypotheses(struct linnet_beam *beam, const char *key, beam_symbol_fn name, const void *user,
                                double frame);

/* The object on a line; release it with free. NULL without memory, or for an object that is NULL. */
char *beam_options_json_line(const json_t *object);

#endif
