/* Symbol tables, transcripts and lexicons: good and bad files. */
#include <linnet/lexicon.h>

#include "allocators.h"
#include "decoder/words/symbols.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *write_file(const char *text) {
  static const char path[] = TEST_BINARY_DIR "/test_lexicon.tmp";
  FILE *file = fopen(path, "wb");
  REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0, "cannot write %s", path);
  return path;
}

/* --- symbols ---------------------------------------------------------------------------------------------------- */

static void test_symbols(struct linnet_context *context) {
  static const char *const names[] = {"AA", "B", "SPN"};
  static const char *const with_blank[] = {LINNET_BLANK, "AA"}, *const twice[] = {"AA", "B", "AA"},
                           *const blank_later[] = {"AA", LINNET_BLANK}, *const empty[] = {""}, *const space[] = {"a b"};
  struct linnet_symbols *s;
  REQUIRE(linnet_symbols_create(context, names, 3, &s) == LINNET_OK, "create");
  CHECK(linnet_symbols_num_symbols(s) == 4, "%zu symbols", linnet_symbols_num_symbols(s));
  CHECK(strcmp(linnet_symbols_name(s, 0), "<blk>") == 0 && strcmp(linnet_symbols_name(s, 3), "SPN") == 0, "names");
  CHECK(!linnet_symbols_name(s, 4) && !linnet_symbols_name(s, -1), "out of range");
  CHECK(linnet_symbols_find(s, "B") == 2 && linnet_symbols_find(s, LINNET_BLANK) == 0, "find");
  CHECK(linnet_symbols_find(s, "b") == LINNET_NOT_FOUND && linnet_symbols_find(s, "") == LINNET_NOT_FOUND,
        "find what is not there");
  int index;
  CHECK(linnet_symbols_add(s, "NSN", &index) == LINNET_OK && index == 4, "add");
  CHECK(linnet_symbols_add(s, "NSN", &index) == LINNET_OK && index == 4, "add again");
  linnet_symbols_destroy(s);
  REQUIRE(linnet_symbols_create(context, with_blank, 2, &s) == LINNET_OK, "with blank");
  CHECK(linnet_symbols_num_symbols(s) == 2 && linnet_symbols_find(s, "AA") == 1, "with blank");
  linnet_symbols_destroy(s);
  CHECK(linnet_symbols_create(context, NULL, 0, &s) == LINNET_OK && linnet_symbols_num_symbols(s) == 1, "no names");
  linnet_symbols_destroy(s);
  CHECK(linnet_symbols_create(context, twice, 3, &s) == LINNET_ERROR_ARGUMENT && !s, "a name twice");
  CHECK(linnet_symbols_create(context, blank_later, 2, &s) == LINNET_ERROR_ARGUMENT && !s, "blank later");
  CHECK(linnet_symbols_create(context, empty, 1, &s) == LINNET_ERROR_ARGUMENT, "empty name");
  CHECK(linnet_symbols_create(context, space, 1, &s) == LINNET_ERROR_ARGUMENT, "space in a name");
  CHECK(linnet_symbols_create(context, NULL, 1, &s) == LINNET_ERROR_ARGUMENT, "no list");
  linnet_symbols_destroy(NULL);
}

/* `expected` NULL: an error that names `location`; else the names after the blank, joined by spaces. */
static void check_symbol_file(struct linnet_context *context, const char *text, const char *expected,
                              const char *location) {
  struct linnet_symbols *s;
  char joined[256] = "";
  enum linnet_status status = linnet_symbols_load(context, write_file(text), &s);
  for (int i = 1; s && (size_t)i < linnet_symbols_num_symbols(s); i++) {
    strcat(joined, i > 1 ? " " : "");
    strcat(joined, linnet_symbols_name(s, i));
  }
  if (expected)
    CHECK(status == LINNET_OK && strcmp(joined, expected) == 0, "'%s': %d '%s' %s", text, (int)status, joined,
          linnet_context_error(context));
  else
    CHECK(status == LINNET_ERROR_FORMAT && strstr(linnet_context_error(context), location), "'%s': %d '%s'", text,
          (int)status, linnet_context_error(context));
  linnet_symbols_destroy(s);
}

static void test_symbol_files(struct linnet_context *context) {
  check_symbol_file(context, "AA\nB\n", "AA B", NULL);
  check_symbol_file(context, "\n<blk>\r\n  AA  \n\n\tB", "AA B", NULL);
  check_symbol_file(context, "<eps> 0\nAA 1\nB 2\n", "AA B", NULL);
  check_symbol_file(context, "AA 1\nB 2\n", "AA B", NULL);
  check_symbol_file(context, "", "", NULL);
  static const char *const blanks[] = {"<blk>", "<eps>", "<blank>", "<pad>", "[PAD]", "_"};
  for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++) {
    char file[64];
    snprintf(file, sizeof file, "%s\nAA\nB\n", blanks[i]);
    check_symbol_file(context, file, "AA B", NULL);
    snprintf(file, sizeof file, "%s 0\nAA 1\nB 2\n", blanks[i]);
    check_symbol_file(context, file, "AA B", NULL);
    snprintf(file, sizeof file, "%s 1\nAA 2\n", blanks[i]);
    check_symbol_file(context, file, NULL, "tmp:1:");
  }
  check_symbol_file(context, "#0 0\nAA 1\nB 2\n", "AA B", NULL);
  check_symbol_file(context, "#0\nAA\nB\n", "#0 AA B", NULL);
  check_symbol_file(context, "AA\n_\nB\n", "AA _ B", NULL);
  check_symbol_file(context, "AA 2\nB 3\n", NULL, "tmp:1:");
  check_symbol_file(context, "<eps> 0\nAA 1\nB 3\n", NULL, "tmp:3:");
  check_symbol_file(context, "<eps> 0\nAA 1x\n", NULL, "tmp:2:");
  check_symbol_file(context, "<eps> 0\nAA -1\n", NULL, "tmp:2:");
  check_symbol_file(context, "<eps> 0\nAA 99999999999999999999\n", NULL, "tmp:2:");
  check_symbol_file(context, "AA\nB\nAA\n", NULL, "tmp:3:");
  check_symbol_file(context, "AA\n<blk>\n", NULL, "tmp:2:");
  check_symbol_file(context, "AA 1 2\n", NULL, "tmp:1:");
  struct linnet_symbols *s;
  CHECK(linnet_symbols_load(context, "/no/such/file", &s) == LINNET_ERROR_IO && !s, "no file");
  CHECK(strstr(linnet_context_error(context), "/no/such/file"), "'%s'", linnet_context_error(context));
}

/* --- transcripts ------------------------------------------------------------------------------------------------ */

static enum linnet_status load_text(struct linnet_context *context, const char *text, struct linnet_transcripts **t) {
  return linnet_transcripts_load_memory(context, text, strlen(text), "text", t);
}

/* An utterance's tokens joined by spaces; "?" if it is not there. Static storage. */
static const char *tokens_of(const struct linnet_transcripts *t, const char *id) {
  static char joined[4096];
  size_t count, index = linnet_transcripts_find(t, id);
  if (index == LINNET_NOT_FOUND)
    return "?";
  const char *const *tokens = linnet_transcripts_tokens(t, index, &count);
  joined[0] = '\0';
  for (size_t i = 0; i < count; i++) {
    strcat(joined, i > 0 ? " " : "");
    strcat(joined, tokens[i]);
  }
  return joined;
}

static void test_transcripts(struct linnet_context *context) {
  struct linnet_transcripts *t;
  REQUIRE(load_text(context, "\xEF\xBB\xBFu2 B A\r\n\nu1\tA  C \nempty\n  u3  \xC3\xA9", &t) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_transcripts_num_utterances(t) == 4, "%zu utterances", linnet_transcripts_num_utterances(t));
  CHECK(strcmp(linnet_transcripts_id(t, 0), "u2") == 0 && strcmp(linnet_transcripts_id(t, 3), "u3") == 0, "order");
  CHECK(strcmp(tokens_of(t, "u2"), "B A") == 0, "'%s'", tokens_of(t, "u2"));
  CHECK(strcmp(tokens_of(t, "u1"), "A C") == 0, "'%s'", tokens_of(t, "u1"));
  CHECK(strcmp(tokens_of(t, "empty"), "") == 0, "'%s'", tokens_of(t, "empty"));
  CHECK(strcmp(tokens_of(t, "u3"), "\xC3\xA9") == 0, "'%s'", tokens_of(t, "u3"));
  CHECK(strcmp(tokens_of(t, "u4"), "?") == 0, "found what is not there");
  size_t count = 1;
  CHECK(!linnet_transcripts_id(t, 4) && !linnet_transcripts_tokens(t, 4, &count) && count == 0, "out of range");
  struct linnet_symbols *s;
  REQUIRE(linnet_transcripts_symbols(context, t, &s) == LINNET_OK, "symbols");
  CHECK(linnet_symbols_num_symbols(s) == 5 && linnet_symbols_find(s, "A") == 1 && linnet_symbols_find(s, "C") == 3,
        "sorted");
  linnet_symbols_destroy(s);
  linnet_transcripts_destroy(t);
  CHECK(load_text(context, "", &t) == LINNET_OK && linnet_transcripts_num_utterances(t) == 0, "empty");
  CHECK(linnet_transcripts_find(t, "u") == LINNET_NOT_FOUND, "found in nothing");
  linnet_transcripts_destroy(t);
  linnet_transcripts_destroy(NULL);
}

static void test_bad_transcripts(struct linnet_context *context) {
  struct linnet_transcripts *t;
  CHECK(load_text(context, "u1 A\nu2 B\nu1 C\n", &t) == LINNET_ERROR_FORMAT && !t, "an id twice");
  CHECK(strstr(linnet_context_error(context), "text:3: utterance 'u1'") &&
            strstr(linnet_context_error(context), "line 1"),
        "'%s'", linnet_context_error(context));
  CHECK(linnet_transcripts_load_memory(context, "u A\nv \0 B\n", 10, "text", &t) == LINNET_ERROR_FORMAT, "NUL");
  CHECK(strstr(linnet_context_error(context), "text:2:"), "'%s'", linnet_context_error(context));
  CHECK(linnet_transcripts_load(context, "/no/such/file", &t) == LINNET_ERROR_IO && !t, "no file");
  CHECK(linnet_transcripts_load(context, "/", &t) == LINNET_ERROR_IO && !t, "a folder");
  CHECK(linnet_transcripts_load(context, NULL, &t) == LINNET_ERROR_ARGUMENT, "no path");
  CHECK(linnet_transcripts_load_memory(context, NULL, 1, "text", &t) == LINNET_ERROR_ARGUMENT, "no data");
  struct linnet_symbols *s;
  REQUIRE(load_text(context, "u A <blk>\n", &t) == LINNET_OK, "load");
  CHECK(linnet_transcripts_symbols(context, t, &s) == LINNET_ERROR_FORMAT && !s, "the blank as a token");
  linnet_transcripts_destroy(t);
}

/* --- text-phone ------------------------------------------------------------------------------------------------- */

static void check_text_phone(struct linnet_context *context, const char *text, const char *location) {
  struct linnet_transcripts *t;
  enum linnet_status status = linnet_transcripts_load_text_phone(context, write_file(text), 1, &t);
  CHECK(status == LINNET_ERROR_FORMAT && !t && strstr(linnet_context_error(context), location), "'%s': %d '%s'", text,
        (int)status, linnet_context_error(context));
}

static void test_text_phone(struct linnet_context *context) {
  static const char text[] = "u.1.1\tB_B EH1_I R_E\nv.0 AY1_S\nu.1.0\tW_B IY0_E\nv.1 IH_B _X_E A_ B\n";
  struct linnet_transcripts *t;
  REQUIRE(linnet_transcripts_load_text_phone(context, write_file(text), 1, &t) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_transcripts_num_utterances(t) == 2 && strcmp(linnet_transcripts_id(t, 0), "u.1") == 0, "ids");
  CHECK(strcmp(tokens_of(t, "u.1"), "W IY B EH R") == 0, "'%s'", tokens_of(t, "u.1"));
  CHECK(strcmp(tokens_of(t, "v"), "AY IH _X A_ B") == 0, "'%s'", tokens_of(t, "v"));
  linnet_transcripts_destroy(t);
  REQUIRE(linnet_transcripts_load_text_phone(context, write_file(text), 0, &t) == LINNET_OK, "with stress");
  CHECK(strcmp(tokens_of(t, "u.1"), "W IY0 B EH1 R") == 0, "'%s'", tokens_of(t, "u.1"));
  linnet_transcripts_destroy(t);
  CHECK(linnet_transcripts_load_text_phone(context, write_file(""), 1, &t) == LINNET_OK &&
            linnet_transcripts_num_utterances(t) == 0,
        "empty");
  linnet_transcripts_destroy(t);
  check_text_phone(context, "u.0 A_S\nu.2 B_S\n", "tmp:2:");
  check_text_phone(context, "u.1 A_S\n", "word 0 is missing");
  check_text_phone(context, "u.0 A_S\nv.0 A_S\nu.0 B_S\n", "tmp:3:");
  check_text_phone(context, "u A_S\n", "tmp:1:");
  check_text_phone(context, "u. A_S\n", "tmp:1:");
  check_text_phone(context, ".0 A_S\n", "tmp:1:");
  check_text_phone(context, "u.0x A_S\n", "tmp:1:");
  check_text_phone(context, "u.99999999999999999999 A_S\n", "tmp:1:");
  check_text_phone(context, "u.0\n", "tmp:1:");
}

static void test_real_text_phone(struct linnet_context *context) {
  const char *path = test_data("speechocean762/resource/text-phone");
  struct linnet_transcripts *t;
  if (!path) {
    printf("skipped: no speechocean762\n");
    return;
  }
  REQUIRE(linnet_transcripts_load_text_phone(context, path, 1, &t) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_transcripts_num_utterances(t) == 4200 || linnet_transcripts_num_utterances(t) == 5000, "%zu utterances",
        linnet_transcripts_num_utterances(t));
  CHECK(strcmp(tokens_of(t, "000010011"), "W IY K AO L IH T B EH R") == 0, "'%s'", tokens_of(t, "000010011"));
  struct linnet_symbols *s;
  REQUIRE(linnet_transcripts_symbols(context, t, &s) == LINNET_OK, "symbols");
  CHECK(linnet_symbols_num_symbols(s) == 40, "%zu symbols, expected 39 phones and the blank",
        linnet_symbols_num_symbols(s));
  linnet_symbols_destroy(s);
  linnet_transcripts_destroy(t);
}

/* --- lexicon ---------------------------------------------------------------------------------------------------- */

static enum linnet_status load_lexicon(struct linnet_context *context, const char *text,
                                       const struct linnet_lexicon_settings *settings,
                                       const struct linnet_symbols *phones, struct linnet_lexicon **lexicon) {
  return linnet_lexicon_load_memory(context, text, strlen(text), "lexicon", settings, phones, lexicon);
}

/* A pronunciation as text, "?" if it is not there. Static storage. */
static const char *pronunciation(const struct linnet_lexicon *lexicon, const char *word, size_t variant) {
  static char joined[1024];
  size_t count, index = linnet_lexicon_find(lexicon, word);
  const int *phones = linnet_lexicon_pronunciation(lexicon, index, variant, &count);
  if (!phones)
    return "?";
  joined[0] = '\0';
  for (size_t i = 0; i < count; i++) {
    strcat(joined, i > 0 ? " " : "");
    strcat(joined, linnet_symbols_name(linnet_lexicon_phones(lexicon), phones[i]));
  }
  return joined;
}

static void check_word(const struct linnet_lexicon *lexicon, const char *word, size_t variant, const char *expected) {
  const char *got = pronunciation(lexicon, word, variant);
  CHECK(strcmp(got, expected) == 0, "%s(%zu) is '%s', expected '%s'", word, variant, got, expected);
}

static const char cmudict[] = ";;; a comment\n"
                              "a  AH0\n"
                              "a(2)  EY1\n"
                              "a(3)  AH1\n"
                              "aalborg AO1 L B AO0 R G # place, danish\n"
                              "# another comment\n"
                              "READ\tR EH1 D\n"
                              "read(1) R IY1 D\n"
                              "#hash HH AE1 SH\n"
                              "(2) T UW1\n"
                              "x(y) EH1 K S\n"
                              "Aalborg(2) AO1 L #0\n";

static void test_lexicon(struct linnet_context *context) {
  struct linnet_lexicon *l;
  REQUIRE(load_lexicon(context, cmudict, NULL, NULL, &l) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_lexicon_num_words(l) == 6, "%zu words", linnet_lexicon_num_words(l));
  CHECK(strcmp(linnet_lexicon_word(l, 0), "A") == 0 && !linnet_lexicon_word(l, 6), "words");
  check_word(l, "a", 0, "AH0");
  check_word(l, "A", 1, "EY1");
  check_word(l, "A", 2, "AH1");
  check_word(l, "A", 3, "?");
  check_word(l, "AALBORG", 0, "AO1 L B AO0 R G");
  check_word(l, "AALBORG", 1, "AO1 L");
  check_word(l, "Read", 0, "R EH1 D");
  check_word(l, "read", 1, "R IY1 D");
  check_word(l, "#HASH", 0, "HH AE1 SH");
  check_word(l, "(2)", 0, "T UW1");
  check_word(l, "X(Y)", 0, "EH1 K S");
  check_word(l, "A(2)", 0, "?");
  CHECK(linnet_lexicon_find(l, "") == LINNET_NOT_FOUND, "found nothing");
  const struct linnet_symbols *phones = linnet_lexicon_phones(l);
  CHECK(linnet_symbols_find(phones, "AE1") == 1 &&
            linnet_symbols_find(phones, "UW1") == linnet_symbols_num_symbols(phones) - 1,
        "phones are sorted");
  linnet_lexicon_destroy(l);
  linnet_lexicon_destroy(NULL);
}

static void test_lexicon_settings(struct linnet_context *context) {
  struct linnet_lexicon_settings settings;
  struct linnet_lexicon *l;
  linnet_lexicon_settings_default(&settings);
  settings.strip_stress = 1;
  REQUIRE(load_lexicon(context, cmudict, &settings, NULL, &l) == LINNET_OK, "%s", linnet_context_error(context));
  check_word(l, "A", 0, "AH");
  check_word(l, "A", 1, "EY");
  check_word(l, "A", 2, "?"); /* equal to the first without stress */
  CHECK(linnet_symbols_find(linnet_lexicon_phones(l), "AH0") == LINNET_NOT_FOUND, "stress in the phones");
  linnet_lexicon_destroy(l);
  settings.fold_case = 0;
  REQUIRE(load_lexicon(context, cmudict, &settings, NULL, &l) == LINNET_OK, "%s", linnet_context_error(context));
  check_word(l, "READ", 0, "R EH D");
  check_word(l, "read", 0, "R IY D");
  check_word(l, "A", 0, "?");
  linnet_lexicon_destroy(l);
  settings.fold_case = 1;
  REQUIRE(load_lexicon(context, "dışçi AH\nDIşÇI T\n", &settings, NULL, &l) == LINNET_OK, "%s",
          linnet_context_error(context));
  CHECK(linnet_lexicon_num_words(l) == 1 && strcmp(linnet_lexicon_word(l, 0), "DIŞÇI") == 0,
        "letters outside ASCII: %s", linnet_lexicon_word(l, 0));
  check_word(l, "dışÇi", 1, "T");
  linnet_lexicon_destroy(l);
  settings.size = 3;
  CHECK(load_lexicon(context, "", &settings, NULL, &l) == LINNET_ERROR_ARGUMENT && !l, "settings of another size");
}

static void test_lexicon_symbols(struct linnet_context *context) {
  static const char *const names[] = {"T", "AH", "K"};
  struct linnet_symbols *phones;
  struct linnet_lexicon *l;
  struct linnet_lexicon_settings settings;
  linnet_lexicon_settings_default(&settings);
  settings.strip_stress = 1;
  REQUIRE(linnet_symbols_create(context, names, 3, &phones) == LINNET_OK, "symbols");
  REQUIRE(load_lexicon(context, "CUT K AH1 T\n", &settings, phones, &l) == LINNET_OK, "load");
  CHECK(load_lexicon(context, "CUT K AH1 T\nCAT K AE1 T\n", &settings, phones, &(struct linnet_lexicon *){NULL}) ==
            LINNET_ERROR_FORMAT,
        "an unknown phone");
  CHECK(strstr(linnet_context_error(context), "lexicon:2: phone 'AE' is unknown"), "'%s'",
        linnet_context_error(context));
  linnet_symbols_destroy(phones);
  size_t count;
  const int *labels = linnet_lexicon_pronunciation(l, linnet_lexicon_find(l, "cut"), 0, &count);
  CHECK(count == 3 && labels[0] == 3 && labels[1] == 2 && labels[2] == 1, "indices");
  linnet_lexicon_destroy(l);
}

static void count_missing(void *user, const char *word) {
  char *list = user;
  strcat(list, word);
  strcat(list, " ");
}

static void test_pronounce(struct linnet_context *context) {
  static const char *const words[] = {"a", "xyzzy", "READ", "foo", "A"};
  struct linnet_lexicon *l;
  REQUIRE(load_lexicon(context, cmudict, NULL, NULL, &l) == LINNET_OK, "load");
  int phones[8], a = (int)linnet_symbols_find(linnet_lexicon_phones(l), "AH0");
  size_t length;
  char missing[64] = "";
  const struct linnet_missing_words reported = {sizeof reported, -1, count_missing, missing};
  const struct linnet_missing_words replaced = {sizeof replaced, 77, NULL, NULL}, unsized = {0, 77, NULL, NULL};
  const struct linnet_missing_words older = {offsetof(struct linnet_missing_words, missing), 77, count_missing, NULL};
  CHECK(linnet_lexicon_pronounce(l, words, 5, &reported, phones, 8, &length) == LINNET_OK, "pronounce");
  CHECK(length == 5 && phones[0] == a && phones[4] == a, "%zu phones", length);
  CHECK(strcmp(missing, "xyzzy foo ") == 0, "missing: '%s'", missing);
  CHECK(linnet_lexicon_pronounce(l, words, 5, &replaced, phones, 8, &length) == LINNET_OK, "unknown phone");
  CHECK(length == 7 && phones[1] == 77 && phones[5] == 77 && phones[6] == a, "%zu phones", length);
  CHECK(linnet_lexicon_pronounce(l, words, 5, NULL, phones, 4, &length) == LINNET_ERROR_LIMIT && length == 5,
        "the array is too small");
  CHECK(linnet_lexicon_pronounce(l, words, 5, NULL, NULL, 0, &length) == LINNET_ERROR_LIMIT && length == 5,
        "asking for the length");
  CHECK(linnet_lexicon_pronounce(l, NULL, 0, NULL, NULL, 0, &length) == LINNET_OK && length == 0, "no words");
  CHECK(linnet_lexicon_pronounce(l, words, 5, &unsized, phones, 8, &length) == LINNET_ERROR_ARGUMENT, "no size");
  CHECK(linnet_lexicon_pronounce(l, words, 5, &older, phones, 8, &length) == LINNET_OK && length == 7,
        "a program whose structure ends before `missing`");
  linnet_lexicon_destroy(l);
}

static void check_bad_lexicon(struct linnet_context *context, const char *text, enum linnet_status expected,
                              const char *location) {
  struct linnet_lexicon_settings settings;
  struct linnet_lexicon *l;
  linnet_lexicon_settings_default(&settings);
  settings.refuse_duplicates = 1;
  enum linnet_status status = load_lexicon(context, text, &settings, NULL, &l);
  CHECK(status == expected && !l && strstr(linnet_context_error(context), location), "'%.60s': %d '%s'", text,
        (int)status, linnet_context_error(context));
}

static void test_bad_lexicons(struct linnet_context *context) {
  struct linnet_lexicon *l;
  check_bad_lexicon(context, "A AH\nB\n", LINNET_ERROR_FORMAT,
                    "lexicon:2: word 'B' has no phones: write them after it");
  check_bad_lexicon(context, "A AH\nB # no phones\n", LINNET_ERROR_FORMAT, "lexicon:2:");
  check_bad_lexicon(context, "A AH\nB B IY\na AH\n", LINNET_ERROR_FORMAT, "lexicon:3:");
  check_bad_lexicon(context, "A AH <blk>\n", LINNET_ERROR_FORMAT, "lexicon:1:");
  CHECK(load_lexicon(context, "A AH\na(2) AH\n", NULL, NULL, &l) == LINNET_OK, "a duplicate, allowed");
  CHECK(linnet_lexicon_num_variants(l, 0) == 1, "%zu variants", linnet_lexicon_num_variants(l, 0));
  linnet_lexicon_destroy(l);
  CHECK(linnet_lexicon_load_memory(context, "A \0 B\n", 6, "lexicon", NULL, NULL, &l) == LINNET_ERROR_FORMAT, "NUL");
  CHECK(linnet_lexicon_load(context, "/no/such/file", NULL, NULL, &l) == LINNET_ERROR_IO && !l, "no file");
  CHECK(load_lexicon(context, "", NULL, NULL, &l) == LINNET_OK && linnet_lexicon_num_words(l) == 0, "empty");
  CHECK(linnet_lexicon_find(l, "A") == LINNET_NOT_FOUND && linnet_symbols_num_symbols(linnet_lexicon_phones(l)) == 1,
        "empty");
  linnet_lexicon_destroy(l);
}

/* lexiconp.txt: probabilities, how two pronunciations that become equal share them, and what counts as one. */
static void test_probabilities(struct linnet_context *context) {
  static const char text[] = "a 0.25 AH0\na .5 EY1\na 0.125 AH1\nb 1 B IY\nc 1e-300 K\n";
  struct linnet_lexicon_settings settings;
  struct linnet_lexicon *l;
  linnet_lexicon_settings_default(&settings);
  settings.strip_stress = 1;
  REQUIRE(load_lexicon(context, text, &settings, NULL, &l) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_lexicon_has_probabilities(l) && linnet_lexicon_num_variants(l, 0) == 2, "two pronunciations of a");
  CHECK(linnet_lexicon_probability(l, 0, 0) == 0.375f && linnet_lexicon_probability(l, 0, 1) == 0.5f, "sum of two");
  CHECK(linnet_lexicon_probability(l, 1, 0) == 1 && linnet_lexicon_probability(l, 2, 0) > 0, "1, and a tiny one");
  CHECK(linnet_lexicon_probability(l, 0, 2) == 0 && linnet_lexicon_probability(l, 3, 0) == 0, "out of range");
  linnet_lexicon_destroy(l);
  REQUIRE(load_lexicon(context, "one 1 2\ntwo 1e 0.5\n", NULL, NULL, &l) == LINNET_OK, "phones that are numbers");
  CHECK(!linnet_lexicon_has_probabilities(l) && linnet_symbols_num_symbols(linnet_lexicon_phones(l)) == 5 &&
            linnet_lexicon_probability(l, 1, 0) == 1,
        "no probabilities");
  linnet_lexicon_destroy(l);
  check_bad_lexicon(context, "A 0.5 AH\nB B IY\n", LINNET_ERROR_FORMAT, "lexicon:2: word 'B' has no probability");
  check_bad_lexicon(context, "A 0.5 AH\nB 0 B\n", LINNET_ERROR_FORMAT, "lexicon:2: word 'B' has no probability");
  check_bad_lexicon(context, "A 1.5 AH\n", LINNET_ERROR_FORMAT, "lexicon:1: word 'A' has no probability");
  check_bad_lexicon(context, "A 0.5 AH\nB 0.5\n", LINNET_ERROR_FORMAT, "lexicon:2: word 'B' has no phones");
  check_bad_lexicon(context, "A 0.5 AH\nB 0.5x B\n", LINNET_ERROR_FORMAT, "lexicon:2: word 'B' has no probability");
}

/* Words that a search adds: none of the others changes. */
static void test_added(struct linnet_context *context) {
  static const int guesses[3][3] = {{1, 2, 3}, {3}, {1, 2, 3}};
  static const size_t counts[] = {3, 1, 3};
  struct linnet_lexicon *l;
  size_t index = 0, count = 0;
  REQUIRE(linnet_lexicon_load(context, write_file("A 0.5 AH\nA 0.25 B\nC 1.0 C\n"), NULL, NULL, &l) == LINNET_OK, "%s",
          linnet_context_error(context));
  for (int word = 0; word < 40; word++) {
    char name[16];
    snprintf(name, sizeof name, "new%d", word);
    for (int k = 0; k < 3; k++)
      REQUIRE(linnet_lexicon_add(l, name, guesses[k], counts[k], 0.25f, &index) == LINNET_OK, "%s", name);
    CHECK(index == (size_t)word + 2 && linnet_lexicon_find(l, name) == index &&
              linnet_lexicon_num_variants(l, index) == 2,
          "%s: index %zu", name, index);
  }
  CHECK(linnet_lexicon_num_words(l) == 42 && linnet_lexicon_find(l, "NEW7") == 9, "words");
  const int *labels = linnet_lexicon_pronunciation(l, 9, 0, &count);
  CHECK(count == 3 && memcmp(labels, guesses[0], sizeof guesses[0]) == 0, "%zu labels", count);
  CHECK(linnet_lexicon_probability(l, 9, 0) == 0.5f && linnet_lexicon_probability(l, 9, 1) == 0.25f, "probabilities");
  labels = linnet_lexicon_pronunciation(l, 0, 1, &count);
  CHECK(linnet_lexicon_num_variants(l, 0) == 2 && count == 1 && labels[0] == 2, "the words of the file");
  linnet_lexicon_destroy(l);
}

static void test_long_names(struct linnet_context *context) {
  static char text[8192];
  static const size_t starts[] = {0, 2}; /* a long word, a long phone */
  for (size_t i = 0; i < COUNT(starts); i++) {
    memset(text, 'a', sizeof text - 1);
    memcpy(text, "B ", starts[i]);
    memcpy(text + 8000, " X Y\n", 6);
    check_bad_lexicon(context, text, LINNET_ERROR_LIMIT, "lexicon:1:");
  }
  struct linnet_lexicon *l;
  REQUIRE(load_lexicon(context, cmudict, NULL, NULL, &l) == LINNET_OK, "load");
  CHECK(linnet_lexicon_find(l, text) == LINNET_NOT_FOUND, "found a long word");
  linnet_lexicon_destroy(l);
}

static void test_many_variants(struct linnet_context *context) {
  size_t size = 2000 * 16, at = 0;
  char *text = malloc(size);
  REQUIRE(text, "out of memory");
  for (int i = 0; i < 1001; i++)
    at += (size_t)snprintf(text + at, size - at, "W P%d\n", i);
  check_bad_lexicon(context, text, LINNET_ERROR_LIMIT, "lexicon:1001:");
  free(text);
}

/* Random bytes and random words of the format: any result except a crash. */
static void test_random_bytes(struct linnet_context *context) {
  static const char *const pieces[] = {"A",    " ",  "\n",           "\t",    "#",   ";;;", "(2)", "(",
                                       ")",    "\r", "\xEF\xBB\xBF", "<blk>", "AH0", ".0",  ".1",  "_B",
                                       "\xFF", "0",  " 0.5 "};
  size_t good = 0;
  for (uint64_t seed = 0; seed < 3000; seed++) {
    struct test_random r = {seed};
    char text[256] = "";
    for (size_t n = test_below(&r, 40); n > 0; n--)
      strcat(text, pieces[test_below(&r, COUNT(pieces))]);
    struct linnet_lexicon *l;
    struct linnet_transcripts *t, *p;
    good += load_lexicon(context, text, NULL, NULL, &l) == LINNET_OK;
    good += load_text(context, text, &t) == LINNET_OK;
    if (seed % 10 == 0)
      good += linnet_transcripts_load_text_phone(context, write_file(text), 1, &p) == LINNET_OK;
    else
      p = NULL;
    linnet_lexicon_destroy(l);
    linnet_transcripts_destroy(t);
    linnet_transcripts_destroy(p);
  }
  CHECK(good > 100, "only %zu random texts were read", good);
}

static void test_real_lexicon(struct linnet_context *context) {
  const char *path = test_data("cmudict/cmudict.dict");
  struct linnet_lexicon_settings settings;
  struct linnet_lexicon *l;
  linnet_lexicon_settings_default(&settings);
  settings.strip_stress = 1;
  if (!path) {
    printf("skipped: no cmudict\n");
    return;
  }
  REQUIRE(linnet_lexicon_load(context, path, &settings, NULL, &l) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_symbols_num_symbols(linnet_lexicon_phones(l)) == 40, "%zu symbols",
        linnet_symbols_num_symbols(linnet_lexicon_phones(l)));
  CHECK(linnet_lexicon_num_words(l) > 120000, "%zu words", linnet_lexicon_num_words(l));
  check_word(l, "linnet", 0, "L IH N IH T");
  check_word(l, "dail", 1, "D OY L");
  check_word(l, "Aalborg", 0, "AO L B AO R G");
  linnet_lexicon_destroy(l);
}

/* --- torture ---------------------------------------------------------------------------------------------------- */

static enum linnet_status lexicon_scenario(struct linnet_context *context) {
  static const char *const names[] = {"AH0", "EY1", "AH1"};
  static const char text[] = "a AH0\na(2) EY1\nb AH1 AH0\n";
  struct linnet_symbols *phones = NULL;
  struct linnet_lexicon *own = NULL, *given = NULL;
  enum linnet_status status = linnet_symbols_create(context, names, 3, &phones);
  if (status == LINNET_OK)
    status = load_lexicon(context, text, NULL, phones, &given);
  if (status == LINNET_OK)
    status = load_lexicon(context, cmudict, NULL, NULL, &own);
  linnet_symbols_destroy(phones);
  linnet_lexicon_destroy(given);
  linnet_lexicon_destroy(own);
  return status;
}

static enum linnet_status transcripts_scenario(struct linnet_context *context) {
  struct linnet_transcripts *text = NULL, *phones = NULL;
  struct linnet_symbols *symbols = NULL;
  enum linnet_status status = load_text(context, "u A B C\nv D E F G\nw\n", &text);
  if (status == LINNET_OK)
    status = linnet_transcripts_symbols(context, text, &symbols);
  if (status == LINNET_OK)
    status = linnet_transcripts_load_text_phone(context, TEST_BINARY_DIR "/test_lexicon.tmp", 1, &phones);
  linnet_transcripts_destroy(text);
  linnet_transcripts_destroy(phones);
  linnet_symbols_destroy(symbols);
  return status;
}

static enum linnet_status symbols_scenario(struct linnet_context *context) {
  struct linnet_symbols *symbols;
  enum linnet_status status = linnet_symbols_load(context, TEST_BINARY_DIR "/test_lexicon.tmp", &symbols);
  linnet_symbols_destroy(symbols);
  return status;
}

int main(void) {
  struct linnet_context *context = test_context();
  test_symbols(context);
  test_symbol_files(context);
  test_transcripts(context);
  test_bad_transcripts(context);
  test_text_phone(context);
  test_real_text_phone(context);
  test_lexicon(context);
  test_lexicon_settings(context);
  test_lexicon_symbols(context);
  test_pronounce(context);
  test_bad_lexicons(context);
  test_probabilities(context);
  test_added(context);
  test_long_names(context);
  test_many_variants(context);
  test_random_bytes(context);
  test_real_lexicon(context);
  linnet_context_destroy(context);
  torture("lexicon", lexicon_scenario);
  write_file("u.1 A_S\nu.0 B_S\nv.0 C_B A_E\n");
  torture("transcripts", transcripts_scenario);
  write_file("A\nB\nC\n");
  torture("symbols", symbols_scenario);
  remove(TEST_BINARY_DIR "/test_lexicon.tmp");
  return test_result();
}
