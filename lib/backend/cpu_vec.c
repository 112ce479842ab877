/* The op table of one instruction set: compiled once per set, with LINNET_KERNEL_SET naming it and the compiler's flags
 * allowing it (cmake/LinnetKernels.cmake). The kernels lie beside the references of their ops, in ops/NAME_vec.h; they
 * are float only, and differ between sets in the width of a vector alone. Slots with nothing to gain are the
 * reference's. */
#include "backend/backend.h"
#include "ops/activation.h"
#include "ops/ctc.h"
#include "ops/depthwise_conv.h"
#include "ops/dropout.h"
#include "ops/gemm.h"
#include "ops/layernorm.h"
#include "ops/linear_attention.h"
#include "ops/log_softmax.h"
#include "ops/optimizer.h"
#include "ops/vector.h"

#include "backend/vec.h"

#include "ops/activation_vec.h"
#include "ops/gemm_vec.h"

#include "ops/ctc_vec.h"
#include "ops/linear_attention_vec.h"

#define TABLE_NAME_(set) linnet_ops_##set
#define TABLE_NAME(set) TABLE_NAME_(set)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

extern const struct linnet_ops TABLE_NAME(LINNET_KERNEL_SET);

const struct linnet_ops TABLE_NAME(LINNET_KERNEL_SET) = {
    .name = TEXT(LINNET_KERNEL_SET),
    .gemm = gemm_vec,
    .gemm_work = GEMM_WORK,
    .pack_b_size = pack_b_size_vec,
    .pack_b = pack_b_vec,
    .layernorm_forward = linnet_layernorm_forward_reference,
    .layernorm_backward = linnet_layernorm_backward_reference,
    .dropout = linnet_dropout_reference,
    .activation_forward = linnet_activation_forward_reference,
    .activation_backward = linnet_activation_backward_reference,
    .glu_forward = linnet_glu_forward_reference,
    .glu_backward = linnet_glu_backward_reference,
    .conv_forward = linnet_conv_forward_reference,
    .conv_backward = linnet_conv_backward_reference,
    .attention_accumulate = attention_accumulate_vec,
    .attention_apply = attention_apply_vec,
    .attention_forward = attention_forward_vec,
    .attention_backward = attention_backward_vec,
    .log_softmax = linnet_log_softmax_reference,
    .ctc = ctc_vec,
    .update = linnet_update_reference,
    .sum_of_squares = linnet_sum_of_squares_reference,
    .add = linnet_add_reference,
    .column_sum = linnet_column_sum_reference,
};
