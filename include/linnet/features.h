/* Log-mel filterbank features as Kaldi's compute-fbank-feats defines them, and cepstral mean and variance
 * normalisation (CMVN).
 *
 *   struct linnet_fbank *fbank;
 *   linnet_fbank_create(context, NULL, &fbank);
 *   size_t frames = linnet_fbank_num_frames(fbank, n);
 *   float *features = malloc(frames * linnet_fbank_dim(fbank) * sizeof(float));
 *   linnet_fbank_compute(fbank, samples, n, features);              // samples: mono, 16 kHz, int16 scale
 *
 * Threads: one object, one thread at a time; different objects are independent. Creating and destroying filterbanks
 * calls FFTW's planner, which serves one thread at a time: Linnet's calls exclude one another, but a program that plans
 * with FFTW itself must not do so meanwhile (or call fftwf_make_planner_thread_safe first). */
#ifndef LINNET_FEATURES_H
#define LINNET_FEATURES_H

#include <stdint.h>

#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_fbank_settings {
  size_t size;           /* set by ..._default */
  double sample_rate;    /* Hz; 16000; 1000 to 384000 */
  double frame_length;   /* ms; 25; the window has floor(rate * length / 1000) samples, 4 to 65536 */
  double frame_shift;    /* ms; 10; floor(rate * shift / 1000) samples, 1 to 1048576 */
  int num_mel;           /* 40; 1 to 512; each band must hold a bin of the FFT */
  double low_frequency;  /* Hz; 20 */
  double high_frequency; /* Hz; 0 is the Nyquist frequency, a negative value is counted from it */
  double preemphasis;    /* 0.97; 0 to 1 */
  double dither;         /* standard deviation of the noise added to samples; 0 is off (default) */
  uint64_t dither_seed;  /* the noise depends on (seed, sample position) alone */
};

LINNET_API void linnet_fbank_settings_default(struct linnet_fbank_settings *settings);

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

/* Statistics of CMVN, summed in double: over an utterance, a speaker or a whole corpus, as the caller accumulates. */
enum { LINNET_CMVN_MAX_DIM = 512 };

struct linnet_cmvn {
  int dim;                                                      /* 1 to LINNET_CMVN_MAX_DIM */
  double count;                                                 /* frames */
  double sum[LINNET_CMVN_MAX_DIM], square[LINNET_CMVN_MAX_DIM]; /* sums of x and of x^2; the first `dim` are used */
};

/* These fail with LINNET_ERROR_ARGUMENT on a NULL pointer or a dimension out of range, and then change nothing. */
LINNET_API enum linnet_status linnet_cmvn_reset(struct linnet_cmvn *cmvn, int dim);

/* Adds features (frames, dim), row-major. */
LINNET_API enum linnet_status linnet_cmvn_accumulate(struct linnet_cmvn *cmvn, const float *features, size_t frames);

/* Which frames of an utterance count in its statistics. */
enum linnet_cmvn_frames {
  LINNET_CMVN_ALL_FRAMES = 0,
  LINNET_CMVN_SPEECH_FRAMES = 1 /* those with speech, so that silence and faint noise around it change nothing */
};

/* Adds the chosen frames of one whole utterance of log-mel energies. A frame's level is its largest value; the level of
 * the utterance is the log of the mean power over those 20 frames in a row that are loudest. Speech is what lies less
 * than 30 dB below that level and above the floor of the logarithm. An utterance without such frames counts as a
 * whole. */
LINNET_API enum linnet_status linnet_cmvn_accumulate_frames(struct linnet_cmvn *cmvn, enum linnet_cmvn_frames chosen,
                                                            const float *features, size_t frames);

/* Adds the statistics of `other`, which must have the same dimension. */
LINNET_API enum linnet_status linnet_cmvn_add(struct linnet_cmvn *cmvn, const struct linnet_cmvn *other);

/* Subtracts the mean and, where `variance`, divides by the standard deviation (floor 1e-10 on the variance), in place.
 * LINNET_ERROR_STATE if there are frames but the statistics hold none. */
LINNET_API enum linnet_status linnet_cmvn_apply(const struct linnet_cmvn *cmvn, int variance, float *features,
                                                size_t frames);

#ifdef __cplusplus
}
#endif
#endif
