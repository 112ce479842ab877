/* Names of symbols, and the lexicon over them. */
#include "decoder/words/vocabulary.h"

#include <string.h>

#include "base/c_locale.h"

/* Such as "AH0". */
static bool has_stress(const char *symbol) {
  size_t length = strlen(symbol);
  return length > 1 && strchr("012", symbol[length - 1]) && linnet_is_letter(symbol[length - 2]);
}

static enum linnet_status load_lexicon(struct linnet_vocabulary *vocabulary, struct linnet_context *context,
                                       const struct linnet_source *source,
                                       const struct linnet_lexicon_settings *settings) {
  if (source->data)
    return linnet_lexicon_load_memory(context, source->data, source->bytes, linnet_source_name(source), settings,
                                      vocabulary->symbols, &vocabulary->lexicon);
  return linnet_lexicon_load(context, source->path, settings, vocabulary->symbols, &vocabulary->lexicon);
}

enum linnet_status linnet_vocabulary_open(struct linnet_vocabulary *vocabulary, struct linnet_context *context,
                                          const char *const *names, size_t count, const struct linnet_source *lexicon) {
  struct linnet_lexicon_settings settings;
  linnet_lexicon_settings_default(&settings);
  settings.strip_stress = 1;
  for (size_t i = 1; i < count; i++)
    settings.strip_stress = settings.strip_stress && !has_stress(names[i]);
  LINNET_TRY(linnet_symbols_create(context, names + 1, count - 1, &vocabulary->symbols));
  if (!linnet_source_given(lexicon))
    return LINNET_OK;
  LINNET_TRY(load_lexicon(vocabulary, context, lexicon, &settings));
  if (linnet_lexicon_num_words(vocabulary->lexicon) > 0)
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_FORMAT,
                     "%s: has no words: write lines 'WORD PHONE PHONE ...', or name another lexicon",
                     linnet_source_name(lexicon));
}

void linnet_vocabulary_close(struct linnet_vocabulary *vocabulary) {
  linnet_lexicon_destroy(vocabulary->lexicon);
  linnet_symbols_destroy(vocabulary->symbols);
}
