/* Normalises features of an utterance as a model expects them (cmvn.h). */
#ifndef LINNET_RECOGNIZER_NORMALIZER_H
#define LINNET_RECOGNIZER_NORMALIZER_H

#include <linnet/cmvn.h>
#include <linnet/model.h>

struct linnet_normalizer {
  const struct linnet_model *model;
  struct linnet_feature_config config; /* of the model */
  struct linnet_cmvn speaker;          /* count 0: not set */
  struct linnet_cmvn running;          /* for LINNET_CMVN_RUNNING: after the frames so far */
};

void linnet_normalizer_init(struct linnet_normalizer *normalizer, const struct linnet_model *model);

/* The next utterance; the speaker stays. */
void linnet_normalizer_reset(struct linnet_normalizer *normalizer);

/* If the level of these frames (frames, num_mel), which are those of the utterance before its normalisation, is more
 * than 10 dB above or below that of the training data, running statistics begin at their level. It is measured by the
 * loudest 0.2 s, so that noise around the speech does not count. */
void linnet_normalizer_set_level(struct linnet_normalizer *normalizer, const float *features, size_t frames);

/* Normalises features (frames, num_mel) in place. CMVN by utterance takes them for the whole utterance; so does CMVN by
 * speaker if no statistics of the speaker were set. */
void linnet_normalizer_apply(struct linnet_normalizer *normalizer, float *features, size_t frames);

#endif
