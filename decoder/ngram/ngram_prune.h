/* Pruning of n-gram models: linnet_ngram_prune with the probabilities of histories given. */
#ifndef LINNET_NGRAM_PRUNE_H
#define LINNET_NGRAM_PRUNE_H

#include "decoder/ngram/ngram_model.h"

/* histories (inner) holds the probability of each context (ngram_history.h). The model is not quantized. */
enum linnet_status linnet_ngram_prune_histories(struct linnet_context *context, const struct linnet_ngram *ngram,
                                                const double *histories, double threshold,
                                                struct linnet_ngram **pruned);

#endif
