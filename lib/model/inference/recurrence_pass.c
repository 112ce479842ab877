/* A pass over the network in inference frame by frame: the rows of one or several streams go through all sublayers
 * together. Linear layers, norms and activations run on all rows at once, so that weights are read once. Attention and
 * convolutions run stream by stream: they read and advance its states row by row, in order. So a row has the same bits
 * whatever rows are beside it.
 *
 * The states of many streams do not fit into the second-level cache of a core. Products compute much for each byte that
 * they read, so they have time to prefetch the states that the next attention or convolution reads.
 *
 * A convolution that looks ahead by a number of rows outputs a row as soon as it has received that number of later
 * rows. So the sublayers after it run on earlier rows than those before it. At the end of the utterance, each such
 * convolution gets rows of zeros, from the lowest one upwards. */
#include <string.h>

#include "base/numbers.h"
#include "model/inference/recurrence.h"
#include "model/layer.h"
#include "ops/position.h"

/* The rows of all spans. */
static size_t count_rows(const struct linnet_recurrence_batch *b) {
  size_t rows = 0;
  for (size_t i = 0; i < b->num_spans; i++)
    rows += b->spans[i].rows;
  return rows;
}

/* Lets linear layers prefetch the states of the next sublayer that has some, from sublayer i on. */
static void prefetch_states(struct linnet_recurrence_batch *b, size_t i) {
  while (i < num_sublayers(b) && sublayer(&b->rows, i)->kind == LINNET_BLOCK_FEED_FORWARD)
    i++;
  const size_t count = i < num_sublayers(b) ? b->num_spans : 0;
  for (size_t n = 0; n < count; n++) {
    const struct sublayer_state *state = &b->spans[n].recurrence->states[i];
    b->upcoming[n] = (struct linnet_memory_block){state->data, state->capacity * sizeof(real)};
  }
  b->prefetch = (struct linnet_prefetch){.blocks = b->upcoming, .num_blocks = count};
}

/* --- what enters -------------------------------------------------------------------------------------------------- */

void linnet_recurrence_begin_pass(struct linnet_recurrence_batch *b) {
  b->num_spans = b->entered = 0;
}

static void put_frame(struct linnet_recurrence *r, const float *features) {
  const size_t dim = config_of(r->batch)->input_dim;
  memcpy(r->input + r->stacked++ * dim, features, dim * sizeof *r->input);
}

/* Moves a complete stack of frames into the pass. */
static void enter(struct linnet_recurrence_batch *b, struct linnet_recurrence *r) {
  const size_t size = config_of(b)->stack * config_of(b)->input_dim;
  memcpy(b->stacked + b->entered++ * size, r->input, size * sizeof *r->input);
  r->stacked = 0;
  r->entered++;
}

/* Takes frames until there are `limit` rows. Returns their number. */
static size_t take_frames(struct linnet_recurrence_batch *b, const struct linnet_recurrence_input *input, size_t limit,
                          size_t *taken) {
  const struct linnet_config *config = config_of(b);
  size_t rows = 0;
  while (rows < limit && *taken < input->num_frames) {
    put_frame(input->recurrence, input->features + (*taken)++ * config->input_dim);
    if (input->recurrence->stacked < config->stack)
      continue;
    enter(b, input->recurrence);
    rows++;
  }
  return rows;
}

/* Completes the last stack of frames, if it is incomplete, by its last frame. Returns the number of rows. */
static size_t finish_stack(struct linnet_recurrence_batch *b, struct linnet_recurrence *r) {
  if (r->stacked == 0)
    return 0;
  const real *last = r->input + (r->stacked - 1) * config_of(b)->input_dim;
  while (r->stacked < config_of(b)->stack)
    put_frame(r, last);
  enter(b, r);
  return 1;
}

size_t linnet_recurrence_add_span(struct linnet_recurrence_batch *b, struct linnet_recurrence_input *input,
                                  size_t limit, size_t *taken) {
  struct linnet_recurrence *r = input->recurrence;
  struct span span = {.input = input, .recurrence = r};
  span.rows = take_frames(b, input, limit, taken);
  r->finished = r->finished || (input->finish && *taken == input->num_frames);
  if (r->finished && span.rows < limit) {
    span.rows += finish_stack(b, r);
    span.flush = linnet_min_size(limit - span.rows, linnet_model_lookahead(b->rows.model) - r->flushed);
  }
  if (span.rows + span.flush > 0)
    b->spans[b->num_spans++] = span;
  return span.rows + span.flush;
}

/* Rows [first, first + rows) of the positions are added to x. */
static void add_positions(struct linnet_recurrence *r, size_t first, size_t rows, real *x) {
  const size_t width = config_of(r->batch)->width;
  for (size_t t = first; t < first + rows; t++, x += width) {
    const size_t group = t / LINNET_POSITION_GROUP;
    if (group != r->position_group) {
      memset(r->positions, 0, LINNET_POSITION_GROUP * width * sizeof *r->positions);
      linnet_add_positions(group * LINNET_POSITION_GROUP, LINNET_POSITION_GROUP, width, r->positions);
      r->position_group = group;
    }
    r->batch->rows.ops->add(width, r->positions + t % LINNET_POSITION_GROUP * width, x);
  }
}

static void run_input(struct linnet_recurrence_batch *b) {
  const struct linnet_encoder *e = &b->rows;
  real *x = b->x;
  if (linnet_config_reads_tokens(config_of(b)))
    linnet_encoder_embed(e, b->entered, b->stacked, x);
  else
    apply(e, e->scratch, &e->model->linear_layers->input, b->entered, b->stacked, LINNET_IDENTITY, x);
  if (config_of(b)->position != LINNET_POSITION_SINUSOIDAL)
    return;
  for (size_t i = 0; i < b->num_spans; i++) {
    const struct span *s = &b->spans[i];
    add_positions(s->recurrence, s->recurrence->entered - s->rows, s->rows, x);
    x += s->rows * config_of(b)->width;
  }
}

/* --- attention ---------------------------------------------------------------------------------------------------- */

/* What the steps of a layer need. */
struct steps {
  struct linnet_attention attention;
  const struct linnet_attention_ops *ops;
  size_t ld, key; /* of queries and keys: from row to row, and from a query to its key */
};

static struct steps steps_of(const struct linnet_recurrence_batch *b, size_t layer) {
  const struct linnet_attention a = linnet_layer_attention(config_of(b), layer);
  const size_t mapped = linnet_mapped_columns(config_of(b), layer);
  return (struct steps){
      .attention = a, .ops = attention_ops(b, layer), .ld = a.key_ld, .key = mapped > 0 ? mapped / 2 : a.out_ld};
}

static void step_rows(const struct steps *s, struct sublayer_state *state, size_t rows, const real *q, const real *v,
                      real *heads) {
  const struct linnet_attention *a = &s->attention;
  for (size_t t = 0; t < rows; t++, q += s->ld, v += a->value_ld, heads += a->out_ld)
    s->ops->step(a, state->frames++, q, q + s->key, v, state->data, heads);
}

static void run_attention(struct linnet_recurrence_batch *b, size_t i) {
  const struct linnet_encoder *e = &b->rows;
  const struct scratch *scratch = e->scratch;
  const size_t layer = sublayer(e, i)->layer, rows = count_rows(b);
  const struct steps steps = steps_of(b, layer);
  const struct linnet_attention *a = &steps.attention;
  const real *q = linnet_mapped_columns(config_of(b), layer) > 0 ? b->phi : b->qkv;
  const real *v = b->qkv + a->value_ld - a->out_ld;
  real *heads = scratch->narrow2;
  linnet_encoder_project(e, scratch, i, rows, b->x, b->qkv, b->phi);
  for (size_t n = 0; n < b->num_spans; n++) {
    const struct span *s = &b->spans[n];
    step_rows(&steps, &s->recurrence->states[i], s->rows, q, v, heads);
    q += s->rows * steps.ld, v += s->rows * a->value_ld, heads += s->rows * a->out_ld;
  }
  prefetch_states(b, i + 1);
  linnet_encoder_add_heads(e, scratch, i, rows, scratch->narrow2, b->x);
}

static void run_feed_forward(struct linnet_recurrence_batch *b, size_t i) {
  linnet_encoder_feed_forward(&b->rows, b->rows.scratch, i, count_rows(b), b->x);
}

/* --- convolution -------------------------------------------------------------------------------------------------- */

/* The rows of zeros that the convolution of a span gets behind its rows: those that it still has to get, if the
 * convolutions before it have got all of theirs. */
static size_t take_zeros(struct span *s, size_t frames, size_t ahead) {
  const size_t zeros = linnet_min_size(s->flush, s->recurrence->entered + ahead - frames);
  s->flush -= zeros;
  s->recurrence->flushed += zeros;
  return zeros;
}

/* line = the rows that a state holds, `rows` rows of x, and rows of zeros; the state then holds the last ones. */
static void pass_line(size_t width, real *held, size_t num_held, const real *x, size_t rows, size_t zeros, real *line) {
  real *new_rows = line + num_held * width, *end = new_rows + rows * width;
  memcpy(line, held, num_held * width * sizeof *line);
  memcpy(new_rows, x, rows * width * sizeof *line);
  memset(end, 0, zeros * width * sizeof *line);
  memcpy(held, line + (rows + zeros) * width, num_held * width * sizeof *line);
}

/* The convolution y of what a span has in `gated`, and the rows `next` of the residual path that belong to it. */
static void convolve(struct linnet_recurrence_batch *b, size_t i, struct span *s, const real *gated, const real *x,
                     real *y, real *next) {
  const struct linnet_encoder *e = &b->rows;
  const struct linnet_sublayer *c = sublayer(e, i);
  const struct linnet_conv conv = linnet_layer_convolution(config_of(b), c->layer);
  const size_t width = conv.channels, before = conv.kernel - 1, ahead = before - conv.left;
  struct sublayer_state *state = &s->recurrence->states[i];
  const size_t zeros = take_zeros(s, state->frames + s->rows, ahead), rows = s->rows + zeros;
  const size_t early = linnet_min_size(rows, ahead - linnet_min_size(ahead, state->frames));
  const real *line = b->line + early * width;
  pass_line(width, state->data, before, gated, s->rows, zeros, b->line);
  e->ops->conv_window(&conv, rows - early, line, weight(e, c->depthwise), weight(e, c->depthwise_bias), y);
  pass_line(width, state->data + before * width, ahead, x, s->rows, zeros, b->line);
  memcpy(next, line, (rows - early) * width * sizeof *next);
  state->frames += rows;
  s->rows = rows - early;
}

static void run_convolution(struct linnet_recurrence_batch *b, size_t i) {
  const struct linnet_encoder *e = &b->rows;
  const size_t width = config_of(b)->width;
  const real *gated = b->qkv, *x = b->x;
  real *y = e->scratch->narrow2, *next = b->next;
  linnet_encoder_gate(e, e->scratch, i, count_rows(b), b->x, b->qkv);
  for (size_t n = 0; n < b->num_spans; n++) {
    struct span *s = &b->spans[n];
    const size_t rows = s->rows;
    convolve(b, i, s, gated, x, y, next);
    gated += rows * width, x += rows * width;
    y += s->rows * width, next += s->rows * width;
  }
  next = b->x, b->x = b->next, b->next = next;
  prefetch_states(b, i + 1);
  linnet_encoder_add_convolution(e, e->scratch, i, count_rows(b), e->scratch->narrow2, b->x);
}

/* --- all together ------------------------------------------------------------------------------------------------- */

/* By kind of block: runs sublayer i on all rows. */
static void (*const runs[LINNET_BLOCK_KINDS])(struct linnet_recurrence_batch *b,
                                              size_t i) = {[LINNET_BLOCK_ATTENTION] = run_attention,
                                                           [LINNET_BLOCK_CONVOLUTION] = run_convolution,
                                                           [LINNET_BLOCK_FEED_FORWARD] = run_feed_forward};

static void run_output(struct linnet_recurrence_batch *b) {
  const struct linnet_encoder *e = &b->rows;
  const size_t rows = count_rows(b), outputs = config_of(b)->outputs;
  const real *h = b->x, *log_p = b->log_p;
  if (config_of(b)->norm == LINNET_NORM_PRE)
    norm(e, &e->model->parameters->norm, rows, b->x, e->scratch->normed), h = e->scratch->normed;
  linnet_encoder_posteriors(e, e->scratch, rows, h, b->log_p);
  for (size_t i = 0; i < b->num_spans; i++) {
    const struct span *s = &b->spans[i];
    memcpy(s->input->log_posteriors + s->input->num_rows * outputs, log_p, s->rows * outputs * sizeof *log_p);
    log_p += s->rows * outputs;
    s->input->num_rows += s->rows;
    s->recurrence->frame += s->rows;
  }
}

/* Where convolutions look ahead, there may be no rows, or none until a convolution gets rows of zeros. */
void linnet_recurrence_run_pass(struct linnet_recurrence_batch *b) {
  prefetch_states(b, 0);
  if (b->entered > 0)
    run_input(b);
  for (size_t i = 0; i < num_sublayers(b); i++) {
    const enum linnet_block_kind kind = sublayer(&b->rows, i)->kind;
    if (kind == LINNET_BLOCK_CONVOLUTION || count_rows(b) > 0)
      runs[kind](b, i);
  }
  if (count_rows(b) > 0)
    run_output(b);
}
