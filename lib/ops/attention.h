/* The kinds of attention: their names in configurations and what the layers around them must know. Each is a row of
 * linnet_ops.attention; a new kind is a row there, one here, and a file with the op.
 *
 *   linear, causal-linear      ops/linear_attention.h, ops/causal_attention.h (Katharopoulos et al. 2020)
 *   softmax, causal-softmax    ops/softmax_attention.h (Vaswani et al. 2017)
 *   lsh, causal-lsh            ops/lsh_attention.h (Kitaev et al. 2020)
 */
#ifndef LINNET_ATTENTION_H
#define LINNET_ATTENTION_H

#include "base/poll.h"
#include "ops/feature_map.h"
#include "ops/pack.h"

/* Kinds of attention, the rows of linnet_ops.attention. Their names and traits: linnet_attention_traits. */
enum linnet_attention_kind {
  LINNET_ATTENTION_LINEAR,
  LINNET_ATTENTION_CAUSAL_LINEAR,
  LINNET_ATTENTION_SOFTMAX,
  LINNET_ATTENTION_CAUSAL_SOFTMAX,
  LINNET_ATTENTION_LSH,
  LINNET_ATTENTION_CAUSAL_LSH,
  LINNET_ATTENTION_KINDS
};

/* Forms of causal linear attention, one function; see ops/causal_attention.h. */
enum linnet_causal_form {
  LINNET_CAUSAL_CHUNKED,
  LINNET_CAUSAL_STATE,
  LINNET_CAUSAL_PARALLEL_STATE,
  LINNET_CAUSAL_ATTENTION,
  LINNET_CAUSAL_FORMS
};

/* Hashing of LSH attention; see ops/lsh_attention.h. Buckets depend on (seed, step, site, round) and the queries. */
struct linnet_lsh {
  size_t rounds, buckets, chunk;
  uint64_t seed;
  uint32_t step, site;
};

/* Attention of a layer on packed sequences, heads side by side: q, k are (T, heads * key_width) with leading dimension
 * key_ld, v is (T, heads * width) with value_ld, out is (T, heads * width) with out_ld; gradients lie as what they
 * belong to. */
struct linnet_attention {
  enum linnet_attention_kind kind;
  size_t heads;
  size_t key_width; /* of a head's queries and keys; linear attention: as the op's own map sees them */
  size_t width;     /* of a head's values */
  size_t key_ld, value_ld, out_ld;
  enum linnet_feature_map map;  /* linear kinds: LINNET_MAP_ELU or LINNET_MAP_IDENTITY */
  real least;                   /* linear kinds: a normaliser below counts as this; see ops/linear_attention.h */
  enum linnet_causal_form form; /* causal linear */
  size_t chunk;                 /* rows per chunk of the chunked form */
  struct linnet_lsh lsh;
  const struct linnet_poll *poll; /* forward of kinds that take more than linear time asks it; may be NULL */
};

/* The tensors of one call. Those that layers pass on are `void *`: `real` on the CPU; a device may store them with
 * fewer bits. Kinds with shared keys take no k, and backward writes no dk: dq is the gradient of both. */
struct linnet_attention_call {
  const struct linnet_attention *attention;
  const struct linnet_pack *pack;
  const void *q, *k, *v;
  void *saved; /* what forward leaves for backward besides its arguments */
  void *out;
  void *work;
  const void *dout; /* backward alone, as what follows: from dout it writes dq, dk, dv */
  void *dq, *dk, *dv;
};

/* One kind of attention on the CPU. */
struct linnet_attention_ops {
  size_t (*saved_bytes)(const struct linnet_attention *a, size_t frames, size_t sequences);
  size_t (*work_bytes)(const struct linnet_attention *a, size_t longest); /* frames of the longest sequence */
  void (*forward)(const struct linnet_attention_call *c);
  void (*backward)(const struct linnet_attention_call *c);
  /* Causal kinds, one frame of one sequence: q, k, v, out are one row; `state` holds what `steps` frames before this
   * one left (zeros at first) and is updated. Its size is that with this frame; where it grows, it does so at its end.
   * NULL slots: cannot go frame by frame. */
  size_t (*state_size)(const struct linnet_attention *a, size_t steps);
  void (*step)(const struct linnet_attention *a, size_t steps, const real *q, const real *k, const real *v, real *state,
               real *out);
};

struct linnet_attention_traits {
  const char *name;
  bool causal;     /* no frame attends to a later one; kinds that have a step: linnet_attention_ops.step */
  bool mapped;     /* queries and keys go through the configuration's feature map */
  bool shared_key; /* queries are keys, too: there is no key map */
  bool one_state;  /* all frames of a sequence read one sum over its keys: linnet_ops.linear_accumulate, linear_apply */
};

extern const struct linnet_attention_traits linnet_attention_traits[LINNET_ATTENTION_KINDS];

/* Elements of the state of linear attention. */
static inline size_t linnet_linear_state_size(const struct linnet_attention *a) {
  return a->heads * a->key_width * (a->width + 1);
}

#endif
