/* Small models for the tests of recognizers. */
#include "recognizer_models.h"

#include "random_model.h"

/* Weights are large, so that symbols change now and then. */
static bool write_features_model(const char *path, bool causal, size_t lookahead, size_t stack,
                                 struct linnet_feature_config features) {
  struct linnet_context *context = test_context();
  struct linnet_config config;
  linnet_config_default(&config);
  config.input_dim = features.fbank.num_mel;
  config.width = 32;
  config.heads = 2;
  config.layers = 2;
  config.outputs = 5;
  config.convolution = 5;
  if (causal)
    config.lookahead[0] = lookahead, config.lookahead[1] = 0;
  config.stack = stack;
  memset(config.attention, causal ? LINNET_ATTENTION_CAUSAL_LINEAR : LINNET_ATTENTION_LINEAR, config.layers);
  memset(config.attention + config.layers, 0, sizeof config.attention - config.layers);
  random_model_write(context, path, &config, 10, 3, features, NULL);
  linnet_context_destroy(context);
  return test_failures == 0;
}

static bool write_model(const char *path, bool causal, enum linnet_cmvn_kind cmvn, size_t lookahead, double max_silence,
                        double edge_silence) {
  struct linnet_feature_config features;
  linnet_feature_config_default(&features);
  features.cmvn = cmvn;
  features.max_silence = max_silence;
  features.edge_silence = edge_silence;
  return write_features_model(path, causal, lookahead, 3, features);
}

bool write_recognizer_model(const char *path, bool causal) {
  return write_model(path, causal, causal ? LINNET_CMVN_GLOBAL : LINNET_CMVN_UTTERANCE, 1, 0, 0);
}

bool write_prompt_model(const char *path) {
  return write_model(path, true, LINNET_CMVN_GLOBAL, 0, 0, 0);
}

bool write_other_model(const char *path, size_t stack, double high_frequency) {
  struct linnet_feature_config features;
  linnet_feature_config_default(&features);
  features.cmvn = LINNET_CMVN_UTTERANCE;
  features.fbank.high_frequency = high_frequency;
  return write_features_model(path, false, 0, stack, features);
}

bool write_filterbank_model(const char *path, const struct linnet_fbank_settings *fbank) {
  struct linnet_feature_config features;
  linnet_feature_config_default(&features);
  features.cmvn = LINNET_CMVN_UTTERANCE;
  features.fbank = *fbank;
  return write_features_model(path, false, 0, 3, features);
}

bool write_silence_model(const char *path) {
  return write_model(path, false, LINNET_CMVN_UTTERANCE, 0, 0.5, 0.2);
}

bool write_speaker_model(const char *path) {
  return write_model(path, false, LINNET_CMVN_SPEAKER, 0, 0, 0);
}

bool write_running_model(const char *path) {
  return write_model(path, true, LINNET_CMVN_RUNNING, 1, 0, 0);
}

bool write_whole_model(const char *path) {
  return write_model(path, true, LINNET_CMVN_UTTERANCE, 1, 0, 0);
}
