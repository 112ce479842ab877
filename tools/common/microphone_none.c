/* A build without the headers of PortAudio has no microphone. */
#include "microphone.h"

static int refuse(void) {
  return tool_fail(
      "this build reads no microphone, because it was made without PortAudio (Debian: portaudio19-dev): give it audio "
      "by a pipe: arecord -f S16_LE -r 16000 -t raw | linnet listen --raw s16le -");
}

int microphone_list(void) {
  return refuse();
}

struct microphone *microphone_open(struct linnet_context *context, const char *device, double sample_rate,
                                   struct linnet_audio **audio) {
  (void)context;
  (void)device;
  (void)sample_rate;
  (void)audio;
  refuse();
  return NULL;
}

double microphone_waiting(const struct microphone *microphone) {
  (void)microphone;
  return 0;
}

void microphone_close(struct microphone *microphone) {
  (void)microphone;
}
