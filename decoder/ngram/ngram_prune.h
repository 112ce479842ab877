/* Pruning of n-gram models. */
#ifndef LINNET_NGRAM_PRUNE_H
#define LINNET_NGRAM_PRUNE_H

#include "decoder/ngram/ngram_model.h"

/* A model without those n-grams of two words or more whose loss raises the relative entropy by less than `threshold`
 * (Stolcke 1998, "Entropy-based pruning of backoff language models"). counts (nodes): how often each n-gram, as a
 * context, occurs in the text that the model was estimated from: Kneser-Ney probabilities of short n-grams say nothing
 * of that. The model is not quantized. */
enum linnet_status linnet_ngram_prune(const struct linnet_ngram *ngram, const uint32_t *counts, double threshold,
                                      struct linnet_ngram **pruned);

#endif
