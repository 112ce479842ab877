/* Grammars and lists of hotwords: any bytes either load or are refused, with a message that names the file; within a
 * budget of memory, and without leaks. In a grammar that loads, every state leads on or ends a sentence. */
#include <linnet/grammar.h>
#include <linnet/hotwords.h>

#include <math.h>
#include <stdio.h>

#include "fuzz.h"

/* Memory that the limits of grammar.h allow. */
static const size_t max_bytes = (size_t)1 << 28;

static const char words[] = "A A\nB B\nC A B\nON B A\n";

static void check_result(const struct linnet_context *context, enum linnet_status status, const void *object) {
  check(!budget.exceeded, "asked for more memory than any file deserves");
  check((status == LINNET_OK) == (object != NULL), "status and result disagree");
  check(object || strstr(linnet_context_error(context), "FILE") != NULL, "a message that does not name the file");
}

/* Follows a sequence of tokens: each state on it is final or has a next token. */
static void check_grammar(const struct linnet_grammar *grammar, size_t tokens) {
  const struct linnet_language_model *model = linnet_grammar_language_model(grammar);
  uint32_t state;
  model->begin(model->user, &state);
  for (unsigned step = 0; step < 64; step++) {
    bool ends = model->finish(model->user, &state) == 0, goes_on = false;
    for (unsigned i = 1; i < tokens && !goes_on; i++) {
      uint32_t next;
      goes_on = model->score(model->user, &state, 1 + (i + step) % (unsigned)(tokens - 1), &next) == 0;
      state = goes_on ? next : state;
    }
    check(ends || goes_on, "a state without a way out");
    if (!goes_on)
      return;
  }
}

static struct linnet_lexicon *make_lexicon(struct linnet_context *context) {
  struct linnet_lexicon *lexicon = NULL;
  check(linnet_lexicon_load_memory(context, words, sizeof words - 1, "words", NULL, NULL, &lexicon) == LINNET_OK,
        "no lexicon");
  return lexicon;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct linnet_context *context;
  static struct linnet_lexicon *lexicon;
  struct linnet_grammar *grammar = NULL;
  struct linnet_hotwords *hotwords = NULL;
  if (!context)
    context = budget_context();
  check(context != NULL, "no context");
  if (!lexicon)
    lexicon = make_lexicon(context);
  size_t before = budget.live;
  budget.limit = before + max_bytes;
  enum linnet_status status = linnet_grammar_load_memory(context, data, size, "FILE", lexicon, &grammar);
  check_result(context, status, grammar);
  if (grammar)
    check_grammar(grammar, linnet_lexicon_num_words(lexicon) + 2);
  linnet_grammar_destroy(grammar);
  check(budget.live == before, "memory was not released");
  budget.limit = before + 64 * size + (1 << 16);
  status = linnet_hotwords_load_memory(context, data, size, "FILE", lexicon, &hotwords);
  check_result(context, status, hotwords);
  linnet_hotwords_destroy(hotwords);
  budget.limit = 0;
  check(budget.live == before, "memory was not released");
  return 0;
}
