/* Products by a CBLAS library, for processors without kernels in Linnet. */
#ifndef LINNET_GEMM_CBLAS_H
#define LINNET_GEMM_CBLAS_H

#include "ops/gemm.h"

/* Loads the library at the first call. Limits OpenBLAS to one thread, for the whole process: its own threads and those
 * of Linnet's pool would slow each other down. Returns false if the library is missing, or if the process cannot get
 * the memory that OpenBLAS needs: with less, OpenBLAS ends the process, or hangs at exit. Any thread may call this. */
bool linnet_gemm_cblas_load(void);

/* Call it only after the library was loaded. The results of a row may depend on the number of rows; the library
 * decides. */
void linnet_gemm_cblas(const struct linnet_gemm *g, real *work);

#endif
