/* The work of `linnet features`: its input, its output, and the passes over the utterances. */
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

/* Opens `count` paths: one data folder, which *folder gets, or files. Returns an exit code; if it is not 0, after
 * printing why. */
int features_input_open(struct linnet_context *context, const char **paths, size_t count,
                        struct linnet_data_folder **folder, struct features_input *input);
/* The key of an input. */
const char *features_id(const struct features_input *input, size_t i);
void features_input_close(struct features_input *input); /* does not close the data folder */

/* What to compute, and the outputs. */
struct features_job {
  struct features_input input;
  struct linnet_fbank_settings fbank;
  struct linnet_audio_settings audio;
  bool run_commands;
  double speed; /* factor */
  enum linnet_cmvn_kind cmvn;
  enum linnet_cmvn_frames cmvn_frames;
  bool variance;
  double prior;                   /* frames: the weight of the statistics for LINNET_CMVN_RUNNING */
  double memory;                  /* frames: the maximum weight of all earlier frames there; 0: none */
  struct linnet_cmvn *statistics; /* one per speaker, or one in all if they are global; NULL if none are wanted */
  bool statistics_given;          /* they are complete already */
  struct linnet_ark_writer *writer;
  size_t written; /* utterances; 0 if writing failed */
  size_t *frames; /* (input.count), of the written utterances; 0 for the others. Made by features_run */
};

/* Whether the normalisation takes one set of statistics, of all utterances. */
static inline bool features_are_global(const struct features_job *job) {
  return job->cmvn == LINNET_CMVN_GLOBAL || job->cmvn == LINNET_CMVN_RUNNING;
}

/* Runs all passes of the job: first the statistics, if they are applied, then the features. Returns an exit code. A
 * failed utterance is reported and makes the code TOOL_FAILURE, but the others are written. The caller commits the
 * writer. */
int features_run(struct linnet_context *context, struct features_job *job);

#endif
