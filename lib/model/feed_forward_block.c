/* Feed-forward: y = W2 dropout(act(W1 x)). */
#include "model/block.h"

static struct linnet_linear first_map(const struct linnet_pass *pass, const struct linnet_layer_offsets *o) {
  return (struct linnet_linear){pass->width, pass->network->config->feed_forward, o->linear1, o->linear1_bias};
}

static struct linnet_linear second_map(const struct linnet_pass *pass, const struct linnet_layer_offsets *o) {
  return (struct linnet_linear){pass->network->config->feed_forward, pass->width, o->linear2, o->linear2_bias};
}

static void plan(struct linnet_pass *pass, struct linnet_sublayer *s, struct linnet_arena *arena) {
  const struct linnet_config *config = pass->network->config;
  struct linnet_feed_forward_saved *saved = &s->saved.feed_forward;
  saved->active = linnet_take_reals(arena, pass->frames, config->feed_forward);
  saved->hidden =
      config->activation == LINNET_RELU ? NULL : linnet_take_reals(arena, pass->frames, config->feed_forward);
}

static void forward(struct linnet_pass *pass, struct linnet_sublayer *s, const real *x, real *y) {
  const struct linnet_config *config = pass->network->config;
  struct linnet_feed_forward_saved *saved = &s->saved.feed_forward;
  struct linnet_linear first = first_map(pass, s->offsets), second = second_map(pass, s->offsets);
  if (config->activation == LINNET_RELU) {
    linnet_linear_forward(pass, &first, x, LINNET_RELU, saved->active);
  } else {
    linnet_linear_forward(pass, &first, x, LINNET_IDENTITY, saved->hidden);
    pass->network->ops->activation_forward(config->activation, pass->frames * first.out, saved->hidden, saved->active);
  }
  linnet_pass_dropout(pass, s->site + 1, first.out, saved->active, NULL, saved->active);
  linnet_linear_forward(pass, &second, saved->active, LINNET_IDENTITY, y);
}

/* What dropout zeroed of a ReLU's output reads as 0 in `active`, where the slope is 0: the mask is not needed again, and
 * its scale can be a factor of dy, which is narrower. */
static void scale_for_dropout(const struct linnet_pass *pass, real *dy) {
  const real scale = (real)(1 / (1 - pass->shard->dropout));
  for (size_t i = 0; pass->shard->dropout > 0 && i < pass->frames * pass->width; i++)
    dy[i] *= scale;
}

static void backward(struct linnet_pass *pass, struct linnet_sublayer *s, const real *x, real *dy, real *dx) {
  const struct linnet_config *config = pass->network->config;
  struct linnet_feed_forward_saved *saved = &s->saved.feed_forward;
  struct linnet_linear first = first_map(pass, s->offsets), second = second_map(pass, s->offsets);
  bool relu = config->activation == LINNET_RELU;
  real *d = pass->wide;
  linnet_linear_backward(pass, &second, saved->active, dy, NULL);
  if (relu)
    scale_for_dropout(pass, dy);
  linnet_linear_backward_input(pass, &second, dy, d);
  if (!relu)
    linnet_pass_dropout(pass, s->site + 1, first.out, d, NULL, d);
  pass->network->ops->activation_backward(config->activation, pass->frames * first.out,
                                          relu ? saved->active : saved->hidden, d, d);
  linnet_linear_backward(pass, &first, x, d, dx);
}

const struct linnet_block linnet_feed_forward_block = {plan, forward, backward};
