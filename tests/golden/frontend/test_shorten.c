/* Shorten inside SPHERE: decodes the files of make_shorten.py sample for sample. Then truncates them at every byte, and
 * flips every bit of their headers and first blocks: the result is a status and a message, or other samples, but never
 * more samples. */
#include <linnet/audio.h>

#include "frontend/audio/audio_decoder.h"
#include "golden/golden.h"

static struct linnet_context *context;

static const struct {
  const char *name;
  int channels;
} cases[] = {{"v2", 1}, {"v2_big", 1},   {"v2_stereo", 2}, {"v2_no_means", 1},   {"v2_unsigned", 1},
             {"v1", 1}, {"v1_means", 2}, {"v2_ulaw", 1},   {"v2_ulaw_zeros", 2}, {"v1_ulaw", 1}};

enum { MAX_BYTES = 1 << 20 };

/* One channel of a file in memory; *count samples on success. */
static enum linnet_status read_channel(const void *data, size_t bytes, int channel, float **samples, size_t *count) {
  struct linnet_audio_settings settings;
  struct linnet_audio *audio = NULL;
  linnet_audio_settings_default(&settings);
  settings.channel = channel;
  *samples = NULL;
  enum linnet_status status = linnet_audio_open_memory(context, data, bytes, &settings, &audio);
  if (status == LINNET_OK)
    status = linnet_audio_read_all(audio, samples, count);
  linnet_audio_destroy(audio);
  return status;
}

static unsigned char *load(const char *name, size_t *bytes) {
  char path[128];
  void *data = NULL;
  snprintf(path, sizeof path, "tests/golden/shorten_%s.sph", name);
  REQUIRE(linnet_file_read(context, test_source(path), MAX_BYTES, &data, bytes) == LINNET_OK, "%s",
          linnet_context_error(context));
  return data;
}

static void check_samples(const struct golden *g, size_t index) {
  size_t bytes, values, count = 0, channels = (size_t)cases[index].channels;
  unsigned char *data = load(cases[index].name, &bytes);
  int32_t *expected = golden_integers(g, "", cases[index].name, &values);
  for (size_t c = 0; c < channels; c++) {
    float *samples;
    size_t wrong = 0;
    REQUIRE(read_channel(data, bytes, (int)c, &samples, &count) == LINNET_OK, "%s: %s", cases[index].name,
            linnet_context_error(context));
    REQUIRE(count == values / channels, "%s: %zu samples, not %zu", cases[index].name, count, values / channels);
    for (size_t t = 0; t < count; t++)
      wrong += samples[t] != (float)expected[t * channels + c];
    CHECK(wrong == 0, "%s, channel %zu: %zu of %zu samples are wrong", cases[index].name, c, wrong, count);
    linnet_audio_release(context, samples);
  }
  free(expected);
  linnet_free(context, data);
}

/* A stream without its end mark is an error that names the byte. */
static void check_cuts(size_t index) {
  size_t bytes, count;
  unsigned char *data = load(cases[index].name, &bytes);
  for (size_t cut = 1; cut + 8 < bytes; cut += cut > 1024 ? 1 : 100) {
    float *samples;
    enum linnet_status status = read_channel(data, cut, LINNET_CHANNEL_MIX, &samples, &count);
    CHECK(status == LINNET_ERROR_FORMAT, "%s cut at %zu: status %d", cases[index].name, cut, (int)status);
    CHECK(cut < 1030 || strstr(linnet_context_error(context), "byte"), "%s cut at %zu: %s", cases[index].name, cut,
          linnet_context_error(context));
    linnet_audio_release(context, samples);
  }
  linnet_free(context, data);
}

static void check_flips(size_t index) {
  size_t bytes, count, failures = 0;
  unsigned char *data = load(cases[index].name, &bytes);
  for (size_t bit = 1024 * 8; bit < 1124 * 8; bit++) {
    float *samples = NULL;
    data[bit / 8] ^= 1 << bit % 8;
    if (read_channel(data, bytes, LINNET_CHANNEL_MIX, &samples, &count) == LINNET_OK)
      CHECK(count < MAX_BYTES, "%s, bit %zu: %zu samples", cases[index].name, bit, count);
    else
      failures++;
    linnet_audio_release(context, samples);
    data[bit / 8] ^= 1 << bit % 8;
  }
  CHECK(failures > 32, "%s: only %zu of 800 damaged streams were refused", cases[index].name, failures);
  linnet_free(context, data);
}

/* The header does not agree with the samples. */
static void check_header(const char *from, const char *to, const char *word) {
  size_t bytes, count;
  unsigned char *data = load("v2", &bytes);
  float *samples;
  char *at = strstr((char *)data, from);
  REQUIRE(at && strlen(from) == strlen(to), "%s", from);
  memcpy(at, to, strlen(to));
  enum linnet_status status = read_channel(data, bytes, LINNET_CHANNEL_MIX, &samples, &count);
  CHECK(status == LINNET_ERROR_FORMAT && strstr(linnet_context_error(context), word), "%s: status %d, %s", to,
        (int)status, linnet_context_error(context));
  linnet_audio_release(context, samples);
  linnet_free(context, data);
}

static void check_ulaw(const struct golden *g) {
  size_t values;
  int32_t *expected = golden_integers(g, "", "ulaw", &values);
  REQUIRE(values == (size_t)LINNET_SHORTEN_ULAW_SHIFTS * 256, "%zu values", values);
  for (unsigned shift = 0; shift < LINNET_SHORTEN_ULAW_SHIFTS; shift++) {
    float got[256];
    linnet_shorten_ulaw(shift, got);
    for (int i = 0; i < 256; i++)
      CHECK(got[i] == (float)expected[shift * 256 + (unsigned)i], "shift %u, sample %d: %g", shift, i - 128,
            (double)got[i]);
  }
  free(expected);
}

int main(void) {
  context = test_context();
  struct golden g;
  golden_open(&g, context, "shorten.safetensors");
  check_ulaw(&g);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    check_samples(&g, i);
    check_flips(i);
  }
  check_cuts(0);
  check_cuts(2);
  check_header("channel_count -i 1", "channel_count -i 2", "channels");
  check_header("channel_count -i 1", "channel_count -i 0", "channel_count");
  check_header("sample_count -i 1100", "sample_count -i 9100", "ends after 1100 samples");
  check_header("sample_count -i 1100", "sample_count -i 1101", "announces 1101");
  check_header("sample_rate -i 16000", "sample_rote -i 16000", "sample_rate");
  check_header("   1024\n", "   1025\n", "byte");
  check_header("   1024\n", "9991024\n", "size");
  golden_close(&g);
  linnet_context_destroy(context);
  return test_result();
}
