/* The graph of a language model over labels, for the denominator of CTC-CRF (ops/denominator.h). */
#ifndef LINNET_DENOMINATOR_GRAPH_H
#define LINNET_DENOMINATOR_GRAPH_H

#include <linnet/language_model.h>

#include "base/base.h"
#include "ops/denominator.h"

/* Visits all histories of the model, whose tokens are the symbols 1 ... symbols-1; names (symbols) are for messages,
 * NULL: numbers. LINNET_ERROR_ARGUMENT if a symbol has probability 0 after some history, or if the graph would have
 * more than 2^24 arcs. The graph is independent of the model. */
enum linnet_status linnet_denominator_graph_create(struct linnet_context *context,
                                                   const struct linnet_language_model *model, size_t symbols,
                                                   const char *const *names, struct linnet_denominator_graph **graph);

/* NULL is allowed. */
void linnet_denominator_graph_destroy(struct linnet_context *context, struct linnet_denominator_graph *graph);

#endif
