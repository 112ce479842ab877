/* Guesses the pronunciations of words that are not in a lexicon, by a joint-sequence model (Bisani and Ney 2008) of
 * letters and phones.
 *
 *   struct linnet_g2p *g2p;
 *   struct linnet_g2p_result *result;
 *   linnet_g2p_load(context, "english.g2p", &g2p);
 *   linnet_g2p_pronounce(g2p, context, "linnet", 1, &result);
 *   if (linnet_g2p_result_num_pronunciations(result) > 0)
 *     phones = linnet_g2p_result_phones(result, 0, &count);
 *   linnet_g2p_result_destroy(result);
 *
 * The model divides a word into units of one or two letters with up to two phones, such as "ph" with F. An n-gram model
 * gives each sequence of units a probability. The probability of a pronunciation is the sum over all divisions of the
 * word that the search considers.
 *
 * Letters are Unicode code points in UTF-8, as capitals (linnet_lexicon_capitals), so their case has no effect. The
 * model replaces a letter that it does not have by plain ones (E for an E with an accent). If there are none, as for
 * digits, it ignores the letter and counts it (linnet_g2p_result_num_ignored).
 *
 * Threads: a model and a result are immutable and may be used from many threads, each with its own context. A trainer
 * is used from one thread at a time.
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

/* Reads a file of linnet_g2p_save, or the bytes of such a file from memory, which may be released afterwards. `name` is
 * for messages. Every value of the file is checked. The context must outlive the model. */
LINNET_API enum linnet_status linnet_g2p_load(struct linnet_context *context, const char *path,
                                              struct linnet_g2p **g2p);
LINNET_API enum linnet_status linnet_g2p_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                     const char *name, struct linnet_g2p **g2p);

/* Writes the model: little-endian on every machine. */
LINNET_API enum linnet_status linnet_g2p_save(struct linnet_context *context, const struct linnet_g2p *g2p,
                                              const char *path);

/* Destroys the model; NULL is allowed. */
LINNET_API void linnet_g2p_destroy(struct linnet_g2p *g2p);

/* The order of the n-gram model, the number of units, and the number of n-grams of all orders. */
LINNET_API unsigned linnet_g2p_order(const struct linnet_g2p *g2p);
LINNET_API size_t linnet_g2p_num_units(const struct linnet_g2p *g2p);
LINNET_API size_t linnet_g2p_num_ngrams(const struct linnet_g2p *g2p);

/* The number of phones, and a phone by index (NULL out of range), which lives as long as the model. */
LINNET_API size_t linnet_g2p_num_phones(const struct linnet_g2p *g2p);
LINNET_API const char *linnet_g2p_phone(const struct linnet_g2p *g2p, size_t index);

/* --- pronunciations ---------------------------------------------------------------------------------------------- */

struct linnet_g2p_result;

enum { LINNET_G2P_MAX_LETTERS = 64, LINNET_G2P_MAX_NBEST = 1000 };

/* Finds the `nbest` (1 to LINNET_G2P_MAX_NBEST) most probable different pronunciations of a word. There may be fewer,
 * and none if the model has none of the letters of the word, or the word is only punctuation. LINNET_ERROR_LIMIT if the
 * word has more than LINNET_G2P_MAX_LETTERS letters. The result uses the memory of `context`, which also gets the error
 * sentence. Context and model must outlive the result. */
LINNET_API enum linnet_status linnet_g2p_pronounce(const struct linnet_g2p *g2p, struct linnet_context *context,
                                                   const char *word, size_t nbest, struct linnet_g2p_result **result);

/* The number of pronunciations, the most probable first. */
LINNET_API size_t linnet_g2p_result_num_pronunciations(const struct linnet_g2p_result *result);

/* The phones of a pronunciation: at least one, and at most two per letter. They live as long as the result. NULL and 0
 * out of range. */
LINNET_API const char *const *linnet_g2p_result_phones(const struct linnet_g2p_result *result, size_t index,
                                                       size_t *count);

/* log P(pronunciation, word), a natural logarithm; and the probability of the pronunciation given the word, normalised
 * over all pronunciations that the search found. 0 out of range. */
LINNET_API double linnet_g2p_result_log_probability(const struct linnet_g2p_result *result, size_t index);
LINNET_API double linnet_g2p_result_probability(const struct linnet_g2p_result *result, size_t index);

/* The number of letters of the word that the model does not have and therefore ignored. */
LINNET_API size_t linnet_g2p_result_num_ignored(const struct linnet_g2p_result *result);

/* Destroys the result; NULL is allowed. */
LINNET_API void linnet_g2p_result_destroy(struct linnet_g2p_result *result);

/* --- training ---------------------------------------------------------------------------------------------------- */

struct linnet_g2p_trainer;

struct linnet_g2p_settings {
  size_t size;           /* set by ..._default */
  unsigned order;        /* of the n-gram model, 1 to LINNET_NGRAM_MAX_ORDER (ngram.h); default 8 */
  size_t num_iterations; /* of expectation-maximisation, 1 to 100; default 10 */
  double prune; /* removes the n-grams whose removal raises the relative entropy of the model by less than this; default
                   3e-8, 0 keeps all */
};

LINNET_API void linnet_g2p_settings_default(struct linnet_g2p_settings *settings, size_t size);
#define linnet_g2p_settings_default(settings) linnet_g2p_settings_default(settings, sizeof *(settings))

/* `settings` may be NULL. */
LINNET_API enum linnet_status linnet_g2p_trainer_create(struct linnet_context *context,
                                                        const struct linnet_g2p_settings *settings,
                                                        struct linnet_g2p_trainer **trainer);

/* Adds a pronunciation of a word. The trainer skips and counts words of more than LINNET_G2P_MAX_LETTERS letters, and
 * words with more than two phones per letter ("w" as D AH B AH L Y UW). */
LINNET_API enum linnet_status linnet_g2p_trainer_add(struct linnet_g2p_trainer *trainer, const char *word,
                                                     const char *const *phones, size_t count);

/* The number of pronunciations that the trainer has, and the number that it skipped. */
LINNET_API size_t linnet_g2p_trainer_num_pronunciations(const struct linnet_g2p_trainer *trainer);
LINNET_API size_t linnet_g2p_trainer_num_omitted(const struct linnet_g2p_trainer *trainer);

/* Trains the model on the pronunciations that were added. The same pronunciations in the same order give the same
 * model. After this call the trainer can only be destroyed. */
LINNET_API enum linnet_status linnet_g2p_trainer_finish(struct linnet_g2p_trainer *trainer, struct linnet_g2p **g2p);

/* Destroys the trainer; NULL is allowed. */
LINNET_API void linnet_g2p_trainer_destroy(struct linnet_g2p_trainer *trainer);

#ifdef __cplusplus
}
#endif
#endif
