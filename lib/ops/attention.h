/* The kinds of attention: their names in configurations and what the layers around them must know. Each is a row of
 * linnet_ops.attention; a new kind is a row there, one here, and a file with the op.
 *
 *   linear, causal-linear      ops/linear_attention.h, ops/causal_attention.h (Katharopoulos et al. 2020)
 *   softmax, causal-softmax    ops/softmax_attention.h (Vaswani et al. 2017)
 *   lsh, causal-lsh            ops/lsh_attention.h (Kitaev et al. 2020)
 */
#ifndef LINNET_ATTENTION_H
#define LINNET_ATTENTION_H

#include "backend/backend.h"

struct linnet_attention_traits {
  const char *name;
  bool causal;     /* no frame attends to a later one; kinds that have a step: linnet_attention_ops.step */
  bool mapped;     /* queries and keys go through the configuration's feature map */
  bool shared_key; /* queries are keys, too: there is no key map */
  bool one_state;  /* all frames of a sequence read one sum over its keys: linnet_ops.linear_accumulate, linear_apply */
};

extern const struct linnet_attention_traits linnet_attention_traits[LINNET_ATTENTION_KINDS];

#endif
