/* The table of the kinds of attention. */
#include "ops/attention.h"

const struct linnet_attention_traits linnet_attention_traits[LINNET_ATTENTION_KINDS] = {
    [LINNET_ATTENTION_LINEAR] = {.name = "linear", .mapped = true, .one_state = true},
    [LINNET_ATTENTION_CAUSAL_LINEAR] = {.name = "causal-linear", .causal = true, .mapped = true},
    [LINNET_ATTENTION_SOFTMAX] = {.name = "softmax"},
    [LINNET_ATTENTION_CAUSAL_SOFTMAX] = {.name = "causal-softmax", .causal = true},
    [LINNET_ATTENTION_LSH] = {.name = "lsh", .shared_key = true},
    [LINNET_ATTENTION_CAUSAL_LSH] = {.name = "causal-lsh", .causal = true, .shared_key = true},
    [LINNET_ATTENTION_LINEAR_DECAY] = {.name = "linear-decay", .mapped = true, .host_only = true},
    [LINNET_ATTENTION_CAUSAL_LINEAR_DECAY] = {.name = "causal-linear-decay",
                                              .causal = true,
                                              .mapped = true,
                                              .host_only = true},
};
