/* The inputs of the commands that recognise: audio files, or the utterances of a Kaldi data folder. */
#ifndef LINNET_TOOL_INPUTS_H
#define LINNET_TOOL_INPUTS_H

#include <stdbool.h>

#include <linnet/kaldi.h>
#include <linnet/linnet.h>

#include "speakers.h"
#include "tool.h"
#include "walk.h"

/* --data, --recursive, --channel, --raw, --raw-rate, --raw-channels, --max-seconds; include as {NULL, 0,
 * POPT_ARG_INCLUDE_TABLE, inputs_options, 0, "Input:", NULL}. */
extern struct poptOption inputs_options[];

struct inputs {
  const char *const *paths;          /* (count), of the command line and in its folders; NULL: those of `folder` */
  struct linnet_data_folder *folder; /* (count) utterances */
  struct speakers *speakers;         /* of a folder without cmvn.scp, for models with CMVN by speaker; else NULL */
  size_t count;
  char **ids; /* (count) for files: see inputs_id */
  struct walk walk;
  struct linnet_audio_settings audio;
  double stream_seconds; /* maximum for raw input from a pipe, which may never end; 0: none */
};

/* The folder of --data; NULL: none. */
const char *inputs_data_folder(void);

/* The positional arguments that are files: at least one, none with --data. NULL after printing what is wrong. */
const char **inputs_arguments(poptContext parsed, size_t *count);

/* Whether the options name inputs other than the files of the command line. */
bool inputs_are_many(void);

/* Opens the inputs that the options name, at the sample rate of the recognizer's model. False after printing why it
 * failed; then *code is the exit code. */
bool inputs_open(struct inputs *inputs, struct linnet_context *context, const struct linnet_recognizer *recognizer,
                 const char **paths, size_t count, int *code);
void inputs_close(struct inputs *inputs);

/* The utterance's id, or the path. */
const char *inputs_name(const struct inputs *inputs, size_t item);

/* The id of the utterance, or the name of the file without folder and extension. For a file that was found in a folder:
 * its path in that folder, without extension. */
const char *inputs_id(const struct inputs *inputs, size_t item);

/* Whether the input was found in a folder of the command line. */
bool inputs_is_walked(const struct inputs *inputs, size_t item);

/* Whether the only input is one file that the command line names; formats that can do so then omit its name. */
bool inputs_is_bare(const struct inputs *inputs);

/* Gives the audio of one input to a stream and finishes it. */
enum linnet_status inputs_recognise(const struct inputs *inputs, struct linnet_context *context, size_t item,
                                    struct linnet_recognizer_stream *stream);

/* Opens the audio of one input that is a file. */
enum linnet_status inputs_open_audio(const struct inputs *inputs, struct linnet_context *context, size_t item,
                                     struct linnet_audio **audio);

/* All audio of one input; release it with linnet_audio_release. */
enum linnet_status inputs_read(const struct inputs *inputs, struct linnet_context *context, size_t item,
                               float **samples, size_t *count);

/* Fills in all but the spans. */
void inputs_describe(const struct inputs *inputs, size_t item, const struct linnet_recognizer_stream *stream,
                     struct linnet_output *output);

#endif
