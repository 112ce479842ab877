/* Edit distances, row by row, and the most similar option or subcommand for an unknown one. */
#include "similar.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/numbers.h"

size_t edit_distance(const int *a, size_t a_count, const int *b, size_t b_count) {
  size_t row[EDIT_DISTANCE_MAX + 1];
  for (size_t j = 0; j <= b_count; j++)
    row[j] = j;
  for (size_t i = 1; i <= a_count; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b_count; j++) {
      size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = linnet_min_size(change, linnet_min_size(row[j], row[j - 1]) + 1);
    }
  }
  return row[b_count];
}

enum { MAX_LETTERS = 31, MAX_DISTANCE = 2 };

/* The edit distance of two words, of which `b` has at most MAX_LETTERS. */
static size_t distance(const char *a, const char *b) {
  int letters[2][MAX_LETTERS + MAX_DISTANCE];
  size_t a_count = strlen(a), b_count = strlen(b);
  if (a_count > MAX_LETTERS + MAX_DISTANCE)
    return SIZE_MAX;
  for (size_t i = 0; i < a_count; i++)
    letters[0][i] = (unsigned char)a[i];
  for (size_t i = 0; i < b_count; i++)
    letters[1][i] = (unsigned char)b[i];
  return edit_distance(letters[0], a_count, letters[1], b_count);
}

void suggest(struct suggestion *suggestion, const char *candidate) {
  const char *word = suggestion->word;
  size_t letters = strlen(candidate), limit = suggestion->best ? suggestion->distance : MAX_DISTANCE + 1;
  if (letters > MAX_LETTERS)
    return;
  bool prefix = strlen(word) >= 2 && strncmp(candidate, word, strlen(word)) == 0;
  size_t d = prefix ? 0 : distance(word, candidate);
  if (d < limit && d + 1 < letters) {
    suggestion->distance = d;
    suggestion->best = candidate;
  }
}

void suggest_options(struct suggestion *suggestion, const struct poptOption *table) {
  for (const struct poptOption *option = table; option->longName || option->shortName || option->arg; option++)
    if ((option->argInfo & POPT_ARG_MASK) == POPT_ARG_INCLUDE_TABLE)
      suggest_options(suggestion, option->arg);
    else if (option->longName)
      suggest(suggestion, option->longName);
}
