/* Sinusoidal positions (Vaswani et al. 2017): PE(t, 2i) = sin(t / 10000^(2i/D)), PE(t, 2i + 1) = cos of the same. */
#ifndef LINNET_POSITION_H
#define LINNET_POSITION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/real.h"

/* x (rows, width) += PE(first ... first + rows - 1). The values do not depend on how rows are divided into calls. */
void linnet_add_positions(size_t first, size_t rows, size_t width, real *x);

#endif
