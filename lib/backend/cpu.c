/* The op tables of the CPU: the C reference, and the choice among the instruction sets that this build contains. */
#include <string.h>

#if defined(LINNET_HAVE_KERNELS_AVXVNNI) || defined(LINNET_HAVE_KERNELS_AVX512_AMX)
#include <cpuid.h>
#endif

#include "backend/backend.h"
#include "ops/activation.h"
#include "ops/causal_linear_attention.h"
#include "ops/consistency.h"
#include "ops/ctc.h"
#include "ops/decaying_linear_attention.h"
#include "ops/denominator.h"
#include "ops/depthwise_conv.h"
#include "ops/distillation.h"
#include "ops/dropout.h"
#include "ops/feature_map.h"
#include "ops/frame_targets.h"
#include "ops/gemm.h"
#include "ops/layernorm.h"
#include "ops/linear_attention.h"
#include "ops/log_softmax.h"
#include "ops/lsh_attention.h"
#include "ops/lstm.h"
#include "ops/optimizer.h"
#include "ops/softmax_attention.h"
#include "ops/vector.h"

static const struct linnet_ops reference = {
    .name = "reference",
    .gemm = linnet_gemm_reference,
    .layernorm_forward = linnet_layernorm_forward_reference,
    .layernorm_backward = linnet_layernorm_backward_reference,
    .dropout = linnet_dropout_reference,
    .activation_forward = linnet_activation_forward_reference,
    .activation_backward = linnet_activation_backward_reference,
    .glu_forward = linnet_glu_forward_reference,
    .glu_backward = linnet_glu_backward_reference,
    .conv_forward = linnet_conv_forward_reference,
    .conv_backward = linnet_conv_backward_reference,
    .conv_window = linnet_conv_window_reference,
    .attention = {[LINNET_ATTENTION_LINEAR] = &linnet_linear_attention_reference,
                  [LINNET_ATTENTION_CAUSAL_LINEAR] = &linnet_causal_linear_attention_reference,
                  [LINNET_ATTENTION_SOFTMAX] = &linnet_softmax_attention_reference,
                  [LINNET_ATTENTION_CAUSAL_SOFTMAX] = &linnet_causal_softmax_attention_reference,
                  [LINNET_ATTENTION_LSH] = &linnet_lsh_attention_reference,
                  [LINNET_ATTENTION_CAUSAL_LSH] = &linnet_causal_lsh_attention_reference,
                  [LINNET_ATTENTION_LINEAR_DECAY] = &linnet_decaying_linear_attention_reference,
                  [LINNET_ATTENTION_CAUSAL_LINEAR_DECAY] = &linnet_causal_decaying_linear_attention_reference},
    .linear_accumulate = linnet_linear_accumulate_reference,
    .linear_apply = linnet_linear_apply_reference,
    .lstm_pack_size = linnet_lstm_pack_size_reference,
    .lstm_pack = linnet_lstm_pack_reference,
    .lstm_forward = linnet_lstm_forward_reference,
    .lstm_backward = linnet_lstm_backward_reference,
    .feature_map_forward = linnet_feature_map_forward_reference,
    .feature_map_backward = linnet_feature_map_backward_reference,
    .log_softmax = linnet_log_softmax_reference,
    .ctc = linnet_ctc_reference,
    .consistency = linnet_consistency_reference,
    .distillation = linnet_distillation_reference,
    .frame_targets = linnet_frame_targets_reference,
    .denominator = linnet_denominator_reference,
    .update = linnet_update_reference,
    .sum_of_squares = linnet_sum_of_squares_reference,
    .add = linnet_add_reference,
    .average = linnet_average_reference,
    .column_sum = linnet_column_sum_reference,
};

#ifdef LINNET_HAVE_KERNELS_GENERIC
extern const struct linnet_ops linnet_ops_generic;
static bool always(void) {
  return true;
}
#endif
#ifdef LINNET_HAVE_CBLAS
extern const struct linnet_ops linnet_ops_cblas;
#endif
#ifdef LINNET_HAVE_KERNELS_AVX2
extern const struct linnet_ops linnet_ops_avx2, linnet_ops_avx2_int8;
static bool has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif
#ifdef LINNET_HAVE_KERNELS_AVXVNNI
extern const struct linnet_ops linnet_ops_avxvnni;
/* clang 14 has no name for it. */
static bool has_avxvnni(void) {
  unsigned a = 0, b, c, d;
  return has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1 << 4) != 0;
}
#endif
#ifdef LINNET_HAVE_KERNELS_DOTPROD
#include <sys/auxv.h>

extern const struct linnet_ops linnet_ops_dotprod;
static bool has_dotprod(void) {
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
}
#endif
#ifdef LINNET_HAVE_KERNELS_AVX512
extern const struct linnet_ops linnet_ops_avx512;
static bool has_avx512(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
}
#endif

#ifdef LINNET_HAVE_KERNELS_AVX512_BF16
extern const struct linnet_ops linnet_ops_avx512_bf16;
static bool has_avx512_bf16(void) {
  return has_avx512() && __builtin_cpu_supports("avx512bf16");
}
#endif

#ifdef LINNET_HAVE_KERNELS_AVX512_VNNI
extern const struct linnet_ops linnet_ops_avx512_vnni;
static bool has_avx512_vnni(void) {
  return has_avx512() && __builtin_cpu_supports("avx512vnni");
}
#endif

#ifdef LINNET_HAVE_KERNELS_AVX512_AMX
#include <sys/syscall.h>
#include <unistd.h>

extern const struct linnet_ops linnet_ops_avx512_amx_bf16, linnet_ops_avx512_amx_int8;
/* Linux keeps the tiles of a thread only in processes that have asked for it (Linux:
 * Documentation/arch/x86/xstate.rst). From then on, alternative signal stacks must have room for them; a process with a
 * smaller one is refused. */
static bool has_amx(void) {
  enum { BF16 = 1 << 22, TILE = 1 << 24, INT8 = 1 << 25, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
  unsigned a, b, c, d = 0;
  return has_avx512_bf16() && has_avx512_vnni() && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
         (d & (BF16 | TILE | INT8)) == (BF16 | TILE | INT8) &&
         syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}
#endif

/* Best first. __builtin_cpu_supports asks CPUID and, for the vector registers, XGETBV. */
static const struct {
  const struct linnet_ops *ops;
  bool (*runnable)(void);
} sets[] = {
#ifdef LINNET_HAVE_KERNELS_AVX512_AMX
    {&linnet_ops_avx512_amx_int8, has_amx},
#endif
#ifdef LINNET_HAVE_KERNELS_AVX512_VNNI
    {&linnet_ops_avx512_vnni, has_avx512_vnni},
#endif
#ifdef LINNET_HAVE_KERNELS_AVXVNNI
    {&linnet_ops_avxvnni, has_avxvnni},
#endif
#ifdef LINNET_HAVE_KERNELS_AVX2
    {&linnet_ops_avx2_int8, has_avx2},
#endif
#ifdef LINNET_HAVE_KERNELS_DOTPROD
    {&linnet_ops_dotprod, has_dotprod},
#endif
#ifdef LINNET_HAVE_KERNELS_AVX512_AMX
    {&linnet_ops_avx512_amx_bf16, has_amx},
#endif
#ifdef LINNET_HAVE_KERNELS_AVX512_BF16
    {&linnet_ops_avx512_bf16, has_avx512_bf16},
#endif
#ifdef LINNET_HAVE_KERNELS_AVX512
    {&linnet_ops_avx512, has_avx512},
#endif
#ifdef LINNET_HAVE_KERNELS_AVX2
    {&linnet_ops_avx2, has_avx2},
#endif
#ifdef LINNET_HAVE_CBLAS
    {&linnet_ops_cblas, linnet_gemm_cblas_load},
#endif
#ifdef LINNET_HAVE_KERNELS_GENERIC
    {&linnet_ops_generic, always},
#endif
    {&reference, NULL},
};

static bool runs(size_t set) {
  return !sets[set].runnable || sets[set].runnable();
}

const struct linnet_ops *linnet_cpu_ops(const char *name) {
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    if (strcmp(name, sets[i].ops->name) == 0)
      return runs(i) ? sets[i].ops : NULL;
  return NULL;
}

const struct linnet_ops *linnet_cpu_best_ops(enum linnet_precision precision) {
  const enum linnet_precision required = precision == LINNET_TF32 ? LINNET_FLOAT32 : precision;
  size_t i = 0;
  while (sets[i].ops->precision > required || !runs(i))
    i++;
  return sets[i].ops;
}
