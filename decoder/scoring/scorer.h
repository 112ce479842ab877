/* Internals of scoring: what a scorer collects, and the edit distance. */
#ifndef LINNET_SCORER_H
#define LINNET_SCORER_H

#include <linnet/score.h>

#include "base/base.h"
#include "decoder/base/names.h"

/* --- edit distance ------------------------------------------------------------------------------------------------ */

/* The alignment with the minimum cost between two sequences, as NIST sclite chooses it. */

enum linnet_edit { LINNET_EDIT_MATCH, LINNET_EDIT_SUBSTITUTION, LINNET_EDIT_INSERTION, LINNET_EDIT_DELETION };

enum { LINNET_EDIT_COST_SUBSTITUTION = 4, LINNET_EDIT_COST_INSERTION = 3, LINNET_EDIT_COST_DELETION = 3 };

/* Writes the steps (enum linnet_edit) from start to end into edits (n + m, the caller's) and their number to *count.
 * Among equal costs, traced back from the end, the diagonal step is preferred, then the insertion, then the deletion,
 * as in sclite. */
enum linnet_status linnet_align(struct linnet_context *context, const int *reference, size_t n, const int *hypothesis,
                                size_t m, uint8_t *edits, size_t *count);

/* Adds the counts of an alignment. */
void linnet_count_edits(const uint8_t *edits, size_t count, struct linnet_score *score);

/* --- the scorer --------------------------------------------------------------------------------------------------- */

/* Internals of a scorer. scorer.c and scorer_oracle.c fill it, scorer_statistics.c evaluates it. */

/* An utterance: the offsets of its tokens and its alignment. The tokens of the hypothesis follow those of the
 * reference. */
struct linnet_scored {
  size_t speaker; /* index, or LINNET_NOT_FOUND */
  size_t token, num_reference, num_hypothesis;
  size_t edit, edit_count;
  struct linnet_score score;
  bool missing;
};

struct linnet_scorer {
  struct linnet_context *context;
  struct linnet_scorer_settings settings;
  struct linnet_names vocabulary; /* tokens, as they are compared */
  struct linnet_names map_from, ignored;
  size_t *map_to; /* (map_from.count): index in the vocabulary, LINNET_NOT_FOUND drops the token */
  size_t map_capacity;
  char *folded; /* a token in lower case */
  size_t folded_capacity;
  struct linnet_names ids, speakers;
  struct linnet_scored *utterances; /* (ids.count) */
  size_t utterance_capacity;
  struct linnet_score_sum *sums; /* (speakers.count) */
  size_t sum_capacity;
  struct linnet_score_sum total;
  int *tokens; /* of all utterances: indices in the vocabulary */
  size_t token_count, token_capacity;
  uint8_t *edits; /* alignments of all utterances: enum linnet_edit */
  size_t edit_count, edit_capacity;
  struct linnet_confusion *confusions; /* the last result of linnet_scorer_confusions */
};

/* The index of a normalised token in the vocabulary, or LINNET_NOT_FOUND if the token is dropped. */
enum linnet_status linnet_scorer_normalise(struct linnet_scorer *scorer, const char *token, size_t *index);

/* The speaker of an utterance in a table of lines "ID SPEAKER"; NULL without a table. */
enum linnet_status linnet_scorer_find_speaker(struct linnet_scorer *scorer, const struct linnet_transcripts *speakers,
                                              const char *id, const char **speaker);

/* Reports that `extra` of `count` hypotheses have no reference: an error, or a warning if the settings allow it. */
enum linnet_status linnet_scorer_judge_extra(const struct linnet_scorer *scorer, size_t extra, size_t count,
                                             const char *first);

/* One step of an alignment; *reference and *hypothesis are the indices of the next tokens, and move. */
static inline struct linnet_score_pair linnet_scorer_step(const struct linnet_scorer *scorer, uint8_t edit,
                                                          size_t *reference, size_t *hypothesis) {
  struct linnet_score_pair pair = {NULL, NULL};
  if (edit != LINNET_EDIT_INSERTION)
    pair.reference = linnet_names_text(&scorer->vocabulary, (size_t)scorer->tokens[(*reference)++]);
  if (edit != LINNET_EDIT_DELETION)
    pair.hypothesis = linnet_names_text(&scorer->vocabulary, (size_t)scorer->tokens[(*hypothesis)++]);
  return pair;
}

#endif
