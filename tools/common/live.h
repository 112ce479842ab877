/* Recognition of audio while it arrives, with results at once: lines of text, events in JSON, or a line of a terminal
 * that is rewritten. */
#ifndef LINNET_TOOL_LIVE_H
#define LINNET_TOOL_LIVE_H

#include <linnet/audio.h>
#include <linnet/recognizer.h>

#include "microphone.h"
#include "search_options.h"
#include "tool.h"

struct live {
  struct linnet_context *context; /* of the recognizer: an interrupt does not cancel it */
  struct linnet_context *reading; /* of the audio: an interrupt does */
  struct recognizer_options options;
  struct linnet_recognizer *recognizer;
  struct linnet_recognizer_stream *stream;
  bool json;
  double speed;                        /* at which a file is read: 1 as if it were spoken now; 0 as fast as possible */
  double started;                      /* on the clock: the start of the audio */
  double taken;                        /* seconds of audio that the stream has taken */
  const struct microphone *microphone; /* that the audio comes from, or NULL */
  bool two_passes;
  bool is_late; /* segments end without their second pass, */
  bool warned;  /* which the user was told */
};

/* Loads the recognizer at `path` with the options of the command line, with endpoints and partial results if it does
 * not say otherwise. The live recognizer that is installed also gets a second pass, unless options change its search.
 * Returns the exit code, after printing why it failed. Close it in either case. */
int live_open(struct live *live, const char *path);
void live_close(struct live *live);

/* The sample rate of the model. */
double live_rate(const struct live *live);

/* Recognises the audio up to its end or an interrupt; the audio before an interrupt has its final result, too. `paced`:
 * the audio is a file, which is read at live->speed. While recognition of such a file or of a microphone is late,
 * segments end without their second pass. `name` is for messages. Returns the exit code. */
int live_run(struct live *live, struct linnet_audio *audio, const char *name, bool paced);

#endif
