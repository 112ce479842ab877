/* The filterbank kernels for any processor. */
#include "frontend/features/fbank_body.h"

const struct linnet_fbank_kernels linnet_fbank_kernels_generic = {"generic", window, power, mel};
