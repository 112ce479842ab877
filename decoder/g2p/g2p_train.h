/* Training of joint-sequence models: what its parts share. */
#ifndef LINNET_G2P_TRAIN_H
#define LINNET_G2P_TRAIN_H

#include "decoder/g2p/g2p.h"

/* A word with one pronunciation: numbers in the trainer's pool, letters first. */
struct g2p_entry {
  size_t first;
  uint16_t letters, phones;
};

struct g2p_data {
  struct linnet_context *context;
  struct linnet_names letters, phones;
  struct g2p_entry *entries;
  size_t count, capacity;
  uint16_t *pool;
  size_t pool_count, pool_capacity;
};

/* Sequences of units, one for each entry; that of entry e is units[begin[e]] ... units[begin[e + 1] - 1]. It is empty
 * if the entry has more phones than its letters can have. */
struct g2p_alignments {
  uint64_t *units; /* keys */
  size_t *begin;   /* (entries + 1) */
};

/* The best alignments, after `iterations` of expectation-maximisation. */
enum linnet_status linnet_g2p_align(const struct g2p_data *data, unsigned iterations,
                                    struct g2p_alignments *alignments);

void linnet_g2p_alignments_clear(struct linnet_context *context, struct g2p_alignments *alignments);

#endif
