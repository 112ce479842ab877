/* Joint-sequence models: alignment and search against all paths, letters, limits, memory. */
#include <linnet/g2p.h>
#include <pthread.h>

#include "allocators.h"
#include "decoder/g2p/g2p.h"
#include "g2p_words.h"

static struct linnet_g2p *tiny_model(struct linnet_context *context) {
  struct linnet_g2p *g2p = NULL;
  REQUIRE(g2p_train_words(context, 4, 0, &g2p) == LINNET_OK, "%s", linnet_context_error(context));
  return g2p;
}

static void join(const struct linnet_g2p_result *result, size_t index, char *text) {
  size_t count;
  const char *const *phones = linnet_g2p_result_phones(result, index, &count);
  *text = '\0';
  for (size_t i = 0; i < count; i++)
    sprintf(text + strlen(text), "%s%s", i > 0 ? " " : "", phones[i]);
}

/* --- alignment against all paths --------------------------------------------------------------------------------- */

enum { MAX_UNITS = 4096 };

/* Units with probabilities and expected counts, looked up one by one. */
static struct {
  uint64_t keys[MAX_UNITS];
  double probability[MAX_UNITS], expected[MAX_UNITS];
  size_t count;
} table;

static size_t find_unit(uint64_t key) {
  for (size_t i = 0; i < table.count; i++)
    if (table.keys[i] == key)
      return i;
  REQUIRE(table.count < MAX_UNITS, "too many units");
  table.keys[table.count] = key;
  table.probability[table.count] = 1;
  table.expected[table.count] = 0;
  return table.count++;
}

/* All paths of an entry, one after another. */
struct walk {
  const uint16_t *letters, *phones;
  size_t letter_count, num_phones, depth, best_depth;
  size_t units[G2P_MAX_LETTERS], best[G2P_MAX_LETTERS];
  double total, best_score;
  bool counting; /* add path / total to the expected counts */
};

static void end_path(struct walk *w) {
  double probability = 1, score = 0;
  for (size_t i = 0; i < w->depth; i++) {
    uint64_t key = table.keys[w->units[i]];
    bool twice = linnet_g2p_unit_letter(key, 1) != 0 || linnet_g2p_unit_phone(key, 1) != 0;
    probability *= table.probability[w->units[i]];
    score += log(table.probability[w->units[i]]) * (twice ? 2 : 1);
  }
  if (w->counting) {
    for (size_t i = 0; i < w->depth; i++)
      table.expected[w->units[i]] += probability / w->total;
    return;
  }
  w->total += probability;
  if (w->best_depth == 0 || score > w->best_score + 1e-12) {
    w->best_score = score;
    w->best_depth = w->depth;
    memcpy(w->best, w->units, sizeof w->best);
  }
}

static void walk_on(struct walk *w, size_t i, size_t j) {
  static const struct { size_t letters, phones; } shapes[] = {{1, 0}, {1, 1}, {1, 2}, {2, 1}};
  if (i == w->letter_count) {
    if (j == w->num_phones)
      end_path(w);
    return;
  }
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    size_t a = shapes[s].letters, b = shapes[s].phones;
    if (i + a > w->letter_count || j + b > w->num_phones || w->num_phones - j - b > 2 * (w->letter_count - i - a))
      continue;
    uint16_t letters[2] = {w->letters[i], a > 1 ? w->letters[i + 1] : 0};
    uint16_t phones[2] = {b > 0 ? w->phones[j] : 0, b > 1 ? w->phones[j + 1] : 0};
    w->units[w->depth++] = find_unit(linnet_g2p_key(letters, phones));
    walk_on(w, i + a, j + b);
    w->depth--;
  }
}

static struct walk all_paths(const struct g2p_data *data, size_t entry) {
  const struct g2p_entry *e = &data->entries[entry];
  struct walk w = {.letters = data->pool + e->first, .letter_count = e->letters, .num_phones = e->phones};
  w.phones = w.letters + e->letters;
  walk_on(&w, 0, 0);
  return w;
}

static void iterate_by_paths(const struct g2p_data *data) {
  double sum = 0;
  for (size_t n = 0; n < data->count; n++) {
    struct walk w = all_paths(data, n);
    w.counting = true;
    walk_on(&w, 0, 0);
  }
  for (size_t i = 0; i < table.count; i++)
    sum += table.expected[i];
  for (size_t i = 0; i < table.count; i++) {
    table.probability[i] = fmax(table.expected[i] / sum, 1e-12);
    table.expected[i] = 0;
  }
}

/* Random words, so that no alignment is plain. */
static void fill_data(struct g2p_data *data, uint16_t *pool, struct g2p_entry *entries, size_t count, uint64_t seed) {
  struct test_random random = {seed};
  size_t at = 0;
  for (size_t n = 0; n < count; n++) {
    uint16_t letters = (uint16_t)(1 + test_below(&random, 6));
    uint16_t phones = (uint16_t)(1 + test_below(&random, letters < 3 ? 2 * letters : 6));
    entries[n] = (struct g2p_entry){.first = at, .letters = letters, .phones = phones};
    for (size_t i = 0; i < letters; i++)
      pool[at++] = (uint16_t)(1 + test_below(&random, 4));
    for (size_t i = 0; i < phones; i++)
      pool[at++] = (uint16_t)(1 + test_below(&random, 3));
  }
  data->entries = entries;
  data->count = count;
  data->pool = pool;
}

static void test_alignment(struct linnet_context *context, uint64_t seed, unsigned iterations) {
  enum { ENTRIES = 40 };
  static uint16_t pool[ENTRIES * 12];
  static struct g2p_entry entries[ENTRIES];
  struct g2p_data data = {.context = context};
  fill_data(&data, pool, entries, ENTRIES, seed);
  struct g2p_alignments alignments = {NULL, NULL};
  REQUIRE(linnet_g2p_align(&data, iterations, &alignments) == LINNET_OK, "%s", linnet_context_error(context));
  table.count = 0;
  for (unsigned i = 0; i < iterations; i++)
    iterate_by_paths(&data);
  for (size_t n = 0; n < ENTRIES; n++) {
    struct walk w = all_paths(&data, n);
    double score = 0;
    for (size_t i = alignments.begin[n]; i < alignments.begin[n + 1]; i++) {
      uint64_t key = alignments.units[i];
      bool twice = linnet_g2p_unit_letter(key, 1) != 0 || linnet_g2p_unit_phone(key, 1) != 0;
      score += log(table.probability[find_unit(key)]) * (twice ? 2 : 1);
    }
    CHECK(fabs(score - w.best_score) < 1e-6 * fabs(w.best_score) + 1e-9,
          "seed %d, %u iterations, entry %zu: %.9f, the best path %.9f", (int)seed, iterations, n, score, w.best_score);
  }
  linnet_g2p_alignments_clear(context, &alignments);
}

/* --- the search against all sequences of units -------------------------------------------------------------------- */

enum { MAX_FOUND = 20000 };

static struct {
  char phones[64];
  double probability;
} found[MAX_FOUND];
static size_t found_count;

static void add_found(const char *phones, double probability) {
  size_t i = 0;
  while (i < found_count && strcmp(found[i].phones, phones) != 0)
    i++;
  REQUIRE(i < MAX_FOUND, "too many pronunciations");
  if (i == found_count) {
    strcpy(found[found_count].phones, phones);
    found[found_count++].probability = 0;
  }
  found[i].probability += probability;
}

static void all_units(const struct linnet_g2p *g2p, const unsigned *letters, size_t count, uint32_t state, double score,
                      const char *phones) {
  if (count == 0) {
    add_found(phones, exp(score + linnet_ngram_finish(g2p->ngram, state)));
    return;
  }
  for (uint32_t unit = 0; unit < g2p->unit_count; unit++) {
    uint64_t key = g2p->units[unit];
    unsigned second = linnet_g2p_unit_letter(key, 1);
    if (linnet_g2p_unit_letter(key, 0) != letters[0] || (second != 0 && (count < 2 || second != letters[1])))
      continue;
    char more[64];
    uint32_t next = state;
    strcpy(more, phones);
    for (int i = 0; i < 2; i++)
      if (linnet_g2p_unit_phone(key, i) != 0)
        sprintf(more + strlen(more), "%s%s", *more ? " " : "",
                linnet_g2p_phone(g2p, linnet_g2p_unit_phone(key, i) - 1));
    double unit_score = linnet_ngram_score(g2p->ngram, &next, unit);
    size_t taken = second != 0 ? 2 : 1;
    all_units(g2p, letters + taken, count - taken, next, score + unit_score, more);
  }
}

static void list_all(const struct linnet_g2p *g2p, const char *word) {
  unsigned letters[G2P_MAX_LETTERS];
  size_t count = 0;
  char letter[5];
  for (const char *at = word; linnet_g2p_next_letter(&at, letter);)
    letters[count++] = (unsigned)linnet_names_find(&g2p->letters, letter, strlen(letter)) + 1;
  found_count = 0;
  all_units(g2p, letters, count, linnet_ngram_begin(g2p->ngram), 0, "");
}

static double probability_of(const char *phones) {
  for (size_t i = 0; i < found_count; i++)
    if (strcmp(found[i].phones, phones) == 0)
      return found[i].probability;
  return 0;
}

/* The search drops improbable paths, so sums may be slightly too small. */
static void test_search(const struct linnet_g2p *g2p, struct linnet_context *context, const char *word) {
  struct linnet_g2p_result *result;
  REQUIRE(linnet_g2p_pronounce(g2p, context, word, 1000, &result) == LINNET_OK, "%s", linnet_context_error(context));
  list_all(g2p, word);
  double best = 0;
  for (size_t i = 0; i < found_count; i++)
    best = *found[i].phones ? fmax(best, found[i].probability) : best;
  CHECK(linnet_g2p_result_num_pronunciations(result) > 0, "%s: nothing", word);
  for (size_t i = 0; i < linnet_g2p_result_num_pronunciations(result) && i < 5; i++) {
    char phones[128];
    join(result, i, phones);
    double probability = exp(linnet_g2p_result_log_probability(result, i)), expected = probability_of(phones);
    CHECK(fabs(probability / expected - 1) < 0.01, "%s: %s: %.9g, expected %.9g", word, phones, probability, expected);
    CHECK(i > 0 || fabs(probability / best - 1) < 0.01, "%s: %s is not the best: %.9g, best %.9g", word, phones,
          probability, best);
    CHECK(i == 0 || probability <= exp(linnet_g2p_result_log_probability(result, i - 1)), "%s: order", word);
  }
  linnet_g2p_result_destroy(result);
}

static void test_searches(struct linnet_context *context) {
  static const char *const words[] = {"pho", "gat", "taph", "hex", "x", "thin", "tates"};
  struct linnet_g2p *g2p = tiny_model(context);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    test_search(g2p, context, words[i]);
  linnet_g2p_destroy(g2p);
}

/* --- words -------------------------------------------------------------------------------------------------------- */

static void expect(const struct linnet_g2p *g2p, struct linnet_context *context, const char *word, const char *phones,
                   size_t ignored) {
  struct linnet_g2p_result *result;
  char text[128] = "";
  REQUIRE(linnet_g2p_pronounce(g2p, context, word, 1, &result) == LINNET_OK, "%s", linnet_context_error(context));
  if (linnet_g2p_result_num_pronunciations(result) > 0)
    join(result, 0, text);
  CHECK(strcmp(text, phones) == 0, "%s: '%s', expected '%s'", word, text, phones);
  CHECK(linnet_g2p_result_num_ignored(result) == ignored, "%s: %zu letters left out, expected %zu", word,
        linnet_g2p_result_num_ignored(result), ignored);
  double probability = linnet_g2p_result_probability(result, 0);
  CHECK(!*text || (probability > 0 && probability <= 1 + 1e-9), "%s: probability %g", word, probability);
  linnet_g2p_result_destroy(result);
}

static void test_words(struct linnet_context *context) {
  struct linnet_g2p *g2p = tiny_model(context);
  for (size_t i = 0; i < G2P_WORD_COUNT; i++)
    expect(g2p, context, G2P_WORDS[i].word, G2P_WORDS[i].phones, 0);
  expect(g2p, context, "TAPE", "T EY P", 0);
  expect(g2p, context, "t\xC3\xA4p\xC3\xA9", "T EY P", 0); /* a with two dots, e with an accent */
  expect(g2p, context, "it\xE2\x80\x99s", "IH T S", 0);    /* a curly apostrophe */
  expect(g2p, context, "tap3", "T AE P", 1);
  expect(g2p, context, "1999", "", 4);
  expect(g2p, context, "\xFF\xC3", "", 2); /* no UTF-8 */
  expect(g2p, context, "'", "", 1);        /* no word */
  expect(g2p, context, "\xE2\x80\x99-", "", 2);
  expect(g2p, context, "", "", 0);
  linnet_g2p_destroy(g2p);
}

static void test_limits(struct linnet_context *context) {
  struct linnet_g2p *g2p = tiny_model(context);
  struct linnet_g2p_result *result;
  char word[G2P_MAX_LETTERS + 2];
  memset(word, 'x', sizeof word);
  word[G2P_MAX_LETTERS] = '\0';
  REQUIRE(linnet_g2p_pronounce(g2p, context, word, 3, &result) == LINNET_OK, "%s", linnet_context_error(context));
  size_t count;
  CHECK(linnet_g2p_result_phones(result, 0, &count) && count <= 2 * G2P_MAX_LETTERS, "%zu phones", count);
  CHECK(!linnet_g2p_result_phones(result, 3, &count) && count == 0, "a fourth of three");
  CHECK(linnet_g2p_result_probability(result, 3) == 0, "probability of nothing");
  linnet_g2p_result_destroy(result);
  word[G2P_MAX_LETTERS] = 'x';
  word[G2P_MAX_LETTERS + 1] = '\0';
  CHECK(linnet_g2p_pronounce(g2p, context, word, 3, &result) == LINNET_ERROR_LIMIT && !result, "too many letters");
  CHECK(linnet_g2p_pronounce(g2p, context, "x", 0, &result) == LINNET_ERROR_ARGUMENT, "none");
  CHECK(linnet_g2p_pronounce(g2p, context, "x", 1001, &result) == LINNET_ERROR_ARGUMENT, "1001");
  CHECK(linnet_g2p_pronounce(g2p, context, NULL, 1, &result) == LINNET_ERROR_ARGUMENT, "no word");
  linnet_g2p_destroy(g2p);
}

/* In a model of one word, a letter that training saw only together with another one has no unit alone. */
static void test_letter_without_unit(struct linnet_context *context) {
  struct linnet_g2p_trainer *trainer;
  struct linnet_g2p *g2p;
  struct linnet_g2p_settings settings;
  linnet_g2p_settings_default(&settings);
  settings.order = 2;
  REQUIRE(linnet_g2p_trainer_create(context, &settings, &trainer) == LINNET_OK, "%s", linnet_context_error(context));
  for (int i = 0; i < 20; i++)
    REQUIRE(g2p_add_word(trainer, "quq", "K") == LINNET_OK && g2p_add_word(trainer, "a", "AH") == LINNET_OK, "%s",
            linnet_context_error(context));
  CHECK(g2p_add_word(trainer, "w", "D AH B") == LINNET_OK && linnet_g2p_trainer_num_omitted(trainer) == 1, "omitted");
  CHECK(linnet_g2p_trainer_add(trainer, "a", (const char *[]){"A B"}, 1) == LINNET_ERROR_FORMAT, "white space");
  CHECK(linnet_g2p_trainer_num_pronunciations(trainer) == 40, "count");
  REQUIRE(linnet_g2p_trainer_finish(trainer, &g2p) == LINNET_OK, "%s", linnet_context_error(context));
  struct linnet_g2p *again;
  CHECK(linnet_g2p_trainer_finish(trainer, &again) == LINNET_ERROR_STATE && !again, "finished twice");
  linnet_g2p_trainer_destroy(trainer);
  for (const char *const *word = (const char *const[]){"uaq", "aqu", "ua", "qqq", NULL}; *word; word++) {
    struct linnet_g2p_result *result;
    CHECK(linnet_g2p_pronounce(g2p, context, *word, 10, &result) == LINNET_OK, "%s", linnet_context_error(context));
    linnet_g2p_result_destroy(result);
  }
  linnet_g2p_destroy(g2p);
}

static void test_settings(struct linnet_context *context) {
  static const struct linnet_g2p_settings bad[] = {
      {.size = 1, .order = 8, .num_iterations = 10},
      {.size = sizeof *bad, .order = 9, .num_iterations = 10},
      {.size = sizeof *bad, .order = 0, .num_iterations = 10},
      {.size = sizeof *bad, .order = 8, .num_iterations = 0},
      {.size = sizeof *bad, .order = 8, .num_iterations = 10, .prune = NAN}};
  struct linnet_g2p_trainer *trainer;
  struct linnet_g2p *g2p;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(linnet_g2p_trainer_create(context, &bad[i], &trainer) == LINNET_ERROR_ARGUMENT && !trainer, "%zu", i);
  REQUIRE(linnet_g2p_trainer_create(context, NULL, &trainer) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_g2p_trainer_finish(trainer, &g2p) == LINNET_ERROR_FORMAT && !g2p, "no words");
  linnet_g2p_trainer_destroy(trainer);
  linnet_g2p_trainer_destroy(NULL);
  linnet_g2p_result_destroy(NULL);
  linnet_g2p_destroy(NULL);
}

/* --- threads and memory ------------------------------------------------------------------------------------------- */

struct job {
  const struct linnet_g2p *g2p;
  struct linnet_context *context;
  size_t wrong;
};

static void *pronounce_all(void *user) {
  struct job *job = user;
  for (size_t n = 0; n < 20 * G2P_WORD_COUNT; n++) {
    struct linnet_g2p_result *result = NULL;
    char phones[128] = "";
    if (linnet_g2p_pronounce(job->g2p, job->context, G2P_WORDS[n % G2P_WORD_COUNT].word, 2, &result) == LINNET_OK)
      join(result, 0, phones);
    job->wrong += strcmp(phones, G2P_WORDS[n % G2P_WORD_COUNT].phones) != 0;
    linnet_g2p_result_destroy(result);
  }
  return NULL;
}

static void test_threads(struct linnet_context *context) {
  enum { THREADS = 4 };
  struct linnet_g2p *g2p = tiny_model(context);
  struct job jobs[THREADS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    jobs[i] = (struct job){.g2p = g2p};
    REQUIRE(linnet_context_share(context, &jobs[i].context) == LINNET_OK, "no context");
    REQUIRE(pthread_create(&threads[i], NULL, pronounce_all, &jobs[i]) == 0, "no thread");
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    CHECK(jobs[i].wrong == 0, "thread %d: %zu wrong", i, jobs[i].wrong);
    linnet_context_destroy(jobs[i].context);
  }
  linnet_g2p_destroy(g2p);
}

static enum linnet_status train_and_pronounce(struct linnet_context *context) {
  struct linnet_g2p *g2p = NULL;
  struct linnet_g2p_result *result = NULL;
  enum linnet_status status = g2p_train_words(context, 3, 1e-3, &g2p);
  if (status == LINNET_OK)
    status = linnet_g2p_pronounce(g2p, context, "photo", 10, &result);
  linnet_g2p_result_destroy(result);
  linnet_g2p_destroy(g2p);
  return status;
}

int main(void) {
  struct linnet_context *context = test_context();
  for (uint64_t seed = 1; seed <= 5; seed++)
    for (unsigned iterations = 1; iterations <= 3; iterations++)
      test_alignment(context, seed, iterations);
  test_searches(context);
  test_words(context);
  test_limits(context);
  test_letter_without_unit(context);
  test_settings(context);
  test_threads(context);
  linnet_context_destroy(context);
  torture("g2p", train_and_pronounce);
  return test_result();
}
