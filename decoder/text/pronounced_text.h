/* Internals of a text with pronunciations. */
#ifndef LINNET_PRONOUNCED_TEXT_INTERNAL_H
#define LINNET_PRONOUNCED_TEXT_INTERNAL_H

#include <linnet/pronounced_text.h>

#include "decoder/base/names.h"
#include "decoder/g2p/g2p_demand.h"
#include "decoder/text/text_ways.h"

/* A pronunciation: labels [first, first + count) of a pool of labels. */
struct linnet_label_range {
  size_t first, count;
};

/* A growing array of labels, and the pronunciations in it. */
struct linnet_label_pool {
  int *labels;
  struct linnet_label_range *ranges;
  size_t label_count, label_capacity, range_count, range_capacity;
};

/* Written words are `words`. Those with pronunciations are `aligned`, with the indices of their words in `index`. The
 * variants of all of them follow one another; `spoken` has their words. */
struct linnet_pronounced_text {
  struct linnet_context *context;
  char *buffer;  /* tokens, each with a NUL */
  char *written; /* words with the tokens beside them that are not said, each with a NUL */
  struct linnet_written_word *words;
  struct linnet_align_word *aligned;
  size_t *index;
  struct linnet_pronunciation *variants;
  const char **spoken;
  struct linnet_label_pool pool;
  struct linnet_names strings;
  size_t num_words, aligned_count, spoken_capacity;
};

/* Words that were guessed: their pronunciations are ranges [first, first + count) of `pool`. */
struct linnet_guess {
  size_t first, count;
};

struct linnet_pronouncer {
  struct linnet_context *context;
  const struct linnet_pronounced_text_settings *settings;
  struct linnet_g2p_demand *g2p; /* if the settings have none; may be NULL */
  struct linnet_pronounced_text *text;
  struct linnet_text_speaker speaker;
  struct linnet_names guessed; /* words; `guesses` are theirs */
  struct linnet_guess *guesses;
  size_t guess_capacity;
  struct linnet_label_pool pool;
};

/* linnet_pronounced_text_create. If the settings have no g2p, `g2p` (may be NULL) is loaded when a word needs it. */
enum linnet_status linnet_pronounced_text_open(struct linnet_context *context, const char *text, const char *name,
                                               const struct linnet_pronounced_text_settings *settings,
                                               struct linnet_g2p_demand *g2p, struct linnet_pronounced_text **result);

/* Adds a pronunciation: the labels from `first` to the end of the pool. */
enum linnet_status linnet_label_pool_close(struct linnet_context *context, struct linnet_label_pool *pool,
                                           size_t first);
enum linnet_status linnet_label_pool_put(struct linnet_context *context, struct linnet_label_pool *pool,
                                         const int *labels, size_t count);
void linnet_label_pool_clear(struct linnet_context *context, struct linnet_label_pool *pool);

/* Finds the pronunciations of a written word, which has the token `next` after it (NULL: none): appends them to the
 * text's pool, and to the text's aligned words if there are any; sets its source. *silent: the word is punctuation. */
enum linnet_status linnet_pronounce_word(struct linnet_pronouncer *p, struct linnet_written_word *word,
                                         const char *next, bool *silent);

/* Where an aligned word is. */
struct linnet_word_time {
  size_t word; /* index among those of linnet_pronounced_text_align_words */
  double start, end;
};

/* Gives each written word its times, as linnet_pronounced_text_word_times does, from those of aligned words
 * (num_words), which are in order. `length` is that of the recording. A word without a pronunciation gets at least
 * `least`, unless its neighbours have less than that to give. Returns the number of words. */
size_t linnet_time_written_words(const struct linnet_pronounced_text *text, const struct linnet_word_time *words,
                                 size_t num_words, double length, double least, struct linnet_timed_word *timed,
                                 size_t capacity);

#endif
