/* Whether configurations are equal, field by field: padding between fields has no defined value, so bytes cannot be
 * compared. */
#ifndef LINNET_TEST_SAME_CONFIG_H
#define LINNET_TEST_SAME_CONFIG_H

#include <linnet/model.h>

#include "model/config.h"

static inline bool test_same_config(const struct linnet_config *a, const struct linnet_config *b) {
  return linnet_config_same_network(a, b) && a->dropout == b->dropout && a->causal_chunk == b->causal_chunk;
}

static inline bool test_same_features(const struct linnet_feature_config *a, const struct linnet_feature_config *b) {
  const struct linnet_fbank_settings *x = &a->fbank, *y = &b->fbank;
  return x->size == y->size && x->sample_rate == y->sample_rate && x->frame_length == y->frame_length &&
         x->frame_shift == y->frame_shift && x->num_mel == y->num_mel && x->low_frequency == y->low_frequency &&
         x->high_frequency == y->high_frequency && x->preemphasis == y->preemphasis && x->dither == y->dither &&
         x->dither_seed == y->dither_seed && a->cmvn == b->cmvn && a->cmvn_variance == b->cmvn_variance &&
         a->cmvn_frames == b->cmvn_frames && a->max_silence == b->max_silence && a->edge_silence == b->edge_silence &&
         a->cmvn_prior == b->cmvn_prior && a->cmvn_memory == b->cmvn_memory;
}

#endif
