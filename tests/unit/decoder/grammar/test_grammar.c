/* Grammars: accepted and refused sentences, errors, a search that finds only accepted sentences, failing
 * allocations. Hotword lists, too, which have the same reader. */
#include <pthread.h>

#include <linnet/grammar.h>

#include "allocators.h"
#include "unit/decoder/words/word_cases.h"

static const char words[] = "RED A\nGREEN B\nBRIGHT C\nLIGHT A B\nSWITCH B A\nON C A\nOFF C B\nTHE A C\n";

struct scene {
  struct linnet_context *context;
  struct linnet_symbols *symbols;
  struct linnet_lexicon *lexicon;
};

static struct scene open_scene(void) {
  struct scene s = {.context = test_context()};
  s.symbols = case_symbols(s.context);
  REQUIRE(linnet_lexicon_load_memory(s.context, words, strlen(words), "words", NULL, s.symbols, &s.lexicon) ==
              LINNET_OK,
          "%s", linnet_context_error(s.context));
  return s;
}

static void close_scene(struct scene *s) {
  linnet_lexicon_destroy(s->lexicon);
  linnet_symbols_destroy(s->symbols);
  linnet_context_destroy(s->context);
}

/* --- sentences ---------------------------------------------------------------------------------------------------- */

static bool accepts(const struct scene *s, const struct linnet_grammar *grammar, const char *sentence) {
  const struct linnet_language_model *model = linnet_grammar_language_model(grammar);
  uint32_t state;
  char copy[256];
  snprintf(copy, sizeof copy, "%s", sentence);
  model->begin(model->user, &state);
  for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
    if (model->score(model->user, &state, (unsigned)linnet_lexicon_find(s->lexicon, word) + 1, &state) < 0)
      return false;
  return model->finish(model->user, &state) == 0;
}

/* Sentences are separated by semicolons. */
struct acceptance {
  const char *grammar, *yes, *no;
};

#define JSGF "#JSGF V1.0;\n"

static const struct acceptance acceptances[] = {
    {"switch on\n# a comment\n\nswitch off\r\nred", "SWITCH ON;SWITCH OFF;RED", ";SWITCH;ON;SWITCH ON RED"},
    {JSGF "public <a> = red | green light;", "RED;GREEN LIGHT", ";GREEN;RED LIGHT"},
    {JSGF "grammar a.b;\npublic <a> = the [bright] (red | green)+ [light*];",
     "THE RED;THE BRIGHT GREEN RED;THE GREEN LIGHT LIGHT", "THE;THE LIGHT;THE BRIGHT;RED"},
    {JSGF "<c> = red | green; // colours\npublic <a> = /* which? */ /1.5/ <c> {tag} light | /2/ \"switch off\" <c>*;",
     "RED LIGHT;SWITCH OFF;SWITCH OFF RED GREEN", "RED;SWITCH;SWITCH RED"},
    {JSGF "public <a> = <b> <b>;\n<b> = red+ | <NULL>;", ";RED;RED RED RED", "GREEN"},
    {JSGF "public <a> = red <VOID> | green;\npublic <b> = (the | [on])*;", "GREEN;;THE ON THE", "RED;THE GREEN"},
    {"\n \r\n" JSGF "public <a> = red {x \\} green; \\\\} light;", "RED LIGHT", "RED"},
    {JSGF "public <a> = (red | red light) (light on | on);", "RED ON;RED LIGHT ON;RED LIGHT LIGHT ON", "RED LIGHT"},
};

static void check_sentences(const struct scene *s, const struct linnet_grammar *grammar, const char *sentences,
                            bool expected) {
  while (sentences) {
    char sentence[128];
    size_t length = strcspn(sentences, ";");
    snprintf(sentence, sizeof sentence, "%.*s", (int)length, sentences);
    CHECK(accepts(s, grammar, sentence) == expected, "'%s' is %s", sentence, expected ? "refused" : "accepted");
    sentences = sentences[length] ? sentences + length + 1 : NULL;
  }
}

static enum linnet_status load(const struct scene *s, const char *text, struct linnet_grammar **grammar) {
  return linnet_grammar_load_memory(s->context, text, strlen(text), "g", s->lexicon, grammar);
}

static void test_acceptance(const struct scene *s) {
  for (size_t i = 0; i < sizeof acceptances / sizeof *acceptances; i++) {
    const struct acceptance *a = &acceptances[i];
    struct linnet_grammar *grammar;
    REQUIRE(load(s, a->grammar, &grammar) == LINNET_OK, "%s: %s", a->grammar, linnet_context_error(s->context));
    check_sentences(s, grammar, a->yes, true);
    check_sentences(s, grammar, a->no, false);
    linnet_grammar_destroy(grammar);
  }
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

struct refusal {
  const char *text, *message;
};

static const struct refusal refusals[] = {
    {"red\nblue", "g:2: 'blue' is not in the lexicon"},
    {"public <a> = red;", "g:1: looks like JSGF, but the first line is not '#JSGF V1.0;'"},
    {"# a comment\nred\n<a>=red;", "g:3: looks like JSGF, but"},
    {"public red\n", "g:1: 'public' is not in the lexicon"},
    {"<a> red\n", "g:1: '<a>' is not in the lexicon"},
    {"", "g: the grammar accepts nothing: write one sentence per line"},
    {JSGF, "g: no rule is public"},
    {JSGF "<a> = red;", "g: no rule is public"},
    {JSGF "public <a> = red", "g:2: the grammar ends where '|' or ';' is expected"},
    {JSGF "public <a> = red;\npublic <b> = <c>;", "g:3: rule <c> is not defined: add '<c> = ...;'"},
    {JSGF "public <a> = red <b>;\n<b> = on | <a>;", "g:3: rule <a> refers to itself"},
    {JSGF "public <a> = <a>;", "g:2: rule <a> refers to itself"},
    {JSGF "public <a> = red;\n<a> = on;", "g:3: rule <a> is defined twice"},
    {JSGF "public <a> = (red;", "g:2: expected '|' or ')' at ';'"},
    {JSGF "public <a> = red);", "g:2: expected '|' or ';' at ');'"},
    {JSGF "public <a> = ;", "g:2: expected a word"},
    {JSGF "public <a> = red | | on;", "g:2: expected a word"},
    {JSGF "public <a> = \"red on;", "g:2: '"},
    {JSGF "public <a> = red {tag;", "g:2: the grammar ends where the end of a tag"},
    {JSGF "/* public <a> = red;", "g:2: the grammar ends where the end of a comment"},
    {JSGF "import <x.y>;\npublic <a> = red;", "g:2: imports are not supported"},
    {JSGF "public <a> = <VOID>;", "g: the grammar accepts nothing"},
    {JSGF "public a = red;", "g:2: expected a rule"},
    {JSGF "public <a b> = red;", "g:2: expected the name of a rule"},
    {JSGF "public <a> = * red;", "g:2: expected a word"},
    {"#JSGF V1.0\npublic <a> = red;", "g:1: expected ';'"},
};

static void check_refusal(const struct scene *s, enum linnet_status status, const struct refusal *refusal) {
  const char *error = linnet_context_error(s->context);
  CHECK(status != LINNET_OK && strncmp(error, refusal->message, strlen(refusal->message)) == 0,
        "'%s': '%s', expected '%s'", refusal->text, error, refusal->message);
}

static void test_refusals(const struct scene *s) {
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    struct linnet_grammar *grammar;
    check_refusal(s, load(s, refusals[i].text, &grammar), &refusals[i]);
    CHECK(!grammar, "a grammar was made");
  }
}

/* Expressions that would exceed the stack: repetitions of repetitions, and rules that refer to resolved rules. */
static void *test_depth(void *scene) {
  enum { DEEP = 20000, RULES = 1000 };
  const struct scene *s = scene;
  char *text = malloc(64 * DEEP);
  struct linnet_grammar *grammar;
  REQUIRE(text, "memory");
  for (size_t i = 0; i < 3; i++) {
    size_t at = (size_t)sprintf(text, JSGF "public <a> = red");
    memset(text + at, "*++"[i], DEEP);
    strcpy(text + at + DEEP, i < 2 ? ";" : "*;");
    REQUIRE(load(s, text, &grammar) == LINNET_OK, "%s", linnet_context_error(s->context));
    check_sentences(s, grammar, i == 1 ? "RED;RED RED" : ";RED;RED RED", true);
    check_sentences(s, grammar, i == 1 ? ";ON" : "ON;RED ON", false);
    linnet_grammar_destroy(grammar);
  }
  size_t at = (size_t)sprintf(text, JSGF "public <r0> = red;\n");
  for (int i = 1; i < RULES; i++)
    at += (size_t)sprintf(text + at, "public <r%d> = <r%d>;\n", i, i - 1);
  check_refusal(s, load(s, text, &grammar), &(struct refusal){"a chain of rules", "g:343: brackets and rules are"});
  free(text);
  return NULL;
}

/* On a small stack less depth is enough to overflow it. */
static void test_depth_on_small_stack(struct scene *s) {
  pthread_attr_t attributes;
  pthread_t thread;
  REQUIRE(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, (size_t)2 << 20) == 0 &&
              pthread_create(&thread, &attributes, test_depth, s) == 0,
          "no thread");
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

/* Brackets, references and written out rules without end. */
static void test_limits(const struct scene *s) {
  static char text[1 << 16];
  struct linnet_grammar *grammar;
  size_t at = (size_t)snprintf(text, sizeof text, JSGF "public <a> = ");
  memset(text + at, '(', 10000);
  check_refusal(s, load(s, text, &grammar), &(struct refusal){"brackets", "g:2: brackets are nested more than"});
  at = (size_t)snprintf(text, sizeof text, JSGF "public <r0> = red;\n");
  for (int i = 1; i < 100; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "public <r%d> = <r%d>;\n", i, i - 1);
  CHECK(load(s, text, &grammar) == LINNET_OK, "%s", linnet_context_error(s->context));
  linnet_grammar_destroy(grammar);
  at = (size_t)snprintf(text, sizeof text, JSGF "public <r0> = <r1>;\n");
  for (int i = 1; i < 100; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "<r%d> = <r%d>;\n", i, i + 1);
  check_refusal(s, load(s, text, &grammar), &(struct refusal){"rules", "g:65: rules refer to rules"});
  at = (size_t)snprintf(text, sizeof text, JSGF "public <r0> = red;\n");
  for (int i = 1; i < 40; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "public <r%d> = <r%d> <r%d>;\n", i, i - 1, i - 1);
  check_refusal(s, load(s, text, &grammar), &(struct refusal){"doubling", "g: the grammar is too large"});
  at = (size_t)snprintf(text, sizeof text, JSGF "public <a> = (red | on)* red");
  for (int i = 0; i < 40; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, " (red | on)");
  snprintf(text + at, sizeof text - at, ";");
  check_refusal(s, load(s, text, &grammar), &(struct refusal){"sets", "g: the grammar is too large"});
}

static const struct refusal hotword_refusals[] = {
    {"red\nblue 3", "g:2: 'blue' is not in the lexicon"},
    {"red\npublic\t<a> =\n  red;", "g:2: looks like a rule of JSGF, but hotwords are one phrase per line"},
    {"#JSGF V1.0;\npublic <a> = red;", "g:2: looks like a rule of JSGF, but hotwords are one phrase per line"},
    {"red 1000", "g:1: the weight is 1000"},
    {"red on 2\n\nRED ON", "g:3: the phrase appears twice, first in line 1"},
    {"red 1e999", "g:1: the weight is inf"},
    {"red INFINITY 3\non inf\nred +nan", "g:1: 'INFINITY', 'inf', '+nan' are not in the lexicon"},
    {"3", "g:1: '3' is not in the lexicon"},
    {"red blue\npurple 2\nblue", "g:1: 'blue', 'purple' are not in the lexicon"},
};

/* Missing words of every length end where the message has room for them. */
static void test_many_missing(const struct scene *s) {
  static const char letters[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
  for (int length = 1; length < 30; length++) {
    struct linnet_hotwords *hotwords = NULL;
    char text[4096];
    size_t at = 0;
    for (int i = 0; i < 90; i++)
      at += (size_t)snprintf(text + at, sizeof text - at, "%.*s%02d\n", length, letters, i);
    CHECK(linnet_hotwords_load_memory(s->context, text, at, "g", s->lexicon, &hotwords) == LINNET_ERROR_FORMAT &&
              !hotwords && strstr(linnet_context_error(s->context), "'... are not in the lexicon"),
          "words of %d letters: %s", length, linnet_context_error(s->context));
  }
}

static void test_hotwords(const struct scene *s) {
  struct linnet_hotwords *hotwords;
  for (size_t i = 0; i < sizeof hotword_refusals / sizeof *hotword_refusals; i++) {
    const struct refusal *r = &hotword_refusals[i];
    check_refusal(s, linnet_hotwords_load_memory(s->context, r->text, strlen(r->text), "g", s->lexicon, &hotwords), r);
  }
  REQUIRE(linnet_hotwords_load_memory(s->context, "#\n", 2, "g", s->lexicon, &hotwords) == LINNET_OK &&
              linnet_hotwords_num_phrases(hotwords) == 0,
          "an empty list");
  linnet_hotwords_destroy(hotwords);
}

/* --- in a search -------------------------------------------------------------------------------------------------- */

/* For any posteriors the result is a sentence of the grammar. */
static void test_search(const struct scene *s) {
  enum { FRAMES = 30, TOKENS = 16 };
  struct linnet_grammar *grammar;
  float rows[FRAMES * CASE_SYMBOLS], lookahead[TOKENS];
  REQUIRE(load(s, acceptances[2].grammar, &grammar) == LINNET_OK, "%s", linnet_context_error(s->context));
  const struct linnet_language_model *model = linnet_grammar_language_model(grammar);
  struct linnet_word_search_settings settings;
  struct linnet_word_search *search;
  linnet_word_search_settings_default(&settings);
  settings.model = model;
  settings.lookahead = lookahead;
  linnet_grammar_lookahead(grammar, lookahead);
  REQUIRE(linnet_word_search_create(s->context, s->lexicon, CASE_SYMBOLS, &settings, &search) == LINNET_OK, "%s",
          linnet_context_error(s->context));
  for (uint64_t seed = 0; seed < 50; seed++) {
    struct test_random r = {seed};
    struct linnet_word_hypothesis h;
    char sentence[512] = "";
    fill_posteriors(&r, rows, FRAMES, CASE_SYMBOLS, 4);
    linnet_word_search_reset(search);
    CHECK(linnet_word_search_accept(search, rows, FRAMES) == LINNET_OK &&
              linnet_word_search_finish(search) == LINNET_OK,
          "search");
    REQUIRE(linnet_word_search_hypothesis(search, 0, &h) == LINNET_OK, "no hypothesis");
    for (size_t i = 0; i < h.num_words; i++)
      snprintf(sentence + strlen(sentence), sizeof sentence - strlen(sentence), " %s",
               linnet_word_search_text(search, h.words[i].token));
    CHECK(h.complete && accepts(s, grammar, sentence), "seed %llu: '%s'", (unsigned long long)seed, sentence);
  }
  linnet_word_search_destroy(search);
  linnet_grammar_destroy(grammar);
}

static enum linnet_status scenario(struct linnet_context *context) {
  static const char *const names[] = {"A", "B", "C"};
  const char *text = acceptances[3].grammar;
  struct linnet_symbols *symbols = NULL;
  struct linnet_lexicon *lexicon = NULL;
  struct linnet_grammar *grammar = NULL;
  enum linnet_status status = linnet_symbols_create(context, names, 3, &symbols);
  if (status == LINNET_OK)
    status = linnet_lexicon_load_memory(context, words, strlen(words), "words", NULL, symbols, &lexicon);
  if (status == LINNET_OK)
    status = linnet_grammar_load_memory(context, text, strlen(text), "g", lexicon, &grammar);
  linnet_grammar_destroy(grammar);
  linnet_lexicon_destroy(lexicon);
  linnet_symbols_destroy(symbols);
  return status;
}

int main(void) {
  struct scene s = open_scene();
  test_acceptance(&s);
  test_refusals(&s);
  test_limits(&s);
  test_depth_on_small_stack(&s);
  test_hotwords(&s);
  test_many_missing(&s);
  test_search(&s);
  close_scene(&s);
  torture("grammar", scenario);
  return test_result();
}
