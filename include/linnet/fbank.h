/* Log-mel filterbank features as Kaldi's compute-fbank-feats defines them.
 *
 *   struct linnet_fbank *fbank;
 *   linnet_fbank_create(context, NULL, &fbank);
 *   size_t frames = linnet_fbank_num_frames(fbank, n);
 *   float *features = malloc(frames * linnet_fbank_dim(fbank) * sizeof(float));
 *   linnet_fbank_compute(fbank, samples, n, features);              // samples: mono, 16 kHz, int16 scale
 *
 * Threads: one object, one thread at a time; different objects are independent. Creating and destroying filterbanks
 * calls FFTW's planner, which serves one thread at a time: Linnet's calls exclude one another, but a program that plans
 * with FFTW itself must not do so meanwhile (or call fftwf_make_planner_thread_safe first).
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

/* The settings it was made with, high_frequency resolved; values per frame (num_mel). */
LINNET_API const struct linnet_fbank_settings *linnet_fbank_settings_of(const struct linnet_fbank *fbank);
LINNET_API size_t linnet_fbank_dim(const struct linnet_fbank *fbank);

/* Samples of a window, and from the start of one to the start of the next. */
LINNET_API size_t linnet_fbank_window(const struct linnet_fbank *fbank);
LINNET_API size_t linnet_fbank_shift(const struct linnet_fbank *fbank);

/* The number of frames that `samples` samples make. */
LINNET_API size_t linnet_fbank_num_frames(const struct linnet_fbank *fbank, size_t samples);

/* Offline: all frames of samples (n) on the int16 scale into features (frames, num_mel), row-major. Neither sees nor
 * changes what was accepted incrementally. Samples that are not finite make the frames that hold them NaN. It can be
 * cancelled (linnet_cancel_fn). */
LINNET_API enum linnet_status linnet_fbank_compute(struct linnet_fbank *fbank, const float *samples, size_t n,
                                                   float *features);

/* Incremental: takes all n samples and writes the frames that became complete, at most `capacity`; LINNET_ERROR_LIMIT
 * (and nothing taken) if more would come: linnet_fbank_num_pending(fbank, n) frames are enough. Any chunking of the
 * input gives the same bytes as linnet_fbank_compute. It can be cancelled; then reset the object: some samples were
 * taken. */
LINNET_API size_t linnet_fbank_num_pending(const struct linnet_fbank *fbank, size_t n);
LINNET_API enum linnet_status linnet_fbank_accept(struct linnet_fbank *fbank, const float *samples, size_t n,
                                                  float *features, size_t capacity, size_t *frames);

/* Forgets all accepted samples. */
LINNET_API void linnet_fbank_reset(struct linnet_fbank *fbank);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_fbank_destroy(struct linnet_fbank *fbank);

#ifdef __cplusplus
}
#endif
#endif
