/* Products by a CBLAS library, for processors that none of our own kernels are written for. */
#ifndef LINNET_GEMM_CBLAS_H
#define LINNET_GEMM_CBLAS_H

#include "backend/backend.h"

/* Results of a row may depend on the number of rows, as the library pleases. */
void linnet_gemm_cblas(const struct linnet_gemm *g, real *work);

/* Takes OpenBLAS's own threads away, for the whole process: inside the thread pool they would slow each other down. */
void linnet_gemm_cblas_prepare(void);

#endif
