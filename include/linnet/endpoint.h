/* Endpoints: where a speaker has paused, so that the recognition of a stream can give a final result and start a new
 * segment. A rule is a list of minimums; there is an endpoint where all minimums of a rule are reached, as in Kaldi's
 * and sherpa-onnx' endpoint rules.
 *
 * Silence is measured in two ways. `silence` is the time since the last symbol in the posteriors: noise does not change
 * it much, but posteriors come late by the look-ahead of the model, and long vowels have frames without a symbol.
 * `quiet` is the time since the last frame of audio with the level of speech. Running estimates of the levels of speech
 * and of the noise decide what that level is.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_ENDPOINT_H
#define LINNET_ENDPOINT_H

#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_endpoint_rule {
  int speech;     /* 1: the segment must have speech, that is symbols other than blank and silences */
  int word;       /* 1: the best hypothesis must end with a complete word; other searches than for words ignore it */
  double silence; /* minimum seconds since the last symbol */
  double quiet;   /* minimum seconds since the last frame with the level of speech, and since the segment began */
  double length;  /* minimum seconds since the start of the segment; a rule with no other minimum ends the segment at
                     this time, even inside a word */
};

#define LINNET_ENDPOINT_MAX_RULES 16

struct linnet_endpoint_settings {
  size_t size;                              /* set by ..._default */
  const struct linnet_endpoint_rule *rules; /* (num_rules); default:
                                               speech  word  silence  quiet  length
                                                 0      0      2.4      0       0     nobody speaks
                                                 1      1      0.2      0.35    0     after a word
                                                 1      0      1.2      0       0     after speech, also in noise
                                                 0      0      0        0      20     the longest segment */
  size_t num_rules;                         /* at most LINNET_ENDPOINT_MAX_RULES; 0: there are no endpoints */
  float silence_probability; /* minimum probability of blank and silences in a frame of silence (default 0.5) */
  int restart; /* 1 (default): an endpoint also restarts a causal model. Its state then never stands for more audio than
                  the longest segment, as in training; the positions and the sums of linear attention would otherwise
                  leave the range that the model knows. 0: the state continues. Other models ignore it */
  double restart_seconds; /* with `restart`: endpoints restart the model only if its last start is at least this long
                             ago, because a model that has just started knows neither the speaker nor the noise
                             (default 0) */
};

LINNET_API void linnet_endpoint_settings_default(struct linnet_endpoint_settings *settings, size_t size);
#define linnet_endpoint_settings_default(settings) linnet_endpoint_settings_default(settings, sizeof *(settings))

#ifdef __cplusplus
}
#endif
#endif
