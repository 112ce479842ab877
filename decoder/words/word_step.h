/* One frame of the search for words, in parts: how states follow one another (word_flow.c), what stays and what is new
 * (word_expand.c), the next beam (word_beam.c). */
#ifndef LINNET_WORD_STEP_H
#define LINNET_WORD_STEP_H

#include "decoder/words/word_beam.h"

/* A frame under way. */
struct linnet_word_step {
  struct linnet_word_search *search;
  struct linnet_row row;
  double to_beat;     /* a candidate below this score is not in the beam */
  size_t count;       /* candidates */
  size_t place_count; /* of them new */
  uint32_t serial;    /* of the newest */
  double token_scale; /* brings the probability of the best token near 1 */
};

/* --- word_flow.c */

/* The first of the list of a word sequence's states that are between words or at the end of one. */
uint32_t linnet_word_first_state(const struct linnet_word_search *s, uint32_t history);

/* Puts all states from which a place is reached into `sources`. `parent` is the state before it in the same word. */
void linnet_word_find_sources(struct linnet_word_search *s, struct linnet_word_place to, uint32_t parent);

/* Factor of the probability of entering a place. */
static inline double linnet_word_arrive(const struct linnet_word_tree *tree, uint32_t node) {
  return linnet_word_is_loop(tree, node) ? tree->arrive : 1.0;
}

/* What the sources bring to a node. */
double linnet_word_inflow(const struct linnet_word_search *s, uint32_t node, uint32_t symbol);

/* The same of a state; most have no source, or one. */
double linnet_word_inflow_of(struct linnet_word_search *s, const struct linnet_word_state *state);

/* The weight of a place: that of a state it is reached from, without what that looked ahead, with the word added
 * between them and what the place looks ahead. */
double linnet_word_weight_of(const struct linnet_word_search *s, struct linnet_word_place to, uint32_t from);

/* --- word_expand.c */

/* Puts the places of the beam into the table, and nothing else. */
void linnet_word_fill_table(struct linnet_word_search *s);

/* Finds what the frame makes of the beam: the candidates of the next one, best first; returns their number. */
size_t linnet_word_expand(struct linnet_word_step *f);

#endif
