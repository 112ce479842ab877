/* Small models for the tests of recognizers. */
#include "recognizer_models.h"

#include "random_model.h"

/* Weights are large, so that symbols change now and then. */
bool write_recognizer_model(const char *path, bool causal) {
  struct linnet_context *context = test_context();
  struct linnet_config config;
  linnet_config_default(&config);
  config.width = 32;
  config.heads = 2;
  config.layers = 2;
  config.outputs = 5;
  config.convolution = 5;
  if (causal)
    config.lookahead[0] = 1, config.lookahead[1] = 0;
  config.stack = 3;
  memset(config.attention, causal ? LINNET_ATTENTION_CAUSAL_LINEAR : LINNET_ATTENTION_LINEAR, config.layers);
  memset(config.attention + config.layers, 0, sizeof config.attention - config.layers);
  random_model_write(context, path, &config, 10, 3, causal ? LINNET_CMVN_GLOBAL : LINNET_CMVN_UTTERANCE, NULL);
  linnet_context_destroy(context);
  return test_failures == 0;
}
