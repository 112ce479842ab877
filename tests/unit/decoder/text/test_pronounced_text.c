/* Written texts with pronunciations: known, guessed and unknown words, their positions in the text, and their times. */
#include <linnet/pronounced_text.h>

#include "allocators.h"

static const char lexicon_lines[] = "THE DH AH0\nTHE(2) DH IY0\nSUN S AH1 N\nIS IH1 Z\nTWENTY T W EH1 N\n"
                                    "FIVE F AY1 V\nFIVE(2) F AY1\nA AH0\nA. EY1\nB B IY1\n";
static const char *const phone_names[] = {"DH", "AH", "IY", "S",  "N", "IH", "Z", "T",
                                          "W",  "EH", "F",  "AY", "V", "EY", "B"};
enum { PHONES = sizeof phone_names / sizeof *phone_names };

struct world {
  struct linnet_context *context;
  struct linnet_symbols *phones;
  struct linnet_lexicon *lexicon;
  struct linnet_text_normalizer *normalizer;
  struct linnet_g2p *g2p;
};

static enum linnet_status open_world(struct world *w, struct linnet_context *context) {
  struct linnet_lexicon_settings settings;
  linnet_lexicon_settings_default(&settings);
  settings.strip_stress = 1;
  *w = (struct world){.context = context};
  enum linnet_status status = linnet_symbols_create(context, phone_names, PHONES, &w->phones);
  if (status == LINNET_OK)
    status = linnet_lexicon_load_memory(context, lexicon_lines, strlen(lexicon_lines), "L", &settings, w->phones,
                                        &w->lexicon);
  if (status == LINNET_OK)
    status = linnet_text_normalizer_load(context, test_source("models/english/text.rules"), &w->normalizer);
  return status;
}

static void close_world(struct world *w) {
  linnet_g2p_destroy(w->g2p);
  linnet_text_normalizer_destroy(w->normalizer);
  linnet_lexicon_destroy(w->lexicon);
  linnet_symbols_destroy(w->phones);
}

static enum linnet_status pronounce(const struct world *w, const char *source, struct linnet_pronounced_text **text) {
  struct linnet_pronounced_text_settings settings;
  linnet_pronounced_text_settings_default(&settings);
  settings.normalizer = w->normalizer;
  settings.lexicon = w->lexicon;
  settings.g2p = w->g2p;
  settings.phones = w->phones;
  return linnet_pronounced_text_create(w->context, source, "TEXT", &settings, text);
}

static struct linnet_pronounced_text *pronounced(const struct world *w, const char *source) {
  struct linnet_pronounced_text *text = NULL;
  REQUIRE(pronounce(w, source, &text) == LINNET_OK, "%s", linnet_context_error(w->context));
  return text;
}

/* The phones of a variant, with spaces. Static storage. */
static const char *phones_of(const struct world *w, const struct linnet_pronunciation *variant) {
  static char line[512];
  line[0] = '\0';
  for (size_t i = 0; i < variant->num_labels; i++) {
    strcat(line, i > 0 ? " " : "");
    strcat(line, linnet_symbols_name(w->phones, variant->labels[i]));
  }
  return line;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

static void test_words(const struct world *w) {
  struct linnet_pronounced_text *text =
      pronounced(w, "\xEF\xBB\xBF“The” sun —\n é\xC2\xA0zzyx is\r\n\r\n25… x-sun (zzyx");
  static const struct {
    const char *text;
    size_t line, column;
    enum linnet_word_source source;
    const char *missing;
  } wanted[] = {{"“The”", 1, 1, LINNET_WORD_KNOWN, NULL},   {"sun", 1, 7, LINNET_WORD_KNOWN, NULL},
                {"é", 2, 2, LINNET_WORD_UNKNOWN, "é"},      {"zzyx", 2, 4, LINNET_WORD_UNKNOWN, "zzyx"},
                {"is", 2, 9, LINNET_WORD_KNOWN, NULL},      {"25…", 4, 1, LINNET_WORD_KNOWN, NULL},
                {"x-sun", 4, 5, LINNET_WORD_UNKNOWN, "x."}, {"(zzyx", 4, 11, LINNET_WORD_UNKNOWN, "zzyx"}};
  size_t count, aligned;
  const struct linnet_written_word *words = linnet_pronounced_text_words(text, &count);
  REQUIRE(count == sizeof wanted / sizeof *wanted, "%zu words", count);
  for (size_t i = 0; i < count; i++) {
    CHECK(strcmp(words[i].text, wanted[i].text) == 0 && words[i].source == wanted[i].source, "word %zu: '%s', %d", i,
          words[i].text, (int)words[i].source);
    CHECK(words[i].line == wanted[i].line && words[i].column == wanted[i].column, "'%s' at %zu:%zu", words[i].text,
          words[i].line, words[i].column);
    bool missing = words[i].missing && wanted[i].missing && strcmp(words[i].missing, wanted[i].missing) == 0;
    CHECK(missing || words[i].missing == wanted[i].missing, "'%s' misses '%s'", words[i].text, words[i].missing);
  }
  linnet_pronounced_text_align_words(text, &aligned);
  CHECK(aligned == 4 && linnet_pronounced_text_index(text, 2) == 4 && linnet_pronounced_text_index(text, 3) == 5 &&
            linnet_pronounced_text_index(text, 4) == LINNET_NOT_FOUND,
        "%zu words to align", aligned);
  linnet_pronounced_text_destroy(text);
}

static void test_variants(const struct world *w) {
  struct linnet_pronounced_text *text = pronounced(w, "the 25 A.B.");
  size_t count;
  const struct linnet_align_word *words = linnet_pronounced_text_align_words(text, &count);
  REQUIRE(count == 3, "%zu words", count);
  CHECK(words[0].num_variants == 2 && strcmp(phones_of(w, &words[0].variants[1]), "DH IY") == 0, "the");
  REQUIRE(words[1].num_variants == 2, "25 has %zu pronunciations", words[1].num_variants);
  CHECK(strcmp(phones_of(w, &words[1].variants[0]), "T W EH N F AY V") == 0, "25: %s",
        phones_of(w, &words[1].variants[0]));
  CHECK(strcmp(phones_of(w, &words[1].variants[1]), "T W EH N F AY") == 0, "25: %s",
        phones_of(w, &words[1].variants[1]));
  CHECK(strcmp(linnet_pronounced_text_spoken(text, 1, 1), "twenty five") == 0, "25 is said '%s'",
        linnet_pronounced_text_spoken(text, 1, 1));
  CHECK(strcmp(phones_of(w, &words[2].variants[0]), "EY B IY") == 0, "A.B.: %s", phones_of(w, &words[2].variants[0]));
  CHECK(!linnet_pronounced_text_spoken(text, 1, 2) && !linnet_pronounced_text_spoken(text, 3, 0), "out of range");
  linnet_pronounced_text_destroy(text);
}

/* Some words have another spoken form before a word, or after a name. */
static void test_beside(const struct world *w) {
  static const char rules[] = "keys outer “ ” , .\ntable symbol & and\nnumber c 0 five\nrule {n} = {1:c}\n"
                              "before {n} b = sun {1:c}\nafter {W} {r:2-39} = the {2:c}\nrule {r:2-39} = {1:c}\n";
  static const struct {
    const char *text, *last; /* the last spoken form of the second word */
  } cases[] = {{"the 5 “b”", "sun five"}, {"the 5", "five"},  {"the 5, the", "five"}, {"the 5 , b", "five"},
               {"Sun, II.", "the five"},  {"sun II", "five"}, {"Sun vi", "the five"}, {"Sun IIX", NULL},
               {"É II", "the five"},      {"Sun XL", NULL}};
  struct world own = *w;
  REQUIRE(linnet_text_normalizer_load_memory(w->context, rules, strlen(rules), "R", &own.normalizer) == LINNET_OK, "%s",
          linnet_context_error(w->context));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct linnet_pronounced_text *text = pronounced(&own, cases[i].text);
    size_t count, aligned = 0, at;
    const struct linnet_align_word *words = linnet_pronounced_text_align_words(text, &count);
    while ((at = linnet_pronounced_text_index(text, aligned)) < 1)
      aligned++;
    const char *last = at == 1 ? linnet_pronounced_text_spoken(text, aligned, words[aligned].num_variants - 1) : NULL;
    CHECK(last && cases[i].last ? strcmp(last, cases[i].last) == 0 : !last && !cases[i].last, "'%s': '%s'",
          cases[i].text, last ? last : "(none)");
    linnet_pronounced_text_destroy(text);
  }
  linnet_text_normalizer_destroy(own.normalizer);
}

/* What is not said stays in the written form of the word before it, or of the first word. */
static void test_marks(const struct world *w) {
  static const struct {
    const char *text, *written; /* words with '|' between them */
  } cases[] = {{"the sun — is ... -- five", "the|sun —|is ... --|five"},
               {"\xE2\x80\x94 \n - the sun -->", "\xE2\x80\x94 - the|sun -->"},
               {"[sun] the <is> sun, [is,\tfive is] is (laughs). (Music)",
                "[sun] the <is>|sun, [is, five is]|is (laughs). (Music)"},
               {"the [sun is", "the|[sun|is"},
               {"the [sun\nis]", "the|[sun|is]"},
               {"the [sun]s is", "the|[sun]s|is"},
               {"the (sun) <sun [is] sun>", "the|(sun) <sun [is] sun>"},
               {"the < sun >", "the <|sun >"},
               {"the <sun>five is</sun>", "the|<sun>five|is</sun>"},
               {"the [BAD] [a.]", "the [BAD] [a.]"},
               {"— [sun]", ""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct linnet_pronounced_text *text = pronounced(w, cases[i].text);
    char all[256] = "";
    size_t count;
    const struct linnet_written_word *words = linnet_pronounced_text_words(text, &count);
    for (size_t k = 0; k < count; k++)
      strcat(strcat(all, k > 0 ? "|" : ""), words[k].written);
    CHECK(strcmp(all, cases[i].written) == 0, "'%s': '%s'", cases[i].text, all);
    linnet_pronounced_text_destroy(text);
  }
}

/* Some words have another spoken form after a number. */
static void test_after(const struct world *w) {
  static const char rules[] = "keys outer “ , .\ntable symbol & and\ntable currency $ sun\nnumber c 0 five\n"
                              "rule {currency}{n} = {2:c}\nrule {n} = {1:c}\nafter {currency}{n} b = b {1.1}\n";
  struct world own = *w;
  REQUIRE(linnet_text_normalizer_load_memory(w->context, rules, strlen(rules), "R", &own.normalizer) == LINNET_OK, "%s",
          linnet_context_error(w->context));
  struct linnet_pronounced_text *text = pronounced(&own, "b “$5 b, 5 b");
  size_t count;
  const struct linnet_align_word *aligned = linnet_pronounced_text_align_words(text, &count);
  REQUIRE(count == 5, "%zu words", count);
  for (size_t i = 0; i < count; i++) {
    const char *last = linnet_pronounced_text_spoken(text, i, aligned[i].num_variants - 1);
    CHECK((strcmp(last, "b sun") == 0) == (i == 2), "word %zu is said '%s'", i, last);
  }
  CHECK(aligned[2].num_variants == 2, "b has %zu ways", aligned[2].num_variants);
  linnet_pronounced_text_destroy(text);
  linnet_text_normalizer_destroy(own.normalizer);
}

/* Capital letters are an acronym only if the text also has small letters, or if they are few. */
static void test_capitals(const struct world *w) {
  static const struct {
    const char *text;
    enum linnet_word_source last;
  } cases[] = {{"the BABA", LINNET_WORD_KNOWN}, {"THE BABA", LINNET_WORD_UNKNOWN}, {"THE BAB", LINNET_WORD_KNOWN}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct linnet_pronounced_text *text = pronounced(w, cases[i].text);
    size_t count;
    const struct linnet_written_word *words = linnet_pronounced_text_words(text, &count);
    CHECK(count == 2 && words[1].source == cases[i].last, "'%s'", cases[i].text);
    linnet_pronounced_text_destroy(text);
  }
}

static void test_bad_utf8(const struct world *w) {
  static const struct {
    const char *text, *location;
  } cases[] = {{"a b\nc \xFF", "TEXT:2:3: the byte 0xFF"},
               {"\xEF\xBB\xBF"
                "a \xFF",
                "TEXT:1:3: the byte 0xFF"}, /* a byte order mark has no column */
               {"a \xFF", "'iconv -f WINDOWS-1252 -t UTF-8'"},
               {"\xC3", "TEXT:1:1: the byte 0xC3"},
               {"é\xED\xA0\x80", "TEXT:1:2: the byte 0xED"},
               {"\xF4\x90\x80\x80", "TEXT:1:1: the byte 0xF4"},
               {"a\xC0\x80", "TEXT:1:2: the byte 0xC0"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct linnet_pronounced_text *text;
    CHECK(pronounce(w, cases[i].text, &text) == LINNET_ERROR_FORMAT && !text, "text %zu", i);
    CHECK(strstr(linnet_context_error(w->context), cases[i].location), "'%s', not '%s'",
          linnet_context_error(w->context), cases[i].location);
  }
}

/* --- guesses ------------------------------------------------------------------------------------------------------ */

static enum linnet_status train(struct world *w) {
  static const struct {
    const char *word, *phones[3];
    size_t count;
  } words[] = {{"sun", {"S", "AH0", "N"}, 3}, {"sin", {"S", "IH1", "N"}, 3}, {"bun", {"B", "AH1", "N"}, 3},
               {"bin", {"B", "IH1", "N"}, 3}, {"fun", {"F", "AH1", "N"}, 3}, {"fin", {"F", "IH1", "N"}, 3}};
  struct linnet_g2p_trainer *trainer = NULL;
  struct linnet_g2p_settings settings;
  linnet_g2p_settings_default(&settings);
  settings.order = 2;
  enum linnet_status status = linnet_g2p_trainer_create(w->context, &settings, &trainer);
  for (size_t i = 0; i < sizeof words / sizeof *words && status == LINNET_OK; i++)
    status = linnet_g2p_trainer_add(trainer, words[i].word, words[i].phones, words[i].count);
  if (status == LINNET_OK)
    status = linnet_g2p_trainer_finish(trainer, &w->g2p);
  linnet_g2p_trainer_destroy(trainer);
  return status;
}

/* With a lexicon, and without one. */
static void test_guesses(struct world *w) {
  struct linnet_lexicon *lexicon = w->lexicon;
  REQUIRE(train(w) == LINNET_OK, "%s", linnet_context_error(w->context));
  for (int with = 1; with >= 0; with--) {
    w->lexicon = with ? lexicon : NULL;
    struct linnet_pronounced_text *text = pronounced(w, "the finbun-sun zzyx Finbun");
    size_t count, aligned;
    const struct linnet_written_word *words = linnet_pronounced_text_words(text, &count);
    const struct linnet_align_word *variants = linnet_pronounced_text_align_words(text, &aligned);
    REQUIRE(count == 4 && aligned == 2 + (size_t)with, "%zu words, %zu to align", count, aligned);
    CHECK(words[0].source == (with ? LINNET_WORD_KNOWN : LINNET_WORD_UNKNOWN), "the");
    CHECK(words[1].source == LINNET_WORD_GUESSED && words[3].source == LINNET_WORD_GUESSED, "guesses");
    CHECK(words[2].source == LINNET_WORD_UNKNOWN, "letters that the model lacks");
    CHECK(strcmp(phones_of(w, &variants[with].variants[0]), "F IH N B AH N S AH N") == 0, "finbun-sun: %s",
          phones_of(w, &variants[with].variants[0]));
    linnet_pronounced_text_destroy(text);
  }
  w->lexicon = lexicon;
}

/* --- times -------------------------------------------------------------------------------------------------------- */

enum { MAX_FRAMES = 64 };

/* Aligns a text to frames of the labels in `sounds`, each one character of letters: '-' is the blank. */
static struct linnet_alignment *align(const struct world *w, const struct linnet_pronounced_text *text,
                                      const int *labels, size_t frames, int jumps) {
  float posteriors[MAX_FRAMES * (PHONES + 1)];
  struct linnet_align_settings settings;
  struct linnet_alignment *alignment = NULL;
  linnet_align_settings_default(&settings);
  settings.jumps = jumps;
  for (size_t i = 0; i < frames * (PHONES + 1); i++)
    posteriors[i] = logf(i % (PHONES + 1) == (size_t)labels[i / (PHONES + 1)] ? 0.9f : 0.1f / PHONES);
  size_t count;
  const struct linnet_align_word *words = linnet_pronounced_text_align_words(text, &count);
  REQUIRE(linnet_alignment_create(w->context, posteriors, frames, PHONES + 1, words, count, &settings, &alignment) ==
              LINNET_OK,
          "%s", linnet_context_error(w->context));
  return alignment;
}

struct times_case {
  const char *text, *sounds; /* phones with spaces, "-" for the blank: a frame each */
  struct {
    const char *text;
    double start, end;
    bool interpolated;
  } wanted[7];
  size_t count;
};

static void check_times(const struct world *w, const struct times_case *c) {
  struct linnet_pronounced_text *text = pronounced(w, c->text);
  struct linnet_timed_word timed[8];
  int labels[MAX_FRAMES];
  size_t frames = 0, count, words;
  char sounds[256], *rest = NULL;
  snprintf(sounds, sizeof sounds, "%s", c->sounds);
  for (char *sound = strtok_r(sounds, " ", &rest); sound; sound = strtok_r(NULL, " ", &rest))
    labels[frames++] = *sound == '-' ? 0 : linnet_symbols_find(w->phones, sound);
  struct linnet_alignment *alignment = align(w, text, labels, frames, 0);
  const struct linnet_written_word *written = linnet_pronounced_text_words(text, &words);
  CHECK(linnet_pronounced_text_word_times(text, alignment, frames, timed, c->count - 1, &count) == LINNET_ERROR_LIMIT &&
            count == c->count,
        "'%s': %zu words, not %zu", c->text, count, c->count);
  REQUIRE(linnet_pronounced_text_word_times(text, alignment, frames, timed, c->count, &count) == LINNET_OK, "'%s'",
          c->text);
  for (size_t i = 0; i < count; i++)
    CHECK(strcmp(written[timed[i].word].text, c->wanted[i].text) == 0 &&
              fabs(timed[i].start - c->wanted[i].start) < 1e-9 && fabs(timed[i].end - c->wanted[i].end) < 1e-9 &&
              (timed[i].aligned == LINNET_NOT_FOUND) == c->wanted[i].interpolated,
          "'%s', word %zu: '%s' %g to %g", c->text, i, written[timed[i].word].text, timed[i].start, timed[i].end);
  linnet_alignment_destroy(alignment);
  linnet_pronounced_text_destroy(text);
}

static void test_times(const struct world *w) {
  static const struct times_case cases[] = {
      /* the frames between the neighbours are shared by length */
      {"sun zz zzzz is",
       "S AH N - - - - - - IH Z",
       {{"sun", 0, 3, false}, {"zz", 3, 5, true}, {"zzzz", 5, 9, true}, {"is", 9, 11, false}},
       4},
      /* before the first and after the last */
      {"zz sun zzz", "- - S AH N - -", {{"zz", 0, 2, true}, {"sun", 2, 5, false}, {"zzz", 5, 7, true}}, 3},
      /* neighbours without frames between them give half a frame */
      {"zz sun zz is zz",
       "S AH N IH Z",
       {{"zz", 0, 0.5, true},
        {"sun", 0.5, 2.75, false},
        {"zz", 2.75, 3.25, true},
        {"is", 3.25, 4.5, false},
        {"zz", 4.5, 5, true}},
       5},
      /* a word of one frame gives a third of it to each side, and keeps a third */
      {"sun zz zz a zz zz sun",
       "S AH N AH S AH N",
       {{"sun", 0, 2.5, false},
        {"zz", 2.5, 2.5 + 2.5 / 6, true},
        {"zz", 2.5 + 2.5 / 6, 10. / 3, true},
        {"a", 10. / 3, 11. / 3, false},
        {"zz", 11. / 3, 11. / 3 + 2.5 / 6, true},
        {"zz", 11. / 3 + 2.5 / 6, 4.5, true},
        {"sun", 4.5, 7, false}},
       7},
      /* no word is known */
      {"zz zzzz", "- - -", {{"zz", 0, 1, true}, {"zzzz", 1, 3, true}}, 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_times(w, &cases[i]);
}

static enum linnet_status everything(struct linnet_context *context) {
  struct world w;
  struct linnet_pronounced_text *text = NULL;
  enum linnet_status status = open_world(&w, context);
  if (status == LINNET_OK)
    status = pronounce(&w, "the sun is 25 zz", &text);
  linnet_pronounced_text_destroy(text);
  close_world(&w);
  return status;
}

static void test_arguments(const struct world *w) {
  struct linnet_pronounced_text_settings settings;
  struct linnet_pronounced_text *text;
  linnet_pronounced_text_settings_default(&settings);
  CHECK(linnet_pronounced_text_create(w->context, "a", "TEXT", &settings, &text) == LINNET_ERROR_ARGUMENT && !text,
        "no normalizer");
  settings.normalizer = w->normalizer;
  settings.g2p = w->g2p;
  CHECK(linnet_pronounced_text_create(w->context, "a", "TEXT", &settings, &text) == LINNET_ERROR_ARGUMENT && !text,
        "guesses without phones");
  linnet_pronounced_text_destroy(NULL);
}

int main(void) {
  struct world w;
  REQUIRE(open_world(&w, test_context()) == LINNET_OK, "no world");
  test_words(&w);
  test_variants(&w);
  test_capitals(&w);
  test_beside(&w);
  test_marks(&w);
  test_after(&w);
  test_bad_utf8(&w);
  test_times(&w);
  test_guesses(&w);
  test_arguments(&w);
  close_world(&w);
  linnet_context_destroy(w.context);
  torture("pronounced text", everything);
  return test_result();
}
