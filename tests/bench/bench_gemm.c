/* Matrix products of the encoder and its training step: GFLOP/s and share of the core's measured multiply-add peak. */
#include "bench.h"

struct product {
  const char *use;
  size_t m, n, k;
  bool transpose_a, transpose_b, packed, accumulate, bias;
  enum linnet_activation activation;
};

static const struct product products[] = {
    {"plain", 1000, 768, 192, false, false, false, false, false, LINNET_IDENTITY},
    {"plain", 1000, 192, 768, false, false, false, false, false, LINNET_IDENTITY},
    {"plain", 1000, 192, 192, false, false, false, false, false, LINNET_IDENTITY},
    {"plain", 1000, 576, 192, false, false, false, false, false, LINNET_IDENTITY},
    {"Y = X W^T + b, relu", 1000, 768, 192, false, true, false, false, true, LINNET_RELU},
    {"Y = X W^T + b, gelu", 1000, 768, 192, false, true, false, false, true, LINNET_GELU},
    {"Y = X W^T + b", 1000, 192, 768, false, true, false, false, true, LINNET_IDENTITY},
    {"Y = X W^T + b", 1000, 192, 192, false, true, false, false, true, LINNET_IDENTITY},
    {"Y = X W^T + b", 1000, 576, 192, false, true, false, false, true, LINNET_IDENTITY},
    {"dW += dY^T X", 768, 192, 1000, true, false, false, true, false, LINNET_IDENTITY},
    {"dW += dY^T X", 192, 768, 4000, true, false, false, true, false, LINNET_IDENTITY},
    {"dW += dY^T X", 192, 192, 4000, true, false, false, true, false, LINNET_IDENTITY},
    {"dW += dY^T X", 576, 192, 4000, true, false, false, true, false, LINNET_IDENTITY},
    {"packed", 64, 768, 192, false, true, true, false, true, LINNET_RELU},
    {"packed", 64, 192, 768, false, true, true, false, true, LINNET_IDENTITY},
    {"packed", 128, 768, 192, false, true, true, false, true, LINNET_GELU},
    {"packed", 128, 192, 768, false, true, true, false, true, LINNET_IDENTITY},
    {"packed", 128, 192, 192, false, true, true, false, true, LINNET_IDENTITY},
    {"packed", 128, 576, 192, false, true, true, false, true, LINNET_IDENTITY},
    {"packed, input", 128, 192, 120, false, true, true, false, true, LINNET_IDENTITY},
    {"packed, output", 128, 42, 192, false, true, true, false, true, LINNET_IDENTITY},
};

struct run {
  const struct linnet_ops *ops;
  struct linnet_gemm g;
  float *work;
};

static void body(void *user) {
  struct run *r = user;
  r->ops->gemm(&r->g, r->work);
}

static void measure(const struct linnet_ops *ops, const struct product *p) {
  struct test_random random = {1};
  float *a = bench_floats(&random, p->m * p->k), *b = bench_floats(&random, p->k * p->n);
  float *c = bench_floats(&random, p->m * p->n), *bias = bench_floats(&random, p->n);
  float *packed = NULL;
  struct run r = {ops, .work = bench_alloc(ops->gemm_work * sizeof(float))};
  r.g = (struct linnet_gemm){.transpose_a = p->transpose_a,
                             .transpose_b = p->transpose_b,
                             .m = p->m,
                             .n = p->n,
                             .k = p->k,
                             .a = a,
                             .lda = p->transpose_a ? p->m : p->k,
                             .b = b,
                             .ldb = p->transpose_b ? p->k : p->n,
                             .c = c,
                             .ldc = p->n,
                             .accumulate = p->accumulate,
                             .bias = p->bias ? bias : NULL,
                             .activation = p->activation};
  if (p->packed && ops->pack_b) {
    packed = bench_alloc(ops->pack_b_size(p->k, p->n) * sizeof(float));
    ops->pack_b(p->transpose_b, p->k, p->n, b, r.g.ldb, packed);
    r.g.b = NULL;
    r.g.packed = packed;
  }
  double flops = 2.0 * (double)p->m * (double)p->n * (double)p->k;
  struct bench_result result = bench_share(ops->name, body, &r, flops, 0.1);
  printf("%-9s %5zu %5zu %5zu  %-20s %8.1f us %7.1f GFLOP/s  %5.1f %%\n", ops->name, p->m, p->n, p->k, p->use,
         result.seconds * 1e6, flops / result.seconds * 1e-9, 100 * result.share);
  free(a), free(b), free(c), free(bias), free(packed), free(r.work);
}

int main(int argc, char **argv) {
  const struct linnet_ops *ops;
  size_t i = 0;
  for (; (ops = bench_table(argc, argv, i)); i++) {
    printf("%-9s peak %.1f GFLOP/s\n", ops->name, bench_peak(ops->name) * 1e-9);
    printf("%-9s %5s %5s %5s\n", "table", "m", "n", "k");
    for (size_t j = 0; j < sizeof products / sizeof *products; j++)
      measure(ops, &products[j]);
  }
  return i == 0;
}
