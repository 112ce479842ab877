/* Which names of a list are out of order. */
#include "data_lists.h"

#include <stdlib.h>
#include <string.h>

/* The names that stay are a longest sequence that does not decrease. Of all such sequences with n + 1 names, ends[n] is
 * the last name of the one that ends with the smallest; before[i] is the name before i in its sequence. */
struct sequences {
  const char *const *names;
  size_t *ends, *before, longest;
};

/* The length of the longest sequence that name i can continue. */
static size_t find_place(const struct sequences *s, size_t i) {
  size_t low = 0, high = s->longest;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (strcmp(s->names[s->ends[middle]], s->names[i]) <= 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Each name that is not kept is less than the last kept one before it, or greater than the first kept one after it. */
static void find_rivals(const char *const *names, size_t count, size_t *rivals) {
  size_t kept = count;
  for (size_t i = 0; i < count; i++)
    if (rivals[i] == i)
      kept = i;
    else if (kept < count && strcmp(names[i], names[kept]) < 0)
      rivals[i] = kept;
  kept = count;
  for (size_t i = count; i-- > 0;)
    if (rivals[i] == i)
      kept = i;
    else if (rivals[i] == count)
      rivals[i] = kept;
}

bool data_find_misplaced(const char *const *names, size_t count, size_t *rivals) {
  struct sequences s = {names, malloc((count + 1) * sizeof(size_t)), malloc((count + 1) * sizeof(size_t)), 0};
  const bool good = s.ends && s.before;
  for (size_t i = 0; good && i < count; i++) {
    const size_t place = find_place(&s, i);
    rivals[i] = count;
    s.before[i] = place > 0 ? s.ends[place - 1] : count;
    s.ends[place] = i;
    s.longest += place == s.longest;
  }
  for (size_t i = good && count > 0 ? s.ends[s.longest - 1] : count; i < count; i = s.before[i])
    rivals[i] = i;
  if (good)
    find_rivals(names, count, rivals);
  free(s.ends);
  free(s.before);
  return good;
}
