/* A table of strings: each different string is stored once and has an index, 0, 1, 2 ... in the order of arrival. */
#ifndef LINNET_NAMES_H
#define LINNET_NAMES_H

#include "base/base.h"

enum { LINNET_NAMES_MAX = 1 << 28 };

struct linnet_name {
  const char *text; /* stays where it is until the table is cleared */
  uint32_t hash;
};

/* Zero-initialise, set `context`; release with linnet_names_clear. */
struct linnet_names {
  struct linnet_context *context;
  size_t count, capacity;
  struct linnet_name *names;
  uint32_t *slots; /* open addressing: index + 1, 0 is free; slot_count is a power of two, at most half of it used */
  size_t slot_count;
  struct linnet_names_block *blocks; /* where the strings lie */
};

/* The index of a string, LINNET_NOT_FOUND if the table does not contain it. `text` need not end in NUL. */
size_t linnet_names_find(const struct linnet_names *names, const char *text, size_t length);

/* The same, but adds a missing string; *fresh (may be NULL) says whether it was added. LINNET_ERROR_MEMORY or
 * LINNET_ERROR_LIMIT. */
enum linnet_status linnet_names_add(struct linnet_names *names, const char *text, size_t length, size_t *index,
                                    bool *fresh);

/* Takes the newest string out again. */
void linnet_names_pop(struct linnet_names *names);

static inline const char *linnet_names_text(const struct linnet_names *names, size_t index) {
  return names->names[index].text;
}

/* sorted (count, the caller's) gets the entries in the order of their bytes; an entry's index is entry - names. */
void linnet_names_sort(const struct linnet_names *names, const struct linnet_name **sorted);

void linnet_names_clear(struct linnet_names *names);

#endif
