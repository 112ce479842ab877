/* Shortened silences: the frames that are left out; every output frame appears once, in order. */
#include "recognizer/silence.h"

#include "test.h"

enum { DIM = 4, FRAMES = 301, STRIDE = 3, GROUPS = 101, KEEP = 60, SYMBOLS = 5 };

static struct linnet_context *context;

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
  REQUIRE(linnet_silence_find(context, x, FRAMES, DIM, KEEP, STRIDE, &silence) == LINNET_OK && silence,
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
  CHECK(linnet_silence_find(context, x, FRAMES, DIM, KEEP, STRIDE, &silence) == LINNET_OK && !silence, "all speech");
  make(x, 25, 280, 0);
  CHECK(linnet_silence_find(context, x, FRAMES, DIM, KEEP, STRIDE, &silence) == LINNET_OK && !silence, "short pauses");
  make(x, 100, 200, 14); /* 26 dB below */
  CHECK(linnet_silence_find(context, x, FRAMES, DIM, KEEP, STRIDE, &silence) == LINNET_OK && !silence, "loud noise");
}

static int refuse(void *user, const float *log_posteriors, size_t first, size_t frames) {
  (void)user, (void)log_posteriors, (void)first, (void)frames;
  return 7;
}

static void test_stop(void) {
  static float x[FRAMES * DIM], rows[GROUPS * SYMBOLS];
  struct linnet_silence *silence = NULL;
  make(x, 0, 100, 0);
  REQUIRE(linnet_silence_find(context, x, FRAMES, DIM, KEEP, STRIDE, &silence) == LINNET_OK && silence,
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
    check(0, 90, 0, 0, 40, piece);
    check(241, FRAMES, 0, 70, GROUPS, piece);
    check(FRAMES, FRAMES, -15.9424f, 0, 0, piece); /* only digital silence */
  }
  test_nothing();
  test_stop();
  linnet_context_destroy(context);
  return test_result();
}
