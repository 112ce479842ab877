/* One optimiser step: stacking of features that lie in memory, forward and backward with dropout and CTC, clipping
 * norm, RAdam. Batches as the trainer packs them. */
#include "bench_profile.h"
#include "bench_step.h"

static const struct bench_set sets[] = {
    {"4000x3.5s", 4000, 350, BENCH_LONGEST},
    {"12000x3.5s", 12000, 350, BENCH_LONGEST},
    {"12000x8s", 12000, 800, BENCH_LONGEST},
};

static void body(void *user) {
  struct bench_step *s = user;
  bench_check(s->context, bench_step_load(s));
  bench_check(s->context, bench_step_queue(s));
  bench_check(s->context, bench_step_finish(s));
}

/* Some steps once more, by op. */
static void profile(struct bench_step *s) {
  enum { RUNS = 2 };
  bench_profile_begin(s->network.device, true, (struct bench_limits){0});
  double start = bench_profile_clock(s->network.device);
  for (size_t i = 0; i < RUNS; i++)
    body(s);
  double total = bench_profile_clock(s->network.device) - start;
  bench_profile_end(s->network.device);
  bench_profile_print(RUNS, total);
}

static void measure_set(const struct bench_options *o, const struct bench_network *network, const struct bench_set *set,
                        struct bench_step *s) {
  const struct bench_corpus *corpus = &s->corpus;
  bench_corpus_fill(&s->corpus, set);
  size_t rows = 0;
  for (size_t i = 0; i < corpus->count; i++)
    rows += linnet_stacked_frames(&s->config, corpus->frames[i]);
  unsigned threads = linnet_context_num_threads(s->context);
  const char *kernels = linnet_context_kernels(s->context);
  double flops = (double)rows * bench_training_flops(&s->config);
  struct bench_cost cost = bench_cost(kernels, body, s, flops, o->seconds);
  double rate = (double)corpus->total / cost.wall;
  if (o->json)
    printf("{\"bench\": \"training\", \"network\": \"%s\", \"set\": \"%s\", \"threads\": %u, \"kernels\": \"%s\", "
           "\"frames\": %zu, \"utterances\": %zu, \"loss\": %.4f, \"wall\": %.9f, \"cpu\": %.9f, \"flops\": %.0f, "
           "\"peak\": %.0f, \"share\": %.4f}\n",
           network->name, set->name, threads, kernels, corpus->total, corpus->count, s->loss, cost.wall, cost.cpu,
           flops, cost.peak, cost.share);
  else
    printf("%-12s %-11s %7u  %-9s %8.1f %8.1f  %8.0f %8.1f  %8.1f %7.1f %%\n", network->name, set->name, threads,
           kernels, cost.wall * 1e3, cost.cpu * 1e3, rate, rate / 100, cost.peak * 1e-9, cost.share * 100);
  if (o->profile)
    profile(s);
}

static void measure(const struct bench_options *o, const struct bench_network *network, unsigned threads) {
  struct linnet_context *context = bench_context(o, threads);
  struct bench_step *s = bench_step_create(context, network);
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
    if (!o->set || strcmp(o->set, sets[i].name) == 0)
      measure_set(o, network, &sets[i], s);
  bench_step_destroy(s);
  linnet_context_destroy(context);
}

int main(int argc, char **argv) {
  struct bench_options o = bench_parse(argc, argv);
  if (!o.json)
    printf("%-12s %-11s %7s  %-9s %8s %8s  %8s %8s  %8s %9s\n", "network", "batch", "threads", "kernels", "wall ms",
           "CPU ms", "frames/s", "h/h", "peak GF", "share");
  bench_each_network(&o, measure);
  return 0;
}
