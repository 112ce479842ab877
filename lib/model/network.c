/* What all kinds of network share, and the choice among them. */
#include "model/network.h"

#include "model/network_kind.h"

static const struct linnet_network_kind *const kinds[] = {
    [LINNET_ENCODER_TRANSFORMER] = &linnet_transformer_network, [LINNET_ENCODER_BLSTM] = &linnet_blstm_network};

static const struct linnet_network_kind *kind_of(const struct linnet_network *network) {
  return kinds[network->config->encoder];
}

size_t linnet_network_shard_rows(const struct linnet_network *network) {
  return kind_of(network)->shard_rows;
}

size_t linnet_stacked_frames(const struct linnet_config *config, size_t frames) {
  size_t stack = config->stack;
  return frames / stack + (frames % stack != 0);
}

void linnet_stack_frames(const struct linnet_config *config, const float *features, size_t frames, real *out) {
  size_t dim = config->input_dim, rows = linnet_stacked_frames(config, frames) * config->stack;
  for (size_t t = 0; t < rows; t++) {
    const float *row = features + (t < frames ? t : frames - 1) * dim;
    for (size_t c = 0; c < dim; c++)
      out[t * dim + c] = row[c];
  }
}

size_t linnet_network_bytes(const struct linnet_network *network, size_t frames, size_t sequences) {
  struct linnet_shard shard = {.pack = {.sequences = sequences}};
  struct linnet_pass pass = {.network = network, .shard = &shard, .frames = frames};
  struct linnet_arena arena = {0};
  linnet_arena_take(&arena, 1, sizeof pass);
  kind_of(network)->plan(&pass, &arena);
  return arena.used;
}

struct linnet_pass *linnet_network_forward(const struct linnet_network *network, const real *weights,
                                           const struct linnet_shard *shard, void *memory, size_t bytes, real *logits) {
  struct linnet_arena arena = {.base = memory, .size = bytes};
  struct linnet_pass *pass = linnet_arena_take(&arena, 1, sizeof *pass);
  *pass = (struct linnet_pass){
      .network = network, .shard = shard, .weights = weights, .frames = linnet_shard_frames(shard)};
  kind_of(network)->plan(pass, &arena);
  kind_of(network)->forward(pass, logits);
  return pass;
}

void linnet_network_backward(struct linnet_pass *pass, const real *dlogits, real *gradients_add) {
  pass->gradients = gradients_add;
  kind_of(pass->network)->backward(pass, dlogits);
}
