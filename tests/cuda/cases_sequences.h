/* Cases of ops on packed sequences: masks, convolution, LSTM, feature maps. */
#ifndef LINNET_TEST_CASES_SEQUENCES_H
#define LINNET_TEST_CASES_SEQUENCES_H

#include "case_sizes.h"
#include "ops/depthwise_conv.h"
#include "ops/feature_map.h"
#include "ops/lstm.h"
#include "ops/spec_augment.h"

/* --- SpecAugment */

/* Some of `total` positions, or all. */
static void some_span(struct test_random *r, size_t total, size_t *first, size_t *length) {
  *length = test_below(r, 5) ? test_below(r, (total < 40 ? total : 40) + 1) : total;
  *first = test_below(r, total - *length + 1);
}

static double test_spec_augment(struct mirrors *m) {
  enum { MAX_MASKS = 12 };
  struct test_random *r = &m->random;
  size_t offsets[MAX_SEQUENCES + 1];
  struct linnet_feature_mask masks[MAX_SEQUENCES * MAX_MASKS];
  struct linnet_pack p = some_pack(r, offsets, 1000);
  struct linnet_masks t = {.count = test_below(r, MAX_MASKS + 1), .stack = 1 + test_below(r, 4), .masks = masks};
  t.channels = 1 + some_size(r, 100);
  for (size_t i = 0; i < p.sequences * t.count; i++) {
    const size_t s = i / t.count;
    some_span(r, (offsets[s + 1] - offsets[s]) * t.stack, &masks[i].first_frame, &masks[i].num_frames);
    some_span(r, t.channels, &masks[i].first_channel, &masks[i].num_channels);
  }
  struct buffer x = activations_random(m, offsets[p.sequences] * t.stack * t.channels), x2 = buffer_copy(r, &x);
  linnet_spec_augment_reference(&p, &t, x.x);
  struct linnet_cuda_pack pack = mirror_pack(m, &p);
  t.masks = mirror_bytes(m, masks, p.sequences * t.count * sizeof *masks);
  linnet_cuda_spec_augment(m->device, &pack, &t, mirror_activations(m, &x2));
  mirrors_return(m);
  double error = buffer_error(&x2, &x);
  RELEASE(x, x2);
  return error;
}

/* --- Convolution, LSTM, feature maps */

static double test_conv(struct mirrors *m) {
  struct test_random *r = &m->random;
  struct linnet_conv c = {1 + some_size(r, scaled(100)), test_below(r, 3) ? 15 : 1 + 2 * test_below(r, 10), 0};
  c.left = test_below(r, 2) ? c.kernel / 2 : test_below(r, c.kernel);
  size_t offsets[MAX_SEQUENCES + 1];
  struct linnet_pack p = some_pack(r, offsets, test_below(r, 2) ? 30 : 1000);
  size_t n = offsets[p.sequences] * c.channels, taps = c.kernel * c.channels;
  struct buffer x = activations_random(m, n), w = buffer_random(r, taps), bias = buffer_random(r, c.channels);
  struct buffer y = buffer_poisoned(r, n), y2 = buffer_poisoned(r, n), dy = activations_random(m, n);
  struct buffer dx = buffer_poisoned(r, n), dx2 = buffer_poisoned(r, n), dw = buffer_random(r, taps);
  struct buffer dw2 = buffer_copy(r, &dw), dbias = buffer_random(r, c.channels), dbias2 = buffer_copy(r, &dbias);
  linnet_conv_forward_reference(&c, &p, x.x, w.x, bias.x, y.x);
  struct buffer x3 = buffer_unsigned(r, &x), dy3 = buffer_unsigned(r, &dy), dx3 = buffer_poisoned(r, n);
  struct buffer dw3 = buffer_unsigned(r, &dw), dbias3 = buffer_unsigned(r, &dbias);
  const struct linnet_conv_gradients expected = {x.x, dy.x, w.x, dx.x, dw.x, dbias.x};
  const struct linnet_conv_gradients magnitudes = {x3.x, dy3.x, w.x, dx3.x, dw3.x, dbias3.x};
  linnet_conv_backward_reference(&c, &p, &expected);
  linnet_conv_backward_reference(&c, &p, &magnitudes);
  note_cancellation(m, &dw3, &dw);
  note_cancellation(m, &dbias3, &dbias);
  struct linnet_cuda_pack pack = mirror_pack(m, &p);
  void *in = mirror_activations(m, &x);
  float *weights = mirror(m, &w);
  linnet_cuda_conv_forward(m->device, &c, &pack, in, weights, mirror(m, &bias), mirror_activations(m, &y2));
  const struct linnet_conv_gradients gradients = {
      in, mirror_activations(m, &dy), weights, mirror_activations(m, &dx2), mirror(m, &dw2), mirror(m, &dbias2)};
  linnet_cuda_conv_backward(m->device, &c, &pack, &gradients);
  mirrors_return(m);
  double error = worst(buffer_error(&y2, &y), buffer_error(&dx2, &dx));
  error = worst(error, worst(buffer_error(&dw2, &dw), buffer_error(&dbias2, &dbias)));
  RELEASE(x, w, bias, y, y2, dy, dx, dx2, dw, dw2, dbias, dbias2);
  RELEASE(x3, dy3, dx3, dw3, dbias3);
  return error;
}

static double test_packed_rows(struct mirrors *m) {
  struct test_random *r = &m->random;
  size_t offsets[MAX_SEQUENCES + 1], width = 1 + some_size(r, scaled(70)), ld = width + test_below(r, 3), longest = 0;
  struct linnet_pack p = some_pack(r, offsets, 700);
  size_t rows = offsets[p.sequences];
  bool reverse = test_below(r, 2);
  for (size_t s = 0; s < p.sequences; s++)
    longest = offsets[s + 1] - offsets[s] > longest ? offsets[s + 1] - offsets[s] : longest;
  struct buffer table = buffer_random(r, longest * width), x = activations_random(m, rows * width),
                y = buffer_copy(r, &x);
  struct buffer h = activations_random(m, rows * ld), before = buffer_poisoned(r, rows * width);
  struct buffer expected = buffer_copy(r, &before);
  for (size_t s = 0; s < p.sequences; s++)
    for (size_t t = offsets[s]; t < offsets[s + 1]; t++)
      for (size_t c = 0; c < width; c++) {
        bool first = t == (reverse ? offsets[s + 1] - 1 : offsets[s]);
        x.x[t * width + c] += table.x[(t - offsets[s]) * width + c];
        expected.x[t * width + c] = first ? 0 : h.x[(reverse ? t + 1 : t - 1) * ld + c];
      }
  struct linnet_cuda_pack pack = mirror_pack(m, &p);
  linnet_cuda_add_table(m->device, &pack, width, mirror(m, &table), mirror_activations(m, &y));
  linnet_cuda_steps_before(m->device, &pack, reverse, width, mirror_activations(m, &h), ld,
                           mirror_activations(m, &before));
  mirrors_return(m);
  double error = worst(buffer_error(&y, &x), buffer_error(&before, &expected));
  RELEASE(table, x, y, h, before, expected);
  return error;
}

/* Through a layer and back: gates get their gradients. */
static void run_lstm(const struct linnet_lstm *l, struct buffer *gates, struct buffer *cells, struct buffer *state,
                     struct buffer *h, const struct buffer *dh) {
  float *work = malloc((linnet_lstm_work(l->width, l->sequences) + 1) * sizeof *work);
  linnet_lstm_forward_reference(l, gates->x, cells->x, state->x, h->x, work);
  linnet_lstm_backward_reference(l, cells->x, dh->x, gates->x, work);
  free(work);
}

static void note_lstm_condition(struct mirrors *m, const struct linnet_lstm *l, const struct buffer *gates,
                                const struct buffer *state, size_t outputs, const struct buffer *dh) {
  struct test_random r = {outputs};
  struct buffer h[2], cells[2], states[2], all[2] = {buffer_copy(&r, gates), buffer_nudged(gates)};
  for (size_t i = 0; i < 2; i++) {
    h[i] = buffer_poisoned(&r, outputs), cells[i] = buffer_poisoned(&r, gates->n / 4);
    states[i] = buffer_copy(&r, state);
    run_lstm(l, &all[i], &cells[i], &states[i], &h[i], dh);
  }
  note_condition(m, &h[1], &h[0]), note_condition(m, &cells[1], &cells[0]), note_condition(m, &all[1], &all[0]);
  for (size_t i = 0; i < 2; i++)
    RELEASE(h[i], cells[i], states[i], all[i]);
}

static double test_lstm(struct mirrors *m) {
  struct test_random *r = &m->random;
  enum { SEQUENCES = 80 };
  size_t offsets[SEQUENCES + 1] = {0}, width = 1 + some_size(r, 70), max_sequences = test_below(r, 3) ? 6 : SEQUENCES;
  struct linnet_sequence_span spans[SEQUENCES];
  struct linnet_pack pack = {test_below(r, max_sequences), offsets};
  for (size_t s = 0; s < pack.sequences; s++)
    offsets[s + 1] = offsets[s] + some_size(r, test_below(r, 10) ? 9 : scaled(40));
  linnet_spans_longest_first(&pack, spans);
  size_t rows = offsets[pack.sequences];
  struct linnet_lstm l = {.width = width,
                          .ld = width + test_below(r, 3),
                          .reverse = test_below(r, 2),
                          .sequences = pack.sequences,
                          .spans = spans};
  struct buffer weights = buffer_scaled(r, 4 * width * width, 2 / sqrtf((float)width));
  struct buffer bias = buffer_random(r, 4 * width), gates = activations_scaled(m, rows * 4 * width, 2);
  struct buffer gates2 = buffer_copy(r, &gates), gates3 = buffer_poisoned(r, gates.n);
  struct buffer cells = buffer_poisoned(r, rows * width), cells2 = buffer_copy(r, &cells);
  struct buffer h = buffer_poisoned(r, rows * l.ld), h2 = buffer_copy(r, &h), dh = activations_random(m, rows * l.ld);
  struct buffer state = buffer_random(r, 2 * pack.sequences * width), state2 = buffer_copy(r, &state);
  struct buffer work = buffer_poisoned(r, linnet_lstm_work(width, pack.sequences));
  struct buffer work2 = buffer_poisoned(r, linnet_cuda_lstm_work(width, pack.sequences));
  const struct linnet_sequence_span *device_spans = mirror_bytes(m, spans, pack.sequences * sizeof *spans);
  l.weights = weights.x, l.bias = bias.x;
  note_lstm_condition(m, &l, &gates, &state, h.n, &dh);
  linnet_lstm_forward_reference(&l, gates.x, cells.x, state.x, h.x, work.x);
  memcpy(gates3.x, gates.x, gates.n * sizeof(float));
  void *forward = mirror_activations(m, &gates2), *backward = mirror_activations(m, &gates3);
  float *workspace = mirror(m, &work2), *saved = mirror(m, &cells2);
  struct linnet_lstm device = l;
  device.weights = mirror(m, &weights), device.bias = mirror(m, &bias);
  linnet_cuda_lstm_forward(m->device, &device, device_spans, forward, saved, mirror(m, &state2),
                           mirror_activations(m, &h2), workspace);
  linnet_cuda_lstm_backward(m->device, &device, device_spans, saved, mirror_activations(m, &dh), backward, workspace);
  mirrors_return(m);
  double error = worst(buffer_error(&gates2, &gates), buffer_error(&cells2, &cells));
  error = worst(error, worst(buffer_error(&h2, &h), buffer_error(&state2, &state)));
  linnet_lstm_backward_reference(&l, cells.x, dh.x, gates.x, work.x);
  error = worst(error, worst(buffer_error(&gates3, &gates), guards_hold(&work2) ? 0 : INFINITY));
  RELEASE(weights, bias, gates, gates2, gates3, cells, cells2, h, h2, dh, state, state2, work, work2);
  return error;
}

/* The tables of steps on the device. */
static struct linnet_cuda_steps mirror_steps(struct mirrors *m, const struct linnet_pack *p) {
  struct linnet_sequence_span *spans = malloc((p->sequences + 1) * sizeof *spans);
  size_t bytes = linnet_cuda_steps_bytes(p);
  void *host = malloc(bytes + 1), *device = mirror_add(m, NULL, bytes);
  linnet_spans_longest_first(p, spans);
  const struct linnet_sequence_span *device_spans = mirror_bytes(m, spans, p->sequences * sizeof *spans);
  struct linnet_cuda_steps steps = linnet_cuda_steps_write(p, spans, device_spans, host, device);
  linnet_cuda_upload(m->device, device, host, bytes);
  linnet_cuda_wait(m->device, NULL);
  free(host);
  free(spans);
  return steps;
}

static double test_rows_of_steps(struct mirrors *m) {
  struct test_random *r = &m->random;
  size_t offsets[MAX_SEQUENCES + 1], width = 1 + some_size(r, scaled(70)), row = 0, running = 1;
  struct linnet_pack p = some_pack(r, offsets, 300);
  struct linnet_sequence_span spans[MAX_SEQUENCES];
  size_t n = offsets[p.sequences] * width;
  struct buffer x = activations_random(m, n), y = buffer_poisoned(r, n), back = buffer_poisoned(r, n);
  struct buffer expected = buffer_poisoned(r, n);
  linnet_spans_longest_first(&p, spans);
  for (size_t step = 0; running > 0; step++) {
    running = 0;
    for (size_t s = 0; s < p.sequences; s++)
      if (step < spans[s].frames) {
        memcpy(expected.x + row++ * width, x.x + (spans[s].first + step) * width, width * sizeof(float));
        running++;
      }
  }
  struct linnet_cuda_steps steps = mirror_steps(m, &p);
  float *by_step = mirror(m, &y);
  linnet_cuda_rows_to_steps(m->device, &steps, width, mirror_activations(m, &x), by_step);
  linnet_cuda_rows_from_steps(m->device, &steps, width, by_step, mirror_activations(m, &back));
  mirrors_return(m);
  double error = worst(buffer_error(&y, &expected), buffer_error(&back, &x));
  RELEASE(x, y, back, expected);
  return error;
}

/* Tensors of all sizes, one after the other in the buffer and the other way around, with gaps, in the space. */
static double test_lstm_tensors(struct mirrors *m) {
  struct test_random *r = &m->random;
  struct linnet_cuda_lstm_tensors t = {.count = 1 + test_below(r, LINNET_CUDA_LSTM_TENSORS)};
  size_t n = 0, space_size = 0;
  for (size_t i = 0; i < t.count; i++) {
    t.tensor[i].offset = n;
    n += t.tensor[i].size = some_size(r, scaled(10000));
    t.largest = t.tensor[i].size > t.largest ? t.tensor[i].size : t.largest;
  }
  space_size = n + t.count;
  struct buffer weights = buffer_random(r, n), space = buffer_poisoned(r, space_size),
                expected = buffer_copy(r, &space);
  struct buffer gradients = buffer_random(r, n), sums = buffer_copy(r, &gradients);
  float *device = mirror(m, &space);
  for (size_t i = 0; i < t.count; i++) {
    space_size -= t.tensor[i].size + 1;
    t.tensor[i].space = device + space_size;
    memcpy(expected.x + space_size, weights.x + t.tensor[i].offset, t.tensor[i].size * sizeof(float));
  }
  for (size_t i = 0; i < n; i++)
    sums.x[i] += weights.x[i];
  if (t.largest > 0) {
    linnet_cuda_lstm_weights(m->device, &t, mirror(m, &weights));
    linnet_cuda_lstm_gradients(m->device, &t, mirror(m, &gradients));
  }
  mirrors_return(m);
  double error = t.largest > 0 ? worst(buffer_error(&space, &expected), buffer_error(&gradients, &sums)) : 0;
  RELEASE(weights, space, expected, gradients, sums);
  return error;
}

static double test_feature_map(struct mirrors *m) {
  static const enum linnet_feature_map maps[] = {LINNET_MAP_RELU, LINNET_MAP_POLYNOMIAL, LINNET_MAP_FOURIER,
                                                 LINNET_MAP_POSITIVE};
  struct test_random *r = &m->random;
  struct linnet_feature_map_terms t = {.map = maps[test_below(r, 4)], .heads = 1 + test_below(r, 4)};
  size_t rows = some_size(r, scaled(300));
  t.width = 1 + some_size(r, scaled(90));
  t.features = linnet_feature_map_random(t.map) ? 1 + some_size(r, scaled(300)) : 0;
  if (t.features > 0 && test_below(r, 12) == 0)
    rows = test_below(r, 4), t.width = 12288, t.heads = 1, t.features = 2; /* a direction of more than 48 KiB */
  size_t size = linnet_feature_map_size(t.map, t.width, t.features);
  t.x_ld = t.heads * t.width + test_below(r, 3), t.phi_ld = t.heads * size + test_below(r, 3);
  struct buffer x =
      activations_scaled(m, rows * t.x_ld, test_below(r, 3) ? 2 : 30); /* also large angles and exponents */
  struct buffer w = buffer_scaled(r, t.features * t.width, 2), dphi = activations_random(m, rows * t.phi_ld);
  struct buffer phi = buffer_poisoned(r, dphi.n), phi2 = buffer_copy(r, &phi), phi3 = buffer_copy(r, &phi);
  struct buffer dx = buffer_poisoned(r, x.n), dx2 = buffer_copy(r, &dx);
  t.directions = w.x;
  linnet_feature_map_forward_reference(&t, rows, x.x, phi.x, NULL);
  linnet_feature_map_backward_reference(&t, rows, x.x, phi.x, dphi.x, dx.x, NULL);
  memcpy(phi3.x, phi.x, phi.n * sizeof(float));
  struct buffer nudged = buffer_nudged(&x), phi4 = buffer_poisoned(r, phi.n), dx4 = buffer_poisoned(r, dx.n);
  linnet_feature_map_forward_reference(&t, rows, nudged.x, phi4.x, NULL);
  linnet_feature_map_backward_reference(&t, rows, nudged.x, phi4.x, dphi.x, dx4.x, NULL);
  note_condition(m, &phi4, &phi), note_condition(m, &dx4, &dx);
  void *in = mirror_activations(m, &x);
  t.directions = mirror(m, &w);
  linnet_cuda_feature_map_forward(m->device, &t, rows, in, mirror_activations(m, &phi2));
  linnet_cuda_feature_map_backward(m->device, &t, rows, in, mirror_activations(m, &phi3), mirror_activations(m, &dphi),
                                   mirror_activations(m, &dx2));
  mirrors_return(m);
  double error = worst(buffer_error(&phi2, &phi), buffer_error(&dx2, &dx));
  RELEASE(x, w, dphi, phi, phi2, phi3, phi4, dx, dx2, dx4, nudged);
  return error;
}

#endif
