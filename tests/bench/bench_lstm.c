/* One direction of an LSTM layer of the paper's baseline, 320 units: recognition of one sequence, whose recurrent
 * product reads all weights for every frame, and training on several at once. Input products are not in it.
 *
 * Per frame 8 H^2 flop forward, as many backward; per step 16 H^2 bytes of weights. Printed are the share of the
 * multiply-add peak, and for one sequence that of the time in which the weights can be read, by the bandwidth measured
 * for a buffer of their size. */
#include "bench.h"

enum { WIDTH = 320, FRAMES = 1000, LENGTH = 250, MAX_SEQUENCES = 16 };

struct run {
  const struct linnet_ops *ops;
  struct linnet_lstm lstm;
  struct linnet_sequence_span spans[MAX_SEQUENCES];
  float *weights, *weights_back, *bias, *inputs, *gates, *cells, *state, *h, *dh, *work;
};

static void forward(void *user) {
  struct run *r = user;
  size_t frames = r->lstm.sequences * r->spans[0].frames;
  r->lstm.weights = r->weights;
  memcpy(r->gates, r->inputs, frames * 4 * WIDTH * sizeof(float));
  memset(r->state, 0, 2 * r->lstm.sequences * WIDTH * sizeof(float));
  r->ops->lstm_forward(&r->lstm, r->gates, r->cells, r->state, r->h, r->work);
}

static void backward(void *user) {
  struct run *r = user;
  r->lstm.weights = r->weights_back;
  r->ops->lstm_backward(&r->lstm, r->cells, r->dh, r->gates, r->work);
}

static void report(const struct run *r, const char *name, bench_fn *body, double bandwidth) {
  double steps = (double)r->spans[0].frames, frames = steps * (double)r->lstm.sequences;
  double flops = 8.0 * WIDTH * WIDTH * frames, bytes = 16.0 * WIDTH * WIDTH * steps;
  struct bench_result result = bench_share(r->ops->name, body, (void *)r, flops, 0.3);
  printf("%-9s %-9s x %-2zu %7.2f us a step %7.1f GFLOP/s %6.1f %% of peak %7.1f GB/s of weights %6.1f %%\n",
         r->ops->name, name, r->lstm.sequences, result.seconds / steps * 1e6, flops / result.seconds * 1e-9,
         100 * result.share, bytes / result.seconds * 1e-9, 100 * bytes / result.seconds / bandwidth);
}

static void sequences(struct run *r, size_t count, size_t frames) {
  r->lstm.sequences = count;
  for (size_t i = 0; i < count; i++)
    r->spans[i] = (struct linnet_sequence_span){i * frames, frames};
}

static void pack(struct test_random *random, struct run *r) {
  float *w = bench_floats(random, 4 * WIDTH * WIDTH);
  for (size_t i = 0; i < 4 * WIDTH * WIDTH; i++)
    w[i] *= 0.05f;
  r->weights = bench_alloc(r->ops->lstm_pack_size(WIDTH, LINNET_LSTM_FORWARD) * sizeof(float));
  r->weights_back = bench_alloc(r->ops->lstm_pack_size(WIDTH, LINNET_LSTM_BACKWARD) * sizeof(float));
  r->ops->lstm_pack(WIDTH, LINNET_LSTM_FORWARD, w, r->weights);
  r->ops->lstm_pack(WIDTH, LINNET_LSTM_BACKWARD, w, r->weights_back);
  free(w);
}

static void measure(const struct linnet_ops *ops) {
  enum { ROWS = LENGTH * MAX_SEQUENCES };
  struct test_random random = {1};
  struct run r = {.ops = ops, .lstm = {.width = WIDTH, .ld = 2 * WIDTH, .spans = r.spans}};
  double bandwidth = bench_bandwidth(16 * WIDTH * WIDTH, 0.1);
  pack(&random, &r);
  r.lstm.bias = r.bias = bench_floats(&random, 4 * WIDTH);
  r.inputs = bench_floats(&random, ROWS * 4 * WIDTH), r.gates = bench_floats(&random, ROWS * 4 * WIDTH);
  r.cells = bench_floats(&random, ROWS * WIDTH), r.state = bench_floats(&random, 2 * MAX_SEQUENCES * WIDTH);
  r.h = bench_floats(&random, 2 * ROWS * WIDTH), r.dh = bench_floats(&random, 2 * ROWS * WIDTH);
  r.work = bench_floats(&random, linnet_lstm_work(WIDTH, MAX_SEQUENCES));
  printf("%-9s peak %.1f GFLOP/s, %.1f GB/s read of %d KiB\n", ops->name, bench_peak(ops->name) * 1e-9,
         bandwidth * 1e-9, 16 * WIDTH * WIDTH >> 10);
  sequences(&r, 1, FRAMES);
  report(&r, "forward", forward, bandwidth);
  for (size_t n = 1; n <= MAX_SEQUENCES; n *= 2) {
    sequences(&r, n, LENGTH);
    report(&r, "forward", forward, bandwidth);
    report(&r, "backward", backward, bandwidth);
  }
  free(r.weights), free(r.weights_back), free(r.bias), free(r.inputs), free(r.gates), free(r.cells), free(r.state),
      free(r.h);
  free(r.dh), free(r.work);
}

int main(int argc, char **argv) {
  const struct linnet_ops *ops;
  size_t i = 0;
  for (; (ops = bench_table(argc, argv, i)); i++)
    measure(ops);
  return i == 0;
}
