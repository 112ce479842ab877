#include "suggest.h"

#include <stdbool.h>
#include <string.h>

enum { MAX_LETTERS = 31, MAX_DISTANCE = 2 };

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Letters to change, add or remove to get from one word to the other; `b` has at most MAX_LETTERS. */
static size_t distance(const char *a, const char *b) {
  size_t row[MAX_LETTERS + 1], m = strlen(b);
  for (size_t j = 0; j <= m; j++)
    row[j] = j;
  for (size_t i = 1; a[i - 1]; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = smaller(change, smaller(row[j], row[j - 1]) + 1);
    }
  }
  return row[m];
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
