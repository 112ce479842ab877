/* Several streams of a batch, and several frames of one stream at once: each stream gets the same bytes as by itself
 * and frame by frame, whatever is beside it, with every kernel set; errors leave the streams as they were; the errors
 * of products of less precision. */
#include "allocators.h"
#include "tables.h"
#include "utterance.h"

enum { STREAMS = 7, LONGEST = 200 };

static const char *const configs[] = {
    UTTERANCE_LINEAR,
    UTTERANCE_CONVOLUTION,
    UTTERANCE_MIXED,
    "{\"attention\": \"causal-linear\", \"feature_map\": \"positive\", \"features\": 20, \"activation\": \"gelu\"}",
    "{\"attention\": \"causal-linear\", \"feature_map\": \"polynomial\", \"stack\": 4, \"norm\": \"pre\"}",
};

struct fixture {
  struct linnet_context *context;
  struct linnet_model *model;
  struct utterance utterances[STREAMS];
};

static struct linnet_context *context_with(const char *kernels) {
  struct linnet_context_settings settings;
  struct linnet_context *context = NULL;
  linnet_context_settings_default(&settings);
  settings.num_threads = 1;
  settings.kernels = kernels;
  REQUIRE(linnet_context_create(&settings, &context) == LINNET_OK, "no context with kernels %s", kernels);
  return context;
}

static void open_fixture(struct fixture *f, const char *kernels, const char *text) {
  struct test_random random = {1};
  f->context = context_with(kernels);
  const struct linnet_config config = small_config(f->context, text);
  f->model = random_model(f->context, &config, 3, 1, LINNET_CMVN_NONE);
  for (size_t i = 0; i < STREAMS; i++) /* one has no frames, and one fewer than the look-ahead */
    f->utterances[i] = utterance_create(f->context, f->model, i < 2 ? i : test_below(&random, LONGEST));
}

static void close_fixture(struct fixture *f) {
  for (size_t i = 0; i < STREAMS; i++)
    utterance_destroy(&f->utterances[i]);
  linnet_model_destroy(f->model);
  linnet_context_destroy(f->context);
}

/* --- several streams ---------------------------------------------------------------------------------------------- */

/* A stream of a batch, and what it has got. */
struct stream {
  const struct utterance *utterance;
  struct linnet_recurrence *recurrence;
  size_t taken, rows;
  bool ended;
  float got[(LONGEST + 1) * UTTERANCE_OUTPUTS];
  float posteriors[(LONGEST + 64) * UTTERANCE_OUTPUTS]; /* of a step */
};

static struct stream streams[STREAMS];

/* The next frames of a stream, up to `most`; sometimes the end comes later than the last frame. */
static struct linnet_recurrence_input next_input(struct stream *s, struct test_random *random, size_t most) {
  const size_t left = s->utterance->frames - s->taken, frames = test_below(random, most + 1);
  struct linnet_recurrence_input input = {.recurrence = s->recurrence,
                                          .features = utterance_frame(s->utterance, s->taken),
                                          .num_frames = frames < left ? frames : left,
                                          .log_posteriors = s->posteriors,
                                          .num_rows = 99};
  s->taken += input.num_frames;
  input.finish = s->taken == s->utterance->frames && test_below(random, 3) > 0;
  s->ended = s->ended || input.finish;
  return input;
}

static void take_rows(struct stream *s, const struct linnet_recurrence_input *input) {
  REQUIRE(s->rows + input->num_rows <= s->utterance->rows, "%zu rows too many",
          s->rows + input->num_rows - s->utterance->rows);
  memcpy(s->got + s->rows * UTTERANCE_OUTPUTS, s->posteriors, input->num_rows * UTTERANCE_OUTPUTS * sizeof *s->got);
  s->rows += input->num_rows;
  CHECK(linnet_recurrence_num_frames(s->recurrence) == s->rows, "the recurrence counts %zu rows",
        linnet_recurrence_num_frames(s->recurrence));
}

/* A step with some of the streams that have not ended. Returns their number. */
static size_t step(struct fixture *f, struct linnet_recurrence_batch *batch, struct test_random *random, size_t most) {
  struct linnet_recurrence_input inputs[STREAMS];
  struct stream *listed[STREAMS];
  size_t count = 0, left = 0;
  for (size_t i = 0; i < STREAMS; i++) {
    left += !streams[i].ended;
    if (!streams[i].ended && test_below(random, 3) > 0)
      listed[count] = &streams[i], inputs[count++] = next_input(&streams[i], random, most);
  }
  REQUIRE(linnet_recurrence_batch_step(batch, inputs, count) == LINNET_OK, "%s", linnet_context_error(f->context));
  for (size_t i = 0; i < count; i++)
    take_rows(listed[i], &inputs[i]);
  return left;
}

/* With the kernels of a BLAS library, which may round differently for each number of rows. The similarities (q . k)^2
 * of the polynomial map may be nearly zero, so that rounding changes the first rows. */
static double cblas_bound(const char *config) {
  return strstr(config, "polynomial") ? 0.1 : 1e-5;
}

/* The same bytes, if the kernels are Linnet's. */
static void check_rows(const struct stream *s, const char *what, size_t i) {
  const size_t count = s->rows * UTTERANCE_OUTPUTS;
  const char *kernels = linnet_context_kernels(s->utterance->model->context);
  CHECK(s->rows == s->utterance->rows, "%s: stream %zu has %zu rows of %zu", what, i, s->rows, s->utterance->rows);
  if (strcmp(kernels, "cblas") == 0)
    test_bound(kernels, "in a batch", test_error(s->got, s->utterance->expected, count), cblas_bound(what));
  else
    CHECK(memcmp(s->got, s->utterance->expected, count * sizeof *s->got) == 0,
          "%s, %s: stream %zu has other bytes in a batch", kernels, what, i);
}

static void test_batch(struct fixture *f, const char *what, size_t max_rows, size_t most) {
  struct test_random random = {max_rows * 100 + most};
  struct linnet_recurrence_batch *batch = NULL;
  float row[UTTERANCE_OUTPUTS];
  REQUIRE(linnet_recurrence_batch_create(f->context, f->model, max_rows, &batch) == LINNET_OK, "batch");
  for (size_t i = 0; i < STREAMS; i++) {
    streams[i] = (struct stream){.utterance = &f->utterances[i]};
    REQUIRE(linnet_recurrence_batch_open(batch, &streams[i].recurrence) == LINNET_OK, "stream %zu", i);
  }
  while (step(f, batch, &random, most) > 0)
    continue;
  for (size_t i = 0; i < STREAMS; i++) {
    check_rows(&streams[i], what, i);
    CHECK(linnet_recurrence_finish(streams[i].recurrence, row) == LINNET_END, "%s: more rows", what);
    linnet_recurrence_destroy(streams[i].recurrence);
  }
  linnet_recurrence_batch_destroy(batch);
}

/* --- several frames of one stream --------------------------------------------------------------------------------- */

static void test_blocks(struct fixture *f, const char *what, size_t most) {
  struct test_random random = {most};
  struct stream *s = &streams[0];
  *s = (struct stream){.utterance = &f->utterances[STREAMS - 1]};
  REQUIRE(linnet_recurrence_create(f->context, f->model, &s->recurrence) == LINNET_OK, "recurrence");
  while (s->taken < s->utterance->frames) {
    struct linnet_recurrence_input input = next_input(s, &random, most);
    CHECK(linnet_recurrence_accept(s->recurrence, input.features, input.num_frames, s->posteriors, &input.num_rows) ==
              LINNET_OK,
          "%s: %s", what, linnet_context_error(f->context));
    take_rows(s, &input);
  }
  for (; s->rows < s->utterance->rows; s->rows++)
    REQUIRE(linnet_recurrence_finish(s->recurrence, s->got + s->rows * UTTERANCE_OUTPUTS) == LINNET_OK, "%s: row %zu",
            what, s->rows);
  check_rows(s, what, 0);
  linnet_recurrence_destroy(s->recurrence);
}

/* A finishing step whose frames complete a stack and begin another: the state grows by two rows. Some frames at once
 * and the rest at the end, for all divisions of short utterances. */
static void test_stacks(void) {
  struct fixture f;
  open_fixture(&f, NULL, "{\"attention\": \"causal-softmax\", \"stack\": 4}");
  for (size_t frames = 1; frames < 14; frames++)
    for (size_t first = 0; first <= frames; first++) {
      struct utterance u = utterance_create(f.context, f.model, frames);
      struct stream *s = &streams[0];
      struct linnet_recurrence_batch *batch = NULL;
      *s = (struct stream){.utterance = &u};
      REQUIRE(linnet_recurrence_batch_create(f.context, f.model, 0, &batch) == LINNET_OK &&
                  linnet_recurrence_batch_open(batch, &s->recurrence) == LINNET_OK,
              "%s", linnet_context_error(f.context));
      struct linnet_recurrence_input input = {
          .recurrence = s->recurrence, .features = u.features, .num_frames = first, .log_posteriors = s->posteriors};
      REQUIRE(linnet_recurrence_batch_step(batch, &input, 1) == LINNET_OK, "%s", linnet_context_error(f.context));
      take_rows(s, &input);
      input.features = utterance_frame(&u, first);
      input.num_frames = frames - first;
      input.finish = 1;
      REQUIRE(linnet_recurrence_batch_step(batch, &input, 1) == LINNET_OK, "%s", linnet_context_error(f.context));
      take_rows(s, &input);
      check_rows(s, "stacks", first);
      linnet_recurrence_destroy(s->recurrence);
      linnet_recurrence_batch_destroy(batch);
      utterance_destroy(&u);
    }
  close_fixture(&f);
}

static void test_kernels(const struct linnet_ops *ops) {
  static const size_t max_rows[] = {0, 1, 5, 24};
  for (size_t c = 0; c < sizeof configs / sizeof *configs; c++) {
    struct fixture f;
    open_fixture(&f, ops->name, configs[c]);
    for (size_t i = 0; i < sizeof max_rows / sizeof *max_rows; i++) {
      test_batch(&f, configs[c], max_rows[i], 1);
      test_batch(&f, configs[c], max_rows[i], 9);
      test_batch(&f, configs[c], max_rows[i], LONGEST);
    }
    test_blocks(&f, configs[c], 8);
    test_blocks(&f, configs[c], LONGEST);
    close_fixture(&f);
  }
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

static void test_errors(void) {
  struct fixture f;
  struct linnet_recurrence_batch *batch = NULL, *other = NULL;
  struct linnet_recurrence *a = NULL, *b = NULL;
  float rows[8 * UTTERANCE_OUTPUTS];
  size_t count = 99;
  open_fixture(&f, NULL, configs[0]);
  const float *features = f.utterances[STREAMS - 1].features;
  CHECK(linnet_recurrence_batch_create(f.context, f.model, 5000, &batch) == LINNET_ERROR_LIMIT && !batch, "rows");
  REQUIRE(linnet_recurrence_batch_create(f.context, f.model, 4, &batch) == LINNET_OK, "batch");
  REQUIRE(linnet_recurrence_batch_create(f.context, f.model, 4, &other) == LINNET_OK, "batch");
  REQUIRE(linnet_recurrence_batch_open(batch, &a) == LINNET_OK, "open");
  REQUIRE(linnet_recurrence_batch_open(other, &b) == LINNET_OK, "open");
  struct linnet_recurrence_input inputs[] = {
      {.recurrence = a, .features = features, .num_frames = 2, .log_posteriors = rows},
      {.recurrence = b, .features = features, .num_frames = 2, .log_posteriors = rows}};
  CHECK(linnet_recurrence_batch_step(batch, inputs, 2) == LINNET_ERROR_ARGUMENT, "a stream of another batch");
  CHECK(strstr(linnet_context_error(f.context), "input 1"), "message: %s", linnet_context_error(f.context));
  inputs[1].recurrence = a;
  CHECK(linnet_recurrence_batch_step(batch, inputs, 2) == LINNET_ERROR_ARGUMENT, "a stream twice");
  inputs[1].recurrence = NULL;
  CHECK(linnet_recurrence_batch_step(batch, inputs, 2) == LINNET_ERROR_ARGUMENT, "no stream");
  CHECK(linnet_recurrence_num_frames(a) == 0, "frames taken in spite of an error");
  CHECK(linnet_recurrence_batch_step(batch, inputs, 1) == LINNET_OK && inputs[0].num_rows == 2, "a step");
  inputs[0].finish = 1, inputs[0].num_frames = 0;
  CHECK(linnet_recurrence_batch_step(batch, inputs, 1) == LINNET_OK && inputs[0].num_rows == 0, "the end");
  CHECK(linnet_recurrence_batch_step(batch, inputs, 1) == LINNET_OK && inputs[0].num_rows == 0, "the end again");
  CHECK(linnet_recurrence_accept(a, features, 1, rows, &count) == LINNET_ERROR_STATE && count == 0, "after the end");
  CHECK(linnet_recurrence_batch_step(batch, NULL, 0) == LINNET_OK, "no inputs");
  CHECK(linnet_recurrence_accept(b, NULL, 0, NULL, &count) == LINNET_OK && count == 0, "no frames");
  linnet_recurrence_destroy(a);
  linnet_recurrence_destroy(b);
  linnet_recurrence_batch_destroy(batch);
  linnet_recurrence_batch_destroy(other);
  close_fixture(&f);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static struct fixture shared;

static enum linnet_status run_two(struct linnet_context *context) {
  struct linnet_recurrence_batch *batch = NULL;
  struct linnet_recurrence *recurrences[2] = {NULL, NULL};
  float rows[2][64 * UTTERANCE_OUTPUTS];
  struct linnet_recurrence_input inputs[2] = {{.num_rows = 0}};
  enum linnet_status status = linnet_recurrence_batch_create(context, shared.model, 8, &batch);
  for (size_t i = 0; i < 2 && status == LINNET_OK; i++) {
    status = linnet_recurrence_batch_open(batch, &recurrences[i]);
    inputs[i] = (struct linnet_recurrence_input){.recurrence = recurrences[i],
                                                 .features = shared.utterances[STREAMS - 1].features,
                                                 .num_frames = 40,
                                                 .log_posteriors = rows[i]};
  }
  if (status == LINNET_OK)
    status = linnet_recurrence_batch_step(batch, inputs, 2);
  for (size_t i = 0; i < 2; i++) {
    CHECK(status == LINNET_OK || !recurrences[i] || linnet_recurrence_num_frames(recurrences[i]) == 0,
          "frames taken without memory");
    linnet_recurrence_destroy(recurrences[i]);
  }
  linnet_recurrence_batch_destroy(batch);
  return status;
}

static void test_memory(void) {
  open_fixture(&shared, NULL, configs[2]);
  torture("batch", run_two);
  close_fixture(&shared);
}

/* --- precision ---------------------------------------------------------------------------------------------------- */

static const char *const precision_config =
    "{\"attention\": \"causal-linear\", \"norm\": \"pre\", \"stack\": 3, \"convolution\": 15, \"position\": \"none\", "
    "\"convolution_lookahead\": [2, 0]}";

static void test_precision(const struct linnet_ops *ops) {
  struct fixture exact, f;
  double worst = 0;
  open_fixture(&exact, "reference", precision_config);
  open_fixture(&f, ops->name, precision_config);
  for (size_t i = 0; i < STREAMS; i++)
    for (size_t n = 0; n < f.utterances[i].rows * UTTERANCE_OUTPUTS; n++)
      worst = test_worst(worst, fabs((double)f.utterances[i].expected[n] - exact.utterances[i].expected[n]));
  const double exact_bound = 1.5e-6, bound = test_precision_bound(ops, exact_bound);
  printf("%-12s error %.1e, bound %.1e\n", ops->name, worst, bound);
  CHECK(worst <= bound, "%s: error %g, bound %g", ops->name, worst, bound);
  CHECK(ops->precision == LINNET_FLOAT32 || worst > exact_bound, "%s: nothing is rounded", ops->name);
  close_fixture(&exact);
  close_fixture(&f);
}

int main(void) {
  test_each_table(test_kernels);
  test_each_table(test_precision);
  test_stacks();
  test_errors();
  test_memory();
  return test_result();
}
