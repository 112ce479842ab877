/* The features that a model expects: filterbank, normalisation (CMVN) and treatment of silence, as structures and as
 * JSON. fbank.h and cmvn.h compute features.
 *
 * Stability: stable; linnet_feature_config.max_silence, .edge_silence, .cmvn_prior and
 * .cmvn_memory are experimental (linnet.h). */
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
  double high_frequency; /* Hz; 0: the Nyquist frequency; a negative value is added to it */
  double preemphasis;    /* 0.97; 0 to 1 */
  double dither;         /* standard deviation of the noise added to samples; 0 is off (default) */
  uint64_t dither_seed;  /* the noise depends on (seed, sample position) alone */
  uint64_t reserved[4];  /* 0; for future members, because other structures contain this one by value */
};

/* Statistics of CMVN, summed in double. They may cover an utterance, a speaker or a whole corpus: the caller decides
 * what to accumulate. */
enum { LINNET_CMVN_MAX_DIM = 512 };

struct linnet_cmvn {
  size_t dim;                                                   /* 1 to LINNET_CMVN_MAX_DIM */
  double count;                                                 /* frames */
  double sum[LINNET_CMVN_MAX_DIM], square[LINNET_CMVN_MAX_DIM]; /* sums of x and of x^2; the first `dim` are used */
};

/* Which frames of an utterance count in its statistics. */
enum linnet_cmvn_frames {
  LINNET_CMVN_ALL_FRAMES = 0,
  LINNET_CMVN_SPEECH_FRAMES = 1 /* frames with speech only, so that silence and faint noise around it have no effect */
};

/* How features are normalised before the encoder sees them. */
enum linnet_cmvn_kind {
  LINNET_CMVN_NONE = 0,
  LINNET_CMVN_UTTERANCE = 1,
  LINNET_CMVN_SPEAKER = 2,
  LINNET_CMVN_GLOBAL = 3,
  LINNET_CMVN_RUNNING = 4 /* the global statistics, corrected by each frame for the later ones (linnet_cmvn_run) */
};

struct linnet_feature_config {
  size_t size; /* set by ..._default */
  struct linnet_fbank_settings fbank;
  enum linnet_cmvn_kind cmvn;
  int cmvn_variance;                   /* also divide by the standard deviation */
  enum linnet_cmvn_frames cmvn_frames; /* over which the statistics are computed */
  /* Seconds; 0: no limit (default). A stream shortens a longer silence to this length before the encoder gets it: it
   * keeps half at each end. The posteriors of the removed frames are blank, and statistics of the utterance do not
   * count them. A frame is silence if its level is more than 35 dB below that of the utterance, as
   * LINNET_CMVN_SPEECH_FRAMES defines levels, or less than 5 dB above the background noise. The noise is the level of
   * the softest twentieth of all windows of 0.1 s without digital silence; a frame less than 20 dB below the utterance
   * is never silence. A causal model that runs while samples arrive gets all frames. */
  double max_silence;
  /* Seconds; 0: the ends of an utterance have no rule of their own (default). A stream keeps this length of the silence
   * before the first and after the last frame with speech, whatever max_silence is; and where the network stacks
   * frames, a stack begins at the middle of the loudest 20 frames. So the encoder gets the same, however many
   * whole frames of digital silence are around speech. The posteriors of the removed frames are blank. */
  double edge_silence;
  double cmvn_prior; /* frames, 1 to 1e6; 100: the weight of the global statistics in LINNET_CMVN_RUNNING */
  /* Frames, 1 to 1e6; 0: no limit (default). The maximum weight of all earlier frames in LINNET_CMVN_RUNNING: a long
   * stream forgets what it heard long ago, and follows a new speaker or level. */
  double cmvn_memory;
};

/* The default: 40 mel bands, and CMVN per utterance with variance over frames with speech. Dither is always off. */
LINNET_API void linnet_feature_config_default(struct linnet_feature_config *features, size_t size);
#define linnet_feature_config_default(features) linnet_feature_config_default(features, sizeof *(features))

/* Sets members of *features from the JSON of a model file's "features" entry. A missing key leaves its member
 * unchanged; an unknown key is an error. The function then validates *features. `name` is for messages; `context` may
 * be NULL. On failure *features is unchanged. */
LINNET_API enum linnet_status linnet_feature_config_parse(struct linnet_context *context, const char *text,
                                                          const char *name, struct linnet_feature_config *features);

#ifdef __cplusplus
}
#endif
#endif
