/* Products by a CBLAS library, for processors that none of our own kernels are written for. */
#ifndef LINNET_GEMM_CBLAS_H
#define LINNET_GEMM_CBLAS_H

#include "ops/gemm.h"

/* Loads the library when it is first wanted, and takes OpenBLAS's own threads away, for the whole process: inside the
 * thread pool they would slow each other down. False where the library is missing, or where the process may not have
 * the memory that OpenBLAS needs: with less, OpenBLAS ends the process, or hangs when it ends. Any thread may call. */
bool linnet_gemm_cblas_load(void);

/* To be called only after the library was loaded. Results of a row may depend on the number of rows, as the library
 * pleases. */
void linnet_gemm_cblas(const struct linnet_gemm *g, real *work);

#endif
