/* The filterbank against its definition in double precision, in every instruction set; any chunking gives the same
 * bytes; dither; settings; failing allocations. */
#include <linnet/fbank.h>

#include <float.h>
#include <pthread.h>

#include "allocators.h"
#include "frontend/features/fbank_kernel.h"

static const double pi = 3.14159265358979323846;

/* --- The definition, in double, with a discrete Fourier transform by its formula -------------------------------- */

static double mel_of(double hertz) {
  return 1127 * log(1 + hertz / 700);
}

static void naive_window(const struct linnet_fbank_settings *s, const float *samples, size_t n, double *x) {
  double mean = 0;
  for (size_t i = 0; i < n; i++)
    mean += samples[i] / (double)n;
  for (size_t i = n; i-- > 0;)
    x[i] = (samples[i] - mean) - s->preemphasis * (samples[i > 0 ? i - 1 : 0] - mean);
  for (size_t i = 0; i < n; i++)
    x[i] *= pow(0.5 - 0.5 * cos(2 * pi * (double)i / (double)(n - 1)), 0.85);
}

static double naive_power(const double *x, size_t n, size_t fft, size_t bin) {
  double re = 0, im = 0;
  for (size_t i = 0; i < n; i++) {
    double angle = 2 * pi * (double)(bin * i % fft) / (double)fft;
    re += x[i] * cos(angle);
    im -= x[i] * sin(angle);
  }
  return re * re + im * im;
}

static void naive_frame(const struct linnet_fbank_settings *s, const float *samples, size_t n, float *features) {
  static double x[65536], power[32768];
  size_t fft = 1;
  while (fft < n)
    fft *= 2;
  naive_window(s, samples, n, x);
  for (size_t k = 0; k < fft / 2; k++)
    power[k] = naive_power(x, n, fft, k);
  double high = s->high_frequency > 0 ? s->high_frequency : s->sample_rate / 2 + s->high_frequency;
  double from = mel_of(s->low_frequency), step = (mel_of(high) - from) / (s->num_mel + 1);
  for (size_t band = 0; band < s->num_mel; band++) {
    double left = from + band * step, energy = 0;
    for (size_t k = 0; k < fft / 2; k++) {
      double at = (mel_of((double)k * s->sample_rate / (double)fft) - left) / step;
      energy += power[k] * fmax(0, at <= 1 ? at : 2 - at);
    }
    features[band] = (float)log(fmax(energy, FLT_EPSILON));
  }
}

/* --- Signals -------------------------------------------------------------------------------------------------- */

enum { SIGNAL = 9000 };

/* Noise that swells, a tone on an offset, silence, whole numbers. */
static float *make_signal(void) {
  float *x = calloc(SIGNAL, sizeof *x);
  struct test_random random = {3};
  for (int i = 0; i < SIGNAL; i++) {
    double noise = 3000 * test_uniform(&random) * i / SIGNAL, tone = 500 + 8000 * sin(0.05 * i);
    x[i] = (float)(i < 3000 ? noise : i < 6000 ? tone + noise / 100 : i < 7500 ? 0 : round(20000 * sin(0.3 * i)));
  }
  return x;
}

static struct linnet_context *context_of(const char *kernels) {
  struct linnet_context_settings settings;
  linnet_context_settings_default(&settings);
  settings.num_threads = 1;
  settings.kernels = kernels;
  struct linnet_context *context = NULL;
  return linnet_context_create(&settings, &context) == LINNET_OK ? context : NULL;
}

static struct linnet_fbank *fbank_of(struct linnet_context *context, const struct linnet_fbank_settings *settings) {
  struct linnet_fbank *fbank = NULL;
  REQUIRE(linnet_fbank_create(context, settings, &fbank) == LINNET_OK, "%s", linnet_context_error(context));
  return fbank;
}

static const struct linnet_fbank_settings *variants(size_t *count) {
  static struct linnet_fbank_settings s[7];
  *count = sizeof s / sizeof *s;
  for (size_t i = 0; i < *count; i++)
    linnet_fbank_settings_default(&s[i]);
  s[1].sample_rate = 8000, s[1].num_mel = 23, s[1].high_frequency = 3700;
  s[2].sample_rate = 48000, s[2].num_mel = 80, s[2].high_frequency = -400;
  s[3].sample_rate = 11025, s[3].preemphasis = 0, s[3].low_frequency = 0;
  s[4].frame_length = 7, s[4].frame_shift = 13, s[4].num_mel = 10; /* windows with gaps between them */
  s[5].frame_length = 32, s[5].preemphasis = 1;                    /* the window is the FFT */
  s[6].frame_length = 0.5, s[6].frame_shift = 0.3, s[6].num_mel = 1, s[6].low_frequency = 100; /* an FFT of 8 */
  return s;
}

/* The maximum errors of a frame: of the logarithm, in bands at most 60 dB below its loudest band; and of the amplitude
 * in any band, relative to the loudest band, which comes from the rounding of float. */
struct error {
  double logarithm, amplitude;
};

static void add_errors(const float *got, const float *expected, size_t dim, struct error *worst) {
  float loudest = expected[0];
  for (size_t i = 1; i < dim; i++)
    loudest = fmaxf(loudest, expected[i]);
  for (size_t i = 0; i < dim; i++) {
    double amplitude = exp((double)got[i] / 2) - exp((double)expected[i] / 2);
    worst->amplitude = fmax(worst->amplitude, fabs(amplitude) / exp((double)loudest / 2));
    if (expected[i] > loudest - 60 / 4.343)
      worst->logarithm = fmax(worst->logarithm, fabs((double)got[i] - expected[i]));
  }
}

static void compare(const char *kernels, struct linnet_context *context, const struct linnet_fbank_settings *settings,
                    const float *signal) {
  struct linnet_fbank *fbank = fbank_of(context, settings);
  size_t frames = linnet_fbank_num_frames(fbank, SIGNAL), dim = linnet_fbank_dim(fbank);
  size_t window = linnet_fbank_window(fbank), shift = linnet_fbank_shift(fbank), step = frames / 40 + 1;
  float *features = malloc(frames * dim * sizeof *features), expected[512];
  struct error worst = {0}, bound = {3e-4, 2e-6};
  CHECK(linnet_fbank_compute(fbank, signal, SIGNAL, features) == LINNET_OK, "%s", linnet_context_error(context));
  for (size_t t = 0; t < frames; t += step) {
    naive_frame(settings, signal + t * shift, window, expected);
    add_errors(features + t * dim, expected, dim, &worst);
  }
  CHECK(worst.logarithm <= bound.logarithm && worst.amplitude <= bound.amplitude,
        "%s, %g Hz, window %zu: logarithm off by %.1e, bound %.0e; amplitude by %.1e, bound %.0e", kernels,
        settings->sample_rate, window, worst.logarithm, bound.logarithm, worst.amplitude, bound.amplitude);
  printf("%s, %g Hz, window %zu, %zu bands: logarithm off by %.1e, bound %.0e; amplitude by %.1e, bound %.0e\n",
         kernels, settings->sample_rate, window, dim, worst.logarithm, bound.logarithm, worst.amplitude,
         bound.amplitude);
  free(features);
  linnet_fbank_destroy(fbank);
}

static const char *const kernel_names[] = {"reference", "generic", "avx2", "avx512"};

static void test_definition(const float *signal) {
  size_t count;
  const struct linnet_fbank_settings *settings = variants(&count);
  for (size_t k = 0; k < sizeof kernel_names / sizeof *kernel_names; k++) {
    struct linnet_context *context = context_of(kernel_names[k]);
    if (!context)
      printf("%s: not on this processor\n", kernel_names[k]);
    for (size_t i = 0; context && i < count; i++)
      compare(kernel_names[k], context, &settings[i], signal);
    linnet_context_destroy(context);
  }
}

/* --- The logarithm, through a bank of one filter with one bin ---------------------------------------------------- */

static void check_log(const struct linnet_fbank_kernels *kernels) {
  static _Alignas(64) float lanes[4 * LINNET_FBANK_LANES];
  float power[LINNET_FBANK_LANES * 4] = {0}, result[LINNET_FBANK_LANES], weight = 1;
  size_t first = 0, offsets[2] = {0, 1};
  struct linnet_mel one = {1, 0, 1, &first, offsets, &weight};
  struct test_random random = {5};
  double worst = 0, bound = 2e-7;
  for (int i = 0; i < 20000; i++) {
    for (int lane = 0; lane < LINNET_FBANK_LANES; lane++)
      power[lane * 4] =
          (float)(i % 2 ? exp(60 * test_uniform(&random)) : 1 + 0.4 * test_uniform(&random)); /* near 1: small logs */
    kernels->mel(&one, power, 4, lanes, LINNET_FBANK_LANES, result);
    for (int lane = 0; lane < LINNET_FBANK_LANES; lane++) {
      double expected = log(fmax(power[lane * 4], FLT_EPSILON));
      worst = fmax(worst, fabs(result[lane] - expected) / fmax(1, fabs(expected)));
    }
  }
  CHECK(worst <= bound, "%s: logarithm off by %.2e, bound %.0e", kernels->name, worst, bound);
  printf("%s: logarithm off by %.2e, bound %.0e\n", kernels->name, worst, bound);
  power[0] = 0, power[4] = INFINITY, power[8] = NAN, power[12] = FLT_MAX;
  kernels->mel(&one, power, 4, lanes, 4, result);
  CHECK(fabs(result[0] - log(FLT_EPSILON)) < 1e-5 && result[1] == INFINITY && isnan(result[2]) &&
            fabs(result[3] - log(FLT_MAX)) < 1e-5,
        "%s: logarithms %g %g %g %g", kernels->name, result[0], result[1], result[2], result[3]);
}

static void test_log(void) {
  check_log(&linnet_fbank_kernels_generic);
#ifdef LINNET_HAVE_KERNELS_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    check_log(&linnet_fbank_kernels_avx2);
#endif
#ifdef LINNET_HAVE_KERNELS_AVX512
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
    check_log(&linnet_fbank_kernels_avx512);
#endif
}

/* --- Chunks --------------------------------------------------------------------------------------------------- */

static void check_chunks(struct linnet_fbank *fbank, const float *signal, const float *expected, size_t max_chunk,
                         uint64_t seed) {
  struct test_random random = {seed};
  size_t dim = linnet_fbank_dim(fbank), frames = linnet_fbank_num_frames(fbank, SIGNAL), done = 0, got = 0;
  float *features = malloc((frames + 1) * dim * sizeof *features);
  linnet_fbank_reset(fbank);
  while (done < SIGNAL) {
    size_t now = test_below(&random, max_chunk + 1), made = 0;
    now = now < SIGNAL - done ? now : SIGNAL - done;
    size_t pending = linnet_fbank_num_pending(fbank, now);
    if (pending > 0)
      CHECK(linnet_fbank_accept(fbank, signal + done, now, features + got * dim, pending - 1, &made) ==
                    LINNET_ERROR_LIMIT &&
                made == 0,
            "an array that is too small was accepted");
    CHECK(linnet_fbank_accept(fbank, signal + done, now, features + got * dim, pending, &made) == LINNET_OK &&
              made == pending,
          "%zu frames of %zu", made, pending);
    done += now;
    got += made;
    REQUIRE(got <= frames, "more than %zu frames", frames);
  }
  CHECK(got == frames && memcmp(features, expected, frames * dim * sizeof *features) == 0,
        "chunks of up to %zu, seed %llu: other bytes", max_chunk, (unsigned long long)seed);
  free(features);
}

static void test_chunks(struct linnet_context *context, const float *signal) {
  static const size_t sizes[] = {1, 7, 159, 160, 161, 400, 1000, 5000, SIGNAL};
  size_t count;
  const struct linnet_fbank_settings *settings = variants(&count);
  for (size_t i = 0; i < 2 * count; i++) {
    struct linnet_fbank_settings s = settings[i / 2];
    s.dither = i % 2 ? 3 : 0;
    struct linnet_fbank *fbank = fbank_of(context, &s);
    size_t frames = linnet_fbank_num_frames(fbank, SIGNAL), bytes = frames * linnet_fbank_dim(fbank) * sizeof(float);
    float *expected = malloc(bytes), *again = malloc(bytes);
    linnet_fbank_compute(fbank, signal, SIGNAL, expected);
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++)
      check_chunks(fbank, signal, expected, sizes[c], i + 1);
    linnet_fbank_compute(fbank, signal, SIGNAL, again); /* in the middle of a stream */
    CHECK(memcmp(expected, again, bytes) == 0, "a second run differs");
    free(expected), free(again);
    linnet_fbank_destroy(fbank);
  }
}

/* Frames that are further apart than they are long: a reset forgets the samples between them that are still to come. */
static void test_reset_between_frames(struct linnet_context *context, const float *signal) {
  struct linnet_fbank_settings settings;
  float expected[40], again[40];
  size_t frames = 0;
  linnet_fbank_settings_default(&settings);
  settings.frame_shift = 2 * settings.frame_length;
  struct linnet_fbank *fbank = fbank_of(context, &settings);
  for (int round = 0; round < 2; round++) {
    CHECK(linnet_fbank_accept(fbank, signal, 400, round > 0 ? again : expected, 1, &frames) == LINNET_OK && frames == 1,
          "round %d: %zu frames", round, frames);
    linnet_fbank_reset(fbank);
  }
  CHECK(memcmp(expected, again, sizeof again) == 0, "a frame after a reset differs");
  linnet_fbank_destroy(fbank);
}

/* A frame has the same bytes alone and together with others. */
static void test_single_frames(struct linnet_context *context, const float *signal) {
  struct linnet_fbank *fbank = fbank_of(context, NULL);
  size_t frames = linnet_fbank_num_frames(fbank, SIGNAL);
  float *all = malloc(frames * 40 * sizeof *all), one[40];
  linnet_fbank_compute(fbank, signal, SIGNAL, all);
  for (size_t t = 0; t < frames; t++) {
    linnet_fbank_compute(fbank, signal + t * 160, 400, one);
    CHECK(memcmp(one, all + t * 40, sizeof one) == 0, "frame %zu alone differs", t);
  }
  free(all);
  linnet_fbank_destroy(fbank);
}

static void test_frame_counts(struct linnet_context *context) {
  static const size_t samples[] = {0, 1, 399, 400, 559, 560, 16000}, frames[] = {0, 0, 0, 1, 1, 2, 98};
  struct linnet_fbank *fbank = fbank_of(context, NULL);
  struct linnet_fbank_settings settings;
  for (size_t i = 0; i < 7; i++)
    CHECK(linnet_fbank_num_frames(fbank, samples[i]) == frames[i], "%zu samples: %zu frames", samples[i],
          linnet_fbank_num_frames(fbank, samples[i]));
  CHECK(linnet_fbank_compute(fbank, NULL, 0, NULL) == LINNET_OK, "no samples");
  CHECK(linnet_fbank_compute(fbank, NULL, 400, NULL) == LINNET_ERROR_ARGUMENT, "NULL samples");
  linnet_fbank_settings_of(fbank, &settings);
  CHECK(linnet_fbank_dim(fbank) == 40 && settings.high_frequency == 8000, "settings");
  linnet_fbank_destroy(fbank);
  linnet_fbank_destroy(NULL);
}

/* --- Dither, values that are not finite ------------------------------------------------------------------------ */

static void test_dither(struct linnet_context *context) {
  enum { N = 160000 };
  float *zeros = calloc(N, sizeof *zeros), *a = malloc(1000 * 40 * sizeof *a), *b = malloc(1000 * 40 * sizeof *b);
  struct linnet_fbank_settings s;
  linnet_fbank_settings_default(&s);
  s.dither = 1;
  s.preemphasis = 0;
  struct linnet_fbank *one = fbank_of(context, &s);
  s.dither_seed = 1;
  struct linnet_fbank *two = fbank_of(context, &s);
  size_t frames = linnet_fbank_num_frames(one, N);
  linnet_fbank_compute(one, zeros, N, a);
  linnet_fbank_compute(two, zeros, N, b);
  CHECK(memcmp(a, b, frames * 40 * sizeof *a) != 0, "two seeds give the same noise");
  /* White noise of variance 1 has the power sum of squared weights in each bin; a band sums its triangle's bins. */
  double ratio = 0, weights = 0, from = mel_of(20), step = (mel_of(8000) - from) / 41;
  for (int i = 0; i < 400; i++)
    weights += pow(0.5 - 0.5 * cos(2 * pi * i / 399), 1.7);
  for (int band = 10; band < 40; band++) {
    double mean = 0, expected = 0;
    for (size_t t = 0; t < frames; t++)
      mean += exp(a[t * 40 + (size_t)band]) / (double)frames;
    for (int k = 0; k < 256; k++) {
      double at = (mel_of(k * 31.25) - from) / step - band;
      expected += weights * fmax(0, at <= 1 ? at : 2 - at);
    }
    ratio += mean / expected / 30;
  }
  CHECK(fabs(ratio - 1) < 0.02, "noise power %.4f of what is expected, within 2 %%", ratio);
  printf("dither: noise power %.4f of what is expected, within 2 %%\n", ratio);
  linnet_fbank_destroy(one);
  linnet_fbank_destroy(two);
  free(zeros), free(a), free(b);
}

static void test_not_finite(struct linnet_context *context) {
  static float samples[16000], features[98 * 40];
  struct linnet_fbank *fbank = fbank_of(context, NULL);
  for (int i = 0; i < 16000; i++)
    samples[i] = (float)(i % 77);
  samples[8000] = NAN;
  samples[12000] = INFINITY;
  linnet_fbank_compute(fbank, samples, 16000, features);
  for (size_t t = 0; t < 98; t++) {
    bool bad = (t * 160 <= 8000 && 8000 < t * 160 + 400) || (t * 160 <= 12000 && 12000 < t * 160 + 400);
    CHECK(isfinite(features[t * 40]) == !bad && isfinite(features[t * 40 + 39]) == !bad, "frame %zu: %g", t,
          features[t * 40]);
  }
  linnet_fbank_destroy(fbank);
}

/* --- Settings, threads, allocation ------------------------------------------------------------------------------ */

static void expect_bad(struct linnet_context *context, const struct linnet_fbank_settings *s, const char *word) {
  struct linnet_fbank *fbank = NULL;
  enum linnet_status status = linnet_fbank_create(context, s, &fbank);
  CHECK(status == LINNET_ERROR_ARGUMENT && !fbank, "bad settings (%s) gave %s", word, linnet_status_string(status));
  CHECK(strstr(linnet_context_error(context), word), "\"%s\" does not say %s", linnet_context_error(context), word);
  linnet_fbank_destroy(fbank);
}

static void test_settings(struct linnet_context *context) {
  struct linnet_fbank_settings good, s;
  linnet_fbank_settings_default(&good);
#define BAD(change, word) (s = good, s.change, expect_bad(context, &s, word))
  BAD(size = 4, "struct linnet_fbank_settings");
  BAD(sample_rate = 10, "rate");
  BAD(sample_rate = NAN, "rate");
  BAD(frame_length = 0.1, "frame length");
  BAD(frame_length = 1e9, "frame length");
  BAD(frame_shift = 0, "frame shift");
  BAD(frame_shift = -5, "frame shift");
  BAD(num_mel = 0, "mel bands");
  BAD(num_mel = 513, "mel bands");
  BAD(num_mel = 200, "holds no bin");
  BAD(low_frequency = -1, "Nyquist");
  BAD(low_frequency = 8000, "Nyquist");
  BAD(high_frequency = 8001, "Nyquist");
  BAD(high_frequency = 10, "Nyquist");
  BAD(high_frequency = -7990, "Nyquist");
  BAD(preemphasis = 1.1, "pre-emphasis");
  BAD(dither = -1, "dither");
  BAD(dither = NAN, "dither");
  CHECK(linnet_fbank_create(context, NULL, NULL) == LINNET_ERROR_ARGUMENT, "NULL result");
  size_t frames;
  CHECK(linnet_fbank_accept(NULL, NULL, 0, NULL, 0, &frames) == LINNET_ERROR_ARGUMENT, "NULL filterbank");
}

static void *make_many(void *user) {
  struct linnet_context *context = user;
  static const float zeros[400];
  float features[40];
  for (int i = 0; i < 50; i++) {
    struct linnet_fbank *fbank = NULL;
    if (linnet_fbank_create(context, NULL, &fbank) != LINNET_OK ||
        linnet_fbank_compute(fbank, zeros, 400, features) != LINNET_OK)
      return "failed";
    linnet_fbank_destroy(fbank);
  }
  return NULL;
}

static void test_threads(void) {
  pthread_t threads[3];
  struct linnet_context *contexts[3];
  for (int i = 0; i < 3; i++) {
    contexts[i] = context_of("auto");
    pthread_create(&threads[i], NULL, make_many, contexts[i]);
  }
  for (int i = 0; i < 3; i++) {
    void *result;
    pthread_join(threads[i], &result);
    CHECK(!result, "a thread failed: %s", linnet_context_error(contexts[i]));
    linnet_context_destroy(contexts[i]);
  }
}

static enum linnet_status torture_create(struct linnet_context *context) {
  struct linnet_fbank_settings settings;
  linnet_fbank_settings_default(&settings);
  settings.dither = 1;
  struct linnet_fbank *fbank = NULL;
  enum linnet_status status = linnet_fbank_create(context, &settings, &fbank);
  linnet_fbank_destroy(fbank);
  return status;
}

int main(void) {
  struct linnet_context *context = test_context();
  float *signal = make_signal();
  test_definition(signal);
  test_log();
  test_chunks(context, signal);
  test_reset_between_frames(context, signal);
  test_single_frames(context, signal);
  test_frame_counts(context);
  test_dither(context);
  test_not_finite(context);
  test_settings(context);
  test_threads();
  torture("filterbank", torture_create);
  free(signal);
  linnet_context_destroy(context);
  return test_result();
}
