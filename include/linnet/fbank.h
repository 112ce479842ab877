/* Log-mel filterbank features as Kaldi's compute-fbank-feats defines them.
 *
 *   struct linnet_fbank *fbank;
 *   linnet_fbank_create(context, NULL, &fbank);
 *   size_t frames = linnet_fbank_num_frames(fbank, n);
 *   float *features = malloc(frames * linnet_fbank_dim(fbank) * sizeof(float));
 *   linnet_fbank_compute(fbank, samples, n, features);              // samples: mono, 16 kHz, int16 scale
 *
 * Threads: one object, one thread at a time; different objects are independent. Creating and destroying filterbanks
 * calls FFTW's planner, which the whole process shares. Linnet protects its own calls; context.h says what a program
 * that uses the planner itself must do.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_FBANK_H
#define LINNET_FBANK_H

#include <linnet/features.h>

#ifdef __cplusplus
extern "C" {
#endif

LINNET_API void linnet_fbank_settings_default(struct linnet_fbank_settings *settings, size_t size);
#define linnet_fbank_settings_default(settings) linnet_fbank_settings_default(settings, sizeof *(settings))

struct linnet_fbank;

/* `settings` may be NULL. Frames are complete windows only (snip_edges): 1 + floor((n - window) / shift) of n samples.
 * A frame: dither, mean removed, pre-emphasis, Povey window, FFT of the next power of two, power, mel, natural
 * logarithm with floor FLT_EPSILON. */
LINNET_API enum linnet_status linnet_fbank_create(struct linnet_context *context,
                                                  const struct linnet_fbank_settings *settings,
                                                  struct linnet_fbank **fbank);

/* Fills *settings with the settings of the filterbank, with high_frequency as a frequency above 0. */
LINNET_API void linnet_fbank_settings_of(const struct linnet_fbank *fbank, struct linnet_fbank_settings *settings,
                                         size_t size);
#define linnet_fbank_settings_of(fbank, settings) linnet_fbank_settings_of(fbank, settings, sizeof *(settings))

/* The number of values per frame (num_mel). */
LINNET_API size_t linnet_fbank_dim(const struct linnet_fbank *fbank);

/* The samples of a window, and the samples from the start of one window to the start of the next. */
LINNET_API size_t linnet_fbank_window(const struct linnet_fbank *fbank);
LINNET_API size_t linnet_fbank_shift(const struct linnet_fbank *fbank);

/* The number of frames of `samples` samples. */
LINNET_API size_t linnet_fbank_num_frames(const struct linnet_fbank *fbank, size_t samples);

/* Offline: computes all frames of samples (n) on the int16 scale into features (frames, num_mel), row-major. The call
 * neither uses nor changes the samples of linnet_fbank_accept. A sample that is not finite makes all frames that
 * contain it NaN. The call can be cancelled (linnet_cancel_fn). */
LINNET_API enum linnet_status linnet_fbank_compute(struct linnet_fbank *fbank, const float *samples, size_t n,
                                                   float *features);

/* Incremental: takes all n samples and writes the frames that they complete, at most `capacity`.
 * linnet_fbank_num_pending(fbank, n) is the number of these frames. LINNET_ERROR_LIMIT, without taking a sample, if it
 * is above `capacity`. The bytes are those of linnet_fbank_compute, however the input is divided into chunks. The call
 * can be cancelled. Then reset the object, because it has taken some of the samples. */
LINNET_API size_t linnet_fbank_num_pending(const struct linnet_fbank *fbank, size_t n);
LINNET_API enum linnet_status linnet_fbank_accept(struct linnet_fbank *fbank, const float *samples, size_t n,
                                                  float *features, size_t capacity, size_t *frames);

/* Discards all accepted samples. */
LINNET_API void linnet_fbank_reset(struct linnet_fbank *fbank);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_fbank_destroy(struct linnet_fbank *fbank);

#ifdef __cplusplus
}
#endif
#endif
