/* What the commands that search for words share: the options, and what they name. */
#ifndef LINNET_TOOL_WORD_OPTIONS_H
#define LINNET_TOOL_WORD_OPTIONS_H

#include <stdbool.h>

#include <linnet/grammar.h>
#include <linnet/ngram.h>
#include <linnet/word_search.h>

#include "vocabulary.h"

/* --words, --lexicon and the rest; include it as the common options. */
extern struct poptOption word_options_table[];

/* Whether words are asked for. */
bool word_options_given(void);

/* False after printing what is wrong. */
bool word_options_check(void);

/* What the options say; any number of searches may share it. */
struct word_setup {
  struct linnet_word_search_settings settings;
  struct vocabulary vocabulary;
  struct linnet_language_model model; /* the settings point here, if there is one: */
  struct linnet_ngram *ngram;
  struct linnet_ngram_binding *binding;
  struct linnet_grammar *grammar;
  struct linnet_hotwords *hotwords;
  float *lookahead;
  int *silences;
  struct linnet_word_search *search; /* whose tree the others share */
};

/* For symbols called name(user, 0) to name(user, count - 1), the first being the blank; see search.h. Loads what the
 * options name: false after printing why not. To be closed in either case. */
bool word_setup_open(struct word_setup *setup, struct linnet_context *context, tool_symbol_fn name, const void *user,
                     int count, const struct linnet_calibrations *calibrations);
void word_setup_close(struct word_setup *setup);

#endif
