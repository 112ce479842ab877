/* What features a model wants: filterbank, normalisation (CMVN) and silence, as structures, and their JSON form.
 * fbank.h and cmvn.h compute features.
 *
 * Stability: stable; linnet_feature_config.max_silence is experimental (linnet.h). */
#ifndef LINNET_FEATURES_H
#define LINNET_FEATURES_H

#include <stdint.h>

#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The log-mel filterbank; see fbank.h. */
struct linnet_fbank_settings {
  size_t size;           /* set by ..._default */
  double sample_rate;    /* Hz; 16000; 1000 to 384000 */
  double frame_length;   /* ms; 25; the window has floor(rate * length / 1000) samples, 4 to 65536 */
  double frame_shift;    /* ms; 10; floor(rate * shift / 1000) samples, 1 to 1048576 */
  size_t num_mel;        /* 40; 1 to 512; each band must hold a bin of the FFT */
  double low_frequency;  /* Hz; 20 */
  double high_frequency; /* Hz; 0 is the Nyquist frequency, a negative value is counted from it */
  double preemphasis;    /* 0.97; 0 to 1 */
  double dither;         /* standard deviation of the noise added to samples; 0 is off (default) */
  uint64_t dither_seed;  /* the noise depends on (seed, sample position) alone */
  uint64_t reserved[4];  /* 0; members to come, as other structures hold this one by value */
};

/* Statistics of CMVN, summed in double: over an utterance, a speaker or a whole corpus, as the caller accumulates. */
enum { LINNET_CMVN_MAX_DIM = 512 };

struct linnet_cmvn {
  size_t dim;                                                   /* 1 to LINNET_CMVN_MAX_DIM */
  double count;                                                 /* frames */
  double sum[LINNET_CMVN_MAX_DIM], square[LINNET_CMVN_MAX_DIM]; /* sums of x and of x^2; the first `dim` are used */
};

/* Which frames of an utterance count in its statistics. */
enum linnet_cmvn_frames {
  LINNET_CMVN_ALL_FRAMES = 0,
  LINNET_CMVN_SPEECH_FRAMES = 1 /* those with speech, so that silence and faint noise around it change nothing */
};

/* How features are normalised before the encoder sees them. */
enum linnet_cmvn_kind {
  LINNET_CMVN_NONE = 0,
  LINNET_CMVN_UTTERANCE = 1,
  LINNET_CMVN_SPEAKER = 2,
  LINNET_CMVN_GLOBAL = 3
};

struct linnet_feature_config {
  size_t size; /* set by ..._default */
  struct linnet_fbank_settings fbank;
  enum linnet_cmvn_kind cmvn;
  int cmvn_variance;                   /* also divide by the standard deviation */
  enum linnet_cmvn_frames cmvn_frames; /* over which the statistics are computed */
  /* Seconds; 0: any length (default). Of a longer silence a stream's network gets so much, half at either end, and the
   * posteriors of the frames left out are blank. Silence is what lies more than 35 dB below the level of the utterance,
   * as of LINNET_CMVN_SPEECH_FRAMES. Recurrences, which run while samples come, hear everything. */
  double max_silence;
};

/* The default: 40 mel, CMVN per utterance with variance over frames with speech; dither is always off. */
LINNET_API void linnet_feature_config_default(struct linnet_feature_config *features, size_t size);
#define linnet_feature_config_default(features) linnet_feature_config_default(features, sizeof *(features))

/* Reads the JSON of a model file's "features" entry over *features: keys that are absent keep their value, unknown
 * keys are errors, the result is validated. `name` is for messages; `context` may be NULL. On failure *features is
 * unchanged. */
LINNET_API enum linnet_status linnet_feature_config_parse(struct linnet_context *context, const char *text,
                                                          const char *name, struct linnet_feature_config *features);

#ifdef __cplusplus
}
#endif
#endif
