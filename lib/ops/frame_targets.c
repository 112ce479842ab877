/* With z the logits of a frame, k its target, and q the softmax of z over the symbols from 1 on:
 *
 *   loss            = -log q(k)
 *   d loss / d z(j) = q(j) - [j = k],  j >= 1
 *
 * The logit of blank, z(0), has no part in the loss. So the loss says which symbol a frame is, if it is one, and leaves
 * to CTC in which frames the network puts the symbols. */
#include "ops/frame_targets.h"

#include <math.h>

#include "ops/log_softmax.h"

static double compare_frame(const struct linnet_frame_targets *f, size_t t) {
  const real *logits = f->logits + t * f->symbols;
  real *gradient = f->gradient_add + t * f->symbols;
  const size_t target = (size_t)f->targets[t];
  const double shift = linnet_log_sum(f->symbols - 1, logits + 1);
  for (size_t k = 1; k < f->symbols; k++)
    gradient[k] += (real)(f->scale * (exp(logits[k] - shift) - (k == target)));
  return shift - logits[target];
}

double linnet_frame_targets_reference(const struct linnet_frame_targets *f) {
  double sum = 0;
  for (size_t t = 0; t < f->frames; t++)
    sum += f->targets[t] > 0 ? compare_frame(f, t) : 0;
  return sum;
}
