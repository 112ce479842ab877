/* What the commands that run a model over audio share: files or the utterances of a data folder, fed to a stream. */
#ifndef LINNET_TOOL_RECOGNISE_H
#define LINNET_TOOL_RECOGNISE_H

#include <stdbool.h>

#include <linnet/kaldi.h>
#include <linnet/linnet.h>

#include "tool.h"

struct recognise_input {
  const char **paths;                      /* (count), or NULL: */
  const struct linnet_data_folder *folder; /* its utterances */
  size_t count;
  struct linnet_audio_settings audio;
};

/* --channel, --raw, --raw-rate, --raw-channels; include it as the common options. */
extern struct poptOption recognise_audio_options[];

/* Takes these options over into audio settings for the model; false after printing what is wrong. */
bool recognise_audio(const struct linnet_model *model, struct linnet_audio_settings *audio);

/* The path of a file, or the id of an utterance. */
const char *recognise_name(const struct recognise_input *input, size_t item);

/* Feeds all of an item to the stream and finishes it. */
enum linnet_status recognise(struct linnet_context *context, const struct recognise_input *input, size_t item,
                             struct linnet_stream *stream);

#endif
