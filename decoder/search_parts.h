/* The parts of a linnet_search, which its streams read. */
#ifndef LINNET_SEARCH_PARTS_H
#define LINNET_SEARCH_PARTS_H

#include <linnet/grammar.h>
#include <linnet/greedy.h>
#include <linnet/hotwords.h>
#include <linnet/ngram.h>
#include <linnet/search.h>

#include "decoder/g2p/g2p_demand.h"
#include "decoder/words/stream_hotwords.h"
#include "decoder/words/symbols.h"

struct linnet_search {
  struct linnet_context *context;
  enum linnet_search_kind kind;
  size_t num_symbols, num_alternatives;
  const char **names; /* (num_symbols) */
  struct linnet_calibrations calibrations;
  bool calibrated;
  float blank_penalty;                       /* of LINNET_SEARCH_GREEDY */
  double emission_delay;                     /* seconds */
  float *priors;                             /* (num_symbols); NULL: none */
  struct linnet_beam_settings beam;          /* of LINNET_SEARCH_SYMBOLS */
  struct linnet_word_search_settings words;  /* of LINNET_SEARCH_WORDS */
  struct linnet_vocabulary vocabulary;       /* this and all that follow: of LINNET_SEARCH_WORDS */
  size_t num_read_words;                     /* of the lexicon; the words after them are guessed */
  const struct linnet_language_model *model; /* of `binding` or `grammar`, or NULL */
  struct linnet_ngram *ngram;
  struct linnet_ngram_binding *binding;
  struct linnet_grammar *grammar;
  struct linnet_hotwords *hotwords;
  struct linnet_g2p_demand *g2p; /* NULL: no word can be guessed */
  float *lookahead;
  int *silences;
  struct linnet_word_search *first; /* the streams share its tree */
};

/* Whether the best hypothesis so far has words and the last of them is complete; true for searches without words. */
enum linnet_status linnet_search_stream_ends_word(struct linnet_search_stream *stream, bool *ends);

/* Ends the spans of the last result at `seconds`, where the recording ends: its last row may reach beyond. */
void linnet_search_stream_clip(struct linnet_search_stream *stream, double seconds);

/* The two halves of linnet_search_stream_set_hotwords: reads hotwords, NULL without a source; and takes them, from the
 * next reset on or `at_once`. The stream then owns them. */
enum linnet_status linnet_search_stream_read_hotwords(const struct linnet_search_stream *stream,
                                                      const struct linnet_source *source,
                                                      struct linnet_stream_hotwords **hotwords);
void linnet_search_stream_take_hotwords(struct linnet_search_stream *stream, struct linnet_stream_hotwords *hotwords,
                                        bool at_once);

/* Loads the priors that the settings name, if any (search_priors.c). The search must have its symbols. */
enum linnet_status linnet_search_load_priors(struct linnet_search *search,
                                             const struct linnet_search_settings *settings);

#endif
