/* One hour of audio through the non-causal encoder in one pass: 360 000 frames, then a half and a quarter of them, each
 * in its own process. Peak memory must grow linearly; the share of the features is printed separately. */
#include <linnet/encoder.h>

#include <sys/resource.h>
#include <sys/wait.h>

#include "bench_network.h"

enum { HOUR = 360000, PIECE = 4000 };

static double peak_megabytes(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss * 1024e-6;
}

struct check {
  size_t rows;
  double sum; /* of all log-posteriors */
};

static int add_rows(void *user, const float *log_posteriors, size_t first, size_t frames) {
  struct check *check = user;
  (void)first;
  check->rows += frames;
  for (size_t i = 0; i < frames * BENCH_OUTPUTS; i++)
    check->sum += log_posteriors[i];
  return 0;
}

/* A stretch of noise again and again, each time louder or softer. */
static float *make_features(size_t frames, size_t dim) {
  struct test_random random = {1};
  float *x = malloc(frames * dim * sizeof *x), *piece = bench_floats(&random, PIECE * dim);
  for (size_t i = 0; i < frames * dim; i++)
    x[i] = piece[i % (PIECE * dim)] * (1 + 0.1f * (float)(i / (PIECE * dim) % 7));
  free(piece);
  return x;
}

static void measure(const struct bench_options *o, const struct bench_network *network, unsigned threads,
                    size_t frames) {
  struct linnet_context *context = bench_context(o, threads);
  struct linnet_model *model = bench_model(context, network);
  struct linnet_encoder *encoder = NULL;
  struct check check = {0};
  float *features = make_features(frames, model->config.input_dim);
  double input = (double)(frames * model->config.input_dim * sizeof *features) * 1e-6;
  bench_check(context, linnet_encoder_create(context, model, &encoder));
  double wall = bench_clock(CLOCK_MONOTONIC), cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
  bench_check(context, linnet_encoder_run(encoder, features, frames, add_rows, &check));
  wall = bench_clock(CLOCK_MONOTONIC) - wall;
  cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  double seconds = (double)frames / 100, total = peak_megabytes();
  if (o->json)
    printf("{\"bench\": \"hour\", \"network\": \"%s\", \"threads\": %u, \"frames\": %zu, \"wall\": %.6f, "
           "\"cpu\": %.6f, \"features_mb\": %.1f, \"peak_mb\": %.1f}\n",
           network->name, threads, frames, wall, cpu, input, total);
  else
    printf("%-12s %7u  %7zu %9.1f  %9.1f %9.1f  %8.2f %8.2f  %8.5f  %9.4f\n", network->name, threads, frames, input,
           total, total - input, wall, cpu, wall / seconds, check.sum / (double)check.rows / BENCH_OUTPUTS);
  linnet_encoder_destroy(encoder);
  linnet_model_destroy(model);
  linnet_context_destroy(context);
  free(features);
}

static void measure_lengths(const struct bench_options *o, const struct bench_network *network, unsigned threads) {
  for (size_t frames = HOUR / 4; frames <= HOUR; frames *= 2) {
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      measure(o, network, threads, frames);
      exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
      exit(1);
  }
}

int main(int argc, char **argv) {
  struct bench_options o = bench_parse(argc, argv);
  if (!o.network)
    o.network = "paper";
  if (!o.threads)
    o.threads = 2;
  if (!o.json)
    printf("%-12s %7s  %7s %9s  %9s %9s  %8s %8s  %8s  %9s\n", "network", "threads", "frames", "features", "peak MB",
           "beyond", "wall s", "CPU s", "RTF", "mean");
  bench_each_network(&o, measure_lengths);
  return 0;
}
