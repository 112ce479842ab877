/* Feed-forward: y = W2 dropout(act(W1 x)). */
#include "model/training/block.h"

static void plan(struct linnet_pass *pass, struct linnet_sublayer_pass *s, struct linnet_arena *arena) {
  const struct linnet_config *config = pass->network->config;
  struct linnet_feed_forward_saved *saved = &s->saved.feed_forward;
  saved->active = linnet_take_activations(pass, arena, config->feed_forward);
  saved->hidden = config->activation == LINNET_RELU ? NULL : linnet_take_activations(pass, arena, config->feed_forward);
}

static void forward(struct linnet_pass *pass, struct linnet_sublayer_pass *s, const void *x, void *y) {
  const struct linnet_config *config = pass->network->config;
  struct linnet_device *device = pass->network->device;
  struct linnet_feed_forward_saved *saved = &s->saved.feed_forward;
  const struct linnet_linear *first = &s->sublayer->first, *last = &s->sublayer->last;
  struct linnet_dropout mask = linnet_pass_mask(pass, s->sublayer->site + 1);
  if (config->activation == LINNET_RELU) {
    linnet_linear_forward(pass, first, x, LINNET_RELU, saved->active);
    linnet_pass_dropout(pass, s->sublayer->site + 1, first->out, saved->active, NULL, saved->active);
  } else {
    linnet_linear_forward(pass, first, x, LINNET_IDENTITY, saved->hidden);
    device->ops->activation_forward(device, config->activation, &mask, pass->frames, first->out, saved->hidden,
                                    saved->active);
  }
  linnet_linear_forward(pass, last, saved->active, LINNET_IDENTITY, y);
}

static void backward(struct linnet_pass *pass, struct linnet_sublayer_pass *s, const void *x, void *dy, void *dx) {
  const struct linnet_config *config = pass->network->config;
  struct linnet_device *device = pass->network->device;
  struct linnet_feed_forward_saved *saved = &s->saved.feed_forward;
  const struct linnet_linear *first = &s->sublayer->first, *last = &s->sublayer->last;
  void *d = pass->wide;
  struct linnet_dropout mask = linnet_pass_mask(pass, s->sublayer->site + 1);
  linnet_linear_backward(pass, last, saved->active, dy, d, false);
  device->ops->activation_backward(device, config->activation, &mask, pass->frames, first->out,
                                   saved->hidden ? saved->hidden : saved->active, d, d);
  linnet_linear_backward(pass, first, x, d, dx, !s->sublayer->pre);
}

const struct linnet_block linnet_feed_forward_block = {plan, forward, backward};
