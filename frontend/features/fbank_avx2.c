/* The filterbank kernels for processors with AVX2 and FMA; CMake sets the flags. */
#include "frontend/features/fbank_body.h"

const struct linnet_fbank_kernels linnet_fbank_kernels_avx2 = {"avx2", window, power, mel};
