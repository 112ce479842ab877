/* Any bytes as an audio file, and as raw samples. Samples that come out are finite. */
#include <linnet/audio.h>

#include <math.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"

/* libsndfile 1.2.0 leaks when it refuses a damaged Vorbis file. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:vorbis_info_init\n";
}

static struct linnet_context *context;

static void demand(int condition) {
  if (!condition)
    abort();
}

/* At most a few seconds: a small file can have hours of compressed silence. */
static void read_some(const uint8_t *data, size_t size, const struct linnet_audio_settings *settings) {
  struct linnet_audio *audio = NULL;
  float samples[1000];
  size_t count;
  if (linnet_audio_open_memory(context, data, size, settings, &audio) != LINNET_OK)
    return;
  demand(linnet_audio_input_rate(audio) > 0 && linnet_audio_num_input_channels(audio) > 0);
  for (int i = 0; i < 50 && linnet_audio_read(audio, samples, 1000, &count) == LINNET_OK; i++) {
    demand(count > 0 && count <= 1000);
    for (size_t j = 0; j < count; j++)
      demand(isfinite(samples[j]));
  }
  (void)linnet_audio_check_end(audio);
  linnet_audio_destroy(audio);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!context)
    demand(linnet_context_create(NULL, &context) == LINNET_OK);
  struct linnet_audio_settings settings;
  linnet_audio_settings_default(&settings);
  if (size == 0)
    return 0;
  read_some(data, size, &settings);
  settings.raw_format = 1 + data[0] % 8;
  settings.num_raw_channels = 1 + data[0] / 8 % 3;
  settings.sample_rate = 8000;
  read_some(data + 1, size - 1, &settings);
  return 0;
}
