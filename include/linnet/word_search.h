/* CTC search for words: finds the most probable sequences of words from a pronunciation lexicon. A language model over
 * words, a closed grammar (grammar.h) and hotwords (hotwords.h) are optional.
 *
 *   struct linnet_word_search_settings settings;
 *   struct linnet_word_search *search;
 *   struct linnet_word_hypothesis best;
 *   linnet_word_search_settings_default(&settings);
 *   linnet_word_search_create(context, lexicon, symbols, &settings, &search);
 *   while (have_posteriors) linnet_word_search_accept(search, log_posteriors, frames);   // any chunks
 *   linnet_word_search_finish(search);
 *   if (linnet_word_search_hypothesis(search, 0, &best) == LINNET_OK)
 *     for (size_t i = 0; i < best.num_words; i++)
 *       puts(linnet_word_search_text(search, best.words[i].token));
 *   linnet_word_search_reset(search);                                                    // the next utterance
 *
 * The phones of the lexicon are symbols of the posteriors. Pass the symbols to linnet_lexicon_load: it then reports a
 * phone that is missing among them, with file and line. The search never recognises symbols that do not occur in the
 * lexicon.
 *
 * The score of a word sequence is
 *
 *   log P(words | frames) + model_weight * log P_model(words) + word_bonus * number of words + hotword bonus
 *
 * The first term is a sum over the pronunciations of the words, over the optional silences before, between and after
 * them, and over all alignments of the phones (Graves et al. 2006). A state of the search is a word sequence with a
 * node in the prefix tree of the pronunciations (Ney et al. 1992). It has one probability for the alignments that end
 * in the blank, and one for those that end in a phone. After each frame the search keeps the `beam` states of the
 * highest scores. If the beam holds all states, and without recombination, the scores are exact. The search sums
 * because CTC training maximises this sum; maxima would not be cheaper. While a word is incomplete, its score includes
 * the highest lookahead of all words that it can become.
 *
 * Of two states with equal scores, the one that was in the beam at the frame before wins; of two new ones, the one that
 * comes from the better state. Results depend neither on how the caller divides the frames into chunks nor on the
 * memory.
 *
 * Memory: the tree (24 bytes per node), O(beam + symbols), and the word sequences of the states in the beam, whose
 * unused memory is found by mark and sweep. After one utterance, a similar one allocates no more memory.
 *
 * Threads: one object, one thread at a time; lexicon, model, hotwords and tree (linnet_word_search_share) are shared.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_WORD_SEARCH_H
#define LINNET_WORD_SEARCH_H

#include <linnet/calibration.h>
#include <linnet/hotwords.h>
#include <linnet/language_model.h>
#include <linnet/lexicon.h>
#include <linnet/segment.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Hard limit on states. */
#define LINNET_WORD_SEARCH_MAX 65536

/* Words are numbered by tokens: word w of the lexicon is token w + 1, and the unknown word is the token number of words
 * + 1. The language model gets these tokens; linnet_lexicon_tokens gives their names. */
struct linnet_word_search_settings {
  size_t size;            /* sizeof(struct linnet_word_search_settings), set by ..._default */
  size_t beam;            /* maximum number of states, 1 to LINNET_WORD_SEARCH_MAX (default 50) */
  size_t top_symbols;     /* as in beam.h: number of most probable symbols by which a frame extends states; 0: all
                             (default) */
  float symbol_threshold; /* and by none that is so far below the best symbol of the frame; infinity: no limit
                             (default) */
  float score_threshold;  /* the search drops states that are so far below the best; infinity: none (default) */
  const struct linnet_language_model *model; /* NULL: none (default); copied, but its `user` must outlive the object */
  const float *lookahead;                    /* (words + 2), by token: log unigram probabilities
                                                (linnet_ngram_unigrams); copied. -infinity: the word is never found.
                                                NULL: all 0 */
  float model_weight;                        /* at least 0 (default 1) */
  float word_bonus;                          /* added for each word (default 0) */
  const struct linnet_hotwords *hotwords;    /* NULL: none (default); must outlive the object */
  const int *silences;   /* (num_silences): symbols that may occur before, between and after words; copied */
  size_t num_silences;   /* (default 0) */
  float unknown_penalty; /* infinity: the search finds only words of the lexicon (default). Otherwise an unknown word
                            may be any sequence of symbols except silences, and each symbol costs this penalty, at least
                            0. P(words | frames) sums over all such sequences */
  float unknown_bonus;   /* added for each unknown word, besides word_bonus: against the language model, where unknown
                            words are rare; -100 to 100 (default 0) */
  int recombine; /* 1 (default): of states with the same node of the tree and the same states of language model and
                    hotwords, the search keeps only the better one, because what follows cannot change their order
                    (except through blanks). 0: it keeps them all, so that the word sequences of an N-best list may
                    differ anywhere */
  const struct linnet_calibrations *calibrations; /* of the confidences of words and phones (calibration.h); copied.
                                                     NULL: confidences are mean posteriors (default) */
  const float *priors;        /* (symbols): label priors as in beam.h; copied. NULL: none (default) */
  float prior_scale;          /* the exponent of the priors, 0 to 2 (default 0.5) */
  float pronunciation_weight; /* the exponent of the probabilities of pronunciations, if the lexicon has them
                                 (lexicon.h): 0 to 1000 (default 1). P(words | frames) then sums over pronunciations
                                 with these factors */
};

LINNET_API void linnet_word_search_settings_default(struct linnet_word_search_settings *settings, size_t size);
#define linnet_word_search_settings_default(settings) linnet_word_search_settings_default(settings, sizeof *(settings))

struct linnet_word_search;

/* `symbols` is the row length of the posteriors, blank included: 1 to 2^24. The lexicon must outlive the object.
 * `settings` NULL means the defaults. */
LINNET_API enum linnet_status linnet_word_search_create(struct linnet_context *context,
                                                        const struct linnet_lexicon *lexicon, size_t symbols,
                                                        const struct linnet_word_search_settings *settings,
                                                        struct linnet_word_search **search);

/* Creates another search with the settings of the first, for a second utterance at the same time or for another thread.
 * It uses the same lexicon, model and hotwords, and shares the prefix tree of the first. `context` must be the context
 * of the first or share its allocator (linnet_context_share). The two may be destroyed in any order. */
LINNET_API enum linnet_status linnet_word_search_share(struct linnet_context *context,
                                                       const struct linnet_word_search *first,
                                                       struct linnet_word_search **search);

/* Takes log_posteriors (frames, symbols), row-major, natural logarithm; see linnet_beam_accept. */
LINNET_API enum linnet_status linnet_word_search_accept(struct linnet_word_search *search, const float *log_posteriors,
                                                        size_t frames);

/* Ends the utterance. Hypotheses then end with a complete word or with silence, and their scores include the
 * model's score of the end of the sentence. A second call has no effect. Without frames the only hypothesis is
 * the empty one. */
LINNET_API enum linnet_status linnet_word_search_finish(struct linnet_word_search *search);

/* A recognised word. */
struct linnet_recognised_word {
  unsigned token;
  size_t first, num_phones; /* its phones among the hypothesis's segments */
  size_t start, end;        /* frames, [start, end): of its first and last phone */
  float confidence; /* mean posterior over the frames of its phones, with the calibration of words (segments have that
                       of phones) */
};

/* Times and phones come from the best alignment (Viterbi) among the states that stayed in the beam. */
struct linnet_word_hypothesis {
  double score;
  double acoustic; /* log P(words | frames) */
  double language; /* log P_model(words), after linnet_word_search_finish with the end of the sentence; 0 without a
                      model */
  const struct linnet_recognised_word *words;
  size_t num_words;
  const struct linnet_segment *segments; /* phones and silences; silences belong to no word */
  size_t num_segments;
  int complete; /* 0: the last word was incomplete and is not in `words`; or, after linnet_word_search_finish, the model
                   does not allow the sentence to end there, as grammars do (grammar.h) */
};

/* The number of hypotheses so far, 1 to `beam`; no two have the same words. After linnet_word_search_finish only
 * hypotheses that end with a complete word count, unless there is none. 0 if there is not enough memory to rank
 * them. */
LINNET_API size_t linnet_word_search_num_hypotheses(struct linnet_word_search *search);

/* The hypothesis of rank `index`; 0 is the best. Its arrays are valid until the next call on the object. Before
 * linnet_word_search_finish it is a partial result. LINNET_ERROR_ARGUMENT if `index` is not less than the number of
 * hypotheses. */
LINNET_API enum linnet_status linnet_word_search_hypothesis(struct linnet_word_search *search, size_t index,
                                                            struct linnet_word_hypothesis *hypothesis);

/* The number of first words that all states share. Every later result begins with them; their times may still
 * change. */
LINNET_API size_t linnet_word_search_num_stable_words(const struct linnet_word_search *search);

/* The text of a token: the lexicon's word, LINNET_UNKNOWN_WORD, or NULL out of range. */
#define LINNET_UNKNOWN_WORD "<unk>"
LINNET_API const char *linnet_word_search_text(const struct linnet_word_search *search, unsigned token);

/* Sets names (words + 2) to the names of all tokens, in the form that linnet_ngram_bind takes: NULL for 0, the words of
 * the lexicon (strings that belong to the lexicon), and LINNET_UNKNOWN_WORD. */
LINNET_API void linnet_lexicon_tokens(const struct linnet_lexicon *lexicon, const char **names);

/* Bytes of memory that the object holds: all of it, and that of the prefix tree. */
LINNET_API size_t linnet_word_search_memory_bytes(const struct linnet_word_search *search);
LINNET_API size_t linnet_word_search_tree_memory_bytes(const struct linnet_word_search *search);

/* Starts again at frame 0. The object keeps its memory. */
LINNET_API void linnet_word_search_reset(struct linnet_word_search *search);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_word_search_destroy(struct linnet_word_search *search);

#ifdef __cplusplus
}
#endif
#endif
