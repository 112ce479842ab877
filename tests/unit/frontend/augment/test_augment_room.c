/* Reverberation: the direct sound stays where it was, echoes follow it, and the parts of a long utterance add up. */
#include <linnet/augment.h>

#include "base/base.h"
#include "tables.h"

enum { RATE = 16000, SAMPLES = 5 * RATE, DRAWS = 12 };

static const struct linnet_room_settings always = {sizeof always, 1, 0.2, 0.4};

static struct linnet_augment_key key_of(uint64_t utterance) {
  return (struct linnet_augment_key){1, 1, utterance};
}

static double energy(const float *x, size_t first, size_t end) {
  double sum = 0;
  for (size_t i = first; i < end; i++)
    sum += (double)x[i] * x[i];
  return sum;
}

static void reverberate(struct linnet_context *context, uint64_t utterance, float *x, size_t count) {
  CHECK(linnet_augment_room(context, &always, key_of(utterance), RATE, x, count) == LINNET_OK, "%s",
        linnet_context_error(context));
}

/* An impulse keeps its energy, comes at its time, and has decayed by 60 dB about 0.2 to 0.4 s later. */
static void test_impulse(struct linnet_context *context) {
  enum { AT = RATE / 2, WINDOW = 41 };
  static float x[RATE * 2];
  for (uint64_t draw = 0; draw < DRAWS; draw++) {
    memset(x, 0, sizeof x);
    x[AT] = 1000;
    reverberate(context, draw, x, RATE * 2);
    const double all = energy(x, 0, RATE * 2), before = energy(x, 0, AT - WINDOW),
                 late = energy(x, AT + RATE / 2, RATE * 2);
    size_t first = 0;
    while (first < RATE && fabsf(x[first]) < 10)
      first++;
    CHECK(fabs(all / 1e6 - 1) < 1e-3, "draw %d: the energy is %g", (int)draw, all);
    CHECK(before < 1e-6 * all && late < 1e-5 * all, "draw %d: %g before, %g late", (int)draw, before, late);
    CHECK(first >= AT - WINDOW && first <= AT + 2, "draw %d: the direct sound comes at %zu", (int)draw, first);
  }
}

/* The response is linear: an utterance of several blocks is the sum of its parts. */
static void test_parts(struct linnet_context *context) {
  float *whole = test_alloc(SAMPLES, sizeof *whole), *part = test_alloc(SAMPLES, sizeof *part),
        *sum = test_alloc(SAMPLES, sizeof *sum);
  struct test_random random = {3};
  for (size_t i = 0; i < SAMPLES; i++)
    whole[i] = (float)(2000 * test_uniform(&random) - 1000), sum[i] = 0;
  for (size_t p = 0; p < 3; p++) {
    for (size_t i = 0; i < SAMPLES; i++)
      part[i] = i * 3 / SAMPLES == p ? whole[i] : 0;
    reverberate(context, 7, part, SAMPLES);
    for (size_t i = 0; i < SAMPLES; i++)
      sum[i] += part[i];
  }
  reverberate(context, 7, whole, SAMPLES);
  double worst = 0;
  for (size_t i = 0; i < SAMPLES; i++)
    worst = test_worst(worst, fabs((double)whole[i] - sum[i]));
  CHECK(worst < 0.05, "parts differ from the whole by %g", worst);
  free(whole);
  free(part);
  free(sum);
}

/* The same key gives the same bytes, another key another room; probability 0 changes nothing. */
static void test_draws(struct linnet_context *context) {
  struct linnet_room_settings never = always;
  float a[1000], b[1000];
  never.probability = 0;
  for (size_t i = 0; i < 1000; i++)
    a[i] = b[i] = (float)(i % 37);
  reverberate(context, 1, a, 1000);
  CHECK(linnet_augment_room(context, &never, key_of(1), RATE, b, 1000) == LINNET_OK && b[999] == 999 % 37, "changed");
  CHECK(memcmp(a, b, sizeof a) != 0, "not changed");
  reverberate(context, 1, b, 1000);
  CHECK(memcmp(a, b, sizeof a) == 0, "another result for the same key");
  reverberate(context, 2, a, 1000);
  CHECK(memcmp(a, b, sizeof a) != 0, "the same room for another key");
}

static void test_refused(struct linnet_context *context) {
  static const struct linnet_room_settings bad[] = {{sizeof always, 1.5, 0.2, 0.4},
                                                    {sizeof always, 1, 0.4, 0.2},
                                                    {sizeof always, 1, 0.01, 0.2},
                                                    {sizeof always, 1, 0.2, 3},
                                                    {sizeof always, 1, NAN, 0.3}};
  float x[4] = {0};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(linnet_augment_room(context, &bad[i], key_of(0), RATE, x, 4) == LINNET_ERROR_ARGUMENT, "settings %zu", i);
  CHECK(linnet_augment_room(context, &always, key_of(0), 100, x, 4) == LINNET_ERROR_ARGUMENT, "100 Hz");
  CHECK(linnet_augment_room(context, &always, key_of(0), RATE, NULL, 4) == LINNET_ERROR_ARGUMENT, "no samples");
  CHECK(linnet_augment_room(context, &always, key_of(0), RATE, NULL, 0) == LINNET_OK, "nothing to do");
}

int main(void) {
  struct linnet_context *context = test_context();
  test_impulse(context);
  test_parts(context);
  test_draws(context);
  test_refused(context);
  linnet_context_destroy(context);
  return test_result();
}
