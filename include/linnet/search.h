/* From log-posteriors to words or phones with times. A search holds the settings, the lexicon, the language model or
 * grammar, and the hotwords, which it loads. Any number of streams on it search at the same time. All searches give
 * their results in one structure, which every output format can write (output.h). beam.h and word_search.h are the
 * interfaces of the search algorithms themselves.
 *
 *   struct linnet_search_settings settings;
 *   struct linnet_search *search;
 *   struct linnet_search_stream *stream;
 *   const struct linnet_result *result;
 *   linnet_search_settings_default(&settings);
 *   settings.kind = LINNET_SEARCH_WORDS;
 *   settings.lexicon.path = "cmudict.dict";
 *   linnet_search_create(context, names, num_symbols, &settings, &search);
 *   linnet_search_stream_create(context, search, &stream);
 *   while (have_posteriors) linnet_search_stream_accept(stream, log_posteriors, frames);   // any chunks
 *   linnet_search_stream_finish(stream);
 *   linnet_search_stream_result(stream, 0.01, &result);
 *   for (size_t i = 0; i < result->alternatives[0].num_words; i++) puts(result->alternatives[0].words[i].text);
 *   linnet_search_stream_reset(stream);                                                    // the next utterance
 *
 * Threads: a search is immutable; a stream is used from one thread at a time. Any number of streams share one search
 * and run in parallel, each made from its own context handle (linnet_context_share).
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_SEARCH_H
#define LINNET_SEARCH_H

#include <stdint.h>

#include <linnet/beam.h>
#include <linnet/lattice.h>
#include <linnet/output.h>
#include <linnet/source.h>
#include <linnet/word_search.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- settings --------------------------------------------------------------------------------------------------- */

enum linnet_search_kind {
  LINNET_SEARCH_GREEDY = 0,  /* the best symbol of each frame */
  LINNET_SEARCH_SYMBOLS = 1, /* the best sequences of symbols (beam.h) */
  LINNET_SEARCH_WORDS = 2    /* the best sequences of words of a lexicon (word_search.h) */
};

/* The caller may release everything that the settings point to once the search is created. */
struct linnet_search_settings {
  size_t size;                  /* set by ..._default */
  enum linnet_search_kind kind; /* default LINNET_SEARCH_GREEDY, which uses `calibrations`, `blank_penalty` and
                                   `emission_delay`, refuses lexicon, grammar and hotwords, and
                                   ignores all other settings */
  size_t num_alternatives;      /* the maximum in a result, at least 1 (default 1) */
  size_t beam;                  /* 0 (default): 50, or num_alternatives if that is more */
  /* Unless a comment names another default, it is that of beam.h or word_search.h. */
  size_t top_symbols;          /* number of most probable symbols by which a frame extends hypotheses; 0: all */
  float symbol_threshold;      /* a frame does not extend hypotheses by symbols whose log-posterior is more than this
                                  below that of the best symbol */
  float score_threshold;       /* the search drops hypotheses whose score is more than this below the best */
  float language_model_weight; /* model_weight in beam.h and word_search.h */
  float insertion_bonus;       /* added for each symbol; only for LINNET_SEARCH_SYMBOLS */
  /* Only for LINNET_SEARCH_WORDS, like all that follow except language_model, calibrations, priors, prior_scale,
   * blank_penalty and emission_delay: */
  float word_bonus;      /* added for each word */
  float unknown_penalty; /* for each symbol of an unknown word; infinity: the search finds only words of the lexicon */
  float unknown_bonus;   /* added for each unknown word, besides word_bonus */
  int lattice;           /* 1: the search does not recombine hypotheses, so that a lattice holds all of them;
                            default 0 */
  struct linnet_source lexicon;        /* required for words. Stress digits are removed unless the symbols have them */
  struct linnet_source language_model; /* n-grams over symbols, or over words (ngram.h) */
  struct linnet_source grammar;        /* instead of a language model (grammar.h) */
  struct linnet_source hotwords;       /* (hotwords.h) */
  const char *const *silences;         /* (num_silences) symbols that may occur between words */
  size_t num_silences;
  const struct linnet_calibrations *calibrations; /* of confidences (calibration.h); NULL: mean posteriors (default) */
  struct linnet_source priors;                    /* label priors of the symbols (linnet_priors_load); default: none */
  float prior_scale;                              /* their exponent, 0 to 2 (default 0.5): see beam.h */
  float pronunciation_weight; /* exponent of the probabilities of pronunciations, if the lexicon has them (default 1) */
  float blank_penalty;        /* only for LINNET_SEARCH_GREEDY: linnet_greedy_set_blank_penalty (default 0). The other
                                 searches have priors for this purpose */
  float emission_delay;       /* for every kind: seconds by which the posteriors have symbols later than the audio, 0
                                 (default) to 10. Times of results are earlier by it, but not before the first row:
                                 phones whose time that would be follow each other from there, one row each */
  struct linnet_source g2p;   /* guesses the pronunciations of words of `grammar` and `hotwords` that the lexicon lacks
                                 (g2p.h), and logs a warning; also those of hotwords that a stream gets later, which
                                 LINNET_LOG_INFO names, as they may be personal. A file is loaded with the first such
                                 word, and must stay until then. Default: such words are errors */
};

LINNET_API void linnet_search_settings_default(struct linnet_search_settings *settings, size_t size);
#define linnet_search_settings_default(settings) linnet_search_settings_default(settings, sizeof *(settings))

/* Reads label priors (num_symbols), the mean posteriors of a model's symbols over much speech: a text of one line
 * 'SYMBOL PROBABILITY' per symbol, in the order of the symbols, as 'linnet posteriors --estimate-priors' writes it.
 * names[0] may be NULL for the blank "<blk>". LINNET_ERROR_FORMAT if the symbols are not names[0] to
 * names[num_symbols - 1], or for numbers that are negative or not finite. The function takes priors of 0 and any sum; a
 * search does not. */
LINNET_API enum linnet_status linnet_priors_load(struct linnet_context *context, const struct linnet_source *source,
                                                 const char *const *names, size_t num_symbols, float *priors);

struct linnet_search;

/* Creates a search in log-posteriors. names[0], the blank, to names[num_symbols - 1] are the names of their symbols;
 * these strings must outlive the search. `settings` NULL means the defaults. The search logs a warning if words of the
 * lexicon are missing in the language model. The sentence of a failure names the setting, its file and, if there is
 * one, the line. */
LINNET_API enum linnet_status linnet_search_create(struct linnet_context *context, const char *const *names,
                                                   size_t num_symbols, const struct linnet_search_settings *settings,
                                                   struct linnet_search **search);

/* The number of tokens that lattices can have, and the name of one: of a symbol or of a word (linnet_word_search_text);
 * NULL out of range and for 0. Streams may have more (linnet_search_stream_num_tokens). */
LINNET_API size_t linnet_search_num_tokens(const struct linnet_search *search);
LINNET_API const char *linnet_search_token(const struct linnet_search *search, size_t token);

/* Destroys the search; NULL is allowed. Destroy its streams first. */
LINNET_API void linnet_search_destroy(struct linnet_search *search);

/* --- results ---------------------------------------------------------------------------------------------------- */

/* The result for one utterance, or for one segment of a stream with endpoints (endpoint.h). All times count from the
 * start of the stream. */
struct linnet_result {
  double seconds;    /* where the audio of the result ends: without endpoints its duration; without audio, the end of
                        the frames */
  int is_final;      /* 1: the utterance or segment is complete; 0: this is a partial result */
  size_t num_stable; /* number of words at the start of the best alternative (phones, if there are no words) with
                        which every later result begins; their times may still change. 0 in a partial result of a
                        recognizer with a second pass */
  const struct linnet_alternative *alternatives; /* best first; but a partial result of a search for words begins with
                                                    the best that ends with a complete word, unless its score is more
                                                    than 5 below the best */
  size_t num_alternatives;                       /* at least 1 */
  double start;   /* where the audio of the result begins, in seconds: 0 before the first endpoint */
  size_t segment; /* number of segments before this one that had a final result. If nothing was recognised in a
                     segment, it has a final result only if the last partial result that the hook got of it had words
                     (phones), or if the end of the stream ends it */
};

/* Sets members of `output` from a result: `seconds`, words, phones and `incomplete` of the best alternative and, if
 * `alternatives` is not 0, all alternatives. The other members stay. `output` is valid as long as the result. */
LINNET_API enum linnet_status linnet_result_describe(const struct linnet_result *result, int alternatives,
                                                     struct linnet_output *output);

/* --- streams ---------------------------------------------------------------------------------------------------- */

struct linnet_search_stream;

/* Creates a stream on a search, which must outlive it. `context` must be the context of the search or share its
 * allocator. */
LINNET_API enum linnet_status linnet_search_stream_create(struct linnet_context *context,
                                                          const struct linnet_search *search,
                                                          struct linnet_search_stream **stream);

/* Takes log_posteriors (frames, symbols), row-major, natural logarithm; see linnet_beam_accept. The call can be
 * cancelled (linnet_cancel_fn). After a call that was cancelled, or ran out of memory, frames may be missing: all calls
 * but linnet_search_stream_reset fail with LINNET_ERROR_STATE. */
LINNET_API enum linnet_status linnet_search_stream_accept(struct linnet_search_stream *stream,
                                                          const float *log_posteriors, size_t frames);

/* Ends the utterance. */
LINNET_API enum linnet_status linnet_search_stream_finish(struct linnet_search_stream *stream);

/* The partial result, or the final one after linnet_search_stream_finish. `frame_seconds` is the time from one row of
 * posteriors to the next; 0: unknown, all times are 0. The result is valid until the next call on the stream. */
LINNET_API enum linnet_status linnet_search_stream_result(struct linnet_search_stream *stream, double frame_seconds,
                                                          const struct linnet_result **result);

/* The search of a stream. */
LINNET_API const struct linnet_search *linnet_search_stream_search(const struct linnet_search_stream *stream);

/* The number of tokens that the lattices of a stream can have, and the name of one: those of the search
 * (linnet_search_token), then the words that were guessed for hotwords of the stream. The latter are other words as
 * soon as other hotwords count, so lattices should be written before. Their names live until then. */
LINNET_API size_t linnet_search_stream_num_tokens(const struct linnet_search_stream *stream);
LINNET_API const char *linnet_search_stream_token(const struct linnet_search_stream *stream, size_t token);

/* Adds the hypotheses of a finished utterance to a lattice, which must be empty and not finished. LINNET_ERROR_STATE
 * for a greedy stream, which has no hypotheses, before linnet_search_stream_finish, and for a lattice that has states.
 */
LINNET_API enum linnet_status linnet_search_stream_lattice(const struct linnet_search_stream *stream,
                                                           struct linnet_lattice *lattice);

/* Gives the stream hotwords of its own (hotwords.h), in place of those of the search; `source` NULL, or without path
 * and data: those of the search again; an empty list: none. They count from the next reset on, or at once if the stream
 * has no frames yet, and stay. If the settings of the search name a `g2p`, it guesses the pronunciations of words that
 * the lexicon lacks. These words are of this stream alone, and count as unknown words in the language model, even if it
 * has them. A warning says so if they cannot be recognised, because it has no <unk>, or a grammar takes its place.
 * Without `g2p`, such a word is an error that names the line. After a failure the hotwords are as before.
 * LINNET_ERROR_UNSUPPORTED without a search for words. */
LINNET_API enum linnet_status linnet_search_stream_set_hotwords(struct linnet_search_stream *stream,
                                                                const struct linnet_source *source);

/* Starts again at frame 0. The stream keeps its memory and its hotwords. */
LINNET_API void linnet_search_stream_reset(struct linnet_search_stream *stream);

/* Starts again at frame `first` of the same recording: all times of later results are larger by that number of frames.
 * So a recording of days can be searched in segments. */
LINNET_API void linnet_search_stream_reset_at(struct linnet_search_stream *stream, uint64_t first);

/* Destroys the stream; NULL is allowed. */
LINNET_API void linnet_search_stream_destroy(struct linnet_search_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
