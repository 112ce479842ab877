/* A hash table from pairs of numbers to a number. Its size is fixed. To empty it takes constant time. */
#ifndef LINNET_PAIR_TABLE_H
#define LINNET_PAIR_TABLE_H

#include <string.h>

#include "base/arena.h"
#include "base/numbers.h"

#define LINNET_NO_PAIR UINT32_MAX

struct linnet_pair_slot {
  uint64_t a;
  uint32_t b, value;
  uint64_t stamp; /* the slot is in use if this equals the table's stamp */
};

struct linnet_pair_table {
  struct linnet_pair_slot *slots; /* (mask + 1), at most half of them used */
  size_t mask;
  uint64_t stamp;
};

/* Takes the slots for `pairs` pairs from an arena. The caller clears the memory. */
static inline void linnet_pair_table_lay_out(struct linnet_pair_table *table, struct linnet_arena *arena,
                                             size_t pairs) {
  const size_t slots = linnet_power_of_two(linnet_max_size(2 * pairs, 16));
  table->mask = slots - 1;
  table->slots = linnet_arena_take(arena, slots, sizeof *table->slots);
}

static inline void linnet_pair_table_empty(struct linnet_pair_table *table) {
  table->stamp++;
}

/* 32 bits of a hash of a pair. */
static inline size_t linnet_pair_hash(uint64_t a, uint32_t b) {
  return (size_t)(((a ^ (uint64_t)b << 32) * 0x9E3779B97F4A7C15u) >> 32);
}

/* The slot of a pair, or the free one where it belongs. */
static inline struct linnet_pair_slot *linnet_pair_table_slot(const struct linnet_pair_table *table, uint64_t a,
                                                              uint32_t b) {
  for (size_t i = linnet_pair_hash(a, b);; i++) {
    struct linnet_pair_slot *slot = &table->slots[i & table->mask];
    if (slot->stamp != table->stamp || (slot->a == a && slot->b == b))
      return slot;
  }
}

static inline uint32_t linnet_pair_table_find(const struct linnet_pair_table *table, uint64_t a, uint32_t b) {
  const struct linnet_pair_slot *slot = linnet_pair_table_slot(table, a, b);
  return slot->stamp == table->stamp ? slot->value : LINNET_NO_PAIR;
}

static inline void linnet_pair_table_put(struct linnet_pair_table *table, uint64_t a, uint32_t b, uint32_t value) {
  *linnet_pair_table_slot(table, a, b) = (struct linnet_pair_slot){a, b, value, table->stamp};
}

#endif
