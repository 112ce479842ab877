/* Divides a batch among shards. */
#include "train/shards.h"

/* Without a setting: at most this many. */
enum { USUAL_SHARDS = 16 };

/* A power of two, at least 2 so that two threads share the work, of about `aim` rows each. */
static size_t count_for(size_t rows, size_t aim) {
  size_t count = 2;
  while (count < USUAL_SHARDS && 2 * rows > 3 * aim * count)
    count *= 2;
  return count;
}

static size_t rows_of(const struct linnet_network *network, const size_t *utterances, size_t count,
                      const size_t *nominal) {
  size_t rows = 0;
  for (size_t i = 0; i < count; i++)
    rows += linnet_stacked_frames(network->config, nominal[utterances[i]]);
  return rows;
}

static size_t choose_count(const struct linnet_network *network, size_t wanted, size_t rows) {
  if (wanted > 0)
    return wanted;
  return network->device->ops->host ? count_for(rows, linnet_network_shard_rows(network)) : 1;
}

/* A shard gets the utterances whose middle is in its part of the rows. */
void linnet_shards_divide(const struct linnet_network *network, size_t wanted, const size_t *utterances, size_t count,
                          const size_t *nominal, struct linnet_shards *shards) {
  size_t total = rows_of(network, utterances, count, nominal), before = 0, u = 0;
  shards->count = choose_count(network, wanted, total);
  shards->starts[0] = 0;
  for (size_t s = 1; s <= shards->count; s++) {
    size_t end = total * s / shards->count;
    for (; u < count; u++) {
      size_t rows = linnet_stacked_frames(network->config, nominal[utterances[u]]);
      if (s < shards->count && before + rows / 2 >= end)
        break;
      before += rows;
    }
    shards->starts[s] = u;
  }
}
