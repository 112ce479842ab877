/* Augmentation: draws depend only on their key and have the distribution of the settings; masks, warping, speed and
 * noise have their defined effect and no other. */
#include <linnet/audio.h>
#include <linnet/augment.h>
#include <linnet/train.h>

#include "allocators.h"

enum { FRAMES = 300, DIM = 40, SIZE = FRAMES * DIM };

static struct linnet_augment_key key_of(uint64_t seed, uint64_t epoch, uint64_t utterance) {
  return (struct linnet_augment_key){seed, epoch, utterance};
}

static void fill_ones(float *x) {
  for (size_t i = 0; i < SIZE; i++)
    x[i] = 1;
}

/* --- SpecAugment -------------------------------------------------------------------------------------------------- */

/* Which channels and frames are zero throughout; everything else must be one. */
static void find_masks(const float *x, bool *channels, bool *frames) {
  for (size_t c = 0; c < DIM; c++)
    channels[c] = true;
  for (size_t t = 0; t < FRAMES; t++)
    frames[t] = true;
  for (size_t i = 0; i < SIZE; i++)
    if (x[i] != 0)
      channels[i % DIM] = frames[i / DIM] = false;
  for (size_t i = 0; i < SIZE; i++)
    CHECK(x[i] == 1 || channels[i % DIM] || frames[i / DIM], "frame %zu, channel %zu is %g", i / DIM, i % DIM, x[i]);
}

struct runs {
  size_t count, longest, total;
};

static struct runs runs_of(const bool *x, size_t n) {
  struct runs runs = {0};
  for (size_t i = 0, length = 0; i <= n; i++) {
    if (i < n && x[i]) {
      runs.count += length++ == 0;
      runs.total++;
      continue;
    }
    runs.longest = length > runs.longest ? length : runs.longest;
    length = 0;
  }
  return runs;
}

static void test_masks(void) {
  struct linnet_specaugment_settings s;
  linnet_specaugment_settings_default(&s);
  static float x[SIZE];
  bool channels[DIM], frames[FRAMES];
  s.num_frequency_masks = s.num_time_masks = 1; /* single masks do not overlap, so that their widths can be seen */
  s.max_time = 60;
  size_t total_channels = 0, total_frames = 0, draws = 2000, widest = 0, longest = 0;
  for (uint64_t utterance = 0; utterance < draws; utterance++) {
    fill_ones(x);
    CHECK(linnet_specaugment(&s, key_of(1, 2, utterance), x, FRAMES, DIM) == LINNET_OK, "refused");
    find_masks(x, channels, frames);
    struct runs in_frequency = runs_of(channels, DIM), in_time = runs_of(frames, FRAMES);
    CHECK(in_frequency.count <= 1 && in_time.count <= 1, "utterance %d: more masks than one", (int)utterance);
    total_channels += in_frequency.total, total_frames += in_time.total;
    widest = in_frequency.longest > widest ? in_frequency.longest : widest;
    longest = in_time.longest > longest ? in_time.longest : longest;
  }
  double mean_channels = (double)total_channels / (double)draws, mean_frames = (double)total_frames / (double)draws;
  CHECK(widest == 8 && longest == 30, "widest %zu of 8, longest %zu of 30 (a tenth of the utterance)", widest, longest);
  CHECK(fabs(mean_channels - 4) < 0.25 && fabs(mean_frames - 15) < 0.8, "mean widths %.2f of 4, %.2f of 15",
        mean_channels, mean_frames);
  printf("masks: widest %zu of 8, longest %zu of 30, means %.2f of 4 and %.2f of 15\n", widest, longest, mean_channels,
         mean_frames);
}

static void test_mask_positions(void) {
  struct linnet_specaugment_settings s;
  linnet_specaugment_settings_default(&s);
  static float x[SIZE];
  bool channels[DIM], frames[FRAMES], ever_channel[DIM] = {0}, ever_frame[FRAMES] = {0};
  for (uint64_t utterance = 0; utterance < 3000; utterance++) {
    fill_ones(x);
    linnet_specaugment(&s, key_of(5, 0, utterance), x, FRAMES, DIM);
    find_masks(x, channels, frames);
    for (size_t c = 0; c < DIM; c++)
      ever_channel[c] |= channels[c];
    for (size_t t = 0; t < FRAMES; t++)
      ever_frame[t] |= frames[t];
  }
  CHECK(runs_of(ever_channel, DIM).total == DIM && runs_of(ever_frame, FRAMES).total == FRAMES,
        "some channel or frame is never masked");
}

/* Masks by themselves are those that linnet_specaugment covers features with. */
static void test_masks_alone(void) {
  struct linnet_specaugment_settings s;
  linnet_specaugment_settings_default(&s);
  CHECK(linnet_specaugment_num_masks(&s) == 6, "%zu masks of 6", linnet_specaugment_num_masks(&s));
  for (uint64_t utterance = 0; utterance < 200; utterance++) {
    static float x[SIZE], expected[SIZE];
    struct linnet_feature_mask masks[6];
    size_t frames = utterance % 3 ? FRAMES : utterance % 11;
    fill_ones(x), fill_ones(expected);
    linnet_specaugment(&s, key_of(1, 2, utterance), expected, frames, DIM);
    CHECK(linnet_specaugment_masks(&s, key_of(1, 2, utterance), frames, DIM, masks) == LINNET_OK, "refused");
    for (size_t m = 0; m < 6; m++)
      for (size_t t = 0; t < masks[m].num_frames; t++)
        for (size_t c = 0; c < masks[m].num_channels; c++)
          x[(masks[m].first_frame + t) * DIM + masks[m].first_channel + c] = 0;
    CHECK(memcmp(x, expected, sizeof x) == 0, "utterance %d: other masks", (int)utterance);
  }
}

/* A resumed or repeated training draws the same numbers, in all versions. */
static void test_same_masks(void) {
  static const struct linnet_feature_mask expected[] = {{0, 300, 33, 1}, {0, 300, 22, 8}, {158, 11, 0, 40},
                                                        {27, 11, 0, 40}, {51, 12, 0, 40}, {140, 27, 0, 40}};
  struct linnet_specaugment_settings s;
  struct linnet_feature_mask masks[6];
  linnet_specaugment_settings_default(&s);
  linnet_specaugment_masks(&s, key_of(1, 2, 3), FRAMES, DIM, masks);
  CHECK(memcmp(masks, expected, sizeof expected) == 0, "other masks than ever");
}

static void test_fill_mean(void) {
  struct linnet_specaugment_settings s;
  linnet_specaugment_settings_default(&s);
  s.fill_mean = 1;
  static float x[SIZE];
  for (size_t i = 0; i < SIZE; i++)
    x[i] = (float)(i % DIM) + (i / DIM % 2 ? 1 : -1); /* the mean of channel c is c */
  linnet_specaugment(&s, key_of(1, 1, 1), x, FRAMES, DIM);
  size_t masked = 0;
  for (size_t i = 0; i < SIZE; i++) {
    double distance = fabs(x[i] - (double)(i % DIM));
    CHECK(distance == 1 || distance < 1e-5, "element %zu is %g", i, x[i]);
    masked += distance < 1e-5;
  }
  CHECK(masked > 0, "nothing was masked");
}

/* On a ramp, a value is the index of its original frame. */
static void check_warp(uint64_t utterance, size_t frames, int max_warp, double *moved) {
  struct linnet_specaugment_settings s;
  linnet_specaugment_settings_default(&s);
  s.num_frequency_masks = s.num_time_masks = 0;
  s.max_warp = max_warp;
  static float x[SIZE];
  for (size_t i = 0; i < frames * 2; i++)
    x[i] = (float)(i / 2);
  linnet_specaugment(&s, key_of(3, 0, utterance), x, frames, 2);
  for (size_t t = 0; t < frames; t++) {
    CHECK(x[2 * t] == x[2 * t + 1], "channels move apart");
    CHECK(t == 0 || x[2 * t] >= x[2 * t - 2], "frame %zu goes back", t);
    CHECK(fabs((double)x[2 * t] - (double)t) <= max_warp + 1e-3, "frame %zu came from %g, more than %d away", t,
          x[2 * t], max_warp);
    *moved = fmax(*moved, fabs((double)x[2 * t] - (double)t));
  }
  CHECK(frames == 0 || (x[0] == 0 && x[2 * frames - 2] == (float)(frames - 1)), "the ends moved");
}

static void test_warp(void) {
  double moved = 0, short_moved = 0;
  for (uint64_t utterance = 0; utterance < 300; utterance++) {
    check_warp(utterance, FRAMES, 20, &moved);
    check_warp(utterance, utterance % 10, 20, &short_moved);
  }
  CHECK(moved > 18, "at most %.1f frames of 20 moved", moved);
  printf("warping: at most %.1f frames of 20\n", moved);
}

static void test_keys(void) {
  struct linnet_specaugment_settings s;
  linnet_specaugment_settings_default(&s);
  static float first[SIZE], again[SIZE];
  static const struct linnet_augment_key keys[] = {{1, 2, 3}, {1, 2, 3}, {2, 2, 3}, {1, 3, 3}, {1, 2, 4}};
  for (size_t i = 0; i < 5; i++) {
    float *x = i == 0 ? first : again;
    fill_ones(x);
    linnet_specaugment(&s, keys[i], x, FRAMES, DIM);
    CHECK((memcmp(first, x, sizeof first) == 0) == (i < 2), "key %zu", i);
  }
}

static void test_choice(void) {
  size_t counts[3] = {0}, draws = 30000;
  for (uint64_t i = 0; i < draws; i++)
    counts[linnet_augment_choose(key_of(1, i % 7, i), 3)]++;
  for (size_t i = 0; i < 3; i++)
    CHECK(fabs((double)counts[i] / (double)draws - 1.0 / 3) < 0.01, "choice %zu: %zu of %zu", i, counts[i], draws);
  CHECK(linnet_augment_choose(key_of(1, 1, 1), 0) == 0, "a choice of nothing");
}

/* --- Speed -------------------------------------------------------------------------------------------------------- */

static float *sine(size_t n, double hertz) {
  float *x = malloc((n + 1) * sizeof *x);
  for (size_t i = 0; i < n; i++)
    x[i] = (float)(8000 * sin(2 * 3.14159265358979 * hertz * (double)i / 16000));
  return x;
}

static void check_speed(struct linnet_context *context, double speed) {
  size_t n = 32000, count = 0;
  float *x = sine(n, 440), *changed = NULL, *expected = sine(2 * n, 440 * speed);
  CHECK(linnet_augment_speed(context, x, n, speed, &changed, &count) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(fabs((double)count - (double)n / speed) <= 1, "speed %g: %zu samples of %zu", speed, count, n);
  double signal = 0, noise = 1e-9;
  for (size_t i = count / 10; i < count * 9 / 10; i++) {
    signal += (double)expected[i] * expected[i];
    noise += pow((double)changed[i] - expected[i], 2);
  }
  double measured = 10 * log10(signal / noise);
  CHECK(measured >= 90, "speed %g: SNR %.1f dB, bound 90", speed, measured);
  printf("speed %g: SNR %.1f dB, bound 90\n", speed, measured);
  linnet_audio_release(context, changed);
  free(x), free(expected);
}

static void test_speed(struct linnet_context *context) {
  check_speed(context, 0.9);
  check_speed(context, 1);
  check_speed(context, 1.1);
  float *changed;
  size_t count;
  CHECK(linnet_augment_speed(context, NULL, 0, 1.1, &changed, &count) == LINNET_OK && count == 0, "no samples");
  linnet_audio_release(context, changed);
  CHECK(linnet_augment_speed(context, NULL, 10, 1.1, &changed, &count) == LINNET_ERROR_ARGUMENT, "NULL samples");
  CHECK(linnet_augment_speed(context, (float[]){0}, 1, NAN, &changed, &count) == LINNET_ERROR_ARGUMENT, "speed NaN");
  CHECK(linnet_augment_speed(context, (float[]){0}, 1, 5, &changed, &count) == LINNET_ERROR_ARGUMENT, "speed 5");
}

static enum linnet_status torture_speed(struct linnet_context *context) {
  static const float samples[1000];
  float *changed = NULL;
  size_t count;
  enum linnet_status status = linnet_augment_speed(context, samples, 1000, 1.1, &changed, &count);
  linnet_audio_release(context, changed);
  return status;
}

/* --- Noise -------------------------------------------------------------------------------------------------------- */

enum { SAMPLES = 8000, CLIP = 1234 }; /* the clip is shorter and is repeated */

static double measured_snr(const float *clean, const float *noisy) {
  double signal = 0, noise = 0;
  for (size_t i = 0; i < SAMPLES; i++) {
    signal += (double)clean[i] * clean[i];
    noise += pow((double)noisy[i] - clean[i], 2);
  }
  return 10 * log10(signal / noise);
}

static void test_noise(void) {
  static int16_t one[CLIP], two[CLIP];
  static float noisy[SAMPLES], alone[SAMPLES];
  float *clean = sine(SAMPLES, 300);
  struct test_random random = {8};
  for (size_t i = 0; i < CLIP; i++)
    one[i] = (int16_t)(3000 * test_uniform(&random)), two[i] = i % 2 ? 100 : -100;
  const struct linnet_noise_clip clips[] = {{one, CLIP}, {two, CLIP}};
  struct linnet_noise_settings s;
  linnet_noise_settings_default(&s);
  size_t mixed = 0, squares = 0, draws = 2000;
  double low = 100, high = -100;
  for (uint64_t i = 0; i < draws; i++) {
    memcpy(noisy, clean, sizeof noisy);
    CHECK(linnet_augment_noise(&s, key_of(1, 1, i), clips, 2, noisy, SAMPLES) == LINNET_OK, "refused");
    const size_t chosen = linnet_noise_choose(&s, key_of(1, 1, i), 2);
    memcpy(alone, clean, sizeof alone);
    linnet_augment_noise(&s, key_of(1, 1, i), clips + chosen % 2, chosen != LINNET_NOT_FOUND, alone, SAMPLES);
    CHECK(memcmp(alone, noisy, sizeof alone) == 0, "draw %llu: clip %zu alone differs", (unsigned long long)i, chosen);
    if (memcmp(noisy, clean, sizeof noisy) == 0)
      continue;
    double snr = measured_snr(clean, noisy);
    mixed++;
    squares += fabs(fabs((double)noisy[1] - clean[1]) - fabs((double)noisy[2] - clean[2])) < 1e-2;
    low = fmin(low, snr), high = fmax(high, snr);
  }
  CHECK(fabs((double)mixed / (double)draws - 0.5) < 0.04, "%zu of %zu mixed", mixed, draws);
  CHECK(fabs((double)squares / (double)mixed - 0.5) < 0.06, "clip two in %zu of %zu", squares, mixed);
  CHECK(low >= 5 - 0.01 && low < 5.5 && high <= 20 + 0.01 && high > 19.5, "SNR %.2f to %.2f dB, should be 5 to 20", low,
        high);
  printf("noise: %zu of %zu mixed, SNR %.2f to %.2f dB\n", mixed, draws, low, high);
  s.probability = 1;
  s.snr_low = s.snr_high = 10;
  memcpy(noisy, clean, sizeof noisy);
  linnet_augment_noise(&s, key_of(1, 1, 1), clips, 2, noisy, SAMPLES);
  double error = fabs(measured_snr(clean, noisy) - 10);
  CHECK(error < 1e-3, "SNR off by %.1e dB, bound 1e-3", error);
  static float silence[SAMPLES], untouched[SAMPLES];
  linnet_augment_noise(&s, key_of(1, 1, 1), clips, 2, silence, SAMPLES);
  CHECK(memcmp(silence, untouched, sizeof silence) == 0, "noise on silence");
  free(clean);
}

/* --- Arguments ---------------------------------------------------------------------------------------------------- */

/* The noise begins at any sample of a clip: here, one click tells where. */
static void test_noise_starts(void) {
  static const int16_t click[CLIP] = {1000};
  static float noisy[SAMPLES];
  const struct linnet_noise_clip clip = {click, CLIP};
  size_t low = CLIP, high = 0;
  struct linnet_noise_settings s;
  linnet_noise_settings_default(&s);
  s.probability = 1;
  for (uint64_t i = 0; i < 200; i++) {
    size_t first = 0;
    for (size_t t = 0; t < SAMPLES; t++)
      noisy[t] = 100;
    CHECK(linnet_augment_noise(&s, key_of(1, 1, i), &clip, 1, noisy, SAMPLES) == LINNET_OK, "refused");
    while (first < CLIP && noisy[first] == 100)
      first++;
    low = first < low ? first : low, high = first > high ? first : high;
  }
  CHECK(low < CLIP / 20 && high >= CLIP - CLIP / 20 && high < CLIP, "the click is at %zu to %zu of %d samples", low,
        high, (int)CLIP);
}

static void test_arguments(void) {
  struct linnet_specaugment_settings masks, m;
  struct linnet_noise_settings noise, n;
  linnet_specaugment_settings_default(&masks);
  linnet_noise_settings_default(&noise);
  float x[4] = {1, 2, 3, 4};
  m = masks, m.size = 1;
  CHECK(linnet_specaugment(&m, key_of(0, 0, 0), x, 2, 2) == LINNET_ERROR_ARGUMENT, "size");
  static const int bad_counts[] = {-1, 1001};
  for (int i = 0; i < 2; i++) {
    m = masks, m.num_frequency_masks = bad_counts[i];
    CHECK(linnet_specaugment(&m, key_of(0, 0, 0), x, 2, 2) == LINNET_ERROR_ARGUMENT, "frequency_masks");
    m = masks, m.num_time_masks = bad_counts[i];
    CHECK(linnet_specaugment(&m, key_of(0, 0, 0), x, 2, 2) == LINNET_ERROR_ARGUMENT, "time_masks");
  }
  m = masks, m.max_time_part = NAN;
  CHECK(linnet_specaugment(&m, key_of(0, 0, 0), x, 2, 2) == LINNET_ERROR_ARGUMENT, "max_time_part");
  m = masks, m.max_warp = -1;
  CHECK(linnet_specaugment(&m, key_of(0, 0, 0), x, 2, 2) == LINNET_ERROR_ARGUMENT, "max_warp");
  CHECK(linnet_specaugment(NULL, key_of(0, 0, 0), x, 2, 2) == LINNET_ERROR_ARGUMENT, "NULL settings");
  CHECK(linnet_specaugment(&masks, key_of(0, 0, 0), NULL, 2, 2) == LINNET_ERROR_ARGUMENT, "NULL features");
  CHECK(linnet_specaugment(&masks, key_of(0, 0, 0), x, 2, 0) == LINNET_ERROR_ARGUMENT, "no channels");
  CHECK(linnet_specaugment(&masks, key_of(0, 0, 0), NULL, 0, 2) == LINNET_OK, "no frames");
  CHECK(linnet_specaugment_masks(&masks, key_of(0, 0, 0), 2, 2, NULL) == LINNET_ERROR_ARGUMENT, "NULL masks");
  CHECK(linnet_specaugment_num_masks(&m) == 0 && linnet_specaugment_num_masks(NULL) == 0, "masks of bad settings");
  n = noise, n.probability = 2;
  CHECK(linnet_augment_noise(&n, key_of(0, 0, 0), NULL, 0, x, 4) == LINNET_ERROR_ARGUMENT, "probability");
  n = noise, n.snr_low = 30;
  CHECK(linnet_augment_noise(&n, key_of(0, 0, 0), NULL, 0, x, 4) == LINNET_ERROR_ARGUMENT, "snr_low");
  CHECK(linnet_noise_choose(&n, key_of(0, 0, 0), 5) == LINNET_NOT_FOUND, "a choice with snr_low out of range");
  CHECK(linnet_augment_noise(&noise, key_of(0, 0, 0), NULL, 1, x, 4) == LINNET_ERROR_ARGUMENT, "NULL clips");
  CHECK(linnet_augment_noise(&noise, key_of(0, 0, 0), NULL, 0, x, 4) == LINNET_OK, "no clips");
  CHECK(x[0] == 1 && x[3] == 4, "changed by a refused call");
}

int main(void) {
  struct linnet_context *context = test_context();
  test_masks();
  test_mask_positions();
  test_masks_alone();
  test_same_masks();
  test_fill_mean();
  test_warp();
  test_keys();
  test_choice();
  test_speed(context);
  torture("speed", torture_speed);
  test_noise();
  test_noise_starts();
  test_arguments();
  linnet_context_destroy(context);
  return test_result();
}
