/* The table of the kinds of attention. */
#include "ops/attention.h"

const struct linnet_attention_traits linnet_attention_traits[LINNET_ATTENTION_KINDS] = {
    [LINNET_ATTENTION_LINEAR] = {.name = "linear", .mapped = true, .one_state = true},
    [LINNET_ATTENTION_CAUSAL_LINEAR] = {.name = "causal-linear", .causal = true, .mapped = true},
    [LINNET_ATTENTION_SOFTMAX] = {.name = "softmax"},
    [LINNET_ATTENTION_CAUSAL_SOFTMAX] = {.name = "causal-softmax", .causal = true},
    [LINNET_ATTENTION_LSH] = {.name = "lsh", .shared_key = true},
    [LINNET_ATTENTION_CAUSAL_LSH] = {.name = "causal-lsh", .causal = true, .shared_key = true},
    [LINNET_ATTENTION_LINEAR_COSINE] = {.name = "linear-cosine", .mapped = true, .host_only = true},
    [LINNET_ATTENTION_LINEAR_ROTARY] = {.name = "linear-rotary", .mapped = true, .host_only = true},
    [LINNET_ATTENTION_LINEAR_DECAY] = {.name = "linear-decay", .mapped = true, .host_only = true},
    [LINNET_ATTENTION_LINEAR_MAGNITUDE] = {.name = "linear-magnitude", .mapped = true, .host_only = true},
    [LINNET_ATTENTION_LINEAR_ROTARY_MAGNITUDE] = {.name = "linear-rotary-magnitude", .mapped = true, .host_only = true},
    [LINNET_ATTENTION_LINEAR_DECAY_MAGNITUDE] = {.name = "linear-decay-magnitude", .mapped = true, .host_only = true},
    [LINNET_ATTENTION_LINEAR_ROTARY_DECAY] = {.name = "linear-rotary-decay", .mapped = true, .host_only = true},
};
