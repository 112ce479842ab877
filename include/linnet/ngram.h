/* n-gram language models of order 1 to 8: read from ARPA files (plain or gzip), estimated from text, stored in a binary
 * form that is mapped into memory, asked for probabilities.
 *
 *   struct linnet_ngram *ngram;
 *   linnet_ngram_load(context, "words.arpa.gz", &ngram);
 *   uint32_t state = linnet_ngram_begin(ngram);
 *   for (size_t i = 0; i < count; i++)
 *     total += linnet_ngram_score(ngram, &state, linnet_ngram_find(ngram, words[i]));
 *   total += linnet_ngram_finish(ngram, state);
 *
 * Probabilities are natural logarithms everywhere but in ARPA files, which hold decimal ones. Back-off is that of ARPA:
 * log P(w | c) is the n-gram's own value if the model has "c w", else the back-off weight of c (0 if the model does not
 * have c) plus log P(w | c without its first word).
 *
 * A state is a number for the longest context that can still matter: the longest end of the history that the model
 * continues with some word or gives a back-off weight other than 0. Histories that predict the same by the model's
 * n-grams have the same state. 0 is the empty context.
 *
 * Threads: a model and a binding are immutable and may be used from many threads, each with its own context handle
 * (linnet_context_share) where a function takes one.
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

/* Reads an ARPA file, plain or gzip, or the binary form, told by its first bytes. A binary file is mapped, so the file
 * must not be changed while the model lives (linnet_ngram_save_binary replaces a file, which does no harm).
 *
 * ARPA: every context of an n-gram must be there as an n-gram itself; its end need not (pruned models). "-inf" is
 * probability 0; positive log probabilities, NaN, repeated n-grams, and counts that are not those of the header are
 * errors that name the line. CRLF is tolerated. At most 2^31 n-grams, 4 GiB of words, lines of 64 KiB. */
LINNET_API enum linnet_status linnet_ngram_load(struct linnet_context *context, const char *path,
                                                struct linnet_ngram **ngram);

/* The same from memory, which may be released afterwards; `name` is for messages. */
LINNET_API enum linnet_status linnet_ngram_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                       const char *name, struct linnet_ngram **ngram);

/* Writes the ARPA form, n-grams sorted by the bytes of their words, and the binary form (of this machine's byte order).
 * `context` gets the sentence of a failure. */
LINNET_API enum linnet_status linnet_ngram_save_arpa(struct linnet_context *context, const struct linnet_ngram *ngram,
                                                     const char *path);
LINNET_API enum linnet_status linnet_ngram_save_binary(struct linnet_context *context, const struct linnet_ngram *ngram,
                                                       const char *path);

/* A copy with probabilities and back-off weights of 8 bits: per order at most 256 different values, each the mean of
 * those near it. Probabilities then add up to 1 only nearly. The copy belongs to `context` and does not need `ngram`.
 */
LINNET_API enum linnet_status linnet_ngram_quantize(struct linnet_context *context, const struct linnet_ngram *ngram,
                                                    struct linnet_ngram **quantized);

/* A copy without those n-grams of two words or more whose removal changes the relative entropy between the two models
 * by less than `threshold`, in natural units per word: 0 < threshold < 1, such as 1e-8 (Stolcke 1998, "Entropy-based
 * pruning of backoff language models"; SRILM's threshold is the relative change of perplexity, for small ones the
 * same). All words stay, and all contexts of n-grams that stay; back-off weights are computed anew. The probabilities
 * of histories are those of the model, which is not good for Kneser-Ney models: let the estimator prune these (`prune`
 * below). A quantized model is refused. The copy belongs to `context` and does not need `ngram`. */
LINNET_API enum linnet_status linnet_ngram_prune(struct linnet_context *context, const struct linnet_ngram *ngram,
                                                 double threshold, struct linnet_ngram **pruned);

/* Destroys the model; NULL is allowed. */
LINNET_API void linnet_ngram_destroy(struct linnet_ngram *ngram);

/* --- contents --------------------------------------------------------------------------------------------------- */

/* The longest n-gram; whether the values are of 8 bits (linnet_ngram_quantize). */
LINNET_API unsigned linnet_ngram_order(const struct linnet_ngram *ngram);
LINNET_API int linnet_ngram_is_quantized(const struct linnet_ngram *ngram);

/* The number of n-grams of an order, 1 to linnet_ngram_order; that of order 1 is the number of words. 0 beyond. */
LINNET_API size_t linnet_ngram_num_ngrams(const struct linnet_ngram *ngram, unsigned order);

/* Bytes that the model takes in memory, or in its mapping. */
LINNET_API size_t linnet_ngram_memory_bytes(const struct linnet_ngram *ngram);

/* A word by index (0 to count of order 1, sorted by bytes), NULL out of range; the index of a word,
 * LINNET_NOT_FOUND if it is not there. Strings live as long as the model. */
LINNET_API const char *linnet_ngram_word(const struct linnet_ngram *ngram, size_t index);
LINNET_API size_t linnet_ngram_find(const struct linnet_ngram *ngram, const char *word);

/* --- probabilities ---------------------------------------------------------------------------------------------- */

/* The state at the beginning of a sentence: after <s>; the empty context if the model has no <s>. */
LINNET_API uint32_t linnet_ngram_begin(const struct linnet_ngram *ngram);

/* log P(word | *state); *state becomes the state after it. A word that the model does not have, such as
 * LINNET_NOT_FOUND, counts as <unk>; if there is no <unk> either, it is impossible: -infinity, and the empty context.
 * Never allocates. */
LINNET_API float linnet_ngram_score(const struct linnet_ngram *ngram, uint32_t *state, size_t word);

/* log P(</s> | state); 0 if the model has no </s>. */
LINNET_API float linnet_ngram_finish(const struct linnet_ngram *ngram, uint32_t state);

/* --- for a search ----------------------------------------------------------------------------------------------- */

/* The words of a search's tokens, looked up once. */
struct linnet_ngram_binding;

/* tokens (count) are names, of which the first, the blank's, is not looked at and may be NULL. Those that the model
 * does not have become <unk>; their number goes to *missing (may be NULL). The model must outlive the binding, which
 * belongs to `context`. */
LINNET_API enum linnet_status linnet_ngram_bind(struct linnet_context *context, const struct linnet_ngram *ngram,
                                                const char *const *tokens, size_t count, size_t *missing,
                                                struct linnet_ngram_binding **binding);

/* The same with the names of symbols as tokens. */
LINNET_API enum linnet_status linnet_ngram_bind_symbols(struct linnet_context *context,
                                                        const struct linnet_ngram *ngram,
                                                        const struct linnet_symbols *symbols, size_t *missing,
                                                        struct linnet_ngram_binding **binding);

/* What a search takes; valid as long as the binding. */
LINNET_API struct linnet_language_model linnet_ngram_language_model(const struct linnet_ngram_binding *binding);

/* scores (count) gets log P(token) of all tokens without context, as a lookahead (word_search.h); that of token 0 is 0.
 */
LINNET_API void linnet_ngram_unigrams(const struct linnet_ngram_binding *binding, float *scores);

/* Destroys the binding; NULL is allowed. */
LINNET_API void linnet_ngram_binding_destroy(struct linnet_ngram_binding *binding);

/* --- estimation ------------------------------------------------------------------------------------------------- */

/* Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1998), with the conventions of KenLM's lmplz (Heafield
 * et al. 2013): the lowest order is interpolated with the uniform distribution over all words but <s>,
 * which gives <unk> its probability; <s> itself has probability 1. */
struct linnet_ngram_estimator;

struct linnet_ngram_estimator_settings {
  size_t size;           /* set by ..._default */
  unsigned order;        /* 1 to LINNET_NGRAM_MAX_ORDER, default 3 */
  int discount_fallback; /* 1: discounts 0.5, 1, 1.5 for orders whose counts give none (small or artificial text),
                            with a warning; default 0: that is an error */
  double prune;          /* as the threshold of linnet_ngram_prune, with the probabilities of histories of the text;
                            0 <= prune < 1, default 0: nothing is dropped */
};

LINNET_API void linnet_ngram_estimator_settings_default(struct linnet_ngram_estimator_settings *settings, size_t size);
#define linnet_ngram_estimator_settings_default(settings)                                                              \
  linnet_ngram_estimator_settings_default(settings, sizeof *(settings))

/* `settings` may be NULL. */
LINNET_API enum linnet_status linnet_ngram_estimator_create(struct linnet_context *context,
                                                            const struct linnet_ngram_estimator_settings *settings,
                                                            struct linnet_ngram_estimator **estimator);

/* Adds a sentence of words, without <s> and </s>: these and <unk> are refused, as are words that are empty or hold
 * white space. At most 2^31 words in all. */
LINNET_API enum linnet_status linnet_ngram_estimator_add(struct linnet_ngram_estimator *estimator,
                                                         const char *const *words, size_t count);

/* Makes the model of what was added. The result does not depend on the order of the sentences. The estimator can then
 * only be destroyed. */
LINNET_API enum linnet_status linnet_ngram_estimator_finish(struct linnet_ngram_estimator *estimator,
                                                            struct linnet_ngram **ngram);

/* Destroys the estimator; NULL is allowed. */
LINNET_API void linnet_ngram_estimator_destroy(struct linnet_ngram_estimator *estimator);

#ifdef __cplusplus
}
#endif
#endif
