/* The op table of one instruction set. The build compiles this file once per set: LINNET_KERNEL_SET names the set, and
 * compiler flags enable its instructions (cmake/LinnetKernels.cmake). The kernels are in ops/NAME_vec.h, beside the
 * references of their ops. They support float only; between sets they differ only in the vector width. Ops that vectors
 * would not speed up use the reference. */
#include "backend/backend.h"
#include "ops/activation_vec.h"
#include "ops/causal_linear_attention_vec.h"
#include "ops/consistency_vec.h"
#include "ops/ctc_vec.h"
#include "ops/decaying_linear_attention_vec.h"
#include "ops/denominator_vec.h"
#include "ops/depthwise_conv_vec.h"
#include "ops/distillation_vec.h"
#include "ops/dropout_vec.h"
#include "ops/feature_map_vec.h"
#include "ops/frame_targets_vec.h"
#include "ops/gemm_amx_vec.h"
#include "ops/gemm_bf16_vec.h"
#include "ops/gemm_int8_vec.h"
#include "ops/gemm_vec.h"
#include "ops/layernorm_vec.h"
#include "ops/linear_attention_vec.h"
#include "ops/log_softmax_vec.h"
#include "ops/lsh_attention_vec.h"
#include "ops/lstm_vec.h"
#include "ops/optimizer_vec.h"
#include "ops/softmax_attention_vec.h"
#include "ops/vector_vec.h"

#define TABLE_NAME_(set) linnet_ops_##set
#define TABLE_NAME(set) TABLE_NAME_(set)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* All slots except those of products and of the LSTM, which consists of products. */
#define COMMON_SLOTS                                                                                                   \
  .layernorm_forward = layernorm_forward_vec, .layernorm_backward = layernorm_backward_vec, .dropout = dropout_vec,    \
  .activation_forward = activation_forward_vec, .activation_backward = activation_backward_vec,                        \
  .glu_forward = glu_forward_vec, .glu_backward = glu_backward_vec, .conv_forward = conv_forward_vec,                  \
  .conv_backward = conv_backward_vec, .conv_window = conv_window_vec,                                                  \
  .attention = {[LINNET_ATTENTION_LINEAR] = &linear_attention_vec,                                                     \
                [LINNET_ATTENTION_CAUSAL_LINEAR] = &causal_linear_attention_vec,                                       \
                [LINNET_ATTENTION_LSH] = &lsh_attention_vec,                                                           \
                [LINNET_ATTENTION_CAUSAL_LSH] = &causal_lsh_attention_vec,                                             \
                [LINNET_ATTENTION_SOFTMAX] = &softmax_attention_vec,                                                   \
                [LINNET_ATTENTION_CAUSAL_SOFTMAX] = &causal_softmax_attention_vec,                                     \
                [LINNET_ATTENTION_LINEAR_DECAY] = &decaying_linear_attention_vec,                                      \
                [LINNET_ATTENTION_CAUSAL_LINEAR_DECAY] = &causal_decaying_linear_attention_vec},                       \
  .linear_accumulate = linear_accumulate_vec, .linear_apply = linear_apply_vec,                                        \
  .feature_map_forward = feature_map_forward_vec, .feature_map_backward = feature_map_backward_vec,                    \
  .feature_map_work = FEATURE_MAP_WORK, .log_softmax = log_softmax_vec, .ctc = ctc_vec,                                \
  .consistency = consistency_vec, .distillation = distillation_vec, .frame_targets = frame_targets_vec,                \
  .denominator = denominator_vec, .update = update_vec, .sum_of_squares = sum_of_squares_vec, .add = add_vec,          \
  .average = average_vec, .column_sum = column_sum_vec

#define LSTM_SLOTS_OF(suffix)                                                                                          \
  .lstm_pack_size = lstm_pack_size_##suffix, .lstm_pack = lstm_pack_##suffix, .lstm_forward = lstm_forward_##suffix,   \
  .lstm_backward = lstm_backward_##suffix

#define PRODUCT_SLOTS_OF(suffix)                                                                                       \
  .gemm_work = GEMM_WORK, .pack_b_size = pack_b_size_##suffix, .pack_b = pack_b_##suffix, LSTM_SLOTS_OF(suffix)

#ifdef LINNET_INT8_ONLY /* another set has these kernels; here they only count as used */
__attribute__((unused)) static const struct linnet_ops floats =
#else
extern const struct linnet_ops TABLE_NAME(LINNET_KERNEL_SET);

const struct linnet_ops TABLE_NAME(LINNET_KERNEL_SET) =
#endif
    {.name = TEXT(LINNET_KERNEL_SET), .gemm = gemm_vec, PRODUCT_SLOTS_OF(vec), COMMON_SLOTS};

#ifdef VEC_BF16
extern const struct linnet_ops linnet_ops_avx512_bf16;

/* These kernels with products of bfloat16 operands. */
const struct linnet_ops linnet_ops_avx512_bf16 = {
    .name = "avx512-bf16", .precision = LINNET_BFLOAT16, .gemm = gemm_bf16, PRODUCT_SLOTS_OF(bf16), COMMON_SLOTS};
#endif

#ifdef LINNET_INT8_TABLE
extern const struct linnet_ops LINNET_INT8_TABLE;

/* These kernels with products of 8-bit operands. */
const struct linnet_ops LINNET_INT8_TABLE = {
    .name = LINNET_INT8_NAME, .precision = LINNET_INT8, .gemm = gemm_int8, PRODUCT_SLOTS_OF(int8), COMMON_SLOTS};
#endif

#ifdef LINNET_AMX
extern const struct linnet_ops linnet_ops_avx512_amx_bf16, linnet_ops_avx512_amx_int8;

/* These kernels with products by matrix instructions. */
const struct linnet_ops linnet_ops_avx512_amx_bf16 = {.name = "avx512-amx-bf16",
                                                      .precision = LINNET_BFLOAT16,
                                                      .gemm = gemm_amx_bf16,
                                                      PRODUCT_SLOTS_OF(bf16),
                                                      COMMON_SLOTS};
const struct linnet_ops linnet_ops_avx512_amx_int8 = {
    .name = "avx512-amx-int8", .precision = LINNET_INT8, .gemm = gemm_amx_int8, PRODUCT_SLOTS_OF(int8), COMMON_SLOTS};
#endif

#ifdef LINNET_KERNEL_CBLAS
#include "ops/gemm.h"

extern const struct linnet_ops linnet_ops_cblas;

/* These kernels with the products of a BLAS library. */
const struct linnet_ops linnet_ops_cblas = {
    .name = "cblas", .gemm = linnet_gemm_cblas, LSTM_SLOTS_OF(vec), COMMON_SLOTS};
#endif
