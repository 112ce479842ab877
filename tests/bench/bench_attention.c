/* Attention of the paper's model, 6 heads of 32. Linear attention on one and four sequences of 1000 frames: GFLOP/s of
 * the products alone (4 width^2 a frame and head forward, 8 backward), and their share of the measured multiply-add
 * peak. Then every kind: microseconds a frame against the length. */
#include "bench.h"
#include "ops/attention.h"

enum { HEADS = 6, WIDTH = 32, FRAMES = 1000, SEQUENCES = 4, ROWS = FRAMES * SEQUENCES };

struct run {
  const struct linnet_ops *ops;
  const struct linnet_attention_ops *attention;
  struct linnet_attention shape;
  struct linnet_pack pack;
  size_t offsets[SEQUENCES + 1];
  float *qkv, *state, *out, *dout, *dqkv, *work;
};

static void accumulate(void *user) {
  struct run *r = user;
  r->ops->linear_accumulate(&r->shape, FRAMES, r->qkv + HEADS * WIDTH, r->qkv + 2 * HEADS * WIDTH, r->work);
}

static void apply(void *user) {
  struct run *r = user;
  r->ops->linear_apply(&r->shape, FRAMES, r->qkv, r->state, r->out);
}

static void forward(void *user) {
  struct run *r = user;
  r->attention->forward(&r->shape, &r->pack, r->qkv, r->qkv + HEADS * WIDTH, r->qkv + 2 * HEADS * WIDTH, r->state,
                        r->out, r->work);
}

static void backward(void *user) {
  struct run *r = user;
  r->attention->backward(&r->shape, &r->pack, r->qkv, r->qkv + HEADS * WIDTH, r->qkv + 2 * HEADS * WIDTH, r->state,
                         r->out, r->dout, r->dqkv, r->dqkv + HEADS * WIDTH, r->dqkv + 2 * HEADS * WIDTH, r->work);
}

static void report(const struct run *r, const char *name, bench_fn *body, double rows, double flops_per_frame) {
  double flops = rows * HEADS * WIDTH * WIDTH * flops_per_frame;
  struct bench_result result = bench_share(r->ops->name, body, (void *)r, flops, 0.15);
  printf("%-9s %-12s %8.1f us %7.1f GFLOP/s  %5.1f %%\n", r->ops->name, name, result.seconds * 1e6,
         flops / result.seconds * 1e-9, 100 * result.share);
}

static void measure(const struct linnet_ops *ops) {
  struct test_random random = {1};
  struct run r = {.ops = ops,
                  .attention = ops->attention[LINNET_ATTENTION_LINEAR],
                  .shape = {.heads = HEADS,
                            .key_width = WIDTH,
                            .width = WIDTH,
                            .key_ld = 3 * HEADS * WIDTH,
                            .value_ld = 3 * HEADS * WIDTH,
                            .out_ld = HEADS * WIDTH}};
  size_t state = linnet_linear_state_size(&r.shape);
  for (size_t i = 0; i <= SEQUENCES; i++)
    r.offsets[i] = i * FRAMES;
  r.pack = (struct linnet_pack){SEQUENCES, r.offsets};
  r.qkv = bench_floats(&random, ROWS * r.shape.key_ld), r.dqkv = bench_floats(&random, ROWS * r.shape.key_ld);
  r.out = bench_floats(&random, ROWS * HEADS * WIDTH), r.dout = bench_floats(&random, ROWS * HEADS * WIDTH);
  r.state = bench_floats(&random, SEQUENCES * state);
  r.work = bench_floats(&random, r.attention->work_bytes(&r.shape, FRAMES) / sizeof(float));
  report(&r, "accumulate", accumulate, FRAMES, 2);
  report(&r, "apply", apply, FRAMES, 2);
  for (size_t n = 1; n <= SEQUENCES; n *= SEQUENCES) {
    char name[32];
    r.pack.sequences = n;
    snprintf(name, sizeof name, "forward x %zu", n);
    report(&r, name, forward, (double)n * FRAMES, 4);
    snprintf(name, sizeof name, "backward x %zu", n);
    report(&r, name, backward, (double)n * FRAMES, 8);
  }
  free(r.qkv), free(r.dqkv), free(r.out), free(r.dout), free(r.state), free(r.work);
}

/* --- all kinds ---------------------------------------------------------------------------------------------------- */

enum { SHORTEST = 512, LONGEST = 16384 };

static const struct {
  enum linnet_attention_kind kind;
  size_t rounds;
} kinds[] = {{LINNET_ATTENTION_LINEAR, 0},    {LINNET_ATTENTION_CAUSAL_LINEAR, 0}, {LINNET_ATTENTION_SOFTMAX, 0},
             {LINNET_ATTENTION_LSH, 1},       {LINNET_ATTENTION_LSH, 4},           {LINNET_ATTENTION_CAUSAL_SOFTMAX, 0},
             {LINNET_ATTENTION_CAUSAL_LSH, 4}};

static struct run length_create(const struct linnet_ops *ops, enum linnet_attention_kind kind, size_t rounds) {
  struct test_random random = {1};
  const size_t ld = 3 * HEADS * WIDTH;
  struct run r = {.ops = ops,
                  .attention = ops->attention[kind],
                  .shape = {.heads = HEADS,
                            .key_width = WIDTH,
                            .width = WIDTH,
                            .key_ld = ld,
                            .value_ld = ld,
                            .out_ld = HEADS * WIDTH,
                            .chunk = 64,
                            .lsh = {.rounds = rounds, .buckets = 64, .chunk = 32}},
                  .qkv = bench_floats(&random, LONGEST * ld),
                  .dqkv = bench_floats(&random, LONGEST * ld),
                  .out = bench_floats(&random, LONGEST * HEADS * WIDTH),
                  .dout = bench_floats(&random, LONGEST * HEADS * WIDTH)};
  r.state = bench_alloc(r.attention->saved_bytes(&r.shape, LONGEST, 1));
  r.work = bench_alloc(r.attention->work_bytes(&r.shape, LONGEST));
  return r;
}

static void report_lengths(const struct linnet_ops *ops, enum linnet_attention_kind kind, size_t rounds) {
  if (!ops->attention[kind])
    return;
  struct run r = length_create(ops, kind, rounds);
  for (size_t frames = SHORTEST; frames <= LONGEST; frames *= 2) {
    r.offsets[1] = frames;
    r.pack = (struct linnet_pack){1, r.offsets};
    double there = bench_time(forward, &r, 0.1) / (double)frames, back = bench_time(backward, &r, 0.1) / (double)frames;
    printf("%-9s %-14s %zu rounds %6zu frames: forward %7.3f, backward %7.3f us/frame\n", ops->name,
           linnet_attention_traits[kind].name, rounds, frames, there * 1e6, back * 1e6);
  }
  free(r.qkv), free(r.dqkv), free(r.out), free(r.dout), free(r.state), free(r.work);
}

int main(int argc, char **argv) {
  const struct linnet_ops *ops;
  size_t i = 0;
  for (; (ops = bench_table(argc, argv, i)); i++) {
    printf("%-9s peak %.1f GFLOP/s\n", ops->name, bench_peak(ops->name) * 1e-9);
    measure(ops);
    for (size_t j = 0; j < sizeof kinds / sizeof *kinds; j++)
      report_lengths(ops, kinds[j].kind, kinds[j].rounds);
  }
  return i == 0;
}
