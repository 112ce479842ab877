/* The filterbank kernels for processors with AVX-512; CMake sets the flags. */
#include "frontend/features/fbank_body.h"

const struct linnet_fbank_kernels linnet_fbank_kernels_avx512 = {"avx512", window, power, mel};
