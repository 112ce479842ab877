/* Opens the symbols and the lexicon that a command's options name. */
#include "vocabulary.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *vocabulary_lexicon(const char *option) {
  return option ? option : getenv("LINNET_LEXICON");
}

/* Such as "AH0". */
static bool has_stress(const char *symbol) {
  size_t length = strlen(symbol);
  return length > 1 && strchr("012", symbol[length - 1]) && isalpha((unsigned char)symbol[length - 2]);
}

static bool load(struct vocabulary *vocabulary, struct linnet_context *context, const char *const *names,
                 size_t count) {
  struct linnet_lexicon_settings settings;
  linnet_lexicon_settings_default(&settings);
  settings.strip_stress = 1;
  for (size_t i = 1; i < count; i++)
    settings.strip_stress = settings.strip_stress && !has_stress(names[i]);
  if (linnet_symbols_create(context, names + 1, count - 1, &vocabulary->symbols) != LINNET_OK)
    return false;
  return !vocabulary->lexicon_path || linnet_lexicon_load(context, vocabulary->lexicon_path, &settings,
                                                          vocabulary->symbols, &vocabulary->lexicon) == LINNET_OK;
}

static bool refuse_empty(const char *path) {
  tool_fail("%s: no words: write 'WORD PHONE PHONE ...' a line, or name another lexicon", path);
  return false;
}

bool vocabulary_open(struct vocabulary *vocabulary, struct linnet_context *context, tool_symbol_fn name,
                     const void *user, int count, const char *lexicon_path) {
  *vocabulary = (struct vocabulary){.lexicon_path = lexicon_path};
  const char **names = calloc((size_t)count, sizeof *names);
  for (int i = 0; names && i < count; i++)
    names[i] = name(user, i);
  if (!names)
    tool_fail("out of memory for the names of %d symbols", count);
  bool good = names && load(vocabulary, context, names, (size_t)count);
  if (names && !good)
    tool_fail_context(context);
  else if (vocabulary->lexicon && linnet_lexicon_count(vocabulary->lexicon) == 0)
    good = refuse_empty(lexicon_path);
  free(names);
  return good;
}

void vocabulary_close(struct vocabulary *vocabulary) {
  linnet_lexicon_destroy(vocabulary->lexicon);
  linnet_symbols_destroy(vocabulary->symbols);
}
