/* Every op of the CUDA backend, forward and backward, against the C reference: ragged packed batches, poisoned outputs,
 * guards, addresses of any alignment. The same cases run on a device (test_cuda_device; skipped without one), on the
 * emulated one (test_cuda_emulated), and, few and small, where races are found (test_cuda_races; emulate.h). Each runs
 * twice, emulated with threads in the opposite order: the same bytes are due. Prints the largest error found and its
 * bound. Arguments: seed, name of one op; LINNET_TEST_CASES in the environment: no more cases of each. */
#include "cases_attention.h"
#include "cases_ctc.h"
#include "cases_rows.h"
#include "cases_sequences.h"

enum { PRECISIONS = 3 };

/* Errors in float32 are divided by the condition of the case, which is at least 1: the effect of an ulp of the
 * inputs on the results, in ulps; for sums, the sum of magnitudes divided by the sum (case_sizes.h). */
static const double normalised_bound = 1e-6;

/* Bounds of errors in float32, bfloat16 (activations and operands of products are rounded to 2^-9) and tf32
 * (operands to 2^-11; 0: there are none). */
static const struct {
  const char *name;
  double (*test)(struct mirrors *m);
  size_t cases;
  double bounds[PRECISIONS];
} ops[] = {
    {"gemm", test_gemm, 40, {1e-5, 1e-2, 2e-3}},
    {"layernorm", test_layernorm, 60, {5e-5, 1e-2, 0}}, /* narrow rows with little variance magnify rounding */
    {"dropout", test_dropout, 60, {0, 4e-3, 0}},
    {"residual_norm", test_residual_norm, 30, {5e-6, 2e-2, 0}},
    {"activation", test_activation, 60, {1e-6, 4e-3, 0}},
    {"activations_of", test_activations_of, 10, {0, 0, 0}},
    {"wire", test_wire, 10, {0, 0, 0}},
    {"glu", test_glu, 40, {1e-6, 4e-3, 0}},
    {"log_softmax", test_log_softmax, 40, {1e-6, 1e-6, 0}},
    {"sums", test_sums, 60, {3e-6, 3e-6, 0}},
    {"update", test_update, 30, {1e-6, 1e-6, 0}},
    {"linear_attention", test_linear_attention, 40, {2e-6, 1e-2, 2e-3}},
    {"mapped_attention", test_mapped_attention, 20, {1e-4, 1e-1, 2e-2}}, /* signed features cancel in sums */
    {"causal_linear_attention", test_causal_linear_attention, 30, {2e-6, 1e-2, 2e-3}},
    {"mapped_causal_linear", test_mapped_causal, 20, {1e-4, 1e-1, 2e-2}},
    {"ctc", test_ctc, 60, {5e-6, 5e-6, 0}},
    {"consistency", test_consistency, 30, {5e-6, 5e-6, 0}},
    {"softmax_attention", test_softmax_attention, 20, {5e-6, 3e-2, 1e-2}}, /* exponents of scores up to about 100 */
    {"causal_softmax", test_causal_softmax, 20, {5e-6, 3e-2, 1e-2}},
    {"lsh_attention", test_lsh_attention, 12, {1e-5, 3e-2, 5e-3}},
    {"spec_augment", test_spec_augment, 60, {0, 0, 0}},
    {"packed_rows", test_packed_rows, 30, {0, 4e-3, 0}},
    {"conv", test_conv, 30, {5e-6, 4e-3, 0}},
    {"lstm", test_lstm, 30, {5e-6, 3e-2, 5e-3}},
    {"rows_of_steps", test_rows_of_steps, 20, {0, 0, 0}},
    {"lstm_tensors", test_lstm_tensors, 20, {0, 0, 0}},
    {"feature_map", test_feature_map, 40, {1e-4, 1e-2, 0}}, /* errors of u = W y are in exponents and angles */
};

/* At most the number in the environment; fewer for precisions other than float32, and few when searching for races,
 * which one case shows. */
static size_t cases_of(size_t op, enum linnet_precision precision) {
  size_t share = test_cuda_share() > 1 ? 40 : precision == LINNET_FLOAT32 ? 1 : 3;
  return test_cases((ops[op].cases + share - 1) / share);
}

static void test_op(struct linnet_device *device, size_t op, enum linnet_precision precision, uint64_t seed) {
  static const char *const names[] = {
      [LINNET_FLOAT32] = "float32", [LINNET_TF32] = "tf32", [LINNET_BFLOAT16] = "bfloat16"};
  const size_t cases = cases_of(op, precision);
  const int runs = test_cuda_share() > 1 ? 1 : 2;
  const double bound = ops[op].bounds[precision];
  double error = 0, normalised = 0;
  for (size_t i = 0; i < cases; i++) {
    struct mirrors m[2];
    for (int again = 0; again < runs; again++) {
      m[again] = (struct mirrors){.device = device, .random = {seed + i}};
      test_cuda_reverse(again);
      double e = ops[op].test(&m[again]);
      CHECK(e <= bound, "%s, %s: error %g, bound %g, seed %llu", ops[op].name, names[precision], e, bound,
            (unsigned long long)(seed + i));
      double n = e / fmax(1, m[again].condition);
      CHECK(precision != LINNET_FLOAT32 || n <= normalised_bound, "%s: normalised error %g, condition %g, seed %llu",
            ops[op].name, n, m[again].condition, (unsigned long long)(seed + i));
      error = worst(error, e), normalised = worst(normalised, n);
    }
    CHECK(m[0].hash == m[runs - 1].hash, "%s: a second run differs, seed %llu", ops[op].name,
          (unsigned long long)(seed + i));
  }
  printf("%-18s %-8s %4zu cases  error %.1e  bound %.0e", ops[op].name, names[precision], cases, error, bound);
  if (precision == LINNET_FLOAT32)
    printf("  normalised %.1e  bound %.0e", normalised, normalised_bound);
  printf("\n");
}

static enum linnet_status test_precision(struct linnet_context *context, enum linnet_precision precision,
                                         const char *name, uint64_t seed) {
  struct linnet_device *device = NULL;
  enum linnet_status status = linnet_cuda_open(context, 0, precision, &device);
  if (status != LINNET_OK)
    return status;
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if ((!name || strcmp(name, ops[i].name) == 0) && (precision != LINNET_TF32 || ops[i].bounds[precision] > 0))
      test_op(device, i, precision, seed);
  const struct linnet_cuda_device *d = linnet_cuda_device(device);
  printf("%zu products by cuBLASLt\n", d->library_products);
  CHECK(!d->products || name || d->library_products > 0, "cuBLASLt is there, but took no product");
  linnet_cuda_close(device);
  return LINNET_OK;
}

int main(int argc, char **argv) {
  static const enum linnet_precision precisions[PRECISIONS] = {LINNET_FLOAT32, LINNET_BFLOAT16, LINNET_TF32};
  uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  struct linnet_context *context = test_context();
  enum linnet_status status = LINNET_OK;
  printf("seed %llu\n", (unsigned long long)seed);
  for (size_t i = 0; i < PRECISIONS && status == LINNET_OK; i++)
    status = test_precision(context, precisions[i], argc > 2 ? argv[2] : NULL, seed);
  if (status == LINNET_ERROR_DEVICE) {
    printf("%s\n", linnet_context_error(context));
    linnet_context_destroy(context);
    return test_skip("no CUDA device");
  }
  REQUIRE(status == LINNET_OK, "%s", linnet_context_error(context));
  linnet_context_destroy(context);
  return test_result();
}
