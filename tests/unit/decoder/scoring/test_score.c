/* The alignment against a plain table, against exhaustive search and against stored counts of NIST sclite; the scorer's
 * totals, tables, confusions and bootstrap. sclite itself is compared in tests/recipe. */
#include <linnet/lattice.h>
#include <linnet/score.h>

#include "allocators.h"
#include "locales.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* --- alignment -------------------------------------------------------------------------------------------------- */

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* The minimum cost, by trying all alignments. */
static size_t search(const int *a, size_t n, const int *b, size_t m) {
  if (n == 0 || m == 0)
    return 3 * (n + m);
  size_t diagonal = search(a + 1, n - 1, b + 1, m - 1) + (a[0] == b[0] ? 0 : 4);
  return smaller(diagonal, 3 + smaller(search(a + 1, n - 1, b, m), search(a, n, b + 1, m - 1)));
}

/* Counts by the whole table of costs, walked back with the preference diagonal, insertion, deletion. */
static struct linnet_score plain_score(const int *a, size_t n, const int *b, size_t m) {
  size_t width = m + 1, *cost = malloc((n + 1) * width * sizeof *cost);
  REQUIRE(cost, "out of memory");
  for (size_t i = 0; i <= n; i++)
    for (size_t j = 0; j <= m; j++) {
      size_t *at = cost + i * width + j;
      *at = i == 0 ? 3 * j : 3 * i;
      if (i > 0 && j > 0)
        *at = smaller(at[-(ptrdiff_t)width - 1] + (a[i - 1] == b[j - 1] ? 0 : 4),
                      3 + smaller(at[-1], at[-(ptrdiff_t)width]));
    }
  struct linnet_score score = {.num_reference = n};
  for (size_t i = n, j = m; i > 0 || j > 0;) {
    size_t *at = cost + i * width + j;
    size_t change = i > 0 && j > 0 && a[i - 1] != b[j - 1];
    if (i > 0 && j > 0 && *at == at[-(ptrdiff_t)width - 1] + 4 * change) {
      score.num_substitutions += change;
      i--, j--;
    } else if (j > 0 && *at == at[-1] + 3) {
      score.num_insertions++;
      j--;
    } else {
      score.num_deletions++;
      i--;
    }
  }
  free(cost);
  return score;
}

static void fill_tokens(struct test_random *r, int *tokens, size_t count, size_t alphabet) {
  for (size_t i = 0; i < count; i++)
    tokens[i] = (int)test_below(r, alphabet);
}

static void check_random(struct linnet_context *context, uint64_t seed, size_t max_length) {
  struct test_random r = {seed};
  size_t n = test_below(&r, max_length + 1), m = test_below(&r, max_length + 1), alphabet = 2 + test_below(&r, 6);
  int a[64] = {0}, b[64] = {0};
  fill_tokens(&r, a, n, alphabet);
  fill_tokens(&r, b, m, alphabet);
  struct linnet_score got = {0}, expected = plain_score(a, n, b, m);
  CHECK(linnet_score_add(context, n > 0 ? a : NULL, n, m > 0 ? b : NULL, m, &got) == LINNET_OK, "score_add");
  CHECK(memcmp(&got, &expected, sizeof got) == 0, "seed %llu: %zu sub %zu ins %zu del, expected %zu %zu %zu",
        (unsigned long long)seed, got.num_substitutions, got.num_insertions, got.num_deletions,
        expected.num_substitutions, expected.num_insertions, expected.num_deletions);
  if (n <= 6 && m <= 6)
    CHECK(4 * got.num_substitutions + 3 * (got.num_insertions + got.num_deletions) == search(a, n, b, m),
          "seed %llu: not of least cost", (unsigned long long)seed);
}

static void test_random_pairs(struct linnet_context *context) {
  for (uint64_t seed = 0; seed < 8000; seed++)
    check_random(context, seed, seed < 4000 ? 6 : 60);
}

/* Ties for which other preferences give other counts; from `sclite -i rm -r ref.trn trn -h hyp.trn trn -o pralign`
 * (sctk 2.4.10). */
static void test_stored(struct linnet_context *context) {
  static const struct {
    const char *reference, *hypothesis;
    size_t substitutions, insertions, deletions;
  } cases[] = {
      {"cdb", "aac", 3, 0, 0},
      {"dbb", "ced", 3, 0, 0},
      {"dcc", "bbd", 3, 0, 0},
      {"efa", "bde", 3, 0, 0},
      {"aacc", "cdcd", 3, 0, 0},
      {"aec", "bbfda", 3, 2, 0},
      {"cbbb", "aaca", 4, 0, 0},
      {"ddec", "dfad", 3, 0, 0},
      {"acbcb", "bbaa", 3, 0, 1},
      {"cfd", "deaabb", 3, 3, 0},
      {"daccb", "dbdd", 3, 0, 1},
      {"badea", "becca", 3, 0, 0},
      {"bdcca", "baabb", 4, 0, 0},
      {"cefd", "ddbaca", 4, 2, 0},
      {"ffcc", "cabbce", 3, 2, 0},
      {"acccb", "bcbaaa", 4, 1, 0},
      {"adcbe", "dbdeae", 3, 1, 0},
      {"debfcd", "ebdaf", 3, 0, 1},
      {"aabdbd", "aaaabb", 3, 0, 0},
      {"accabb", "babacc", 3, 1, 1},
      {"cccbab", "abadab", 4, 0, 0},
      {"cbfadd", "fbcebda", 4, 1, 0},
      {"dfbfbba", "eeeffc", 5, 0, 1},
      {"faefffa", "fbcdeb", 5, 0, 1},
      {"", "", 0, 0, 0},
      {"abc", "", 0, 0, 3},
      {"", "abc", 0, 3, 0},
      {"abc", "abc", 0, 0, 0},
      {"abc", "acb", 0, 1, 1},
      {"xaby", "abzyq", 0, 2, 1},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    int a[16] = {0}, b[16] = {0};
    size_t n = strlen(cases[i].reference), m = strlen(cases[i].hypothesis);
    for (size_t k = 0; k < n; k++)
      a[k] = cases[i].reference[k];
    for (size_t k = 0; k < m; k++)
      b[k] = cases[i].hypothesis[k];
    struct linnet_score s = {0};
    CHECK(linnet_score_add(context, a, n, b, m, &s) == LINNET_OK, "score_add");
    CHECK(s.num_reference == n && s.num_substitutions == cases[i].substitutions &&
              s.num_insertions == cases[i].insertions && s.num_deletions == cases[i].deletions,
          "%s/%s: %zu sub %zu ins %zu del", cases[i].reference, cases[i].hypothesis, s.num_substitutions,
          s.num_insertions, s.num_deletions);
  }
}

/* Tables above 4 M cells are divided into blocks: the counts must not change. */
static void test_blocks(struct linnet_context *context) {
  static const size_t lengths[][2] = {{3000, 2900}, {2100, 2100}, {2, 210000}, {210000, 2}, {2048, 2047}};
  static int a[210000], b[210000];
  for (size_t i = 0; i < COUNT(lengths); i++) {
    struct test_random r = {i + 1};
    size_t n = lengths[i][0], m = lengths[i][1];
    fill_tokens(&r, a, n, 5);
    fill_tokens(&r, b, m, 5);
    struct linnet_score got = {0}, expected = plain_score(a, n, b, m);
    CHECK(linnet_score_add(context, a, n, b, m, &got) == LINNET_OK, "score_add");
    CHECK(memcmp(&got, &expected, sizeof got) == 0, "%zu by %zu: %zu sub %zu ins %zu del, expected %zu %zu %zu", n, m,
          got.num_substitutions, got.num_insertions, got.num_deletions, expected.num_substitutions,
          expected.num_insertions, expected.num_deletions);
  }
}

static void test_limits(struct linnet_context *context) {
  struct linnet_score s = {0};
  size_t n = ((size_t)1 << 18) + 1;
  int *tokens = calloc(n, sizeof *tokens);
  REQUIRE(tokens, "out of memory");
  CHECK(linnet_score_add(context, tokens, n, tokens, 1, &s) == LINNET_ERROR_LIMIT, "too long");
  CHECK(linnet_score_add(context, tokens, n - 1, tokens, n - 1, &s) == LINNET_ERROR_LIMIT, "too many cells");
  CHECK(*linnet_context_error(context), "no sentence");
  CHECK(linnet_score_add(context, NULL, 1, tokens, 1, &s) == LINNET_ERROR_ARGUMENT, "no reference");
  CHECK(linnet_score_add(context, tokens, 1, NULL, 1, &s) == LINNET_ERROR_ARGUMENT, "no hypothesis");
  CHECK(linnet_score_add(context, tokens, 1, tokens, 1, NULL) == LINNET_ERROR_ARGUMENT, "no score");
  CHECK(s.num_reference == 0, "counts were changed by a failure");
  free(tokens);
}

static void test_percent(void) {
  struct linnet_score s = {0};
  char line[LINNET_SCORE_LINE];
  CHECK(linnet_score_percent(&s) == 0, "empty");
  s.num_insertions = 1;
  CHECK(isinf(linnet_score_percent(&s)), "insertions alone");
  linnet_score_line(&s, "WER", line, sizeof line);
  CHECK(strcmp(line, "%WER n/a [ 1 / 0, 1 ins, 0 del, 0 sub ]") == 0, "'%s'", line);
  s = (struct linnet_score){789, 53, 1, 2};
  linnet_score_line(&s, "WER", line, sizeof line);
  CHECK(strcmp(line, "%WER 7.10 [ 56 / 789, 1 ins, 2 del, 53 sub ]") == 0, "'%s'", line);
  linnet_score_line(&s, "PER", line, 8);
  CHECK(strcmp(line, "%PER 7.") == 0, "'%s'", line);
}

/* --- the scorer ------------------------------------------------------------------------------------------------- */

/* Adds an utterance given as text; hypothesis NULL: missing. At most 31 tokens. */
static enum linnet_status add(struct linnet_scorer *scorer, const char *id, const char *speaker, const char *reference,
                              const char *hypothesis) {
  static char text[2][256];
  const char *tokens[2][32];
  size_t count[2] = {0, 0};
  for (int side = 0; side < 2; side++) {
    snprintf(text[side], sizeof text[side], "%s", side == 0 ? reference : hypothesis ? hypothesis : "");
    for (char *t = strtok(text[side], " "); t; t = strtok(NULL, " "))
      tokens[side][count[side]++] = t;
  }
  return hypothesis ? linnet_scorer_add(scorer, id, speaker, tokens[0], count[0], tokens[1], count[1])
                    : linnet_scorer_add_missing(scorer, id, speaker, tokens[0], count[0]);
}

static struct linnet_scorer *make_scorer(struct linnet_context *context, int strip_stress) {
  struct linnet_scorer_settings settings;
  struct linnet_scorer *scorer;
  linnet_scorer_settings_default(&settings);
  settings.strip_stress = strip_stress;
  REQUIRE(linnet_scorer_create(context, &settings, &scorer) == LINNET_OK, "create");
  return scorer;
}

static void check_line(const struct linnet_score *score, const char *expected) {
  char line[LINNET_SCORE_LINE];
  linnet_score_line(score, "PER", line, sizeof line);
  CHECK(strcmp(line, expected) == 0, "'%s', expected '%s'", line, expected);
}

static struct linnet_scorer *small_corpus(struct linnet_context *context) {
  struct linnet_scorer *scorer = make_scorer(context, 0);
  CHECK(add(scorer, "u1", "s1", "a b c d", "a x c d") == LINNET_OK, "u1");
  CHECK(add(scorer, "u2", "s2", "a b", "a b") == LINNET_OK, "u2");
  CHECK(add(scorer, "u3", "s1", "b b", "b x b b") == LINNET_OK, "u3");
  CHECK(add(scorer, "u4", "s2", "c d", NULL) == LINNET_OK, "u4");
  CHECK(add(scorer, "u5", "s2", "b", "x") == LINNET_OK, "u5");
  CHECK(add(scorer, "u6", "s2", "", "") == LINNET_OK, "u6");
  return scorer;
}

static void test_totals(struct linnet_context *context) {
  struct linnet_scorer *scorer = small_corpus(context);
  struct linnet_score_sum sum = linnet_scorer_sum(scorer);
  check_line(&sum.score, "%PER 54.55 [ 6 / 11, 2 ins, 2 del, 2 sub ]");
  CHECK(sum.num_utterances == 6 && sum.num_wrong == 4 && sum.num_missing == 1, "%zu utterances, %zu wrong, %zu lost",
        sum.num_utterances, sum.num_wrong, sum.num_missing);
  CHECK(linnet_scorer_num_speakers(scorer) == 2 && linnet_scorer_num_utterances(scorer) == 6, "counts");
  sum = linnet_scorer_speaker(scorer, 0);
  CHECK(strcmp(sum.name, "s1") == 0 && sum.num_utterances == 2 && sum.num_wrong == 2, "speaker %s", sum.name);
  check_line(&sum.score, "%PER 50.00 [ 3 / 6, 2 ins, 0 del, 1 sub ]");
  sum = linnet_scorer_speaker(scorer, 1);
  check_line(&sum.score, "%PER 60.00 [ 3 / 5, 0 ins, 2 del, 1 sub ]");
  CHECK(sum.num_missing == 1 && sum.num_utterances == 4 && sum.num_wrong == 2, "speaker %s", sum.name);
  struct linnet_scored_utterance u = linnet_scorer_utterance(scorer, 3);
  CHECK(strcmp(u.id, "u4") == 0 && strcmp(u.speaker, "s2") == 0 && u.missing && u.score.num_deletions == 2 &&
            u.num_pairs == 2,
        "the lost utterance");
  CHECK(!linnet_scorer_utterance(scorer, 0).missing, "u1 is not lost");
  linnet_scorer_destroy(scorer);
}

static void test_alignment(struct linnet_context *context) {
  static const char expected[] = "-/x b/b c/- d/y b/b b/b "; /* as sclite prints it */
  struct linnet_scorer *scorer = make_scorer(context, 0);
  struct linnet_score_pair pairs[8];
  char got[64] = "";
  CHECK(add(scorer, "u", NULL, "b c d b b", "x b y b b") == LINNET_OK, "u");
  struct linnet_scored_utterance u = linnet_scorer_utterance(scorer, 0);
  REQUIRE(u.num_pairs == 6 && !u.speaker, "%zu pairs", u.num_pairs);
  linnet_scorer_alignment(scorer, 0, pairs);
  for (size_t k = 0, at = 0; k < u.num_pairs; k++)
    at += (size_t)snprintf(got + at, sizeof got - at, "%s/%s ", pairs[k].reference ? pairs[k].reference : "-",
                           pairs[k].hypothesis ? pairs[k].hypothesis : "-");
  CHECK(strcmp(got, expected) == 0, "'%s', expected '%s'", got, expected);
  linnet_scorer_destroy(scorer);
}

static void check_confusion(const struct linnet_confusion *c, size_t count, const char *reference,
                            const char *hypothesis) {
  const char *a = c->pair.reference ? c->pair.reference : "-", *b = c->pair.hypothesis ? c->pair.hypothesis : "-";
  CHECK(c->num_occurrences == count && strcmp(a, reference) == 0 && strcmp(b, hypothesis) == 0,
        "%zu %s %s, expected %zu %s %s", c->num_occurrences, a, b, count, reference, hypothesis);
}

static void test_confusions(struct linnet_context *context) {
  struct linnet_scorer *scorer = small_corpus(context);
  const struct linnet_confusion *list;
  size_t count;
  for (int round = 0; round < 2; round++) {
    CHECK(linnet_scorer_confusions(scorer, &list, &count) == LINNET_OK, "confusions");
    REQUIRE(count == 5, "%zu confusions", count);
    check_confusion(&list[0], 2, "b", "x");
    check_confusion(&list[1], 1, "-", "b");
    check_confusion(&list[2], 1, "-", "x");
    check_confusion(&list[3], 1, "c", "-");
    check_confusion(&list[4], 1, "d", "-");
  }
  linnet_scorer_destroy(scorer);
  scorer = make_scorer(context, 0);
  CHECK(linnet_scorer_confusions(scorer, &list, &count) == LINNET_OK && count == 0, "an empty scorer");
  linnet_scorer_destroy(scorer);
}

static void test_tokens(struct linnet_context *context) {
  struct linnet_scorer *scorer = make_scorer(context, 1);
  CHECK(linnet_scorer_map(scorer, "ZH", "SH") == LINNET_OK, "map");
  CHECK(linnet_scorer_map(scorer, "ZH", "SH") == LINNET_OK, "the same again");
  CHECK(linnet_scorer_map(scorer, "ZH", "S") == LINNET_ERROR_ARGUMENT, "two targets");
  CHECK(linnet_scorer_map(scorer, "SH", "X") == LINNET_OK, "not applied to what ZH became");
  CHECK(linnet_scorer_map(scorer, "Q", NULL) == LINNET_OK, "drop");
  CHECK(linnet_scorer_map(scorer, "H#", "SIL") == LINNET_OK, "map");
  CHECK(linnet_scorer_ignore(scorer, "SIL") == LINNET_OK, "ignore");
  CHECK(add(scorer, "u", NULL, "SIL AH0 ZH Q H# K2 0 T3", "AH1 SH Q Q K2 0 T3") == LINNET_OK, "u");
  struct linnet_score_sum sum = linnet_scorer_sum(scorer);
  check_line(&sum.score, "%PER 20.00 [ 1 / 5, 0 ins, 0 del, 1 sub ]");
  const struct linnet_confusion *list;
  size_t count;
  CHECK(linnet_scorer_confusions(scorer, &list, &count) == LINNET_OK && count == 1, "confusions");
  check_confusion(&list[0], 1, "SH", "X");
  CHECK(linnet_scorer_map(scorer, "A", "B") == LINNET_ERROR_STATE, "map after an utterance");
  CHECK(linnet_scorer_ignore(scorer, "A") == LINNET_ERROR_STATE, "ignore after an utterance");
  linnet_scorer_destroy(scorer);
}

/* A map may name a phone with a stress digit; one without it is for all of them. No digit is left. */
static void test_map_of_stress(struct linnet_context *context) {
  struct linnet_scorer *scorer = make_scorer(context, 1);
  CHECK(linnet_scorer_map(scorer, "AH0", "AX0") == LINNET_OK && linnet_scorer_map(scorer, "IH", "IX1") == LINNET_OK &&
            linnet_scorer_map(scorer, "IH2", NULL) == LINNET_OK,
        "map");
  CHECK(add(scorer, "u", NULL, "AH0 AH1 IH0 IH1 IH2 AH0", "AX AH IX IX AH") == LINNET_OK, "u");
  struct linnet_score_sum sum = linnet_scorer_sum(scorer);
  check_line(&sum.score, "%PER 20.00 [ 1 / 5, 0 ins, 0 del, 1 sub ]");
  const struct linnet_confusion *list;
  size_t count;
  CHECK(linnet_scorer_confusions(scorer, &list, &count) == LINNET_OK && count == 1, "confusions");
  check_confusion(&list[0], 1, "AX", "AH");
  linnet_scorer_destroy(scorer);
}

static const char *write_file(const char *text) {
  static const char path[] = TEST_BINARY_DIR "/test_score.tmp";
  FILE *file = fopen(path, "wb");
  REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0, "cannot write %s", path);
  return path;
}

static void check_map(struct linnet_context *context, const char *text, enum linnet_status expected,
                      const char *location) {
  struct linnet_scorer *scorer = make_scorer(context, 0);
  enum linnet_status status = linnet_scorer_load_map(scorer, write_file(text));
  CHECK(status == expected, "'%s': status %d", text, (int)status);
  CHECK(status == LINNET_OK || strstr(linnet_context_error(context), location), "'%s'", linnet_context_error(context));
  linnet_scorer_destroy(scorer);
}

static void test_map_file(struct linnet_context *context) {
  check_map(context, ";;; folding\n# more\nix ih\nq\n\nax\tah\r\n", LINNET_OK, "");
  check_map(context, "", LINNET_OK, "");
  check_map(context, "a b c\n", LINNET_ERROR_FORMAT, "test_score.tmp:1:");
  check_map(context, "a b\n\na c\n", LINNET_ERROR_FORMAT, "test_score.tmp:3:");
  struct linnet_scorer *scorer = make_scorer(context, 0);
  CHECK(linnet_scorer_load_map(scorer, "/no/such/file") == LINNET_ERROR_IO, "no file");
  CHECK(linnet_scorer_load_map(scorer, write_file("ix ih\nq\n")) == LINNET_OK, "load");
  CHECK(add(scorer, "u", NULL, "ix q b", "ih b q") == LINNET_OK, "add");
  CHECK(linnet_scorer_sum(scorer).num_wrong == 0, "equal after the map");
  remove(TEST_BINARY_DIR "/test_score.tmp");
  linnet_scorer_destroy(scorer);
}

static void test_failed_adds(struct linnet_context *context) {
  struct linnet_scorer *scorer = small_corpus(context);
  struct linnet_score_sum before = linnet_scorer_sum(scorer);
  CHECK(add(scorer, "u1", "s3", "a", "b") == LINNET_ERROR_ARGUMENT, "an id twice");
  CHECK(linnet_scorer_add(scorer, NULL, NULL, NULL, 0, NULL, 0) == LINNET_ERROR_ARGUMENT, "no id");
  CHECK(linnet_scorer_add(scorer, "v", NULL, NULL, 1, NULL, 0) == LINNET_ERROR_ARGUMENT, "no tokens");
  struct linnet_score_sum after = linnet_scorer_sum(scorer);
  CHECK(after.num_utterances == before.num_utterances && after.score.num_reference == before.score.num_reference,
        "something was added");
  CHECK(linnet_scorer_num_speakers(scorer) == 2, "a speaker was added");
  linnet_scorer_destroy(scorer);
  linnet_scorer_destroy(NULL);
}

/* --- transcripts ------------------------------------------------------------------------------------------------ */

static struct linnet_transcripts *read_text(struct linnet_context *context, const char *text) {
  struct linnet_transcripts *t;
  REQUIRE(linnet_transcripts_load_memory(context, text, strlen(text), "text", &t) == LINNET_OK, "%s",
          linnet_context_error(context));
  return t;
}

static enum linnet_status score_texts(struct linnet_context *context, const char *reference, const char *hypothesis,
                                      const char *speakers, int allow_extra, struct linnet_score_sum *sum) {
  struct linnet_scorer_settings settings;
  struct linnet_scorer *scorer;
  linnet_scorer_settings_default(&settings);
  settings.allow_extra = allow_extra;
  REQUIRE(linnet_scorer_create(context, &settings, &scorer) == LINNET_OK, "create");
  struct linnet_transcripts *a = read_text(context, reference), *b = read_text(context, hypothesis),
                            *c = speakers ? read_text(context, speakers) : NULL;
  enum linnet_status status = linnet_scorer_add_transcripts(scorer, a, b, c);
  *sum = linnet_scorer_sum(scorer);
  linnet_transcripts_destroy(a);
  linnet_transcripts_destroy(b);
  linnet_transcripts_destroy(c);
  linnet_scorer_destroy(scorer);
  return status;
}

static void test_transcripts(struct linnet_context *context) {
  struct linnet_score_sum sum;
  CHECK(score_texts(context, "u1 a b\nu2 c d\nu3 e\n", "u3 e\nu1 a\n", NULL, 0, &sum) == LINNET_OK, "score");
  check_line(&sum.score, "%PER 60.00 [ 3 / 5, 0 ins, 3 del, 0 sub ]");
  CHECK(sum.num_missing == 1 && sum.num_wrong == 2, "%zu lost, %zu wrong", sum.num_missing, sum.num_wrong);
  CHECK(score_texts(context, "u1 a\n", "u1 a\nx7 b\n", NULL, 0, &sum) == LINNET_ERROR_FORMAT, "an extra hypothesis");
  CHECK(strstr(linnet_context_error(context), "x7"), "'%s'", linnet_context_error(context));
  CHECK(score_texts(context, "u1 a\n", "u1 a\nx7 b\n", NULL, 1, &sum) == LINNET_OK && sum.num_utterances == 1,
        "allowed");
  CHECK(score_texts(context, "u1 a\nu2 b\n", "", "u1 s\nu2 s\n", 0, &sum) == LINNET_OK && sum.num_missing == 2,
        "all lost");
  CHECK(score_texts(context, "u1 a\nu2 b\n", "", "u1 s\n", 0, &sum) == LINNET_ERROR_FORMAT, "no speaker");
  CHECK(strstr(linnet_context_error(context), "u2"), "'%s'", linnet_context_error(context));
  CHECK(score_texts(context, "u1 a\n", "", "u1 s t\n", 0, &sum) == LINNET_ERROR_FORMAT, "two speakers");
  CHECK(score_texts(context, "u1\n", "u1 a\n", NULL, 0, &sum) == LINNET_OK && sum.num_wrong == 1 &&
            sum.score.num_insertions == 1,
        "an empty reference");
}

/* --- bootstrap -------------------------------------------------------------------------------------------------- */

/* A corpus of utterances of 10 tokens, each wrong with a probability that depends on the speaker. */
static struct linnet_scorer *random_corpus(struct linnet_context *context, size_t utterances, double spread) {
  struct linnet_scorer *scorer = make_scorer(context, 0);
  struct test_random r = {7};
  for (size_t i = 0; i < utterances; i++) {
    char id[32], speaker[32], text[32];
    snprintf(id, sizeof id, "u%zu", i);
    snprintf(speaker, sizeof speaker, "s%zu", i % 20);
    double rate = 0.2 + (i % 20 < 10 ? spread : -spread);
    for (size_t k = 0; k < 10; k++) {
      text[2 * k] = test_uniform(&r) < 2 * rate - 1 ? 'b' : 'a';
      text[2 * k + 1] = k < 9 ? ' ' : '\0';
    }
    CHECK(add(scorer, id, speaker, "a a a a a a a a a a", text) == LINNET_OK, "add");
  }
  return scorer;
}

/* The standard error that the bootstrap tends to: that of the mean of utterances of equal length. */
static double expected_error(const struct linnet_scorer *scorer) {
  size_t n = linnet_scorer_num_utterances(scorer);
  struct linnet_score_sum sum = linnet_scorer_sum(scorer);
  double mean = linnet_score_percent(&sum.score), square = 0;
  for (size_t i = 0; i < n; i++) {
    struct linnet_scored_utterance u = linnet_scorer_utterance(scorer, i);
    double d = linnet_score_percent(&u.score) - mean;
    square += d * d;
  }
  return sqrt(square / (double)n / (double)n);
}

static void test_bootstrap(struct linnet_context *context) {
  struct linnet_scorer *scorer = random_corpus(context, 400, 0);
  struct linnet_interval a, b, c;
  CHECK(linnet_scorer_bootstrap(scorer, LINNET_BOOTSTRAP_UTTERANCE, 4000, 1, &a) == LINNET_OK, "bootstrap");
  CHECK(linnet_scorer_bootstrap(scorer, LINNET_BOOTSTRAP_UTTERANCE, 4000, 1, &b) == LINNET_OK, "bootstrap");
  CHECK(linnet_scorer_bootstrap(scorer, LINNET_BOOTSTRAP_UTTERANCE, 4000, 2, &c) == LINNET_OK, "bootstrap");
  CHECK(memcmp(&a, &b, sizeof a) == 0, "the same seed gave %.17g-%.17g and %.17g-%.17g", a.low, a.high, b.low, b.high);
  CHECK(memcmp(&a, &c, sizeof a) != 0, "another seed gave the same");
  double expected = expected_error(scorer);
  struct linnet_score_sum sum = linnet_scorer_sum(scorer);
  double rate = linnet_score_percent(&sum.score);
  printf("bootstrap: rate %.3f, %.3f to %.3f, standard error %.4f (expected %.4f)\n", rate, a.low, a.high,
         a.standard_error, expected);
  CHECK(fabs(a.standard_error / expected - 1) < 0.05, "standard error %g, expected %g", a.standard_error, expected);
  CHECK(fabs(a.low - (rate - 1.96 * expected)) < 0.3 * expected, "low %g", a.low);
  CHECK(fabs(a.high - (rate + 1.96 * expected)) < 0.3 * expected, "high %g", a.high);
  linnet_scorer_destroy(scorer);
}

static void test_bootstrap_speakers(struct linnet_context *context) {
  struct linnet_scorer *scorer = random_corpus(context, 400, 0.15);
  struct linnet_interval utterances, speakers;
  CHECK(linnet_scorer_bootstrap(scorer, LINNET_BOOTSTRAP_UTTERANCE, 1000, 1, &utterances) == LINNET_OK, "bootstrap");
  CHECK(linnet_scorer_bootstrap(scorer, LINNET_BOOTSTRAP_SPEAKER, 1000, 1, &speakers) == LINNET_OK, "bootstrap");
  CHECK(speakers.standard_error > 2 * utterances.standard_error, "speakers differ, but %g is not over twice %g",
        speakers.standard_error, utterances.standard_error);
  linnet_scorer_destroy(scorer);
}

static void test_bootstrap_edges(struct linnet_context *context) {
  struct linnet_scorer *scorer = make_scorer(context, 0);
  struct linnet_interval i;
  CHECK(linnet_scorer_bootstrap(scorer, LINNET_BOOTSTRAP_UTTERANCE, 10, 0, &i) == LINNET_ERROR_STATE, "no utterances");
  CHECK(add(scorer, "u", NULL, "a b c d", "a b c") == LINNET_OK, "add");
  CHECK(linnet_scorer_bootstrap(scorer, LINNET_BOOTSTRAP_UTTERANCE, 1, 0, &i) == LINNET_OK && i.low == 25 &&
            i.high == 25 && i.standard_error == 0,
        "one utterance: %g to %g", i.low, i.high);
  CHECK(linnet_scorer_bootstrap(scorer, LINNET_BOOTSTRAP_UTTERANCE, 0, 0, &i) == LINNET_ERROR_ARGUMENT, "0 resamples");
  CHECK(linnet_scorer_bootstrap(scorer, LINNET_BOOTSTRAP_UTTERANCE, 2000000, 0, &i) == LINNET_ERROR_ARGUMENT, "many");
  CHECK(linnet_scorer_bootstrap(scorer, LINNET_BOOTSTRAP_SPEAKER, 10, 0, &i) == LINNET_ERROR_STATE, "no speaker");
  CHECK(strstr(linnet_context_error(context), "'u'"), "'%s'", linnet_context_error(context));
  linnet_scorer_destroy(scorer);
}

/* Samples that draw only the empty reference do not count. */
static void test_bootstrap_empty(struct linnet_context *context) {
  struct linnet_scorer *scorer = make_scorer(context, 0);
  struct linnet_interval i;
  struct linnet_comparison c;
  CHECK(add(scorer, "u1", NULL, "", "x") == LINNET_OK, "add");
  CHECK(linnet_scorer_bootstrap(scorer, LINNET_BOOTSTRAP_UTTERANCE, 10, 0, &i) == LINNET_ERROR_STATE, "all empty");
  CHECK(add(scorer, "u2", NULL, "a b", "a b") == LINNET_OK, "add");
  CHECK(linnet_scorer_bootstrap(scorer, LINNET_BOOTSTRAP_UTTERANCE, 1000, 0, &i) == LINNET_OK && i.low == 0 &&
            i.high == 50 && i.standard_error > 0 && i.standard_error < 50,
        "%g to %g, %g", i.low, i.high, i.standard_error);
  CHECK(linnet_scorer_compare(scorer, scorer, LINNET_BOOTSTRAP_UTTERANCE, 1000, 0, &c) == LINNET_OK &&
            c.interval.low == 0 && c.interval.high == 0 && c.probability == 0,
        "%g to %g", c.interval.low, c.interval.high);
  linnet_scorer_destroy(scorer);
}

/* Utterances of four tokens; every `period`-th has one error. */
static struct linnet_scorer *periodic_corpus(struct linnet_context *context, size_t count, size_t period) {
  struct linnet_scorer *scorer = make_scorer(context, 0);
  char id[16];
  for (size_t i = 0; i < count; i++) {
    snprintf(id, sizeof id, "u%zu", i);
    CHECK(add(scorer, id, i % 2 ? "odd" : "even", "a b c d", i % period == 0 ? "a b c" : "a b c d") == LINNET_OK,
          "add");
  }
  return scorer;
}

/* Errors in every second and every fourth utterance: an utterance's difference is -25 with probability 1/4, else 0. */
static void test_comparison(struct linnet_context *context) {
  struct linnet_scorer *scorer = periodic_corpus(context, 400, 2), *other = periodic_corpus(context, 400, 4);
  struct linnet_comparison c, again;
  const double expected = 25 * sqrt(0.25 * 0.75 / 400);
  CHECK(linnet_scorer_compare(scorer, other, LINNET_BOOTSTRAP_UTTERANCE, 4000, 1, &c) == LINNET_OK, "compare");
  CHECK(c.difference == -6.25 && c.probability == 1, "difference %g, probability %g", c.difference, c.probability);
  CHECK(fabs(c.interval.standard_error / expected - 1) < 0.05, "standard error %g, expected %g",
        c.interval.standard_error, expected);
  CHECK(fabs(c.interval.low + 6.25 + 1.96 * expected) < 0.3 * expected &&
            fabs(c.interval.high + 6.25 - 1.96 * expected) < 0.3 * expected,
        "%g to %g", c.interval.low, c.interval.high);
  CHECK(linnet_scorer_compare(other, scorer, LINNET_BOOTSTRAP_UTTERANCE, 4000, 1, &again) == LINNET_OK &&
            again.difference == 6.25 && again.probability == 0 && fabs(again.interval.low + c.interval.high) < 1e-9,
        "the other way round: %g, %g", again.difference, again.probability);
  CHECK(linnet_scorer_compare(scorer, scorer, LINNET_BOOTSTRAP_SPEAKER, 10, 1, &c) == LINNET_OK && c.difference == 0 &&
            c.probability == 0 && c.interval.low == 0 && c.interval.high == 0,
        "a system with itself");
  linnet_scorer_destroy(other);
  other = periodic_corpus(context, 399, 4);
  CHECK(linnet_scorer_compare(scorer, other, LINNET_BOOTSTRAP_UTTERANCE, 10, 1, &c) == LINNET_ERROR_ARGUMENT, "399");
  CHECK(add(other, "u399", "even", "a b c d", "a") == LINNET_OK, "add");
  CHECK(linnet_scorer_compare(scorer, other, LINNET_BOOTSTRAP_UTTERANCE, 10, 1, &c) == LINNET_OK, "another speaker");
  CHECK(linnet_scorer_compare(scorer, other, LINNET_BOOTSTRAP_SPEAKER, 10, 1, &c) == LINNET_ERROR_ARGUMENT &&
            strstr(linnet_context_error(context), "'u399'"),
        "'%s'", linnet_context_error(context));
  linnet_scorer_destroy(other);
  linnet_scorer_destroy(scorer);
}

/* Utterances are compared by their ids, and speakers by their names, whatever the order in which they were added. */
static void test_comparison_order(struct linnet_context *context) {
  enum { COUNT = 40 };
  struct linnet_scorer *scorer = periodic_corpus(context, COUNT, 2), *other = periodic_corpus(context, COUNT, 4),
                       *backwards = make_scorer(context, 0);
  struct linnet_comparison wanted, found;
  for (size_t i = COUNT; i-- > 0;) {
    char id[16];
    snprintf(id, sizeof id, "u%zu", i);
    CHECK(add(backwards, id, i % 2 ? "odd" : "even", "a b c d", i % 4 == 0 ? "a b c" : "a b c d") == LINNET_OK, "add");
  }
  for (int unit = LINNET_BOOTSTRAP_UTTERANCE; unit <= LINNET_BOOTSTRAP_SPEAKER; unit++) {
    REQUIRE(linnet_scorer_compare(scorer, other, (enum linnet_bootstrap_unit)unit, 100, 1, &wanted) == LINNET_OK &&
                linnet_scorer_compare(scorer, backwards, (enum linnet_bootstrap_unit)unit, 100, 1, &found) == LINNET_OK,
            "unit %d: %s", unit, linnet_context_error(context));
    CHECK(found.difference == wanted.difference && found.probability == wanted.probability &&
              found.interval.low == wanted.interval.low && found.interval.high == wanted.interval.high,
          "unit %d: %g to %g, not %g to %g", unit, found.interval.low, found.interval.high, wanted.interval.low,
          wanted.interval.high);
  }
  linnet_scorer_destroy(backwards);
  linnet_scorer_destroy(other);
  linnet_scorer_destroy(scorer);
}

/* --- torture ---------------------------------------------------------------------------------------------------- */

static enum linnet_status fill_and_evaluate(struct linnet_scorer *scorer) {
  const struct linnet_confusion *list;
  size_t count;
  struct linnet_interval interval;
  enum linnet_status status = linnet_scorer_map(scorer, "x", "y");
  if (status == LINNET_OK)
    status = linnet_scorer_ignore(scorer, "z");
  for (int i = 0; i < 40 && status == LINNET_OK; i++) {
    char id[16], speaker[16];
    snprintf(id, sizeof id, "u%d", i);
    snprintf(speaker, sizeof speaker, "s%d", i);
    size_t utterances = linnet_scorer_num_utterances(scorer), speakers = linnet_scorer_num_speakers(scorer);
    status = add(scorer, id, speaker, "a b c d", "a z x d");
    CHECK(status == LINNET_OK ||
              (linnet_scorer_num_utterances(scorer) == utterances && linnet_scorer_num_speakers(scorer) == speakers &&
               linnet_scorer_sum(scorer).num_utterances == utterances),
          "a failed add left something");
  }
  if (status == LINNET_OK)
    status = linnet_scorer_confusions(scorer, &list, &count);
  return status == LINNET_OK ? linnet_scorer_bootstrap(scorer, LINNET_BOOTSTRAP_SPEAKER, 10, 1, &interval) : status;
}

static enum linnet_status scenario(struct linnet_context *context) {
  struct linnet_scorer *scorer;
  enum linnet_status status = linnet_scorer_create(context, NULL, &scorer);
  if (status == LINNET_OK)
    status = fill_and_evaluate(scorer);
  linnet_scorer_destroy(scorer);
  return status;
}

static enum linnet_status align_scenario(struct linnet_context *context) {
  const int tokens[] = {1, 2, 3};
  struct linnet_score score = {0};
  return linnet_score_add(context, tokens, 3, tokens + 1, 2, &score);
}

/* --- oracles ------------------------------------------------------------------------------------------------------ */

/* "a x c" in the list is best for u1, u2 has no hypothesis, u3 has stress, and mapped and ignored tokens. */
static const char oracle_lattices[] = "u3 \n0 1 AH1\n1 2 f\n2\n\nu1 \n0 1 a\n0 1 x\n1 2 x\n1 3 y\n2 3 c\n3\n\n";

/* `lattices` NULL: of the list. */
static enum linnet_status score_oracles(struct linnet_context *context, const char *lattices,
                                        struct linnet_scorer *scorer) {
  static const char reference[] = "u1 a b c\nu2 d\nu3 AH0 sil e\n", list[] = "u1-1 x y\nu1-2 a x c\nu3-1 AH1 f\n";
  struct linnet_transcripts *said = NULL, *heard = NULL;
  struct linnet_symbols *symbols = NULL;
  struct linnet_lattice_reader *reader = NULL;
  enum linnet_status status = linnet_transcripts_load_memory(context, reference, sizeof reference - 1, "ref", &said);
  if (status == LINNET_OK)
    status = linnet_transcripts_load_memory(context, list, sizeof list - 1, "list", &heard);
  if (status == LINNET_OK)
    status = linnet_symbols_create(context, NULL, 0, &symbols);
  if (status == LINNET_OK && lattices)
    status = linnet_lattice_reader_open_memory(context, lattices, strlen(lattices), "lat", symbols, &reader);
  if (status == LINNET_OK)
    status = lattices ? linnet_scorer_add_lattices(scorer, said, reader, symbols, NULL)
                      : linnet_scorer_add_nbest(scorer, said, heard, NULL);
  linnet_lattice_reader_destroy(reader);
  linnet_symbols_destroy(symbols);
  linnet_transcripts_destroy(heard);
  linnet_transcripts_destroy(said);
  return status;
}

static struct linnet_scorer *oracle_scorer(struct linnet_context *context) {
  struct linnet_scorer_settings settings;
  struct linnet_scorer *scorer = NULL;
  linnet_scorer_settings_default(&settings);
  settings.strip_stress = 1;
  if (linnet_scorer_create(context, &settings, &scorer) != LINNET_OK)
    return NULL;
  if (linnet_scorer_map(scorer, "f", "e") == LINNET_OK && linnet_scorer_ignore(scorer, "sil") == LINNET_OK)
    return scorer;
  linnet_scorer_destroy(scorer);
  return NULL;
}

static void test_oracles(struct linnet_context *context) {
  for (int i = 0; i < 2; i++) {
    struct linnet_scorer *scorer = oracle_scorer(context);
    REQUIRE(scorer && score_oracles(context, i == 0 ? NULL : oracle_lattices, scorer) == LINNET_OK, "%s",
            linnet_context_error(context));
    struct linnet_score_sum sum = linnet_scorer_sum(scorer);
    CHECK(sum.score.num_reference == 6 && sum.score.num_substitutions == 1 && sum.score.num_insertions == 0 &&
              sum.score.num_deletions == 1 && sum.num_missing == 1,
          "%zu sub, %zu ins, %zu del of %zu, %zu lost", sum.score.num_substitutions, sum.score.num_insertions,
          sum.score.num_deletions, sum.score.num_reference, sum.num_missing);
    linnet_scorer_destroy(scorer);
  }
}

/* Errors of a lattice name its utterance. */
static void test_oracle_cycle(struct linnet_context *context) {
  struct linnet_scorer *scorer = oracle_scorer(context);
  REQUIRE(scorer, "%s", linnet_context_error(context));
  CHECK(score_oracles(context, "u3 \n0 1 e\n1\n\nu1 \n0 1 a\n1 0 b\n1\n\n", scorer) == LINNET_ERROR_ARGUMENT,
        "a cycle");
  CHECK(strcmp(linnet_context_error(context), "utterance 'u1': the lattice has a cycle") == 0, "reported as: %s",
        linnet_context_error(context));
  linnet_scorer_destroy(scorer);
}

static enum linnet_status oracle_scenario(struct linnet_context *context) {
  struct linnet_scorer *scorer = oracle_scorer(context);
  enum linnet_status status = scorer ? score_oracles(context, oracle_lattices, scorer) : LINNET_ERROR_MEMORY;
  linnet_scorer_destroy(scorer);
  return status;
}

static enum linnet_status list_scenario(struct linnet_context *context) {
  struct linnet_scorer *scorer = oracle_scorer(context);
  enum linnet_status status = scorer ? score_oracles(context, NULL, scorer) : LINNET_ERROR_MEMORY;
  linnet_scorer_destroy(scorer);
  return status;
}

/* The line has a point in every locale. */
static void test_locale(void) {
  const struct linnet_score score = {.num_reference = 7, .num_substitutions = 1, .num_insertions = 1};
  char line[LINNET_SCORE_LINE];
  for (size_t i = 0; i < TEST_LOCALES; i++) {
    if (!test_set_locale(test_locales[i]))
      continue;
    linnet_score_line(&score, "PER", line, sizeof line);
    CHECK(strncmp(line, "%PER 28.57 [", 12) == 0, "%s: %s", test_locales[i], line);
    setlocale(LC_ALL, "C");
  }
}

int main(void) {
  struct linnet_context *context = test_context();
  test_random_pairs(context);
  test_stored(context);
  test_blocks(context);
  test_limits(context);
  test_percent();
  test_locale();
  test_totals(context);
  test_alignment(context);
  test_confusions(context);
  test_tokens(context);
  test_map_of_stress(context);
  test_map_file(context);
  test_failed_adds(context);
  test_transcripts(context);
  test_bootstrap(context);
  test_bootstrap_speakers(context);
  test_bootstrap_edges(context);
  test_bootstrap_empty(context);
  test_comparison(context);
  test_comparison_order(context);
  test_oracles(context);
  test_oracle_cycle(context);
  linnet_context_destroy(context);
  torture("align", align_scenario);
  torture("oracles of lattices", oracle_scenario);
  torture("oracles of lists", list_scenario);
  torture("scorer", scenario);
  return test_result();
}
