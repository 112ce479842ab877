/* Augmentation of levels, bands and padding around speech, measured on sines and constant clips. */
#include <linnet/augment.h>

#include "test.h"

enum { RATE = 16000, SAMPLES = 16000, SECONDS = 2, MAX_PADDING = 2 * SECONDS * RATE, DRAWS = 300 };

static const double pi = 3.14159265358979323846;

static struct linnet_augment_key key_of(uint64_t utterance) {
  return (struct linnet_augment_key){1, 1, utterance};
}

static void fill_sine(float *x, double hertz, double amplitude) {
  for (size_t i = 0; i < SAMPLES; i++)
    x[i] = (float)rint(amplitude * sin(2 * pi * hertz * (double)i / RATE));
}

/* dB of the middle of x, relative to a sine of amplitude 1. */
static double level(const float *x) {
  double sum = 0;
  for (size_t i = SAMPLES / 4; i < 3 * SAMPLES / 4; i++)
    sum += (double)x[i] * x[i];
  return 10 * log10(sum / (SAMPLES / 4.0) + 1e-30);
}

static void test_level(void) {
  static float x[SAMPLES];
  struct linnet_level_settings s;
  linnet_level_settings_default(&s);
  double low = 1000, high = -1000;
  size_t changed = 0;
  for (uint64_t i = 0; i < DRAWS; i++) {
    fill_sine(x, 440, 1000);
    double before = level(x);
    REQUIRE(linnet_augment_level(&s, key_of(i), x, SAMPLES) == LINNET_OK, "refused");
    double gain = level(x) - before;
    changed += gain != 0;
    low = fmin(low, gain), high = fmax(high, gain);
  }
  CHECK(changed > 0.4 * DRAWS && changed < 0.6 * DRAWS, "%zu of %d changed", changed, DRAWS);
  CHECK(low >= -30.1 && low < -28 && high <= 20.1 && high > 18, "gains of %.2f to %.2f dB, should be -30 to 20", low,
        high);
  s.probability = 1, s.gain_low = s.gain_high = 60;
  fill_sine(x, 440, 1000);
  linnet_augment_level(&s, key_of(1), x, SAMPLES);
  float largest = 0;
  for (size_t i = 0; i < SAMPLES; i++)
    largest = fmaxf(largest, fabsf(x[i]));
  CHECK(largest == 32768, "samples of %g, should be clipped to 16 bits", largest);
}

/* The effect of a band below `high` Hz on a sine. */
static double band_gain(double high, double hertz) {
  static float x[SAMPLES];
  struct linnet_band_settings s;
  linnet_band_settings_default(&s);
  s.probability = 1, s.max_low = 0, s.min_high = s.max_high = high;
  fill_sine(x, hertz, 10000);
  double before = level(x);
  REQUIRE(linnet_augment_band(&s, key_of(0), RATE, x, SAMPLES) == LINNET_OK, "refused");
  return level(x) - before;
}

static void test_band(void) {
  const struct {
    double high, hertz, minimum, maximum; /* dB */
  } cases[] = {{3400, 1000, -0.1, 0.1}, {3400, 3000, -0.5, 0.1}, {3400, 4200, -400, -50}, {3400, 7000, -400, -50},
               {5700, 5000, -0.5, 0.1}, {5700, 6500, -400, -50}, {9000, 7900, -0.5, 0.1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double gain = band_gain(cases[i].high, cases[i].hertz);
    CHECK(gain >= cases[i].minimum && gain <= cases[i].maximum, "band to %g Hz: %g Hz by %.2f dB", cases[i].high,
          cases[i].hertz, gain);
  }
}

/* The filter works in blocks; the result is that of one convolution with its impulse response. */
static void test_band_blocks(void) {
  enum { COUNT = 3000, HALF = 63 };
  static float x[COUNT], impulse[COUNT], wanted[COUNT];
  struct linnet_band_settings s;
  linnet_band_settings_default(&s);
  s.probability = 1;
  impulse[COUNT / 2] = 30000;
  linnet_augment_band(&s, key_of(3), RATE, impulse, COUNT);
  for (size_t i = 0; i < COUNT; i++)
    x[i] = (float)((int)((i * 7919 + i * i) % 2001) - 1000);
  for (int i = 0; i < COUNT; i++)
    for (int k = -HALF; k <= HALF; k++)
      wanted[i] += i - k >= 0 && i - k < COUNT ? impulse[COUNT / 2 + k] / 30000 * x[i - k] : 0;
  linnet_augment_band(&s, key_of(3), RATE, x, COUNT);
  double error = 0;
  for (size_t i = 0; i < COUNT; i++)
    error = fmax(error, fabs((double)x[i] - wanted[i]));
  CHECK(error < 3, "off by %.2f from a convolution with its impulse response, bound 3 (rounding)", error);
}

/* The clip that is chosen gives by itself what the list gave. */
static void check_padding_alone(const struct linnet_padding_settings *s, struct linnet_augment_key key,
                                const struct linnet_noise_clip clips[2], const float *speech, const float *wanted,
                                size_t wanted_count) {
  static float x[SAMPLES + MAX_PADDING];
  const size_t chosen = linnet_padding_choose(s, key, RATE, 2);
  size_t count = SAMPLES;
  memcpy(x, speech, SAMPLES * sizeof *x);
  linnet_augment_padding(s, key, RATE, clips + chosen % 2, chosen != LINNET_NOT_FOUND, x, &count);
  CHECK(count == wanted_count && memcmp(x, wanted, count * sizeof *x) == 0, "clip %zu alone differs", chosen);
}

static void test_padding(void) {
  static float x[SAMPLES + MAX_PADDING], speech[SAMPLES];
  static int16_t clip[777];
  for (size_t i = 0; i < 777; i++)
    clip[i] = i % 2 ? 1000 : -1000;
  const struct linnet_noise_clip clips[] = {{clip, 777}, {clip, 100}};
  struct linnet_padding_settings s;
  linnet_padding_settings_default(&s);
  s.max_seconds = SECONDS;
  CHECK(linnet_padding_max(&s, RATE) == MAX_PADDING, "padding of at most %zu", linnet_padding_max(&s, RATE));
  fill_sine(speech, 440, 10000);
  size_t padded = 0, silent = 0, longest = 0;
  double low = 1000, high = -1000;
  for (uint64_t i = 0; i < DRAWS; i++) {
    size_t count = SAMPLES, before = 0, announced = linnet_padding_before(&s, key_of(i), RATE);
    memcpy(x, speech, sizeof speech);
    REQUIRE(linnet_augment_padding(&s, key_of(i), RATE, clips, 2, x, &count) == LINNET_OK, "refused");
    check_padding_alone(&s, key_of(i), clips, speech, x, count);
    CHECK(announced <= count - SAMPLES, "draw %llu: %zu samples before", (unsigned long long)i, announced);
    if (count == SAMPLES)
      continue;
    while (before < count - SAMPLES && memcmp(x + before, speech, sizeof speech) != 0)
      before++;
    CHECK(memcmp(x + before, speech, sizeof speech) == 0, "draw %llu: the utterance is not there",
          (unsigned long long)i);
    CHECK(before == announced, "draw %llu: %zu samples before, not %zu", (unsigned long long)i, before, announced);
    size_t at = before > 0 ? 0 : SAMPLES;
    double noise = 20 * log10(fabs((double)x[at]) / (10000 / sqrt(2)));
    padded++, silent += x[at] == 0;
    longest = count > longest ? count : longest;
    if (x[at] != 0)
      low = fmin(low, noise), high = fmax(high, noise);
  }
  CHECK(padded > 0.4 * DRAWS && padded < 0.6 * DRAWS, "%zu of %d padded", padded, DRAWS);
  CHECK(silent > 0.2 * (double)padded && silent < 0.5 * (double)padded, "%zu of %zu silent", silent, padded);
  CHECK(longest <= SAMPLES + MAX_PADDING && longest > SAMPLES + MAX_PADDING / 2, "%zu samples at most", longest);
  CHECK(low > -61 && high < -24 && high > -30, "noise of %.1f to %.1f dB, should be -60 to -25", low, high);
}

static void test_arguments(void) {
  float x[4] = {1, 2, 3, 4};
  size_t count = 4;
  struct linnet_level_settings level;
  struct linnet_band_settings band;
  struct linnet_padding_settings padding;
  linnet_level_settings_default(&level), linnet_band_settings_default(&band), linnet_padding_settings_default(&padding);
  level.gain_low = 30;
  CHECK(linnet_augment_level(&level, key_of(0), x, 4) == LINNET_ERROR_ARGUMENT, "gain_low above gain_high");
  CHECK(linnet_augment_level(NULL, key_of(0), x, 4) == LINNET_ERROR_ARGUMENT, "no settings");
  band.min_high = 200;
  CHECK(linnet_augment_band(&band, key_of(0), RATE, x, 4) == LINNET_ERROR_ARGUMENT, "an empty band");
  linnet_band_settings_default(&band);
  CHECK(linnet_augment_band(&band, key_of(0), 0, x, 4) == LINNET_ERROR_ARGUMENT, "sample rate 0");
  CHECK(linnet_augment_band(&band, key_of(0), RATE, NULL, 4) == LINNET_ERROR_ARGUMENT, "no samples");
  band.probability = 1;
  CHECK(linnet_augment_band(&band, key_of(0), RATE, NULL, 0) == LINNET_OK, "a clip of no samples");
  padding.max_seconds = NAN;
  CHECK(linnet_padding_check(&padding) == LINNET_ERROR_ARGUMENT && linnet_padding_max(&padding, RATE) == 0 &&
            linnet_padding_before(&padding, key_of(1), RATE) == 0 &&
            linnet_padding_choose(&padding, key_of(1), RATE, 5) == LINNET_NOT_FOUND,
        "NaN seconds");
  CHECK(linnet_augment_padding(&padding, key_of(0), RATE, NULL, 0, x, &count) == LINNET_ERROR_ARGUMENT, "NaN seconds");
  linnet_padding_settings_default(&padding);
  CHECK(linnet_augment_padding(&padding, key_of(0), RATE, NULL, 1, x, &count) == LINNET_ERROR_ARGUMENT, "NULL clips");
  CHECK(x[0] == 1 && x[3] == 4 && count == 4, "changed by a refused call");
}

int main(void) {
  test_level();
  test_band();
  test_band_blocks();
  test_padding();
  test_arguments();
  return test_result();
}
