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

/* Counts of the alignment between a reference and a hypothesis with the minimum cost (see linnet_score_add). The
 * minimum number of errors (Levenshtein), as Kaldi's compute-wer counts, may be slightly lower. */
struct linnet_score {
  size_t num_reference; /* tokens in the reference; num_reference - num_substitutions - num_deletions are correct */
  size_t num_substitutions, num_insertions, num_deletions;
};

/* Aligns two token sequences, compared as numbers, and adds the counts to *score. Among alignments of equal cost the
 * choice is that of NIST sclite (costs: substitution 4, insertion 3, deletion 3). Memory grows with the square root of
 * the reference's length times the hypothesis's; LINNET_ERROR_LIMIT above 2^18 tokens or a product of 2^33. For a whole
 * corpus, linnet_scorer is more convenient. */
LINNET_API enum linnet_status linnet_score_add(struct linnet_context *context, const int *reference,
                                               size_t num_reference, const int *hypothesis, size_t num_hypothesis,
                                               struct linnet_score *score);

/* Errors over reference tokens, in percent; 0 for an empty reference without errors, infinity with errors. */
LINNET_API double linnet_score_percent(const struct linnet_score *score);

/* Writes Kaldi's summary line without its newline, truncated to `size` bytes: "%NAME 12.34 [ 56 / 789, 1 ins, 2 del, 3
 * sub ]"; "%NAME n/a [ ..." without reference tokens. LINNET_SCORE_LINE bytes are enough for names of up to 16 bytes.
 */
enum { LINNET_SCORE_LINE = 160 };
LINNET_API void linnet_score_line(const struct linnet_score *score, const char *name, char *line, size_t size);

struct linnet_lattice_reader; /* lattice.h */

/* --- the scorer ------------------------------------------------------------------------------------------------ */

struct linnet_scorer;

struct linnet_scorer_settings {
  size_t size;      /* set by ..._default */
  int strip_stress; /* drop the stress digits 0, 1, 2 at the end of tokens; default 0 */
  int allow_extra;  /* linnet_scorer_add_transcripts skips, with a warning, hypotheses without reference; default 0 */
  int fold_case;    /* compare tokens in lower case (letters up to U+052F and from U+1E00 to U+1EFF); default 0 */
};

LINNET_API void linnet_scorer_settings_default(struct linnet_scorer_settings *settings, size_t size);
#define linnet_scorer_settings_default(settings) linnet_scorer_settings_default(settings, sizeof *(settings))

/* `settings` may be NULL. */
LINNET_API enum linnet_status linnet_scorer_create(struct linnet_context *context,
                                                   const struct linnet_scorer_settings *settings,
                                                   struct linnet_scorer **scorer);

/* These set how the scorer changes the tokens of both sides before it compares them. It first folds case, then maps
 * each token (once: it does not map the result again), then strips stress, then drops the ignored tokens. With
 * `strip_stress`, a map may have tokens without their stress digits: if it lacks a token, the scorer looks it up again
 * without its digit. With `fold_case`, maps and ignored tokens apply to both cases. `to` NULL drops the token. Call
 * them before the first utterance; later they fail with LINNET_ERROR_STATE. */
LINNET_API enum linnet_status linnet_scorer_map(struct linnet_scorer *scorer, const char *from, const char *to);
LINNET_API enum linnet_status linnet_scorer_ignore(struct linnet_scorer *scorer, const char *token);

/* Reads a map with lines "FROM TO", or "FROM" alone to drop the token. Lines that begin with ";;;" or with "#" followed
 * by white space are comments. */
LINNET_API enum linnet_status linnet_scorer_load_map(struct linnet_scorer *scorer, const char *path);

/* Adds an utterance. The scorer copies the strings. `speaker` NULL means no speaker. A repeated id is an error. Arrays
 * may be NULL if their count is 0. On failure the scorer is unchanged. */
LINNET_API enum linnet_status linnet_scorer_add(struct linnet_scorer *scorer, const char *id, const char *speaker,
                                                const char *const *reference, size_t num_reference,
                                                const char *const *hypothesis, size_t num_hypothesis);

/* Adds an utterance that has no hypothesis: all its tokens count as deleted. */
LINNET_API enum linnet_status linnet_scorer_add_missing(struct linnet_scorer *scorer, const char *id,
                                                        const char *speaker, const char *const *reference,
                                                        size_t num_reference);

/* Adds all utterances of `reference`, in its order. Those that `hypothesis` does not have count as missing. A
 * hypothesis without reference is an error (see allow_extra). `speakers` (id, speaker) may be NULL; otherwise it must
 * have all utterances. */
LINNET_API enum linnet_status linnet_scorer_add_transcripts(struct linnet_scorer *scorer,
                                                            const struct linnet_transcripts *reference,
                                                            const struct linnet_transcripts *hypothesis,
                                                            const struct linnet_transcripts *speakers);

/* The oracle error rate: the hypothesis of an utterance is the path of its lattice with the minimum edit distance from
 * the reference, after the changes of linnet_scorer_map. Utterances without a lattice, and those whose lattice has no
 * path, count as missing. `symbols` has the names of the lattices' symbols; it may be the table to which the reader
 * adds names. */
LINNET_API enum linnet_status linnet_scorer_add_lattices(struct linnet_scorer *scorer,
                                                         const struct linnet_transcripts *reference,
                                                         struct linnet_lattice_reader *reader,
                                                         const struct linnet_symbols *symbols,
                                                         const struct linnet_transcripts *speakers);

/* The same for n-best lists: the hypotheses of utterance ID have the ids ID-1, ID-2 ... */
LINNET_API enum linnet_status linnet_scorer_add_nbest(struct linnet_scorer *scorer,
                                                      const struct linnet_transcripts *reference,
                                                      const struct linnet_transcripts *hypotheses,
                                                      const struct linnet_transcripts *speakers);

/* Destroys the scorer; NULL is allowed. */
LINNET_API void linnet_scorer_destroy(struct linnet_scorer *scorer);

/* --- results --------------------------------------------------------------------------------------------------- */

/* Sums over all utterances, or over those of one speaker. */
struct linnet_score_sum {
  const char *name; /* the speaker; NULL in the total; lives as long as the scorer */
  struct linnet_score score;
  size_t num_utterances, num_wrong; /* wrong: with at least one error */
  size_t num_missing;
};

/* Sums over all utterances. */
LINNET_API struct linnet_score_sum linnet_scorer_sum(const struct linnet_scorer *scorer);

/* Speakers in the order of their first utterances. `index` is in [0, count). */
LINNET_API size_t linnet_scorer_num_speakers(const struct linnet_scorer *scorer);
LINNET_API struct linnet_score_sum linnet_scorer_speaker(const struct linnet_scorer *scorer, size_t index);

struct linnet_scored_utterance {
  const char *id, *speaker; /* speaker NULL: none; both live as long as the scorer */
  struct linnet_score score;
  int missing;
  size_t num_pairs; /* length of the alignment */
};

/* Utterances in the order in which they were added. `index` is in [0, count). */
LINNET_API size_t linnet_scorer_num_utterances(const struct linnet_scorer *scorer);
LINNET_API struct linnet_scored_utterance linnet_scorer_utterance(const struct linnet_scorer *scorer, size_t index);

/* One step of an alignment. Equal tokens are correct, different ones are a substitution. `reference` NULL is an
 * insertion, `hypothesis` NULL a deletion. Strings live as long as the scorer. */
struct linnet_score_pair {
  const char *reference, *hypothesis;
};

/* Writes the alignment of one utterance into pairs (linnet_scorer_utterance().num_pairs). */
LINNET_API void linnet_scorer_alignment(const struct linnet_scorer *scorer, size_t index,
                                        struct linnet_score_pair *pairs);

/* A pair of different tokens and how often it occurs. */
struct linnet_confusion {
  struct linnet_score_pair pair; /* never two equal tokens */
  size_t num_occurrences;
};

/* All confusions, the most frequent first; equally frequent ones in the order of their tokens' bytes. The array is
 * valid until the next non-const call on the scorer. */
LINNET_API enum linnet_status linnet_scorer_confusions(struct linnet_scorer *scorer,
                                                       const struct linnet_confusion **confusions, size_t *count);

/* The unit that the bootstrap draws: utterances, or speakers with all their utterances (errors of one speaker are not
 * independent). */
enum linnet_bootstrap_unit { LINNET_BOOTSTRAP_UTTERANCE = 0, LINNET_BOOTSTRAP_SPEAKER = 1 };

struct linnet_interval {
  double low, high;      /* percent: the 2.5 % and 97.5 % quantiles */
  double standard_error; /* percent */
};

/* The 95 % interval of the error rate by the bootstrap (Bisani and Ney 2004): each of `resamples` samples (1 to 10^6;
 * 1000 is usual) draws as many units as the corpus has, with replacement. Random numbers come from Philox, so that the
 * same seed and the same utterances give the same interval on every machine. Samples without reference tokens are
 * left out; the bounds are NaN if no sample is left. LINNET_ERROR_STATE if all references are empty. For
 * LINNET_BOOTSTRAP_SPEAKER each utterance must have a speaker. */
LINNET_API enum linnet_status linnet_scorer_bootstrap(struct linnet_scorer *scorer, enum linnet_bootstrap_unit unit,
                                                      size_t resamples, uint64_t seed,
                                                      struct linnet_interval *interval);

/* Two systems on the same utterances. */
struct linnet_comparison {
  double difference;               /* percentage points: the error rate of `other` less that of `scorer` */
  struct linnet_interval interval; /* of the difference */
  double probability;              /* of improvement: the part of the resamples in which `other` has the lower rate */
};

/* Compares by the bootstrap, with the same resamples for both (Bisani and Ney 2004, section 3). Both scorers must have
 * the same utterances, in any order, with references of the same length and, for LINNET_BOOTSTRAP_SPEAKER, the same
 * speakers: else LINNET_ERROR_ARGUMENT. The other arguments are those of linnet_scorer_bootstrap. */
LINNET_API enum linnet_status linnet_scorer_compare(struct linnet_scorer *scorer, const struct linnet_scorer *other,
                                                    enum linnet_bootstrap_unit unit, size_t resamples, uint64_t seed,
                                                    struct linnet_comparison *comparison);

#ifdef __cplusplus
}
#endif
#endif
