/* The recognizer's parts. */
#ifndef LINNET_RECOGNIZER_PARTS_H
#define LINNET_RECOGNIZER_PARTS_H

#include <stdbool.h>

#include <linnet/recognizer.h>

#include "recognizer/endpoint.h"
#include "recognizer/silence_lengths.h"

struct linnet_recognizer {
  struct linnet_context *context;
  const struct linnet_model *model;
  struct linnet_model *own_model; /* NULL: the caller owns the model */
  struct linnet_search *search;
  bool has_endpoints;
  struct linnet_endpoint_rules endpoints;
  double partial_interval; /* seconds; 0: after each call */
  struct linnet_silence_lengths lengths;
};

/* Whether a stream recognises frames as soon as they arrive: the network is causal, and the features need no statistics
 * of the utterance or speaker. */
static inline bool linnet_runs_along(const struct linnet_model *model) {
  struct linnet_feature_config features;
  linnet_model_features(model, &features);
  return linnet_model_is_causal(model) && features.cmvn != LINNET_CMVN_UTTERANCE &&
         features.cmvn != LINNET_CMVN_SPEAKER;
}

#endif
