/* The filterbank against kaldi-native-fbank: stored values (tests/golden/make_fbank.py) of a synthetic signal and of
 * two real recordings, read by the library as it reads any file. */
#include <linnet/audio.h>
#include <linnet/fbank.h>

#include "golden/golden.h"

static const double bound = 1e-3;

static struct linnet_context *context;

/* The generator in the metadata of fbank_synthetic.safetensors. */
static void make_signal(float *signal) {
  uint32_t x = 12345;
  for (int n = 0; n < 16000; n++) {
    x = x * 1664525u + 1013904223u;
    int sample = (int16_t)(x >> 16) / 4;
    sample += (n / 40) % 2 ? -3000 : 3000;
    if (n >= 8000 && n < 9600)
      sample = 0;
    signal[n] = (float)sample;
  }
}

static void compare(const char *name, const float *samples, size_t n, const float *expected, size_t values) {
  struct linnet_fbank *fbank = NULL;
  REQUIRE(linnet_fbank_create(context, NULL, &fbank) == LINNET_OK, "%s", linnet_context_error(context));
  size_t frames = linnet_fbank_num_frames(fbank, n);
  REQUIRE(frames * 40 >= values && values > 0, "%s: %zu frames, but %zu values are stored", name, frames, values);
  float *features = malloc(frames * 40 * sizeof *features);
  REQUIRE(features, "out of memory");
  CHECK(linnet_fbank_compute(fbank, samples, n, features) == LINNET_OK, "%s", linnet_context_error(context));
  double error = golden_error(features, expected, values);
  CHECK(error <= bound, "%s: error %.2e, bound %.0e", name, error, bound);
  printf("%s: %zu frames, error %.2e, bound %.0e\n", name, values / 40, error, bound);
  free(features);
  linnet_fbank_destroy(fbank);
}

static void test_synthetic(void) {
  struct golden g;
  golden_open(&g, context, "fbank_synthetic.safetensors");
  static float signal[16000];
  make_signal(signal);
  size_t count, values;
  int32_t *first = golden_integers(&g, "", "first_samples", &count);
  for (size_t i = 0; i < count; i++)
    CHECK(signal[i] == (float)first[i], "sample %zu is %g, not %d", i, signal[i], (int)first[i]);
  float *expected = golden_floats(&g, "", "features", &values);
  CHECK(values == 98 * 40, "%zu values stored", values);
  compare("synthetic", signal, 16000, expected, values);
  free(first), free(expected);
  golden_close(&g);
}

/* False where the recording is not there. */
static bool test_recording(const struct golden *g, int index) {
  char prefix[16], key[32];
  snprintf(prefix, sizeof prefix, "%d.", index);
  snprintf(key, sizeof key, "%d.path", index);
  const char *name = golden_text(g, key), *path = test_data(name);
  if (!path)
    return false;
  struct linnet_audio *audio = NULL;
  float *samples = NULL;
  size_t n = 0, values;
  REQUIRE(linnet_audio_open(context, path, NULL, &audio) == LINNET_OK, "%s", linnet_context_error(context));
  REQUIRE(linnet_audio_read_all(audio, &samples, &n) == LINNET_OK, "%s", linnet_context_error(context));
  snprintf(key, sizeof key, "%d.samples", index);
  CHECK(n == strtoul(golden_text(g, key), NULL, 10), "%s: %zu samples, not %s", name, n, golden_text(g, key));
  float *expected = golden_floats(g, prefix, "features", &values);
  compare(name, samples, n, expected, values);
  free(expected);
  linnet_audio_release(context, samples);
  linnet_audio_destroy(audio);
  return true;
}

int main(void) {
  context = test_context();
  test_synthetic();
  struct golden g;
  golden_open(&g, context, "fbank_real.safetensors");
  int found = test_recording(&g, 0) + test_recording(&g, 1);
  golden_close(&g);
  linnet_context_destroy(context);
  int result = test_result();
  if (result == 0 && found < 2) /* the tests that ran have passed, but some were skipped */
    return test_skip("the recordings are not there: set LINNET_DATA to the folder of real speech");
  return result;
}
