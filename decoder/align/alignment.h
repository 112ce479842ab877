/* The parts of forced alignment: the graph of the allowed symbol sequences, the frames, the best path, and the measures
 * on it. */
#ifndef LINNET_ALIGNMENT_H
#define LINNET_ALIGNMENT_H

#include <stddef.h>

#include <linnet/align.h>

#include "base/base.h"
#include "decoder/base/calibration.h"

/* --- the graph (align_graph.c) ------------------------------------------------------------------------------------ */

/* The states of a text under the CTC topology. Each word has an anchor, which is the blank before it, and a chain of
 * states per pronunciation: labels at even offsets, and blanks between them. A last anchor ends the text:
 *
 *   anchor 0 | l0 blank l1 ... (variant 0) | l0 blank l1 ... (variant 1) | anchor 1 | ...
 *
 * Steps lead from lower to higher states. Nearly all come from the state itself, the one before it or the one before
 * that, as in plain CTC; those that branch and join around variants are in a list of arcs. */

enum { LINNET_ALIGN_MAX_STATES = 1 << 30 };

struct linnet_align_arc {
  uint32_t from, to;
};

struct linnet_align_state {
  int symbol;       /* 0 is the blank */
  uint32_t word;    /* of an anchor: the word after it */
  uint32_t variant; /* of a label or the blank after it */
};

/* Release with linnet_align_graph_clear. */
struct linnet_align_graph {
  struct linnet_context *context;
  size_t count, words, num_arcs;
  size_t min_frames;                /* minimum length of a path through all words */
  struct linnet_align_state *state; /* (count) */
  double *step, *skip;              /* (count): 0 where s - 1 -> s, s - 2 -> s is allowed, else -infinity */
  struct linnet_align_arc *arc;     /* (num_arcs): the other steps, in the order of `to`, then of `from` */
  uint32_t *anchor;                 /* (words + 1) */
};

enum linnet_status linnet_align_graph_build(struct linnet_context *context, const struct linnet_align_word *words,
                                            size_t count, struct linnet_align_graph *graph);

void linnet_align_graph_clear(struct linnet_align_graph *graph);

/* The first arc that leads to `state` or beyond. */
size_t linnet_align_graph_first_arc(const struct linnet_align_graph *graph, size_t state);

/* True if the text may end in the state: the last anchor and the last labels of the last word. */
bool linnet_align_graph_is_final(const struct linnet_align_graph *graph, size_t state);

/* --- the best path (align_viterbi.c) ------------------------------------------------------------------------------ */

/* The most probable path through a graph of states. */

/* In a path: a frame outside the text. */
#define LINNET_ALIGN_OUTSIDE UINT32_MAX

struct linnet_align_problem {
  struct linnet_context *context;
  const struct linnet_align_graph *graph;
  const float *log_posteriors; /* (frames, symbols) */
  size_t frames, symbols;
  bool jumps;
  double jump_cost, frame_cost; /* see struct linnet_align_settings */
  size_t band;                  /* states searched per frame; all if it is not below the number of states */
  size_t block;                 /* frames per block; 0: chosen by memory */
};

struct linnet_align_path {
  double score;    /* -infinity: no path was found */
  uint32_t *state; /* (frames), the caller's: state or LINNET_ALIGN_OUTSIDE */
  bool near_edge;  /* the path comes near the edge of a band that does not contain all states */
};

/* LINNET_OK, LINNET_ERROR_MEMORY or LINNET_ERROR_CANCELLED. */
enum linnet_status linnet_align_viterbi(const struct linnet_align_problem *problem, struct linnet_align_path *path);

/* --- one frame (align_frame.c) ------------------------------------------------------------------------------------ */

/* Internals of the search for the best path: the values of one frame, and the step to the next. */

/* Where the best path to a state came from: a number of states back within the chain, or LINNET_FROM_ARC + the number
 * of the arc. LINNET_FROM_OUTSIDE: to an anchor, from the state outside the text at the same frame. */
enum { LINNET_FROM_SELF = 0, LINNET_FROM_STEP = 1, LINNET_FROM_SKIP = 2, LINNET_FROM_OUTSIDE = 3, LINNET_FROM_ARC = 4 };
_Static_assert(LINNET_FROM_ARC + LINNET_ALIGN_MAX_VARIANTS + 1 <= UINT8_MAX, "a byte names every arc to a state");

enum { LINNET_ALIGN_PADDING = 2 }; /* states before the first, always -infinity */

struct linnet_align_row {
  double *value; /* (LINNET_ALIGN_PADDING + states): -infinity outside [low, high) */
  size_t low, high;
  double outside; /* o_t */
};

struct linnet_align_search {
  const struct linnet_align_problem *p;
  const struct linnet_align_graph *graph;
  size_t states, band, height, blocks; /* height: frames of a block */
  double *emission;                    /* (symbols): of one frame */
  double outside_emission;
  struct linnet_align_row before, now;
  double *saved;          /* (blocks, band): values before each block */
  double *saved_outside;  /* (blocks) */
  uint32_t *low;          /* (frames): of the band at each frame, low[t + 1] being that of frame t; low[0]: the start */
  uint8_t *from;          /* (height, band) */
  uint32_t *outside_from; /* (height): the state that o came from, or LINNET_ALIGN_OUTSIDE */
};

/* Computes frame t from `before`, in a band that starts at `low`. The result is `before` of the next frame. from (band)
 * and *outside_from get where the path to each value came from. */
void linnet_align_advance(struct linnet_align_search *search, size_t t, size_t low, uint8_t *from,
                          uint32_t *outside_from);

/* --- the alignment (align.c) -------------------------------------------------------------------------------------- */

/* Internals of an alignment: the data of its search, and the object that holds the result. */

struct linnet_alignment {
  struct linnet_context *context;
  double score;
  struct linnet_aligned_phone *phones;
  struct linnet_aligned_word *words;
  struct linnet_align_jump *jumps;
  size_t num_phones, phone_capacity, num_words, word_capacity, num_jumps, jump_capacity;
};

/* All that making an alignment needs. */
struct linnet_align_maker {
  struct linnet_context *context;
  const float *log_posteriors;
  size_t frames, symbols;
  const struct linnet_align_word *words;
  size_t count;
  struct linnet_align_settings settings;
  struct linnet_calibrations calibrations;
  struct linnet_align_graph graph;
  struct linnet_align_path path;
  struct linnet_alignment *result;
};

static inline enum linnet_status linnet_align_out_of_memory(const struct linnet_align_maker *maker) {
  return linnet_fail(maker->context, LINNET_ERROR_MEMORY, "out of memory for the alignment of %zu words", maker->count);
}

/* Turns the path into phones, words and jumps. LINNET_ERROR_MEMORY or LINNET_OK. */
enum linnet_status linnet_align_read_path(struct linnet_align_maker *maker);

/* Confidence and goodness of pronunciation of all phones and words. */
enum linnet_status linnet_align_measure(const struct linnet_align_maker *maker);

/* --- goodness of pronunciation (align_measure.c) ------------------------------------------------------------------ */

/* Goodness of pronunciation of one phone from CTC posteriors: defined in linnet/align.h. */

/* The frames between the neighbours of a phone. */
struct linnet_gop_window {
  const float *log_posteriors; /* (frames, symbols) */
  size_t frames, symbols;
  int symbol;        /* the phone */
  int before, after; /* symbols that end right before and begin right after these frames, 0 for none */
};

/* At most 0; -infinity where the phone is impossible. */
double linnet_gop(const struct linnet_gop_window *window);

#endif
