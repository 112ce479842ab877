/* Mean and variance normalisation against its definition. */
#include <linnet/cmvn.h>

#include "test.h"

enum { DIM = 13, FRAMES = 501 };

/* Columns of very different size and spread; the last is constant. */
static void make(struct test_random *random, float *x, size_t frames) {
  for (size_t t = 0; t < frames; t++)
    for (int i = 0; i < DIM; i++)
      x[t * DIM + i] = i == DIM - 1 ? 7.25f : (float)(i * 3 - 20 + (i + 0.5) * test_uniform(random));
}

/* Moments of every column must be 0 and, with variance, 1 (0 for the constant one). */
static void check_moments(const float *x, size_t frames, int variance, const char *what) {
  double worst_mean = 0, worst_spread = 0, bound = 1e-5;
  for (int i = 0; i < DIM; i++) {
    double sum = 0, square = 0;
    for (size_t t = 0; t < frames; t++)
      sum += x[t * DIM + i], square += (double)x[t * DIM + i] * x[t * DIM + i];
    worst_mean = fmax(worst_mean, fabs(sum / (double)frames));
    if (variance)
      worst_spread = fmax(worst_spread, fabs(sqrt(square / (double)frames) - (i < DIM - 1)));
  }
  CHECK(worst_mean <= bound && worst_spread <= bound, "%s: mean off by %.1e, deviation by %.1e, bound %.0e", what,
        worst_mean, worst_spread, bound);
  printf("%s: mean off by %.1e, deviation by %.1e, bound %.0e\n", what, worst_mean, worst_spread, bound);
}

static void test_moments(void) {
  static float x[FRAMES * DIM], y[FRAMES * DIM];
  struct test_random random = {1};
  struct linnet_cmvn cmvn;
  make(&random, x, FRAMES);
  for (int variance = 0; variance < 2; variance++) {
    memcpy(y, x, sizeof x);
    CHECK(linnet_cmvn_reset(&cmvn, DIM) == LINNET_OK, "reset");
    CHECK(linnet_cmvn_accumulate(&cmvn, y, FRAMES) == LINNET_OK, "accumulate");
    CHECK(linnet_cmvn_apply(&cmvn, variance, y, FRAMES) == LINNET_OK, "apply");
    check_moments(y, FRAMES, variance, variance ? "mean and variance" : "mean");
  }
}

/* In pieces and by addition, as over a speaker: counts are exact, sums to rounding. */
static void test_pieces(void) {
  static float x[FRAMES * DIM];
  struct test_random random = {2};
  struct linnet_cmvn whole, pieces, other;
  make(&random, x, FRAMES);
  linnet_cmvn_reset(&whole, DIM), linnet_cmvn_reset(&pieces, DIM), linnet_cmvn_reset(&other, DIM);
  linnet_cmvn_accumulate(&whole, x, FRAMES);
  linnet_cmvn_accumulate(&pieces, x, 100);
  linnet_cmvn_accumulate(&pieces, x + 100 * DIM, 0);
  linnet_cmvn_accumulate(&other, x + 100 * DIM, FRAMES - 100);
  CHECK(linnet_cmvn_add(&pieces, &other) == LINNET_OK && pieces.count == FRAMES, "%g frames", pieces.count);
  double worst = 0, bound = 1e-12;
  for (int i = 0; i < DIM; i++)
    worst = fmax(worst, fmax(fabs(pieces.sum[i] - whole.sum[i]) / fabs(whole.sum[i] + 1),
                             fabs(pieces.square[i] / whole.square[i] - 1)));
  CHECK(worst <= bound, "pieces differ by %.1e, bound %.0e", worst, bound);
  printf("pieces differ by %.1e, bound %.0e\n", worst, bound);
}

static void test_arguments(void) {
  float x[DIM] = {0};
  struct linnet_cmvn cmvn, narrow;
  CHECK(linnet_cmvn_reset(NULL, 1) == LINNET_ERROR_ARGUMENT, "NULL");
  CHECK(linnet_cmvn_reset(&cmvn, 0) == LINNET_ERROR_ARGUMENT, "dimension 0");
  CHECK(linnet_cmvn_reset(&cmvn, LINNET_CMVN_MAX_DIM + 1) == LINNET_ERROR_ARGUMENT, "dimension too large");
  CHECK(linnet_cmvn_reset(&cmvn, LINNET_CMVN_MAX_DIM) == LINNET_OK, "the largest dimension");
  linnet_cmvn_reset(&cmvn, DIM), linnet_cmvn_reset(&narrow, DIM - 1);
  CHECK(linnet_cmvn_accumulate(&cmvn, NULL, 1) == LINNET_ERROR_ARGUMENT, "NULL features");
  CHECK(linnet_cmvn_add(&cmvn, &narrow) == LINNET_ERROR_ARGUMENT, "another dimension");
  CHECK(linnet_cmvn_apply(&cmvn, 0, x, 1) == LINNET_ERROR_STATE, "no frames in the statistics");
  CHECK(linnet_cmvn_apply(&cmvn, 0, NULL, 0) == LINNET_OK, "nothing to do");
  cmvn.dim = 100000;
  CHECK(linnet_cmvn_apply(&cmvn, 0, x, 1) == LINNET_ERROR_ARGUMENT, "damaged statistics");
}

/* --- frames with speech ------------------------------------------------------------------------------------------- */

enum { PADDED = 3 * FRAMES };

/* Speech between 10 and 25, then padding of `level` in the first `before` and the last frames. */
static void make_padded(float *x, size_t before, float level) {
  struct test_random random = {3};
  for (size_t t = 0; t < PADDED; t++)
    for (int i = 0; i < DIM; i++)
      x[t * DIM + i] = level;
  for (size_t t = before; t < before + FRAMES; t++)
    for (int i = 0; i < DIM; i++)
      x[t * DIM + i] = 22 + 3 * (float)test_uniform(&random);
}

static bool same_statistics(const struct linnet_cmvn *a, const struct linnet_cmvn *b) {
  bool same = a->count == b->count;
  for (size_t i = 0; i < a->dim; i++)
    same = same && fabs(a->sum[i] - b->sum[i]) <= 1e-9 * fabs(b->sum[i]);
  return same;
}

/* Silence and faint noise at the ends do not count, loud noise does; without speech everything counts. */
static void test_speech_frames(void) {
  static float x[PADDED * DIM];
  const struct {
    float level;
    size_t count;
  } cases[] = {{-15.9424f, FRAMES}, {0, FRAMES}, {14, FRAMES}, {22, PADDED}};
  struct linnet_cmvn clean, padded;
  make_padded(x, 300, 0);
  linnet_cmvn_reset(&clean, DIM);
  linnet_cmvn_accumulate_frames(&clean, LINNET_CMVN_SPEECH_FRAMES, x + 300 * DIM, FRAMES);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    make_padded(x, 300, cases[i].level);
    linnet_cmvn_reset(&padded, DIM);
    CHECK(linnet_cmvn_accumulate_frames(&padded, LINNET_CMVN_SPEECH_FRAMES, x, PADDED) == LINNET_OK, "refused");
    CHECK(padded.count == (double)cases[i].count, "padding of %g: %g frames of %zu", cases[i].level, padded.count,
          cases[i].count);
    CHECK(padded.count != FRAMES || same_statistics(&padded, &clean), "padding of %g changes the statistics",
          cases[i].level);
  }
  for (size_t i = 0; i < PADDED * DIM; i++)
    x[i] = -15.9424f;
  linnet_cmvn_reset(&padded, DIM);
  linnet_cmvn_accumulate_frames(&padded, LINNET_CMVN_SPEECH_FRAMES, x, PADDED);
  CHECK(padded.count == PADDED, "digital silence: %g frames", padded.count);
  linnet_cmvn_reset(&padded, DIM);
  linnet_cmvn_accumulate_frames(&padded, LINNET_CMVN_SPEECH_FRAMES, x, 3);
  linnet_cmvn_accumulate_frames(&padded, LINNET_CMVN_SPEECH_FRAMES, NULL, 0);
  CHECK(padded.count == 3, "three frames and none: %g", padded.count);
  CHECK(linnet_cmvn_accumulate_frames(NULL, LINNET_CMVN_SPEECH_FRAMES, x, 3) == LINNET_ERROR_ARGUMENT, "NULL");
  CHECK(linnet_cmvn_accumulate_frames(&padded, LINNET_CMVN_SPEECH_FRAMES, NULL, 3) == LINNET_ERROR_ARGUMENT, "NULL");
}

/* --- running statistics ------------------------------------------------------------------------------------------- */

enum { PRIOR = 100, MEMORY = 130 };

/* Faint noise in the first third, then speech that is 1.5 lower than the prior says. */
static void make_live(float *x) {
  struct test_random random = {4};
  for (size_t t = 0; t < FRAMES; t++)
    for (int i = 0; i < DIM; i++)
      x[t * DIM + i] = (float)((t < FRAMES / 3 ? 2 : 11.5) + i * 0.25 + 3 * test_uniform(&random));
}

static struct linnet_cmvn live_prior(void) {
  struct linnet_cmvn cmvn;
  linnet_cmvn_reset(&cmvn, DIM);
  cmvn.count = 7;
  for (int i = 0; i < DIM; i++) {
    cmvn.sum[i] = 7 * (13 + i * 0.25);
    cmvn.square[i] = 7 * ((13 + i * 0.25) * (13 + i * 0.25) + 9);
  }
  CHECK(linnet_cmvn_scale(&cmvn, PRIOR) == LINNET_OK && cmvn.count == PRIOR, "%g frames", cmvn.count);
  return cmvn;
}

/* Frame t by its definition, from all frames before it; taken[] says which of them count. The weight of all together is
 * at most `memory`, unless that is 0. Returns the mean of the values with variance. */
static double run_by_definition(const float *x, const bool *taken, size_t t, int variance, double memory, double *y) {
  double mean_value = 0;
  for (int i = 0; i < DIM; i++) {
    double n = PRIOR, mean = 13 + i * 0.25, sum = n * mean, square = n * (mean * mean + 9);
    for (size_t s = 0; s < t; s++)
      if (taken[s]) {
        const double keep = memory > 0 && n + 1 > memory ? memory / (n + 1) : 1;
        n = keep * (n + 1), sum = keep * (sum + x[s * DIM + i]);
        square = keep * (square + (double)x[s * DIM + i] * x[s * DIM + i]);
      }
    mean = sum / n;
    const double deviation = sqrt(fmax(square / n - mean * mean, 1e-10));
    y[i] = (x[t * DIM + i] - mean) / (variance ? deviation : 1);
    mean_value += (x[t * DIM + i] - mean) / deviation / DIM;
  }
  return mean_value;
}

static void check_running(enum linnet_cmvn_frames chosen, int variance, double memory) {
  static float x[FRAMES * DIM], got[FRAMES * DIM];
  static bool taken[FRAMES];
  double worst = 0, y[DIM], bound = 1e-5;
  size_t count = 0;
  struct linnet_cmvn cmvn = live_prior();
  make_live(x);
  memcpy(got, x, sizeof x);
  CHECK(linnet_cmvn_run(&cmvn, chosen, variance, memory, got, FRAMES) == LINNET_OK, "run");
  for (size_t t = 0; t < FRAMES; t++) {
    taken[t] = run_by_definition(x, taken, t, variance, memory, y) > -1 || chosen == LINNET_CMVN_ALL_FRAMES;
    count += taken[t];
    for (int i = 0; i < DIM; i++)
      worst = fmax(worst, fabs(got[t * DIM + i] - y[i]));
  }
  CHECK(worst <= bound, "running statistics differ from their definition by %.1e, bound %.0e", worst, bound);
  const double expected = memory > 0 ? fmin(memory, PRIOR + (double)count) : PRIOR + (double)count;
  CHECK(fabs(cmvn.count - expected) < 1e-9, "%g frames, %g expected", cmvn.count, expected);
  const size_t speech = FRAMES - FRAMES / 3;
  CHECK(count == (chosen == LINNET_CMVN_ALL_FRAMES ? (size_t)FRAMES : speech), "%zu frames count", count);
  printf("running statistics differ from their definition by %.1e, bound %.0e\n", worst, bound);
}

/* The same bytes, whatever the calls. */
static void test_running_pieces(void) {
  static float x[FRAMES * DIM], y[FRAMES * DIM];
  struct linnet_cmvn whole = live_prior(), pieces = live_prior();
  struct test_random random = {5};
  make_live(x);
  memcpy(y, x, sizeof x);
  linnet_cmvn_run(&whole, LINNET_CMVN_SPEECH_FRAMES, 1, MEMORY, x, FRAMES);
  for (size_t done = 0, count; done < FRAMES; done += count) {
    count = test_below(&random, 20);
    count = count < FRAMES - done ? count : FRAMES - done;
    linnet_cmvn_run(&pieces, LINNET_CMVN_SPEECH_FRAMES, 1, MEMORY, y + done * DIM, count);
  }
  CHECK(memcmp(x, y, sizeof x) == 0, "pieces differ");
}

/* A frame that is not finite changes no other frame. */
static void test_running_not_finite(void) {
  static const float odd[] = {NAN, INFINITY, -INFINITY};
  static float x[FRAMES * DIM], y[(FRAMES + 1) * DIM];
  for (size_t k = 0; k < 2 * sizeof odd / sizeof *odd; k++) {
    const enum linnet_cmvn_frames chosen = k % 2 ? LINNET_CMVN_ALL_FRAMES : LINNET_CMVN_SPEECH_FRAMES;
    struct linnet_cmvn without = live_prior(), with = live_prior();
    make_live(x);
    memcpy(y + DIM, x, sizeof x);
    for (int i = 0; i < DIM; i++)
      y[i] = odd[k / 2];
    linnet_cmvn_run(&without, chosen, 1, 0, x, FRAMES);
    linnet_cmvn_run(&with, chosen, 1, 0, y, FRAMES + 1);
    CHECK(memcmp(x, y + DIM, sizeof x) == 0, "frames after one of %g differ", (double)odd[k / 2]);
  }
}

static void test_running(void) {
  float x[DIM] = {0};
  struct linnet_cmvn cmvn;
  for (int variance = 0; variance < 2; variance++) {
    for (double memory = 0; memory <= MEMORY; memory += MEMORY) {
      check_running(LINNET_CMVN_SPEECH_FRAMES, variance, memory);
      check_running(LINNET_CMVN_ALL_FRAMES, variance, memory);
    }
  }
  test_running_pieces();
  test_running_not_finite();
  linnet_cmvn_reset(&cmvn, DIM);
  CHECK(linnet_cmvn_scale(&cmvn, 10) == LINNET_ERROR_STATE, "statistics of no frames");
  CHECK(linnet_cmvn_run(&cmvn, LINNET_CMVN_ALL_FRAMES, 1, 0, x, 1) == LINNET_ERROR_STATE, "statistics of no frames");
  CHECK(linnet_cmvn_run(&cmvn, LINNET_CMVN_ALL_FRAMES, 1, 0, NULL, 0) == LINNET_OK, "nothing to do");
  linnet_cmvn_accumulate(&cmvn, x, 1);
  CHECK(linnet_cmvn_scale(&cmvn, 0) == LINNET_ERROR_ARGUMENT, "a weight of 0");
  CHECK(linnet_cmvn_scale(&cmvn, INFINITY) == LINNET_ERROR_ARGUMENT, "an infinite weight");
}

int main(void) {
  test_running();
  test_speech_frames();
  test_moments();
  test_pieces();
  test_arguments();
  return test_result();
}
