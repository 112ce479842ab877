/* The stream: any chunking of the samples gives the same segments, streams over one model run in parallel, the order
 * of calls is checked; no audio gives no segments; causal models give segments before the end, which do not change;
 * confidences have the calibration of the model. */
#include "test.h"

#include <pthread.h>

#include <linnet/stream.h>

#include "cancelling.h"
#include "random_model.h"

enum { SAMPLES = 48000, THREADS = 4 };

static const struct scenario {
  enum linnet_attention_kind attention;
  size_t convolution, stack;
  enum linnet_cmvn_kind cmvn;
  bool along;              /* segments come before the end */
  unsigned char lookahead; /* of the first layer; 0: the convolutions are centred; the second layer has none */
} scenarios[] = {
    {LINNET_ATTENTION_LINEAR, 5, 1, LINNET_CMVN_UTTERANCE, false, 0},
    {LINNET_ATTENTION_LINEAR, 5, 1, LINNET_CMVN_SPEAKER, false, 0},
    {LINNET_ATTENTION_CAUSAL_LINEAR, 0, 1, LINNET_CMVN_UTTERANCE, false, 0},
    {LINNET_ATTENTION_CAUSAL_LINEAR, 0, 1, LINNET_CMVN_GLOBAL, true, 0},
    {LINNET_ATTENTION_CAUSAL_LINEAR, 0, 3, LINNET_CMVN_GLOBAL, true, 0},
    {LINNET_ATTENTION_CAUSAL_LINEAR, 15, 1, LINNET_CMVN_GLOBAL, true, 0},
    {LINNET_ATTENTION_CAUSAL_LINEAR, 15, 3, LINNET_CMVN_GLOBAL, true, 1},
    {LINNET_ATTENTION_CAUSAL_LINEAR, 15, 3, LINNET_CMVN_RUNNING, true, 2},
    {LINNET_ATTENTION_LINEAR, 5, 1, LINNET_CMVN_RUNNING, false, 0},
};

/* Weights are large, so that symbols change now and then. */
static struct linnet_model *make_model(struct linnet_context *context, const struct scenario *scenario,
                                       const struct linnet_metadata *metadata) {
  struct linnet_config config;
  linnet_config_default(&config);
  config.width = 32;
  config.heads = 2;
  config.layers = 2;
  config.outputs = 5;
  memset(config.attention, (int)scenario->attention, config.layers);
  memset(config.attention + config.layers, 0, sizeof config.attention - config.layers);
  config.convolution = scenario->convolution;
  if (scenario->lookahead > 0)
    config.lookahead[0] = scenario->lookahead, config.lookahead[1] = 0;
  config.stack = scenario->stack;
  return random_model_with(context, &config, 10, 3, scenario->cmvn, metadata);
}

/* Bursts of tone and noise. */
static void make_samples(float *samples) {
  struct test_random random = {7};
  for (size_t i = 0; i < SAMPLES; i++) {
    size_t part = i / 4000;
    double tone = sin(6.283185307 * (double)i * (200 + 150 * (double)part) / 16000);
    samples[i] = (float)(part % 3 == 2 ? 300 * test_uniform(&random) : 5000 * tone + 50 * test_uniform(&random));
  }
}

static void feed(struct linnet_stream *stream, const float *samples, size_t count, struct test_random *chunks) {
  for (size_t done = 0; done < count;) {
    size_t chunk = chunks ? test_below(chunks, 3000) : count;
    if (chunk > count - done)
      chunk = count - done;
    CHECK(linnet_stream_accept(stream, samples + done, chunk) == LINNET_OK, "accept");
    done += chunk;
  }
  CHECK(linnet_stream_finish(stream) == LINNET_OK, "finish");
}

/* --- posteriors --------------------------------------------------------------------------------------------------- */

enum { MAX_ROWS = 400, SYMBOLS = 5 };

struct rows {
  size_t count;
  float values[MAX_ROWS * SYMBOLS];
};

static int collect(void *user, const float *log_posteriors, size_t first, size_t frames) {
  struct rows *rows = user;
  REQUIRE(first == rows->count && first + frames <= MAX_ROWS, "rows %zu ... after %zu", first, rows->count);
  memcpy(rows->values + first * SYMBOLS, log_posteriors, frames * SYMBOLS * sizeof *log_posteriors);
  rows->count += frames;
  return 0;
}

/* From the whole utterance: filterbank, CMVN as in training, encoder. */
static void compute_offline(struct linnet_context *context, const struct linnet_model *model, const float *samples,
                            struct rows *rows) {
  struct linnet_feature_config config;
  linnet_model_features(model, &config);
  struct linnet_fbank *fbank = NULL;
  struct linnet_encoder *encoder = NULL;
  struct linnet_cmvn cmvn;
  REQUIRE(linnet_fbank_create(context, &config.fbank, &fbank) == LINNET_OK &&
              linnet_encoder_create(context, model, &encoder) == LINNET_OK,
          "%s", linnet_context_error(context));
  const size_t frames = linnet_fbank_num_frames(fbank, SAMPLES);
  float *features = malloc(frames * config.fbank.num_mel * sizeof *features);
  REQUIRE(linnet_fbank_compute(fbank, samples, SAMPLES, features) == LINNET_OK, "fbank");
  if (linnet_model_cmvn(model))
    cmvn = *linnet_model_cmvn(model);
  else
    linnet_cmvn_reset(&cmvn, config.fbank.num_mel),
        linnet_cmvn_accumulate_frames(&cmvn, config.cmvn_frames, features, frames);
  if (config.cmvn == LINNET_CMVN_RUNNING)
    linnet_cmvn_scale(&cmvn, config.cmvn_prior),
        linnet_cmvn_run(&cmvn, config.cmvn_frames, config.cmvn_variance, config.cmvn_memory, features, frames);
  else
    linnet_cmvn_apply(&cmvn, config.cmvn_variance, features, frames);
  rows->count = 0;
  CHECK(linnet_encoder_run(encoder, features, frames, collect, rows) == LINNET_OK, "encoder");
  free(features);
  linnet_encoder_destroy(encoder);
  linnet_fbank_destroy(fbank);
}

/* A stream gives the posteriors of the whole utterance up to rounding, and the same bytes whatever the chunks are. */
static void test_posteriors(struct linnet_context *context, const struct linnet_model *model,
                            struct linnet_stream *stream, const float *samples) {
  static struct rows offline, whole, pieces;
  const double bound = 1e-5;
  compute_offline(context, model, samples, &offline);
  for (unsigned seed = 0; seed < 4; seed++) {
    struct rows *rows = seed == 0 ? &whole : &pieces;
    struct test_random chunks = {seed};
    rows->count = 0;
    linnet_stream_reset(stream);
    linnet_stream_set_sink(stream, collect, rows);
    feed(stream, samples, SAMPLES, seed == 0 ? NULL : &chunks);
    CHECK(rows->count == offline.count, "%zu rows, %zu expected", rows->count, offline.count);
    CHECK(memcmp(rows->values, whole.values, whole.count * SYMBOLS * sizeof(float)) == 0, "chunks change bytes");
  }
  linnet_stream_set_sink(stream, NULL, NULL);
  const double error = test_error(whole.values, offline.values, offline.count * SYMBOLS);
  printf("a stream differs from the whole utterance by %.1e, bound %.0e\n", error, bound);
  CHECK(error <= bound, "a stream differs from the whole utterance by %g, bound %g", error, bound);
}

static bool same_segments(const struct linnet_segment *a, size_t a_count, const struct linnet_segment *b,
                          size_t b_count) {
  bool same = a_count == b_count;
  for (size_t i = 0; same && i < a_count; i++)
    same = a[i].symbol == b[i].symbol && a[i].start == b[i].start && a[i].end == b[i].end &&
           a[i].confidence == b[i].confidence;
  return same;
}

struct listener {
  struct linnet_context *context;
  const struct linnet_model *model;
  const float *samples;
  const struct linnet_segment *expected;
  size_t expected_count;
  unsigned seed;
  bool good;
};

static void *listen(void *user) {
  struct listener *l = user;
  struct linnet_stream *stream = NULL;
  struct test_random chunks = {l->seed};
  size_t count = 0;
  if (linnet_stream_create(l->context, l->model, &stream) != LINNET_OK)
    return NULL;
  l->good = true;
  for (int round = 0; round < 5; round++) {
    linnet_stream_reset(stream);
    for (size_t done = 0; done < SAMPLES;) {
      size_t left = SAMPLES - done, chunk = 1 + test_below(&chunks, 5000);
      linnet_stream_accept(stream, l->samples + done, chunk < left ? chunk : left);
      done += chunk < left ? chunk : left;
    }
    l->good = l->good && linnet_stream_finish(stream) == LINNET_OK;
    const struct linnet_segment *segments = linnet_stream_segments(stream, &count);
    l->good = l->good && same_segments(segments, count, l->expected, l->expected_count);
  }
  linnet_stream_destroy(stream);
  return NULL;
}

static void test_parallel(struct linnet_context *context, const struct linnet_model *model, const float *samples,
                          const struct linnet_segment *expected, size_t count) {
  struct listener listeners[THREADS];
  pthread_t threads[THREADS];
  for (unsigned i = 0; i < THREADS; i++) {
    listeners[i] =
        (struct listener){.model = model, .samples = samples, .expected = expected, .expected_count = count, .seed = i};
    REQUIRE(linnet_context_share(context, &listeners[i].context) == LINNET_OK, "share");
    REQUIRE(pthread_create(&threads[i], NULL, listen, &listeners[i]) == 0, "thread");
  }
  for (unsigned i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    CHECK(listeners[i].good, "stream %u of %d in parallel differs", i, THREADS);
    linnet_context_destroy(listeners[i].context);
  }
}

static void test_order(struct linnet_stream *stream, const float *samples) {
  size_t count = 1;
  linnet_stream_reset(stream);
  CHECK(linnet_stream_accept(stream, samples, 399) == LINNET_OK, "less than a frame");
  CHECK(linnet_stream_finish(stream) == LINNET_OK, "finish");
  linnet_stream_segments(stream, &count);
  CHECK(count == 0, "%zu segments of less than a frame", count);
  CHECK(linnet_stream_accept(stream, samples, 10) == LINNET_ERROR_STATE, "accepted after the end");
  CHECK(linnet_stream_finish(stream) == LINNET_ERROR_STATE, "finished twice");
  linnet_stream_reset(stream);
  CHECK(linnet_stream_accept(stream, NULL, 10) == LINNET_ERROR_ARGUMENT, "NULL samples");
  for (size_t i = 0; i < 3; i++) {
    const float wrong[3] = {1, (float[]){NAN, -INFINITY, 2e13f}[i], 1};
    CHECK(linnet_stream_accept(stream, wrong, 3) == LINNET_ERROR_ARGUMENT, "the sample %g", (double)wrong[1]);
    CHECK(linnet_stream_seconds(stream) == 0, "refused samples were taken");
  }
  CHECK(linnet_stream_finish(stream) == LINNET_OK, "finish without samples");
}

static void test_no_number(struct linnet_context *context, const struct linnet_model *model) {
  struct linnet_feature_config config;
  struct linnet_stream *stream;
  linnet_model_features(model, &config);
  const size_t dim = config.fbank.num_mel;
  float *features = calloc(2 * dim, sizeof *features);
  REQUIRE(features && linnet_stream_create(context, model, &stream) == LINNET_OK, "create");
  features[2 * dim - 1] = NAN;
  CHECK(linnet_stream_accept_features(stream, features, 2, dim) == LINNET_ERROR_ARGUMENT, "a feature that is NaN");
  CHECK(strstr(linnet_context_error(context), "not audio"), "%s", linnet_context_error(context));
  linnet_stream_destroy(stream);
  free(features);
}

/* Before the end, all segments except the last equal those at the end. */
static void test_along(struct linnet_stream *stream, const float *samples, const struct linnet_segment *expected,
                       size_t expected_count, bool along) {
  size_t maximum = 0, count = 0;
  linnet_stream_reset(stream);
  for (size_t done = 0; done < SAMPLES; done += 1000) {
    CHECK(linnet_stream_accept(stream, samples + done, 1000) == LINNET_OK, "accept");
    const struct linnet_segment *segments = linnet_stream_segments(stream, &count);
    maximum = count > maximum ? count : maximum;
    CHECK(count <= expected_count, "%zu segments of %zu", count, expected_count);
    CHECK(count == 0 || same_segments(segments, count - 1, expected, count - 1), "a segment changed after sample %zu",
          done);
  }
  CHECK(along ? maximum + 1 >= expected_count : maximum == 0, "%zu segments before the end, %zu in all", maximum,
        expected_count);
  CHECK(linnet_stream_finish(stream) == LINNET_OK, "finish");
}

static void check_refused_speakers(struct linnet_stream *stream, const struct linnet_cmvn *good) {
  const double sums[] = {NAN, INFINITY, 0, 0, 0}, squares[] = {1, 1, -1, NAN, INFINITY};
  struct linnet_cmvn bad = *good;
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
    bad.sum[bad.dim - 1] = sums[i];
    bad.square[bad.dim - 1] = squares[i];
    CHECK(linnet_stream_set_speaker(stream, &bad) == LINNET_ERROR_ARGUMENT, "a sum of %g, of squares %g", sums[i],
          squares[i]);
  }
  bad = *good;
  bad.count = INFINITY;
  CHECK(linnet_stream_set_speaker(stream, &bad) == LINNET_ERROR_ARGUMENT, "statistics of infinitely many frames");
}

/* Features in pieces give the same results as samples, also with statistics of the same audio, but not with those of
 * another speaker. */
static void test_features(struct linnet_context *context, const struct linnet_model *model,
                          struct linnet_stream *stream, const float *samples, const struct linnet_segment *expected,
                          size_t expected_count) {
  struct linnet_feature_config config;
  linnet_model_features(model, &config);
  size_t dim = (size_t)config.fbank.num_mel, count = 0;
  struct linnet_fbank *fbank = NULL;
  struct linnet_cmvn own, other = random_model_cmvn(dim);
  REQUIRE(linnet_fbank_create(context, &config.fbank, &fbank) == LINNET_OK, "%s", linnet_context_error(context));
  size_t frames = linnet_fbank_num_frames(fbank, SAMPLES);
  float *features = malloc(frames * dim * sizeof *features);
  REQUIRE(linnet_fbank_compute(fbank, samples, SAMPLES, features) == LINNET_OK, "fbank");
  linnet_cmvn_reset(&own, (int)dim);
  linnet_cmvn_accumulate(&own, features, frames);
  const struct linnet_cmvn *speakers[] = {NULL, &own, &other, NULL};
  for (size_t round = 0; round < 4; round++) {
    linnet_stream_reset(stream);
    CHECK(linnet_stream_set_speaker(stream, speakers[round]) == LINNET_OK, "speaker");
    CHECK(linnet_stream_accept_features(stream, features, 100, dim) == LINNET_OK, "features");
    CHECK(linnet_stream_accept_features(stream, features + 100 * dim, frames - 100, dim) == LINNET_OK, "features");
    CHECK(linnet_stream_finish(stream) == LINNET_OK, "finish");
    const struct linnet_segment *segments = linnet_stream_segments(stream, &count);
    bool same = same_segments(segments, count, expected, expected_count);
    CHECK(same == (config.cmvn != LINNET_CMVN_SPEAKER || round != 2), "round %zu: features give %s segments", round,
          same ? "the same" : "other");
  }
  CHECK(fabs(linnet_stream_seconds(stream) - 0.01 * (double)frames) < 1e-9, "%g s", linnet_stream_seconds(stream));
  linnet_stream_reset(stream);
  CHECK(linnet_stream_accept_features(stream, features, 5, dim + 1) == LINNET_ERROR_ARGUMENT, "other dimension");
  CHECK(linnet_stream_accept_features(stream, NULL, 5, dim) == LINNET_ERROR_ARGUMENT, "NULL features");
  CHECK(linnet_stream_accept_features(stream, features, 5, dim) == LINNET_OK, "features");
  CHECK(linnet_stream_accept(stream, samples, 5) == LINNET_ERROR_STATE, "samples after features");
  linnet_stream_reset(stream);
  CHECK(linnet_stream_accept(stream, samples, 5) == LINNET_OK, "samples");
  CHECK(linnet_stream_accept_features(stream, features, 5, dim) == LINNET_ERROR_STATE, "features after samples");
  other.dim++;
  CHECK(linnet_stream_set_speaker(stream, &other) == LINNET_ERROR_ARGUMENT, "statistics of another dimension");
  check_refused_speakers(stream, &own);
  free(features);
  linnet_fbank_destroy(fbank);
}

/* A sink that stops, and one with a failed decoder in the same context. */
static int give_up(void *user, const float *log_posteriors, size_t first, size_t frames) {
  struct linnet_context *context = user;
  (void)log_posteriors, (void)first, (void)frames;
  if (context)
    linnet_fail(context, LINNET_ERROR_MEMORY, "the sink's sentence");
  return 1;
}

static void test_sink(struct linnet_context *context, struct linnet_stream *stream, const float *samples) {
  for (int speaks = 0; speaks < 2; speaks++) {
    linnet_stream_reset(stream);
    linnet_stream_set_sink(stream, give_up, speaks ? context : NULL);
    enum linnet_status status = linnet_stream_accept(stream, samples, SAMPLES);
    if (status == LINNET_OK)
      status = linnet_stream_finish(stream);
    CHECK(status == LINNET_ERROR_CANCELLED, "status %d", status);
    CHECK((strcmp(linnet_context_error(context), "the sink's sentence") == 0) == speaks, "%s",
          linnet_context_error(context));
    CHECK(linnet_stream_accept(stream, samples, 1) == LINNET_ERROR_STATE &&
              linnet_stream_finish(stream) == LINNET_ERROR_STATE,
          "a stopped stream goes on");
  }
  linnet_stream_set_sink(stream, NULL, NULL);
  linnet_stream_reset(stream);
}

static void test_scenario(struct linnet_context *context, const struct scenario *scenario) {
  struct linnet_model *model = make_model(context, scenario, NULL);
  struct linnet_stream *stream = NULL, *other = NULL;
  static float samples[SAMPLES];
  size_t count = 0, other_count = 0;
  make_samples(samples);
  REQUIRE(linnet_stream_create(context, model, &stream) == LINNET_OK, "%s", linnet_context_error(context));
  REQUIRE(linnet_stream_create(context, model, &other) == LINNET_OK, "%s", linnet_context_error(context));
  feed(stream, samples, SAMPLES, NULL);
  const struct linnet_segment *segments = linnet_stream_segments(stream, &count);
  CHECK(count >= 3, "only %zu segments: the test says nothing", count);
  CHECK(linnet_stream_seconds(stream) == 3, "%g s of 3", linnet_stream_seconds(stream));
  for (uint64_t seed = 1; seed <= 10; seed++) {
    linnet_stream_reset(other);
    feed(other, samples, SAMPLES, &(struct test_random){seed});
    const struct linnet_segment *again = linnet_stream_segments(other, &other_count);
    CHECK(same_segments(segments, count, again, other_count), "chunks of seed %d give other segments", (int)seed);
  }
  test_parallel(context, model, samples, segments, count);
  test_along(other, samples, segments, count, scenario->along);
  test_order(other, samples);
  test_no_number(context, model);
  test_sink(context, other, samples);
  test_features(context, model, other, samples, segments, count);
  test_posteriors(context, model, other, samples);
  linnet_stream_destroy(stream);
  linnet_stream_destroy(other);
  linnet_model_destroy(model);
}

/* --- calibration -------------------------------------------------------------------------------------------------- */

/* Copies the segments; returns their number. */
static size_t recognise(struct linnet_stream *stream, const float *samples, struct linnet_segment *copy,
                        size_t capacity) {
  size_t count = 0;
  feed(stream, samples, SAMPLES, NULL);
  const struct linnet_segment *segments = linnet_stream_segments(stream, &count);
  REQUIRE(count > 0 && count <= capacity, "%zu segments", count);
  memcpy(copy, segments, count * sizeof *segments);
  return count;
}

/* A stream applies the calibration of its model, or the given one, or none. */
static void test_calibration(struct linnet_context *context, const struct scenario *scenario) {
  static const struct linnet_metadata metadata[] = {{LINNET_CALIBRATION_KEY, "{\"slope\": 0.5, \"offset\": -1.5}"},
                                                    {NULL, NULL}};
  static const struct linnet_calibrations own = {{0.5, -1.5}, {1, 0}}, other = {{2, 1}, {1, 0}};
  const struct linnet_calibrations *const in_turn[] = {&own, NULL, &other};
  static float samples[SAMPLES];
  struct linnet_model *plain = make_model(context, scenario, NULL), *model = make_model(context, scenario, metadata);
  struct linnet_stream *stream = NULL, *reference = NULL;
  struct linnet_segment raw[100], got[100];
  make_samples(samples);
  REQUIRE(linnet_stream_create(context, plain, &reference) == LINNET_OK, "%s", linnet_context_error(context));
  REQUIRE(linnet_stream_create(context, model, &stream) == LINNET_OK, "%s", linnet_context_error(context));
  size_t count = recognise(reference, samples, raw, 100);
  for (size_t turn = 0; turn < 3; turn++) {
    if (turn > 0) {
      linnet_stream_reset(stream);
      CHECK(linnet_stream_set_calibrations(stream, in_turn[turn]) == LINNET_OK, "set");
    }
    CHECK(recognise(stream, samples, got, 100) == count, "other segments");
    for (size_t i = 0; i < count; i++) {
      float wanted = in_turn[turn] ? linnet_calibrate(&in_turn[turn]->phones, raw[i].confidence) : raw[i].confidence;
      CHECK(got[i].confidence == wanted, "turn %zu, segment %zu: %g, expected %g of %g", turn, i,
            (double)got[i].confidence, (double)wanted, (double)raw[i].confidence);
    }
    CHECK(linnet_stream_set_calibrations(stream, NULL) == LINNET_ERROR_STATE, "changed before the reset");
  }
  CHECK(linnet_stream_set_calibrations(NULL, NULL) == LINNET_ERROR_ARGUMENT, "no stream");
  linnet_stream_destroy(stream);
  linnet_stream_destroy(reference);
  linnet_model_destroy(model);
  linnet_model_destroy(plain);
}

/* --- cancelling --------------------------------------------------------------------------------------------------- */

enum { SHORT = 6000 };

struct streaming {
  struct linnet_stream *stream;
  float samples[SAMPLES];
};

static enum linnet_status recognise_short(void *object, void *out) {
  struct streaming *s = object;
  size_t count;
  linnet_stream_reset(s->stream);
  enum linnet_status status = linnet_stream_accept(s->stream, s->samples, SHORT);
  if (status == LINNET_OK)
    status = linnet_stream_finish(s->stream);
  const struct linnet_segment *segments = linnet_stream_segments(s->stream, &count);
  if (status == LINNET_OK)
    memcpy(out, segments, (count < 2 ? count : 2) * sizeof *segments);
  return status;
}

static int ignore_rows(void *user, const float *log_posteriors, size_t first, size_t frames) {
  (void)log_posteriors, (void)first;
  *(size_t *)user += frames;
  return 0;
}

/* The sentence of a failure stays after calls that succeed, with rows or without. */
static void test_error_stays(struct linnet_context *context) {
  struct linnet_model *model = make_model(context, &scenarios[3], NULL);
  struct linnet_stream *stream = NULL;
  static float samples[SAMPLES];
  const float bad = (float)NAN;
  size_t rows = 0;
  make_samples(samples);
  REQUIRE(linnet_stream_create(context, model, &stream) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_stream_set_sink(stream, ignore_rows, &rows);
  CHECK(linnet_stream_accept(stream, &bad, 1) == LINNET_ERROR_ARGUMENT, "a NaN is accepted");
  CHECK(linnet_stream_accept(stream, samples, SHORT) == LINNET_OK && rows > 0, "no rows");
  CHECK(strstr(linnet_context_error(context), "not audio"), "the error is now '%s'", linnet_context_error(context));
  linnet_stream_destroy(stream);
  linnet_model_destroy(model);
}

static void test_cancel(const struct scenario *scenario) {
  struct cancelling c;
  struct linnet_context *context = cancelling_context(&c, 1);
  struct linnet_model *model = make_model(context, scenario, NULL);
  struct streaming s;
  make_samples(s.samples);
  REQUIRE(linnet_stream_create(context, model, &s.stream) == LINNET_OK, "%s", linnet_context_error(context));
  check_cancelling("stream", &c, context, recognise_short, &s, 2 * sizeof(struct linnet_segment));
  linnet_stream_destroy(s.stream);
  linnet_model_destroy(model);
  linnet_context_destroy(context);
  CHECK(c.allocator.live == 0, "%zu blocks are left", c.allocator.live);
}

/* --- the scale of samples ----------------------------------------------------------------------------------------- */

static void count_scales(void *user, enum linnet_log_level level, const char *message) {
  *(int *)user += level == LINNET_LOG_WARNING && strstr(message, "full scale is 32768");
}

/* A stream whose first utterance is loud. The next, of half a second of full scale 1, is too short for a warning. */
static void test_short_scale(struct linnet_context *watched, const struct linnet_model *model, const float *loud,
                             const float *soft, size_t count, const int *warnings) {
  const int before = *warnings;
  struct linnet_stream *stream = NULL;
  REQUIRE(linnet_stream_create(watched, model, &stream) == LINNET_OK, "%s", linnet_context_error(watched));
  feed(stream, loud, count, NULL);
  linnet_stream_reset(stream);
  feed(stream, soft, 8000, NULL);
  CHECK(*warnings == before, "half a second: %d warnings", *warnings - before);
  linnet_stream_reset(stream);
  feed(stream, soft, count, NULL);
  CHECK(*warnings == before + 1, "after a loud utterance: %d warnings", *warnings - before);
  linnet_stream_destroy(stream);
}

/* Utterances of 1.25 seconds; only that of full scale 1 gets a warning, and a shorter one does not. */
static void test_scale(const struct scenario *scenario) {
  enum { LENGTH = 20000 };
  static float samples[4][LENGTH];
  struct linnet_context_settings settings;
  struct linnet_context *watched;
  struct linnet_stream *stream;
  int warnings = 0;
  linnet_context_settings_default(&settings);
  settings.log = count_scales;
  settings.log_user = &warnings;
  REQUIRE(linnet_context_create(&settings, &watched) == LINNET_OK, "no context");
  struct linnet_model *model = make_model(watched, scenario, NULL);
  REQUIRE(linnet_stream_create(watched, model, &stream) == LINNET_OK, "%s", linnet_context_error(watched));
  for (size_t i = 0; i < LENGTH; i++) {
    samples[0][i] = (float)(0.5 * sin((double)i * 0.1));
    samples[1][i] = (float)(5000 * sin((double)i * 0.1));
    samples[2][i] = (float)(i % 3) - 1; /* the noise of a converter */
  }                                     /* samples[3] is silence */
  for (int kind = 0; kind < 4; kind++) {
    feed(stream, samples[kind], LENGTH, NULL);
    CHECK(warnings == 1, "kind %d: %d warnings", kind, warnings);
    linnet_stream_reset(stream);
  }
  linnet_stream_destroy(stream);
  test_short_scale(watched, model, samples[1], samples[0], LENGTH, &warnings);
  linnet_model_destroy(model);
  linnet_context_destroy(watched);
}

/* A sample of: bursts of full scale 1; the same on the int16 scale; faint noise with fractions, as of a decoder before
 * speech; bursts of whole numbers; bursts after a second of silence. */
static float live_sample(int kind, size_t i, struct test_random *random) {
  const double burst = exp(-(double)(i % 8000) / 800) * sin((double)i * 0.1);
  switch (kind) {
  case 0:
    return (float)(0.5 * burst);
  case 1:
    return (float)(16000 * burst);
  case 2:
    return (float)(0.9 * test_uniform(random));
  case 3:
    return (float)round(burst);
  default:
    return i < 16000 ? 0 : (float)(0.5 * burst);
  }
}

/* A stream that never finishes gets the warning after some seconds, once, whatever the chunks are. */
static void test_live_scale(const struct scenario *scenario) {
  static const int expected[] = {1, 0, 0, 0, 1};
  enum { CHUNK = 1600, CHUNKS = 80 };
  float samples[CHUNK];
  struct linnet_context_settings settings;
  struct linnet_context *watched;
  int warnings = 0;
  linnet_context_settings_default(&settings);
  settings.log = count_scales;
  settings.log_user = &warnings;
  REQUIRE(linnet_context_create(&settings, &watched) == LINNET_OK, "no context");
  struct linnet_model *model = make_model(watched, scenario, NULL);
  for (int kind = 0; kind < 5; kind++) {
    struct test_random random = {3};
    struct linnet_stream *stream;
    REQUIRE(linnet_stream_create(watched, model, &stream) == LINNET_OK, "%s", linnet_context_error(watched));
    warnings = 0;
    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
      for (size_t i = 0; i < CHUNK; i++)
        samples[i] = live_sample(kind, chunk * CHUNK + i, &random);
      CHECK(linnet_stream_accept(stream, samples, CHUNK) == LINNET_OK, "%s", linnet_context_error(watched));
      CHECK(warnings == 0 || chunk >= 20, "kind %d: a warning after %zu chunks", kind, chunk);
      if (chunk == CHUNKS / 2 + 20)
        linnet_stream_reset(stream);
    }
    CHECK(warnings == expected[kind], "kind %d: %d warnings", kind, warnings);
    linnet_stream_destroy(stream);
  }
  linnet_model_destroy(model);
  linnet_context_destroy(watched);
}

int main(void) {
  struct linnet_context *context = test_context();
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
    test_scenario(context, &scenarios[i]);
  test_calibration(context, &scenarios[0]);
  test_calibration(context, &scenarios[3]);
  test_error_stays(context);
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
    test_cancel(&scenarios[i]);
  test_scale(&scenarios[0]);
  test_scale(&scenarios[4]);
  test_live_scale(&scenarios[4]);
  linnet_context_destroy(context);
  return test_result();
}
