/* What the commands with a beam search share: its options and its language model. */
#ifndef LINNET_TOOL_BEAM_OPTIONS_H
#define LINNET_TOOL_BEAM_OPTIONS_H

#include <stdbool.h>

#include <linnet/beam.h>
#include <linnet/ngram.h>

#include "tool.h"

/* --beam, --nbest and the rest of the search; include it as the common options. */
extern struct poptOption beam_options_table[];

/* False after printing what is wrong. `optional`: without the options of a search there is none. */
bool beam_options_check(bool optional);

/* Whether any of the options asks for a beam search, and for more than the best hypothesis. */
bool beam_options_given(void);
bool beam_options_nbest(void);

/* What the options say but for the language model; and its file, NULL: none. */
void beam_options_read(struct linnet_beam_settings *settings);
const char *beam_options_lm(void);

/* What the options say; any number of searches may share it. */
struct beam_setup {
  struct linnet_beam_settings settings;
  struct linnet_language_model model; /* the settings point here, if there is one: */
  struct linnet_ngram *ngram;
  struct linnet_ngram_binding *binding;
};

/* For symbols called name(user, 0) to name(user, count - 1), the first being the blank. `calibrations` (NULL: none)
 * must outlive the searches. Loads the language model, so it may fail: false after printing why. To be closed in either
 * case. */
bool beam_setup_open(struct beam_setup *setup, struct linnet_context *context, tool_symbol_fn name, const void *user,
                     int count, const struct linnet_calibrations *calibrations);
void beam_setup_close(struct beam_setup *setup);

/* The number of hypotheses to write, at most. */
size_t beam_options_count(void);

#endif
