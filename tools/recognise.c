#include "recognise.h"

#include <stdlib.h>

enum { CHUNK = 1 << 16 }; /* samples read at once */

static struct {
  char *raw_format;
  int channel, raw_channels;
  double raw_rate;
} options = {.channel = LINNET_CHANNEL_MIX, .raw_rate = 16000, .raw_channels = 1};

struct poptOption recognise_audio_options[] = {
    {"channel", 'c', POPT_ARG_INT, &options.channel, 0, "channel to use, from 0 (default: the mean of all)", "N"},
    {"raw", 0, POPT_ARG_STRING, &options.raw_format, 0,
     "input without a header: s16le, s16be, s24le, s32le, f32le, u8, ulaw, alaw", "FORMAT"},
    {"raw-rate", 0, POPT_ARG_DOUBLE, &options.raw_rate, 0, "its sample rate (default 16000)", "HZ"},
    {"raw-channels", 0, POPT_ARG_INT, &options.raw_channels, 0, "its channels (default 1)", "N"},
    POPT_TABLEEND};

bool recognise_audio(const struct linnet_model *model, struct linnet_audio_settings *audio) {
  linnet_audio_settings_default(audio);
  audio->sample_rate = linnet_model_features(model)->fbank.sample_rate;
  audio->channel = options.channel;
  audio->raw_rate = options.raw_rate;
  audio->raw_channels = options.raw_channels;
  audio->raw_format = linnet_sample_format_find(options.raw_format);
  if (!options.raw_format || audio->raw_format != LINNET_SAMPLE_NONE)
    return true;
  tool_fail("--raw %s: not one of s16le, s16be, s24le, s32le, f32le, u8, ulaw, alaw", options.raw_format);
  return false;
}

static enum linnet_status feed(struct linnet_audio *audio, struct linnet_stream *stream, float *samples) {
  for (;;) {
    size_t count = 0;
    enum linnet_status status = linnet_audio_read(audio, samples, CHUNK, &count);
    if (count > 0 && (status == LINNET_OK || status == LINNET_END)) {
      enum linnet_status accepted = linnet_stream_accept(stream, samples, count);
      if (accepted != LINNET_OK)
        return accepted;
    }
    if (status != LINNET_OK)
      return status == LINNET_END ? LINNET_OK : status;
  }
}

static enum linnet_status feed_file(struct linnet_context *context, const struct recognise_input *input,
                                    const char *path, struct linnet_stream *stream) {
  struct linnet_audio *audio = NULL;
  float *samples = malloc(CHUNK * sizeof *samples);
  enum linnet_status status = samples ? LINNET_OK : LINNET_ERROR_MEMORY;
  if (status == LINNET_OK)
    status = linnet_audio_open(context, path, &input->audio, &audio);
  if (status == LINNET_OK)
    status = feed(audio, stream, samples);
  linnet_audio_destroy(audio);
  free(samples);
  return status;
}

static enum linnet_status feed_utterance(struct linnet_context *context, const struct recognise_input *input,
                                         size_t utterance, struct linnet_stream *stream) {
  float *samples = NULL;
  size_t count = 0;
  enum linnet_status status =
      linnet_data_folder_audio(input->folder, context, utterance, &input->audio, &samples, &count);
  if (status == LINNET_OK)
    status = linnet_stream_accept(stream, samples, count);
  linnet_audio_release(context, samples);
  return status;
}

const char *recognise_name(const struct recognise_input *input, size_t item) {
  return input->folder ? linnet_data_folder_id(input->folder, item) : input->paths[item];
}

enum linnet_status recognise(struct linnet_context *context, const struct recognise_input *input, size_t item,
                             struct linnet_stream *stream) {
  enum linnet_status status = input->folder ? feed_utterance(context, input, item, stream)
                                            : feed_file(context, input, input->paths[item], stream);
  return status == LINNET_OK ? linnet_stream_finish(stream) : status;
}
