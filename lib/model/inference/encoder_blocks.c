/* The blocks of a transformer in inference: the end that all blocks share, convolution and feed-forward. Attention is
 * in encoder_attention.c. */
#include <string.h>

#include "model/inference/encoder.h"
#include "model/layer.h"

void linnet_encoder_residual(const struct linnet_encoder *e, size_t i, size_t rows, const real *y, real *x) {
  e->ops->add(rows * e->model->config.width, y, x);
  if (!sublayer(e, i)->pre)
    norm(e, &sublayer(e, i)->norm, rows, x, x);
}

/* --- feed-forward ------------------------------------------------------------------------------------------------- */

void linnet_encoder_feed_forward(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t rows,
                                 real *x) {
  const struct linnet_packed_sublayer *l = packed(e, i);
  const real *h = block_input(e, s, i, rows, x);
  apply(e, s, &l->first, rows, h, e->model->config.activation, s->wide);
  apply(e, s, &l->last, rows, s->wide, LINNET_IDENTITY, s->narrow);
  linnet_encoder_residual(e, i, rows, s->narrow, x);
}

static void run_feed_forward(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t block) {
  struct rows r = block_rows(e, block);
  linnet_encoder_feed_forward(e, s, i, r.count, row(e, r.first));
}

const struct linnet_block_rows linnet_feed_forward_rows = {.run = run_feed_forward};

/* --- convolution -------------------------------------------------------------------------------------------------- */

/* Copies the block's rows, with those of its neighbours that the convolution reads, all from before the convolution.
 * Returns the number of rows on the left. */
static size_t gather(const struct linnet_encoder *e, const struct linnet_conv *conv, size_t block, struct rows r,
                     real *out, size_t *total) {
  const real *edges = e->edges.data;
  const size_t width = conv->channels, both = conv->kernel - 1, ahead = both - conv->left;
  size_t left = block > 0 ? conv->left : 0;
  size_t after = e->frames - r.first - r.count, right = after < ahead ? after : ahead;
  if (left > 0)
    memcpy(out, edges + ((block - 1) * both + ahead) * width, left * width * sizeof *out);
  memcpy(out + left * width, row(e, r.first), r.count * width * sizeof *out);
  if (right > 0)
    memcpy(out + (left + r.count) * width, edges + (block + 1) * both * width, right * width * sizeof *out);
  *total = left + r.count + right;
  return left;
}

void linnet_encoder_gate(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t rows, const real *x,
                         real *gated) {
  const real *h = block_input(e, s, i, rows, x);
  apply(e, s, &packed(e, i)->first, rows, h, LINNET_IDENTITY, s->wide);
  e->ops->glu_forward(rows, e->model->config.width, s->wide, gated);
}

void linnet_encoder_add_convolution(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t rows,
                                    real *y, real *x) {
  norm(e, &sublayer(e, i)->depthwise_norm, rows, y, y);
  e->ops->activation_forward(LINNET_SILU, rows * e->model->config.width, y, y);
  apply(e, s, &packed(e, i)->last, rows, y, LINNET_IDENTITY, s->narrow);
  linnet_encoder_residual(e, i, rows, s->narrow, x);
}

static void run_convolution(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t block) {
  const struct linnet_sublayer *c = sublayer(e, i);
  const struct linnet_conv conv = linnet_layer_convolution(&e->model->config, c->layer);
  struct rows r = block_rows(e, block);
  size_t total, left = gather(e, &conv, block, r, s->narrow, &total);
  size_t offsets[2] = {0, total};
  struct linnet_pack pack = {1, offsets};
  linnet_encoder_gate(e, s, i, total, s->narrow, s->narrow);
  e->ops->conv_forward(&conv, &pack, s->narrow, weight(e, c->depthwise), weight(e, c->depthwise_bias), s->narrow2);
  linnet_encoder_add_convolution(e, s, i, r.count, s->narrow2 + left * conv.channels, row(e, r.first));
}

const struct linnet_block_rows linnet_convolution_rows = {.neighbours = true, .edges = true, .run = run_convolution};
