/* Measures the cost of attention against the length: forward and backward together (Katharopoulos et al. 2020, Fig. 1),
 * or one step of a recurrence against its context. One line of output per length. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "common/experiment.h"

static struct options {
  const char *kind, *form;
  int heads, width, shortest, longest, rounds, chunk, steps;
  double seconds;
} options = {.kind = "linear",
             .form = "chunked",
             .heads = 6,
             .width = 32,
             .shortest = 512,
             .longest = 65536,
             .rounds = 4,
             .chunk = 64,
             .seconds = 0.3};

#define INT(name, help) #name, 0, POPT_ARG_INT | POPT_ARGFLAG_SHOW_DEFAULT, &options.name, 0, help, "N"
static const struct poptOption option_table[] = {
    {"kind", 0, POPT_ARG_STRING | POPT_ARGFLAG_SHOW_DEFAULT, &options.kind, 0, "Kind of attention", "NAME"},
    {"form", 0, POPT_ARG_STRING | POPT_ARGFLAG_SHOW_DEFAULT, &options.form, 0,
     "Of causal-linear: chunked, state, parallel-state, attention", "NAME"},
    {INT(heads, "Heads")},
    {INT(width, "Width of a head")},
    {INT(shortest, "First length; lengths double up to --longest")},
    {INT(longest, "Last length; also the number of frames of a batch")},
    {INT(rounds, "Rounds of LSH attention")},
    {INT(chunk, "Rows per chunk of the chunked form")},
    {"steps", 0, POPT_ARG_NONE, &options.steps, 0, "Measure one step of the recurrence, after up to --longest frames",
     NULL},
    {"seconds", 0, POPT_ARG_DOUBLE | POPT_ARGFLAG_SHOW_DEFAULT, &options.seconds, 0, "Minimum time of a measurement",
     "S"},
    POPT_TABLEEND};
#undef INT

enum { SAMPLES = 3 };

/* One length: a batch of longest / length sequences. */
struct problem {
  const struct linnet_attention_ops *ops;
  struct linnet_attention a;
  struct linnet_pack pack;
  size_t frames, bytes; /* allocated */
  size_t *offsets;
  real *qkv, *dqkv, *out, *dout;
  void *saved, *work;
  size_t context; /* frames before the step */
  real *state;
};

static struct linnet_context *context;

static enum linnet_causal_linear_form form_of(const char *name) {
  static const char *const names[] = {[LINNET_CAUSAL_LINEAR_CHUNKED] = "chunked",
                                      [LINNET_CAUSAL_LINEAR_STATE] = "state",
                                      [LINNET_CAUSAL_LINEAR_PARALLEL_STATE] = "parallel-state",
                                      [LINNET_CAUSAL_LINEAR_ATTENTION] = "attention"};
  for (size_t i = 0; i < LINNET_CAUSAL_LINEAR_FORMS; i++)
    if (strcmp(name, names[i]) == 0)
      return (enum linnet_causal_linear_form)i;
  experiment_die("--form %s: this form does not exist", name);
}

static void *take(struct problem *p, size_t count, size_t bytes) {
  p->bytes += count * bytes;
  return experiment_alloc(context, count, bytes);
}

/* Values from -1 to 1. */
static real *take_random(struct problem *p, size_t count, uint64_t stream) {
  real *x = take(p, count, sizeof *x);
  for (size_t i = 0; i < count; i++)
    x[i] = (real)(2 * linnet_philox_uniform(linnet_philox(1, stream, i).word[0]) - 1);
  return x;
}

static struct problem describe(void) {
  enum linnet_attention_kind kind = experiment_kind(options.kind);
  size_t width = (size_t)options.width, all = (size_t)options.heads * width;
  struct problem p = {.ops = linnet_context_ops(context)->attention[kind]};
  p.a = (struct linnet_attention){.kind = kind,
                                  .heads = (size_t)options.heads,
                                  .key_width = width,
                                  .width = width,
                                  .key_ld = 3 * all,
                                  .value_ld = 3 * all,
                                  .out_ld = all,
                                  .form = form_of(options.form),
                                  .chunk = (size_t)options.chunk,
                                  .lsh = {.rounds = (size_t)options.rounds, .buckets = 64, .chunk = 32}};
  return p;
}

static void create(struct problem *p, size_t length) {
  size_t sequences = (size_t)options.longest / length, all = p->a.out_ld;
  p->frames = sequences * length;
  p->offsets = experiment_alloc(context, sequences + 1, sizeof *p->offsets);
  for (size_t i = 0; i <= sequences; i++)
    p->offsets[i] = i * length;
  p->pack = (struct linnet_pack){sequences, p->offsets};
  p->qkv = take_random(p, p->frames * 3 * all, 0);
  p->dout = take_random(p, p->frames * all, 1);
  p->dqkv = take(p, p->frames * 3 * all, sizeof(real));
  p->out = take(p, p->frames * all, sizeof(real));
  p->saved = take(p, p->ops->saved_bytes(&p->a, p->frames, sequences), 1);
  p->work = take(p, p->ops->work_bytes(&p->a, length), 1);
}

static void create_steps(struct problem *p, size_t frames) {
  p->context = frames;
  p->qkv = take_random(p, 3 * p->a.out_ld, 0);
  p->out = take(p, p->a.out_ld, sizeof(real));
  p->state = take_random(p, p->ops->state_size(&p->a, frames + 1), 1);
}

static void release(struct problem *p) {
  void *blocks[] = {p->offsets, p->qkv, p->dqkv, p->out, p->dout, p->saved, p->work, p->state};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    linnet_free(context, blocks[i]);
}

static void run(struct problem *p) {
  size_t all = p->a.out_ld;
  const real *q = p->qkv, *k = q + all, *v = k + all;
  p->ops->forward(&(struct linnet_attention_call){
      .attention = &p->a, .pack = &p->pack, .q = q, .k = k, .v = v, .saved = p->saved, .out = p->out, .work = p->work});
  p->ops->backward(&(struct linnet_attention_call){.attention = &p->a,
                                                   .pack = &p->pack,
                                                   .q = q,
                                                   .k = k,
                                                   .v = v,
                                                   .saved = p->saved,
                                                   .out = p->out,
                                                   .work = p->work,
                                                   .dout = p->dout,
                                                   .dq = p->dqkv,
                                                   .dk = p->dqkv + all,
                                                   .dv = p->dqkv + 2 * all});
}

static void run_step(struct problem *p) {
  size_t all = p->a.out_ld;
  p->ops->step(&p->a, p->context, p->qkv, p->qkv + all, p->qkv + 2 * all, p->state, p->out);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Median seconds of a call. */
static double measure(struct problem *p, void (*body)(struct problem *)) {
  double samples[SAMPLES], start = experiment_seconds();
  body(p);
  double once = experiment_seconds() - start;
  if (once > 20 * options.seconds) /* long enough as it is */
    return once;
  size_t calls = once < options.seconds ? (size_t)(options.seconds / (once + 1e-9)) + 1 : 1;
  for (size_t s = 0; s < SAMPLES; s++) {
    start = experiment_seconds();
    for (size_t i = 0; i < calls; i++)
      body(p);
    samples[s] = (experiment_seconds() - start) / (double)calls;
  }
  qsort(samples, SAMPLES, sizeof *samples, ascending);
  return samples[SAMPLES / 2];
}

static void report(size_t length) {
  struct problem p = describe();
  double seconds, share = 1;
  if (options.steps) {
    create_steps(&p, length);
    seconds = measure(&p, run_step);
  } else {
    create(&p, length);
    seconds = measure(&p, run);
    share = (double)p.pack.sequences;
  }
  printf("%zu\t%.9f\t%.0f\n", length, seconds / share, (double)p.bytes / share);
  fflush(stdout);
  release(&p);
}

int main(int argc, const char **argv) {
  context = experiment_start(argc, argv, option_table);
  if (options.heads < 1 || options.width < 1 || options.shortest < 1 || options.longest < options.shortest ||
      options.chunk < 1 || options.rounds < 1)
    experiment_die(
        "--heads, --width, --chunk, --rounds and --shortest must be at least 1, and --longest at least --shortest");
  if (options.steps && !linnet_context_ops(context)->attention[experiment_kind(options.kind)]->step)
    experiment_die("--kind %s has no steps", options.kind);
  printf("# length, seconds and bytes of memory per %s\n", options.steps ? "step" : "sequence, forward and backward");
  for (size_t n = (size_t)options.shortest; n <= (size_t)options.longest; n *= 2)
    report(n);
  linnet_context_destroy(context);
  return 0;
}
