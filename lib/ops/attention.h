/* The kinds of attention: their names in configurations, and what the layers that contain them need to know. Each kind
 * is a row of linnet_ops.attention. A new kind needs a row there, one here, and a file with the op.
 *
 *   linear, causal-linear      ops/linear_attention.h, ops/causal_linear_attention.h (Katharopoulos et al. 2020)
 *   softmax, causal-softmax    ops/softmax_attention.h (Vaswani et al. 2017)
 *   lsh, causal-lsh            ops/lsh_attention.h (Kitaev et al. 2020)
 *   linear-decay, causal-linear-decay
 *                              ops/decaying_linear_attention.h (Sun et al. 2023, Afzal et al. 2025)
 */
#ifndef LINNET_ATTENTION_H
#define LINNET_ATTENTION_H

#include "base/poll.h"
#include "ops/feature_map.h"
#include "ops/pack.h"

/* Kinds of attention, the rows of linnet_ops.attention. linnet_attention_traits has their names and properties. */
enum linnet_attention_kind {
  LINNET_ATTENTION_LINEAR,
  LINNET_ATTENTION_CAUSAL_LINEAR,
  LINNET_ATTENTION_SOFTMAX,
  LINNET_ATTENTION_CAUSAL_SOFTMAX,
  LINNET_ATTENTION_LSH,
  LINNET_ATTENTION_CAUSAL_LSH,
  LINNET_ATTENTION_LINEAR_DECAY,
  LINNET_ATTENTION_CAUSAL_LINEAR_DECAY,
  LINNET_ATTENTION_KINDS
};

/* Forms of causal linear attention, which all compute the same function; see ops/causal_linear_attention.h. */
enum linnet_causal_linear_form {
  LINNET_CAUSAL_LINEAR_CHUNKED,
  LINNET_CAUSAL_LINEAR_STATE,
  LINNET_CAUSAL_LINEAR_PARALLEL_STATE,
  LINNET_CAUSAL_LINEAR_ATTENTION,
  LINNET_CAUSAL_LINEAR_FORMS
};

/* Hashing of LSH attention; see ops/lsh_attention.h. Buckets depend on (seed, step, site, round) and the queries. */
struct linnet_lsh {
  size_t rounds, buckets, chunk;
  uint64_t seed;
  uint32_t step, site;
};

/* Attention of a layer on packed sequences, with the heads side by side: q, k are (T, heads * key_width) with leading
 * dimension key_ld, v is (T, heads * width) with value_ld, out is (T, heads * width) with out_ld. Each gradient has the
 * layout of its tensor. */
struct linnet_attention {
  enum linnet_attention_kind kind;
  size_t heads;
  size_t first_head; /* number of the first head in its layer; the decay of a head depends on it */
  size_t key_width;  /* of a head's queries and keys; linear attention: before the op's own feature map */
  size_t width;      /* of a head's values */
  size_t key_ld, value_ld, out_ld;
  enum linnet_feature_map map;         /* linear kinds: LINNET_MAP_ELU or LINNET_MAP_IDENTITY */
  real min_normaliser;                 /* linear kinds: minimum of the normaliser; see ops/linear_attention.h */
  enum linnet_causal_linear_form form; /* causal linear */
  size_t chunk;                        /* rows per chunk of the chunked form */
  struct linnet_lsh lsh;
  const struct linnet_poll *poll; /* polled by forward of kinds that take more than linear time; may be NULL */
};

/* The tensors of one call. Tensors that layers pass on are `void *`: `real` on the CPU, while a device may store them
 * with fewer bits. Kinds with shared keys read no k, and backward writes no dk: dq is the gradient of both. */
struct linnet_attention_call {
  const struct linnet_attention *attention;
  const struct linnet_pack *pack;
  const void *q, *k, *v;
  void *saved; /* saved for backward, besides the arguments */
  void *out;
  void *work;
  const void *dout; /* from here on backward only: it reads dout and writes dq, dk, dv */
  void *dq, *dk, *dv;
};

/* One kind of attention on the CPU. */
struct linnet_attention_ops {
  size_t (*saved_bytes)(const struct linnet_attention *a, size_t frames, size_t sequences);
  size_t (*work_bytes)(const struct linnet_attention *a, size_t longest); /* frames of the longest sequence */
  void (*forward)(const struct linnet_attention_call *c);
  void (*backward)(const struct linnet_attention_call *c);
  /* Causal kinds: one frame of one sequence. q, k, v, out are one row each. `state` summarises the `steps` frames
   * before this one (zeros at first), and the call updates it. state_size returns the size that includes this frame; a
   * growing state grows at its end. NULL: this kind cannot run frame by frame. */
  size_t (*state_size)(const struct linnet_attention *a, size_t steps);
  void (*step)(const struct linnet_attention *a, size_t steps, const real *q, const real *k, const real *v, real *state,
               real *out);
};

struct linnet_attention_traits {
  const char *name;
  bool causal;     /* no frame attends to a later one; whether a kind has a step: linnet_attention_ops.step */
  bool mapped;     /* queries and keys pass through the feature map of the configuration */
  bool shared_key; /* queries are also the keys: there is no linear layer for keys */
  bool host_only;  /* there are no kernels for GPUs */
  bool one_state;  /* all frames of a sequence read one sum over its keys: linnet_ops.linear_accumulate, linear_apply */
};

extern const struct linnet_attention_traits linnet_attention_traits[LINNET_ATTENTION_KINDS];

/* Elements of the state of linear attention. */
static inline size_t linnet_linear_state_size(const struct linnet_attention *a) {
  return a->heads * a->key_width * (a->width + 1);
}

#endif
