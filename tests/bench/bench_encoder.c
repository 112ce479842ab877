/* Recognition of one utterance of 10 s: features in memory to log-posteriors in memory. Real-time factor, and the
 * share of the core's measured multiply-add peak. */
#include <linnet/encoder.h>

#include "bench_network.h"

enum { FRAMES = 998 }; /* of 10 s: 1 + (160000 - 400) / 160 */

struct run {
  struct linnet_context *context;
  struct linnet_encoder *encoder;
  const float *features;
  float *log_posteriors;
};

static void body(void *user) {
  struct run *r = user;
  bench_check(r->context, linnet_encoder_compute(r->encoder, r->features, FRAMES, r->log_posteriors));
}

static void measure(const struct bench_options *o, const struct bench_network *network, unsigned threads) {
  struct test_random random = {1};
  struct run r = {.context = bench_context(o, threads)};
  struct linnet_model *model = bench_model(r.context, network);
  size_t rows = linnet_model_num_output_frames(model, FRAMES);
  float *features = bench_floats(&random, FRAMES * model->config.input_dim);
  r.features = features;
  r.log_posteriors = bench_alloc(rows * BENCH_OUTPUTS * sizeof(float));
  bench_check(r.context, linnet_encoder_create(r.context, model, &r.encoder));
  double flops = (double)rows * bench_forward_flops(&model->config);
  const char *table = linnet_context_kernels(r.context);
  struct bench_cost cost = bench_cost(table, body, &r, flops, o->seconds);
  if (o->json)
    printf("{\"bench\": \"encoder\", \"network\": \"%s\", \"threads\": %u, \"kernels\": \"%s\", \"wall\": %.9f, "
           "\"cpu\": %.9f, \"flops\": %.0f, \"peak\": %.0f, \"share\": %.4f}\n",
           network->name, threads, table, cost.wall, cost.cpu, flops, cost.peak, cost.share);
  else
    printf("%-12s %7u  %-9s %8.2f %8.2f  %8.5f %9.2f  %8.1f %7.1f %%\n", network->name, threads, table, cost.wall * 1e3,
           cost.cpu * 1e3, cost.wall / 10, flops / FRAMES * 1e-6, cost.peak * 1e-9, cost.share * 100);
  linnet_encoder_destroy(r.encoder);
  linnet_model_destroy(model);
  linnet_context_destroy(r.context);
  free(features), free(r.log_posteriors);
}

int main(int argc, char **argv) {
  struct bench_options o = bench_parse(argc, argv);
  if (!o.json)
    printf("%-12s %7s  %-9s %8s %8s  %8s %9s  %8s %9s\n", "network", "threads", "kernels", "wall ms", "CPU ms", "RTF",
           "MFLOP/fr", "peak GF", "share");
  bench_each_network(&o, measure);
  return 0;
}
