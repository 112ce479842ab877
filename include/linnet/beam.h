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
 * The search keeps the `beam` prefixes of highest score after each frame. The score of a prefix is
 *
 *   log P(prefix | frames so far) + model_weight * log P_model(prefix) + insertion_bonus * length
 *
 * where the first term sums over all alignments of the prefix whose own prefixes were kept: alignments that end in the
 * blank and in the symbol are held apart and merged exactly. With a beam that holds every prefix the scores are exact;
 * what is more than 600 (natural logarithm) below the best counts as impossible.
 *
 * Of equal scores, a prefix that was in the beam before wins over one made by this frame, then the one with the lower
 * last symbol, then the one whose parent ranked higher. Results depend on nothing else: not on how the frames were cut
 * into chunks, not on the memory.
 *
 * Memory is O(beam * symbols) and what the surviving prefixes need, reclaimed by mark and sweep; once it was enough for
 * an utterance, another like it allocates nothing.
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
  size_t beam;            /* prefixes kept, 1 to LINNET_BEAM_MAX (default 50) */
  size_t top_symbols;     /* a frame appends only its most probable symbols, so many; 0: all (default) */
  float symbol_threshold; /* nor any whose log-posterior is more than this below the frame's largest, the blank's
                             included; at least 0, infinity: none is too low (default) */
  float score_threshold;  /* prefixes whose score is more than this below the best are dropped; at least 0, infinity:
                             none is (default) */
  const struct linnet_language_model *model; /* NULL: none (default); must outlive the object, and what it points to */
  const unsigned *tokens; /* (symbols): the model's token of each symbol, that of the blank unused; copied. NULL: the
                             symbol itself */
  float model_weight;     /* at least 0 (default 1) */
  float insertion_bonus;  /* added for each symbol, with and without a model (default 0) */
  const struct linnet_calibrations *calibrations; /* of the confidences of segments (calibration.h); copied. NULL: they
                                                     are mean posteriors (default) */
};

/* Pruning of symbols bounds what a frame appends to make new prefixes; it takes nothing from prefixes that are in the
 * beam. A model's scores above 0, and NaN, count as 0 and as impossible. */
LINNET_API void linnet_beam_settings_default(struct linnet_beam_settings *settings, size_t size);
#define linnet_beam_settings_default(settings) linnet_beam_settings_default(settings, sizeof *(settings))

struct linnet_beam;

/* `symbols` is the row length, blank included: 1 to 2^24. `settings` NULL means the defaults. */
LINNET_API enum linnet_status linnet_beam_create(struct linnet_context *context, size_t symbols,
                                                 const struct linnet_beam_settings *settings,
                                                 struct linnet_beam **beam);

/* Takes log_posteriors (frames, symbols), row-major, natural logarithm; they need not sum to one (posteriors divided by
 * priors). NaN and infinity count as -infinity: impossible. A row in which nothing is possible counts as a certain
 * blank. LINNET_ERROR_STATE after linnet_beam_finish; on LINNET_ERROR_MEMORY reset the object: some rows may have been
 * taken. At most 2^32 - 2 frames. It can be cancelled (linnet_cancel_fn), after which the object must be reset, too. */
LINNET_API enum linnet_status linnet_beam_accept(struct linnet_beam *beam, const float *log_posteriors, size_t frames);

/* Says that the utterance is complete: adds the model's score of its end. May be called twice; without frames the only
 * hypothesis is the empty one. */
LINNET_API enum linnet_status linnet_beam_finish(struct linnet_beam *beam);

/* A prefix in the beam. Segment times are those of its best alignment: the Viterbi path, among alignments whose
 * prefixes were kept all the way; a test holds them against forced alignment. */
struct linnet_hypothesis {
  double score;    /* acoustic + model_weight * language + insertion_bonus * num_segments */
  double acoustic; /* log P(symbols | frames) */
  double language; /* log P(symbols) of the model, once finished with the end of the sentence; 0 without one */
  const struct linnet_segment *segments;
  size_t num_segments;
};

/* The number of hypotheses at this point, 1 to `beam`. */
LINNET_API size_t linnet_beam_num_hypotheses(const struct linnet_beam *beam);

/* The hypothesis of rank `index`, 0 is the best; its segments are valid until the next call on the object. Before
 * linnet_beam_finish this is the partial result. LINNET_ERROR_ARGUMENT if there are not so many. */
LINNET_API enum linnet_status linnet_beam_hypothesis(struct linnet_beam *beam, size_t index,
                                                     struct linnet_hypothesis *hypothesis);

/* The number of first symbols that all hypotheses share: whatever comes, every later result begins with them. Their
 * times may still change. */
LINNET_API size_t linnet_beam_num_stable_symbols(const struct linnet_beam *beam);

/* Bytes of memory that the object holds. */
LINNET_API size_t linnet_beam_memory_bytes(const struct linnet_beam *beam);

/* Starts over at frame 0, keeping the memory. */
LINNET_API void linnet_beam_reset(struct linnet_beam *beam);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_beam_destroy(struct linnet_beam *beam);

#ifdef __cplusplus
}
#endif
#endif
