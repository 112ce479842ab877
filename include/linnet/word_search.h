/* CTC search for words: the most probable word sequences of log-posteriors, among those that a pronunciation lexicon
 * can spell, with a language model over words, a closed grammar (grammar.h) or neither, and hotwords (hotwords.h).
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
 * The lexicon's phones are the symbols of the posteriors: load it with them (linnet_lexicon_load), so that a phone that
 * they lack is an error with file and line. Symbols that the lexicon does not use are never recognised.
 *
 * The score of a word sequence is
 *
 *   log P(words | frames) + model_weight * log P_model(words) + word_bonus * number of words + hotword bonus
 *
 * The first term sums over the pronunciations of the words, the optional silences before, between and after them, and
 * over all alignments of the phones (Graves et al. 2006); alignments that end in the blank and in a phone are held
 * apart and merged exactly. The search passes probabilities over states, each a word sequence and a place in the prefix
 * tree of the pronunciations (Ney et al. 1992), and keeps the `beam` states of highest score after each frame; with a
 * beam that holds them all, and without recombination, the scores are exact. Sums, not maxima: the network was trained
 * to them, and they cost the same. A word that is not complete counts with the highest lookahead of the words it can
 * still become.
 *
 * Of equal scores, a state that was in the beam before wins over one made by this frame, then the one made of a better
 * state. Results depend on nothing else: not on how the frames were cut into chunks, not on the memory.
 *
 * Memory: the tree (24 bytes a node), O(beam + symbols), and what the surviving word sequences need, reclaimed by mark
 * and sweep; once it was enough for an utterance, another like it allocates nothing.
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

/* Words are tokens: word w of the lexicon is w + 1, and the number of words + 1 is an unknown word. These are what a
 * language model is asked for; see linnet_lexicon_tokens for their names. */
struct linnet_word_search_settings {
  size_t size;            /* sizeof(struct linnet_word_search_settings), set by ..._default */
  size_t beam;            /* states kept, 1 to LINNET_WORD_SEARCH_MAX (default 50) */
  size_t top_symbols;     /* as in beam.h: a frame goes on only with its most probable symbols; 0: all (default) */
  float symbol_threshold; /* nor with any so far below the frame's best; infinity: none is too low (default) */
  float score_threshold;  /* states so far below the best are dropped; infinity: none is (default) */
  const struct linnet_language_model *model; /* NULL: none (default); must outlive the object */
  const float *lookahead; /* (words + 2) by token: natural logarithm of a word's probability whatever the context
                             (linnet_ngram_unigrams); copied. -infinity: the word is left out of the search. NULL: 0 */
  float model_weight;     /* at least 0 (default 1) */
  float word_bonus;       /* added for each word (default 0) */
  const struct linnet_hotwords *hotwords; /* NULL: none (default); must outlive the object */
  const int *silences;   /* (num_silences): symbols that may stand before, between and after words; copied */
  size_t num_silences;   /* (default 0) */
  float unknown_penalty; /* infinity: all words are in the lexicon (default). Else an unknown word may be any sequence
                            of symbols, silences excepted, of which each costs this, at least 0; P(words | frames) sums
                            over such sequences */
  int recombine; /* default 1: of states with the same place in the tree and the same state of model and hotwords, only
                    the better is kept, for nothing that follows can reverse their order (but for blanks); 0: word
                    sequences are kept apart, so that those of an N-best list may differ anywhere */
  const struct linnet_calibrations *calibrations; /* of the confidences of words, and of phones (calibration.h); copied.
                                                     NULL: they are mean posteriors (default) */
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

/* Another search with the same settings, for an utterance at the same time, or another thread: it takes what the first
 * was made of, and shares its prefix tree. `context` must be the first one's or share its allocator
 * (linnet_context_share). They may be destroyed in any order. */
LINNET_API enum linnet_status linnet_word_search_share(struct linnet_context *context,
                                                       const struct linnet_word_search *first,
                                                       struct linnet_word_search **search);

/* Takes log_posteriors (frames, symbols), row-major, natural logarithm; as linnet_beam_accept does. */
LINNET_API enum linnet_status linnet_word_search_accept(struct linnet_word_search *search, const float *log_posteriors,
                                                        size_t frames);

/* Says that the utterance is complete: hypotheses then end with a complete word or silence, and hold the model's score
 * of the end. May be called twice; without frames the only hypothesis is the empty one. */
LINNET_API enum linnet_status linnet_word_search_finish(struct linnet_word_search *search);

/* A recognised word. */
struct linnet_recognised_word {
  unsigned token;
  size_t first, num_phones; /* its phones among the hypothesis's segments */
  size_t start, end;        /* frames, [start, end): of its first and last phone */
  float confidence; /* mean posterior over the frames of its phones, calibrated as words are; of segments, as phones */
};

/* Times and phones are those of the best alignment (Viterbi) of the states that were kept. */
struct linnet_word_hypothesis {
  double score;
  double acoustic; /* log P(words | frames) */
  double language; /* log P_model(words), once finished with the end of the sentence; 0 without a model */
  const struct linnet_recognised_word *words;
  size_t num_words;
  const struct linnet_segment *segments; /* phones, and silences: those that belong to no word */
  size_t num_segments;
  int complete; /* 0: the last word was under way, and was left out */
};

/* The number of hypotheses at this point, 1 to `beam`; all differ in words. Only hypotheses that end with a complete
 * word are counted, unless there is none, or the utterance is not finished. 0 if there is no memory to rank them. */
LINNET_API size_t linnet_word_search_num_hypotheses(struct linnet_word_search *search);

/* The hypothesis of rank `index`, 0 is the best; its arrays are valid until the next call on the object. Before
 * linnet_word_search_finish this is the partial result. LINNET_ERROR_ARGUMENT if there are not so many. */
LINNET_API enum linnet_status linnet_word_search_hypothesis(struct linnet_word_search *search, size_t index,
                                                            struct linnet_word_hypothesis *hypothesis);

/* The number of first words that all states share: whatever comes, every later result begins with them. Their times may
 * still change. */
LINNET_API size_t linnet_word_search_num_stable_words(const struct linnet_word_search *search);

/* The text of a token: the lexicon's word, LINNET_UNKNOWN_WORD, or NULL out of range. */
#define LINNET_UNKNOWN_WORD "<unk>"
LINNET_API const char *linnet_word_search_text(const struct linnet_word_search *search, unsigned token);

/* names (words + 2) gets the names of all tokens, as linnet_ngram_bind takes them: NULL for 0, the lexicon's words,
 * which it keeps, and LINNET_UNKNOWN_WORD. */
LINNET_API void linnet_lexicon_tokens(const struct linnet_lexicon *lexicon, const char **names);

/* Bytes of memory that the object holds: all of it, and that of the prefix tree. */
LINNET_API size_t linnet_word_search_memory_bytes(const struct linnet_word_search *search);
LINNET_API size_t linnet_word_search_tree_memory_bytes(const struct linnet_word_search *search);

/* Starts over at frame 0, keeping the memory. */
LINNET_API void linnet_word_search_reset(struct linnet_word_search *search);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_word_search_destroy(struct linnet_word_search *search);

#ifdef __cplusplus
}
#endif
#endif
