#include "search.h"

#include "beam_options.h"
#include "lattices.h"
#include "word_options.h"

bool search_options_given(void) {
  return beam_options_given() || word_options_given() || lattices_given();
}

bool search_options_check(bool optional) {
  return beam_options_check(optional && !word_options_given() && !lattices_given()) && word_options_check() &&
         lattices_check();
}

void search_options_read(struct linnet_search_settings *settings, bool optional) {
  linnet_search_settings_default(settings);
  settings->lattice = lattices_given();
  if (word_options_given())
    settings->kind = LINNET_SEARCH_WORDS;
  else if (!optional || search_options_given())
    settings->kind = LINNET_SEARCH_SYMBOLS;
  beam_options_read(settings);
  if (word_options_given())
    word_options_read(settings);
}
