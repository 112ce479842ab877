/* Normalises any bytes as a text, by the English rules or by rules in the input. Checks budgets of memory and output,
 * that only known words are aligned, and that offsets are within the text.
 *
 *   before a form feed, if there is one: rules
 *   rest: the text, up to a NUL */
#include <linnet/pronounced_text.h>

#include <string.h>

#include "fuzz.h"

enum { MAX_BYTES = 1 << 12 };

static struct linnet_context *context;
static struct linnet_lexicon *lexicon;
static struct linnet_text_normalizer *english;

/* English words of numbers and letters, all pronounced K. */
static void open_lexicon(void) {
  static const char words[] =
      "zero one two three four five six seven eight nine ten eleven twelve twenty thirty hundred "
      "thousand million and point percent dollars a. b. c. mister it's the to oh ";
  char lines[2048];
  size_t used = 0;
  for (const char *at = words; *at; at += strcspn(at, " ") + 1)
    used += (size_t)snprintf(lines + used, sizeof lines - used, "%.*s K\n", (int)strcspn(at, " "), at);
  check(linnet_lexicon_load_memory(context, lines, used, "LEXICON", NULL, NULL, &lexicon) == LINNET_OK, "lexicon");
}

static int knows(void *user, const char *word) {
  (void)user;
  return linnet_lexicon_find(lexicon, word) != LINNET_NOT_FOUND;
}

static void check_spoken(const struct linnet_text_normalizer *n, const char *token) {
  struct linnet_spoken *spoken = NULL;
  enum linnet_status status = linnet_spoken_create(n, context, token, knows, NULL, &spoken);
  check(status == LINNET_OK || status == LINNET_ERROR_LIMIT, "another status");
  for (size_t i = 0; spoken && i < linnet_spoken_num_ways(spoken); i++) {
    const char *words = linnet_spoken_words(spoken, i);
    check(*words && strlen(words) < LINNET_SPOKEN_MAX_BYTES, "a way that is empty or too long");
    check(i == 0 || linnet_spoken_is_known(spoken, i) <= linnet_spoken_is_known(spoken, i - 1), "unknown ways first");
  }
  check(!spoken || linnet_spoken_num_ways(spoken) <= LINNET_SPOKEN_MAX, "too many ways");
  linnet_spoken_destroy(spoken);
}

static void check_text(const struct linnet_pronounced_text *text, const char *source) {
  size_t count, aligned;
  const struct linnet_written_word *words = linnet_pronounced_text_words(text, &count);
  const struct linnet_align_word *variants = linnet_pronounced_text_align_words(text, &aligned);
  check(aligned <= count, "more words to align than words");
  for (size_t i = 0; i < count; i++) {
    check(strstr(source, words[i].text) && words[i].line > 0 && words[i].column > 0, "a word that is not in the text");
    check((words[i].source == LINNET_WORD_UNKNOWN) == (words[i].missing != NULL), "what is missing");
  }
  for (size_t i = 0; i < aligned; i++) {
    check(words[linnet_pronounced_text_index(text, i)].source == LINNET_WORD_KNOWN, "an unknown word to align");
    check(variants[i].num_variants >= 1 && variants[i].num_variants <= LINNET_ALIGN_MAX_VARIANTS, "variants");
    for (size_t v = 0; v < variants[i].num_variants; v++)
      check(variants[i].variants[v].num_labels > 0 && linnet_pronounced_text_spoken(text, i, v), "a variant");
  }
}

static void fuzz_text(const struct linnet_text_normalizer *n, const char *source) {
  struct linnet_pronounced_text_settings settings;
  struct linnet_pronounced_text *text = NULL;
  linnet_pronounced_text_settings_default(&settings);
  settings.normalizer = n;
  settings.lexicon = lexicon;
  enum linnet_status status = linnet_pronounced_text_create(context, source, "FILE", &settings, &text);
  check(status == LINNET_OK || status == LINNET_ERROR_FORMAT, "another status of a text");
  check(text || strstr(linnet_context_error(context), "FILE:"), "a message without the place");
  if (text)
    check_text(text, source);
  linnet_pronounced_text_destroy(text);
  check_spoken(n, source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char source[MAX_BYTES + 1];
  if (!context) {
    context = budget_context();
    check(context != NULL, "no context");
    open_lexicon();
    check(linnet_text_normalizer_load(context, TEST_SOURCE_DIR "/models/english/text.rules", &english) == LINNET_OK,
          "the rules that ship");
  }
  const uint8_t *feed = size > 0 ? memchr(data, '\f', size) : NULL;
  size_t rules = feed ? (size_t)(feed - data) : 0, start = feed ? rules + 1 : 0, before = budget.live;
  size_t length = size - start < MAX_BYTES ? size - start : MAX_BYTES;
  struct linnet_text_normalizer *own = NULL;
  if (length > 0)
    memcpy(source, data + start, length);
  source[length] = '\0';
  budget.limit = budget.live + 4096 * size + (1 << 20);
  if (feed && linnet_text_normalizer_load_memory(context, data, rules, "RULES", &own) != LINNET_OK)
    check(!own && strstr(linnet_context_error(context), "RULES"), "a message that does not name the rules");
  if (own || !feed)
    fuzz_text(own ? own : english, source);
  check(!budget.exceeded, "asked for more memory than such a text deserves");
  budget.limit = 0;
  linnet_text_normalizer_destroy(own);
  check(budget.live == before, "memory was not released");
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  (void)seed;
  return LLVMFuzzerMutate(data, size, capacity);
}
