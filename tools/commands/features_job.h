/* The work of `linnet features`: what goes in, what comes out, and the passes over it. */
#ifndef LINNET_FEATURES_JOB_H
#define LINNET_FEATURES_JOB_H

#include <stdbool.h>

#include <linnet/audio.h>
#include <linnet/fbank.h>
#include <linnet/kaldi.h>
#include <linnet/model.h>

/* Utterances of a data folder, or audio files, each of which is its own speaker. */
struct features_input {
  const struct linnet_data_folder *folder; /* NULL: files */
  const char **files;
  char **ids; /* of the files */
  size_t count, speakers;
};

/* `count` paths: one data folder, which goes into *folder, or files. An exit code, after printing why if it is not 0.
 */
int features_input_open(struct linnet_context *context, const char **paths, size_t count,
                        struct linnet_data_folder **folder, struct features_input *input);
void features_input_close(struct features_input *input); /* leaves the folder alone */

/* What to compute and where it goes. */
struct features_job {
  struct features_input input;
  struct linnet_fbank_settings fbank;
  struct linnet_audio_settings audio;
  bool run_commands;
  enum linnet_cmvn_kind cmvn;
  enum linnet_cmvn_frames cmvn_frames;
  bool variance;
  struct linnet_cmvn *statistics; /* one per speaker, or one in all for LINNET_CMVN_GLOBAL; NULL if none are wanted */
  bool statistics_given;          /* they are complete already */
  struct linnet_ark_writer *writer;
  size_t written; /* utterances; 0 if writing failed */
};

/* All passes that the job needs: the statistics first, where they are applied, then the features. Returns an exit code;
 * utterances that were lost are named, and make it TOOL_FAILURE, while the others are written. The writer is not yet
 * committed. */
int features_run(struct linnet_context *context, struct features_job *job);

#endif
