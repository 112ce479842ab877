/* Reference of depthwise convolution, one sequence at a time, forward and backward. */
#include "ops/depthwise_conv.h"

/* Whether input frame t + j - left, which tap j reads for output frame t, is inside the sequence; returns it in *input.
 */
static bool tap(size_t frames, size_t t, size_t j, size_t left, size_t *input) {
  if (t + j < left || t + j - left >= frames)
    return false;
  *input = t + j - left;
  return true;
}

/* The first `rows` outputs of a sequence. */
static void forward_sequence(const struct linnet_conv *c, size_t frames, size_t rows, const real *x, const real *w,
                             const real *bias, real *y) {
  size_t width = c->channels, input;
  for (size_t t = 0; t < rows; t++) {
    for (size_t i = 0; i < width; i++)
      y[t * width + i] = bias[i];
    for (size_t j = 0; j < c->kernel; j++)
      if (tap(frames, t, j, c->left, &input))
        for (size_t i = 0; i < width; i++)
          y[t * width + i] += w[j * width + i] * x[input * width + i];
  }
}

/* The frames of one sequence, from the element `start` of the batch on. */
static void backward_sequence(const struct linnet_conv *c, size_t frames, const struct linnet_conv_gradients *g,
                              size_t start) {
  const real *x = (const real *)g->x + start, *dy = (const real *)g->dy + start;
  real *dx = (real *)g->dx + start;
  size_t width = c->channels, input;
  for (size_t i = 0; i < frames * width; i++)
    dx[i] = 0;
  for (size_t t = 0; t < frames; t++) {
    for (size_t i = 0; i < width; i++)
      g->dbias_add[i] += dy[t * width + i];
    for (size_t j = 0; j < c->kernel; j++)
      if (tap(frames, t, j, c->left, &input))
        for (size_t i = 0; i < width; i++) {
          dx[input * width + i] += g->w[j * width + i] * dy[t * width + i];
          g->dw_add[j * width + i] += x[input * width + i] * dy[t * width + i];
        }
  }
}

void linnet_conv_forward_reference(const struct linnet_conv *c, const struct linnet_pack *p, const real *x,
                                   const real *w, const real *bias, real *y) {
  for (size_t s = 0; s < p->sequences; s++) {
    size_t start = p->offsets[s] * c->channels;
    const size_t frames = p->offsets[s + 1] - p->offsets[s];
    forward_sequence(c, frames, frames, x + start, w, bias, y + start);
  }
}

void linnet_conv_backward_reference(const struct linnet_conv *c, const struct linnet_pack *p,
                                    const struct linnet_conv_gradients *g) {
  for (size_t s = 0; s < p->sequences; s++)
    backward_sequence(c, p->offsets[s + 1] - p->offsets[s], g, p->offsets[s] * c->channels);
}

void linnet_conv_window_reference(const struct linnet_conv *c, size_t rows, const real *x, const real *w,
                                  const real *bias, real *y) {
  const struct linnet_conv window = {c->channels, c->kernel, 0};
  forward_sequence(&window, rows + c->kernel - 1, rows, x, w, bias, y);
}
