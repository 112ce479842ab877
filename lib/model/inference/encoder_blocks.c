/* The blocks of a transformer in inference: the end that all blocks share, convolution and feed-forward. Attention is
 * in encoder_attention.c. */
#include <string.h>

#include "model/inference/encoder.h"

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

/* Copies the block's rows, with up to half a kernel of its neighbours' rows on each side, all from before the
 * convolution. Returns the number of rows on the left. */
static size_t gather(const struct linnet_encoder *e, size_t block, struct rows r, real *out, size_t *total) {
  const real *edges = e->edges.data;
  size_t half = half_kernel(e), width = e->model->config.width;
  size_t left = block > 0 ? half : 0;
  size_t after = e->frames - r.first - r.count, right = after < half ? after : half;
  if (left > 0)
    memcpy(out, edges + ((block - 1) * 2 + 1) * half * width, left * width * sizeof *out);
  memcpy(out + left * width, row(e, r.first), r.count * width * sizeof *out);
  if (right > 0)
    memcpy(out + (left + r.count) * width, edges + (block + 1) * 2 * half * width, right * width * sizeof *out);
  *total = left + r.count + right;
  return left;
}

static void run_convolution(const struct linnet_encoder *e, const struct scratch *s, size_t i, size_t block) {
  const struct linnet_sublayer *c = sublayer(e, i);
  const struct linnet_conv conv = {e->model->config.width, e->model->config.convolution};
  struct rows r = block_rows(e, block);
  size_t width = conv.channels, total, left = gather(e, block, r, s->narrow, &total);
  size_t offsets[2] = {0, total};
  struct linnet_pack pack = {1, offsets};
  norm(e, &c->norm, total, s->narrow, s->narrow);
  apply(e, s, &packed(e, i)->first, total, s->narrow, LINNET_IDENTITY, s->wide);
  e->ops->glu_forward(total, width, s->wide, s->narrow);
  e->ops->conv_forward(&conv, &pack, s->narrow, weight(e, c->depthwise), weight(e, c->depthwise_bias), s->narrow2);
  real *own = s->narrow2 + left * width;
  norm(e, &c->depthwise_norm, r.count, own, own);
  e->ops->activation_forward(LINNET_SILU, r.count * width, own, own);
  apply(e, s, &packed(e, i)->last, r.count, own, LINNET_IDENTITY, s->narrow);
  linnet_encoder_residual(e, i, r.count, s->narrow, row(e, r.first));
}

const struct linnet_block_rows linnet_convolution_rows = {.neighbours = true, .edges = true, .run = run_convolution};
