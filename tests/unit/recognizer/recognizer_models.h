/* Model files for test_recognizer.c. Apart from it, as random_model.h needs internal headers whose names clash with
 * those of output.h. */
#ifndef LINNET_RECOGNIZER_MODELS_H
#define LINNET_RECOGNIZER_MODELS_H

#include <stdbool.h>
#include <stddef.h>

#include <linnet/features.h>

/* A small model with random weights and the symbols A to D, causal with global CMVN or not causal. False on failure. */
bool write_recognizer_model(const char *path, bool causal);

/* A causal one without look-ahead. */
bool write_prompt_model(const char *path);

/* One that is not causal and stacks `stack` frames of a filterbank that ends at `high_frequency` (0: the default). */
bool write_other_model(const char *path, size_t stack, double high_frequency);

/* One that is not causal and has this filterbank. */
bool write_filterbank_model(const char *path, const struct linnet_fbank_settings *fbank);

/* One that is not causal and keeps 0.5 s of silence in its middle, and 0.2 s at either end. */
bool write_silence_model(const char *path);

/* One that is not causal, with CMVN by speaker. */
bool write_speaker_model(const char *path);

/* A causal one with running statistics. */
bool write_running_model(const char *path);

/* A causal one whose features need statistics of the whole utterance. */
bool write_whole_model(const char *path);

#endif
