/* Speed of the filterbank on one thread: audio-seconds per CPU-second over synthetic noise, and the share of the core's
 * multiply-add peak, in medians.
 *
 *   bench_fbank [--kernels TABLE]        each table on 600 seconds
 *   bench_fbank --json SECONDS           one pass of the best table, for peer_fbank.py */
#include <linnet/fbank.h>

#include "bench.h"

enum { RATE = 16000 };

struct job {
  struct linnet_context *context;
  struct linnet_fbank *fbank;
  float *samples, *features;
  size_t n;
  double seconds; /* of audio */
};

static void compute(void *user) {
  struct job *job = user;
  linnet_fbank_compute(job->fbank, job->samples, job->n, job->features);
}

static void open_job(const char *kernels, double seconds, struct job *job) {
  struct linnet_context_settings settings;
  linnet_context_settings_default(&settings);
  settings.num_threads = 1;
  settings.kernels = kernels;
  *job = (struct job){.n = (size_t)(seconds * RATE), .seconds = seconds};
  if (linnet_context_create(&settings, &job->context) != LINNET_OK ||
      linnet_fbank_create(job->context, NULL, &job->fbank) != LINNET_OK)
    exit(1);
  struct test_random random = {1};
  job->samples = bench_floats(&random, job->n);
  for (size_t i = 0; i < job->n; i++)
    job->samples[i] *= 10000;
  job->features = bench_alloc((linnet_fbank_num_frames(job->fbank, job->n) + 1) * 40 * sizeof(float));
  compute(job); /* touches the memory */
}

static void close_job(struct job *job) {
  free(job->samples);
  free(job->features);
  linnet_fbank_destroy(job->fbank);
  linnet_context_destroy(job->context);
}

/* Operations of a frame: mean and window, an FFT of m complex numbers (5 m log2 m, the usual count), sorting out and
 * squaring (23 for a pair of bins), filters (two per bin), logarithms (about 20 each). */
static double flop_per_frame(const struct linnet_fbank *fbank) {
  double window = (double)linnet_fbank_window(fbank), m = 2;
  while (2 * m < window)
    m *= 2;
  return window * 5 + 5 * m * log2(m) + m / 2 * 23 + m * 4 + 20 * (double)linnet_fbank_dim(fbank);
}

static void report(const char *table) {
  struct job job;
  open_job(table, 600, &job);
  double frames = (double)linnet_fbank_num_frames(job.fbank, job.n), flop = flop_per_frame(job.fbank);
  double bytes = 4 * (double)(linnet_fbank_shift(job.fbank) + linnet_fbank_dim(job.fbank));
  struct bench_result r = bench_share(table, compute, &job, frames * flop, 0.5);
  printf("filterbank %-8s %6.0f audio-seconds per CPU-second; a frame: %.0f ns, %.0f FLOP, %.0f bytes of memory; "
         "%.1f GFLOP/s, %.1f %% of peak; %.2f GB/s\n",
         table, job.seconds / r.seconds, r.seconds / frames * 1e9, flop, bytes, frames * flop / r.seconds / 1e9,
         100 * r.share, frames * bytes / r.seconds / 1e9);
  close_job(&job);
}

static int report_json(double seconds) {
  if (!(seconds >= 1 && seconds <= 36000))
    return 2;
  struct job job;
  open_job("auto", seconds, &job);
  printf("{\"bench\": \"fbank\", \"kernels\": \"%s\", \"audio_s_per_cpu_s\": %.0f}\n",
         linnet_context_kernels(job.context), seconds / bench_sample(compute, &job, 1));
  close_job(&job);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--json") == 0)
    return report_json(atof(argv[2]));
  const struct linnet_ops *ops;
  for (size_t i = 0; (ops = bench_table(argc, argv, i)); i++)
    report(ops->name);
  return 0;
}
