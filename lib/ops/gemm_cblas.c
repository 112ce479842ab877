/* Products by a CBLAS library, which is loaded when its kernel set is chosen. */
#ifdef LINNET_HAVE_CBLAS
#include "ops/gemm.h"

#include <cblas.h>
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "ops/activation.h"

typedef __typeof__(&cblas_sgemm) sgemm_fn;

/* A function of the library, which is never unloaded. Every load stores the same value. Atomic. */
static sgemm_fn sgemm;

/* In bytes. At the first product, OpenBLAS maps 128 MiB of workspace for each thread, and its code takes 40 MB: 310 MB
 * with one thread. The rest is for later allocations of the program. */
static size_t needed_memory(void) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return (size_t)(processors < 1 ? 6 : 2 * processors + 4) << 27;
}

bool linnet_gemm_cblas_load(void) {
  if (__atomic_load_n(&sgemm, __ATOMIC_ACQUIRE))
    return true;
  if (!linnet_memory_available(needed_memory()))
    return false;
  void *library = dlopen(LINNET_CBLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void *symbol = library ? dlsym(library, "cblas_sgemm") : NULL;
  if (!symbol)
    return false;
  void (*set_threads)(int) = NULL; /* only OpenBLAS has this function */
  void *found = dlsym(library, "openblas_set_num_threads");
  memcpy(&set_threads, &found, sizeof found);
  if (set_threads)
    set_threads(1);
  sgemm_fn loaded;
  memcpy(&loaded, &symbol, sizeof loaded);
  __atomic_store_n(&sgemm, loaded, __ATOMIC_RELEASE);
  return true;
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
  for (size_t i = 0; !g->accumulate && i < g->m; i++) /* so that a product with k = 0 is zero */
    for (size_t j = 0; j < g->n; j++)
      g->c[i * g->ldc + j] = 0;
  if (g->m > 0 && g->n > 0 && g->k > 0)
    sgemm(CblasRowMajor, g->transpose_a ? CblasTrans : CblasNoTrans, g->transpose_b ? CblasTrans : CblasNoTrans,
          (int)g->m, (int)g->n, (int)g->k, 1, g->a, (int)g->lda, g->b, (int)g->ldb, 1, g->c, (int)g->ldc);
  if (!g->accumulate)
    add_bias(g);
}
#else
typedef int linnet_without_cblas;
#endif
