/* The "features" entry of a model file: struct linnet_feature_config as JSON, with the defaults:
 *
 *   {"kind": "fbank", "sample_rate": 16000, "frame_length": 25, "frame_shift": 10, "num_mel": 40,
 *    "low_frequency": 20, "high_frequency": 0, "preemphasis": 0.97, "cmvn": "utterance", "cmvn_variance": true,
 *    "cmvn_frames": "speech"}
 *
 * A missing "cmvn_frames" means "all", which is never written; a missing "max_silence" or "edge_silence" means 0.
 * "cmvn_prior" is written with "cmvn": "running" only; if it is missing, it is 100. So is "cmvn_memory"; if it is
 * missing, it is 0.
 *
 * Dither is not part of a model: it is always off here. */
#ifndef LINNET_FEATURE_CONFIG_H
#define LINNET_FEATURE_CONFIG_H

#include <linnet/model.h>

#include "base/base.h"

enum { LINNET_MAX_SILENCE = 3600 /* seconds; maximum of max_silence and edge_silence */ };

/* linnet_feature_config_default and _parse are public. The _complete form requires all keys that are not optional. */
enum linnet_status linnet_feature_config_parse_complete(struct linnet_context *context, const char *text,
                                                        const char *name, struct linnet_feature_config *features);

/* Whether the model file has the statistics of a corpus for this kind of normalisation. */
bool linnet_cmvn_is_stored(enum linnet_cmvn_kind kind);

enum linnet_status linnet_feature_config_validate(struct linnet_context *context, const char *name,
                                                  const struct linnet_feature_config *features);

/* JSON on one line; release *text with linnet_free. */
enum linnet_status linnet_feature_config_format(struct linnet_context *context,
                                                const struct linnet_feature_config *features, char **text);

#endif
