/* The search for words with a beam for all states, compared with the definition: all alignments of all phone
 * sequences, and all ways to read these as words, silences between them and unknown words. */
#include <math.h>

#include "word_cases.h"

enum { MAX_FRAMES = 5, MAX_TOKENS = 8, SEQUENCES = 32768, HOTWORDS = 3 };

/* A word sequence by its number in base MAX_TOKENS, most significant first, with no zeros: 0 is the empty one. */
struct sequence {
  double sum, best; /* probabilities: of all paths and readings, of the best one */
  unsigned token[MAX_FRAMES];
  size_t count;
};

struct hotword {
  unsigned token[3];
  size_t count;
  double weight;
};

struct problem {
  uint64_t seed;
  struct word_case words;
  size_t frames, symbols, tokens;
  float rows[MAX_FRAMES * CASE_SYMBOLS];
  float lookahead[MAX_TOKENS];
  const struct bigram *bigram;
  struct hotword hotwords[HOTWORDS];
  size_t hotword_count;
  struct linnet_word_search_settings settings;
  struct sequence all[SEQUENCES];
};

/* A phone sequence while it is read. */
struct reading {
  struct problem *problem;
  const int *phones;
  size_t count;
  unsigned token[MAX_FRAMES];
};

static void read_from(struct reading *r, size_t at, size_t words, double probability);

static bool is_silence(const struct problem *p, int symbol) {
  return p->settings.num_silences > 0 && symbol == CASE_SILENCE;
}

/* The factor of a pronunciation. */
static double pronunciation_probability(const struct problem *p, size_t word, size_t variant) {
  return pow((double)linnet_lexicon_probability(p->words.lexicon, word, variant),
             (double)p->settings.pronunciation_weight);
}

static void read_lexicon(struct reading *r, size_t at, size_t words, double probability) {
  const struct linnet_lexicon *lexicon = r->problem->words.lexicon;
  for (size_t w = 0; w < linnet_lexicon_num_words(lexicon); w++)
    for (size_t v = 0; v < linnet_lexicon_num_variants(lexicon, w); v++) {
      size_t length;
      const int *labels = linnet_lexicon_pronunciation(lexicon, w, v, &length);
      r->token[words] = (unsigned)w + 1;
      if (r->problem->lookahead[w + 1] > -INFINITY && at + length <= r->count &&
          memcmp(labels, r->phones + at, length * sizeof *labels) == 0)
        read_from(r, at + length, words + 1, probability * pronunciation_probability(r->problem, w, v));
    }
}

static void read_unknown(struct reading *r, size_t at, size_t words, double probability) {
  const struct problem *p = r->problem;
  for (; at < r->count && !is_silence(p, r->phones[at]) && p->settings.unknown_penalty < INFINITY; at++) {
    probability *= exp(-(double)p->settings.unknown_penalty);
    r->token[words] = (unsigned)p->tokens - 1;
    read_from(r, at + 1, words + 1, probability);
  }
}

static void read_from(struct reading *r, size_t at, size_t words, double probability) {
  if (at == r->count) {
    size_t number = 0;
    for (size_t i = 0; i < words; i++)
      number = number * MAX_TOKENS + r->token[i];
    struct sequence *s = &r->problem->all[number];
    s->sum += probability;
    s->best = fmax(s->best, probability);
    s->count = words;
    memcpy(s->token, r->token, words * sizeof *r->token);
    return;
  }
  if (is_silence(r->problem, r->phones[at]))
    read_from(r, at + 1, words, probability);
  read_lexicon(r, at, words, probability);
  read_unknown(r, at, words, probability);
}

static void add_path(struct problem *p, const int *path) {
  int phones[MAX_FRAMES], previous = 0;
  size_t count = 0;
  double probability = 1;
  for (size_t t = 0; t < p->frames; t++) {
    probability *= exp((double)p->rows[t * p->symbols + (size_t)path[t]]);
    if (path[t] != 0 && path[t] != previous)
      phones[count++] = path[t];
    previous = path[t];
  }
  struct reading r = {.problem = p, .phones = phones, .count = count};
  read_from(&r, 0, 0, probability);
}

static void add_all_paths(struct problem *p) {
  int path[MAX_FRAMES] = {0};
  for (size_t t = 0; t < p->frames || p->frames == 0;) {
    add_path(p, path);
    for (t = 0; t < p->frames && ++path[t] == (int)p->symbols; t++)
      path[t] = 0;
    if (t == p->frames)
      return;
  }
}

/* --- scores ------------------------------------------------------------------------------------------------------- */

static double language_of(const struct problem *p, const struct sequence *s) {
  int labels[MAX_FRAMES];
  for (size_t i = 0; i < s->count; i++)
    labels[i] = (int)s->token[i];
  return p->bigram ? bigram_language(p->bigram, labels, s->count, true) : 0;
}

static double hotwords_of(const struct problem *p, const struct sequence *s) {
  double sum = 0;
  for (size_t h = 0; h < p->hotword_count; h++)
    for (size_t i = 0; i + p->hotwords[h].count <= s->count; i++)
      if (memcmp(s->token + i, p->hotwords[h].token, p->hotwords[h].count * sizeof *s->token) == 0)
        sum += p->hotwords[h].weight;
  return sum;
}

static double unknown_of(const struct problem *p, const struct sequence *s) {
  double sum = 0;
  for (size_t i = 0; i < s->count; i++)
    sum += s->token[i] == p->tokens - 1 ? (double)p->settings.unknown_bonus : 0;
  return sum;
}

static double score_of(const struct problem *p, const struct sequence *s) {
  double language = p->bigram ? (double)p->settings.model_weight * language_of(p, s) : 0;
  return log(s->sum) + language + (double)p->settings.word_bonus * (double)s->count + hotwords_of(p, s) +
         unknown_of(p, s);
}

static size_t count_possible(const struct problem *p) {
  size_t count = 0;
  for (size_t i = 0; i < SEQUENCES; i++)
    count += p->all[i].sum > 0 && language_of(p, &p->all[i]) > -INFINITY;
  return count;
}

/* --- the results of the search ------------------------------------------------------------------------------------ */

/* The probability of the pronunciation that was found for a word; 0 if the word has no such pronunciation. */
static double spelled(const struct problem *p, const struct linnet_word_hypothesis *h,
                      const struct linnet_recognised_word *word) {
  const struct linnet_lexicon *lexicon = p->words.lexicon;
  for (size_t v = 0; v < linnet_lexicon_num_variants(lexicon, word->token - 1); v++) {
    size_t count, same = 0;
    const int *labels = linnet_lexicon_pronunciation(lexicon, word->token - 1, v, &count);
    while (same < count && same < word->num_phones && labels[same] == h->segments[word->first + same].symbol)
      same++;
    if (same == count && same == word->num_phones)
      return pronunciation_probability(p, word->token - 1, v);
  }
  return 0;
}

/* Checks that words have the phones of a pronunciation, with silences between them; returns the penalties of unknown
 * words and of pronunciations. */
static double check_words(const struct problem *p, const struct linnet_word_hypothesis *h) {
  size_t at = 0;
  double penalty = 0;
  for (size_t i = 0; i <= h->num_words; i++) {
    const struct linnet_recognised_word *word = &h->words[i];
    for (; at < (i < h->num_words ? word->first : h->num_segments); at++)
      CHECK(is_silence(p, h->segments[at].symbol), "seed %llu: segment %zu outside words", (unsigned long long)p->seed,
            at);
    if (i == h->num_words)
      break;
    bool unknown = word->token == p->tokens - 1;
    double probability = unknown ? 1 : spelled(p, h, word);
    CHECK(probability > 0, "seed %llu: word %zu has other phones", (unsigned long long)p->seed, i);
    CHECK(word->start == h->segments[at].start && word->end == h->segments[at + word->num_phones - 1].end,
          "seed %llu: times of word %zu", (unsigned long long)p->seed, i);
    penalty += unknown ? (double)p->settings.unknown_penalty * (double)word->num_phones : -log(probability);
    at += word->num_phones;
  }
  return penalty;
}

static void check_hypothesis(const struct problem *p, const struct linnet_word_hypothesis *h) {
  const struct linnet_hypothesis phones = {.segments = h->segments, .num_segments = h->num_segments};
  size_t number = 0;
  for (size_t i = 0; i < h->num_words; i++)
    number = number * MAX_TOKENS + h->words[i].token;
  REQUIRE(number < SEQUENCES && h->complete, "seed %llu", (unsigned long long)p->seed);
  const struct sequence *s = &p->all[number];
  CHECK(beam_error(h->acoustic, log(s->sum)) < 1e-11, "seed %llu: acoustic %.15g, expected %.15g",
        (unsigned long long)p->seed, h->acoustic, log(s->sum));
  CHECK(beam_error(h->score, score_of(p, s)) < 1e-6 && beam_error(h->language, language_of(p, s)) < 1e-6,
        "seed %llu: score %.15g and language %.15g, expected %.15g and %.15g", (unsigned long long)p->seed, h->score,
        h->language, score_of(p, s), language_of(p, s));
  check_segments(&phones, p->rows, p->frames, p->symbols, p->seed);
  double path = log(path_probability(h->segments, h->num_segments, p->rows, p->frames, p->symbols)) - check_words(p, h);
  CHECK(beam_error(path, log(s->best)) < 1e-9, "seed %llu: alignment of log %.9g, the best has %.9g",
        (unsigned long long)p->seed, path, log(s->best));
}

static void check_problem(struct linnet_context *context, struct problem *p) {
  struct linnet_word_search *search;
  double last = INFINITY;
  size_t expected = count_possible(p);
  REQUIRE(linnet_word_search_create(context, p->words.lexicon, (int)p->symbols, &p->settings, &search) == LINNET_OK,
          "%s", linnet_context_error(context));
  REQUIRE(linnet_word_search_accept(search, p->rows, p->frames) == LINNET_OK &&
              linnet_word_search_finish(search) == LINNET_OK,
          "%s", linnet_context_error(context));
  size_t count = linnet_word_search_num_hypotheses(search);
  CHECK(expected == 0 || count == expected, "seed %llu: %zu hypotheses, expected %zu", (unsigned long long)p->seed,
        count, expected);
  for (size_t i = 0; i < count && expected > 0; i++) {
    struct linnet_word_hypothesis h;
    REQUIRE(linnet_word_search_hypothesis(search, i, &h) == LINNET_OK, "%s", linnet_context_error(context));
    check_hypothesis(p, &h);
    CHECK(h.score <= last, "seed %llu: hypothesis %zu of score %g after %g", (unsigned long long)p->seed, i, h.score,
          last);
    last = h.score;
  }
  linnet_word_search_destroy(search);
}

/* --- problems ----------------------------------------------------------------------------------------------------- */

/* Overlapping phrases of one to three words, without duplicates. */
static struct linnet_hotwords *make_hotwords(struct linnet_context *context, struct problem *p, struct test_random *r) {
  struct linnet_hotwords *hotwords;
  char text[256] = "# phrases\n";
  size_t at = strlen(text), words = linnet_lexicon_num_words(p->words.lexicon);
  for (size_t h = 0; h < HOTWORDS; h++) {
    struct hotword *hotword = &p->hotwords[h];
    hotword->count = h + 1;
    hotword->weight = (double)test_below(r, 9) - 3;
    for (size_t i = 0; i <= h; i++) {
      hotword->token[i] = (unsigned)(1 + test_below(r, words));
      at += (size_t)snprintf(text + at, sizeof text - at, "w%u ", hotword->token[i] - 1);
    }
    at += (size_t)snprintf(text + at, sizeof text - at, "%g\n", hotword->weight);
  }
  p->hotword_count = HOTWORDS;
  REQUIRE(linnet_hotwords_load_memory(context, text, at, "hotwords", p->words.lexicon, &hotwords) == LINNET_OK, "%s",
          linnet_context_error(context));
  return hotwords;
}

static void make_problem(struct problem *p, struct linnet_context *context, uint64_t seed) {
  static const int silence = CASE_SILENCE;
  struct test_random r = {seed};
  *p = (struct problem){.seed = seed, .frames = test_below(&r, MAX_FRAMES + 1), .symbols = CASE_SYMBOLS};
  p->words.probable = seed % 4 == 1;
  make_word_case(&p->words, context, &r, 1 + test_below(&r, 3));
  p->tokens = linnet_lexicon_num_words(p->words.lexicon) + 2;
  fill_posteriors(&r, p->rows, p->frames, p->symbols, seed % 3 == 0 ? 12 : 2);
  for (size_t i = 0; i < p->frames * p->symbols && seed % 5 == 0; i++)
    if (i % p->symbols != 0 && test_below(&r, 6) == 0)
      p->rows[i] = -INFINITY;
  linnet_word_search_settings_default(&p->settings);
  p->settings.beam = 20000;
  p->settings.recombine = 0;
  p->settings.silences = &silence;
  p->settings.num_silences = test_below(&r, 2);
  p->settings.unknown_penalty = test_below(&r, 2) ? 0.7f : INFINITY;
  p->settings.word_bonus = 0.4f;
  p->settings.unknown_bonus = seed % 6 == 0 ? (float)(seed / 6 % 26) - 5 : 0;
  p->settings.pronunciation_weight = seed % 16 == 1 ? 0 : 0.6f;
  for (size_t i = 0; i < p->tokens; i++)
    p->lookahead[i] = test_below(&r, 9) == 0 && i + 1 < p->tokens ? -INFINITY : (float)(4 * test_uniform(&r) - 4);
  p->settings.lookahead = p->lookahead;
}

static void run_problem(struct linnet_context *context, struct problem *p, uint64_t seed) {
  struct test_random r = {seed + 1000};
  struct bigram bigram;
  struct linnet_hotwords *hotwords = NULL;
  fill_bigram(&r, &bigram);
  struct linnet_language_model model = word_bigram(&bigram);
  make_problem(p, context, seed);
  if (seed % 2) {
    p->bigram = &bigram;
    p->settings.model = &model;
    p->settings.model_weight = 0.7f;
  }
  if (seed % 7 < 3)
    p->settings.hotwords = hotwords = make_hotwords(context, p, &r);
  add_all_paths(p);
  check_problem(context, p);
  linnet_hotwords_destroy(hotwords);
  release_word_case(&p->words);
}

int main(void) {
  static struct problem problem;
  struct linnet_context *context = test_context();
  for (uint64_t seed = 0; seed < 1000 / TEST_SHARE; seed++)
    run_problem(context, &problem, seed);
  linnet_context_destroy(context);
  return test_result();
}
