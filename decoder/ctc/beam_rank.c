/* Quicksort that leaves alone what lies behind the first `keep`. */
#include "decoder/ctc/beam_rank.h"

enum { SMALL = 16 };

/* Fast on what is nearly in order, as the prefixes of a beam are from one frame to the next. */
static void insertion_sort(struct linnet_candidate *c, size_t count) {
  for (size_t i = 1; i < count; i++) {
    struct linnet_candidate item = c[i];
    size_t at = i;
    for (; at > 0 && linnet_candidate_before(&item, &c[at - 1]); at--)
      c[at] = c[at - 1];
    c[at] = item;
  }
}

static void swap(struct linnet_candidate *a, struct linnet_candidate *b) {
  struct linnet_candidate kept = *a;
  *a = *b;
  *b = kept;
}

/* Puts the median of first, middle and last in the middle. */
static struct linnet_candidate median(struct linnet_candidate *c, size_t count) {
  struct linnet_candidate *first = c, *middle = c + count / 2, *last = c + count - 1;
  if (linnet_candidate_before(middle, first))
    swap(middle, first);
  if (linnet_candidate_before(last, middle))
    swap(last, middle);
  if (linnet_candidate_before(middle, first))
    swap(middle, first);
  return *middle;
}

/* Hoare's partition: nothing before the returned place comes after anything from it on; 0 < place < count. */
static size_t partition(struct linnet_candidate *c, size_t count) {
  struct linnet_candidate pivot = median(c, count);
  size_t i = 0, j = count - 1;
  for (;;) {
    while (linnet_candidate_before(&c[i], &pivot))
      i++;
    while (linnet_candidate_before(&pivot, &c[j]))
      j--;
    if (i >= j)
      return i;
    swap(&c[i++], &c[j--]);
  }
}

static bool in_order(const struct linnet_candidate *c, size_t count) {
  for (size_t i = 1; i < count; i++)
    if (linnet_candidate_before(&c[i], &c[i - 1]))
      return false;
  return true;
}

/* Recurses into the smaller part, so at most log2(count) deep whatever the scores. */
static void sort_first(struct linnet_candidate *c, size_t count, size_t keep) {
  while (count > SMALL && keep > 0) {
    size_t place = partition(c, count), behind = count - place;
    if (place >= keep) {
      count = place;
    } else if (behind < place) {
      sort_first(c + place, behind, keep - place);
      count = keep = place;
    } else {
      sort_first(c, place, place);
      c += place;
      count = behind;
      keep -= place;
    }
  }
  insertion_sort(c, count);
}

size_t linnet_candidates_rank(struct linnet_candidate *candidates, size_t count, size_t keep) {
  if (!in_order(candidates, count))
    sort_first(candidates, count, keep);
  return count < keep ? count : keep;
}
