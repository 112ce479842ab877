/* From log-posteriors to words or phones with times: one object for what is searched for, and any number of streams
 * that search at once. It loads what the search needs (lexicon, language model, grammar, hotwords) and gives results as
 * one structure, which every output format writes (output.h). beam.h and word_search.h have the searches themselves.
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
 *   for (size_t i = 0; i < result->alternatives[0].word_count; i++) puts(result->alternatives[0].words[i].text);
 *   linnet_search_stream_reset(stream);                                                    // the next utterance
 *
 * Threads: a search is immutable; a stream is used from one thread at a time. Any number of streams share one search
 * and run in parallel, each made from its own context handle (linnet_context_share). */
#ifndef LINNET_SEARCH_H
#define LINNET_SEARCH_H

#include <linnet/beam.h>
#include <linnet/lattice.h>
#include <linnet/output.h>
#include <linnet/source.h>
#include <linnet/word_search.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- what is searched for --------------------------------------------------------------------------------------- */

enum linnet_search_kind {
  LINNET_SEARCH_GREEDY = 0,  /* the best symbol of each frame */
  LINNET_SEARCH_SYMBOLS = 1, /* the best sequences of symbols (beam.h) */
  LINNET_SEARCH_WORDS = 2    /* the best sequences of words of a lexicon (word_search.h) */
};

/* Nothing that the settings name is needed once the search is made. */
struct linnet_search_settings {
  size_t size;                  /* set by ..._default */
  enum linnet_search_kind kind; /* default LINNET_SEARCH_GREEDY: no other setting but `calibrations` then counts */
  size_t num_alternatives;      /* the maximum in a result, at least 1 (default 1) */
  size_t beam;                  /* 0 (default): 50, or num_alternatives if that is more */
  size_t top_symbols;           /* these are those of beam.h and word_search.h, with the same defaults: */
  float symbol_threshold;       /* */
  float score_threshold;        /* */
  float language_model_weight;  /* model_weight there */
  float insertion_bonus;        /* LINNET_SEARCH_SYMBOLS alone */
  float word_bonus;             /* LINNET_SEARCH_WORDS alone, as all that follow but the language model */
  float unknown_penalty;        /* */
  int lattice;                  /* default 0; 1: hypotheses are kept apart as a lattice wants them */
  struct linnet_source lexicon; /* required for words. Stress digits are dropped unless symbols have them */
  struct linnet_source language_model; /* n-grams over symbols, or over words (ngram.h) */
  struct linnet_source grammar;        /* instead of a language model (grammar.h) */
  struct linnet_source hotwords;       /* (hotwords.h) */
  const char *const *silences;         /* (num_silences) symbols that may stand between words */
  size_t num_silences;
  const struct linnet_calibrations *calibrations; /* of confidences (calibration.h); NULL: mean posteriors (default) */
};

LINNET_API void linnet_search_settings_default(struct linnet_search_settings *settings);

struct linnet_search;

/* For posteriors of symbols called names[0], the blank, to names[num_symbols - 1]: these strings must outlive the
 * search. `settings` NULL means the defaults. Words that the language model does not have are logged as a warning. A
 * failure names the setting, its file, and the line where there is one. */
LINNET_API enum linnet_status linnet_search_create(struct linnet_context *context, const char *const *names,
                                                   size_t num_symbols, const struct linnet_search_settings *settings,
                                                   struct linnet_search **search);

/* The tokens of lattices: symbols, or words (linnet_word_search_text); NULL out of range and for 0. */
LINNET_API size_t linnet_search_num_tokens(const struct linnet_search *search);
LINNET_API const char *linnet_search_token(const struct linnet_search *search, size_t token);

/* Destroys the search, after its streams; NULL is allowed. */
LINNET_API void linnet_search_destroy(struct linnet_search *search);

/* --- results ---------------------------------------------------------------------------------------------------- */

/* What was recognised of one utterance. */
struct linnet_result {
  double seconds;    /* of audio; of posteriors, their frames */
  int is_final;      /* the utterance is complete; else this is the partial result */
  size_t num_stable; /* the first words of the best alternative (phones, where there are no words) that every later
                        result begins with; their times may still change */
  const struct linnet_alternative *alternatives; /* best first */
  size_t num_alternatives;                       /* at least 1 */
};

/* Puts a result into what is written: the best alternative as words and phones and, where `alternatives` is not 0, all
 * of them. Other members stay. Valid as long as the result. */
LINNET_API enum linnet_status linnet_result_describe(const struct linnet_result *result, int alternatives,
                                                     struct linnet_output *output);

/* --- streams ---------------------------------------------------------------------------------------------------- */

struct linnet_search_stream;

/* The search must outlive the stream; `context` must be the search's or share its allocator. */
LINNET_API enum linnet_status linnet_search_stream_create(struct linnet_context *context,
                                                          const struct linnet_search *search,
                                                          struct linnet_search_stream **stream);

/* Takes log_posteriors (frames, symbols), row-major, natural logarithm; as linnet_beam_accept does. It can be
 * cancelled, after which the stream must be reset. */
LINNET_API enum linnet_status linnet_search_stream_accept(struct linnet_search_stream *stream,
                                                          const float *log_posteriors, size_t frames);

/* Says that the utterance is complete. */
LINNET_API enum linnet_status linnet_search_stream_finish(struct linnet_search_stream *stream);

/* The result so far, or once finished the final one; `frame_seconds` is the time from one row to the next. Valid until
 * the next call on the stream. */
LINNET_API enum linnet_status linnet_search_stream_result(struct linnet_search_stream *stream, double frame_seconds,
                                                          const struct linnet_result **result);

/* Fills a lattice, reset and not finished, with the hypotheses of a finished utterance. LINNET_ERROR_STATE for a greedy
 * stream, which has none. */
LINNET_API enum linnet_status linnet_search_stream_lattice(const struct linnet_search_stream *stream,
                                                           struct linnet_lattice *lattice);

/* Starts over at frame 0, keeping the memory. */
LINNET_API void linnet_search_stream_reset(struct linnet_search_stream *stream);

/* Destroys the stream; NULL is allowed. */
LINNET_API void linnet_search_stream_destroy(struct linnet_search_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
