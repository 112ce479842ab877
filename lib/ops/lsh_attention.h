/* LSH attention (Kitaev, Kaiser, Levskaya 2020, "Reformer: the efficient transformer"), per head with C = key_width:
 * the C reference, and what the kernels of instruction sets share with it.
 *
 * Queries are keys: key_j = q_j / sqrt(|q_j|^2 + epsilon), score s_ij = q_i . key_j / sqrt(C). In each round
 *
 *   rotate    x_i = q_i R, R (C, buckets / 2) normal, the same for all heads and sequences
 *   hash      bucket_i = argmax [x_i; -x_i], the first of equals (Andoni et al. 2015)
 *   sort      frames by (bucket, position), cut into chunks of `chunk` rows; a sequence's last chunk may be short
 *   attend    to the rows of the own bucket in the own chunk and in the one before (the first has none before it);
 *             causal: to those of them that are not later in time
 *
 * and rounds are combined by the logarithm of the sum of their exponentials, out = sum_r exp(lse_r - lse) out_r: that
 * is one softmax over the pairs (round, key). The own position is scored LINNET_LSH_SELF lower, so that it counts where
 * nothing else does. Buckets carry no gradient.
 *
 * Where the paper leaves a choice, or the choice is ours:
 * - a key that several rounds find counts several times (the paper's appendix subtracts log N_ij, the authors' code
 *   leaves that to an option);
 * - scores are divided by sqrt(C), as those of softmax attention; the authors' code normalises keys without it;
 * - epsilon keeps the key of a zero vector zero, and its gradient finite;
 * - the first chunk does not wrap around to the last one;
 * - R's elements come from Philox(key = seed, counter = (step << 32 | site, round << 32 | element / 4)): its words 0, 1
 *   make elements 0, 1 of the four by Box and Muller's transform, words 2, 3 elements 2, 3.
 *
 * In the causal form no later frame is attended to, but the later ones move the bounds of chunks: which earlier frames
 * are seen depends on them. There is no step.
 *
 * Time is O(rounds T (C buckets + chunk C)), memory O(rounds T); nothing is (T, T). */
#ifndef LINNET_LSH_ATTENTION_H
#define LINNET_LSH_ATTENTION_H

#include "ops/attention.h"

#define LINNET_LSH_SELF (-1e5)
#define LINNET_LSH_EPSILON 1e-6

/* A place in the sorted order of a sequence. */
struct linnet_lsh_row {
  uint32_t frame; /* in the batch */
  uint32_t bucket;
};

/* What forward leaves to backward. With m = largest and l = sum, the weight of a pair is exp(s_ij - m_i) / l_i. */
struct linnet_lsh_saved {
  real *largest, *sum;           /* (heads, frames): over all rounds */
  struct linnet_lsh_row *sorted; /* (rounds, heads, frames): each sequence sorted by itself */
};
struct linnet_lsh_saved linnet_lsh_saved(const struct linnet_attention *a, size_t frames, void *saved);

/* Rows first ... end - 1 of the sorted order, of one bucket in one chunk. Their keys are the rows key ... end - 1;
 * causal: up to the row itself, as rows of a bucket lie in order of time. */
struct linnet_lsh_run {
  size_t key, first, end;
};

/* One head of one sequence in one round. Matrices begin with the head's columns of the batch's first row. */
struct linnet_lsh_head {
  const struct linnet_attention *a;
  bool causal;
  const struct linnet_lsh_row *sorted; /* (rows) */
  size_t rows;
  const real *q, *v;
  real *largest, *sum; /* (frames) */
  real *out;           /* forward: its sum up to this round, relative to exp(largest); backward: as it was returned */
  const real *dout;
  real *dq, *dv;
};

/* What instruction sets bring; everything around it is shared. scratch: of work, aligned to 64 bytes. */
struct linnet_lsh_kernels {
  /* Buckets of `rows` queries (row length key_ld). */
  void (*hash)(const struct linnet_attention *a, size_t rows, const real *q, const real *rotation, uint32_t *bucket,
               real *scratch);
  /* Adds a run to largest, sum and out. */
  void (*forward)(const struct linnet_lsh_head *h, const struct linnet_lsh_run *run, real *scratch);
  /* Adds a run to dq and dv. */
  void (*backward)(const struct linnet_lsh_head *h, const struct linnet_lsh_run *run, real *scratch);
};

void linnet_lsh_forward(const struct linnet_lsh_kernels *kernels, bool causal, const struct linnet_attention_call *c);
void linnet_lsh_backward(const struct linnet_lsh_kernels *kernels, bool causal, const struct linnet_attention_call *c);

size_t linnet_lsh_saved_bytes(const struct linnet_attention *a, size_t frames, size_t sequences);
size_t linnet_lsh_work_bytes(const struct linnet_attention *a, size_t longest);

/* Rows of queries that kernels rotate at a time, and what the widths of their operands are rounded up to, at most. */
enum { LINNET_LSH_ROWS = 96, LINNET_LSH_PADDING = 32 };

/* R of a round, (C, buckets / 2). */
void linnet_lsh_rotation(const struct linnet_attention *a, size_t round, real *rotation);

/* The bucket of one query. Kernels return the same ones: they ask here where two rotated values are close. */
uint32_t linnet_lsh_bucket(const struct linnet_attention *a, const real *q, const real *rotation);

/* Functions `name`_forward and `name`_backward of these kernels, and the row of linnet_ops.attention with them. */
#define LINNET_LSH_FUNCTIONS(name, kernels, causal)                                                                    \
  static void name##_forward(const struct linnet_attention_call *c) {                                                  \
    linnet_lsh_forward(kernels, causal, c);                                                                            \
  }                                                                                                                    \
  static void name##_backward(const struct linnet_attention_call *c) {                                                 \
    linnet_lsh_backward(kernels, causal, c);                                                                           \
  }
#define LINNET_LSH_ROW(name)                                                                                           \
  {                                                                                                                    \
    .saved_bytes = linnet_lsh_saved_bytes, .work_bytes = linnet_lsh_work_bytes, .forward = name##_forward,             \
    .backward = name##_backward                                                                                        \
  }

extern const struct linnet_attention_ops linnet_lsh_attention_reference, linnet_causal_lsh_attention_reference;

#endif
