/* Any bytes as a lexicon, a table of transcripts: within a budget of memory and without leaks; all loaded entries
 * must be found. */
#include <linnet/lexicon.h>

#include <string.h>

#include "fuzz.h"

static struct linnet_context *context;

/* After loading: the budget was enough, and a failure has a message with the file. */
static void judge(enum linnet_status status, const void *loaded) {
  budget.limit = 0;
  check(!budget.exceeded, "asked for more memory than such a file deserves");
  check((status == LINNET_OK) == (loaded != NULL), "status and result disagree");
  check(loaded || strstr(linnet_context_error(context), "FILE") != NULL, "a message that does not name the file");
}

static void ignore_word(void *user, const char *word) {
  (void)user;
  (void)word;
}

static void check_word(const struct linnet_lexicon *lexicon, size_t word) {
  const char *name = linnet_lexicon_word(lexicon, word);
  int phones[8], symbols = (int)linnet_symbols_num_symbols(linnet_lexicon_phones(lexicon));
  size_t count, length;
  check(linnet_lexicon_find(lexicon, name) == word, "a word that is not found");
  check(linnet_lexicon_num_variants(lexicon, word) >= 1, "a word without pronunciation");
  for (size_t v = 0; v < linnet_lexicon_num_variants(lexicon, word); v++) {
    const int *pronunciation = linnet_lexicon_pronunciation(lexicon, word, v, &count);
    check(count > 0, "an empty pronunciation");
    for (size_t i = 0; i < count; i++)
      check(pronunciation[i] > 0 && pronunciation[i] < symbols, "a phone out of range");
  }
  linnet_lexicon_pronunciation(lexicon, word, 0, &count);
  const struct linnet_missing_words missing = {sizeof missing, -1, ignore_word, NULL};
  enum linnet_status status = linnet_lexicon_pronounce(lexicon, &name, 1, &missing, phones, 8, &length);
  check(length == count && status == (count > 8 ? LINNET_ERROR_LIMIT : LINNET_OK), "the word is not pronounced");
}

static void fuzz_lexicon(const uint8_t *data, size_t size, bool strict, const struct linnet_symbols *phones) {
  struct linnet_lexicon_settings settings;
  struct linnet_lexicon *lexicon = NULL;
  linnet_lexicon_settings_default(&settings);
  settings.fold_case = !strict;
  settings.strip_stress = settings.refuse_duplicates = strict;
  budget.limit = budget.live + 64 * size + (1 << 20);
  enum linnet_status status = linnet_lexicon_load_memory(context, data, size, "FILE", &settings, phones, &lexicon);
  judge(status, lexicon);
  for (size_t w = 0; lexicon && w < linnet_lexicon_num_words(lexicon); w++)
    check_word(lexicon, w);
  linnet_lexicon_destroy(lexicon);
}

static void fuzz_transcripts(const uint8_t *data, size_t size) {
  struct linnet_transcripts *transcripts = NULL;
  struct linnet_symbols *symbols = NULL;
  budget.limit = budget.live + 64 * size + (1 << 20);
  enum linnet_status status = linnet_transcripts_load_memory(context, data, size, "FILE", &transcripts);
  judge(status, transcripts);
  if (transcripts && linnet_transcripts_symbols(context, transcripts, &symbols) == LINNET_OK)
    for (size_t i = 0; i < linnet_transcripts_num_utterances(transcripts); i++) {
      size_t count;
      const char *const *tokens = linnet_transcripts_tokens(transcripts, i, &count);
      check(linnet_transcripts_find(transcripts, linnet_transcripts_id(transcripts, i)) == i, "an id is not found");
      for (size_t k = 0; k < count; k++)
        check(linnet_symbols_find(symbols, tokens[k]) != LINNET_NOT_FOUND, "a token is not found");
    }
  linnet_symbols_destroy(symbols);
  linnet_transcripts_destroy(transcripts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const names[] = {"AH", "B", "K"};
  static struct linnet_symbols *phones;
  if (!context) {
    context = budget_context();
    check(context && linnet_symbols_create(context, names, 3, &phones) == LINNET_OK, "no context");
  }
  size_t before = budget.live;
  fuzz_lexicon(data, size, false, NULL);
  fuzz_lexicon(data, size, true, NULL);
  fuzz_lexicon(data, size, false, phones);
  fuzz_transcripts(data, size);
  check(budget.live == before, "memory was not released");
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  (void)seed;
  return LLVMFuzzerMutate(data, size, capacity);
}
