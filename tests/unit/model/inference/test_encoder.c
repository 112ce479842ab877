/* Recognition in blocks of rows compared with the network for training, for many lengths, also 0; independence of
 * the number of threads; order of rows, and cancelling by the receiver; the errors of products of less precision in a
 * network that mixes kinds of attention. */
#include "test.h"

#include <linnet/encoder.h>

#include "backend/backend.h"
#include "model/training/network.h"
#include "random_model.h"
#include "tables.h"

/* Errors grow with the length as sums do; measured up to 3e-7. */
#define BOUND 2e-6

struct scenario {
  const char *config; /* on top of the defaults */
  size_t longest;
};

static const struct scenario scenarios[] = {
    {"{\"norm\": \"post\"}", 700},
    {"{\"norm\": \"pre\", \"activation\": \"gelu\", \"stack\": 2}", 500},
    {"{\"norm\": \"pre\", \"convolution\": 15, \"stack\": 3, \"position\": \"none\"}", 1300},
    {"{\"norm\": \"post\", \"convolution\": 63, \"stack\": 4}", 900},
    {"{\"norm\": \"pre\", \"convolution\": 3}", 3300},
    {"{\"encoder\": \"blstm\"}", 700},
    {"{\"encoder\": \"blstm\", \"stack\": 3, \"width\": 37, \"layers\": 3}", 1300},
    {"{\"norm\": \"pre\", \"attention\": \"lsh\", \"lsh_rounds\": 1}", 3300},
    {"{\"norm\": \"post\", \"attention\": \"causal-lsh\", \"lsh_rounds\": 4, \"stack\": 2}", 1300},
    {"{\"norm\": \"pre\", \"attention\": [\"linear\", \"lsh\"], \"lsh_rounds\": 8, \"convolution\": 5}", 900},
    {"{\"norm\": \"post\", \"attention\": \"softmax\"}", 1300},
    {"{\"norm\": \"pre\", \"attention\": \"causal-softmax\", \"stack\": 2}", 700},
    {"{\"norm\": \"pre\", \"convolution\": 3, \"attention\": [\"linear\", \"softmax\"]}", 700},
    {"{\"norm\": \"post\", \"attention\": [\"causal-softmax\", \"linear\"]}", 500},
    {"{\"norm\": \"pre\", \"attention\": \"causal-linear\"}", 1300},
    {"{\"attention\": \"causal-linear\", \"causal_chunk\": 24, \"stack\": 2}", 700},
    {"{\"attention\": [\"linear\", \"causal-linear\"], \"convolution\": 5}", 900},
    {"{\"attention\": \"causal-linear\", \"convolution\": 15, \"convolution_lookahead\": 0}", 900},
    {"{\"attention\": \"causal-linear\", \"convolution\": 63, \"convolution_lookahead\": [62, 1], \"norm\": \"pre\"}",
     900},
    {"{\"convolution\": 5, \"convolution_lookahead\": [0, 3], \"stack\": 3}", 900},
    {"{\"attention\": [\"linear-decay\", \"linear\"], \"stack\": 2}", 700},
    {"{\"attention\": \"causal-linear-decay\", \"feature_map\": \"positive\", \"features\": 33}", 500},
    {"{\"feature_map\": \"relu\"}", 500},
    {"{\"feature_map\": \"polynomial\"}", 900},
    {"{\"feature_map\": \"fourier\", \"features\": 70, \"norm\": \"pre\"}", 900},
    {"{\"feature_map\": \"positive\", \"features\": 33, \"convolution\": 3}", 900},
    {"{\"attention\": \"causal-linear\", \"feature_map\": \"fourier\", \"features\": 40}", 900},
    {"{\"attention\": [\"causal-linear\", \"linear\"], \"feature_map\": \"positive\", \"features\": 24}", 900},
};

static const size_t lengths[] = {1,  2,  3,   4,   5,   11,  12,  13,  24,  25,   47,  95,
                                 96, 97, 191, 192, 193, 289, 500, 700, 900, 1300, 3300};

/* Log-posteriors of the network as training runs it. */
static void run_network(struct linnet_context *context, const struct linnet_model *model, const float *features,
                        size_t frames, float *log_p) {
  const struct linnet_ops *ops = linnet_context_ops(context);
  struct linnet_network network = {linnet_device_of(context), &model->config, model->parameters};
  struct linnet_pass *pass = NULL;
  REQUIRE(linnet_pass_create(context, &network, &pass) == LINNET_OK, "%s", linnet_context_error(context));
  size_t rows = linnet_stacked_frames(&model->config, frames), offsets[2] = {0, rows};
  float *stacked = malloc(rows * model->config.stack * model->config.input_dim * sizeof *stacked);
  linnet_stack_frames(&model->config, features, frames, stacked);
  struct linnet_shard shard = {.pack = {1, offsets}, .features = stacked};
  size_t bytes = linnet_pass_bytes(pass, &shard.pack, false), less = linnet_pass_bytes(pass, &shard.pack, true);
  size_t count = rows * model->config.outputs;
  float *again = malloc(count * sizeof *again);
  void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  linnet_pass_forward(pass, model->weights, &shard, memory, bytes, log_p);
  shard.forward_only = true;
  memset(memory, 0xFF, bytes); /* NaNs */
  linnet_pass_forward(pass, model->weights, &shard, memory, less, again);
  CHECK(less <= bytes && memcmp(again, log_p, count * sizeof *again) == 0, "%zu frames without backward differ",
        frames);
  ops->log_softmax(rows, model->config.outputs, log_p, log_p);
  linnet_pass_destroy(pass);
  free(again);
  free(memory);
  free(stacked);
}

struct fixture {
  struct linnet_context *one, *three;
  struct linnet_model *model, *whole;
  struct linnet_encoder *encoder, *threaded;
};

static struct linnet_context *make_context(unsigned threads) {
  struct linnet_context_settings settings;
  struct linnet_context *context = NULL;
  linnet_context_settings_default(&settings);
  settings.num_threads = threads;
  REQUIRE(linnet_context_create(&settings, &context) == LINNET_OK, "context");
  return context;
}

static struct fixture open_fixture(const char *text) {
  struct fixture f = {.one = make_context(1), .three = make_context(3)};
  struct linnet_config config = small_config(f.one, text);
  f.model = random_model(f.one, &config, 3, 1, LINNET_CMVN_NONE);
  f.whole = random_whole_model(f.one, &config, 3, 1, LINNET_CMVN_NONE);
  REQUIRE(linnet_encoder_create(f.one, f.model, &f.encoder) == LINNET_OK, "%s", linnet_context_error(f.one));
  REQUIRE(linnet_encoder_create(f.three, f.model, &f.threaded) == LINNET_OK, "%s", linnet_context_error(f.three));
  return f;
}

static void close_fixture(struct fixture *f) {
  linnet_encoder_destroy(f->encoder);
  linnet_encoder_destroy(f->threaded);
  linnet_model_destroy(f->model);
  linnet_model_destroy(f->whole);
  linnet_context_destroy(f->one);
  linnet_context_destroy(f->three);
}

static double check_length(struct fixture *f, size_t frames, const char *name) {
  struct test_random random = {frames};
  size_t dim = f->model->config.input_dim, outputs = f->model->config.outputs;
  size_t rows = linnet_model_num_output_frames(f->model, frames), count = rows * outputs;
  float *features = malloc(frames * dim * sizeof *features);
  float *expected = malloc(count * sizeof *expected), *got = malloc(count * sizeof *got);
  float *threaded = malloc(count * sizeof *threaded);
  test_fill(&random, features, frames * dim);
  run_network(f->one, f->whole, features, frames, expected);
  CHECK(linnet_encoder_compute(f->encoder, features, frames, got) == LINNET_OK, "%s", linnet_context_error(f->one));
  CHECK(linnet_encoder_compute(f->threaded, features, frames, threaded) == LINNET_OK, "threaded");
  double error = test_error(got, expected, count);
  CHECK(error <= BOUND, "%s, %zu frames: error %g, bound %g", name, frames, error, BOUND);
  CHECK(memcmp(got, threaded, count * sizeof *got) == 0, "%s, %zu frames: 1 and 3 threads differ", name, frames);
  free(features);
  free(expected);
  free(got);
  free(threaded);
  return error;
}

struct receiver {
  size_t next, calls, stop_at;
};

static int receive(void *user, const float *log_posteriors, size_t first, size_t frames) {
  struct receiver *r = user;
  double sum = 0;
  for (int k = 0; k < 7; k++)
    sum += exp(log_posteriors[k]);
  CHECK(first == r->next && frames > 0, "rows %zu ... come, %zu expected", first, r->next);
  CHECK(fabs(sum - 1) < 1e-5, "a row sums to %g", sum);
  r->next = first + frames;
  return ++r->calls == r->stop_at;
}

/* An utterance without frames has no rows and is no error. */
static void check_no_frames(struct fixture *f, const char *name) {
  struct receiver none = {.stop_at = 0};
  float features[1] = {0}, row[1] = {42};
  CHECK(linnet_model_num_output_frames(f->model, 0) == 0, "%s: rows of no frames", name);
  CHECK(linnet_encoder_compute(f->encoder, features, 0, row) == LINNET_OK && row[0] == 42, "%s: no frames", name);
  CHECK(linnet_encoder_run(f->encoder, features, 0, receive, &none) == LINNET_OK && none.calls == 0,
        "%s: rows of no frames", name);
}

static void test_scenario(const struct scenario *scenario) {
  struct fixture f = open_fixture(scenario->config);
  double worst = 0;
  check_no_frames(&f, scenario->config);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    if (lengths[i] <= scenario->longest)
      worst = fmax(worst, check_length(&f, lengths[i], scenario->config));
  printf("%-75s error %.1e, bound %.0e\n", scenario->config, worst, BOUND);
  close_fixture(&f);
}

static void test_receiver(void) {
  enum { FRAMES = 20000 };
  struct fixture f = open_fixture("{}");
  float *features = calloc(FRAMES * 8, sizeof *features);
  struct receiver all = {.stop_at = 0}, some = {.stop_at = 2};
  CHECK(linnet_encoder_run(f.encoder, features, FRAMES, receive, &all) == LINNET_OK, "run");
  CHECK(all.next == FRAMES && all.calls > 2, "%zu rows in %zu calls", all.next, all.calls);
  CHECK(linnet_encoder_run(f.encoder, features, FRAMES, receive, &some) == LINNET_ERROR_CANCELLED, "not cancelled");
  CHECK(some.calls == 2, "%zu calls after the second asked to stop", some.calls);
  CHECK(linnet_encoder_run(f.encoder, NULL, 5, receive, &all) == LINNET_ERROR_ARGUMENT, "NULL features");
  free(features);
  close_fixture(&f);
}

/* --- precision ---------------------------------------------------------------------------------------------------- */

enum { PRECISION_FRAMES = 193, PRECISION_OUTPUTS = 7 };

static const char *const mixed =
    "{\"norm\": \"pre\", \"layers\": 3, \"attention\": [\"linear\", \"softmax\", \"linear\"]}";

static void run_mixed(const char *kernels, float *log_p) {
  struct linnet_context_settings settings;
  struct linnet_context *context = NULL;
  struct linnet_encoder *encoder = NULL;
  struct test_random random = {PRECISION_FRAMES};
  float features[PRECISION_FRAMES * 8];
  linnet_context_settings_default(&settings);
  settings.num_threads = 1;
  settings.kernels = kernels;
  REQUIRE(linnet_context_create(&settings, &context) == LINNET_OK, "no context with kernels %s", kernels);
  const struct linnet_config config = small_config(context, mixed);
  struct linnet_model *model = random_model(context, &config, 3, 1, LINNET_CMVN_NONE);
  test_fill(&random, features, sizeof features / sizeof *features);
  REQUIRE(linnet_encoder_create(context, model, &encoder) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_encoder_compute(encoder, features, PRECISION_FRAMES, log_p) == LINNET_OK, "%s", kernels);
  linnet_encoder_destroy(encoder);
  linnet_model_destroy(model);
  linnet_context_destroy(context);
}

static void test_precision(const struct linnet_ops *ops) {
  float exact[PRECISION_FRAMES * PRECISION_OUTPUTS], got[PRECISION_FRAMES * PRECISION_OUTPUTS];
  run_mixed("reference", exact);
  run_mixed(ops->name, got);
  const double error = test_error(got, exact, sizeof got / sizeof *got);
  test_bound(ops->name, "linear and softmax layers", error, test_precision_bound(ops, BOUND));
  CHECK(ops->precision == LINNET_FLOAT32 || error > BOUND, "%s: nothing is rounded", ops->name);
}

int main(void) {
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
    test_scenario(&scenarios[i]);
  test_receiver();
  test_each_table(test_precision);
  return test_result();
}
