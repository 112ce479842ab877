/* The most probable path through a graph of states. */
#ifndef LINNET_ALIGN_VITERBI_H
#define LINNET_ALIGN_VITERBI_H

#include "decoder/align/align_graph.h"

/* In a path: a frame outside the text. */
#define LINNET_ALIGN_OUTSIDE UINT32_MAX

struct linnet_align_problem {
  struct linnet_context *context;
  const struct linnet_align_graph *graph;
  const float *log_posteriors; /* (frames, symbols) */
  size_t frames, symbols;
  bool jumps;
  double jump_cost, frame_cost; /* see struct linnet_align_settings */
  size_t band;                  /* states searched per frame; at least the number of states: all */
  size_t block;                 /* frames whose back-pointers are held at once; 0: chosen by memory */
};

struct linnet_align_path {
  double score;    /* -infinity: no path was found */
  uint32_t *state; /* (frames), the caller's: state or LINNET_ALIGN_OUTSIDE */
  bool near_edge;  /* the path comes near the edge of a band that leaves states out */
};

/* LINNET_OK, LINNET_ERROR_MEMORY or LINNET_ERROR_CANCELLED. */
enum linnet_status linnet_align_viterbi(const struct linnet_align_problem *problem, struct linnet_align_path *path);

#endif
