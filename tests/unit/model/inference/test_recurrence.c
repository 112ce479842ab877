/* Recognition frame by frame against recognition of the whole utterance, over 10 000 frames; copies, resets, incomplete
 * stacks; convolutions that look ahead; models that are not causal are refused; a fixed state allocates nothing per
 * frame. */
#include <linnet/encoder.h>
#include <linnet/recurrence.h>

#include "allocators.h"
#include "random_model.h"

enum { FRAMES = 10000 / TEST_SHARE, ODD_FRAMES = FRAMES - 1, DIM = 8, OUTPUTS = 7 };

/* Relative; measured up to 2e-6, and 1e-5 with the map "fourier", whose sums cancel. */
static double bound_of(const char *config) {
  return strstr(config, "fourier") ? 1e-4 : 1e-5;
}

struct scenario {
  const char *config; /* on top of the small network */
  size_t frames;
  size_t fixed, growing; /* elements of the layers' states: at any time, and for each frame */
  size_t lookahead;      /* of both layers */
};

/* S (F, 16) and z (F) of F features, for two layers of two heads. */
#define STATE(features) (2 * 2 * ((features)*16 + (features)))

/* A key and a value of a layer. */
enum { KEY_VALUE = 2 * 32 };

/* Rows of convolutions. */
#define ROWS(rows) ((rows)*32)

static const struct scenario scenarios[] = {
    {"{\"attention\": \"causal-linear\"}", FRAMES, STATE(16), 0, 0},
    {"{\"attention\": \"causal-linear\", \"norm\": \"pre\", \"stack\": 3, \"activation\": \"gelu\"}", FRAMES, STATE(16),
     0, 0},
    {"{\"attention\": \"causal-linear\", \"position\": \"none\", \"stack\": 4}", ODD_FRAMES, STATE(16), 0, 0},
    {"{\"attention\": \"causal-linear\", \"causal_chunk\": 24}", FRAMES, STATE(16), 0, 0},
    {"{\"attention\": \"causal-linear\", \"feature_map\": \"relu\"}", FRAMES, STATE(16), 0, 0},
    {"{\"attention\": \"causal-linear\", \"feature_map\": \"positive\", \"features\": 20}", FRAMES, STATE(20), 0, 0},
    {"{\"attention\": \"causal-linear\", \"feature_map\": \"fourier\", \"features\": 20}", FRAMES, STATE(40), 0, 0},
    {"{\"attention\": \"causal-linear\", \"feature_map\": \"polynomial\", \"stack\": 2}", ODD_FRAMES, STATE(136), 0, 0},
    {"{\"attention\": \"causal-linear-decay\"}", FRAMES, STATE(16), 0, 0},
    {"{\"attention\": \"causal-linear-decay\", \"feature_map\": \"relu\"}", FRAMES, STATE(16), 0, 0},
    {"{\"attention\": \"causal-softmax\"}", FRAMES, 0, 2 * KEY_VALUE, 0},
    {"{\"attention\": [\"causal-linear\", \"causal-softmax\"], \"norm\": \"pre\"}", FRAMES, STATE(16) / 2, KEY_VALUE,
     0},
    {"{\"attention\": [\"causal-linear\", \"causal-softmax\"], \"stack\": 2, \"norm\": \"pre\"}", 3001, STATE(16) / 2,
     KEY_VALUE, 0},
    {"{\"attention\": \"causal-linear\", \"convolution\": 15, \"convolution_lookahead\": 0}", FRAMES,
     STATE(16) + ROWS(28), 0, 0},
    {"{\"attention\": \"causal-linear\", \"norm\": \"pre\", \"stack\": 3, \"convolution\": 15, "
     "\"convolution_lookahead\": [1, 0]}",
     FRAMES, STATE(16) + ROWS(29), 0, 1},
    {"{\"attention\": \"causal-linear\", \"convolution\": 3, \"convolution_lookahead\": [0, 2]}", FRAMES,
     STATE(16) + ROWS(6), 0, 2},
    {"{\"attention\": \"causal-linear\", \"norm\": \"pre\", \"convolution\": 5, \"stack\": 4}", ODD_FRAMES,
     STATE(16) + ROWS(12), 0, 4}, /* centred */
};

/* Utterances that are shorter than the look-ahead, and have growing states. */
static const char *const short_config =
    "{\"attention\": [\"causal-softmax\", \"causal-linear\"], \"stack\": 2, \"convolution\": 9, "
    "\"convolution_lookahead\": [3, 2]}";

static const struct {
  const char *config, *message; /* text that the message must have */
} refused[] = {
    {"{}", "layer 1 has attention"},
    {"{\"attention\": [\"causal-linear\", \"linear\"]}", "layer 2 has attention"},
    {"{\"attention\": [\"causal-linear\", \"linear\"], \"convolution\": 3, \"convolution_lookahead\": 0}",
     "layer 2 has attention"},
    {"{\"attention\": \"linear-decay\"}", "layer 1 has attention that sees later frames"},
    {"{\"attention\": \"causal-lsh\"}", "layer 1 has attention that cannot"},
    {"{\"encoder\": \"blstm\"}", "LSTM"},
};

struct fixture {
  struct linnet_context *context;
  struct linnet_model *model;
  struct linnet_recurrence *recurrence, *other;
  size_t frames, rows;
  float *features, *expected, *got;
};

static void open_fixture(struct fixture *f, const struct scenario *scenario) {
  struct test_random random = {scenario->frames};
  struct linnet_encoder *encoder = NULL;
  *f = (struct fixture){.context = test_context(), .frames = scenario->frames};
  struct linnet_config config = small_config(f->context, scenario->config);
  f->model = random_model(f->context, &config, 3, 1, LINNET_CMVN_NONE);
  f->rows = linnet_model_num_output_frames(f->model, f->frames);
  f->features = malloc(f->frames * DIM * sizeof(float));
  f->expected = malloc(f->rows * OUTPUTS * sizeof(float));
  f->got = malloc(f->rows * OUTPUTS * sizeof(float));
  test_fill(&random, f->features, f->frames * DIM);
  REQUIRE(linnet_encoder_create(f->context, f->model, &encoder) == LINNET_OK, "encoder");
  CHECK(linnet_encoder_compute(encoder, f->features, f->frames, f->expected) == LINNET_OK, "whole utterance");
  linnet_encoder_destroy(encoder);
  REQUIRE(linnet_recurrence_create(f->context, f->model, &f->recurrence) == LINNET_OK, "%s",
          linnet_context_error(f->context));
  CHECK(linnet_model_is_causal(f->model), "%s: is not called causal", scenario->config);
  REQUIRE(linnet_recurrence_create(f->context, f->model, &f->other) == LINNET_OK, "recurrence");
}

static void close_fixture(struct fixture *f) {
  linnet_recurrence_destroy(f->recurrence);
  linnet_recurrence_destroy(f->other);
  linnet_model_destroy(f->model);
  linnet_context_destroy(f->context);
  free(f->features);
  free(f->expected);
  free(f->got);
}

/* Steps over [first, end), writing rows where they belong. */
static void run(struct fixture *f, struct linnet_recurrence *r, size_t first, size_t end) {
  const size_t stride = linnet_model_stride(f->model);
  for (size_t t = first; t < end; t++) {
    size_t row = linnet_recurrence_num_frames(r);
    bool complete = (t + 1) % stride == 0 && (t + 1) / stride > linnet_model_lookahead(f->model);
    REQUIRE(row < f->rows, "row %zu of %zu", row, f->rows);
    enum linnet_status status = linnet_recurrence_step(r, f->features + t * DIM, f->got + row * OUTPUTS);
    CHECK(status == (complete ? LINNET_OK : LINNET_AGAIN), "frame %zu: status %d", t, (int)status);
  }
}

static void finish(struct fixture *f, struct linnet_recurrence *r) {
  float row[OUTPUTS];
  for (size_t left = linnet_recurrence_num_frames(r); left < f->rows; left++) {
    enum linnet_status status = linnet_recurrence_finish(r, row);
    CHECK(status == LINNET_OK, "status %d before the end", (int)status);
    memcpy(f->got + left * OUTPUTS, row, sizeof row);
  }
  CHECK(linnet_recurrence_finish(r, row) == LINNET_END, "more than %zu rows", f->rows);
  CHECK(linnet_recurrence_num_frames(r) == f->rows, "%zu rows of %zu", linnet_recurrence_num_frames(r), f->rows);
  CHECK(linnet_recurrence_step(r, f->features, row) == LINNET_ERROR_STATE, "a step after the end");
}

static void clear(struct fixture *f) {
  for (size_t i = 0; i < f->rows * OUTPUTS; i++)
    f->got[i] = NAN;
}

static void check(struct fixture *f, const char *name, const char *what) {
  double error = test_error(f->got, f->expected, f->rows * OUTPUTS);
  const double bound = bound_of(name);
  printf("%-85s %-8s error %.1e, bound %.0e\n", name, what, error, bound);
  CHECK(error <= bound, "%s, %s: error %g, bound %g", name, what, error, bound);
}

/* Of the state after some frames. The first allocation is for one frame. */
static void check_bytes(const struct fixture *f, const struct linnet_recurrence *r, const struct scenario *scenario) {
  const size_t inputs = (size_t)linnet_model_stride(f->model) * DIM, frames = linnet_recurrence_num_frames(r);
  const size_t elements = inputs + scenario->fixed + (frames > 0 ? frames : 1) * scenario->growing;
  const size_t bytes = linnet_recurrence_state_bytes(r);
  CHECK(bytes == elements * sizeof(float), "%s: a state of %zu bytes after %zu frames, %zu expected", scenario->config,
        bytes, frames, elements * sizeof(float));
}

static void test_scenario(const struct scenario *scenario) {
  struct fixture f;
  open_fixture(&f, scenario);
  clear(&f);
  check_bytes(&f, f.recurrence, scenario);
  run(&f, f.recurrence, 0, 101);
  check_bytes(&f, f.recurrence, scenario);
  run(&f, f.recurrence, 101, f.frames);
  finish(&f, f.recurrence);
  check_bytes(&f, f.recurrence, scenario);
  check(&f, scenario->config, "steps");

  float *first = malloc(f.rows * OUTPUTS * sizeof *first);
  memcpy(first, f.got, f.rows * OUTPUTS * sizeof *first);
  clear(&f);
  linnet_recurrence_reset(f.recurrence);
  run(&f, f.recurrence, 0, 101); /* copied inside a stack, and over other contents */
  run(&f, f.other, 0, 333);
  CHECK(linnet_recurrence_copy(f.other, f.recurrence) == LINNET_OK, "copy");
  run(&f, f.recurrence, 101, 301);
  run(&f, f.other, 101, f.frames);
  finish(&f, f.other);
  CHECK(memcmp(first, f.got, f.rows * OUTPUTS * sizeof *first) == 0, "%s: a reset or copied recurrence differs",
        scenario->config);
  free(first);
  close_fixture(&f);
}

/* Up to 40 frames, of which look-ahead and stack take up to 11. */
static void test_short(void) {
  for (size_t frames = 1; frames <= 40; frames++) {
    struct fixture f;
    open_fixture(&f, &(struct scenario){.config = short_config, .frames = frames, .lookahead = 5});
    clear(&f);
    run(&f, f.recurrence, 0, frames);
    finish(&f, f.recurrence);
    double error = test_error(f.got, f.expected, f.rows * OUTPUTS);
    CHECK(error <= bound_of(short_config), "%zu frames: error %g, bound %g", frames, error, bound_of(short_config));
    linnet_recurrence_reset(f.recurrence);
    CHECK(linnet_recurrence_finish(f.recurrence, f.got) == LINNET_END, "rows of no frames");
    close_fixture(&f);
  }
}

/* The first output row that differs after a change of the features of frame t. */
static size_t first_changed(struct fixture *f, struct linnet_encoder *encoder, size_t t) {
  size_t row = 0;
  f->features[t * DIM] += 1;
  CHECK(linnet_encoder_compute(encoder, f->features, f->frames, f->got) == LINNET_OK, "encoder");
  f->features[t * DIM] -= 1;
  while (row < f->rows && memcmp(f->got + row * OUTPUTS, f->expected + row * OUTPUTS, OUTPUTS * sizeof(float)) == 0)
    row++;
  return row;
}

/* An output depends on as many later frames as linnet_model_lookahead says, and on no more. */
static void test_lookahead(const struct scenario *scenario) {
  struct fixture f;
  struct scenario shorter = *scenario;
  struct linnet_encoder *encoder = NULL;
  shorter.frames = 300;
  open_fixture(&f, &shorter);
  const size_t stride = linnet_model_stride(f.model);
  CHECK(linnet_model_lookahead(f.model) == scenario->lookahead, "%s: a look-ahead of %zu frames", scenario->config,
        linnet_model_lookahead(f.model));
  REQUIRE(linnet_encoder_create(f.context, f.model, &encoder) == LINNET_OK, "encoder");
  for (size_t t = 100; t < 100 + stride; t++) {
    const size_t row = first_changed(&f, encoder, t), expected = t / stride - scenario->lookahead;
    CHECK(row == expected, "%s: frame %zu changes row %zu first, not %zu", scenario->config, t, row, expected);
  }
  linnet_encoder_destroy(encoder);
  close_fixture(&f);
}

static void test_refused(void) {
  struct linnet_context *context = test_context();
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    struct linnet_config config = small_config(context, refused[i].config);
    struct linnet_model *model = random_model(context, &config, 3, 1, LINNET_CMVN_NONE);
    struct linnet_recurrence *r = NULL;
    CHECK(!linnet_model_is_causal(model), "%s: is called causal", refused[i].config);
    CHECK(linnet_recurrence_create(context, model, &r) == LINNET_ERROR_UNSUPPORTED && !r, "%s: not refused",
          refused[i].config);
    CHECK(strstr(linnet_context_error(context), refused[i].message), "%s: message: %s", refused[i].config,
          linnet_context_error(context));
    linnet_model_destroy(model);
  }
  linnet_context_destroy(context);
}

static void test_arguments(void) {
  struct fixture f, g;
  open_fixture(&f, &(struct scenario){"{\"attention\": \"causal-linear\"}", 10, STATE(16), 0, 0});
  open_fixture(&g, &(struct scenario){"{\"attention\": \"causal-linear\"}", 10, STATE(16), 0, 0});
  struct linnet_recurrence *none = NULL;
  CHECK(linnet_recurrence_create(f.context, NULL, &none) == LINNET_ERROR_ARGUMENT, "no model");
  CHECK(linnet_recurrence_step(f.recurrence, NULL, f.got) == LINNET_ERROR_ARGUMENT, "no features");
  CHECK(linnet_recurrence_copy(f.recurrence, g.recurrence) == LINNET_ERROR_ARGUMENT, "another model");
  CHECK(linnet_recurrence_finish(f.recurrence, f.got) == LINNET_END, "no frames");
  linnet_recurrence_destroy(NULL);
  close_fixture(&f);
  close_fixture(&g);
}

static struct linnet_model *shared_model;

static enum linnet_status create_and_copy(struct linnet_context *context) {
  struct linnet_recurrence *a = NULL, *b = NULL;
  float features[DIM] = {0}, row[OUTPUTS];
  enum linnet_status status = linnet_recurrence_create(context, shared_model, &a);
  if (status == LINNET_OK)
    status = linnet_recurrence_create(context, shared_model, &b);
  if (status == LINNET_OK)
    status = linnet_recurrence_step(a, features, row);
  if (status == LINNET_OK || status == LINNET_AGAIN)
    status = linnet_recurrence_copy(b, a);
  while (status == LINNET_OK)
    status = linnet_recurrence_finish(b, row);
  if (status == LINNET_END)
    status = LINNET_OK;
  linnet_recurrence_destroy(a);
  linnet_recurrence_destroy(b);
  return status;
}

static void test_memory(void) {
  struct linnet_context *context = test_context();
  struct linnet_config config =
      small_config(context, "{\"attention\": \"causal-linear\", \"convolution\": 3, \"convolution_lookahead\": 1}");
  struct failing_allocator allocator;
  struct linnet_recurrence *r = NULL;
  float features[DIM] = {0}, row[OUTPUTS];
  shared_model = random_model(context, &config, 3, 1, LINNET_CMVN_NONE);
  torture("recurrence", create_and_copy);
  struct linnet_context *counting = failing_context(&allocator);
  REQUIRE(linnet_recurrence_create(counting, shared_model, &r) == LINNET_OK, "recurrence");
  size_t calls = allocator.calls;
  for (int t = 0; t < 1000; t++)
    linnet_recurrence_step(r, features, row);
  CHECK(allocator.calls == calls, "%zu allocations in 1000 steps", allocator.calls - calls);
  linnet_recurrence_destroy(r);
  linnet_context_destroy(counting);
  linnet_model_destroy(shared_model);
  linnet_context_destroy(context);
}

int main(void) {
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
    test_scenario(&scenarios[i]);
    test_lookahead(&scenarios[i]);
  }
  test_short();
  test_refused();
  test_arguments();
  test_memory();
  return test_result();
}
