/* The pronunciations of one written word: those of all ways to say it. */
#include <assert.h>
#include <string.h>

#include "decoder/base/text_file.h"
#include "decoder/g2p/g2p.h"
#include "decoder/text/pronounced_text.h"

/* Maximum number of combinations of pronunciations of several words. */
enum { COMBINATIONS = 8, MAX_WORDS = LINNET_SPOKEN_MAX_BYTES / 2 };

/* A spoken word, from the lexicon or guessed. */
struct spoken_word {
  size_t entry, guess; /* index in the lexicon, index of the guess; LINNET_NOT_FOUND: it has none */
  size_t variants;     /* number of variants in use */
};

/* --- guesses ------------------------------------------------------------------------------------------------------ */

static const struct linnet_symbols *phones_of(const struct linnet_pronouncer *p) {
  return p->settings->phones ? p->settings->phones : linnet_lexicon_phones(p->settings->lexicon);
}

static enum linnet_status put_guess(void *user, const int *labels, size_t count, double probability) {
  struct linnet_pronouncer *p = user;
  size_t first = p->pool.label_count;
  (void)probability;
  LINNET_TRY(linnet_label_pool_put(p->context, &p->pool, labels, count));
  return linnet_label_pool_close(p->context, &p->pool, first);
}

/* The index of the guess of a word; each word is guessed once. */
static enum linnet_status guess(struct linnet_pronouncer *p, const char *word, size_t *index) {
  bool fresh;
  LINNET_TRY(linnet_names_add(&p->guessed, word, strlen(word), index, &fresh));
  if (!fresh)
    return LINNET_OK;
  void *grown = linnet_grow(p->context, p->guesses, &p->guess_capacity, p->guessed.count, sizeof *p->guesses);
  if (!grown)
    return linnet_fail(p->context, LINNET_ERROR_MEMORY, "out of memory for %zu guesses", p->guessed.count);
  p->guesses = grown;
  p->guesses[*index] = (struct linnet_guess){p->pool.range_count, 0};
  const struct linnet_g2p *g2p = p->settings->g2p;
  if (!g2p)
    LINNET_TRY(linnet_g2p_demand_model(p->g2p, p->context, &g2p));
  LINNET_TRY(linnet_g2p_guess(g2p, p->context, word, phones_of(p), put_guess, p));
  p->guesses[*index].count = p->pool.range_count - p->guesses[*index].first;
  return LINNET_OK;
}

/* --- one way ------------------------------------------------------------------------------------------------------ */

static enum linnet_status find_word(struct linnet_pronouncer *p, const char *text, struct spoken_word *word) {
  const struct linnet_lexicon *lexicon = p->settings->lexicon;
  *word = (struct spoken_word){LINNET_NOT_FOUND, LINNET_NOT_FOUND, 0};
  if (lexicon)
    word->entry = linnet_lexicon_find(lexicon, text);
  if (word->entry != LINNET_NOT_FOUND) {
    word->variants = linnet_lexicon_num_variants(lexicon, word->entry);
  } else if (p->settings->g2p || p->g2p) {
    LINNET_TRY(guess(p, text, &word->guess));
    word->variants = p->guesses[word->guess].count;
  }
  return LINNET_OK;
}

/* The spoken words of a way; *count is 0 if one has no pronunciation. */
static enum linnet_status find_words(struct linnet_pronouncer *p, const char *way, struct spoken_word *words,
                                     size_t *count) {
  char text[LINNET_SPOKEN_MAX_BYTES];
  *count = 0;
  while (linnet_text_next_word(&way, text)) {
    LINNET_TRY(find_word(p, text, &words[*count]));
    if (words[*count].variants == 0) {
      *count = 0;
      return LINNET_OK;
    }
    ++*count;
  }
  return LINNET_OK;
}

/* Limits the variants of words so that there are at most `limit` combinations; returns their number. */
static size_t limit_combinations(struct spoken_word *words, size_t count, size_t limit) {
  size_t combinations = 1;
  for (size_t i = 0; i < count; i++) {
    assert(combinations > 0 && combinations <= limit);
    size_t maximum = limit / combinations;
    words[i].variants = words[i].variants < maximum ? words[i].variants : maximum;
    combinations *= words[i].variants;
  }
  return combinations;
}

static const int *variant_of(const struct linnet_pronouncer *p, const struct spoken_word *word, size_t variant,
                             size_t *count) {
  if (word->guess == LINNET_NOT_FOUND)
    return linnet_lexicon_pronunciation(p->settings->lexicon, word->entry, variant, count);
  const struct linnet_label_range *range = &p->pool.ranges[p->guesses[word->guess].first + variant];
  *count = range->count;
  return p->pool.labels + range->first;
}

/* Adds combination `number` of the words' variants as a variant of the text; the variant of the first word changes
 * slowest. */
static enum linnet_status put_combination(struct linnet_pronouncer *p, const struct spoken_word *words, size_t count,
                                          size_t combinations, size_t number) {
  struct linnet_label_pool *pool = &p->text->pool;
  size_t first = pool->label_count;
  for (size_t i = 0; i < count; i++) {
    size_t labels;
    combinations /= words[i].variants;
    const int *variant = variant_of(p, &words[i], number / combinations % words[i].variants, &labels);
    LINNET_TRY(linnet_label_pool_put(p->context, pool, variant, labels));
  }
  return linnet_label_pool_close(p->context, pool, first);
}

static enum linnet_status note_spoken(struct linnet_pronouncer *p, const char *way) {
  struct linnet_pronounced_text *text = p->text;
  size_t index;
  LINNET_TRY(linnet_names_add(&text->strings, way, strlen(way), &index, NULL));
  void *grown = linnet_grow(p->context, (void *)text->spoken, &text->spoken_capacity, text->pool.range_count,
                            sizeof *text->spoken);
  if (!grown)
    return linnet_fail(p->context, LINNET_ERROR_MEMORY, "out of memory for the words of a text");
  text->spoken = grown;
  text->spoken[text->pool.range_count - 1] = linnet_names_text(&text->strings, index);
  return LINNET_OK;
}

/* Adds at most `left` pronunciations of a spoken form; none if one of its words has none. */
static enum linnet_status put_way(struct linnet_pronouncer *p, const char *way, size_t left) {
  struct spoken_word words[MAX_WORDS];
  size_t count;
  LINNET_TRY(find_words(p, way, words, &count));
  if (count == 0 || left == 0)
    return LINNET_OK;
  size_t limit = count == 1 || left < COMBINATIONS ? left : COMBINATIONS;
  size_t combinations = limit_combinations(words, count, limit);
  for (size_t i = 0; i < combinations; i++) {
    LINNET_TRY(put_combination(p, words, count, combinations, i));
    LINNET_TRY(note_spoken(p, way));
  }
  return LINNET_OK;
}

/* --- all ways ----------------------------------------------------------------------------------------------------- */

/* Whether a spoken form is used: the known ones and a guess of the word as a whole; all forms, if none is known. */
static bool takes_part(const struct linnet_text_ways *ways, size_t known, size_t way) {
  return known == 0 || ways->way[way].known || !strchr(ways->way[way].words, ' ');
}

static enum linnet_status note_missing(struct linnet_pronouncer *p, const struct linnet_text_ways *ways,
                                       struct linnet_written_word *word) {
  struct linnet_text_way missing = {.bytes = 0};
  char text[LINNET_SPOKEN_MAX_BYTES];
  for (const char *at = ways->count > 0 ? ways->way[0].words : ""; linnet_text_next_word(&at, text);) {
    struct spoken_word found;
    LINNET_TRY(find_word(p, text, &found));
    if (found.variants == 0)
      linnet_text_put(&missing, text, strlen(text));
  }
  const char *words = missing.bytes > 0 ? missing.words : word->text;
  size_t index;
  LINNET_TRY(linnet_names_add(&p->text->strings, words, strlen(words), &index, NULL));
  word->source = LINNET_WORD_UNKNOWN;
  word->missing = linnet_names_text(&p->text->strings, index);
  return LINNET_OK;
}

enum linnet_status linnet_pronounce_word(struct linnet_pronouncer *p, struct linnet_written_word *word,
                                         const char *next, bool *silent) {
  struct linnet_pronounced_text *text = p->text;
  struct linnet_text_ways ways = {.count = 0};
  bool sayable = linnet_text_speak(&p->speaker, word->text, &ways);
  if (ways.count > 0 && text->num_words > 0)
    linnet_text_speak_pair(&p->speaker, word[-1].text, word->text, LINNET_TEXT_AFTER, &ways);
  if (ways.count > 0 && next)
    linnet_text_speak_pair(&p->speaker, word->text, next, LINNET_TEXT_BEFORE, &ways);
  size_t known = linnet_text_ways_sort(&ways), before = text->pool.range_count;
  *silent = sayable && ways.count == 0;
  for (size_t i = 0; i < ways.count; i++)
    if (takes_part(&ways, known, i))
      LINNET_TRY(put_way(p, ways.way[i].words, LINNET_ALIGN_MAX_VARIANTS - (text->pool.range_count - before)));
  size_t variants = text->pool.range_count - before;
  if (variants == 0)
    return *silent ? LINNET_OK : note_missing(p, &ways, word);
  word->source = known > 0 ? LINNET_WORD_KNOWN : LINNET_WORD_GUESSED;
  text->index[text->aligned_count] = text->num_words;
  text->aligned[text->aligned_count++].num_variants = variants;
  return LINNET_OK;
}
