/* The fastest "causal_chunk" of a network on this machine, found by a short measurement. */
#ifndef LINNET_CAUSAL_CHUNK_H
#define LINNET_CAUSAL_CHUNK_H

#include "model/config.h"

/* Measures forward and backward of a layer's causal linear attention, some milliseconds for each candidate; *chunk is
 * the best: rows, or 0 for the state form. */
enum linnet_status linnet_causal_chunk(struct linnet_context *context, const struct linnet_config *config,
                                       size_t *chunk);

/* Whether a network has a layer that sums in chunks. */
bool linnet_has_causal_chunk(const struct linnet_config *config);

#endif
