/* Matrix products: the C reference, and products by a CBLAS library. */
#ifndef LINNET_GEMM_H
#define LINNET_GEMM_H

#include "ops/activation.h"

/* The type of a product's result, on devices whose activations are not reals. */
enum linnet_gemm_result { LINNET_GEMM_ACTIVATIONS, LINNET_GEMM_REALS };

struct linnet_memory_block {
  const void *start;
  size_t bytes;
};

/* Memory that is read after a product or several. Kernels may fetch it into the second-level cache while they multiply,
 * a piece with each tile; they advance the structure by what they have fetched. */
struct linnet_prefetch {
  const struct linnet_memory_block *blocks;
  size_t num_blocks; /* left */
  size_t fetched;    /* bytes of the first of them */
};

/* The address of the next `bytes` bytes, which may go beyond the end of a block; NULL if nothing is left. */
static inline const char *linnet_prefetch_next(struct linnet_prefetch *p, size_t bytes) {
  if (p->num_blocks == 0)
    return NULL;
  const char *next = (const char *)p->blocks->start + p->fetched;
  p->fetched += bytes;
  if (p->fetched >= p->blocks->bytes)
    p->blocks++, p->num_blocks--, p->fetched = 0;
  return next;
}

/* A matrix product C = op(A) op(B) [+ C | + bias], followed by the activation. op(A) is (m, k), op(B) is (k, n), C is
 * (m, n). */
struct linnet_gemm {
  bool transpose_a, transpose_b; /* A is stored (k, m), B is stored (n, k) */
  size_t m, n, k;
  const real *a;
  size_t lda;
  const real *b; /* NULL: `packed` is used instead */
  size_t ldb;
  real *c;
  size_t ldc;
  bool accumulate;                   /* add to C */
  const real *bias;                  /* (n) or NULL; not with accumulate */
  enum linnet_activation activation; /* not with accumulate */
  const real *packed;                /* op(B) as pack_b wrote it */
  struct linnet_prefetch *prefetch;  /* or NULL */
  /* On a device, a and b are activations or weights, and `result` defines the type of c; the structure only carries the
   * pointers. b is not packed. */
  enum linnet_gemm_result result;
};

void linnet_gemm_reference(const struct linnet_gemm *g, real *work);

/* --- by a CBLAS library (gemm_cblas.c) ---------------------------------------------------------------------------- */

/* For processors without kernels in Linnet. */

/* Loads the library at the first call. Limits OpenBLAS to one thread, for the whole process: its own threads and those
 * of Linnet's pool would slow each other down. Returns false if the library is missing, or if the process cannot get
 * the memory that OpenBLAS needs: with less, OpenBLAS ends the process, or hangs at exit. Any thread may call this. */
bool linnet_gemm_cblas_load(void);

/* Call it only after the library was loaded. The results of a row may depend on the number of rows; the library
 * decides. */
void linnet_gemm_cblas(const struct linnet_gemm *g, real *work);

#endif
