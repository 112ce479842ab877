/* Activation functions on the device, with the formulas of ops/activation.c. */
#ifndef LINNET_CUDA_ACTIVATION_VALUE_H
#define LINNET_CUDA_ACTIVATION_VALUE_H

#include "backend/cuda/kernel.h"

static __device__ __forceinline__ float logistic(float x) {
  return 1 / (1 + expf(-x));
}

static __device__ __forceinline__ float activation_value(enum linnet_activation f, float x) {
  if (f == LINNET_RELU)
    return x > 0 ? x : 0;
  if (f == LINNET_GELU)
    return x * (1 + erff(x * 0.70710678118654752440f)) / 2;
  if (f == LINNET_SILU)
    return x * logistic(x);
  return x;
}

#endif
