/* Hotwords of one stream, with the words that its search lacks and whose pronunciations were guessed. */
#ifndef LINNET_STREAM_HOTWORDS_H
#define LINNET_STREAM_HOTWORDS_H

#include <linnet/hotwords.h>
#include <linnet/source.h>

#include "decoder/g2p/g2p_demand.h"
#include "decoder/words/word_beam.h"

struct linnet_stream_hotwords {
  struct linnet_context *context;
  struct linnet_hotwords *phrases;
  struct linnet_lexicon *lexicon; /* of the guessed words; NULL: there are none */
  struct linnet_word_tree branch; /* their nodes */
};

/* Reads hotwords for searches that share the tree of `search`, whose settings were `settings`. `g2p` guesses words that
 * its lexicon lacks; NULL: they are errors. */
enum linnet_status linnet_stream_hotwords_open(struct linnet_context *context, const struct linnet_source *source,
                                               const struct linnet_word_search *search,
                                               const struct linnet_word_search_settings *settings,
                                               struct linnet_g2p_demand *g2p, struct linnet_stream_hotwords **hotwords);

/* NULL is allowed. */
void linnet_stream_hotwords_destroy(struct linnet_stream_hotwords *hotwords);

/* Gives them to a search and resets it; NULL: it gets `others`. They must outlive the search. */
void linnet_stream_hotwords_apply(const struct linnet_stream_hotwords *hotwords, const struct linnet_hotwords *others,
                                  struct linnet_word_search *search);

#endif
