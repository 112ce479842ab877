/* The fingerprint of a model: what its results depend on. */
#include "model/format/model.h"

#include <string.h>

/* FNV-1a, 64 bits, of words of 32 bits. */
static uint64_t mix(uint64_t hash, uint32_t word) {
  return (hash ^ word) * 0x100000001B3u;
}

static uint64_t mix_text(uint64_t hash, const char *text) {
  for (; text && *text; text++)
    hash = mix(hash, (unsigned char)*text);
  return mix(hash, 0);
}

static uint64_t mix_weights(uint64_t hash, size_t count, const real *weights) {
  for (size_t i = 0; i < count; i++) {
    const float weight = (float)weights[i];
    uint32_t bits;
    memcpy(&bits, &weight, sizeof bits);
    hash = mix(hash, bits);
  }
  return hash;
}

uint64_t linnet_model_fingerprint(const struct linnet_model *model) {
  static const char *const keys[] = {"config", "features", "symbols"};
  const struct linnet_parameters *parameters = model->parameters;
  uint64_t hash = 0xCBF29CE484222325u;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    hash = mix_text(hash, linnet_model_metadata(model, keys[i]));
  for (size_t i = 0; i < parameters->count; i++) {
    const struct linnet_parameter *p = &parameters->list[i];
    hash = mix_weights(hash, p->count, model->weights + p->offset);
  }
  return hash;
}
