/* Products of small matrices by a warp. A kind of product defines what operands are rounded to and the type of the
 * device's activations; sums are float32. Tensor cores exist from sm_80 on. */
#ifndef LINNET_CUDA_TENSOR_CORE_H
#define LINNET_CUDA_TENSOR_CORE_H

#include "backend/cuda/kernel.h"

extern "C" {
#include "backend/cuda/cuda_device.h"
}

#if defined LINNET_CUDA_EMULATE || (defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800)
#define LINNET_TENSOR_CORES 1
#else
#define LINNET_TENSOR_CORES 0 /* operands are not rounded then */
#endif

/* PACKED: the number of operands in a register of tensor cores; 0: fused multiply-adds instead of tensor cores. */
struct float32 : activations<float> {
  enum { PACKED = 0 };
};

struct tf32 : activations<float> {
  enum { PACKED = 1 };
};

struct bf16 : activations<bfloat16> {
  enum { PACKED = 2 };
};

/* Calls f with the kind of product for the device's precision. */
template <class F> static inline void for_products(const struct linnet_device *device, F f) {
  const enum linnet_precision precision = linnet_cuda_device(device)->precision;
  if (precision == LINNET_BFLOAT16)
    f(bf16());
  else if (precision == LINNET_TF32)
    f(tf32());
  else
    f(float32());
}

/* The operand at x as a register: rounded to 10 bits after the binary point, to nearest, ties away from 0. */
template <int STRIDE> static __device__ __forceinline__ uint32_t packed(tf32, const float *x) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(*x));
  return bits;
#else
  return *x != *x ? 0x7fffe000 : ((uint32_t)__float_as_int(*x) + 0x1000) & ~0x1fffu;
#endif
}

/* The operands at x and x + STRIDE in one register, the first in the lower half. */
template <int STRIDE> static __device__ __forceinline__ uint32_t packed(bf16, const float *x) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  uint32_t bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(x[STRIDE]), "f"(x[0]));
  return bits;
#else
  return (uint32_t)round_to_bfloat16(x[STRIDE]).bits << 16 | round_to_bfloat16(x[0]).bits;
#endif
}

/* c (16, 8) += a (16, K) b (K, 8), with K = 8 PACKED, on fragments: see PTX ISA, "Matrix fragments for mma.m16n8k8" and
 * "m16n8k16". With g = l / 4 and t = l % 4, the registers of lane l are
 *
 *   upper (2)   c(g, 2 t), c(g, 2 t + 1); lower: the same of row g + 8
 *   a (4)       a(g, k), a(g + 8, k), a(g, k + 4 PACKED), a(g + 8, k + 4 PACKED), where k = PACKED t
 *   b (2)       b(k, g), b(k + 4 PACKED, g)
 *
 * If PACKED is 2, each register of a and b also holds the next operand along k. */
template <class P>
static __device__ __forceinline__ void mma(float *upper, float *lower, const uint32_t *a, const uint32_t *b) {
#ifdef LINNET_CUDA_EMULATE
  emulate::mma(P::PACKED, upper, lower, a, b);
#else
#define LINNET_MMA(shape, types)                                                                                       \
  asm volatile("mma.sync.aligned." shape ".row.col.f32." types ".f32 "                                                 \
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                       \
               : "+f"(upper[0]), "+f"(upper[1]), "+f"(lower[0]), "+f"(lower[1])                                        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  if (P::PACKED == 1)
    LINNET_MMA("m16n8k8", "tf32.tf32");
  else
    LINNET_MMA("m16n8k16", "bf16.bf16");
#undef LINNET_MMA
#endif
}

#endif
