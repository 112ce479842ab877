/* Models that read tokens: the file, its refusals, and that training, encoder and recurrence give the same outputs; a
 * batch of recurrences gives each stream the same bytes, whatever is beside it. Samples depend neither on the batch nor
 * on the number of threads. */
#include <unistd.h>

#include "model/inference/sample.h"
#include "model/training/network.h"
#include "tables.h"

#include <linnet/encoder.h>
#include <linnet/recurrence.h>
#include <linnet/stream.h>

enum { FRAMES = 150, COLUMNS = 2, OUTPUTS = 6, STREAMS = 5 };

static const char *const path = TEST_BINARY_DIR "/test_tokens.tmp.safetensors";
static const char *const text =
    "{\"encoder\": \"transformer\", \"input_dim\": 2, \"stack\": 1, \"width\": 32, \"heads\": 2, \"layers\": 2, "
    "\"feed_forward\": 48, \"activation\": \"relu\", \"norm\": \"post\", \"dropout\": 0, \"position\": \"none\", "
    "\"attention\": [\"causal-linear\", \"causal-softmax\"], \"convolution\": 0, \"outputs\": 6, \"output\": "
    "\"linear\", \"tokens\": [9, 150]}";

static struct linnet_context *context;
static struct linnet_config config;
static struct linnet_parameters *parameters;
static float *weights, indices[FRAMES * COLUMNS];

static void create(void) {
  struct test_random r = {4};
  context = test_context();
  REQUIRE(linnet_config_parse_complete(context, text, "test", &config) == LINNET_OK, "%s",
          linnet_context_error(context));
  REQUIRE(linnet_parameters_create(context, &config, &parameters) == LINNET_OK, "parameters");
  weights = test_alloc(parameters->size, sizeof *weights);
  linnet_parameters_initialise(parameters, 5, weights);
  for (size_t t = 0; t < FRAMES; t++)
    indices[t * COLUMNS] = (float)test_below(&r, 9), indices[t * COLUMNS + 1] = (float)t;
}

static enum linnet_status save(const struct linnet_config *c) {
  const struct linnet_model_contents contents = {
      .config = c, .parameters = parameters, .weights = weights, .dtype = LINNET_F32};
  return linnet_model_save(context, path, &contents);
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

static struct linnet_model *load(void) {
  struct linnet_model *model = NULL;
  REQUIRE(save(&config) == LINNET_OK, "%s", linnet_context_error(context));
  REQUIRE(linnet_model_load_tokens(context, path, &model) == LINNET_OK, "%s", linnet_context_error(context));
  return model;
}

static void check_weights(void) {
  const struct linnet_model_use use = {.tokens = true, .whole = true};
  struct linnet_model *model = NULL;
  void *data = NULL;
  size_t bytes = 0;
  REQUIRE(linnet_file_read(context, path, 1 << 20, &data, &bytes) == LINNET_OK &&
              linnet_model_load_bytes(context, data, bytes, path, use, &model) == LINNET_OK,
          "%s", linnet_context_error(context));
  CHECK(memcmp(model->weights, weights, parameters->size * sizeof *weights) == 0, "weights");
  linnet_model_destroy(model);
  linnet_free(context, data);
}

static void check_file(struct linnet_model *model) {
  struct linnet_model *other = NULL;
  CHECK(linnet_config_same_network(&model->config, &config) && model->config.output == LINNET_OUTPUT_LINEAR, "config");
  check_weights();
  CHECK(linnet_model_num_parameters(model) == parameters->trained && parameters->trained > 159 * 32, "parameters");
  CHECK(!linnet_model_symbol(model, 0) && !linnet_model_metadata(model, "symbols"), "symbols");
  CHECK(linnet_model_load(context, path, &other) == LINNET_ERROR_UNSUPPORTED && !other &&
            strstr(linnet_context_error(context), "tokens"),
        "%s", linnet_context_error(context));
}

/* Nothing that needs features of audio takes the model. */
static void check_refusals(const struct linnet_model *model) {
  struct linnet_stream *stream = NULL;
  CHECK(linnet_stream_create(context, model, &stream) == LINNET_ERROR_UNSUPPORTED && !stream, "stream");
  struct linnet_model *other = NULL;
  CHECK(linnet_model_load_tokens(context, test_source("tests/golden/encoder_post.safetensors"), &other) != LINNET_OK,
        "golden file");
}

static void expect_invalid(const char *changes, const char *word) {
  struct linnet_config changed = config;
  enum linnet_status status = linnet_config_parse(context, changes, "test", &changed);
  if (status == LINNET_OK)
    status = linnet_config_validate(context, "test", &changed);
  CHECK(status != LINNET_OK && strstr(linnet_context_error(context), word), "%s: status %d, %s", changes, status,
        linnet_context_error(context));
}

static void check_config(void) {
  expect_invalid("{\"tokens\": [9]}", "number of tables");
  expect_invalid("{\"tokens\": []}", "list of the sizes");
  expect_invalid("{\"tokens\": [0]}", "list of the sizes");
  expect_invalid("{\"tokens\": [3, 0], \"input_dim\": 2}", "list of the sizes");
  expect_invalid("{\"tokens\": 9}", "list of the sizes");
  expect_invalid("{\"tokens\": [9, \"a\"]}", "list of the sizes");
  expect_invalid("{\"tokens\": [9, 0]}", "list of the sizes");
  expect_invalid("{\"tokens\": [9, 65537]}", "table 2");
  expect_invalid("{\"tokens\": [9, 8, 7, 6, 5, 4, 3, 2, 1]}", "list of the sizes");
  expect_invalid("{\"stack\": 2}", "stack");
  expect_invalid("{\"output\": \"sharp\"}", "output");
}

/* --- the network -------------------------------------------------------------------------------------------------- */

static void run_training(float *outputs) {
  const size_t offsets[2] = {0, FRAMES};
  struct linnet_network network = {linnet_device_of(context), &config, parameters};
  struct linnet_shard shard = {.pack = {1, offsets}, .features = indices, .forward_only = true};
  struct linnet_pass *pass = NULL;
  REQUIRE(linnet_pass_create(context, &network, &pass) == LINNET_OK, "%s", linnet_context_error(context));
  const size_t bytes = linnet_pass_bytes(pass, &shard.pack, true);
  void *memory = linnet_alloc(context, bytes, 1);
  linnet_pass_forward(pass, weights, &shard, memory, bytes, outputs);
  linnet_free(context, memory);
  linnet_pass_destroy(pass);
}

static void run_recurrence(const struct linnet_model *model, float *outputs) {
  struct linnet_recurrence *recurrence = NULL;
  REQUIRE(linnet_recurrence_create(context, model, &recurrence) == LINNET_OK, "%s", linnet_context_error(context));
  for (size_t t = 0; t < FRAMES; t++)
    CHECK(linnet_recurrence_step(recurrence, indices + t * COLUMNS, outputs + t * OUTPUTS) == LINNET_OK, "step");
  linnet_recurrence_destroy(recurrence);
}

/* A device whose numbers are not in host memory. */
static void check_device(void) {
  struct linnet_device_ops ops = linnet_cpu_device_ops;
  struct linnet_device device = {&ops, "elsewhere", sizeof(float)};
  const struct linnet_network network = {&device, &config, parameters};
  struct linnet_pass *pass = NULL;
  ops.host = false;
  CHECK(linnet_pass_create(context, &network, &pass) == LINNET_ERROR_UNSUPPORTED && !pass &&
            strstr(linnet_context_error(context), "elsewhere: embedding tables are not on a GPU yet"),
        "%s", linnet_context_error(context));
}

static double difference(const float *a, const float *b) {
  double worst = 0;
  for (size_t i = 0; i < FRAMES * OUTPUTS; i++)
    worst = test_worst(worst, fabs((double)a[i] - b[i]));
  return worst;
}

static void check_outputs(const struct linnet_model *model) {
  static float trained[FRAMES * OUTPUTS], encoded[FRAMES * OUTPUTS], stepped[FRAMES * OUTPUTS];
  struct linnet_encoder *encoder = NULL;
  double largest = 0;
  run_training(trained);
  REQUIRE(linnet_encoder_create(context, model, &encoder) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_encoder_compute(encoder, indices, FRAMES, encoded) == LINNET_OK, "encoder");
  run_recurrence(model, stepped);
  for (size_t i = 0; i < FRAMES * OUTPUTS; i++)
    largest = fmax(largest, trained[i]); /* log-posteriors would be negative */
  printf("training and encoder: %.1e, recurrence: %.1e, bound 1e-5\n", difference(trained, encoded),
         difference(trained, stepped));
  CHECK(largest > 0.1 && difference(trained, encoded) < 1e-5 && difference(trained, stepped) < 1e-5, "outputs");
  indices[7] = 150;
  CHECK(linnet_encoder_compute(encoder, indices, FRAMES, encoded) == LINNET_ERROR_ARGUMENT &&
            strstr(linnet_context_error(context), "frame 3: 150 is not an index of embedding table 2"),
        "%s", linnet_context_error(context));
  indices[7] = 3;
  linnet_encoder_destroy(encoder);
}

/* Streams step together; each must equal one by itself. A wrong index stops the step before any stream takes it. */
static void check_batch(const struct linnet_model *model) {
  static float alone[FRAMES * OUTPUTS];
  struct linnet_recurrence_batch *batch = NULL;
  struct linnet_recurrence_input inputs[STREAMS] = {{0}};
  float rows[STREAMS][OUTPUTS], wrong[COLUMNS] = {9, 0};
  size_t different = 0;
  run_recurrence(model, alone);
  REQUIRE(linnet_recurrence_batch_create(context, model, STREAMS, &batch) == LINNET_OK, "batch");
  for (size_t i = 0; i < STREAMS; i++)
    REQUIRE(linnet_recurrence_batch_open(batch, &inputs[i].recurrence) == LINNET_OK, "stream");
  for (size_t t = 0; t < FRAMES; t++) {
    for (size_t i = 0; i < STREAMS; i++)
      inputs[i].features = indices + t * COLUMNS, inputs[i].num_frames = 1, inputs[i].log_posteriors = rows[i];
    CHECK(linnet_recurrence_batch_step(batch, inputs, t % 3 ? STREAMS : 1) == LINNET_OK, "step");
    for (size_t i = 1; t % 3 == 0 && i < STREAMS; i++)
      CHECK(linnet_recurrence_batch_step(batch, inputs + i, 1) == LINNET_OK, "step of one");
    for (size_t i = 0; i < STREAMS; i++)
      different += memcmp(rows[i], alone + t * OUTPUTS, sizeof rows[i]) != 0;
  }
  CHECK(different == 0, "%zu rows differ", different);
  inputs[1].features = wrong;
  CHECK(linnet_recurrence_batch_step(batch, inputs, STREAMS) == LINNET_ERROR_ARGUMENT &&
            linnet_recurrence_num_frames(inputs[0].recurrence) == FRAMES,
        "%s", linnet_context_error(context));
  for (size_t i = 0; i < STREAMS; i++)
    linnet_recurrence_destroy(inputs[i].recurrence);
  linnet_recurrence_batch_destroy(batch);
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

enum { SAMPLES = 13, LEVELS = 8, GIVEN = 20 };

/* Samples with the first values given, and values of every level among the others. */
static void sample(const struct linnet_model *model, unsigned threads, size_t batch, uint64_t first, int *values) {
  struct linnet_context_settings settings;
  struct linnet_context *own = NULL;
  const struct linnet_sample_settings s = {sizeof s, SAMPLES, FRAMES, GIVEN, batch, 9, first};
  linnet_context_settings_default(&settings);
  settings.num_threads = threads;
  REQUIRE(linnet_context_create(&settings, &own) == LINNET_OK, "context");
  for (size_t i = 0; i < SAMPLES * FRAMES; i++)
    values[i] = i % FRAMES < GIVEN ? (int)(i / FRAMES * i % LEVELS) : -1;
  CHECK(linnet_sample(own, model, &s, values) == LINNET_OK, "%s", linnet_context_error(own));
  linnet_context_destroy(own);
}

static void check_samples(const struct linnet_model *model) {
  static int values[SAMPLES * FRAMES], other[SAMPLES * FRAMES];
  size_t counts[LEVELS] = {0};
  sample(model, 1, 0, 0, values);
  for (size_t i = 0; i < SAMPLES * FRAMES; i++) {
    REQUIRE(values[i] >= 0 && values[i] < LEVELS, "value %d", values[i]);
    CHECK(i % FRAMES >= GIVEN || values[i] == (int)(i / FRAMES * i % LEVELS), "a given value changed");
    counts[values[i]]++;
  }
  for (size_t v = 0; v < LEVELS; v++)
    CHECK(counts[v] > SAMPLES, "%zu samples of %zu", counts[v], v);
  for (size_t batch = 1; batch <= 5; batch += 2) {
    sample(model, (unsigned)batch, batch, 0, other);
    CHECK(memcmp(values, other, sizeof values) == 0, "batches of %zu", batch);
  }
  sample(model, 2, 4, 100, other);
  CHECK(memcmp(values, other, sizeof values) != 0, "other sequences are the same");
}

/* A sequence depends on its own numbers and values only. */
static void check_one_sample(const struct linnet_model *model) {
  static int all[4 * FRAMES], one[FRAMES];
  const struct linnet_sample_settings four = {.size = sizeof four, .count = 4, .steps = FRAMES, .seed = 9},
                                      third = {sizeof third, 1, FRAMES, 0, 1, 9, 2};
  CHECK(linnet_sample(context, model, &four, all) == LINNET_OK, "four");
  CHECK(linnet_sample(context, model, &third, one) == LINNET_OK, "one");
  CHECK(memcmp(all + 2 * FRAMES, one, sizeof one) == 0, "the third sequence by itself");
}

static void refuse_sample(const struct linnet_model *model, struct linnet_sample_settings settings, const char *words) {
  int values[2] = {8, 0};
  settings.size = sizeof settings;
  CHECK(linnet_sample(context, model, &settings, values) == LINNET_ERROR_ARGUMENT &&
            strstr(linnet_context_error(context), words),
        "%s", linnet_context_error(context));
}

static void check_wrong_samples(const struct linnet_model *model) {
  refuse_sample(model, (struct linnet_sample_settings){.count = 1, .steps = FRAMES + 1}, "positions for 150");
  refuse_sample(model, (struct linnet_sample_settings){.count = 1, .steps = 1, .given = 2}, "2 of them given");
  refuse_sample(model, (struct linnet_sample_settings){.count = 1, .steps = 2, .given = 1}, "value 8 must be 0 to 7");
  struct linnet_sample_settings large = {.size = sizeof large, .count = 2, .steps = 1, .batch = SIZE_MAX};
  int values[2] = {-1, -1};
  CHECK(linnet_sample(context, model, &large, values) == LINNET_OK && values[0] >= 0 && values[1] >= 0,
        "a large batch");
}

/* Outputs of a model that looks ahead come late, so that a value cannot become the next token. */
static void check_lookahead(void) {
  char looking[1024];
  const size_t before = (size_t)(strstr(text, "\"convolution\"") - text);
  struct linnet_model *model = NULL;
  snprintf(looking, sizeof looking, "%.*s\"convolution_lookahead\": [0, 2], \"convolution\": 5%s", (int)before, text,
           text + before + strlen("\"convolution\": 0"));
  struct linnet_config ahead;
  REQUIRE(linnet_config_parse_complete(context, looking, "test", &ahead) == LINNET_OK, "%s",
          linnet_context_error(context));
  struct linnet_parameters *own = NULL;
  REQUIRE(linnet_parameters_create(context, &ahead, &own) == LINNET_OK, "parameters");
  float *values = test_alloc(own->size, sizeof *values);
  linnet_parameters_initialise(own, 5, values);
  const struct linnet_model_contents contents = {
      .config = &ahead, .parameters = own, .weights = values, .dtype = LINNET_F32};
  REQUIRE(linnet_model_save(context, path, &contents) == LINNET_OK, "%s", linnet_context_error(context));
  REQUIRE(linnet_model_load_tokens(context, path, &model) == LINNET_OK, "%s", linnet_context_error(context));
  const struct linnet_sample_settings settings = {.size = sizeof settings, .count = 1, .steps = FRAMES};
  int drawn[FRAMES];
  CHECK(linnet_model_is_causal(model) && linnet_sample(context, model, &settings, drawn) == LINNET_ERROR_UNSUPPORTED &&
            strstr(linnet_context_error(context), "look 2 values ahead"),
        "%s", linnet_context_error(context));
  linnet_model_destroy(model);
  linnet_parameters_destroy(own);
  free(values);
}

static void check_frames(void) {
  const struct linnet_config digits = {.input_dim = 4, .tokens = {257, 5, 4, 3}};
  const float expected[4] = {77, 4, 1, 2};
  float frame[4];
  linnet_sample_frame(&digits, (4 * 4 + 1) * 3 + 2, 77, frame);
  CHECK(memcmp(frame, expected, sizeof frame) == 0, "digits of a step");
}

int main(void) {
  create();
  struct linnet_model *model = load();
  check_file(model);
  check_refusals(model);
  check_config();
  check_device();
  check_outputs(model);
  check_batch(model);
  check_samples(model);
  check_one_sample(model);
  check_wrong_samples(model);
  check_lookahead();
  check_frames();
  linnet_model_destroy(model);
  linnet_parameters_destroy(parameters);
  free(weights);
  linnet_context_destroy(context);
  remove(path);
  return test_result();
}
