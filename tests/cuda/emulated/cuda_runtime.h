/* Stands in for the runtime's header where kernels are compiled for the CPU. */
#include "cuda/emulate.h"
