/* The inputs of the commands that recognise: audio files, or the utterances of a Kaldi data folder. */
#ifndef LINNET_TOOL_INPUTS_H
#define LINNET_TOOL_INPUTS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include <linnet/kaldi.h>
#include <linnet/linnet.h>

#include "speakers.h"
#include "tool.h"

/* --- paths (walk.c) ----------------------------------------------------------------------------------------------- */

/* The audio files that a command line names: files, and with --recursive those in folders. */
struct walk {
  char **paths;  /* (count) */
  size_t *roots; /* (count): offset of the path within the folder that was walked; 0: the command line names the path */
  size_t count, capacity;
  bool misused;      /* a folder without --recursive */
  size_t num_failed; /* folders that could not be read, or have no audio */
  size_t num_others; /* files in folders whose format is not supported; the first one: */
  char other[256];
};

/* Keeps the order of the command line; sorts the files of a folder by name, folder by folder. Skips names that begin
 * with a dot, and, unless `all`, names without an extension of audio. Prints and counts folders that fail, and goes on.
 * False after printing why there is no list; release it in either case. */
bool walk_paths(struct walk *walk, const char **paths, size_t count, bool recursive, bool all);
void walk_release(struct walk *walk);

/* Whether a name has an extension of audio. */
bool walk_is_audio(const char *name);

/* --- audio without a header --------------------------------------------------------------------------------------- */

/* The values of the rows below. */
struct raw_options {
  char *format; /* NULL: audio has a header */
  double rate;
  int channels;
};

/* Not given: those of the library. */
#define RAW_DEFAULTS                                                                                                   \
  { .rate = TOOL_NOT_GIVEN, .channels = TOOL_NO_INTEGER }
#define RAW_FORMATS "s16le, s16be, s24le, s32le, f32le, u8, ulaw or alaw"

/* Rows of option tables; `raw` is a struct raw_options. */
#define RAW_FORMAT_ROW(raw)                                                                                            \
  {                                                                                                                    \
    "raw", 0, POPT_ARG_STRING, &(raw).format, 0,                                                                       \
        "audio has no header; its samples are " RAW_FORMATS " (default: audio with a header)", "FORMAT"                \
  }
#define RAW_RATE_ROW(raw)                                                                                              \
  { "raw-rate", 0, POPT_ARG_DOUBLE, &(raw).rate, 0, "sample rate of --raw audio (default 16000)", "HZ" }
#define RAW_CHANNELS_ROW(raw)                                                                                          \
  { "raw-channels", 0, POPT_ARG_INT, &(raw).channels, 0, "channels of --raw audio (default 1)", "N" }

/* Writes the values to settings of audio. */
void raw_options_read(const struct raw_options *raw, struct linnet_audio_settings *settings);

/* False after printing what is wrong with --raw, --raw-rate or --raw-channels. */
bool raw_options_check(const struct raw_options *raw);

/* False after printing what is wrong with --channel, --max-seconds or these options. */
bool audio_options_check(const struct raw_options *raw, int channel, double max_seconds);

/* Adds the options to an error of the library, which does not know them: --max-seconds in place of the setting of the
 * length of audio, and --raw and its like where audio has no header. Returns `status`. */
enum linnet_status audio_options_name(struct linnet_context *context, enum linnet_status status);

/* --- inputs ------------------------------------------------------------------------------------------------------- */

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

/* Whether --raw is given. */
bool inputs_are_raw(void);

/* The sentence about a live pipe without it; its argument is the path. */
#define INPUTS_NEED_RAW                                                                                                \
  "'%s' needs --raw FORMAT, such as --raw s16le: audio with a header cannot be recognised while it arrives"

/* The name of an option about audio that is given; NULL: none is. */
const char *inputs_audio_option(void);

/* Opens the inputs that the options name, at the sample rate of the recognizer's model. False after printing why it
 * failed; then *code is the exit code. */
bool inputs_open(struct inputs *inputs, struct linnet_context *context, const struct linnet_recognizer *recognizer,
                 const char **paths, size_t count, int *code);
void inputs_close(struct inputs *inputs);

/* Prints how many folders failed, at the end of a run that may have been long: TOOL_FAILURE; or TOOL_OK. */
int inputs_report_folders(const struct inputs *inputs);

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
