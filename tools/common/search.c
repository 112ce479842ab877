/* Chooses between the search over symbols and that for words, and forwards calls to it. */
#include "search.h"

#include "lattices.h"

bool search_options_given(void) {
  return beam_options_given() || word_options_given() || lattices_given();
}

bool search_options_check(bool optional) {
  return beam_options_check(optional && !word_options_given() && !lattices_given()) && word_options_check() &&
         lattices_check();
}

bool search_setup_open(struct search_setup *setup, struct linnet_context *context, tool_symbol_fn name,
                       const void *user, int count, const struct linnet_calibrations *calibrations) {
  setup->symbols = count;
  if (word_options_given())
    return word_setup_open(&setup->word, context, name, user, count, calibrations);
  return beam_setup_open(&setup->beam, context, name, user, count, calibrations);
}

void search_setup_close(struct search_setup *setup) {
  word_setup_close(&setup->word);
  beam_setup_close(&setup->beam);
}

static const char *token_name(const void *user, int token) {
  return linnet_word_search_text(user, (unsigned)token);
}

bool search_open_lattices(const struct search_setup *setup, struct lattices *lattices, tool_symbol_fn name,
                          const void *user) {
  if (!word_options_given())
    return lattices_open(lattices, name, user, setup->symbols);
  size_t tokens = linnet_lexicon_count(setup->word.vocabulary.lexicon) + 2;
  return lattices_open(lattices, token_name, setup->word.search, (int)tokens);
}

enum linnet_status search_create(struct search *search, struct linnet_context *context,
                                 const struct search_setup *setup) {
  if (word_options_given())
    return linnet_word_search_share(context, setup->word.search, &search->words);
  return linnet_beam_create(context, setup->symbols, &setup->beam.settings, &search->beam);
}

enum linnet_status search_accept(struct search *search, const float *log_posteriors, size_t frames) {
  return search->words ? linnet_word_search_accept(search->words, log_posteriors, frames)
                       : linnet_beam_accept(search->beam, log_posteriors, frames);
}

enum linnet_status search_finish(struct search *search) {
  return search->words ? linnet_word_search_finish(search->words) : linnet_beam_finish(search->beam);
}

void search_reset(struct search *search) {
  if (search->words)
    linnet_word_search_reset(search->words);
  else
    linnet_beam_reset(search->beam);
}

void search_destroy(struct search *search) {
  linnet_word_search_destroy(search->words);
  linnet_beam_destroy(search->beam);
}

bool search_hypotheses(struct search *search, const struct segment_rule *rule, struct hypotheses *hypotheses) {
  return search->words ? hypotheses_of_words(hypotheses, rule, search->words, beam_options_count())
                       : hypotheses_of_beam(hypotheses, rule, search->beam, beam_options_count());
}
