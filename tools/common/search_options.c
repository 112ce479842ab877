/* Chooses between the search over symbols and the search for words, and forwards calls to it. */
#include "search_options.h"

#include "beam_options.h"
#include "lattices.h"
#include "word_options.h"

bool search_options_given(void) {
  return beam_options_given() || word_options_given() || lattices_given();
}

bool search_options_check(bool optional, bool recognizer) {
  const bool none = optional && !recognizer && !word_options_given() && !lattices_given();
  return beam_options_check(none, recognizer) && word_options_check(recognizer) && lattices_check();
}

bool search_options_read(struct linnet_search_settings *settings, bool optional) {
  const bool greedy = settings->kind == LINNET_SEARCH_GREEDY;
  settings->lattice = lattices_given();
  if (word_options_given())
    settings->kind = LINNET_SEARCH_WORDS;
  else if (greedy && (!optional || search_options_given()))
    settings->kind = LINNET_SEARCH_SYMBOLS;
  beam_options_read(settings);
  if (settings->kind == LINNET_SEARCH_WORDS)
    word_options_read(settings);
  return word_options_fit(settings->kind == LINNET_SEARCH_WORDS);
}
