/* Causal linear attention, 6 heads of 32: its forms, forward and backward, in nanoseconds a frame, and how many times
 * faster they are than the reference's state form, which is the algorithm as Katharopoulos et al. 2020 publish it (and
 * as their library has it), measured in turns; then chunk sizes, and the forms against the length. */
#include "bench.h"
#include "ops/causal_linear_attention.h"

enum { HEADS = 6, WIDTH = 32, LONGEST = 8192, FRAMES = 1024 };

struct run {
  const struct linnet_ops *ops;
  struct linnet_attention shape;
  size_t offsets[2];
  bool back;
  float *qkv, *out, *dout, *dqkv, *work;
};

static void once(void *user) {
  struct run *r = user;
  const struct linnet_attention_ops *attention = r->ops->attention[LINNET_ATTENTION_CAUSAL_LINEAR];
  const struct linnet_pack pack = {1, r->offsets};
  const float *q = r->qkv, *k = q + HEADS * WIDTH, *v = k + HEADS * WIDTH;
  float *dq = r->dqkv, *dk = dq + HEADS * WIDTH, *dv = dk + HEADS * WIDTH;
  if (r->back)
    attention->backward(&(struct linnet_attention_call){.attention = &r->shape,
                                                        .pack = &pack,
                                                        .q = q,
                                                        .k = k,
                                                        .v = v,
                                                        .out = r->out,
                                                        .work = r->work,
                                                        .dout = r->dout,
                                                        .dq = dq,
                                                        .dk = dk,
                                                        .dv = dv});
  else
    attention->forward(&(struct linnet_attention_call){
        .attention = &r->shape, .pack = &pack, .q = q, .k = k, .v = v, .out = r->out, .work = r->work});
}

static struct run prepare(const struct linnet_ops *ops) {
  struct test_random random = {1};
  struct run r = {.ops = ops,
                  .shape = {.heads = HEADS,
                            .key_width = WIDTH,
                            .width = WIDTH,
                            .key_ld = 3 * HEADS * WIDTH,
                            .value_ld = 3 * HEADS * WIDTH,
                            .out_ld = HEADS * WIDTH}};
  const struct linnet_attention_ops *attention = ops->attention[LINNET_ATTENTION_CAUSAL_LINEAR];
  r.qkv = bench_floats(&random, LONGEST * r.shape.key_ld), r.dqkv = bench_floats(&random, LONGEST * r.shape.key_ld);
  r.out = bench_floats(&random, LONGEST * r.shape.out_ld), r.dout = bench_floats(&random, LONGEST * r.shape.out_ld);
  r.work = bench_alloc(attention->work_bytes(&r.shape, LONGEST));
  return r;
}

static void release(struct run *r) {
  free(r->qkv), free(r->out), free(r->dout), free(r->dqkv), free(r->work);
}

/* Median seconds a frame, and of the quotient of the baseline's and these. */
static struct bench_result time_against(struct run *r, struct run *baseline, double seconds) {
  double samples[BENCH_SAMPLES], ratios[BENCH_SAMPLES], frames = (double)r->offsets[1];
  size_t calls = bench_calls(once, r, seconds / BENCH_SAMPLES);
  for (size_t i = 0; i < BENCH_SAMPLES; i++) {
    samples[i] = bench_sample(once, r, calls) / frames;
    ratios[i] = bench_sample(once, baseline, 1) / (double)baseline->offsets[1] / samples[i];
  }
  return (struct bench_result){bench_median(samples), bench_median(ratios)};
}

static void report(struct run *r, struct run *baseline, size_t frames) {
  r->offsets[1] = frames;
  baseline->offsets[1] = FRAMES / 4;
  for (int back = 0; back < 2; back++) {
    r->back = baseline->back = back;
    struct bench_result result = time_against(r, baseline, 0.1);
    printf("  %s %7.0f ns a frame, %5.1f x", back ? "backward" : "forward", result.seconds * 1e9, result.share);
  }
  printf("\n");
}

static void measure(struct run *r, struct run *baseline) {
  static const size_t chunks[] = {8, 16, 24, 32, 48, 64, 128, 256}, lengths[] = {64, 128, 256, 512, 2048, LONGEST};
  for (int form = 0; form < LINNET_CAUSAL_LINEAR_FORMS; form++) {
    r->shape.form = (enum linnet_causal_linear_form)form;
    printf("%-9s %-15s %5d frames ", r->ops->name, linnet_causal_linear_form_name(r->shape.form), FRAMES);
    report(r, baseline, FRAMES);
  }
  r->shape.form = LINNET_CAUSAL_LINEAR_CHUNKED;
  for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
    r->shape.chunk = chunks[i];
    printf("%-9s chunks of %3zu    %5d frames ", r->ops->name, chunks[i], FRAMES);
    report(r, baseline, FRAMES);
  }
  r->shape.chunk = 0;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    for (int form = LINNET_CAUSAL_LINEAR_CHUNKED; form <= LINNET_CAUSAL_LINEAR_ATTENTION;
         form += LINNET_CAUSAL_LINEAR_ATTENTION) {
      r->shape.form = (enum linnet_causal_linear_form)form;
      printf("%-9s %-15s %5zu frames ", r->ops->name, linnet_causal_linear_form_name(r->shape.form), lengths[i]);
      report(r, baseline, lengths[i]);
    }
}

int main(int argc, char **argv) {
  const struct linnet_ops *ops;
  struct run baseline = prepare(linnet_cpu_ops("reference"));
  baseline.shape.form = LINNET_CAUSAL_LINEAR_STATE;
  size_t i = 0;
  for (; (ops = bench_table(argc, argv, i)); i++) {
    struct run r = prepare(ops);
    measure(&r, &baseline);
    release(&r);
  }
  release(&baseline);
  return i == 0;
}
