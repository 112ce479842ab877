/* CTC prefix beam search (Graves 2006; Hannun et al. 2014): the most probable symbol sequences of log-posteriors, with
 * their scores and times, with or without a language model.
 *
 *   struct linnet_beam_settings settings;
 *   struct linnet_beam *beam;
 *   struct linnet_hypothesis best;
 *   linnet_beam_settings_default(&settings);
 *   linnet_beam_create(context, symbols, &settings, &beam);
 *   while (have_posteriors) linnet_beam_accept(beam, log_posteriors, frames);   // any chunks
 *   linnet_beam_finish(beam);
 *   if (linnet_beam_hypothesis(beam, 0, &best) == LINNET_OK) use(best.segments, best.num_segments);
 *   linnet_beam_reset(beam);                                                    // the next utterance
 *
 * After each frame the search keeps the `beam` prefixes of the highest scores. The score of a prefix is
 *
 *   log P(prefix | frames so far) + model_weight * log P_model(prefix) + insertion_bonus * length
 *
 * The first term sums over the alignments of the prefix, as far as their own prefixes stayed in the beam. A prefix has
 * one probability for the alignments that end in the blank, and one for those that end in its last symbol. If the beam
 * holds every prefix the scores are exact. A probability that is more than 600 (natural logarithm) below the best
 * counts as 0.
 *
 * Of two prefixes with equal scores, the one that was in the beam at the frame before wins; then the one with the lower
 * last symbol; then the one whose parent ranked higher. Results depend neither on how the caller divides the frames
 * into chunks nor on the memory.
 *
 * Memory is O(beam * symbols) and the prefixes in the beam, whose unused memory is found by mark and sweep. After one
 * utterance, a similar one allocates no more memory.
 *
 * Threads: one object, one thread at a time.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_BEAM_H
#define LINNET_BEAM_H

#include <linnet/calibration.h>
#include <linnet/language_model.h>
#include <linnet/segment.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Hard limit on prefixes. */
#define LINNET_BEAM_MAX 65536

struct linnet_beam_settings {
  size_t size;            /* sizeof(struct linnet_beam_settings), set by ..._default */
  size_t beam;            /* maximum number of prefixes, 1 to LINNET_BEAM_MAX (default 50) */
  size_t top_symbols;     /* number of most probable symbols that a frame appends; 0: all (default) */
  float symbol_threshold; /* a frame does not append symbols whose log-posterior is more than this below its largest
                             one, that of the blank included; at least 0; infinity: no limit (default) */
  float score_threshold;  /* the search drops prefixes whose score is more than this below the best; at least 0;
                             infinity: none (default) */
  const struct linnet_language_model *model; /* NULL: none (default); copied, but its `user` must outlive the object */
  const unsigned *tokens; /* (symbols): the model's token for each symbol; that of the blank is unused; copied. NULL:
                             the symbol itself */
  float model_weight;     /* at least 0 (default 1) */
  float insertion_bonus;  /* added for each symbol, with and without a model (default 0) */
  const struct linnet_calibrations *calibrations; /* of the confidences of segments (calibration.h); copied. NULL:
                                                     confidences are mean posteriors (default) */
  const float *priors; /* (symbols): label priors, the blank first, each above 0, with sum 1; copied. NULL: none
                          (default) */
  float prior_scale;   /* with priors, the search takes posterior / prior^prior_scale instead of the posterior; 0 to 2
                          (default 0.5) */
};

/* Label priors are the mean posteriors of the symbols over much speech (linnet_priors_load). The division turns
 * posteriors into likelihoods up to a factor of the frame (Bourlard and Morgan 1994), as a search with a language model
 * wants them; CTC models give the blank most of the probability (Sak et al. 2015; Miao et al. 2015). A prior below 1e-8
 * counts as 1e-8. Confidences are of the posteriors without the division. */

/* The two limits on symbols concern only the symbols that a frame appends to make new prefixes; prefixes that are in
 * the beam stay possible. A score of the language model above 0 counts as 0, and NaN as impossible. */
LINNET_API void linnet_beam_settings_default(struct linnet_beam_settings *settings, size_t size);
#define linnet_beam_settings_default(settings) linnet_beam_settings_default(settings, sizeof *(settings))

struct linnet_beam;

/* `symbols` is the row length, blank included: 1 to 2^24. `settings` NULL means the defaults. */
LINNET_API enum linnet_status linnet_beam_create(struct linnet_context *context, size_t symbols,
                                                 const struct linnet_beam_settings *settings,
                                                 struct linnet_beam **beam);

/* Takes log_posteriors (frames, symbols), row-major, natural logarithm. They need not sum to one: they may be
 * posteriors divided by priors. NaN and infinity count as -infinity, which is impossible. A row without a possible
 * symbol counts as a certain blank. LINNET_ERROR_STATE after linnet_beam_finish. An utterance has at most 2^32 - 2
 * frames. The call can be cancelled (linnet_cancel_fn). After a cancelled call, and after LINNET_ERROR_MEMORY, reset
 * the object, because it may have taken some of the rows. */
LINNET_API enum linnet_status linnet_beam_accept(struct linnet_beam *beam, const float *log_posteriors, size_t frames);

/* Ends the utterance: adds the model's score of the end of the sentence. A second call has no effect. Without frames
 * the only hypothesis is the empty one. */
LINNET_API enum linnet_status linnet_beam_finish(struct linnet_beam *beam);

/* A prefix in the beam. The times of its segments come from its best alignment: the Viterbi path among the alignments
 * whose prefixes all stayed in the beam. A test compares them with forced alignment. */
struct linnet_hypothesis {
  double score;    /* acoustic + model_weight * language + insertion_bonus * num_segments */
  double acoustic; /* log P(symbols | frames) */
  double language; /* log P(symbols) of the model, after linnet_beam_finish with the end of the sentence; 0 without a
                      model */
  const struct linnet_segment *segments;
  size_t num_segments;
};

/* The number of hypotheses so far, 1 to `beam`. */
LINNET_API size_t linnet_beam_num_hypotheses(const struct linnet_beam *beam);

/* The hypothesis of rank `index`; 0 is the best. Its segments are valid until the next call on the object. Before
 * linnet_beam_finish it is a partial result. LINNET_ERROR_ARGUMENT if `index` is not less than the number of
 * hypotheses. */
LINNET_API enum linnet_status linnet_beam_hypothesis(struct linnet_beam *beam, size_t index,
                                                     struct linnet_hypothesis *hypothesis);

/* The number of first symbols that all hypotheses share. Every later result begins with them; their times may still
 * change. */
LINNET_API size_t linnet_beam_num_stable_symbols(const struct linnet_beam *beam);

/* Bytes of memory that the object holds. */
LINNET_API size_t linnet_beam_memory_bytes(const struct linnet_beam *beam);

/* Starts again at frame 0. The object keeps its memory. */
LINNET_API void linnet_beam_reset(struct linnet_beam *beam);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_beam_destroy(struct linnet_beam *beam);

#ifdef __cplusplus
}
#endif
#endif
