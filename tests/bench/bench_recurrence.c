/* A causal network frame by frame, in batches of streams and blocks of frames: how many streams one core runs in real
 * time, without features and search. "live" has 6 layers of width 192 with causal linear attention, convolutions of 15,
 * 30 ms an output frame, as models/english-live but for the number of layers. "images" has the size of the network for
 * MNIST of Katharopoulos et al. (2020): 8 layers of width 256.
 *
 * Per output frame: flop of products, attention and convolution. Per step: all packed weights for each pass of at most
 * max_rows rows, and reading and writing the state of each stream. Printed are the share of the multiply-add peak,
 * and that of the time in which these bytes can be read, by the bandwidth measured for a buffer of the size of the
 * weights. The delay is what a frame waits at most: for the others of its block, and for the step. */
#include <linnet/recurrence.h>

#include "base/numbers.h"
#include "bench_network.h"
#include "model/inference/encoder.h"

enum { MAX_STREAMS = 100, MAX_FRAMES = 8, MAX_SIZES = 4 };

static const struct work {
  struct bench_network network;
  size_t max_rows;                              /* of a pass */
  size_t streams[MAX_SIZES], frames[MAX_SIZES]; /* until 0 */
} works[] = {{{"live", "{\"norm\": \"pre\", \"stack\": 3, \"layers\": 6, \"width\": 192, \"heads\": 6, "
                       "\"feed_forward\": 768, \"position\": \"none\", \"convolution\": 15, "
                       "\"attention\": \"causal-linear\", \"convolution_lookahead\": 1}"},
              BLOCK_ROWS,
              {1, 4, 16, 64},
              {1, 4, MAX_FRAMES}},
             {{"images", "{\"norm\": \"post\", \"layers\": 8, \"width\": 256, \"heads\": 8, \"feed_forward\": 1024, "
                         "\"position\": \"none\", \"attention\": \"causal-linear\"}"},
              MAX_STREAMS,
              {1, 10, MAX_STREAMS},
              {1}}};

struct run {
  const struct work *work;
  const struct linnet_ops *ops;
  struct linnet_context *context;
  struct linnet_model *model;
  struct linnet_recurrence_batch *batch;
  struct linnet_recurrence_input inputs[MAX_STREAMS];
  size_t streams, frames; /* of a step; output frames of each stream */
};

static void body(void *user) {
  struct run *r = user;
  bench_check(r->context, linnet_recurrence_batch_step(r->batch, r->inputs, r->streams));
}

static void open_streams(struct run *r, size_t streams, size_t frames, const float *features, float *log_posteriors) {
  r->streams = streams, r->frames = frames;
  bench_check(r->context, linnet_recurrence_batch_create(r->context, r->model, r->work->max_rows, &r->batch));
  for (size_t i = 0; i < streams; i++) {
    r->inputs[i] = (struct linnet_recurrence_input){
        .features = features, .num_frames = frames * linnet_model_stride(r->model), .log_posteriors = log_posteriors};
    bench_check(r->context, linnet_recurrence_batch_open(r->batch, &r->inputs[i].recurrence));
  }
}

static void close_streams(struct run *r) {
  for (size_t i = 0; i < r->streams; i++)
    linnet_recurrence_destroy(r->inputs[i].recurrence);
  linnet_recurrence_batch_destroy(r->batch);
}

static void report(struct run *r, double bandwidth) {
  const double rows = (double)(r->streams * r->frames), seconds = linnet_model_frame_seconds(r->model);
  const double weights = (double)(r->model->linear_layers->packed_size * sizeof(real));
  const double state = (double)linnet_recurrence_state_bytes(r->inputs[0].recurrence);
  const double passes = (double)linnet_divide_up(r->streams * r->frames, r->work->max_rows);
  const double flops = rows * bench_forward_flops(&r->model->config);
  const double bytes = passes * weights + 2 * state * (double)r->streams;
  const struct bench_result result = bench_share(r->ops->name, body, r, flops, 0.5);
  printf("%-12s %7zu %6zu %11.1f %13.0f %9.1f %7.1f %% %8.1f %7.1f %%\n", r->ops->name, r->streams, r->frames,
         result.seconds / rows * 1e6, rows * seconds / result.seconds,
         ((double)r->frames * seconds + result.seconds) * 1e3, 100 * result.share, bytes / result.seconds * 1e-9,
         100 * bytes / result.seconds / bandwidth);
}

static void measure(const struct linnet_ops *ops, const struct work *work) {
  const struct bench_options options = {.kernels = ops->name};
  struct test_random random = {1};
  struct run r = {.work = work, .ops = ops, .context = bench_context(&options, 1)};
  r.model = bench_model(r.context, &work->network);
  const size_t bytes = r.model->linear_layers->packed_size * sizeof(real);
  const double bandwidth = bench_bandwidth(bytes, 0.3);
  float *features = bench_floats(&random, MAX_FRAMES * linnet_model_stride(r.model) * r.model->config.input_dim);
  float *log_posteriors = bench_alloc(MAX_FRAMES * BENCH_OUTPUTS * sizeof(float));
  printf("%-12s %s: peak %.1f GFLOP/s, %.1f GB/s read of %.1f MB of weights\n", ops->name, work->network.name,
         bench_peak(ops->name) * 1e-9, bandwidth * 1e-9, (double)bytes * 1e-6);
  for (size_t i = 0; i < MAX_SIZES && work->streams[i] > 0; i++)
    for (size_t j = 0; j < MAX_SIZES && work->frames[j] > 0; j++) {
      open_streams(&r, work->streams[i], work->frames[j], features, log_posteriors);
      report(&r, bandwidth);
      close_streams(&r);
    }
  linnet_model_destroy(r.model);
  linnet_context_destroy(r.context);
  free(features), free(log_posteriors);
}

int main(int argc, char **argv) {
  const struct linnet_ops *ops;
  size_t i = 0;
  printf("%-12s %7s %6s %11s %13s %9s %9s %8s %9s\n", "kernels", "streams", "frames", "us a frame", "streams a core",
         "delay ms", "of peak", "GB/s", "of limit");
  for (; (ops = bench_table(argc, argv, i)); i++)
    for (size_t w = 0; w < sizeof works / sizeof *works; w++)
      measure(ops, &works[w]);
  return i == 0;
}
