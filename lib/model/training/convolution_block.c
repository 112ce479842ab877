/* The convolution module of the Conformer (Gulati et al. 2020): gated linear layer, depthwise convolution over time,
 * norm, SiLU, linear layer. Its first norm is that of the sublayer. Batch norm is replaced by layer norm, so that a
 * frame's output depends on its own sequence alone. */
#include "model/layer.h"
#include "model/training/block.h"

static struct linnet_conv conv_of(const struct linnet_pass *pass, const struct linnet_sublayer *s) {
  return linnet_layer_convolution(pass->network->config, s->layer);
}

static const struct linnet_dropout none = {0};

/* The norm inside the block. */
static struct linnet_layernorm norm_of(const struct linnet_pass *pass, const struct linnet_sublayer_pass *s) {
  const struct linnet_conv_saved *saved = &s->saved.conv;
  return (struct linnet_layernorm){.rows = pass->frames,
                                   .width = pass->width,
                                   .x = saved->depthwise,
                                   .gain = pass->weights + s->sublayer->depthwise_norm.gain,
                                   .bias = pass->weights + s->sublayer->depthwise_norm.bias,
                                   .y = saved->normed,
                                   .mean = saved->mean,
                                   .rstd = saved->rstd};
}

static void plan(struct linnet_pass *pass, struct linnet_sublayer_pass *s, struct linnet_arena *arena) {
  size_t rows = pass->frames, width = pass->width;
  struct linnet_conv_saved *saved = &s->saved.conv;
  saved->pointwise = linnet_take_activations(pass, arena, 2 * width);
  saved->gated = linnet_take_activations(pass, arena, width);
  saved->depthwise = linnet_take_activations(pass, arena, width);
  saved->mean = linnet_take_reals(arena, rows, 1);
  saved->rstd = linnet_take_reals(arena, rows, 1);
  saved->normed = linnet_take_activations(pass, arena, width);
  saved->silu = linnet_take_activations(pass, arena, width);
}

static void forward(struct linnet_pass *pass, struct linnet_sublayer_pass *s, const void *x, void *y) {
  struct linnet_device *device = pass->network->device;
  const struct linnet_sublayer *o = s->sublayer;
  const real *w = pass->weights;
  size_t rows = pass->frames, width = pass->width;
  struct linnet_conv conv = conv_of(pass, o);
  struct linnet_conv_saved *saved = &s->saved.conv;
  linnet_linear_forward(pass, &o->first, x, LINNET_IDENTITY, saved->pointwise);
  device->ops->glu_forward(device, rows, width, saved->pointwise, saved->gated);
  device->ops->conv_forward(device, &conv, &pass->shard->pack, saved->gated, w + o->depthwise, w + o->depthwise_bias,
                            saved->depthwise);
  struct linnet_layernorm norm = norm_of(pass, s);
  device->ops->layernorm_forward(device, &norm);
  device->ops->activation_forward(device, LINNET_SILU, &none, rows, width, saved->normed, saved->silu);
  linnet_linear_forward(pass, &o->last, saved->silu, LINNET_IDENTITY, y);
}

/* The sublayer is always `pre`, so this function may use dx as scratch. */
static void backward(struct linnet_pass *pass, struct linnet_sublayer_pass *s, const void *x, void *dy, void *dx) {
  struct linnet_device *device = pass->network->device;
  const struct linnet_sublayer *o = s->sublayer;
  const real *w = pass->weights;
  real *g = pass->gradients;
  void *a = pass->narrow2;
  size_t rows = pass->frames, width = pass->width;
  struct linnet_conv conv = conv_of(pass, o);
  struct linnet_conv_saved *saved = &s->saved.conv;
  linnet_linear_backward(pass, &o->last, saved->silu, dy, a, false);
  device->ops->activation_backward(device, LINNET_SILU, &none, rows, width, saved->normed, a, a);
  struct linnet_layernorm norm = norm_of(pass, s);
  norm.dy = norm.dx = a;
  norm.dgain_add = g + o->depthwise_norm.gain, norm.dbias_add = g + o->depthwise_norm.bias;
  device->ops->layernorm_backward(device, &norm);
  const struct linnet_conv_gradients gradients = {.x = saved->gated,
                                                  .dy = a,
                                                  .w = w + o->depthwise,
                                                  .dx = dx,
                                                  .dw_add = g + o->depthwise,
                                                  .dbias_add = g + o->depthwise_bias};
  device->ops->conv_backward(device, &conv, &pass->shard->pack, &gradients);
  device->ops->glu_backward(device, rows, width, saved->pointwise, dx, pass->wide);
  linnet_linear_backward(pass, &o->first, x, pass->wide, dx, false);
}

const struct linnet_block linnet_convolution_block = {plan, forward, backward};
