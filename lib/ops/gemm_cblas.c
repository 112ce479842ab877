#ifdef LINNET_HAVE_CBLAS
#include "ops/gemm_cblas.h"

#include <cblas.h>

#include "ops/activation.h"

/* OpenBLAS has this; other libraries do not. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));

void linnet_gemm_cblas_prepare(void) {
  if (openblas_set_num_threads)
    openblas_set_num_threads(1);
}

static void add_bias(const struct linnet_gemm *g) {
  for (size_t i = 0; g->bias && i < g->m; i++)
    for (size_t j = 0; j < g->n; j++)
      g->c[i * g->ldc + j] += g->bias[j];
  for (size_t i = 0; g->activation != LINNET_IDENTITY && i < g->m; i++)
    linnet_activation_forward_reference(g->activation, g->n, g->c + i * g->ldc, g->c + i * g->ldc);
}

void linnet_gemm_cblas(const struct linnet_gemm *g, real *work) {
  (void)work;
  for (size_t i = 0; !g->accumulate && i < g->m; i++) /* a product over k = 0 leaves zeros */
    for (size_t j = 0; j < g->n; j++)
      g->c[i * g->ldc + j] = 0;
  if (g->m > 0 && g->n > 0 && g->k > 0)
    cblas_sgemm(CblasRowMajor, g->transpose_a ? CblasTrans : CblasNoTrans, g->transpose_b ? CblasTrans : CblasNoTrans,
                (int)g->m, (int)g->n, (int)g->k, 1, g->a, (int)g->lda, g->b, (int)g->ldb, 1, g->c, (int)g->ldc);
  if (!g->accumulate)
    add_bias(g);
}
#else
typedef int linnet_without_cblas;
#endif
