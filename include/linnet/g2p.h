/* Pronunciations of words that no lexicon has: a joint-sequence model (Bisani and Ney 2008) of letters and phones.
 *
 *   struct linnet_g2p *g2p;
 *   struct linnet_g2p_result *result;
 *   linnet_g2p_load(context, "english.g2p", &g2p);
 *   linnet_g2p_pronounce(g2p, context, "linnet", 1, &result);
 *   if (linnet_g2p_result_num_pronunciations(result) > 0)
 *     phones = linnet_g2p_result_phones(result, 0, &count);
 *   linnet_g2p_result_destroy(result);
 *
 * A word is divided into units of one or two letters with up to two phones, as "ph" with F. An n-gram model gives each
 * sequence of units a probability. That of a pronunciation is the sum over all ways to divide the word, as far as the
 * search follows them.
 *
 * Letters are Unicode code points in UTF-8. ASCII letters are compared in upper case. A letter that the model does not
 * have is replaced by plain ones (E for an E with an accent); if there are none, as for digits, it is left out and
 * counted (linnet_g2p_result_num_ignored).
 *
 * Threads: a model is immutable and may be used from many threads, each with a context of its own; a result too. A
 * trainer is used from one thread at a time.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_G2P_H
#define LINNET_G2P_H

#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_g2p;

/* --- models ------------------------------------------------------------------------------------------------------ */

/* Reads a file that linnet_g2p_save wrote, or such a file from memory, which may be released afterwards; `name` is for
 * messages. Nothing in it is trusted. The context must outlive the model. */
LINNET_API enum linnet_status linnet_g2p_load(struct linnet_context *context, const char *path,
                                              struct linnet_g2p **g2p);
LINNET_API enum linnet_status linnet_g2p_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                     const char *name, struct linnet_g2p **g2p);

/* Writes the model: little-endian on every machine. */
LINNET_API enum linnet_status linnet_g2p_save(struct linnet_context *context, const struct linnet_g2p *g2p,
                                              const char *path);

/* Destroys the model; NULL is allowed. */
LINNET_API void linnet_g2p_destroy(struct linnet_g2p *g2p);

/* The order of the n-gram model; the numbers of units, and of n-grams of all orders. */
LINNET_API unsigned linnet_g2p_order(const struct linnet_g2p *g2p);
LINNET_API size_t linnet_g2p_num_units(const struct linnet_g2p *g2p);
LINNET_API size_t linnet_g2p_num_ngrams(const struct linnet_g2p *g2p);

/* The number of phones, and a phone by index (NULL out of range), which lives as long as the model. */
LINNET_API size_t linnet_g2p_num_phones(const struct linnet_g2p *g2p);
LINNET_API const char *linnet_g2p_phone(const struct linnet_g2p *g2p, size_t index);

/* --- pronunciations ---------------------------------------------------------------------------------------------- */

struct linnet_g2p_result;

enum { LINNET_G2P_MAX_LETTERS = 64, LINNET_G2P_MAX_NBEST = 1000 };

/* The `nbest` (1 to LINNET_G2P_MAX_NBEST) most probable different pronunciations of a word, fewer if the search finds
 * fewer, none if the model has none of the word's letters. A word of more than LINNET_G2P_MAX_LETTERS letters is
 * LINNET_ERROR_LIMIT. `context` takes the error and the result's memory, and must outlive the result, as must the
 * model. */
LINNET_API enum linnet_status linnet_g2p_pronounce(const struct linnet_g2p *g2p, struct linnet_context *context,
                                                   const char *word, size_t nbest, struct linnet_g2p_result **result);

/* The number of pronunciations, the most probable first. */
LINNET_API size_t linnet_g2p_result_num_pronunciations(const struct linnet_g2p_result *result);

/* The phones of a pronunciation: one at least, and at most two for each letter. They live as long as the result. NULL
 * and 0 out of range. */
LINNET_API const char *const *linnet_g2p_result_phones(const struct linnet_g2p_result *result, size_t index,
                                                       size_t *count);

/* log P(pronunciation, word), the natural logarithm; and the probability of the pronunciation given the word: its share
 * among all that the search ended with. 0 out of range. */
LINNET_API double linnet_g2p_result_log_probability(const struct linnet_g2p_result *result, size_t index);
LINNET_API double linnet_g2p_result_probability(const struct linnet_g2p_result *result, size_t index);

/* How many letters of the word were left out, because the model does not have them. */
LINNET_API size_t linnet_g2p_result_num_ignored(const struct linnet_g2p_result *result);

/* Destroys the result; NULL is allowed. */
LINNET_API void linnet_g2p_result_destroy(struct linnet_g2p_result *result);

/* --- training ---------------------------------------------------------------------------------------------------- */

struct linnet_g2p_trainer;

struct linnet_g2p_settings {
  size_t size;           /* set by ..._default */
  unsigned order;        /* of the n-gram model, 1 to LINNET_NGRAM_MAX_ORDER (ngram.h); default 8 */
  size_t num_iterations; /* of expectation-maximisation, 1 to 100; default 10 */
  double prune; /* n-grams go whose loss raises the relative entropy of the model by less; default 3e-8, 0 keeps all */
};

LINNET_API void linnet_g2p_settings_default(struct linnet_g2p_settings *settings, size_t size);
#define linnet_g2p_settings_default(settings) linnet_g2p_settings_default(settings, sizeof *(settings))

/* `settings` may be NULL. */
LINNET_API enum linnet_status linnet_g2p_trainer_create(struct linnet_context *context,
                                                        const struct linnet_g2p_settings *settings,
                                                        struct linnet_g2p_trainer **trainer);

/* Adds a pronunciation of a word. Words of more than LINNET_G2P_MAX_LETTERS letters, or with more than two phones for
 * each letter ("w" as D AH B AH L Y UW), are left out and counted. */
LINNET_API enum linnet_status linnet_g2p_trainer_add(struct linnet_g2p_trainer *trainer, const char *word,
                                                     const char *const *phones, size_t count);

/* How many pronunciations were added, without those that were left out; how many were left out. */
LINNET_API size_t linnet_g2p_trainer_num_pronunciations(const struct linnet_g2p_trainer *trainer);
LINNET_API size_t linnet_g2p_trainer_num_left_out(const struct linnet_g2p_trainer *trainer);

/* Makes the model of what was added. The same pronunciations in the same order give the same model. The trainer can
 * then only be destroyed. */
LINNET_API enum linnet_status linnet_g2p_trainer_finish(struct linnet_g2p_trainer *trainer, struct linnet_g2p **g2p);

/* Destroys the trainer; NULL is allowed. */
LINNET_API void linnet_g2p_trainer_destroy(struct linnet_g2p_trainer *trainer);

#ifdef __cplusplus
}
#endif
#endif
