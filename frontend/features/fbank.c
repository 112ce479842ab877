/* Filterbank objects: settings, buffers, framing, and blocks of frames through window, FFT, power and mel. */
#include <linnet/fbank.h>

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linnet/features.h>
#include <linnet/model.h>

#include "base/base.h"
#include "base/numbers.h"
#include "base/philox.h"
#include "base/settings.h"
#include "frontend/features/fbank_kernel.h"

/* --- dither ------------------------------------------------------------------------------------------------------- */

static const double two_pi = 6.28318530717958647692;

/* Two of four words make two normal numbers (Box and Muller). */
static void normal_pair(uint32_t a, uint32_t b, double pair[2]) {
  double radius = sqrt(-2 * log((a + 0.5) * 0x1p-32)), angle = two_pi * linnet_philox_uniform(b);
  pair[0] = radius * cos(angle);
  pair[1] = radius * sin(angle);
}

/* The normal numbers of the samples at positions 4 group ... 4 group + 3. */
static void normal_group(uint64_t seed, uint64_t group, double normal[4]) {
  struct linnet_philox random = linnet_philox(seed, 0, group);
  normal_pair(random.word[0], random.word[1], normal);
  normal_pair(random.word[2], random.word[3], normal + 2);
}

/* Gaussian noise on samples, to keep digital silence off the floor of the logarithm: out[i] = in[i] + deviation *
 * g(seed, position + i) with g standard normal; out may be in. */
static void dither(double deviation, uint64_t seed, uint64_t position, const float *in, size_t n, float *out) {
  double normal[4];
  for (size_t i = 0; i < n; i++) {
    uint64_t at = position + i;
    if (i == 0 || at % 4 == 0)
      normal_group(seed, at / 4, normal);
    out[i] = (float)(in[i] + deviation * normal[at % 4]);
  }
}

/* --- the filterbank ----------------------------------------------------------------------------------------------- */

enum { LANES = LINNET_FBANK_LANES, MAX_WINDOW = 65536, MAX_SHIFT = 1 << 20 };

struct linnet_fbank {
  struct linnet_context *context;
  struct linnet_fbank_settings settings;
  const struct linnet_fbank_kernels *kernels;
  size_t window, shift, half; /* samples; half: half the FFT size, which is also the number of bins */
  struct linnet_mel mel;
  float *weights;  /* (window): the Povey window */
  float *twiddle;  /* see fbank_kernel.h */
  float *time;     /* (2 * half): a windowed frame; zero from `window` on */
  float *spectrum; /* (2 * half) */
  float *split;    /* (2 * half + 1) */
  float *power;    /* (LANES, stride) */
  size_t stride;
  float *lanes;
  struct linnet_fft *fft; /* time -> spectrum */

  /* A block: samples of at most LANES frames. `block` is used within one call, `held` is the incremental state: its
   * first `count` samples are those that later frames still need. If the shift is larger than the window, the next
   * `skip` samples belong to no frame. */
  size_t capacity;
  float *block, *held;
  size_t count, skip;
  uint64_t position; /* samples accepted: the position of the next one */
};

/* --- Settings ------------------------------------------------------------------------------------------------- */

void(linnet_fbank_settings_default)(struct linnet_fbank_settings *settings, size_t size) {
  struct linnet_feature_config features; /* those of a model */
  linnet_feature_config_default(&features);
  linnet_settings_fill(settings, size, &features.fbank, sizeof features.fbank);
}

static bool inside(double value, double low, double high) {
  return value >= low && value <= high;
} /* false for NaN */

static enum linnet_status check_frequencies(struct linnet_context *context, const struct linnet_fbank_settings *s) {
  double nyquist = s->sample_rate / 2;
  if (inside(s->low_frequency, 0, nyquist) && inside(s->high_frequency, s->low_frequency, nyquist) &&
      s->high_frequency > s->low_frequency)
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                     "filterbank: the bands range from %g to %g Hz; the range must lie between 0 and the Nyquist "
                     "frequency %g Hz, and its end above its start",
                     s->low_frequency, s->high_frequency, nyquist);
}

static enum linnet_status check_settings(struct linnet_context *context, const struct linnet_fbank_settings *s) {
  enum linnet_status bad = LINNET_ERROR_ARGUMENT;
  for (size_t i = 0; i < sizeof s->reserved / sizeof *s->reserved; i++)
    if (s->reserved[i] != 0)
      return linnet_fail(context, bad,
                         "struct linnet_fbank_settings: reserved[%zu] is not 0: Linnet %s does not know it", i,
                         linnet_version());
  if (!inside(s->sample_rate, 1000, 384000))
    return linnet_fail(context, bad, "filterbank: the sample rate is %g Hz; it must be 1000 to 384000", s->sample_rate);
  if (!inside(s->frame_length * s->sample_rate / 1000, 4, MAX_WINDOW))
    return linnet_fail(context, bad, "filterbank: the frame length of %g ms must be 4 to %d samples at %g Hz",
                       s->frame_length, MAX_WINDOW, s->sample_rate);
  if (!inside(s->frame_shift * s->sample_rate / 1000, 1, MAX_SHIFT))
    return linnet_fail(context, bad, "filterbank: the frame shift of %g ms must be 1 to %d samples at %g Hz",
                       s->frame_shift, MAX_SHIFT, s->sample_rate);
  if (s->num_mel < 1 || s->num_mel > LINNET_CMVN_MAX_DIM)
    return linnet_fail(context, bad, "filterbank: there are %zu mel bands; there must be 1 to %d", s->num_mel,
                       LINNET_CMVN_MAX_DIM);
  if (!inside(s->preemphasis, 0, 1))
    return linnet_fail(context, bad, "filterbank: the pre-emphasis is %g; it must be 0 to 1", s->preemphasis);
  if (!inside(s->dither, 0, 32768))
    return linnet_fail(context, bad, "filterbank: the dither is %g; it must be 0 to 32768", s->dither);
  return check_frequencies(context, s);
}

/* --- Making and destroying ------------------------------------------------------------------------------------ */

/* The kernels for the instruction set of the context's kernels, whose names may also tell the type of products:
 * avxvnni, avx512-vnni. */
static const struct linnet_fbank_kernels *choose_kernels(const char *name) {
#ifdef LINNET_HAVE_KERNELS_AVX512
  if (strncmp(name, "avx512", 6) == 0)
    return &linnet_fbank_kernels_avx512;
#endif
#ifdef LINNET_HAVE_KERNELS_AVX2
  if (strncmp(name, "avx", 3) == 0)
    return &linnet_fbank_kernels_avx2;
#endif
  (void)name;
  return &linnet_fbank_kernels_generic;
}

static const double pi = 3.14159265358979323846;

static void fill_weights(struct linnet_fbank *fbank) {
  for (size_t i = 0; i < fbank->window; i++) {
    double hann = 0.5 - 0.5 * cos(2 * pi * (double)i / (double)(fbank->window - 1));
    fbank->weights[i] = (float)pow(hann, 0.85);
  }
}

static void fill_twiddle(struct linnet_fbank *fbank) {
  size_t n = fbank->half / 2 + 1;
  for (size_t k = 0; k < n; k++) {
    fbank->twiddle[k] = (float)cos(pi * (double)k / (double)fbank->half);
    fbank->twiddle[n + k] = (float)sin(pi * (double)k / (double)fbank->half);
  }
}

/* `capacity` and dimensions are bounded by check_settings, so no product here overflows. */
static enum linnet_status allocate(struct linnet_fbank *fbank) {
  struct linnet_context *context = fbank->context;
  size_t fft = 2 * fbank->half, bins = fbank->mel.end - fbank->mel.begin;
  fbank->stride = fbank->half + LANES; /* not a power of two: then rows would share cache sets */
  fbank->capacity = fbank->window + (LANES - 1) * fbank->shift;
  fbank->weights = linnet_alloc(context, fbank->window, sizeof(float));
  fbank->twiddle = linnet_alloc(context, fbank->half + 2, sizeof(float));
  fbank->time = linnet_calloc(context, fft, sizeof(float));
  fbank->spectrum = linnet_alloc(context, fft, sizeof(float));
  fbank->split = linnet_alloc(context, fft + 1, sizeof(float));
  fbank->power = linnet_calloc(context, LANES * fbank->stride, sizeof(float));
  fbank->lanes = linnet_alloc(context, LANES * (bins + 3), sizeof(float));
  fbank->held = linnet_alloc(context, fbank->capacity, sizeof(float));
  fbank->block = fbank->settings.dither > 0 ? linnet_alloc(context, fbank->capacity, sizeof(float)) : NULL;
  if (!fbank->weights || !fbank->twiddle || !fbank->time || !fbank->spectrum || !fbank->split || !fbank->power ||
      !fbank->lanes || !fbank->held || (fbank->settings.dither > 0 && !fbank->block))
    return linnet_fail(context, LINNET_ERROR_MEMORY, "filterbank: out of memory for frames of %zu samples",
                       fbank->window);
  return LINNET_OK;
}

/* The transform of 2 * half real samples is computed as one of `half` complex numbers, and power() separates the
 * results: FFTW's vector code is three times as fast for complex transforms as for real ones. */
static enum linnet_status prepare(struct linnet_fbank *fbank) {
  const struct linnet_fbank_settings *s = &fbank->settings;
  fbank->window = (size_t)(s->frame_length * s->sample_rate / 1000);
  fbank->shift = (size_t)(s->frame_shift * s->sample_rate / 1000);
  fbank->half = linnet_power_of_two(linnet_max_size(fbank->window, 4)) / 2;
  fbank->kernels = choose_kernels(linnet_context_kernels(fbank->context));
  LINNET_TRY(linnet_mel_create(fbank->context, s->num_mel, fbank->half, s->sample_rate, s->low_frequency,
                               s->high_frequency, &fbank->mel));
  LINNET_TRY(allocate(fbank));
  fill_weights(fbank);
  fill_twiddle(fbank);
  return linnet_fft_create(fbank->context, fbank->half, fbank->time, fbank->spectrum, &fbank->fft);
}

enum linnet_status linnet_fbank_create(struct linnet_context *context, const struct linnet_fbank_settings *settings,
                                       struct linnet_fbank **result) {
  if (result)
    *result = NULL;
  if (!context || !result)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_fbank_create: an argument is NULL");
  struct linnet_fbank_settings resolved;
  LINNET_TRY(LINNET_READ_SETTINGS(context, fbank, settings, &resolved));
  if (resolved.high_frequency <= 0)
    resolved.high_frequency += resolved.sample_rate / 2;
  LINNET_TRY(check_settings(context, &resolved));
  struct linnet_fbank *fbank = linnet_calloc(context, 1, sizeof *fbank);
  if (!fbank)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "filterbank: out of memory");
  fbank->context = context;
  fbank->settings = resolved;
  enum linnet_status status = prepare(fbank);
  if (status != LINNET_OK) {
    linnet_fbank_destroy(fbank);
    return status;
  }
  *result = fbank;
  return LINNET_OK;
}

void linnet_fbank_destroy(struct linnet_fbank *fbank) {
  if (!fbank)
    return;
  struct linnet_context *context = fbank->context;
  linnet_fft_destroy(fbank->fft);
  linnet_mel_release(context, &fbank->mel);
  float *const buffers[] = {fbank->weights, fbank->twiddle, fbank->time, fbank->spectrum, fbank->split,
                            fbank->power,   fbank->lanes,   fbank->held, fbank->block};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
    linnet_free(context, buffers[i]);
  linnet_free(context, fbank);
}

/* --- What it was made with ------------------------------------------------------------------------------------ */

void(linnet_fbank_settings_of)(const struct linnet_fbank *fbank, struct linnet_fbank_settings *settings, size_t size) {
  linnet_settings_fill(settings, size, &fbank->settings, sizeof fbank->settings);
}

size_t linnet_fbank_dim(const struct linnet_fbank *fbank) {
  return fbank->mel.bands;
}

size_t linnet_fbank_window(const struct linnet_fbank *fbank) {
  return fbank->window;
}

size_t linnet_fbank_shift(const struct linnet_fbank *fbank) {
  return fbank->shift;
}

size_t linnet_fbank_num_frames(const struct linnet_fbank *fbank, size_t samples) {
  return samples < fbank->window ? 0 : 1 + (samples - fbank->window) / fbank->shift;
}

/* --- Frames --------------------------------------------------------------------------------------------------- */

/* Computes at most LANES frames, which begin at samples, samples + shift, ... Unused lanes hold powers of earlier
 * blocks. */
static enum linnet_status run_block(struct linnet_fbank *fbank, const float *samples, size_t frames, float *features) {
  const struct linnet_fbank_kernels *kernels = fbank->kernels;
  for (size_t i = 0; i < frames; i++) {
    kernels->window(fbank->window, samples + i * fbank->shift, (float)fbank->settings.preemphasis, fbank->weights,
                    fbank->time);
    LINNET_TRY(linnet_fft_run(fbank->fft));
    kernels->power(fbank->half, fbank->spectrum, fbank->twiddle, fbank->split, fbank->power + i * fbank->stride);
  }
  kernels->mel(&fbank->mel, fbank->power, fbank->stride, fbank->lanes, frames, features);
  return LINNET_OK;
}

enum linnet_status linnet_fbank_compute(struct linnet_fbank *fbank, const float *samples, size_t n, float *features) {
  if (!fbank)
    return LINNET_ERROR_ARGUMENT;
  size_t frames = linnet_fbank_num_frames(fbank, n);
  if (frames > 0 && (!samples || !features))
    return linnet_fail(fbank->context, LINNET_ERROR_ARGUMENT, "linnet_fbank_compute: an argument is NULL");
  linnet_poll_begin(fbank->context);
  for (size_t done = 0; done < frames; done += LANES) {
    LINNET_TRY(linnet_poll_check(fbank->context));
    size_t now = frames - done < LANES ? frames - done : LANES;
    const float *from = samples + done * fbank->shift;
    if (fbank->block) {
      size_t span = fbank->window + (now - 1) * fbank->shift;
      dither(fbank->settings.dither, fbank->settings.dither_seed, done * fbank->shift, from, span, fbank->block);
      from = fbank->block;
    }
    LINNET_TRY(run_block(fbank, from, now, features + done * fbank->mel.bands));
  }
  return LINNET_OK;
}

size_t linnet_fbank_num_pending(const struct linnet_fbank *fbank, size_t n) {
  if (n <= fbank->skip)
    return 0;
  size_t arriving = n - fbank->skip;
  return linnet_fbank_num_frames(fbank, arriving > SIZE_MAX - fbank->count ? SIZE_MAX : fbank->count + arriving);
}

/* Drops or stores as many of n samples as fit; returns their number. */
static size_t hold(struct linnet_fbank *fbank, const float *samples, size_t n) {
  size_t taken;
  if (fbank->skip > 0) {
    taken = n < fbank->skip ? n : fbank->skip;
    fbank->skip -= taken;
  } else {
    size_t space = fbank->capacity - fbank->count;
    taken = n < space ? n : space;
    float *to = fbank->held + fbank->count;
    if (fbank->block)
      dither(fbank->settings.dither, fbank->settings.dither_seed, fbank->position, samples, taken, to);
    else
      memcpy(to, samples, taken * sizeof *to);
    fbank->count += taken;
  }
  fbank->position += taken;
  return taken;
}

static void leave_behind(struct linnet_fbank *fbank, size_t samples) {
  size_t dropped = samples < fbank->count ? samples : fbank->count;
  fbank->skip = samples - dropped;
  fbank->count -= dropped;
  memmove(fbank->held, fbank->held + dropped, fbank->count * sizeof *fbank->held);
}

enum linnet_status linnet_fbank_accept(struct linnet_fbank *fbank, const float *samples, size_t n, float *features,
                                       size_t capacity, size_t *frames) {
  if (!fbank)
    return LINNET_ERROR_ARGUMENT;
  if (!frames || (n > 0 && !samples) || (capacity > 0 && !features))
    return linnet_fail(fbank->context, LINNET_ERROR_ARGUMENT, "linnet_fbank_accept: an argument is NULL");
  *frames = 0;
  size_t pending = linnet_fbank_num_pending(fbank, n);
  if (pending > capacity)
    return linnet_fail(fbank->context, LINNET_ERROR_LIMIT,
                       "linnet_fbank_accept: the capacity is %zu frames, but %zu become complete", capacity, pending);
  linnet_poll_begin(fbank->context);
  while (n > 0) {
    LINNET_TRY(linnet_poll_check(fbank->context));
    size_t taken = hold(fbank, samples, n), now = linnet_fbank_num_frames(fbank, fbank->count);
    samples += taken;
    n -= taken;
    if (now == 0)
      continue;
    LINNET_TRY(run_block(fbank, fbank->held, now, features + *frames * fbank->mel.bands));
    *frames += now;
    leave_behind(fbank, now * fbank->shift);
  }
  return LINNET_OK;
}

void linnet_fbank_reset(struct linnet_fbank *fbank) {
  if (!fbank)
    return;
  fbank->count = fbank->skip = 0;
  fbank->position = 0;
}
