/* The core has a second copy of the defaults and ranges of the filterbank, because it cannot call the front end. Both
 * copies must agree. */
#include "test.h"
#include <linnet/fbank.h>

#include "model/format/feature_config.h"

static struct linnet_context *context;

static void test_defaults(void) {
  struct linnet_feature_config features;
  struct linnet_fbank_settings settings;
  linnet_feature_config_default(&features);
  linnet_fbank_settings_default(&settings);
  const struct linnet_fbank_settings *fbank = &features.fbank;
  CHECK(fbank->size == settings.size && fbank->sample_rate == settings.sample_rate &&
            fbank->frame_length == settings.frame_length && fbank->frame_shift == settings.frame_shift &&
            fbank->num_mel == settings.num_mel && fbank->low_frequency == settings.low_frequency &&
            fbank->high_frequency == settings.high_frequency && fbank->preemphasis == settings.preemphasis &&
            fbank->dither == settings.dither,
        "the defaults differ");
}

/* Whether both give the same verdict on a change to the defaults. */
static void check_same(const char *json, bool wanted) {
  struct linnet_feature_config features;
  struct linnet_fbank *fbank = NULL;
  linnet_feature_config_default(&features);
  bool model = linnet_feature_config_parse(context, json, "FILE", &features) == LINNET_OK;
  CHECK(model == wanted, "%s: the model file says %d: %s", json, model, linnet_context_error(context));
  if (!model)
    return;
  bool front = linnet_fbank_create(context, &features.fbank, &fbank) == LINNET_OK;
  CHECK(front, "%s: the filterbank refuses it: %s", json, linnet_context_error(context));
  linnet_fbank_destroy(fbank);
}

int main(void) {
  context = test_context();
  test_defaults();
  check_same("{}", true);
  check_same("{\"sample_rate\": 8000, \"num_mel\": 23}", true);
  check_same("{\"sample_rate\": 48000, \"high_frequency\": -4000}", true);
  check_same("{\"high_frequency\": 7600, \"low_frequency\": 0, \"preemphasis\": 0}", true);
  check_same("{\"high_frequency\": -8000}", false);
  check_same("{\"high_frequency\": 8001}", false);
  check_same("{\"low_frequency\": 8000}", false);
  linnet_context_destroy(context);
  return test_result();
}
