/* CTC loss with gradient, T = 800, L = 80: milliseconds a batch, one sequence after the other on one thread. */
#include "bench.h"

static const struct batch { size_t sequences, symbols; } batches[] = {{1, 42}, {16, 42}, {1, 5000}, {16, 5000}};

enum { FRAMES = 800, LABELS = 80 };

struct run {
  const struct linnet_ops *ops;
  struct linnet_ctc c;
  size_t sequences;
  float *logits, *gradient;
  void *work;
};

static void body(void *user) {
  struct run *r = user;
  for (size_t i = 0; i < r->sequences; i++) {
    struct linnet_ctc c = r->c;
    c.logits = r->logits + i * c.frames * c.symbols;
    c.gradient = r->gradient + i * c.frames * c.symbols;
    r->ops->ctc(&c, r->work);
  }
}

static void measure(const struct linnet_ops *ops, const struct batch *b, double bandwidth) {
  struct test_random random = {1};
  int label[LABELS];
  for (size_t i = 0; i < LABELS; i++)
    label[i] = 1 + (int)test_below(&random, b->symbols - 1);
  size_t size = b->sequences * FRAMES * b->symbols;
  struct run r = {ops, .sequences = b->sequences, .logits = bench_floats(&random, size),
                  .gradient = bench_alloc(size * sizeof(float)),
                  .work = bench_alloc(linnet_ctc_work_bytes(FRAMES, b->symbols, LABELS))};
  r.c = (struct linnet_ctc){.frames = FRAMES, .symbols = b->symbols, .labels = LABELS, .label = label, .scale = 1};
  double seconds = bench_time(body, &r, 0.3);
  /* The minimum traffic: logits are read twice, gradients written once. */
  printf("%-9s B=%-2zu V=%-4zu %9.3f ms  %6.1f ns a frame  %5.1f %% of the read bandwidth\n", ops->name, b->sequences,
         b->symbols, seconds * 1e3, seconds * 1e9 / (double)(b->sequences * FRAMES),
         100 * 3 * (double)size * sizeof(float) / seconds / bandwidth);
  free(r.logits), free(r.gradient), free(r.work);
}

int main(int argc, char **argv) {
  const struct linnet_ops *ops;
  size_t i = 0;
  double bandwidth = bench_bandwidth((size_t)256 << 20, 0.2);
  printf("read bandwidth %.1f GB/s\n", bandwidth * 1e-9);
  for (; (ops = bench_table(argc, argv, i)); i++)
    for (size_t j = 0; j < sizeof batches / sizeof *batches; j++)
      measure(ops, &batches[j], bandwidth);
  return i == 0;
}
