/* Log-mel filterbank features as Kaldi's compute-fbank-feats defines them, and cepstral mean and variance
 * normalisation (CMVN).
 *
 * Threads: one object, one thread at a time; different objects are independent. */
#ifndef LINNET_FEATURES_H
#define LINNET_FEATURES_H

#include <stdint.h>

#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_fbank_settings {
  size_t size;           /* set by ..._default */
  double sample_rate;    /* Hz; 16000 */
  double frame_length;   /* ms; 25 */
  double frame_shift;    /* ms; 10 */
  int num_mel;           /* 40; 1 to 512 */
  double low_frequency;  /* Hz; 20 */
  double high_frequency; /* Hz; 0 is the Nyquist frequency, a negative value is counted from it */
  double preemphasis;    /* 0.97; 0 to 1 */
  double dither;         /* standard deviation of the noise added to samples; 0 is off (default) */
  uint64_t dither_seed;  /* the noise depends on (seed, sample position) alone */
};

LINNET_API void linnet_fbank_settings_default(struct linnet_fbank_settings *settings);

struct linnet_fbank;

/* `settings` may be NULL. Frames are complete windows only (snip_edges): 1 + floor((n - window) / shift) of n samples. */
LINNET_API enum linnet_status linnet_fbank_create(struct linnet_context *context,
                                                  const struct linnet_fbank_settings *settings,
                                                  struct linnet_fbank **fbank);

/* The number of frames that `samples` samples make. */
LINNET_API size_t linnet_fbank_frames(const struct linnet_fbank *fbank, size_t samples);

/* Offline: all frames of samples (n) on the int16 scale into features (frames, num_mel), row-major. */
LINNET_API enum linnet_status linnet_fbank_compute(struct linnet_fbank *fbank, const float *samples, size_t n,
                                                   float *features);

/* Incremental: takes all n samples and writes the frames that became complete, at most `capacity`; LINNET_ERROR_LIMIT
 * (and nothing taken) if more would come: linnet_fbank_pending(fbank, n) frames are enough. Any chunking of the input
 * gives the same bytes as linnet_fbank_compute. */
LINNET_API size_t linnet_fbank_pending(const struct linnet_fbank *fbank, size_t n);
LINNET_API enum linnet_status linnet_fbank_accept(struct linnet_fbank *fbank, const float *samples, size_t n,
                                                  float *features, size_t capacity, size_t *frames);

/* Forgets all accepted samples. */
LINNET_API void linnet_fbank_reset(struct linnet_fbank *fbank);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_fbank_destroy(struct linnet_fbank *fbank);

/* Statistics of CMVN, summed in double: over an utterance, a speaker or a whole corpus, as the caller accumulates. */
struct linnet_cmvn {
  int dim;                    /* at most 512 */
  double count;               /* frames */
  double sum[512], square[512]; /* sums of x and of x^2 */
};

LINNET_API void linnet_cmvn_reset(struct linnet_cmvn *cmvn, int dim);
LINNET_API void linnet_cmvn_accumulate(struct linnet_cmvn *cmvn, const float *features, size_t frames);

/* Subtracts the mean and, where `variance`, divides by the standard deviation (floor 1e-10 on the variance). */
LINNET_API void linnet_cmvn_apply(const struct linnet_cmvn *cmvn, int variance, float *features, size_t frames);

#ifdef __cplusplus
}
#endif
#endif
