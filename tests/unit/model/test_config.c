/* Configurations of network and features: JSON in, checks, JSON out. */
#include "test.h"

#include "model/config.h"
#include "model/format/feature_config.h"
#include "model/parameters.h"
#include "same_config.h"

static struct linnet_context *context;

static struct linnet_config paper_config(void) {
  struct linnet_config config;
  linnet_config_default(&config);
  config.outputs = 42;
  return config;
}

static void test_defaults(void) {
  struct linnet_config config = paper_config();
  size_t count = 0;
  CHECK(linnet_config_validate(context, "defaults", &config) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_config_count_parameters(&config, &count) && count > 3900000 && count < 4100000, "%zu parameters", count);
  linnet_config_default(&config);
  CHECK(linnet_config_validate(context, "defaults", &config) == LINNET_ERROR_LIMIT, "outputs must be set");
}

/* Python's json.dumps writes the same text. */
static void test_format(void) {
  struct linnet_config config = paper_config();
  char *text = NULL;
  REQUIRE(linnet_config_format(context, &config, &text) == LINNET_OK, "%s", linnet_context_error(context));
  const char *wanted = "{\"encoder\": \"transformer\", \"input_dim\": 40, \"stack\": 1, \"width\": 192, \"heads\": 6, "
                       "\"layers\": 9, \"feed_forward\": 768, \"activation\": \"relu\", \"norm\": \"post\", "
                       "\"dropout\": 0.1, \"position\": \"sinusoidal\", \"attention\": \"linear\", "
                       "\"convolution\": 0, \"outputs\": 42, \"feature_map\": \"elu\", \"features\": 0, "
                       "\"lsh_rounds\": 4, \"lsh_buckets\": 64, \"lsh_chunk\": 32, "
                       "\"causal_chunk\": 0}";
  CHECK(strcmp(text, wanted) == 0, "wrote %s", text);
  linnet_free(context, text);
}

static void test_round_trip(void) {
  struct linnet_config config = paper_config(), read;
  config.stack = 3;
  config.activation = LINNET_GELU;
  config.norm = LINNET_NORM_PRE;
  config.position = LINNET_POSITION_NONE;
  config.convolution = 15;
  config.dropout = 0.1 + 0.2; /* needs 17 digits */
  char *text = NULL;
  REQUIRE(linnet_config_format(context, &config, &text) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_config_parse_complete(context, text, "round trip", &read) == LINNET_OK, "%s",
        linnet_context_error(context));
  CHECK(memcmp(&read.dropout, &config.dropout, sizeof read.dropout) == 0, "dropout %.17g became %.17g", config.dropout,
        read.dropout);
  CHECK(read.stack == 3 && read.activation == LINNET_GELU && read.norm == LINNET_NORM_PRE &&
            read.position == LINNET_POSITION_NONE && read.convolution == 15 && read.outputs == 42,
        "values differ: %s", text);
  linnet_free(context, text);
}

/* A kind of attention for each layer: the file has the list, and reading it gives the same configuration. */
static void test_mixed_attention(void) {
  struct linnet_config config = paper_config(), read;
  char *text = NULL;
  config.layers = 4;
  memset(config.attention, 0, sizeof config.attention);
  config.attention[1] = config.attention[3] = LINNET_ATTENTION_SOFTMAX;
  REQUIRE(linnet_config_format(context, &config, &text) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(strstr(text, "\"attention\": [\"linear\", \"softmax\", \"linear\", \"softmax\"], "), "wrote %s", text);
  CHECK(linnet_config_parse_complete(context, text, "mixed", &read) == LINNET_OK && test_same_config(&read, &config),
        "%s", text);
  linnet_free(context, text);
}

static void test_overlay(void) {
  struct linnet_config config = paper_config();
  CHECK(linnet_config_parse(context,
                            "{\"width\": 64, \"dropout\": 0, \"attention\": [\"linear\", \"linear\"], "
                            "\"layers\": 2, \"heads\": 4}",
                            "overlay", &config) == LINNET_OK,
        "%s", linnet_context_error(context));
  CHECK(config.width == 64 && config.heads == 4 && config.layers == 2 && config.dropout == 0 &&
            config.feed_forward == 768 && config.outputs == 42,
        "overlay keeps what is absent");
  struct linnet_config before = config;
  CHECK(linnet_config_parse(context, "{\"width\": 128, \"norm\": \"sideways\"}", "overlay", &config) ==
            LINNET_ERROR_UNSUPPORTED,
        "unknown norm");
  CHECK(test_same_config(&before, &config), "a failed parse changes nothing");
  CHECK(linnet_config_parse(context, "{\"causal_chunk\": \"auto\"}", "overlay", &config) == LINNET_OK &&
            config.causal_chunk == LINNET_CAUSAL_CHUNK_AUTO,
        "%s", linnet_context_error(context));
}

/* One number for all layers, or a list; a missing key leaves convolutions centred. */
static void test_lookahead(void) {
  struct linnet_config config = paper_config(), read, centred;
  char *text = NULL;
  REQUIRE(linnet_config_parse(context, "{\"layers\": 3, \"convolution\": 7}", "FILE", &config) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_layer_lookahead(&config, 0) == 3 && linnet_layer_lookahead(&config, 2) == 3, "centred");
  centred = config;
  REQUIRE(linnet_config_parse(context, "{\"convolution_lookahead\": 3}", "FILE", &config) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_config_same_network(&centred, &config), "centred by a number");
  REQUIRE(linnet_config_parse(context, "{\"convolution_lookahead\": [2, 0, 6]}", "FILE", &config) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_layer_lookahead(&config, 0) == 2 && linnet_layer_lookahead(&config, 1) == 0 &&
            linnet_layer_lookahead(&config, 2) == 6 && !linnet_config_same_network(&centred, &config),
        "a list");
  REQUIRE(linnet_config_format(context, &config, &text) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(strstr(text, "\"causal_chunk\": 0, \"convolution_lookahead\": [2, 0, 6]}"), "wrote %s", text);
  CHECK(linnet_config_parse_complete(context, text, "FILE", &read) == LINNET_OK && test_same_config(&read, &config),
        "round trip of %s", text);
  linnet_free(context, text);
  REQUIRE(linnet_config_parse(context, "{\"convolution_lookahead\": 0, \"layers\": 4}", "FILE", &config) == LINNET_OK,
          "%s", linnet_context_error(context));
  REQUIRE(linnet_config_format(context, &config, &text) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(strstr(text, "\"convolution_lookahead\": 0}"), "wrote %s", text);
  linnet_free(context, text);
}

static void expect_invalid_lookahead(const char *text, const char *word) {
  struct linnet_config config = paper_config();
  enum linnet_status status = linnet_config_parse(context, text, "FILE", &config);
  if (status == LINNET_OK)
    status = linnet_config_validate(context, "FILE", &config);
  CHECK(status != LINNET_OK && strstr(linnet_context_error(context), word), "%s: status %d, %s", text, (int)status,
        linnet_context_error(context));
}

static void test_lookahead_refusals(void) {
  expect_invalid_lookahead("{\"convolution_lookahead\": 1}", "of layer 1 is 1, but \"convolution\" is 0");
  expect_invalid_lookahead("{\"convolution\": 3, \"layers\": 2, \"convolution_lookahead\": [2, 3]}",
                           "of layer 2 is 3; it must be below the kernel");
  expect_invalid_lookahead("{\"convolution_lookahead\": 63}", "is 63; it must be 0 to 62");
  expect_invalid_lookahead("{\"convolution_lookahead\": [1]}", "names 1 layers, but \"layers\" is 9");
  expect_invalid_lookahead("{\"convolution_lookahead\": \"all\"}", "must be a number of frames");
  expect_invalid_lookahead("{\"convolution_lookahead\": -1}", "must be a number of frames");
}

/* lsh-1, lsh-4, lsh-8: one kind and its rounds. */
static void test_lsh(void) {
  for (size_t rounds = 1; rounds <= 8; rounds++) {
    struct linnet_config config = paper_config(), linear = paper_config();
    size_t count, more;
    char text[128];
    snprintf(text, sizeof text, "{\"attention\": \"lsh\", \"lsh_rounds\": %zu}", rounds);
    CHECK(linnet_config_parse(context, text, "lsh", &config) == LINNET_OK, "%s", linnet_context_error(context));
    CHECK(linnet_config_validate(context, "lsh", &config) == LINNET_OK, "%s", linnet_context_error(context));
    CHECK(config.attention[8] == LINNET_ATTENTION_LSH && config.lsh_rounds == rounds, "%s", text);
    CHECK(linnet_config_count_parameters(&config, &count) && linnet_config_count_parameters(&linear, &more) &&
              count + 9 * (192 * 192 + 192) == more,
          "%zu parameters, %zu of linear attention", count, more);
  }
}

/* A text that must be refused, the status, and a word of the message. */
struct refusal {
  const char *text;
  enum linnet_status status;
  const char *word;
};

static void test_refusals(void) {
  const struct refusal refusals[] = {
      {"", LINNET_ERROR_FORMAT, "JSON"},
      {"[]", LINNET_ERROR_FORMAT, "object"},
      {"{\"width\": 1", LINNET_ERROR_FORMAT, "JSON"},
      {"{\"width\": 1, \"width\": 2}", LINNET_ERROR_FORMAT, "duplicate"},
      {"{\"widht\": 1}", LINNET_ERROR_FORMAT, "do you mean \"width\"? Known are: encoder, input_dim"},
      {"{\"wi\\ndth\\u001b[31m\": 1}", LINNET_ERROR_FORMAT, "wi?dth?[31m"},
      {"{\"width\": -1}", LINNET_ERROR_FORMAT, "width"},
      {"{\"width\": 1.5}", LINNET_ERROR_FORMAT, "width"},
      {"{\"causal_chunk\": \"automatic\"}", LINNET_ERROR_FORMAT, "causal_chunk"},
      {"{\"width\": \"1\"}", LINNET_ERROR_FORMAT, "width"},
      {"{\"width\": 99999999999999999999}", LINNET_ERROR_FORMAT, "too big"},
      {"{\"dropout\": \"a\"}", LINNET_ERROR_FORMAT, "dropout"},
      {"{\"dropout\": 1e999}", LINNET_ERROR_FORMAT, "JSON"},
      {"{\"norm\": 1}", LINNET_ERROR_FORMAT, "norm"},
      {"{\"norm\": \"Post\"}", LINNET_ERROR_UNSUPPORTED, "known are: post, pre"},
      {"{\"activation\": \"silu\"}", LINNET_ERROR_UNSUPPORTED, "known are: relu, gelu"},
      {"{\"feature_map\": \"tanh\"}", LINNET_ERROR_UNSUPPORTED, "known are: elu, relu, polynomial, fourier, positive"},
      {"{\"attention\": \"lsh-4\"}", LINNET_ERROR_UNSUPPORTED, "lsh-4"},
      {"{\"attention\": [\"linear\"]}", LINNET_ERROR_FORMAT, "layers"},
      {"{\"attention\": {}}", LINNET_ERROR_FORMAT, "attention"},
      {"{\"layers\": 1000000}", LINNET_ERROR_LIMIT, "layers"},
      {"{\"layers\": 0}", LINNET_ERROR_LIMIT, "layers"},
      {"{\"a\":[[[[[]]]]]}", LINNET_ERROR_LIMIT, "nested"},
      {"{\"\xff\": 1}", LINNET_ERROR_FORMAT, "decode byte"},
  };
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    struct linnet_config config = paper_config();
    enum linnet_status status = linnet_config_parse(context, refusals[i].text, "FILE", &config);
    const char *message = linnet_context_error(context);
    CHECK(status == refusals[i].status, "%s: status %d, %s", refusals[i].text, status, message);
    CHECK(strstr(message, refusals[i].word) && strstr(message, "FILE"), "%s: message lacks \"%s\": %s",
          refusals[i].text, refusals[i].word, message);
  }
}

static void expect_invalid(struct linnet_config config, enum linnet_status wanted, const char *word) {
  enum linnet_status status = linnet_config_validate(context, "FILE", &config);
  CHECK(status == wanted && strstr(linnet_context_error(context), word), "%s: status %d, %s", word, status,
        linnet_context_error(context));
}

#define EXPECT_INVALID(field, number, status, word)                                                                    \
  do {                                                                                                                 \
    struct linnet_config changed = paper_config();                                                                     \
    changed.field = (number);                                                                                          \
    expect_invalid(changed, status, word);                                                                             \
  } while (0)

/* Feature maps whose size would explode: of a head, of all heads, of the tensors of all layers. */
static void test_map_sizes(void) {
  struct linnet_config map = paper_config();
  map.feature_map = LINNET_MAP_POLYNOMIAL;
  CHECK(linnet_config_validate(context, "FILE", &map) == LINNET_OK, "528 features of a head");
  map.heads = 2; /* 96 * 97 / 2 = 4656 */
  expect_invalid(map, LINNET_ERROR_LIMIT, "4656 features of a head");
  map = paper_config();
  map.feature_map = LINNET_MAP_FOURIER;
  map.features = 2048;
  CHECK(linnet_config_validate(context, "FILE", &map) == LINNET_OK, "6 * 4096 features");
  map.features = 2049;
  expect_invalid(map, LINNET_ERROR_LIMIT, "4098 features of a head");
  map.feature_map = LINNET_MAP_POSITIVE;
  map.features = 4096;
  map.heads = 24;
  expect_invalid(map, LINNET_ERROR_LIMIT, "24 heads");
  map.width = 4096; /* 64 * (4 + 2 + 16) * 2^20 elements */
  map.heads = 1;
  map.layers = 64;
  map.feed_forward = 64;
  expect_invalid(map, LINNET_ERROR_LIMIT, "parameters");
}

static void test_validate(void) {
  EXPECT_INVALID(input_dim, 0, LINNET_ERROR_LIMIT, "input_dim");
  EXPECT_INVALID(input_dim, 513, LINNET_ERROR_LIMIT, "input_dim");
  EXPECT_INVALID(stack, 0, LINNET_ERROR_LIMIT, "stack");
  EXPECT_INVALID(stack, 5, LINNET_ERROR_LIMIT, "stack");
  EXPECT_INVALID(width, 4098, LINNET_ERROR_LIMIT, "width");
  EXPECT_INVALID(width, 0, LINNET_ERROR_LIMIT, "width");
  EXPECT_INVALID(heads, 0, LINNET_ERROR_LIMIT, "heads");
  EXPECT_INVALID(heads, 5, LINNET_ERROR_FORMAT, "heads");
  EXPECT_INVALID(layers, 65, LINNET_ERROR_LIMIT, "layers");
  EXPECT_INVALID(feed_forward, 65537, LINNET_ERROR_LIMIT, "feed_forward");
  EXPECT_INVALID(feed_forward, 0, LINNET_ERROR_LIMIT, "feed_forward");
  EXPECT_INVALID(convolution, 1, LINNET_ERROR_FORMAT, "convolution");
  EXPECT_INVALID(convolution, 16, LINNET_ERROR_FORMAT, "convolution");
  EXPECT_INVALID(convolution, 65, LINNET_ERROR_LIMIT, "convolution");
  EXPECT_INVALID(outputs, 1, LINNET_ERROR_LIMIT, "outputs");
  EXPECT_INVALID(outputs, 65537, LINNET_ERROR_LIMIT, "outputs");
  EXPECT_INVALID(outputs, SIZE_MAX, LINNET_ERROR_LIMIT, "outputs");
  EXPECT_INVALID(causal_chunk, 65537, LINNET_ERROR_LIMIT, "causal_chunk");
  EXPECT_INVALID(causal_chunk, LINNET_CAUSAL_CHUNK_AUTO, LINNET_ERROR_FORMAT, "\"causal_chunk\" is auto");
  EXPECT_INVALID(dropout, 0.95, LINNET_ERROR_LIMIT, "dropout");
  EXPECT_INVALID(dropout, -0.1, LINNET_ERROR_LIMIT, "dropout");
  EXPECT_INVALID(dropout, NAN, LINNET_ERROR_LIMIT, "dropout");
  EXPECT_INVALID(activation, LINNET_SILU, LINNET_ERROR_ARGUMENT, "activation");
  EXPECT_INVALID(norm, (enum linnet_norm_order)7, LINNET_ERROR_ARGUMENT, "norm");
  EXPECT_INVALID(attention[8], 99, LINNET_ERROR_ARGUMENT, "attention");
  EXPECT_INVALID(lsh_rounds, 0, LINNET_ERROR_LIMIT, "lsh_rounds");
  EXPECT_INVALID(lsh_buckets, 63, LINNET_ERROR_FORMAT, "even");
  EXPECT_INVALID(lsh_buckets, 2048, LINNET_ERROR_LIMIT, "lsh_buckets");
  EXPECT_INVALID(lsh_chunk, 0, LINNET_ERROR_LIMIT, "lsh_chunk");
  EXPECT_INVALID(features, 4097, LINNET_ERROR_LIMIT, "features");
  EXPECT_INVALID(features, 64, LINNET_ERROR_FORMAT, "features");
  EXPECT_INVALID(feature_map, LINNET_MAP_POSITIVE, LINNET_ERROR_FORMAT, "features");
  EXPECT_INVALID(feature_map, LINNET_MAP_FOURIER, LINNET_ERROR_FORMAT, "features");
  EXPECT_INVALID(feature_map, LINNET_MAP_IDENTITY, LINNET_ERROR_ARGUMENT, "feature_map");
  test_map_sizes();
  struct linnet_config odd = paper_config();
  odd.width = 195;
  odd.heads = 5;
  expect_invalid(odd, LINNET_ERROR_FORMAT, "even");
  odd.position = LINNET_POSITION_NONE;
  CHECK(linnet_config_validate(context, "FILE", &odd) == LINNET_OK, "odd width without positions");
  struct linnet_config huge = paper_config();
  huge.width = 4096;
  huge.heads = 1;
  huge.layers = 64;
  huge.feed_forward = 65536;
  huge.outputs = 65536;
  expect_invalid(huge, LINNET_ERROR_LIMIT, "parameters");
}

/* A Bi-LSTM does not look at the keys of the transformer, which need not fit together, unless they ask for modules. */
static void test_blstm(void) {
  struct linnet_config config = paper_config();
  CHECK(linnet_config_parse(context, "{\"encoder\": \"blstm\", \"width\": 320, \"layers\": 3}", "FILE", &config) ==
            LINNET_OK,
        "%s", linnet_context_error(context));
  config.heads = 7;
  size_t count, h = 320;
  CHECK(linnet_config_validate(context, "FILE", &config) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_config_count_parameters(&config, &count) &&
            count == 2 * 4 * h * ((40 + h + 2) + 2 * (2 * h + h + 2)) + 42 * (2 * h + 1),
        "%zu parameters", count);
  config.convolution = 15;
  expect_invalid(config, LINNET_ERROR_FORMAT, "\"convolution\" is 15; a Bi-LSTM");
  config.convolution = 0;
  config.width = LINNET_MAX_WIDTH;
  config.layers = LINNET_MAX_LAYERS;
  expect_invalid(config, LINNET_ERROR_LIMIT, "parameters");
}

static void test_complete(void) {
  struct linnet_config config;
  CHECK(linnet_config_parse_complete(context, "{\"width\": 64}", "FILE", &config) == LINNET_ERROR_FORMAT &&
            strstr(linnet_context_error(context), "missing"),
        "%s", linnet_context_error(context));
}

static void test_count(void) {
  for (int i = 0; i < 32; i++) {
    struct linnet_config config = paper_config();
    config.encoder = i & 16 ? LINNET_ENCODER_BLSTM : LINNET_ENCODER_TRANSFORMER;
    config.norm = i & 1 ? LINNET_NORM_PRE : LINNET_NORM_POST;
    config.convolution = (i & 18) == 2 ? 15 : 0; /* of transformers */
    config.stack = i & 4 ? 3 : 1;
    config.layers = i & 8 ? 64 : 1;
    config.attention[0] = i & 8 ? LINNET_ATTENTION_LSH : LINNET_ATTENTION_LINEAR; /* queries are keys: one map less */
    config.width = 12;
    config.feature_map = i & 2 ? LINNET_MAP_POSITIVE : LINNET_MAP_ELU;
    config.features = i & 2 ? 5 : 0;
    struct linnet_parameters *parameters = NULL;
    size_t count = 0;
    REQUIRE(linnet_parameters_create(context, &config, &parameters) == LINNET_OK, "%s", linnet_context_error(context));
    CHECK(linnet_config_count_parameters(&config, &count) && count == parameters->trained,
          "variant %d: counted %zu, the table has %zu", i, count, parameters->trained);
    linnet_parameters_destroy(parameters);
  }
}

static void test_features(void) {
  struct linnet_feature_config features, read;
  linnet_feature_config_default(&features);
  char *text = NULL;
  REQUIRE(linnet_feature_config_format(context, &features, &text) == LINNET_OK, "%s", linnet_context_error(context));
  const char *wanted = "{\"kind\": \"fbank\", \"sample_rate\": 16000, \"frame_length\": 25, \"frame_shift\": 10, "
                       "\"num_mel\": 40, \"low_frequency\": 20, \"high_frequency\": 0, \"preemphasis\": 0.97, "
                       "\"cmvn\": \"utterance\", \"cmvn_variance\": true, \"cmvn_frames\": \"speech\"}";
  CHECK(strcmp(text, wanted) == 0, "wrote %s", text);
  linnet_free(context, text);
  features.fbank.sample_rate = 8000;
  features.fbank.num_mel = 23;
  features.fbank.high_frequency = -200;
  features.cmvn = LINNET_CMVN_SPEAKER;
  features.cmvn_variance = 0;
  features.max_silence = 0.75;
  features.edge_silence = 0.1;
  features.cmvn_frames = LINNET_CMVN_ALL_FRAMES; /* as in files of before, which do not name it */
  REQUIRE(linnet_feature_config_format(context, &features, &text) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(!strstr(text, "cmvn_prior") && !strstr(text, "cmvn_memory"), "wrote %s", text);
  linnet_free(context, text);
  features.cmvn = LINNET_CMVN_RUNNING;
  features.cmvn_prior = 150.5;
  features.cmvn_memory = 3000;
  REQUIRE(linnet_feature_config_format(context, &features, &text) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_feature_config_parse_complete(context, text, "FILE", &read) == LINNET_OK, "%s",
        linnet_context_error(context));
  CHECK(test_same_features(&read, &features), "round trip of %s", text);
  linnet_free(context, text);
}

static void test_feature_refusals(void) {
  const struct refusal refusals[] = {
      {"{\"kind\": \"mfcc\"}", LINNET_ERROR_UNSUPPORTED, "fbank"},
      {"{\"dither\": 1}", LINNET_ERROR_FORMAT, "dither"},
      {"{\"sample_rate\": 0}", LINNET_ERROR_LIMIT, "sample_rate"},
      {"{\"sample_rate\": 1e300}", LINNET_ERROR_LIMIT, "sample_rate"},
      {"{\"frame_length\": 0.01}", LINNET_ERROR_LIMIT, "frame_length"},
      {"{\"sample_rate\": 384000, \"frame_length\": 1000}", LINNET_ERROR_LIMIT, "samples"},
      {"{\"frame_shift\": -10}", LINNET_ERROR_LIMIT, "frame_shift"},
      {"{\"num_mel\": 0}", LINNET_ERROR_LIMIT, "num_mel"},
      {"{\"num_mel\": 4294967336}", LINNET_ERROR_LIMIT, "num_mel"},
      {"{\"low_frequency\": 9000}", LINNET_ERROR_FORMAT, "band"},
      {"{\"high_frequency\": 9000}", LINNET_ERROR_FORMAT, "band"},
      {"{\"high_frequency\": -8000}", LINNET_ERROR_FORMAT, "band"},
      {"{\"preemphasis\": 2}", LINNET_ERROR_LIMIT, "preemphasis"},
      {"{\"cmvn\": \"word\"}", LINNET_ERROR_UNSUPPORTED, "none, utterance, speaker, global, running"},
      {"{\"cmvn\": \"running\", \"cmvn_prior\": 0}", LINNET_ERROR_LIMIT, "cmvn_prior"},
      {"{\"cmvn\": \"running\", \"cmvn_memory\": 0.5}", LINNET_ERROR_LIMIT, "cmvn_memory"},
      {"{\"cmvn_frames\": \"loud\"}", LINNET_ERROR_UNSUPPORTED, "all, speech"},
      {"{\"max_silence\": -1}", LINNET_ERROR_LIMIT, "max_silence"},
      {"{\"edge_silence\": 1e5}", LINNET_ERROR_LIMIT, "edge_silence"},
      {"{\"cmvn_variance\": 1}", LINNET_ERROR_FORMAT, "true or false"},
  };
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    struct linnet_feature_config features;
    linnet_feature_config_default(&features);
    enum linnet_status status = linnet_feature_config_parse(context, refusals[i].text, "FILE", &features);
    const char *message = linnet_context_error(context);
    CHECK(status == refusals[i].status, "%s: status %d, %s", refusals[i].text, status, message);
    CHECK(strstr(message, refusals[i].word) && strstr(message, "FILE"), "%s: message lacks \"%s\": %s",
          refusals[i].text, refusals[i].word, message);
  }
  struct linnet_feature_config features;
  linnet_feature_config_default(&features);
  CHECK(linnet_feature_config_parse(context, NULL, "FILE", &features) == LINNET_ERROR_ARGUMENT &&
            linnet_feature_config_parse(context, "{}", NULL, &features) == LINNET_ERROR_ARGUMENT &&
            linnet_feature_config_parse(context, "{}", "FILE", NULL) == LINNET_ERROR_ARGUMENT &&
            linnet_feature_config_parse(NULL, "{}", "FILE", &features) == LINNET_OK,
        "NULL arguments");
}

int main(void) {
  context = test_context();
  test_defaults();
  test_format();
  test_round_trip();
  test_mixed_attention();
  test_overlay();
  test_lookahead();
  test_lookahead_refusals();
  test_lsh();
  test_refusals();
  test_validate();
  test_blstm();
  test_complete();
  test_count();
  test_features();
  test_feature_refusals();
  linnet_context_destroy(context);
  return test_result();
}
