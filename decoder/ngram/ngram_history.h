/* How probable the histories of an n-gram model are: what entropy pruning weights a context with. */
#ifndef LINNET_NGRAM_HISTORY_H
#define LINNET_NGRAM_HISTORY_H

#include "decoder/ngram/ngram_model.h"

/* Sets histories (inner) from the text that the model was estimated from: the part of its tokens where a context ends.
 * text (count) holds words of the model, <s> ... </s> <s> ... </s>. */
void linnet_ngram_count_histories(const struct linnet_ngram *ngram, const uint32_t *text, size_t count,
                                  double *histories);

/* The same from the model itself, as SRILM does it: the product of the probabilities of the words, where <s> counts as
 * </s>. Kneser-Ney probabilities of single words say how many different words come before them, not how frequent they
 * are, so for such models a text is better (Chelba et al. 2010, "Study on interaction between entropy pruning and
 * Kneser-Ney smoothing"). */
void linnet_ngram_predict_histories(const struct linnet_ngram *ngram, double *histories);

#endif
