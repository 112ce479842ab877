/* Cases of letters, and letters without marks. */
#include "decoder/base/characters.h"

#include "test.h"

struct letter {
  const char *capital, *small, *plain; /* of the capital; NULL: none */
};

static const struct letter letters[] = {
    {"A", "a", NULL}, {"É", "é", "e"},  {"Ÿ", "ÿ", "y"},  {"Ł", "ł", "l"},  {"Ș", "ș", "s"},  {"Ț", "ț", "t"},
    {"Ơ", "ơ", "o"},  {"Ư", "ư", "u"},  {"Ấ", "ấ", "a"},  {"Ǎ", "ǎ", "a"},  {"Ɓ", "ɓ", "b"},  {"Ɗ", "ɗ", "d"},
    {"Ə", "ə", NULL}, {"Ɔ", "ɔ", NULL}, {"Ǆ", "ǆ", "dz"}, {"Ǉ", "ǉ", "lj"}, {"Ǽ", "ǽ", "ae"}, {"Ƞ", "ƞ", "n"},
    {"Ά", "ά", NULL}, {"Ό", "ό", NULL}, {"Ύ", "ύ", NULL}, {"Ώ", "ώ", NULL}, {"Ω", "ω", NULL}, {"Ϗ", "ϗ", NULL},
    {"Ё", "ё", NULL}, {"Я", "я", NULL}, {"Ғ", "ғ", NULL}, {"Ӏ", "ӏ", NULL}, {"Ӄ", "ӄ", NULL}, {"Ԯ", "ԯ", NULL},
};

static uint32_t code_of(const char *text) {
  size_t bytes;
  return linnet_utf8_decode(text, &bytes);
}

static void check_plain(uint32_t code, const char *wanted) {
  const char *plain = linnet_utf8_plain(code);
  CHECK(wanted ? plain && strcmp(plain, wanted) == 0 : !plain, "U+%04X is plain '%s'", (unsigned)code,
        plain ? plain : "(none)");
}

static void test_letters(void) {
  for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
    const struct letter *l = &letters[i];
    const uint32_t capital = code_of(l->capital), small = code_of(l->small);
    CHECK(linnet_utf8_lower(capital) == small && linnet_utf8_lower(small) == small, "%s in small letters", l->capital);
    CHECK(linnet_utf8_upper(small) == capital && linnet_utf8_upper(capital) == capital, "%s in capitals", l->small);
    check_plain(capital, l->plain);
  }
}

/* Letters whose other case has another case itself. */
static void test_one_way(void) {
  CHECK(linnet_utf8_upper(0x3C2) == 0x3A3 && linnet_utf8_lower(0x3C2) == 0x3C2, "the final sigma");
  CHECK(linnet_utf8_lower(0x1E9E) == 0xDF && linnet_utf8_upper(0xDF) == 0xDF, "the sharp s");
  CHECK(linnet_utf8_lower(0x1C5) == 0x1C6 && linnet_utf8_upper(0x1C5) == 0x1C4, "a digraph in title case");
  check_plain(0x1E97, "t");
  check_plain(0x1E9E, "ss");
  check_plain(0x1EFF, "y");
  check_plain(0x301, "");
  check_plain(0x2B0, NULL);
}

/* A second change to the same case changes nothing. */
static void test_all(void) {
  for (uint32_t code = 0; code < 0x11000; code++) {
    const uint32_t small = linnet_utf8_lower(code), capital = linnet_utf8_upper(code);
    CHECK(linnet_utf8_lower(small) == small && linnet_utf8_upper(capital) == capital, "U+%04X", (unsigned)code);
  }
}

/* A word, its capitals. */
static void check_capitals(const char *word, const char *expected) {
  char text[64];
  strcpy(text, word);
  const size_t length = linnet_utf8_capitals(text);
  CHECK(length == strlen(expected) && strcmp(text, expected) == 0, "capitals of %s: %s", word, text);
}

static void test_capitals(void) {
  check_capitals("", "");
  check_capitals("don't", "DON'T");
  check_capitals("über", "ÜBER");
  check_capitals("straße", "STRAßE");
  check_capitals("Łódź", "ŁÓDŹ");
  check_capitals("москва", "МОСКВА");
  check_capitals("dış", "DIŞ"); /* the small I without a dot has a shorter capital */
  check_capitals("hɑt", "HɑT"); /* the capital would be longer */
  check_capitals("漢字a", "漢字A");
  check_capitals("caf\xe9s", "CAF\xe9S"); /* not UTF-8 */
}

int main(void) {
  test_letters();
  test_one_way();
  test_all();
  test_capitals();
  return test_result();
}
