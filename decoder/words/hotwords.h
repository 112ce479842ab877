/* Hotwords as an automaton over words (Aho and Corasick 1975). A state is the longest beginning of a phrase that is a
 * suffix of the words so far. */
#ifndef LINNET_DECODER_HOTWORDS_H
#define LINNET_DECODER_HOTWORDS_H

#include <stdbool.h>

#include <linnet/hotwords.h>

#include "decoder/words/guesser.h"

/* linnet_hotwords_load and linnet_hotwords_load_memory. The guesser guesses the words that its lexicon, which must be
 * `lexicon`, lacks; NULL: they are errors. */
enum linnet_status linnet_hotwords_open(struct linnet_context *context, const struct linnet_source *source,
                                        const char *name, const struct linnet_lexicon *lexicon,
                                        struct linnet_guesser *guesser, struct linnet_hotwords **hotwords);

/* The state before the first word; the state after one more word, and the change of the score. Until a phrase is
 * complete, at most `limit` of its weight is in the score. */
#define LINNET_HOTWORDS_START 0u
uint32_t linnet_hotwords_step(const struct linnet_hotwords *hotwords, double limit, uint32_t state, unsigned token,
                              double *gain);

/* The change of the score at the end of the sentence: the parts of an incomplete phrase are subtracted again. */
double linnet_hotwords_finish(const struct linnet_hotwords *hotwords, double limit, uint32_t state);

/* The highest change of the score, at most 0, that one more word can bring if only the words that `leads` accepts, and
 * words that continue no phrase of the state, can follow. */
typedef bool (*linnet_hotwords_leads)(const void *user, unsigned token);
double linnet_hotwords_ahead(const struct linnet_hotwords *hotwords, double limit, uint32_t state,
                             linnet_hotwords_leads leads, const void *user);

/* An upper bound of the gain of any step. */
double linnet_hotwords_max_gain(const struct linnet_hotwords *hotwords);

#endif
