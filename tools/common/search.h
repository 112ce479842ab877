/* The search that the options ask for, over symbols or for words. */
#ifndef LINNET_TOOL_SEARCH_H
#define LINNET_TOOL_SEARCH_H

#include "beam_options.h"
#include "hypotheses.h"
#include "word_options.h"

/* Whether the options ask for a search at all. */
bool search_options_given(void);

/* False after printing what is wrong. `optional`: without the options of a search there is none. */
bool search_options_check(bool optional);

/* What searches share. */
struct search_setup {
  int symbols;
  struct beam_setup beam; /* over symbols */
  struct word_setup word; /* for words */
};

/* For symbols called name(user, 0) to name(user, count - 1); `calibrations` (NULL: none) are those of confidences.
 * False after printing why not; to be closed in either case. */
bool search_setup_open(struct search_setup *setup, struct linnet_context *context, tool_symbol_fn name,
                       const void *user, int count, const struct linnet_calibrations *calibrations);
void search_setup_close(struct search_setup *setup);

struct lattices;

/* Opens the lattices of such searches, if they are wanted; see lattices.h. */
bool search_open_lattices(const struct search_setup *setup, struct lattices *lattices, tool_symbol_fn name,
                          const void *user);

/* One of the two, or none. Start with zeros; to be destroyed also if it was not created. */
struct search {
  struct linnet_beam *beam;
  struct linnet_word_search *words;
};

enum linnet_status search_create(struct search *search, struct linnet_context *context,
                                 const struct search_setup *setup);
enum linnet_status search_accept(struct search *search, const float *log_posteriors, size_t frames);
enum linnet_status search_finish(struct search *search);
void search_reset(struct search *search);
void search_destroy(struct search *search);

/* The best hypotheses of a finished search, as many as the options ask for; see hypotheses.h. */
bool search_hypotheses(struct search *search, const struct segment_rule *rule, struct hypotheses *hypotheses);

#endif
