/* The fingerprint of a model: what its results depend on. */
#include "model/format/model.h"

#include <string.h>

#include "base/hash.h"

static uint64_t mix_text(uint64_t hash, const char *text) {
  for (; text && *text; text++)
    hash = linnet_hash_word(hash, (unsigned char)*text);
  return linnet_hash_word(hash, 0);
}

static uint64_t mix_weights(uint64_t hash, const struct linnet_tensor *tensor) {
  float weights[1024];
  for (size_t first = 0, n; first < tensor->count; first += n) {
    n = tensor->count - first < 1024 ? tensor->count - first : 1024;
    linnet_tensor_floats(tensor, first, n, weights);
    for (size_t i = 0; i < n; i++) {
      uint32_t bits;
      memcpy(&bits, &weights[i], sizeof bits);
      hash = linnet_hash_word(hash, bits);
    }
  }
  return hash;
}

uint64_t linnet_model_fingerprint(const struct linnet_model *model, const struct linnet_safetensors *file) {
  static const char *const keys[] = {"config", "features", "symbols"};
  const struct linnet_parameters *parameters = model->parameters;
  uint64_t hash = LINNET_HASH_START;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    hash = mix_text(hash, linnet_model_metadata(model, keys[i]));
  for (size_t i = 0; i < parameters->count; i++)
    hash = mix_weights(hash, linnet_safetensors_find(file, parameters->list[i].name));
  return hash;
}
