/* Spoken forms of written tokens: the English rules that ship, with a small vocabulary; files of rules with errors. */
#include <linnet/text_normalizer.h>

#include <ctype.h>
#include <time.h>

#include "allocators.h"

/* The words of a lexicon, in small letters with spaces around them. */
static const char vocabulary[] =
    " zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion trillion "
    "quadrillion and oh point minus negative plus percent to over slash half a quarter quarters third thirds halves "
    "fourths fifths first firsts second seconds fourth fifth twelfth twentieth hundredth thousandth nineties eighties "
    "twenties "
    "hundreds "
    "twos tens thousands dollars dollar cents cent pounds pound pence penny euros euro yen kilograms kilometers per "
    "hour "
    "degrees degree celsius meters megahertz gigabytes squared o'clock past number hash equals at dot underscore "
    "foot feet inches mister missus doctor drive saint street versus et cetera for example that is page pages company "
    "co no january "
    "sixth may section sections square root double greater than equal "
    "a. b. c. d. e. f. g. h. i. j. k. l. m. n. o. p. q. r. s. t. u. v. w. x. y. z. u.s. i "
    "the it's similar process wood blocks nasa o'neil cafe naive word mid year old well known dogs' 'tis 'em rock "
    "example com path me foo bar mp inch smith either or other hello state of art strasse ";

static int knows(void *user, const char *word) {
  char folded[LINNET_SPOKEN_MAX_BYTES + 3] = " ";
  size_t length = strlen(word);
  (void)user;
  for (size_t i = 0; i < length; i++)
    folded[i + 1] = (char)tolower((unsigned char)word[i]);
  folded[length + 1] = ' ';
  return length > 0 && strstr(vocabulary, folded) != NULL;
}

/* A token, its first spoken form in any case of letters ("" for none, '?' before one with unknown words), and
 * another of its spoken forms, or NULL. */
struct spoken_case {
  const char *token, *first, *other;
};

static const struct spoken_case cases[] = {
    /* words and punctuation */
    {"the", "the", NULL},
    {"THE", "the", NULL},
    {"it's", "it's", NULL},
    {"it’s", "it's", NULL},
    {"It’s,", "it's", NULL},
    {"“similar”", "similar", NULL},
    {"‘similar’", "similar", NULL},
    {"„similar“", "similar", NULL},
    {"«similar»", "similar", NULL},
    {"(similar)", "similar", NULL},
    {"process…", "process", NULL},
    {"process...", "process", NULL},
    {"…process", "process", NULL},
    {"¿process?!", "process", NULL},
    {"—", "", NULL},
    {"--", "", NULL},
    {"...", "", NULL},
    {"=====", "", NULL},
    {"=", "equals", NULL},
    {"\xF0\x9F\x99\x82", "", NULL},
    {"", "", NULL},
    {"'", "", NULL},
    {"’", "", NULL},
    {"№", "number", NULL},
    {"wood-blocks", "wood blocks", NULL},
    {"wood‐blocks", "wood blocks", NULL},
    {"wood\xC2\xAD"
     "blocks",
     "?woodblocks", NULL},
    {"word—word", "word word", NULL},
    {"word--word", "word word", NULL},
    {"word…word", "word word", NULL},
    {"either/or", "either or", NULL},
    {"state-of-the-art", "state of the art", NULL},
    {"wood-zzyzx", "?wood zzyzx", NULL},
    {"O'Neil", "o'neil", NULL},
    {"O’Neil’", "o'neil", NULL},
    {"’tis", "'tis", NULL},
    {"dogs’", "dogs'", NULL},
    {"\"'em\"", "'em", NULL},
    {"café", "cafe", NULL},
    {"CAFÉ", "cafe", NULL},
    {"cafe\xCC\x81", "cafe", NULL},
    {"naïve", "naive", NULL},
    {"Straße", "strasse", NULL},
    {"zzyzx", "?zzyzx", NULL},
    {"Zzyzxa", "?zzyzxa", NULL},
    /* letters */
    {"NASA", "nasa", NULL},
    {"FBI", "f. b. i.", "?fbi"},
    {"FBI.", "f. b. i.", NULL},
    {"A.B.C.", "a. b. c.", NULL},
    {"U.S.", "u.s.", NULL},
    {"U.S.A.", "u. s. a.", NULL},
    {"R2D2", "r. two d. two", NULL},
    {"MP3", "mp three", "m. p. three"},
    {"AT&T", "at and t.", "a. t. and t."},
    {"C++", "c. plus plus", NULL},
    {"xqzb", "x. q. z. b.", "?xqzb"},
    {"UNCLEAR", "?unclear", NULL},
    /* numbers */
    {"0", "zero", NULL},
    {"7", "seven", NULL},
    {"25", "twenty five", NULL},
    {"25.", "twenty five", NULL},
    {"(25)", "twenty five", NULL},
    {"105", "one hundred five", "one oh five"},
    {"380", "three hundred eighty", "three eighty"},
    {"305", "three hundred five", "three oh five"},
    {"1,000", "one thousand", NULL},
    {"1,200", "one thousand two hundred", "twelve hundred"},
    {"1,250", "one thousand two hundred fifty", "twelve hundred fifty"},
    {"2,000", "two thousand", NULL},
    {"2500", "two thousand five hundred", "twenty five hundred"},
    {"$1,200", "one thousand two hundred dollars", "twelve hundred dollars"},
    {"12,345", "twelve thousand three hundred forty five", "twelve thousand three hundred and forty five"},
    {"1,234,567,890,123",
     "one trillion two hundred thirty four billion five hundred sixty seven million eight hundred ninety thousand one "
     "hundred twenty three",
     NULL},
    {"999000000000000001", "nine hundred ninety nine quadrillion one", NULL},
    {"9990000000000000012",
     "nine nine nine zero zero zero zero zero zero zero zero zero zero zero zero zero zero one two", NULL},
    {"1000000000000", "one trillion", NULL},
    {"007", "zero zero seven", "double oh seven"},
    {"CO₂", "co two", "c. o. two"},
    {"H₂O", "h. two o.", NULL},
    {"10⁶", "ten to the sixth", "ten to the six"},
    {"5²", "five squared", NULL},
    {"inch²", "inch", "inch squared"},
    {"word¹", "word", "word one"},
    {"word²³", "word", NULL},
    {"10⁻³", "ten to the minus three", NULL},
    {"2⁰", "two to the zero", NULL},
    {"0.5", "zero point five", "a half"},
    {"§5.2", "section five point two", NULL},
    {"§§5", "sections five", NULL},
    {"1.5", "one point five", "one and a half"},
    {"≥5", "greater than or equal to five", NULL},
    {"√2", "square root of two", NULL},
    {"§5", "section five", NULL},
    {"§", "section", NULL},
    {"-5", "minus five", "negative five"},
    {"−5", "minus five", NULL},
    {"3.14", "three point one four", "three fourteen"},
    {".5", "point five", NULL},
    {"10,20", "ten twenty", NULL},
    {"50%", "fifty percent", NULL},
    {"2.5%", "two point five percent", NULL},
    {"3rd", "third", NULL},
    {"1st", "first", NULL},
    {"22ND", "twenty second", NULL},
    {"100th", "one hundredth", NULL},
    {"105th", "one hundred fifth", "one hundred and fifth"},
    {"10-12", "ten to twelve", "ten twelve"},
    {"10–12", "ten to twelve", NULL},
    {"555-1234", "five five five one two three four", NULL},
    {"1/2", "one half", "a half"},
    {"3/4", "three quarters", "three fourths"},
    {"2/3", "two thirds", "two over three"},
    {"1/32", "one thirty second", NULL},
    {"1/24", "one twenty fourth", NULL},
    {"1/102", "one one hundred second", NULL},
    {"1/104", "one one hundred fourth", NULL},
    {"3/21", "three twenty firsts", NULL},
    {"3/32", "three thirty seconds", NULL},
    {"3/64", "three sixty fourths", NULL},
    {"3/102", "three one hundred seconds", NULL},
    {"7/124", "seven one hundred twenty fourths", NULL},
    {"9/11", "nine over eleven", "nine eleven"},
    {"24/7", "twenty four over seven", "twenty four seven"},
    {"½", "one half", NULL},
    {"2½", "two and a half", NULL},
    {"#1", "number one", "hash one"},
    /* Roman numerals */
    {"II", "two", NULL},
    {"IV", "four", NULL},
    {"(xiv.)", "fourteen", NULL},
    {"XXXVIII,", "thirty eight", NULL},
    {"XIIth", "twelfth", NULL},
    {"I", "i", NULL},
    {"X", "x.", NULL},
    {"IIX", "i. i. x.", NULL},
    {"XL", "x. l.", NULL},
    {"iIi", "?iii", NULL},
    /* years and decades */
    {"1984", "nineteen eighty four", "one thousand nine hundred eighty four"},
    {"1905", "nineteen oh five", NULL},
    {"1900", "nineteen hundred", NULL},
    {"2000", "two thousand", NULL},
    {"2005", "two thousand five", "two thousand and five"},
    {"2010", "twenty ten", "two thousand ten"},
    {"2000s", "two thousands", NULL},
    {"2000's", "two thousands", NULL},
    {"1990s", "nineteen nineties", NULL},
    {"1990’s", "nineteen nineties", NULL},
    {"’90s", "nineties", NULL},
    {"mid-1980s", "mid nineteen eighties", NULL},
    {"1984-85", "nineteen eighty four to eighty five", NULL},
    {"5-year-old", "five year old", NULL},
    /* money, measures, times */
    {"£5.50", "five pounds and fifty pence", "five pounds fifty"},
    {"$1,000", "one thousand dollars", NULL},
    {"$1", "one dollar", "a dollar"},
    {"$1.01", "one dollar and one cent", NULL},
    {"€3", "three euros", NULL},
    {"$1.5bn", "one point five billion dollars", NULL},
    {"5kg", "five kilograms", NULL},
    {"20°C", "twenty degrees celsius", NULL},
    {"90°", "ninety degrees", NULL},
    {"60km/h", "sixty kilometers per hour", NULL},
    {"5'10\"", "five foot ten", "five feet ten inches"},
    {"5’6”", "five foot six", "five feet six inches"},
    {"5′10″.", "five foot ten", "five ten"},
    {"5'10", "five foot ten", NULL},
    {"2:30", "two thirty", "half past two"},
    {"2:05", "two oh five", NULL},
    {"7:00", "seven o'clock", "seven"},
    {"7pm", "seven p. m.", NULL},
    {"9:30a.m.", "nine thirty a. m.", NULL},
    {"p.m.", "p. m.", NULL},
    {"12/25/2024", "twelve twenty five twenty twenty four", NULL},
    {"5/1/2024", "five one twenty twenty four", "may first twenty twenty four"},
    {"05/01/2024", "may first twenty twenty four", NULL},
    {"2024-05-20", "may twentieth twenty twenty four", "twenty twenty four may twentieth"},
    {"2024-05-01", "may first twenty twenty four", "the first of may twenty twenty four"},
    /* abbreviations */
    {"Mr.", "mister", NULL},
    {"MR.", "mister", NULL},
    {"Dr.", "doctor", "drive"},
    {"St.", "saint", "street"},
    {"No.", "number", "no"},
    {"e.g.", "for example", "e. g."},
    {"e.g.,", "for example", NULL},
    {"etc.).", "et cetera", NULL},
    {"vs", "versus", NULL},
    {"&", "and", NULL},
    /* addresses */
    {"example.com", "example dot com", NULL},
    {"https://example.com/path", "h. t. t. p. s. example dot com path", NULL},
    {"me@example.com", "me at example dot com", NULL},
    {"foo_bar", "foo bar", NULL},
    {"1.2.3", "one dot two dot three", NULL},
};

static bool same_words(const char *wanted, const char *words, bool known) {
  bool unknown = *wanted == '?';
  wanted += unknown;
  for (; *wanted && tolower((unsigned char)*words) == (unsigned char)*wanted; wanted++)
    words++;
  return *wanted == '\0' && *words == '\0' && known == !unknown;
}

static bool has_way(const struct linnet_spoken *spoken, const char *wanted) {
  for (size_t i = 0; i < linnet_spoken_num_ways(spoken); i++)
    if (same_words(wanted, linnet_spoken_words(spoken, i), linnet_spoken_is_known(spoken, i)))
      return true;
  return false;
}

static void check_case(const struct linnet_text_normalizer *n, struct linnet_context *context,
                       const struct spoken_case *c) {
  struct linnet_spoken *spoken = NULL;
  enum linnet_status status = linnet_spoken_create(n, context, c->token, knows, NULL, &spoken);
  REQUIRE(status == LINNET_OK, "'%s': %s", c->token, linnet_context_error(context));
  const char *first = linnet_spoken_words(spoken, 0);
  if (!*c->first)
    CHECK(linnet_spoken_num_ways(spoken) == 0, "'%s' is said '%s'", c->token, first);
  else
    CHECK(first && same_words(c->first, first, linnet_spoken_is_known(spoken, 0)), "'%s' is said '%s%s', not '%s'",
          c->token, linnet_spoken_is_known(spoken, 0) ? "" : "?", first ? first : "(nothing)", c->first);
  if (c->other)
    CHECK(has_way(spoken, c->other), "'%s' is not said '%s', but first '%s'", c->token, c->other, first);
  CHECK(!linnet_spoken_words(spoken, linnet_spoken_num_ways(spoken)), "a way out of range");
  linnet_spoken_destroy(spoken);
}

static struct linnet_text_normalizer *load(struct linnet_context *context) {
  struct linnet_text_normalizer *n = NULL;
  enum linnet_status status = linnet_text_normalizer_load(context, test_source("models/english/text.rules"), &n);
  REQUIRE(status == LINNET_OK, "%s", linnet_context_error(context));
  return n;
}

static void test_english(struct linnet_context *context) {
  struct linnet_text_normalizer *n = load(context);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_case(n, context, &cases[i]);
  linnet_text_normalizer_destroy(n);
}

/* Without rules: the token, or the token without the ASCII punctuation around it. */
static void test_no_rules(struct linnet_context *context) {
  static const struct spoken_case plain[] = {{"the", "the", NULL},   {"(the),", "the", NULL},
                                             {"it's", "it's", NULL}, {"it’s", "?it’s", NULL},
                                             {"--", "", NULL},       {"'", "", NULL},
                                             {"’", "", NULL},        {"25", "?25", NULL},
                                             {"FBI", "?fbi", NULL},  {"wood-blocks", "?wood-blocks", NULL}};
  struct linnet_text_normalizer *n = NULL;
  REQUIRE(linnet_text_normalizer_load(context, NULL, &n) == LINNET_OK, "%s", linnet_context_error(context));
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
    check_case(n, context, &plain[i]);
  linnet_text_normalizer_destroy(n);
}

static void test_limits(struct linnet_context *context) {
  struct linnet_text_normalizer *n = load(context);
  struct linnet_spoken *spoken = NULL;
  static char token[2 * LINNET_SPOKEN_MAX_BYTES];
  check_case(n, context,
             &(struct spoken_case){"12345678901234567890123456789012345678901234567890123456789012345678901234567890"
                                   "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                                   "?1234567890123456789012345678901234567890123456789012345678901234567890123456789"
                                   "012345678901234567890123456789012345678901234567890123456789012345678901234567890",
                                   NULL});
  memset(token, 'a', LINNET_SPOKEN_MAX_BYTES + 1);
  CHECK(linnet_spoken_create(n, context, token, knows, NULL, &spoken) == LINNET_ERROR_LIMIT && !spoken,
        "a token of too many bytes");
  memset(token, '-', LINNET_SPOKEN_MAX_BYTES + 1);
  CHECK(linnet_spoken_create(n, context, token, knows, NULL, &spoken) == LINNET_OK, "dashes alone are punctuation");
  linnet_spoken_destroy(spoken);
  CHECK(linnet_spoken_create(NULL, context, "a", knows, NULL, &spoken) == LINNET_ERROR_ARGUMENT, "no normalizer");
  CHECK(linnet_spoken_create(n, context, "a", NULL, NULL, &spoken) == LINNET_ERROR_ARGUMENT, "no vocabulary");
  linnet_text_normalizer_destroy(n);
}

/* Files that are wrong, and the message. */
static void test_refused(struct linnet_context *context) {
  static const struct {
    const char *rules, *message;
  } wrong[] = {{"tabel a b", "R:1: 'tabel'"},
               {"\ntable a", "R:2: the line ends where a key"},
               {"table a b c\ntable a b d", "R:2: 'b' appears twice in table 'a'"},
               {"number a x y", "R:1: 'x' is not NUMBER"},
               {"number a 1/0 y", "R:1: '1/0' is not NUMBER"},
               {"number a 5 five\nnumber a 4 four", "R:2: the numbers of set 'a' must increase"},
               {"number a like b", "set 'b' is not defined before"},
               {"number a 1 <b one", "R:1: set of numbers 'b' is not defined"},
               {"rule x y", "R:1: 'x': a rule is"},
               {"rule {n} = {1:a}", "R:1: set of numbers 'a' is not defined"},
               {"rule {n:5-1} = a", "R:1: 'n:5-1': this is not a field"},
               {"rule {n = a", "'}' is missing after '{'"},
               {"\n# {x}\nrule {x} = a", "R:3: table 'x' is not defined"},
               {"rule {n} = {2:a}", "no such field"},
               {"rule {w} = {1:a}", "the field is not a number"},
               {"rule {n} = {1.1}", "the field is not in a table"},
               {"after {n} = a", "R:1: '{n}': a rule is"},
               {"before {n} = a", "R:1: '{n}': a rule is"},
               {"rule {r:0} = a", "R:1: 'r:0': this is not a field"},
               {"number a 0 b\nrule {r} = {1:each:a}", "the field is not a number"},
               {"rule {n} =", "the rule has no words to say"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct linnet_text_normalizer *n = NULL;
    enum linnet_status status =
        linnet_text_normalizer_load_memory(context, wrong[i].rules, strlen(wrong[i].rules), "R", &n);
    CHECK(status == LINNET_ERROR_FORMAT && !n, "'%s': status %d", wrong[i].rules, (int)status);
    CHECK(strstr(linnet_context_error(context), wrong[i].message), "'%s': '%s', not '%s'", wrong[i].rules,
          linnet_context_error(context), wrong[i].message);
  }
}

/* Keys of tables: looked up as they are, or in any case; the first of those that differ in case counts. */
static void test_keys(struct linnet_context *context) {
  static const char rules[] = "table abbreviation ab first\ntable abbreviation AB second\ntable abbreviation aB third\n"
                              "table t K kay\ntable t k small\nrule {t}! = {1.1}\n";
  static const struct spoken_case said[] = {
      {"Ab", "first", NULL}, {"AB", "first", NULL}, {"K!", "?kay", NULL}, {"k!", "?small", NULL}};
  char long_key[300];
  struct linnet_text_normalizer *n = NULL;
  REQUIRE(linnet_text_normalizer_load_memory(context, rules, strlen(rules), "R", &n) == LINNET_OK, "%s",
          linnet_context_error(context));
  for (size_t i = 0; i < sizeof said / sizeof *said; i++)
    check_case(n, context, &said[i]);
  linnet_text_normalizer_destroy(n);
  snprintf(long_key, sizeof long_key, "table t %0256d x\n", 1);
  CHECK(linnet_text_normalizer_load_memory(context, long_key, strlen(long_key), "R", &n) == LINNET_ERROR_LIMIT &&
            strstr(linnet_context_error(context), "R:1: a key has more than 255 bytes"),
        "%s", linnet_context_error(context));
}

static void check_said(struct linnet_context *context, const char *rules, const struct spoken_case *said,
                       size_t count) {
  struct linnet_text_normalizer *n = NULL;
  REQUIRE(linnet_text_normalizer_load_memory(context, rules, strlen(rules), "R", &n) == LINNET_OK, "%s",
          linnet_context_error(context));
  for (size_t i = 0; i < count; i++)
    check_case(n, context, &said[i]);
  linnet_text_normalizer_destroy(n);
}

/* Table "join" divides compounds without a table "symbol". */
static void test_join(struct linnet_context *context) {
  static const struct spoken_case said[] = {
      {"wood-blocks", "wood blocks", NULL}, {"wood-blocks,", "wood blocks", NULL}, {"word", "word", NULL}};
  check_said(context, "keys join -\nkeys outer . ,\n", said, sizeof said / sizeof *said);
}

/* Letters outside ASCII are spelled if they have names. */
static void test_spelled(struct linnet_context *context) {
  static const char rules[] = "keys vowel а о ö\ntable letter с c.\ntable letter ш s.\ntable letter а a.\n"
                              "table letter т t.\ntable letter ö o.\ntable letter b b.\n";
  static const struct spoken_case said[] = {{"США", "c. s. a.", "?сша"}, {"стш", "c. t. s.", "?стш"},
                                            {"ÖBB", "o. b. b.", "?öbb"}, {"сша", "?сша", NULL},
                                            {"ÄBB", "?äbb", NULL},       {"СССССС", "?сссссс", NULL}};
  check_said(context, rules, said, sizeof said / sizeof *said);
}

/* The largest file with a name on each line takes no time that grows with the square of their number. */
static void test_many(struct linnet_context *context, const char *line) {
  enum { BYTES = 1 << 20, LINE = 24 };
  char *rules = malloc(BYTES);
  struct linnet_text_normalizer *n = NULL;
  size_t used = 0;
  REQUIRE(rules, "no memory");
  for (int i = 0; used < BYTES - LINE; i++)
    used += (size_t)snprintf(rules + used, BYTES - used, "%s%d 0 x\n", line, i);
  const clock_t start = clock();
  REQUIRE(linnet_text_normalizer_load_memory(context, rules, used, "R", &n) == LINNET_OK, "%s",
          linnet_context_error(context));
  const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  CHECK(seconds < 2 * TEST_SHARE, "'%s': %.1f s of the processor", line, seconds);
  linnet_text_normalizer_destroy(n);
  free(rules);
}

/* Rules that would never end, or give too many words, give no spoken form. */
static void test_endless(struct linnet_context *context) {
  static const char rules[] = "number a 0 > > > >\nnumber a 5/10 > > > >\nnumber b 0 word >\nrule {n} = {1:a}\n"
                              "rule {n} = {1:b}\ntable symbol & and\n";
  struct linnet_text_normalizer *n = NULL;
  struct linnet_spoken *spoken = NULL;
  REQUIRE(linnet_text_normalizer_load_memory(context, rules, strlen(rules), "R", &n) == LINNET_OK, "%s",
          linnet_context_error(context));
  enum linnet_status status = linnet_spoken_create(n, context, "7", knows, NULL, &spoken);
  CHECK(status == LINNET_ERROR_LIMIT || (status == LINNET_OK && !linnet_spoken_is_known(spoken, 0)), "status %d",
        (int)status);
  linnet_spoken_destroy(spoken);
  linnet_text_normalizer_destroy(n);
}

static enum linnet_status load_and_say(struct linnet_context *context) {
  static const char rules[] = "table symbol & and\nnumber a 0 zero\nnumber a 10 ten | ten >\nrule {n} = {1:a}\n";
  struct linnet_text_normalizer *n = NULL;
  struct linnet_spoken *spoken = NULL;
  enum linnet_status status = linnet_text_normalizer_load_memory(context, rules, strlen(rules), "R", &n);
  if (status == LINNET_OK)
    status = linnet_spoken_create(n, context, "10", knows, NULL, &spoken);
  linnet_spoken_destroy(spoken);
  linnet_text_normalizer_destroy(n);
  return status;
}

int main(void) {
  struct linnet_context *context = test_context();
  test_english(context);
  test_no_rules(context);
  test_limits(context);
  test_refused(context);
  test_keys(context);
  test_join(context);
  test_spelled(context);
  test_many(context, "keys t");
  test_many(context, "number s");
  test_endless(context);
  torture("rules", load_and_say);
  linnet_context_destroy(context);
  return test_result();
}
