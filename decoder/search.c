/* Creates a search: loads its vocabulary, language model or grammar, hotwords and silences. */
#include "decoder/search_parts.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "decoder/grammar/grammar.h"
#include "decoder/output/spans.h"
#include "decoder/words/hotwords.h"

enum { DEFAULT_BEAM = 50, MAX_SYMBOLS = 1 << 24 };

void(linnet_search_settings_default)(struct linnet_search_settings *settings, size_t size) {
  static const struct linnet_search_settings defaults = {.size = sizeof defaults,
                                                         .num_alternatives = 1,
                                                         .symbol_threshold = INFINITY,
                                                         .score_threshold = INFINITY,
                                                         .language_model_weight = 1,
                                                         .unknown_penalty = INFINITY,
                                                         .prior_scale = 0.5f,
                                                         .pronunciation_weight = 1};
  linnet_settings_fill(settings, size, &defaults, sizeof defaults);
}

/* Sets the members that both searches have in their settings, with the same meaning. */
#define SET_SHARED(to, search, settings, width)                                                                        \
  ((to)->beam = (width), (to)->top_symbols = (settings)->top_symbols,                                                  \
   (to)->symbol_threshold = (settings)->symbol_threshold, (to)->score_threshold = (settings)->score_threshold,         \
   (to)->model_weight = (settings)->language_model_weight,                                                             \
   (to)->calibrations = (search)->calibrated ? &(search)->calibrations : NULL, (to)->priors = (search)->priors,        \
   (to)->prior_scale = (settings)->prior_scale)

/* --- language models -------------------------------------------------------------------------------------------- */

static const char MODEL_REMEDY[] = "'linnet ngram' makes models of text";

/* For a file that is no model, or does not exist. Other failures, such as no memory, say nothing about the file. */
static bool has_remedy(const struct linnet_source *source, enum linnet_status status) {
  return status == LINNET_ERROR_FORMAT || status == LINNET_ERROR_UNSUPPORTED ||
         (status == LINNET_ERROR_IO && source->path && !source->data && access(source->path, F_OK) != 0);
}

/* Loads the n-grams and binds them to tokens (count). *missing gets the number of tokens that they do not have. */
static enum linnet_status load_ngram(struct linnet_search *s, const struct linnet_source *source,
                                     const char *const *tokens, size_t count, size_t *missing) {
  enum linnet_status status = source->data ? linnet_ngram_load_memory(s->context, source->data, source->bytes,
                                                                      linnet_source_name(source), &s->ngram)
                                           : linnet_ngram_load(s->context, source->path, &s->ngram);
  if (status == LINNET_OK)
    status = linnet_ngram_bind(s->context, s->ngram, tokens, count, missing, &s->binding);
  if (status == LINNET_OK)
    s->model = linnet_ngram_language_model(s->binding);
  if (!has_remedy(source, status))
    return status;
  char sentence[1024];
  snprintf(sentence, sizeof sentence, "%s", linnet_context_error(s->context));
  return linnet_fail(s->context, status, "%s; %s", sentence, MODEL_REMEDY);
}

static bool has_unknown(const struct linnet_search *s) {
  return linnet_ngram_find(s->ngram, LINNET_UNKNOWN_WORD) != LINNET_NOT_FOUND ||
         linnet_ngram_find(s->ngram, "<UNK>") != LINNET_NOT_FOUND;
}

/* Symbols that the model does not have: it is an error if all are missing, and a warning if some are. */
static enum linnet_status judge_symbols(const struct linnet_search *s, const char *name, size_t missing) {
  size_t first = 1, count = s->num_symbols - 1;
  if (missing == 0)
    return LINNET_OK;
  if (missing == count)
    return linnet_fail(s->context, LINNET_ERROR_FORMAT,
                       "%s: its words are not the symbols, such as '%s': estimate it over sequences of symbols with "
                       "'linnet ngram'",
                       name, s->names[1]);
  while (first < count && linnet_ngram_find(s->ngram, s->names[first]) != LINNET_NOT_FOUND)
    first++;
  linnet_log(s->context, LINNET_LOG_WARNING, "language model: %s: %zu of %zu symbols are missing, such as '%s': %s",
             name, missing, count, s->names[first],
             has_unknown(s) ? "they count as <unk>" : "they cannot be recognised");
  return LINNET_OK;
}

/* Warns if the lexicon has most of the words that it shares with the model in capitals only. */
static void judge_case(const struct linnet_search *s, const char *name, const char *lexicon_name) {
  const struct linnet_lexicon *lexicon = s->vocabulary.lexicon;
  const size_t words = linnet_ngram_num_ngrams(s->ngram, 1);
  size_t others = 0, known = 0;
  const char *other = NULL;
  for (size_t i = 0; i < words; i++) {
    const char *word = linnet_ngram_word(s->ngram, i);
    const size_t found = linnet_lexicon_find(lexicon, word);
    if (found == LINNET_NOT_FOUND)
      continue;
    const bool same = strcmp(linnet_lexicon_word(lexicon, found), word) == 0;
    known += same;
    others += !same;
    if (!same && !other)
      other = word;
  }
  if (others > known)
    linnet_log(s->context, LINNET_LOG_WARNING,
               "language model: %s: %zu of its words, such as '%s', count as unknown, because %s has them in capitals: "
               "estimate the model on a text in upper case, without punctuation",
               name, others, other, lexicon_name);
}

/* Words that the model does not have: it is an error if all are missing, and a warning if some are. */
static enum linnet_status judge_words(const struct linnet_search *s, const char *name, const char *lexicon,
                                      size_t missing, size_t words) {
  if (missing >= words)
    return linnet_fail(s->context, LINNET_ERROR_FORMAT,
                       "%s: has none of the words of %s: estimate it on a text in upper case, or use no language model",
                       name, lexicon);
  if (missing > 0 && !has_unknown(s))
    linnet_log(s->context, LINNET_LOG_WARNING,
               "language model: %s: %zu of %zu words of %s are missing, and it has no %s: they cannot be recognised",
               name, missing, words, lexicon, LINNET_UNKNOWN_WORD);
  if (missing > words / 2)
    judge_case(s, name, lexicon);
  return LINNET_OK;
}

static enum linnet_status load_symbol_model(struct linnet_search *s, const struct linnet_source *source) {
  size_t missing = 0;
  LINNET_TRY(load_ngram(s, source, s->names, s->num_symbols, &missing));
  s->beam.model = s->model;
  return judge_symbols(s, linnet_source_name(source), missing);
}

static enum linnet_status load_word_model(struct linnet_search *s, const struct linnet_search_settings *settings,
                                          const char **names, size_t tokens) {
  size_t missing = 0;
  linnet_lexicon_tokens(s->vocabulary.lexicon, names);
  LINNET_TRY(load_ngram(s, &settings->language_model, names, tokens, &missing));
  missing -= !has_unknown(s);
  linnet_ngram_unigrams(s->binding, s->lookahead);
  return judge_words(s, linnet_source_name(&settings->language_model), linnet_source_name(&settings->lexicon), missing,
                     tokens - 2);
}

static enum linnet_status allocate_lookahead(struct linnet_search *s, size_t tokens) {
  s->words.lookahead = s->lookahead = linnet_calloc(s->context, tokens, sizeof *s->lookahead);
  return s->lookahead ? LINNET_OK : linnet_fail(s->context, LINNET_ERROR_MEMORY, "out of memory for %zu words", tokens);
}

static enum linnet_status load_language_model(struct linnet_search *s, const struct linnet_search_settings *settings) {
  const size_t tokens = linnet_lexicon_num_words(s->vocabulary.lexicon) + 2;
  const char **names = linnet_calloc(s->context, tokens, sizeof *names);
  if (!names)
    return linnet_fail(s->context, LINNET_ERROR_MEMORY, "out of memory for %zu words", tokens);
  enum linnet_status status = allocate_lookahead(s, tokens);
  if (status == LINNET_OK)
    status = load_word_model(s, settings, names, tokens);
  linnet_free(s->context, names);
  s->words.model = s->model;
  return status == LINNET_OK ? status : linnet_fail_setting(s->context, "language_model", status);
}

/* --- the rest of a search for words ----------------------------------------------------------------------------- */

static enum linnet_status load_grammar(struct linnet_search *s, const struct linnet_source *source,
                                       struct linnet_guesser *guesser) {
  enum linnet_status status =
      linnet_grammar_open(s->context, source, linnet_source_name(source), s->vocabulary.lexicon, guesser, &s->grammar);
  if (status != LINNET_OK)
    return guesser->failed ? status : linnet_fail_setting(s->context, "grammar", status);
  s->words.model = s->model = linnet_grammar_language_model(s->grammar);
  return LINNET_OK;
}

static enum linnet_status load_hotwords(struct linnet_search *s, const struct linnet_source *source,
                                        struct linnet_guesser *guesser) {
  enum linnet_status status = linnet_hotwords_open(s->context, source, linnet_source_name(source),
                                                   s->vocabulary.lexicon, guesser, &s->hotwords);
  s->words.hotwords = s->hotwords;
  return status == LINNET_OK || guesser->failed ? status : linnet_fail_setting(s->context, "hotwords", status);
}

/* Both may add words to the lexicon. The grammar comes last, because it counts them. */
static enum linnet_status load_phrases(struct linnet_search *s, const struct linnet_search_settings *settings) {
  struct linnet_lexicon *lexicon = s->vocabulary.lexicon;
  struct linnet_guesser guesser = {.context = s->context, .lexicon = lexicon, .added = lexicon, .g2p = s->g2p};
  enum linnet_status status = LINNET_OK;
  s->num_read_words = linnet_lexicon_num_words(lexicon);
  if (linnet_source_given(&settings->hotwords))
    status = load_hotwords(s, &settings->hotwords, &guesser);
  if (status == LINNET_OK && linnet_source_given(&settings->grammar))
    status = load_grammar(s, &settings->grammar, &guesser);
  linnet_guesser_close(&guesser, LINNET_LOG_WARNING);
  return status;
}

/* Grammar or language model give the lookahead. */
static enum linnet_status load_language(struct linnet_search *s, const struct linnet_search_settings *settings) {
  if (!s->grammar)
    return linnet_source_given(&settings->language_model) ? load_language_model(s, settings) : LINNET_OK;
  LINNET_TRY(allocate_lookahead(s, linnet_lexicon_num_words(s->vocabulary.lexicon) + 2));
  linnet_grammar_lookahead(s->grammar, s->lookahead);
  return LINNET_OK;
}

static enum linnet_status find_silences(struct linnet_search *s, const struct linnet_search_settings *settings) {
  const size_t count = settings->num_silences;
  s->silences = linnet_calloc(s->context, count, sizeof *s->silences);
  if (!s->silences)
    return linnet_fail(s->context, LINNET_ERROR_MEMORY, "out of memory for %zu silences", count);
  for (size_t i = 0; i < count; i++) {
    const char *name = settings->silences[i];
    size_t symbol = name ? linnet_symbols_find(s->vocabulary.symbols, name) : LINNET_NOT_FOUND;
    if (symbol < 1 || symbol == LINNET_NOT_FOUND)
      return linnet_fail(s->context, LINNET_ERROR_ARGUMENT,
                         "silences: %s is not one of the symbols, which 'linnet info --symbols MODEL' or the file of "
                         "the symbols lists",
                         name ? name : "NULL");
    s->silences[i] = (int)symbol;
  }
  s->words.silences = s->silences;
  s->words.num_silences = count;
  return LINNET_OK;
}

static enum linnet_status open_words(struct linnet_search *s, const struct linnet_search_settings *settings,
                                     size_t beam) {
  linnet_word_search_settings_default(&s->words);
  SET_SHARED(&s->words, s, settings, beam);
  s->words.word_bonus = settings->word_bonus;
  s->words.unknown_penalty = settings->unknown_penalty;
  s->words.unknown_bonus = settings->unknown_bonus;
  s->words.pronunciation_weight = settings->pronunciation_weight;
  s->words.recombine = settings->num_alternatives == 1 && !settings->lattice;
  enum linnet_status status =
      linnet_vocabulary_open(&s->vocabulary, s->context, s->names, s->num_symbols, &settings->lexicon);
  if (status != LINNET_OK)
    return linnet_fail_setting(s->context, "lexicon", status);
  LINNET_TRY(find_silences(s, settings));
  status = linnet_g2p_demand_create(s->context, &settings->g2p, &s->g2p);
  if (status != LINNET_OK)
    return linnet_fail_setting(s->context, "g2p", status);
  LINNET_TRY(load_phrases(s, settings));
  LINNET_TRY(load_language(s, settings));
  return linnet_word_search_create(s->context, s->vocabulary.lexicon, s->num_symbols, &s->words, &s->first);
}

/* --- creation and destruction ------------------------------------------------------------------------------------- */

static enum linnet_status open_symbols(struct linnet_search *s, const struct linnet_search_settings *settings,
                                       size_t beam) {
  linnet_beam_settings_default(&s->beam);
  SET_SHARED(&s->beam, s, settings, beam);
  s->beam.insertion_bonus = settings->insertion_bonus;
  if (!linnet_source_given(&settings->language_model))
    return LINNET_OK;
  enum linnet_status status = load_symbol_model(s, &settings->language_model);
  return status == LINNET_OK ? status : linnet_fail_setting(s->context, "language_model", status);
}

/* The beam is at least the number of alternatives. */
static size_t choose_beam(const struct linnet_search_settings *settings) {
  if (settings->beam > 0)
    return settings->beam;
  size_t beam = settings->num_alternatives > DEFAULT_BEAM ? settings->num_alternatives : DEFAULT_BEAM;
  return beam < LINNET_BEAM_MAX ? beam : LINNET_BEAM_MAX;
}

static enum linnet_status open_kind(struct linnet_search *s, const struct linnet_search_settings *settings) {
  if (s->kind != LINNET_SEARCH_GREEDY)
    LINNET_TRY(linnet_search_load_priors(s, settings));
  switch (s->kind) {
  case LINNET_SEARCH_SYMBOLS:
    return open_symbols(s, settings, choose_beam(settings));
  case LINNET_SEARCH_WORDS:
    return open_words(s, settings, choose_beam(settings));
  case LINNET_SEARCH_GREEDY:
    break;
  }
  return LINNET_OK;
}

/* Creates a stream, because streams check the settings of their search, and destroys it. */
static enum linnet_status try_stream(struct linnet_search *s) {
  struct linnet_search_stream *stream = NULL;
  enum linnet_status status = linnet_search_stream_create(s->context, s, &stream);
  linnet_search_stream_destroy(stream);
  return status;
}

static enum linnet_status copy_names(struct linnet_search *s, const char *const *names, size_t count) {
  s->names = linnet_alloc(s->context, count, sizeof *s->names);
  if (!s->names)
    return linnet_fail(s->context, LINNET_ERROR_MEMORY, "out of memory for the names of %zu symbols", count);
  for (size_t i = 0; i < count; i++) {
    s->names[i] = names[i];
    if (!names[i] && i > 0)
      return linnet_fail(s->context, LINNET_ERROR_ARGUMENT, "linnet_search_create: symbol %zu has no name", i);
  }
  s->num_symbols = count;
  return LINNET_OK;
}

static enum linnet_status check(struct linnet_context *context, const struct linnet_search_settings *settings,
                                size_t num_symbols) {
  const bool words = settings->kind == LINNET_SEARCH_WORDS;
  if ((unsigned)settings->kind > LINNET_SEARCH_WORDS || num_symbols < 1 || num_symbols > MAX_SYMBOLS)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "linnet_search_create: kind %d of a search, %zu symbols; they must be 0 to 2 and 1 to %d",
                       (int)settings->kind, num_symbols, MAX_SYMBOLS);
  if (settings->num_alternatives < 1)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "num_alternatives is 0; it must be at least 1");
  if (settings->num_silences > 0 && !settings->silences)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "num_silences is %zu, but silences is NULL",
                       settings->num_silences);
  LINNET_TRY(linnet_emission_delay_check(context, settings->emission_delay));
  if (words && !linnet_source_given(&settings->lexicon))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "words need pronunciations: name a lexicon, such as CMUdict "
                       "(https://github.com/cmusphinx/cmudict)");
  if (words && linnet_source_given(&settings->grammar) && linnet_source_given(&settings->language_model))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "a grammar replaces a language model: give only one of grammar and language_model");
  if (!words && (linnet_source_given(&settings->lexicon) || linnet_source_given(&settings->grammar) ||
                 linnet_source_given(&settings->hotwords)))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "lexicon, grammar and hotwords need a search for words: set search to \"words\"");
  return LINNET_OK;
}

static enum linnet_status open_search(struct linnet_search *s, const char *const *names, size_t num_symbols,
                                      const struct linnet_search_settings *settings) {
  LINNET_TRY(copy_names(s, names, num_symbols));
  s->kind = settings->kind;
  s->num_alternatives = settings->num_alternatives;
  s->blank_penalty = settings->blank_penalty;
  s->emission_delay = settings->emission_delay;
  s->calibrated = settings->calibrations != NULL;
  if (s->calibrated)
    s->calibrations = *settings->calibrations;
  LINNET_TRY(open_kind(s, settings));
  return try_stream(s);
}

/* The search in force; its files have their own lines. */
static void log_search(const struct linnet_search *s, const struct linnet_search_settings *settings) {
  const struct linnet_source *model = &settings->language_model, *lexicon = &settings->lexicon;
  if (s->kind == LINNET_SEARCH_GREEDY)
    linnet_log(s->context, LINNET_LOG_INFO, "search: greedy, blank penalty %g", (double)s->blank_penalty);
  else
    linnet_log(s->context, LINNET_LOG_INFO, "search: for %s%s, beam %zu, language model %s",
               s->kind == LINNET_SEARCH_WORDS ? "words of " : "symbols",
               s->kind == LINNET_SEARCH_WORDS ? linnet_source_name(lexicon) : "", choose_beam(settings),
               linnet_source_given(&settings->grammar) ? linnet_source_name(&settings->grammar)
               : linnet_source_given(model)            ? linnet_source_name(model)
                                                       : "none");
}

enum linnet_status linnet_search_create(struct linnet_context *context, const char *const *names, size_t num_symbols,
                                        const struct linnet_search_settings *settings, struct linnet_search **search) {
  struct linnet_search_settings full;
  if (search)
    *search = NULL;
  if (!context || !names || !search)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_search_create: an argument is NULL");
  LINNET_TRY(LINNET_READ_SETTINGS(context, search, settings, &full));
  LINNET_TRY(check(context, &full, num_symbols));
  struct linnet_search *s = linnet_calloc(context, 1, sizeof *s);
  if (!s)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a search");
  s->context = context;
  enum linnet_status status = open_search(s, names, num_symbols, &full);
  if (status == LINNET_OK) {
    log_search(s, &full);
    *search = s;
  } else {
    linnet_search_destroy(s);
  }
  return status;
}

size_t linnet_search_num_tokens(const struct linnet_search *s) {
  return s->first ? linnet_lexicon_num_words(s->vocabulary.lexicon) + 2 : s->num_symbols;
}

const char *linnet_search_token(const struct linnet_search *s, size_t token) {
  if (token == 0 || token >= linnet_search_num_tokens(s))
    return NULL;
  return s->first ? linnet_word_search_text(s->first, (unsigned)token) : s->names[token];
}

void linnet_search_destroy(struct linnet_search *s) {
  if (!s)
    return;
  linnet_word_search_destroy(s->first);
  linnet_ngram_binding_destroy(s->binding);
  linnet_ngram_destroy(s->ngram);
  linnet_grammar_destroy(s->grammar);
  linnet_hotwords_destroy(s->hotwords);
  linnet_g2p_demand_destroy(s->g2p);
  linnet_vocabulary_close(&s->vocabulary);
  linnet_free(s->context, s->lookahead);
  linnet_free(s->context, s->silences);
  linnet_free(s->context, s->priors);
  linnet_free(s->context, s->names);
  linnet_free(s->context, s);
}
