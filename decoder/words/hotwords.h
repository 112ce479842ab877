/* Hotwords as an automaton over words (Aho and Corasick 1975): a state is the longest beginning of a phrase that the
 * words so far end with. */
#ifndef LINNET_DECODER_HOTWORDS_H
#define LINNET_DECODER_HOTWORDS_H

#include <linnet/hotwords.h>

#include "base/base.h"

/* The state before the first word; the state after another one, and what the score gains (or loses). */
#define LINNET_HOTWORDS_START 0u
uint32_t linnet_hotwords_step(const struct linnet_hotwords *hotwords, uint32_t state, unsigned token, double *gain);

/* What the score gains (or loses) at the end of the sentence. */
double linnet_hotwords_finish(const struct linnet_hotwords *hotwords, uint32_t state);

/* An upper bound of the gain of any step. */
double linnet_hotwords_most(const struct linnet_hotwords *hotwords);

#endif
