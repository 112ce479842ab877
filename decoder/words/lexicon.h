/* A pronunciation lexicon from within. */
#ifndef LINNET_LEXICON_INTERNAL_H
#define LINNET_LEXICON_INTERNAL_H

#include <linnet/lexicon.h>

#include "decoder/base/names.h"

enum { LINNET_LEXICON_MAX_WORD = 1023 }; /* bytes */

struct linnet_lexicon_entry {
  size_t first, count; /* of labels */
};

struct linnet_lexicon {
  struct linnet_context *context;
  bool fold_case;
  struct linnet_names words;
  struct linnet_symbols *phones;
  struct linnet_lexicon_entry *pronunciations; /* those of word w are begin[w] ... begin[w + 1] - 1 */
  size_t *begin;
  int *labels;
};

/* Makes ASCII letters upper case. */
void linnet_lexicon_fold(char *text);

#endif
