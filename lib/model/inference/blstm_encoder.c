/* The bidirectional LSTM in inference. Each layer has two tasks, one per direction. A task goes through the blocks of
 * rows from its end of the utterance. For each block it computes the inputs of all gates in one product, then the steps
 * while the block is in the cache. A layer reads x and writes y; then x and y are swapped. */
#include <string.h>

#include "model/inference/encoder.h"

static struct linnet_encoder_sizes sizes(const struct linnet_encoder *e) {
  size_t units = e->model->config.width, lstm = linnet_lstm_work(units, 1);
  return (struct linnet_encoder_sizes){
      .rows = BLOCK_ROWS, .wide = 4 * units, .work = lstm > e->ops->gemm_work ? lstm : e->ops->gemm_work};
}

static enum linnet_status plan(struct linnet_encoder *e) {
  LINNET_TRY(linnet_encoder_reserve(e, &e->states, 2, 2 * e->model->config.width * sizeof(real)));
  return linnet_encoder_reserve(e, &e->y, e->frames, row_bytes(e));
}

/* The state of a direction: h, then c. */
static real *state(const struct linnet_encoder *e, size_t direction) {
  return (real *)e->states.data + direction * 2 * e->model->config.width;
}

static void run_block(const struct linnet_encoder *e, const struct scratch *s, size_t direction, struct rows r) {
  const struct linnet_packed_direction *l = &e->model->linear_layers->directions[e->layer][direction];
  const struct linnet_sequence_span span = {0, r.count};
  size_t units = e->model->config.width;
  struct linnet_lstm lstm = {.width = units,
                             .ld = e->width,
                             .reverse = direction == 1,
                             .sequences = 1,
                             .spans = &span,
                             .weights = l->recurrent,
                             .bias = l->bias};
  if (e->layer == 0)
    linnet_encoder_input(e, s, &l->input, r, s->wide);
  else
    apply(e, s, &l->input, r.count, row(e, r.first), LINNET_IDENTITY, s->wide);
  real *h = (real *)e->y.data + r.first * e->width + direction * units;
  e->ops->lstm_forward(&lstm, s->wide, NULL, state(e, direction), h, s->work);
}

static void task_direction(void *user, size_t direction, unsigned worker) {
  struct linnet_encoder *e = user;
  memset(state(e, direction), 0, 2 * e->model->config.width * sizeof(real));
  for (size_t b = 0; b < e->blocks && linnet_encoder_unit(e, worker); b++)
    run_block(e, &e->scratch[worker], direction, block_rows(e, direction == 1 ? e->blocks - 1 - b : b));
}

static void run(struct linnet_encoder *e) {
  for (e->layer = 0; e->layer < e->model->config.layers && !linnet_encoder_stopped(e); e->layer++) {
    linnet_encoder_loop(e, 0, 1, 2 * e->blocks, 2, task_direction);
    struct linnet_buffer out = e->y;
    e->y = e->x;
    e->x = out;
  }
}

static const real *output(const struct linnet_encoder *e, const struct scratch *s, struct rows r) {
  (void)s;
  return row(e, r.first);
}

const struct linnet_encoder_ops linnet_blstm_encoder = {sizes, plan, run, output};
