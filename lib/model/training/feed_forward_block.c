/* Feed-forward: y = W2 dropout(act(W1 x)). */
#include "model/training/block.h"

static struct linnet_linear first_map(const struct linnet_pass *pass, const struct linnet_layer_offsets *o) {
  return (struct linnet_linear){pass->width, pass->network->config->feed_forward, o->linear1, o->linear1_bias};
}

static struct linnet_linear second_map(const struct linnet_pass *pass, const struct linnet_layer_offsets *o) {
  return (struct linnet_linear){pass->network->config->feed_forward, pass->width, o->linear2, o->linear2_bias};
}

static void plan(struct linnet_pass *pass, struct linnet_sublayer *s, struct linnet_arena *arena) {
  const struct linnet_config *config = pass->network->config;
  struct linnet_feed_forward_saved *saved = &s->saved.feed_forward;
  saved->active = linnet_take_activations(pass, arena, config->feed_forward);
  saved->hidden = config->activation == LINNET_RELU ? NULL : linnet_take_activations(pass, arena, config->feed_forward);
}

static void forward(struct linnet_pass *pass, struct linnet_sublayer *s, const void *x, void *y) {
  const struct linnet_config *config = pass->network->config;
  struct linnet_device *device = pass->network->device;
  struct linnet_feed_forward_saved *saved = &s->saved.feed_forward;
  struct linnet_linear first = first_map(pass, s->offsets), second = second_map(pass, s->offsets);
  struct linnet_dropout mask = linnet_pass_mask(pass, s->site + 1);
  if (config->activation == LINNET_RELU) {
    linnet_linear_forward(pass, &first, x, LINNET_RELU, saved->active);
    linnet_pass_dropout(pass, s->site + 1, first.out, saved->active, NULL, saved->active);
  } else {
    linnet_linear_forward(pass, &first, x, LINNET_IDENTITY, saved->hidden);
    device->ops->activation_forward(device, config->activation, &mask, pass->frames, first.out, saved->hidden,
                                    saved->active);
  }
  linnet_linear_forward(pass, &second, saved->active, LINNET_IDENTITY, y);
}

static void backward(struct linnet_pass *pass, struct linnet_sublayer *s, const void *x, void *dy, void *dx) {
  const struct linnet_config *config = pass->network->config;
  struct linnet_device *device = pass->network->device;
  struct linnet_feed_forward_saved *saved = &s->saved.feed_forward;
  struct linnet_linear first = first_map(pass, s->offsets), second = second_map(pass, s->offsets);
  void *d = pass->wide;
  struct linnet_dropout mask = linnet_pass_mask(pass, s->site + 1);
  linnet_linear_backward(pass, &second, saved->active, dy, d, false);
  device->ops->activation_backward(device, config->activation, &mask, pass->frames, first.out,
                                   saved->hidden ? saved->hidden : saved->active, d, d);
  linnet_linear_backward(pass, &first, x, d, dx, !s->pre);
}

const struct linnet_block linnet_feed_forward_block = {plan, forward, backward};
