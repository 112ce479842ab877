/* Attention by kind, one sequence on one thread: GFLOP/s of the products alone, and their share of the measured
 * multiply-add peak. [--set KIND-PASS-FRAMESxHEADSxWIDTH] (the pass is forward, backward or both) measures one case,
 * [--kernels TABLE] one table. */
#include "bench_network.h"
#include "ops/attention.h"

/* Lengths of the paper's model, 6 heads of 32. */
static const struct shape { size_t frames, heads, width; } shapes[] = {{1000, 6, 32}, {4000, 6, 32}};

struct run {
  const struct linnet_ops *ops;
  const struct pass *pass;
  struct linnet_attention a;
  struct linnet_pack pack;
  size_t offsets[2];
  float *qkv, *out, *dout, *dqkv;
  void *saved, *work;
};

/* --- passes ------------------------------------------------------------------------------------------------------- */

static void accumulate(void *user) {
  struct run *r = user;
  r->ops->linear_accumulate(&r->a, r->offsets[1], r->qkv + r->a.out_ld, r->qkv + 2 * r->a.out_ld, r->work);
}

static void apply(void *user) {
  struct run *r = user;
  r->ops->linear_apply(&r->a, r->offsets[1], r->qkv, r->saved, r->out);
}

static void forward(void *user) {
  struct run *r = user;
  const float *q = r->qkv, *k = q + r->a.out_ld, *v = k + r->a.out_ld;
  r->ops->attention[r->a.kind]->forward(&(struct linnet_attention_call){
      .attention = &r->a, .pack = &r->pack, .q = q, .k = k, .v = v, .saved = r->saved, .out = r->out, .work = r->work});
}

static void backward(void *user) {
  struct run *r = user;
  const float *q = r->qkv, *k = q + r->a.out_ld, *v = k + r->a.out_ld;
  r->ops->attention[r->a.kind]->backward(&(struct linnet_attention_call){.attention = &r->a,
                                                                         .pack = &r->pack,
                                                                         .q = q,
                                                                         .k = k,
                                                                         .v = v,
                                                                         .saved = r->saved,
                                                                         .out = r->out,
                                                                         .work = r->work,
                                                                         .dout = r->dout,
                                                                         .dq = r->dqkv,
                                                                         .dk = r->dqkv + r->a.out_ld,
                                                                         .dv = r->dqkv + 2 * r->a.out_ld});
}

static void both(void *user) {
  forward(user);
  backward(user);
}

/* What the flops of the products of a head are proportional to:
 *   sum     frames width^2: one sum over the frames, which all of them read
 *   scan    the same for each direction of time: a running sum
 *   pairs   pairs of frames, times width; backward computes the scores again */
enum cost { COST_SUM, COST_SCAN, COST_PAIRS, COSTS };

static const struct pass {
  const char *name;
  bench_fn *body;
  double flops[COSTS]; /* 0: not of these kinds */
} passes[] = {{"accumulate", accumulate, {2, 0, 0}},
              {"apply", apply, {2, 0, 0}},
              {"forward", forward, {4, 4, 4}},
              {"backward", backward, {8, 12, 10}},
              {"both", both, {12, 16, 14}}};
enum { PASSES = sizeof passes / sizeof *passes };

static const struct kind {
  enum linnet_attention_kind kind;
  enum cost cost;
} kinds[] = {{LINNET_ATTENTION_LINEAR, COST_SUM},
             {LINNET_ATTENTION_LINEAR_DECAY, COST_SCAN},
             {LINNET_ATTENTION_CAUSAL_LINEAR_DECAY, COST_SCAN},
             {LINNET_ATTENTION_SOFTMAX, COST_PAIRS},
             {LINNET_ATTENTION_CAUSAL_SOFTMAX, COST_PAIRS}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static double flops_of(const struct kind *kind, const struct pass *pass, const struct shape *s) {
  const bool causal = linnet_attention_traits[kind->kind].causal;
  const double frames = (double)s->frames, width = (double)s->width, flops = (double)s->heads * pass->flops[kind->cost];
  if (kind->cost == COST_PAIRS)
    return flops * frames * width * (causal ? (frames + 1) / 2 : frames);
  return flops * frames * width * width * (kind->cost == COST_SCAN && !causal ? 2 : 1);
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

static struct run run_create(const struct linnet_ops *ops, enum linnet_attention_kind kind, const struct shape *s) {
  struct test_random random = {1};
  size_t columns = s->heads * s->width;
  struct run r = {.ops = ops,
                  .a = {.kind = kind,
                        .heads = s->heads,
                        .key_width = s->width,
                        .width = s->width,
                        .key_ld = 3 * columns,
                        .value_ld = 3 * columns,
                        .out_ld = columns},
                  .offsets = {0, s->frames},
                  .qkv = bench_floats(&random, s->frames * 3 * columns),
                  .dqkv = bench_floats(&random, s->frames * 3 * columns),
                  .out = bench_floats(&random, s->frames * columns),
                  .dout = bench_floats(&random, s->frames * columns)};
  r.saved = bench_alloc(ops->attention[kind]->saved_bytes(&r.a, s->frames, 1));
  r.work = bench_alloc(ops->attention[kind]->work_bytes(&r.a, s->frames));
  return r;
}

static void run_destroy(struct run *r) {
  free(r->qkv), free(r->dqkv), free(r->out), free(r->dout), free(r->saved), free(r->work);
}

static void measure(const struct bench_options *o, const struct linnet_ops *ops, const struct kind *kind,
                    const struct pass *pass, const struct shape *s) {
  struct run r = run_create(ops, kind->kind, s);
  double flops = flops_of(kind, pass, s);
  r.pack = (struct linnet_pack){1, r.offsets};
  forward(&r);
  struct bench_cost cost = bench_cost(ops->name, pass->body, &r, flops, o->seconds);
  char name[64];
  snprintf(name, sizeof name, "%s-%s-%zux%zux%zu", linnet_attention_traits[kind->kind].name, pass->name, s->frames,
           s->heads, s->width);
  if (o->json)
    printf("{\"bench\": \"attention\", \"set\": \"%s\", \"threads\": 1, \"kernels\": \"%s\", \"wall\": %.9f, "
           "\"cpu\": %.9f, \"flops\": %.0f, \"peak\": %.0f, \"share\": %.4f}\n",
           name, ops->name, cost.wall, cost.cpu, flops, cost.peak, cost.share);
  else
    printf("%-9s %-34s %10.1f us %7.1f GFLOP/s  %5.1f %%\n", ops->name, name, cost.cpu * 1e6, flops / cost.cpu * 1e-9,
           100 * cost.share);
  run_destroy(&r);
}

static void measure_table(const struct bench_options *o, const struct linnet_ops *ops) {
  for (size_t k = 0; k < KINDS; k++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
      for (size_t p = 0; p < PASSES; p++)
        if (passes[p].flops[kinds[k].cost] > 0)
          measure(o, ops, &kinds[k], &passes[p], &shapes[s]);
}

/* --- the case that was asked for ---------------------------------------------------------------------------------- */

/* Whether the set begins with this kind and pass; the shape follows them. */
static bool parse_set(const char *set, const struct kind *kind, const struct pass *pass, struct shape *s) {
  char prefix[64];
  snprintf(prefix, sizeof prefix, "%s-%s-", linnet_attention_traits[kind->kind].name, pass->name);
  return strncmp(set, prefix, strlen(prefix)) == 0 &&
         sscanf(set + strlen(prefix), "%zux%zux%zu", &s->frames, &s->heads, &s->width) == 3;
}

static int measure_set(const struct bench_options *o) {
  const struct linnet_ops *ops = o->kernels ? linnet_cpu_ops(o->kernels) : linnet_cpu_best_ops(LINNET_FLOAT32);
  struct shape s;
  for (size_t k = 0; ops && k < KINDS; k++)
    for (size_t p = 0; p < PASSES; p++)
      if (parse_set(o->set, &kinds[k], &passes[p], &s)) {
        measure(o, ops, &kinds[k], &passes[p], &s);
        return 0;
      }
  fprintf(stderr, "%s: no such set or kernels\n", o->set);
  return 2;
}

int main(int argc, char **argv) {
  struct bench_options o = bench_parse(argc, argv);
  const struct linnet_ops *ops;
  if (o.set)
    return measure_set(&o);
  char *tables[] = {argv[0], "--kernels", (char *)o.kernels};
  o.seconds = 0.15;
  for (size_t i = 0; (ops = bench_table(o.kernels ? 3 : 1, tables, i)); i++)
    measure_table(&o, ops);
  return 0;
}
