#include "ops/attention.h"

const struct linnet_attention_traits linnet_attention_traits[LINNET_ATTENTION_KINDS] = {
    [LINNET_ATTENTION_LINEAR] = {.name = "linear", .mapped = true},
};
