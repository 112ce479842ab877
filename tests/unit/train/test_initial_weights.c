/* A training from the weights of a model whose attention, look-ahead or depth are others; models that do not fit are
 * refused. */
#include <linnet/encoder.h>

#include "model/format/model.h"
#include "model/layer.h"
#include "small_training.h"

#define CONVOLUTION TRANSFORMER "\"layers\": 2, \"convolution\": 5"
static const char centred[] = CONVOLUTION "}";
static const char streaming[] = CONVOLUTION ", \"attention\": \"causal-linear\", \"convolution_lookahead\": [1, 0]}";
static const char later[] = CONVOLUTION ", \"convolution_lookahead\": 4}";
static const char wider[] = TRANSFORMER "\"layers\": 2, \"convolution\": 7}";
static const char deeper[] = TRANSFORMER "\"layers\": 5, \"convolution\": 5}";
static const char deeper_wider[] =
    "{\"input_dim\": 4, \"width\": 32, \"heads\": 2, \"feed_forward\": 32, \"norm\": \"pre\", \"stack\": 2, "
    "\"layers\": 5, \"convolution\": 5}";
static const char shallower[] = TRANSFORMER "\"layers\": 1, \"convolution\": 5}";
static const char deeper_post_norm[] =
    "{\"input_dim\": 4, \"width\": 16, \"heads\": 2, \"feed_forward\": 32, \"stack\": 2, \"dropout\": 0.1, "
    "\"layers\": 3, \"norm\": \"post\", \"convolution\": 3, \"activation\": \"gelu\"}";
static const char shared_keys[] =
    CONVOLUTION ", \"attention\": \"lsh\", \"lsh_rounds\": 2, \"lsh_buckets\": 4, \"lsh_chunk\": 8}";

/* Trains for one epoch, from a model if `initial` is not NULL, with steps that change nothing that is checked. */
static struct run train_from(const char *config, const char *initial, char folder[64]) {
  struct run run = make_run(config, 1, 1);
  run.initial = initial;
  run.learning_rate = initial ? 1e-9 : 0;
  train(&run, make_folder(folder));
  return run;
}

/* The largest difference of the weights that read the same frames. Taps without a counterpart must be 0. */
static double difference(const struct linnet_model *from, const struct linnet_model *to) {
  double max = 0;
  for (size_t i = 0; i < to->parameters->count; i++) {
    const struct linnet_parameter *p = &to->parameters->list[i];
    unsigned layer;
    size_t shift = 0;
    bool taps = strstr(p->name, "depthwise.weight") && sscanf(p->name, "layers.%u", &layer) == 1;
    if (taps)
      shift = linnet_layer_convolution(&from->config, layer).left;
    for (size_t j = 0; j < p->count; j++) {
      size_t row = taps ? j / p->cols + shift : 0, left = taps ? linnet_layer_convolution(&to->config, layer).left : 0;
      bool inside = row >= left && row - left < p->rows;
      double expected = !taps    ? from->weights[p->offset + j]
                        : inside ? from->weights[p->offset + (row - left) * p->cols + j % p->cols]
                                 : 0;
      max = fmax(max, fabs(expected - to->weights[p->offset + j]));
    }
  }
  return max;
}

static void encode(const struct linnet_model *model, const float *input, size_t frames, float *log_posteriors) {
  struct linnet_context *context = test_context();
  struct linnet_encoder *encoder = NULL;
  CHECK(linnet_encoder_create(context, model, &encoder) == LINNET_OK &&
            linnet_encoder_compute(encoder, input, frames, log_posteriors) == LINNET_OK,
        "%s", linnet_context_error(context));
  linnet_encoder_destroy(encoder);
  linnet_context_destroy(context);
}

static void test_fits(const char *path, const char *folder, const char *config) {
  char other[64];
  struct linnet_context *context = test_context();
  struct run run = train_from(config, path, other);
  REQUIRE(run.status == LINNET_OK, "%s: %s", config, run.error);
  struct linnet_model *from = load_trained(context, folder), *to = load_trained(context, other);
  double max = difference(from, to);
  CHECK(max < 1e-5, "%s: a weight differs by %g", config, max);
  linnet_model_destroy(from);
  linnet_model_destroy(to);
  linnet_context_destroy(context);
  remove_folder(other);
}

/* Additional layers begin as the identity, so the posteriors stay those of the model. */
static void test_deeper(const char *path, const char *folder) {
  enum { FRAMES = 40, ROWS = FRAMES / 2 };
  char other[64];
  float input[FRAMES * DIM], expected[ROWS * SYMBOLS], posteriors[ROWS * SYMBOLS];
  struct test_random random = {5};
  struct linnet_context *context = test_context();
  struct run run = train_from(deeper, path, other);
  REQUIRE(run.status == LINNET_OK, "%s", run.error);
  struct linnet_model *from = load_trained(context, folder), *to = load_trained(context, other);
  for (size_t i = 0; i < FRAMES * DIM; i++)
    input[i] = (float)test_uniform(&random);
  encode(from, input, FRAMES, expected);
  encode(to, input, FRAMES, posteriors);
  for (size_t i = 0; i < ROWS * SYMBOLS; i++)
    CHECK(fabsf(posteriors[i] - expected[i]) < 1e-4F, "posterior %zu: %g, not %g", i, (double)posteriors[i],
          (double)expected[i]);
  linnet_model_destroy(from);
  linnet_model_destroy(to);
  linnet_context_destroy(context);
  remove_folder(other);
}

static void test_refused(const char *path, const char *config, const char *message) {
  char other[64];
  struct run run = train_from(config, path, other);
  CHECK(run.status == LINNET_ERROR_ARGUMENT && strstr(run.error, message), "%s: status %d: %s", config, (int)run.status,
        run.error);
  remove_folder(other);
}

/* The same network with the symbols A and B exchanged. */
static void test_other_symbols(const char *path) {
  static const char *const exchanged[SYMBOLS] = {"<blk>", "B", "A", "C", "D"};
  char folder[64];
  struct run run = make_run(centred, 1, 1);
  struct linnet_context *context = test_context();
  struct linnet_train_settings settings;
  struct linnet_trainer *trainer = NULL;
  struct linnet_train_model model = {.size = sizeof model,
                                     .config = centred,
                                     .features = features,
                                     .initial = path,
                                     .symbols = exchanged,
                                     .num_symbols = SYMBOLS};
  struct linnet_corpus train_corpus = callbacks(&run.train), dev_corpus = callbacks(&run.dev);
  linnet_train_settings_default(&settings);
  CHECK(linnet_trainer_create(context, make_folder(folder), &settings, &model, &train_corpus, &dev_corpus, &trainer) ==
                LINNET_ERROR_ARGUMENT &&
            strstr(linnet_context_error(context), "symbol 1"),
        "%s", linnet_context_error(context));
  linnet_trainer_destroy(trainer);
  linnet_context_destroy(context);
  remove_folder(folder);
}

/* Each difference has a warning; those that only recognition knows do not count. */
static void test_other_features(const char *path) {
  char folder[64];
  struct run run = make_run(centred, 1, 1);
  run.initial = path;
  train(&run, make_folder(folder));
  CHECK(run.status == LINNET_OK && !strstr(run.log, "features."), "%s%s", run.error, run.log);
  remove_folder(folder);
  run.features = "{\"num_mel\": 4, \"frame_shift\": 20, \"cmvn\": \"utterance\", \"max_silence\": 1}";
  train(&run, make_folder(folder));
  CHECK(run.status == LINNET_OK &&
            strstr(run.log, "features.frame_shift of this model is 10, that of the training is 20") &&
            strstr(run.log, "features.cmvn of this model is \"none\", that of the training is \"utterance\"") &&
            !strstr(run.log, "max_silence"),
        "%s%s", run.error, run.log);
  remove_folder(folder);
}

/* A layer that norms its output is not the identity, so a post-norm network cannot grow. */
static void test_post_norm(void) {
  char folder[64], path[128];
  struct run run = train_from(post_norm, NULL, folder);
  REQUIRE(run.status == LINNET_OK, "%s", run.error);
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  test_refused(path, deeper_post_norm, "model.layers of this model is 2, that of the training is 3: only");
  remove_folder(folder);
}

int main(void) {
  char folder[64], path[128];
  struct run run = train_from(centred, NULL, folder);
  REQUIRE(run.status == LINNET_OK, "%s", run.error);
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  test_fits(path, folder, centred);
  test_fits(path, folder, streaming);
  test_fits(path, folder, later);
  test_deeper(path, folder);
  test_refused(path, wider, "model.convolution of this model is 5, that of the training is 7: only");
  test_refused(path, deeper_wider, "model.width of this model is 16, that of the training is 32: only");
  test_refused(path, shallower, "model.layers of this model is 2, that of the training is 1: only");
  test_refused(path, shared_keys, "model.lsh_rounds of this model is");
  test_other_features(path);
  test_other_symbols(path);
  test_post_norm();
  remove_folder(folder);
  return test_result();
}
