/* Shuffles the utterances of an epoch and divides them into batches by their frames. */
#include "train/batches.h"

#include "base/philox.h"
#include "train/draws.h"

enum linnet_status linnet_batches_create(struct linnet_context *context, size_t utterances,
                                         struct linnet_batches *batches) {
  *batches = (struct linnet_batches){0};
  batches->order = linnet_calloc(context, utterances + 1, sizeof *batches->order);
  batches->starts = linnet_calloc(context, utterances + 2, sizeof *batches->starts);
  if (batches->order && batches->starts)
    return LINNET_OK;
  linnet_batches_destroy(context, batches);
  return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the order of %zu utterances", utterances);
}

void linnet_batches_destroy(struct linnet_context *context, struct linnet_batches *batches) {
  linnet_free(context, batches->order);
  linnet_free(context, batches->starts);
  *batches = (struct linnet_batches){0};
}

/* Fisher-Yates. */
static void shuffle(size_t *order, size_t n, uint64_t seed, uint64_t epoch) {
  for (size_t i = n; i > 1; i--) {
    struct linnet_philox random = linnet_philox(seed, (uint64_t)LINNET_DRAW_ORDER << 56 | epoch, i);
    uint64_t word = (uint64_t)random.word[1] << 32 | random.word[0];
    size_t j = (size_t)(word % i), swap = order[i - 1];
    order[i - 1] = order[j];
    order[j] = swap;
  }
}

void linnet_batches_fill(struct linnet_batches *batches, const size_t *frames, size_t utterances, size_t batch_frames,
                         uint64_t seed, uint64_t epoch) {
  size_t n = 0, packed = 0;
  for (size_t u = 0; u < utterances; u++)
    if (frames[u] > 0)
      batches->order[n++] = u;
  if (epoch > 0)
    shuffle(batches->order, n, seed, epoch);
  batches->utterances = n;
  batches->batches = 0;
  for (size_t i = 0; i < n; i++) {
    size_t length = frames[batches->order[i]];
    if (i == 0 || length > batch_frames - packed) {
      batches->starts[batches->batches++] = i;
      packed = 0;
    }
    packed = length < batch_frames - packed ? packed + length : batch_frames;
  }
  batches->starts[batches->batches] = n;
}
