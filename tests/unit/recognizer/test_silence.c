/* Shortened silences: the frames that are left out; every output frame appears once, in order. */
#include "recognizer/silence.h"

#include "frontend/features/speech_level.h"
#include "test.h"

enum { DIM = 4, FRAMES = 301, STRIDE = 3, GROUPS = 101, KEEP = 60, SYMBOLS = 5 };

static struct linnet_context *context;
static const struct linnet_silence_rule long_silences = {.keep = KEEP, .stride = STRIDE};

/* Speech, at 20, in frames first ... last - 1; else `level`. */
static void make(float *x, size_t first, size_t last, float level) {
  for (size_t t = 0; t < FRAMES; t++)
    for (size_t i = 0; i < DIM; i++)
      x[t * DIM + i] = t >= first && t < last ? 20 : level;
}

/* Output of the sink: the first symbol of each row, -1 for blanks. */
struct got {
  size_t frames;
  double rows[GROUPS + 1];
};

static int take(void *user, const float *log_posteriors, size_t first, size_t frames) {
  struct got *got = user;
  CHECK(first == got->frames && first + frames <= GROUPS, "%zu frames from %zu, %zu before", frames, first,
        got->frames);
  for (size_t t = 0; t < frames; t++) {
    const float *row = log_posteriors + t * SYMBOLS;
    double sum = 0;
    for (size_t v = 0; v < SYMBOLS; v++)
      sum += exp((double)row[v]);
    bool blank = fabs(sum - 1) < 1e-6 && row[0] > -1e-4;
    got->rows[got->frames++] = blank ? -1 : (double)row[1];
  }
  return 0;
}

/* Speech in frames first ... last - 1: groups from ... to - 1 reach the network. Posteriors come in pieces of
 * `piece` rows. */
static void check(size_t first, size_t last, float level, size_t from, size_t to, size_t piece) {
  static float x[FRAMES * DIM], rows[GROUPS * SYMBOLS];
  struct linnet_silence *silence = NULL;
  struct got got = {0};
  make(x, first, last, level);
  REQUIRE(linnet_silence_find(context, x, FRAMES, DIM, long_silences, &silence) == LINNET_OK && silence,
          "found nothing");
  size_t left = linnet_silence_remove(silence, x, FRAMES, DIM), heard = (left + STRIDE - 1) / STRIDE;
  CHECK(heard == to - from, "%zu groups are heard, expected %zu to %zu", heard, from, to);
  for (size_t t = 0; t < left; t++)
    CHECK(x[t * DIM] == (from * STRIDE + t >= first && from * STRIDE + t < last ? 20 : level), "frame %zu is %g", t,
          (double)x[t * DIM]);
  for (size_t g = 0; g < heard; g++)
    for (size_t v = 0; v < SYMBOLS; v++)
      rows[g * SYMBOLS + v] = v == 1 ? (float)(from + g) : -50;
  for (size_t g = 0; g < heard; g += piece)
    CHECK(linnet_silence_restore(silence, rows + g * SYMBOLS, heard - g < piece ? heard - g : piece, SYMBOLS, take,
                                 &got) == 0,
          "stopped");
  CHECK(linnet_silence_restore(silence, NULL, 0, SYMBOLS, take, &got) == 0, "stopped");
  CHECK(got.frames == GROUPS, "%zu rows of %d", got.frames, GROUPS);
  for (size_t g = 0; g < got.frames; g++)
    CHECK(got.rows[g] == (g >= from && g < to ? (double)g : -1), "row %zu is %g", g, got.rows[g]);
  linnet_silence_destroy(silence);
}

/* If speech is everywhere, or pauses are short, every frame reaches the network. */
static void test_nothing(void) {
  static float x[FRAMES * DIM];
  struct linnet_silence *silence = NULL;
  make(x, 0, FRAMES, 0);
  CHECK(linnet_silence_find(context, x, FRAMES, DIM, long_silences, &silence) == LINNET_OK && !silence, "all speech");
  make(x, 25, 280, 0);
  CHECK(linnet_silence_find(context, x, FRAMES, DIM, long_silences, &silence) == LINNET_OK && !silence, "short pauses");
  make(x, 100, 200, 16); /* 17 dB below */
  CHECK(linnet_silence_find(context, x, FRAMES, DIM, long_silences, &silence) == LINNET_OK && !silence, "loud noise");
}

/* Soft speech 26 dB below the loudest is no silence if a twentieth of the utterance is softer. */
static void test_soft_speech(void) {
  static float x[FRAMES * DIM];
  struct linnet_silence *silence = NULL;
  make(x, 0, 100, 14);
  for (size_t i = (FRAMES - 25) * DIM; i < FRAMES * DIM; i++)
    x[i] = 0;
  REQUIRE(linnet_silence_find(context, x, FRAMES, DIM, long_silences, &silence) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(!silence, "soft speech is removed");
  linnet_silence_destroy(silence);
}

/* Steady noise 30 dB below speech is silence, and digital silence around the recording changes nothing of that. */
static void test_digital_padding(void) {
  static float x[FRAMES * DIM];
  enum { SOUND = 150 };
  for (size_t pad = 0; pad <= 40; pad += 5) {
    const size_t frames = SOUND + 2 * pad;
    for (size_t t = 0; t < frames; t++)
      for (size_t i = 0; i < DIM; i++) {
        const bool sound = t >= pad && t < pad + SOUND, speech = t >= pad + 45 && t < pad + 105;
        x[t * DIM + i] = speech ? 20 : sound ? 13.1f : -15.9424f;
      }
    const double threshold = linnet_silence_threshold(x, frames, DIM);
    CHECK(fabs(threshold - 14.25) < 0.15, "%zu frames of digital silence: the threshold is %g", pad, threshold);
  }
}

/* --- the ends of an utterance ------------------------------------------------------------------------------------ */

enum { EDGE = 10, SPEECH = 67, QUIET = 4 * EDGE };

/* Speech of SPEECH frames that get louder up to frame 30, after `before` frames of noise and before `after` frames. The
 * values of a frame depend on its distance from the beginning of speech alone. Returns the number of frames. */
static size_t make_padded(float *x, size_t before, size_t after) {
  const size_t frames = before + SPEECH + after;
  for (size_t t = 0; t < frames; t++)
    for (size_t i = 0; i < DIM; i++) {
      bool speech = t >= before && t < before + SPEECH;
      size_t position = t + QUIET - before;
      x[t * DIM + i] =
          (speech ? 16 + (t < before + 30 ? (float)(t - before) / 10 : 0) : 6) - (float)((position * (i + 3)) % 7) / 10;
    }
  return frames;
}

/* What the network hears, into x, and the first output frame in which it hears anything. */
static size_t hear(float *x, size_t frames, struct linnet_silence_rule rule, size_t *first) {
  struct linnet_silence *silence = NULL;
  struct got got = {0};
  static const float rows[GROUPS * SYMBOLS];
  REQUIRE(linnet_silence_find(context, x, frames, DIM, rule, &silence) == LINNET_OK, "%s",
          linnet_context_error(context));
  *first = 0;
  if (!silence)
    return frames;
  size_t left = linnet_silence_remove(silence, x, frames, DIM);
  CHECK(linnet_silence_restore(silence, rows, (left + rule.stride - 1) / rule.stride, SYMBOLS, take, &got) == 0 &&
            linnet_silence_restore(silence, NULL, 0, SYMBOLS, take, &got) == 0,
        "stopped");
  CHECK(got.frames == (frames + rule.stride - 1) / rule.stride, "%zu rows of %zu frames", got.frames, frames);
  while (*first < got.frames && got.rows[*first] < 0)
    ++*first;
  linnet_silence_destroy(silence);
  return left;
}

/* With `edges`, the network hears the same however many frames of noise are around speech, and the times of what it
 * hears move with speech; without, it hears another phase of the stacked frames. */
static void check_padding(size_t keep, size_t stride) {
  const struct linnet_silence_rule rule = {.keep = keep, .edges = true, .edge = EDGE, .stride = stride};
  static float x[FRAMES * DIM], y[FRAMES * DIM];
  size_t first, moved, left = hear(x, make_padded(x, EDGE + stride, EDGE + stride), rule, &first);
  CHECK(left >= SPEECH + 2 * EDGE && left < SPEECH + 2 * EDGE + 2 * stride, "%zu frames are heard", left);
  for (size_t pad = 1; pad <= 3 * stride; pad++)
    for (size_t end = 0; end < stride; end++) {
      size_t frames = make_padded(y, EDGE + stride + pad, EDGE + stride + end), also = hear(y, frames, rule, &moved);
      CHECK(also == left && memcmp(x, y, left * DIM * sizeof *x) == 0, "stride %zu, %zu frames more hear %zu, not %zu",
            stride, pad, also, left);
      double late = ((double)moved - (double)first) * (double)stride - (double)pad;
      CHECK(fabs(late) < (double)stride, "stride %zu, %zu frames more: output frame %zu, was %zu", stride, pad, moved,
            first);
    }
}

/* A stack begins at the middle of the loudest 20 frames, which follow 30 frames of softer speech. */
static void test_phase(void) {
  const struct linnet_silence_rule rule = {.edges = true, .edge = EDGE, .stride = STRIDE};
  static float x[FRAMES * DIM];
  for (size_t before = 80; before < 83; before++) {
    size_t frames = before + 100, first;
    for (size_t t = 0; t < frames; t++)
      for (size_t i = 0; i < DIM; i++)
        x[t * DIM + i] = t < before ? 0 : t < before + 30 || t >= before + 50 ? 14 : 20;
    hear(x, frames, rule, &first);
    size_t quiet = 0;
    while (x[quiet * DIM] < 20)
      quiet++;
    CHECK((quiet + 10) % STRIDE == 0, "%zu frames of silence: the loudest is frame %zu of what is heard", before,
          quiet);
    CHECK(quiet >= 30 + EDGE && quiet < 30 + EDGE + STRIDE, "%zu frames before the loudest", quiet);
  }
}

/* An utterance without silence around it loses less than a stack at either end, one without speech is all blank. */
static void test_no_edges(void) {
  const struct linnet_silence_rule rule = {.edges = true, .edge = EDGE, .stride = STRIDE};
  static float x[FRAMES * DIM];
  for (size_t frames = 1; frames < 40; frames++) {
    size_t first;
    make(x, 0, FRAMES, 0);
    for (size_t i = 0; i < DIM && frames > 26; i++)
      x[25 * DIM + i] = 3; /* the middle of the loudest 20 frames is now frame 16 */
    size_t left = hear(x, frames, rule, &first);
    CHECK(left <= frames && left + 2 * (STRIDE - 1) >= frames && first <= 1, "%zu frames of %zu are heard", left,
          frames);
  }
  make(x, 0, 0, -15.9424f);
  size_t first;
  CHECK(hear(x, FRAMES, rule, &first) == 0 && first == GROUPS, "silence is heard");
}

static int refuse(void *user, const float *log_posteriors, size_t first, size_t frames) {
  (void)user, (void)log_posteriors, (void)first, (void)frames;
  return 7;
}

static void test_stop(void) {
  static float x[FRAMES * DIM], rows[GROUPS * SYMBOLS];
  struct linnet_silence *silence = NULL;
  make(x, 0, 100, 0);
  REQUIRE(linnet_silence_find(context, x, FRAMES, DIM, long_silences, &silence) == LINNET_OK && silence,
          "found nothing");
  CHECK(linnet_silence_restore(silence, rows, 1, SYMBOLS, refuse, NULL) == 7, "the sink's answer");
  linnet_silence_destroy(silence);
  linnet_silence_destroy(NULL);
}

int main(void) {
  context = test_context();
  for (size_t piece = 1; piece <= GROUPS; piece += 7) {
    check(150, 210, -15.9424f, 40, 80, piece); /* digital silence on both sides; 30 frames stay at either end */
    check(150, 210, 10, 40, 80, piece);        /* noise 43 dB below */
    check(150, 210, 14, 40, 80, piece);        /* noise 26 dB below */
    check(0, 90, 0, 0, 40, piece);
    check(241, FRAMES, 0, 70, GROUPS, piece);
    check(FRAMES, FRAMES, -15.9424f, 0, 0, piece); /* only digital silence */
  }
  test_nothing();
  test_soft_speech();
  test_digital_padding();
  for (size_t stride = 1; stride <= 4; stride++) {
    check_padding(0, stride);
    check_padding(KEEP, stride);
  }
  test_phase();
  test_no_edges();
  test_stop();
  linnet_context_destroy(context);
  return test_result();
}
