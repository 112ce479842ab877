/* The insides of a scorer, shared by what fills it (scorer.c, scorer_transcripts.c, scorer_oracle.c) and what evaluates
 * it (scorer_statistics.c). */
#ifndef LINNET_SCORER_H
#define LINNET_SCORER_H

#include <linnet/score.h>

#include "decoder/base/names.h"
#include "decoder/scoring/edit_distance.h"

/* An utterance: where its tokens and its alignment lie. The hypothesis follows the reference. */
struct linnet_scored {
  size_t speaker; /* index, or LINNET_NOT_FOUND */
  size_t token, num_reference, num_hypothesis;
  size_t edit, edit_count;
  struct linnet_score score;
  bool lost;
};

struct linnet_scorer {
  struct linnet_context *context;
  struct linnet_scorer_settings settings;
  struct linnet_names vocabulary; /* tokens, as they are compared */
  struct linnet_names map_from, ignored;
  size_t *map_to; /* (map_from.count): index in the vocabulary, LINNET_NOT_FOUND drops the token */
  size_t map_capacity;
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
  struct linnet_confusion *confusions; /* what linnet_scorer_confusions gave last */
};

/* What a token counts as: its index in the vocabulary, or LINNET_NOT_FOUND if it is dropped. */
enum linnet_status linnet_scorer_normalise(struct linnet_scorer *scorer, const char *token, size_t *index);

/* The speaker of an utterance in a table of lines "ID SPEAKER"; NULL without a table. */
enum linnet_status linnet_scorer_find_speaker(struct linnet_scorer *scorer, const struct linnet_transcripts *speakers,
                                              const char *id, const char **speaker);

/* Of `count` hypotheses `extra` have no reference: an error, or a warning if the settings allow it. */
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
