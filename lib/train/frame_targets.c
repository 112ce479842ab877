/* The frame targets of a training: what the corpus gives as the symbols of its frames. */
#include "base/hash.h"
#include "base/numbers.h"
#include "train/trainer.h"

/* All utterances have at most `capacity` frames. */
static enum linnet_status hash_targets(struct linnet_trainer *t, size_t capacity) {
  int *targets = linnet_alloc(t->context, capacity, sizeof *targets);
  enum linnet_status status = targets ? LINNET_OK : LINNET_ERROR_MEMORY;
  if (!targets)
    return linnet_fail(t->context, status, "out of memory for the targets of %zu frames", capacity);
  t->targets_hash = LINNET_HASH_START;
  for (size_t u = 0; status == LINNET_OK && u < t->train.num_utterances; u++) {
    const size_t frames = t->train_frames[u];
    status = linnet_batch_read_targets(&t->config, &t->train, t->context, u, 0, frames, targets);
    t->targets_hash = linnet_hash(t->targets_hash, targets, status == LINNET_OK ? frames * sizeof *targets : 0);
  }
  linnet_free(t->context, targets);
  return status;
}

enum linnet_status linnet_trainer_check_targets(struct linnet_trainer *t) {
  size_t capacity = 1;
  for (size_t u = 0; u < t->train.num_utterances; u++)
    capacity = linnet_max_size(capacity, t->train_frames[u]);
  return t->settings.frame_weight > 0 ? hash_targets(t, capacity) : LINNET_OK;
}
