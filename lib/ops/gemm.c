/* Reference of the matrix product: three loops. */
#include "ops/gemm.h"

#include "ops/activation.h"

void linnet_gemm_reference(const struct linnet_gemm *g, real *work) {
  (void)work;
  for (size_t i = 0; i < g->m; i++) {
    real *c = g->c + i * g->ldc;
    for (size_t j = 0; j < g->n; j++) {
      real sum = 0;
      for (size_t p = 0; p < g->k; p++) {
        real a = g->transpose_a ? g->a[p * g->lda + i] : g->a[i * g->lda + p];
        real b = g->transpose_b ? g->b[j * g->ldb + p] : g->b[p * g->ldb + j];
        sum += a * b;
      }
      c[j] = (g->accumulate ? c[j] : 0) + sum + (g->bias ? g->bias[j] : 0);
    }
    if (g->activation != LINNET_IDENTITY)
      linnet_activation_forward_reference(g->activation, g->n, c, c);
  }
}
