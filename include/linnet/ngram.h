/* n-gram language models of order 1 to 8: reads them from ARPA files (plain or gzip), estimates them from text, stores
 * them in a binary form that is mapped into memory, and computes probabilities.
 *
 *   struct linnet_ngram *ngram;
 *   linnet_ngram_load(context, "words.arpa.gz", &ngram);
 *   uint32_t state = linnet_ngram_begin(ngram);
 *   for (size_t i = 0; i < count; i++)
 *     total += linnet_ngram_score(ngram, &state, linnet_ngram_find(ngram, words[i]));
 *   total += linnet_ngram_finish(ngram, state);
 *
 * Probabilities are natural logarithms everywhere except in ARPA files, which have decimal ones. Backing off follows
 * ARPA: log P(w | c) is the value of the n-gram "c w" if the model has it; otherwise it is the back-off weight of c (0
 * if the model does not have c) plus log P(w | c without its first word).
 *
 * A state is the number of a context: of the longest suffix of the history that some n-gram of the model continues, or
 * that has a back-off weight other than 0. Histories with the same predictions have the same state. 0 is the empty
 * context.
 *
 * Threads: a model and a binding are immutable and may be used from many threads. Functions that take a context need a
 * handle per thread (linnet_context_share).
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_NGRAM_H
#define LINNET_NGRAM_H

#include <stdint.h>

#include <linnet/language_model.h>
#include <linnet/lexicon.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LINNET_NGRAM_MAX_ORDER = 8 };

struct linnet_ngram;

/* --- files ------------------------------------------------------------------------------------------------------ */

/* Reads an ARPA file, plain or gzip, or a binary file; the first bytes determine which. A binary file is mapped, so it
 * must be a regular file, not compressed, and must not change during the life of the model. (linnet_ngram_save_binary
 * replaces a file and is safe.)
 *
 * ARPA: every context of an n-gram (all words but the last) must be an n-gram itself; its suffix (all words but the
 * first) may be missing, as in pruned models. "-inf" is probability 0. Positive log probabilities, NaN, repeated
 * n-grams, and counts that differ from the header are errors that name the line. CRLF is allowed. At most 2^31 n-grams,
 * 4 GiB of words, lines of 64 KiB. */
LINNET_API enum linnet_status linnet_ngram_load(struct linnet_context *context, const char *path,
                                                struct linnet_ngram **ngram);

/* The same from memory, which may be released afterwards; `name` is for messages. */
LINNET_API enum linnet_status linnet_ngram_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                       const char *name, struct linnet_ngram **ngram);

/* These write the ARPA form, with n-grams sorted by the bytes of their words, and the binary form, in the byte order of
 * this machine. `context` gets the sentence of a failure. */
LINNET_API enum linnet_status linnet_ngram_save_arpa(struct linnet_context *context, const struct linnet_ngram *ngram,
                                                     const char *path);
LINNET_API enum linnet_status linnet_ngram_save_binary(struct linnet_context *context, const struct linnet_ngram *ngram,
                                                       const char *path);

/* Creates a copy with 8 bits per probability and back-off weight. Each order has at most 256 different values; each of
 * them is the mean of the values that it replaces. Probabilities then add up to 1 only approximately. The copy uses the
 * memory of `context` and remains valid without `ngram`. */
LINNET_API enum linnet_status linnet_ngram_quantize(struct linnet_context *context, const struct linnet_ngram *ngram,
                                                    struct linnet_ngram **quantized);

/* Creates a copy without the n-grams of two words or more whose removal changes the relative entropy between the two
 * models by less than `threshold`, in nats per word: 0 < threshold < 1, such as 1e-8 (Stolcke 1998, "Entropy-based
 * pruning of backoff language models"; SRILM's threshold is the relative change of perplexity, which is the same for
 * small values). All words stay, and all contexts of n-grams that stay. Back-off weights are recomputed. The function
 * takes the probabilities of histories from the model, which does not suit Kneser-Ney models: prune these in the
 * estimator (`prune` below). LINNET_ERROR_ARGUMENT for a quantized model. The copy uses the memory of `context` and
 * remains valid without `ngram`. */
LINNET_API enum linnet_status linnet_ngram_prune(struct linnet_context *context, const struct linnet_ngram *ngram,
                                                 double threshold, struct linnet_ngram **pruned);

/* Creates a mixture, such as of a general model and one of a small text of the domain: it has the n-grams of both, with
 * probabilities (1 - weight) P_first + weight P_second, 0 < weight < 1, and the back-off weights with which these add
 * up to 1 (as SRILM's ngram -mix-lm). Its order is the higher of the two. A word that only one of the models has gets
 * no probability from the other, not even from its <unk>. The mixture is not quantized, uses the memory of `context`,
 * and remains valid without the two models. */
LINNET_API enum linnet_status linnet_ngram_mix(struct linnet_context *context, const struct linnet_ngram *first,
                                               const struct linnet_ngram *second, double weight,
                                               struct linnet_ngram **mixed);

/* Destroys the model; NULL is allowed. */
LINNET_API void linnet_ngram_destroy(struct linnet_ngram *ngram);

/* --- contents --------------------------------------------------------------------------------------------------- */

/* The length of the longest n-gram; and whether the values have 8 bits (linnet_ngram_quantize). */
LINNET_API unsigned linnet_ngram_order(const struct linnet_ngram *ngram);
LINNET_API int linnet_ngram_is_quantized(const struct linnet_ngram *ngram);

/* The number of n-grams of an order, 1 to linnet_ngram_order; 0 for other orders. For order 1 it is the number of
 * words. */
LINNET_API size_t linnet_ngram_num_ngrams(const struct linnet_ngram *ngram, unsigned order);

/* Bytes of memory, or of the mapped file, that the model takes. */
LINNET_API size_t linnet_ngram_memory_bytes(const struct linnet_ngram *ngram);

/* The word of an index, from 0, in the order of the words' bytes, NULL out of range; the index of a word,
 * LINNET_NOT_FOUND if it is missing. Strings live as long as the model. */
LINNET_API const char *linnet_ngram_word(const struct linnet_ngram *ngram, size_t index);
LINNET_API size_t linnet_ngram_find(const struct linnet_ngram *ngram, const char *word);

/* --- probabilities ---------------------------------------------------------------------------------------------- */

/* The state at the beginning of a sentence, which is the one after <s>; the empty context if the model has no <s>. */
LINNET_API uint32_t linnet_ngram_begin(const struct linnet_ngram *ngram);

/* Returns log P(word | *state) and sets *state to the state after the word. A word that the model does not have, such
 * as LINNET_NOT_FOUND, counts as <unk>, or as <UNK> if there is only that. If it has neither, the result is -infinity
 * and the empty context. The function never allocates. */
LINNET_API float linnet_ngram_score(const struct linnet_ngram *ngram, uint32_t *state, size_t word);

/* log P(</s> | state); 0 if the model has no </s>. */
LINNET_API float linnet_ngram_finish(const struct linnet_ngram *ngram, uint32_t state);

/* --- for a search ----------------------------------------------------------------------------------------------- */

/* A table from the tokens of a search to the words of a model. */
struct linnet_ngram_binding;

/* Creates a binding. tokens (count) are the names of the tokens; the first, that of the blank, is ignored and may be
 * NULL. Names that the model does not have become <unk>; *missing gets their number (`missing` may be NULL). The model
 * must outlive the binding, which uses the memory of `context`. */
LINNET_API enum linnet_status linnet_ngram_bind(struct linnet_context *context, const struct linnet_ngram *ngram,
                                                const char *const *tokens, size_t count, size_t *missing,
                                                struct linnet_ngram_binding **binding);

/* The same with the names of symbols as tokens. */
LINNET_API enum linnet_status linnet_ngram_bind_symbols(struct linnet_context *context,
                                                        const struct linnet_ngram *ngram,
                                                        const struct linnet_symbols *symbols, size_t *missing,
                                                        struct linnet_ngram_binding **binding);

/* The language model for a search; it belongs to the binding. */
LINNET_API const struct linnet_language_model *linnet_ngram_language_model(const struct linnet_ngram_binding *binding);

/* Sets scores (count) to the unigram log P(token) of all tokens, for the lookahead of a search (word_search.h); that of
 * token 0 is 0. */
LINNET_API void linnet_ngram_unigrams(const struct linnet_ngram_binding *binding, float *scores);

/* Destroys the binding; NULL is allowed. */
LINNET_API void linnet_ngram_binding_destroy(struct linnet_ngram_binding *binding);

/* --- estimation ------------------------------------------------------------------------------------------------- */

/* Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1998), with the conventions of KenLM's lmplz (Heafield
 * et al. 2013): the lowest order is interpolated with the uniform distribution over all words except <s>. <unk> gets
 * its probability from that distribution; <s> itself has probability 1. */
struct linnet_ngram_estimator;

struct linnet_ngram_estimator_settings {
  size_t size;           /* set by ..._default */
  unsigned order;        /* 1 to LINNET_NGRAM_MAX_ORDER, default 3 */
  int discount_fallback; /* for orders whose counts determine no discounts (small or artificial text): 1: take 0.5, 1,
                            1.5, with a warning; 0 (default): an error */
  double prune;          /* the threshold of linnet_ngram_prune, but with the probabilities of histories from the text;
                            0 <= prune < 1, default 0: no pruning */
};

LINNET_API void linnet_ngram_estimator_settings_default(struct linnet_ngram_estimator_settings *settings, size_t size);
#define linnet_ngram_estimator_settings_default(settings)                                                              \
  linnet_ngram_estimator_settings_default(settings, sizeof *(settings))

/* `settings` may be NULL. */
LINNET_API enum linnet_status linnet_ngram_estimator_create(struct linnet_context *context,
                                                            const struct linnet_ngram_estimator_settings *settings,
                                                            struct linnet_ngram_estimator **estimator);

/* Adds a sentence of words. The words <s>, </s> and <unk>, empty words and words with white space are errors. At most
 * 2^31 words in all sentences. */
LINNET_API enum linnet_status linnet_ngram_estimator_add(struct linnet_ngram_estimator *estimator,
                                                         const char *const *words, size_t count);

/* Estimates the model from the sentences that were added. The result does not depend on their order. After this call
 * the estimator can only be destroyed. */
LINNET_API enum linnet_status linnet_ngram_estimator_finish(struct linnet_ngram_estimator *estimator,
                                                            struct linnet_ngram **ngram);

/* Destroys the estimator; NULL is allowed. */
LINNET_API void linnet_ngram_estimator_destroy(struct linnet_ngram_estimator *estimator);

#ifdef __cplusplus
}
#endif
#endif
