/* Softmax over tiles of keys with a running maximum and sum (Milakov, Gimelshein 2018). Four lanes (a quad) process a
 * row. */
#ifndef LINNET_CUDA_RUNNING_SOFTMAX_H
#define LINNET_CUDA_RUNNING_SOFTMAX_H

#include "backend/cuda/tile.h"

struct running_softmax {
  float largest, sum;
};

/* Replaces scores by exp(score - largest). Returns the factor for earlier sums. A row may have seen no key yet. */
static __device__ __forceinline__ float exponentials(running_softmax *row, float *weights) {
  float *own = weights + quad_row() * WEIGHT_LD, largest = row->largest, sum = 0;
  for (int i = 0; i < TILE_ROWS / 4; i++)
    largest = fmaxf(largest, own[quad_column(i)]);
  largest = quad_max(largest);
  const float from = largest == -INFINITY ? 0 : largest;
  for (int i = 0; i < TILE_ROWS / 4; i++)
    sum += own[quad_column(i)] = expf(own[quad_column(i)] - from);
  const float shrink = expf(row->largest - from);
  row->sum = row->sum * shrink + quad_sum(sum);
  row->largest = largest;
  return shrink;
}

/* Multiplies each row of y by its number, which the first lane of each quad passes. */
static __device__ __forceinline__ void scale_rows(float by, tile<4, 2> *y, float *shared) {
  if (threadIdx.x % 4 == 0)
    shared[quad_row()] = by;
  __syncthreads();
  for (int r = 0; r < 4; r++)
    for (int n = 0; n < 2; n++)
      y->x[r][n] *= shared[y->row(r)];
}

#endif
