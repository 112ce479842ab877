/* Linear layers and dropout inside a pass. */
#include "model/training/pass.h"

static void multiply(const struct linnet_pass *pass, const struct linnet_gemm *g) {
  struct linnet_device *device = pass->network->device;
  device->ops->gemm(device, g, pass->work);
}

static void apply(const struct linnet_pass *pass, const struct linnet_linear *l, const void *x,
                  enum linnet_activation activation, enum linnet_gemm_result result, void *y) {
  struct linnet_gemm g = {.transpose_b = true,
                          .m = pass->frames,
                          .n = l->out,
                          .k = l->in,
                          .a = x,
                          .lda = l->in,
                          .b = pass->weights + l->weight,
                          .ldb = l->in,
                          .c = y,
                          .ldc = l->out,
                          .bias = pass->weights + l->bias,
                          .activation = activation,
                          .result = result};
  multiply(pass, &g);
}

void linnet_linear_forward(const struct linnet_pass *pass, const struct linnet_linear *l, const void *x,
                           enum linnet_activation activation, void *y) {
  apply(pass, l, x, activation, LINNET_GEMM_ACTIVATIONS, y);
}

void linnet_linear_logits(const struct linnet_pass *pass, const struct linnet_linear *l, const void *x, real *logits) {
  apply(pass, l, x, LINNET_IDENTITY, LINNET_GEMM_REALS, logits);
}

/* dW (out, in) += dy^T x. */
static void weight_gradient(const struct linnet_pass *pass, const struct linnet_linear *l, const void *x,
                            const void *dy) {
  struct linnet_gemm g = {.transpose_a = true,
                          .m = l->out,
                          .n = l->in,
                          .k = pass->frames,
                          .a = dy,
                          .lda = l->out,
                          .b = x,
                          .ldb = l->in,
                          .c = pass->gradients + l->weight,
                          .ldc = l->in,
                          .accumulate = true,
                          .result = LINNET_GEMM_REALS};
  multiply(pass, &g);
}

void linnet_linear_backward(const struct linnet_pass *pass, const struct linnet_linear *l, const void *x,
                            const void *dy, void *dx, bool add) {
  weight_gradient(pass, l, x, dy);
  struct linnet_device *device = pass->network->device;
  device->ops->column_sum(device, pass->frames, l->out, dy, pass->gradients + l->bias);
  if (!dx)
    return;
  struct linnet_gemm g = {.m = pass->frames,
                          .n = l->in,
                          .k = l->out,
                          .a = dy,
                          .lda = l->out,
                          .b = pass->weights + l->weight,
                          .ldb = l->in,
                          .c = dx,
                          .ldc = l->in,
                          .accumulate = add};
  multiply(pass, &g);
}

struct linnet_dropout linnet_pass_mask(const struct linnet_pass *pass, uint32_t site) {
  const struct linnet_shard *shard = pass->shard;
  return (struct linnet_dropout){
      .rate = shard->dropout, .seed = shard->seed, .step = shard->step, .site = site, .row = shard->first_row};
}

void linnet_pass_dropout(const struct linnet_pass *pass, uint32_t site, size_t width, const void *x,
                         const void *residual, void *y) {
  struct linnet_device *device = pass->network->device;
  struct linnet_dropout d = linnet_pass_mask(pass, site);
  if (d.rate > 0 || residual || x != y)
    device->ops->dropout(device, &d, pass->frames, width, x, residual, y);
}
