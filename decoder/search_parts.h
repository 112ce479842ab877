/* The parts of a linnet_search, which its streams read. */
#ifndef LINNET_SEARCH_PARTS_H
#define LINNET_SEARCH_PARTS_H

#include <linnet/grammar.h>
#include <linnet/greedy.h>
#include <linnet/hotwords.h>
#include <linnet/ngram.h>
#include <linnet/search.h>

#include "decoder/words/vocabulary.h"

struct linnet_search {
  struct linnet_context *context;
  enum linnet_search_kind kind;
  size_t num_symbols, num_alternatives;
  const char **names; /* (num_symbols) */
  struct linnet_calibrations calibrations;
  bool calibrated;
  struct linnet_beam_settings beam;         /* of LINNET_SEARCH_SYMBOLS */
  struct linnet_word_search_settings words; /* of LINNET_SEARCH_WORDS */
  struct linnet_vocabulary vocabulary;      /* this and all that follow: of LINNET_SEARCH_WORDS */
  struct linnet_language_model model;       /* the settings point here if there is a language model */
  struct linnet_ngram *ngram;
  struct linnet_ngram_binding *binding;
  struct linnet_grammar *grammar;
  struct linnet_hotwords *hotwords;
  float *lookahead;
  int *silences;
  struct linnet_word_search *first; /* the streams share its tree */
};

#endif
