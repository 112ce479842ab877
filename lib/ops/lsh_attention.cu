#include "backend/cuda/tile.h"
const struct linnet_cuda_attention_ops linnet_cuda_lsh_attention = {};
const struct linnet_cuda_attention_ops linnet_cuda_causal_lsh_attention = {};
