/* Scoring of a corpus: error rates of words, phones or any other tokens.
 *
 *   struct linnet_scorer *scorer;
 *   linnet_scorer_create(context, NULL, &scorer);
 *   linnet_scorer_add(scorer, "utt1", "spk1", reference, num_reference, hypothesis, num_hypothesis);
 *   linnet_scorer_add_missing(scorer, "utt2", "spk1", reference, num_reference);
 *   struct linnet_score_sum total = linnet_scorer_sum(scorer);
 *   char line[LINNET_SCORE_LINE];
 *   linnet_score_line(&total.score, "PER", line, sizeof line);   // %PER 12.34 [ 56 / 789, 1 ins, 2 del, 3 sub ]
 *
 * Error rates are corpus-level: errors of all utterances over reference tokens of all utterances. The alignment is NIST
 * sclite's (see linnet_score_add).
 *
 * Threads: one scorer, one thread at a time.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_SCORE_H
#define LINNET_SCORE_H

#include <stdint.h>

#include <linnet/lexicon.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts of an alignment of least errors (Levenshtein) between a reference and a hypothesis. */
struct linnet_score {
  size_t num_reference; /* tokens in the reference; num_reference - num_substitutions - num_deletions are correct */
  size_t num_substitutions, num_insertions, num_deletions;
};

/* Aligns two token sequences, compared as numbers, and adds the counts to *score. Among alignments of equal cost the
 * choice is that of NIST sclite (costs: substitution 4, insertion 3, deletion 3). Memory grows with the square root of
 * the reference's length times the hypothesis's; LINNET_ERROR_LIMIT beyond 2^18 tokens or a product of 2^33. A
 * corpus is scored more comfortably by a linnet_scorer. */
LINNET_API enum linnet_status linnet_score_add(struct linnet_context *context, const int *reference,
                                               size_t num_reference, const int *hypothesis, size_t num_hypothesis,
                                               struct linnet_score *score);

/* Errors over reference tokens, in percent; 0 for an empty reference without errors, infinity with errors. */
LINNET_API double linnet_score_percent(const struct linnet_score *score);

/* Kaldi's summary line without its newline, cut to `size` bytes: "%NAME 12.34 [ 56 / 789, 1 ins, 2 del, 3 sub ]".
 * LINNET_SCORE_LINE bytes are enough for names of up to 16. */
enum { LINNET_SCORE_LINE = 160 };
LINNET_API void linnet_score_line(const struct linnet_score *score, const char *name, char *line, size_t size);

struct linnet_lattice_reader; /* lattice.h */

/* --- the scorer ------------------------------------------------------------------------------------------------ */

struct linnet_scorer;

struct linnet_scorer_settings {
  size_t size;      /* set by ..._default */
  int strip_stress; /* drop the stress digits 0, 1, 2 at the end of tokens; default 0 */
  int allow_extra;  /* linnet_scorer_add_transcripts skips, with a warning, hypotheses without reference; default 0 */
};

LINNET_API void linnet_scorer_settings_default(struct linnet_scorer_settings *settings, size_t size);
#define linnet_scorer_settings_default(settings) linnet_scorer_settings_default(settings, sizeof *(settings))

/* `settings` may be NULL. */
LINNET_API enum linnet_status linnet_scorer_create(struct linnet_context *context,
                                                   const struct linnet_scorer_settings *settings,
                                                   struct linnet_scorer **scorer);

/* What happens to tokens of both sides before they are compared, in this order: stress is stripped, then they are
 * mapped (once: the result is not mapped again), then ignored ones are dropped. `to` NULL drops the token. To be called
 * before the first utterance is added, else LINNET_ERROR_STATE. */
LINNET_API enum linnet_status linnet_scorer_map(struct linnet_scorer *scorer, const char *from, const char *to);
LINNET_API enum linnet_status linnet_scorer_ignore(struct linnet_scorer *scorer, const char *token);

/* Reads a map: lines "FROM TO", or "FROM" alone to drop it; lines that begin with ";;;" or a lone "#" are comments. */
LINNET_API enum linnet_status linnet_scorer_load_map(struct linnet_scorer *scorer, const char *path);

/* Adds an utterance: strings are copied; `speaker` may be NULL (none). An id that was added before is an error. Arrays
 * may be NULL if their count is 0. On failure nothing was added. */
LINNET_API enum linnet_status linnet_scorer_add(struct linnet_scorer *scorer, const char *id, const char *speaker,
                                                const char *const *reference, size_t num_reference,
                                                const char *const *hypothesis, size_t num_hypothesis);

/* Adds an utterance that has no hypothesis: all its tokens count as deleted. */
LINNET_API enum linnet_status linnet_scorer_add_missing(struct linnet_scorer *scorer, const char *id,
                                                        const char *speaker, const char *const *reference,
                                                        size_t num_reference);

/* Adds all utterances of `reference`, in its order; those not in `hypothesis` as missing. A hypothesis without
 * reference is an error (see allow_extra). `speakers` (id, speaker) may be NULL; else it must name all. */
LINNET_API enum linnet_status linnet_scorer_add_transcripts(struct linnet_scorer *scorer,
                                                            const struct linnet_transcripts *reference,
                                                            const struct linnet_transcripts *hypothesis,
                                                            const struct linnet_transcripts *speakers);

/* The oracle: what could have been recognised. Of each lattice the path that is nearest to the reference (least edit
 * distance of tokens as they are compared) counts as the hypothesis; utterances without a lattice, or whose lattice has
 * no path, count as missing. `symbols` names the lattices' symbols; it may be the table that the reader adds to. */
LINNET_API enum linnet_status linnet_scorer_add_lattices(struct linnet_scorer *scorer,
                                                         const struct linnet_transcripts *reference,
                                                         struct linnet_lattice_reader *reader,
                                                         const struct linnet_symbols *symbols,
                                                         const struct linnet_transcripts *speakers);

/* The same of n-best lists: the hypotheses of utterance ID are called ID-1, ID-2 ... */
LINNET_API enum linnet_status linnet_scorer_add_nbest(struct linnet_scorer *scorer,
                                                      const struct linnet_transcripts *reference,
                                                      const struct linnet_transcripts *hypotheses,
                                                      const struct linnet_transcripts *speakers);

/* Destroys the scorer; NULL is allowed. */
LINNET_API void linnet_scorer_destroy(struct linnet_scorer *scorer);

/* --- results --------------------------------------------------------------------------------------------------- */

/* Sums over utterances: of all, or of one speaker. */
struct linnet_score_sum {
  const char *name; /* the speaker, NULL in the total; lives as long as the scorer */
  struct linnet_score score;
  size_t num_utterances, num_wrong; /* wrong ones have at least one error */
  size_t num_missing;
};

/* Sums over all utterances. */
LINNET_API struct linnet_score_sum linnet_scorer_sum(const struct linnet_scorer *scorer);

/* Speakers in the order in which they came. `index` is in [0, count). */
LINNET_API size_t linnet_scorer_num_speakers(const struct linnet_scorer *scorer);
LINNET_API struct linnet_score_sum linnet_scorer_speaker(const struct linnet_scorer *scorer, size_t index);

struct linnet_scored_utterance {
  const char *id, *speaker; /* speaker NULL: none; both live as long as the scorer */
  struct linnet_score score;
  int missing;
  size_t num_pairs; /* length of the alignment */
};

/* Utterances in the order in which they came. `index` is in [0, count). */
LINNET_API size_t linnet_scorer_num_utterances(const struct linnet_scorer *scorer);
LINNET_API struct linnet_scored_utterance linnet_scorer_utterance(const struct linnet_scorer *scorer, size_t index);

/* One step of an alignment: equal tokens are correct, different ones a substitution, NULL on one side is an insertion
 * (no reference) or a deletion (no hypothesis). Strings live as long as the scorer. */
struct linnet_score_pair {
  const char *reference, *hypothesis;
};

/* The alignment of one utterance into pairs (linnet_scorer_utterance().num_pairs). */
LINNET_API void linnet_scorer_alignment(const struct linnet_scorer *scorer, size_t index,
                                        struct linnet_score_pair *pairs);

/* How often one token was put for another. */
struct linnet_confusion {
  struct linnet_score_pair pair; /* never correct */
  size_t num_occurrences;
};

/* All confusions, the most frequent first, equal ones in the order of their tokens' bytes. The array is valid until
 * the next call on the scorer that is not const. */
LINNET_API enum linnet_status linnet_scorer_confusions(struct linnet_scorer *scorer,
                                                       const struct linnet_confusion **confusions, size_t *count);

/* What the bootstrap draws: utterances, or speakers with all their utterances (errors of one speaker are related). */
enum linnet_bootstrap_unit { LINNET_BOOTSTRAP_UTTERANCE = 0, LINNET_BOOTSTRAP_SPEAKER = 1 };

struct linnet_interval {
  double low, high;      /* percent: the 2.5 % and 97.5 % quantiles */
  double standard_error; /* percent */
};

/* The 95 % interval of the error rate by the bootstrap (Bisani and Ney 2004): as many units as there are are drawn
 * with replacement, `resamples` times (1 to 10^6; 1000 is usual). Random numbers are Philox's, so the same seed and the
 * same utterances give the same interval everywhere. Speakers: each utterance must have one. */
LINNET_API enum linnet_status linnet_scorer_bootstrap(struct linnet_scorer *scorer, enum linnet_bootstrap_unit unit,
                                                      size_t resamples, uint64_t seed,
                                                      struct linnet_interval *interval);

#ifdef __cplusplus
}
#endif
#endif
