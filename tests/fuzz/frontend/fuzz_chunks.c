/* Filterbank: the first byte chooses settings, the others are the sizes of chunks. Any chunking gives the same bytes.
 */
#include <linnet/fbank.h>

#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

enum { SAMPLES = 6000, KINDS = 4 };

static float samples[SAMPLES];

static void demand(int condition) {
  if (!condition)
    abort();
}

/* A filterbank of each kind, made once, and its output for the whole signal. */
static struct linnet_fbank *fbanks[KINDS];
static float *expected[KINDS];

static void prepare(void) {
  struct linnet_context *context = NULL;
  demand(linnet_context_create(NULL, &context) == LINNET_OK);
  for (int i = 0; i < SAMPLES; i++)
    samples[i] = (float)(i * 7919 % 2003 - 1000);
  for (int kind = 0; kind < KINDS; kind++) {
    struct linnet_fbank_settings settings;
    linnet_fbank_settings_default(&settings);
    settings.num_mel = 10;
    settings.dither = kind % 2;
    settings.frame_length = kind < 2 ? 25 : 8;
    settings.frame_shift = kind < 2 ? 10 : 11; /* windows with gaps between them */
    demand(linnet_fbank_create(context, &settings, &fbanks[kind]) == LINNET_OK);
    expected[kind] = malloc(linnet_fbank_num_frames(fbanks[kind], SAMPLES) * 10 * sizeof(float));
    demand(expected[kind] && linnet_fbank_compute(fbanks[kind], samples, SAMPLES, expected[kind]) == LINNET_OK);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static float features[SAMPLES];
  if (!fbanks[0])
    prepare();
  int kind = size > 0 ? data[0] % KINDS : 0;
  size_t taken = 0, frames = 0;
  linnet_fbank_reset(fbanks[kind]);
  for (size_t i = 1; i <= size && taken < SAMPLES; i++) {
    size_t chunk = i < size ? (size_t)data[i] * 3 : SAMPLES, made;
    chunk = chunk < SAMPLES - taken ? chunk : SAMPLES - taken;
    size_t pending = linnet_fbank_num_pending(fbanks[kind], chunk);
    demand(linnet_fbank_accept(fbanks[kind], samples + taken, chunk, features + frames * 10, pending, &made) ==
               LINNET_OK &&
           made == pending);
    taken += chunk;
    frames += made;
  }
  demand(frames == linnet_fbank_num_frames(fbanks[kind], taken));
  demand(memcmp(features, expected[kind], frames * 10 * sizeof(float)) == 0);
  return 0;
}
