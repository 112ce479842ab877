/* LSH attention (Kitaev, Kaiser, Levskaya 2020, "Reformer: the efficient transformer"), per head with C = key_width:
 * the C reference, and the part that it shares with the kernels of instruction sets.
 *
 * Queries are also the keys: key_j = q_j / sqrt(|q_j|^2 + epsilon), score s_ij = q_i . key_j / sqrt(C). Each round has
 * four steps:
 *
 *   rotate    x_i = q_i R, with a normal R (C, buckets / 2), the same for all heads and sequences
 *   hash      bucket_i = argmax [x_i; -x_i], the first of equals (Andoni et al. 2015)
 *   sort      sort the frames by (bucket, position) and divide them into chunks of `chunk` rows; the last chunk of a
 *             sequence may be shorter
 *   attend    a row attends to the rows of its bucket in its own chunk and in the previous one (the first chunk has no
 *             previous one); causal: only to those that are not later in time
 *
 * Rounds are combined by the logarithm of the sum of their exponentials, out = sum_r exp(lse_r - lse) out_r: this is
 * one softmax over the pairs (round, key). The score of a frame with itself is lowered by LINNET_LSH_SELF, so that it
 * matters only where there is no other key. Buckets have no gradient.
 *
 * Choices that the paper leaves open, or that differ from it:
 * - A key that several rounds find counts several times. (The paper's appendix subtracts log N_ij; the authors' code
 *   makes this an option.)
 * - Scores are divided by sqrt(C), as in softmax attention. The authors' code normalises keys without this factor.
 * - epsilon keeps the key of a zero vector zero, and its gradient finite.
 * - The first chunk does not wrap around to the last one.
 * - R's elements come from Philox(key = seed, counter = (step << 32 | site, round << 32 | element / 4)). Box and
 *   Muller's transform makes elements 0 and 1 of the four from words 0 and 1, and elements 2 and 3 from words 2 and 3.
 *
 * In the causal form no frame attends to a later one, but later frames still move the bounds of chunks: they affect
 * which earlier frames are seen. Therefore there is no step.
 *
 * Time is O(rounds T (C buckets + chunk C)), memory O(rounds T); no (T, T) matrix exists. */
#ifndef LINNET_LSH_ATTENTION_H
#define LINNET_LSH_ATTENTION_H

#include "ops/attention.h"

#define LINNET_LSH_SELF (-1e5)
#define LINNET_LSH_EPSILON 1e-6

/* One row of the sorted order of a sequence. */
struct linnet_lsh_row {
  uint32_t frame; /* in the batch */
  uint32_t bucket;
};

/* Saved for backward. With m = largest and l = sum, the attention weight of a pair is exp(s_ij - m_i) / l_i. */
struct linnet_lsh_saved {
  real *largest, *sum;           /* (heads, frames): over all rounds */
  struct linnet_lsh_row *sorted; /* (rounds, heads, frames): each sequence sorted by itself */
};
struct linnet_lsh_saved linnet_lsh_saved(const struct linnet_attention *a, size_t frames, void *saved);

/* Rows first ... end - 1 of the sorted order, which are in one bucket and one chunk. Their keys are the rows key ...
 * end - 1; causal: only up to the row itself, since the rows of a bucket are in order of time. */
struct linnet_lsh_run {
  size_t key, first, end;
};

/* One head of one sequence in one round. Matrices start at the head's columns of the first row of the batch. */
struct linnet_lsh_head {
  const struct linnet_attention *a;
  bool causal;
  const struct linnet_lsh_row *sorted; /* (rows) */
  size_t rows;
  const real *q, *v;
  real *largest, *sum; /* (frames) */
  real *out;           /* forward: sum over the rounds so far, relative to exp(largest); backward: forward's result */
  const real *dout;
  real *dq, *dv;
};

/* The functions that an instruction set provides; the rest of the op is shared. scratch: a part of work, aligned to 64
 * bytes. */
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

/* The number of queries that kernels rotate at a time, and the maximum multiple that kernels round widths of operands
 * up to. */
enum { LINNET_LSH_ROWS = 96, LINNET_LSH_PADDING = 32 };

/* R of a round, (C, buckets / 2). */
void linnet_lsh_rotation(const struct linnet_attention *a, size_t round, real *rotation);

/* The bucket of one query. Kernels return the same buckets: they call this function if two rotated values are close. */
uint32_t linnet_lsh_bucket(const struct linnet_attention *a, const real *q, const real *rotation);

/* Defines `name`_forward and `name`_backward with these kernels, and a row of linnet_ops.attention with them. */
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
