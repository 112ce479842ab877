/* Counts the sample rates and channels of the recordings of a data folder. */
#include "data_lists.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/numbers.h"

void data_kinds_add(struct data_kinds *kinds, double rate, size_t channels) {
  size_t i = 0;
  while (i < kinds->count && (kinds->kinds[i].rate != rate || kinds->kinds[i].channels != channels))
    i++;
  if (i == DATA_MAX_KINDS) {
    kinds->others++;
    return;
  }
  kinds->count += i == kinds->count;
  kinds->kinds[i].rate = rate;
  kinds->kinds[i].channels = channels;
  kinds->kinds[i].recordings++;
}

/* The most frequent kind comes first. */
static int by_recordings(const void *a, const void *b) {
  const struct data_kind *x = a, *y = b;
  if (x->recordings != y->recordings)
    return x->recordings < y->recordings ? 1 : -1;
  if (x->rate != y->rate)
    return x->rate < y->rate ? 1 : -1;
  return x->channels < y->channels ? -1 : 1;
}

void data_kinds_print(struct data_kinds *kinds, const char *folder) {
  if (kinds->count < 2)
    return;
  qsort(kinds->kinds, kinds->count, sizeof *kinds->kinds, by_recordings);
  printf("%s/wav.scp: the recordings differ:", folder);
  for (size_t i = 0; i < kinds->count; i++) {
    const struct data_kind *kind = &kinds->kinds[i];
    printf("%s %zu of %g Hz with %zu channel%s", i > 0 ? "," : "", kind->recordings, kind->rate, kind->channels,
           linnet_plural(kind->channels));
  }
  if (kinds->others > 0)
    printf(", %zu of other kinds", kinds->others);
  puts("; no fault: Linnet resamples them and mixes the channels");
}
