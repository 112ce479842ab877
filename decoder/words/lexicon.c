/* Pronunciation lexicons: look-ups. */
#include "decoder/words/lexicon.h"

#include <string.h>

#include "base/settings.h"
#include "decoder/words/symbols.h"

void(linnet_lexicon_settings_default)(struct linnet_lexicon_settings *settings, size_t size) {
  const struct linnet_lexicon_settings defaults = {.size = sizeof(struct linnet_lexicon_settings), .fold_case = 1};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

void linnet_lexicon_destroy(struct linnet_lexicon *lexicon) {
  if (!lexicon)
    return;
  linnet_names_clear(&lexicon->words);
  linnet_symbols_destroy(lexicon->phones);
  linnet_free(lexicon->context, lexicon->pronunciations);
  linnet_free(lexicon->context, lexicon->begin);
  linnet_free(lexicon->context, lexicon->labels);
  linnet_free(lexicon->context, lexicon);
}

void linnet_lexicon_fold(char *text) {
  for (; *text; text++)
    if (*text >= 'a' && *text <= 'z')
      *text = (char)(*text - 'a' + 'A');
}

const struct linnet_symbols *linnet_lexicon_phones(const struct linnet_lexicon *lexicon) {
  return lexicon->phones;
}

size_t linnet_lexicon_num_words(const struct linnet_lexicon *lexicon) {
  return lexicon->words.count;
}

const char *linnet_lexicon_word(const struct linnet_lexicon *lexicon, size_t word) {
  return word < lexicon->words.count ? linnet_names_text(&lexicon->words, word) : NULL;
}

size_t linnet_lexicon_find(const struct linnet_lexicon *lexicon, const char *word) {
  char folded[LINNET_LEXICON_MAX_WORD + 1];
  size_t length = strlen(word);
  if (length > LINNET_LEXICON_MAX_WORD)
    return LINNET_NOT_FOUND;
  memcpy(folded, word, length + 1);
  if (lexicon->fold_case)
    linnet_lexicon_fold(folded);
  return linnet_names_find(&lexicon->words, folded, length);
}

size_t linnet_lexicon_num_variants(const struct linnet_lexicon *lexicon, size_t word) {
  return word < lexicon->words.count ? lexicon->begin[word + 1] - lexicon->begin[word] : 0;
}

const int *linnet_lexicon_pronunciation(const struct linnet_lexicon *lexicon, size_t word, size_t variant,
                                        size_t *count) {
  *count = 0;
  if (variant >= linnet_lexicon_num_variants(lexicon, word))
    return NULL;
  const struct linnet_lexicon_entry *p = &lexicon->pronunciations[lexicon->begin[word] + variant];
  *count = p->count;
  return lexicon->labels + p->first;
}

enum linnet_status linnet_lexicon_pronounce(const struct linnet_lexicon *lexicon, const char *const *words,
                                            size_t count, int unknown_phone, linnet_missing_word_fn missing, void *user,
                                            int *phones, size_t capacity, size_t *length) {
  if (!lexicon || (!words && count > 0) || (!phones && capacity > 0) || !length)
    return LINNET_ERROR_ARGUMENT;
  *length = 0;
  for (size_t i = 0; i < count; i++) {
    size_t word = linnet_lexicon_find(lexicon, words[i]), num_phones = unknown_phone >= 0;
    const int *labels = &unknown_phone;
    if (word != LINNET_NOT_FOUND)
      labels = linnet_lexicon_pronunciation(lexicon, word, 0, &num_phones);
    else if (missing)
      missing(user, words[i]);
    for (size_t k = 0; k < num_phones; k++, ++*length)
      if (*length < capacity)
        phones[*length] = labels[k];
  }
  return *length <= capacity ? LINNET_OK : LINNET_ERROR_LIMIT;
}
