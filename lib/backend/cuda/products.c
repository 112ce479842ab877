/* Matrix products by cuBLASLt. The library is loaded at run time: a program starts without it, and the kernel of
 * ops/gemm.cu then computes the products. cuBLASLt is column-major: it sees row-major C = op(A) op(B) as C^T = op(B)^T
 * op(A)^T. */
#include <dlfcn.h>
#include <string.h>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/launch.h"
#include "base/base.h"

enum { WORKSPACE = 32 << 20, PLANS = 256 };

/* name in the struct, name in the library */
#define FUNCTIONS(f)                                                                                                   \
  f(create, cublasLtCreate) f(destroy, cublasLtDestroy) f(matmul, cublasLtMatmul)                                      \
      f(desc_create, cublasLtMatmulDescCreate) f(desc_destroy, cublasLtMatmulDescDestroy)                              \
          f(desc_set, cublasLtMatmulDescSetAttribute) f(layout_create, cublasLtMatrixLayoutCreate)                     \
              f(layout_destroy, cublasLtMatrixLayoutDestroy) f(preference_create, cublasLtMatmulPreferenceCreate)      \
                  f(preference_destroy, cublasLtMatmulPreferenceDestroy)                                               \
                      f(preference_set, cublasLtMatmulPreferenceSetAttribute)                                          \
                          f(heuristic, cublasLtMatmulAlgoGetHeuristic)

/* What the algorithm of a product depends on. The alignment is included because the heuristic depends on it. */
struct shape {
  size_t m, n, k, lda, ldb, ldc;
  unsigned transpose_a, transpose_b, epilogue, mode, result, alignment, accumulate;
};

struct plan {
  struct shape shape;
  cublasLtMatmulDesc_t desc; /* its bias pointer is that of the last product */
  cublasLtMatrixLayout_t a, b, c;
  cublasLtMatmulAlgo_t algorithm;
  bool usable;
};

struct linnet_cuda_products {
  struct linnet_context *context;
  const char *device; /* the device's name, for messages */
  bool reported;      /* the first refusal was reported */
  void *library, *workspace;
  cudaStream_t stream;
  cublasLtHandle_t handle;
#define MEMBER(name, symbol) __typeof__(&(symbol)) name; /* NOLINT(bugprone-macro-parentheses): declares `name` */
  FUNCTIONS(MEMBER)
  struct plan plans[PLANS]; /* the first `count` are in use; if all are, new ones replace them in turn from `next` on */
  size_t count, next;
};

static bool find_functions(struct linnet_cuda_products *p) {
#define FIND(name, symbol)                                                                                             \
  *(void **)(void *)&p->name = dlsym(p->library, #symbol);                                                             \
  if (!p->name)                                                                                                        \
    return false;
  FUNCTIONS(FIND)
  return true;
}

/* Loads the first library that works on this device: a library of CUDA 13 may be installed while the driver is too old
 * for it. It is never unloaded, because it registers code with the driver. */
static bool open_library(struct linnet_cuda_products *p) {
  static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                                      "/usr/local/cuda/lib64/libcublasLt.so"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    p->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (p->library && find_functions(p) && p->create(&p->handle) == CUBLAS_STATUS_SUCCESS)
      return true;
    if (p->library)
      dlclose(p->library);
  }
  p->library = NULL, p->handle = NULL;
  return false;
}

static bool allocate_workspace(struct linnet_cuda_products *p) {
  if (cudaMallocAsync(&p->workspace, WORKSPACE, p->stream) == cudaSuccess)
    return true;
  cudaGetLastError(); /* products have a fallback, so this is no failure of the device */
  p->workspace = NULL;
  return false;
}

struct linnet_cuda_products *linnet_cuda_products_open(struct linnet_cuda_device *device) {
  struct linnet_cuda_products *p = linnet_calloc(device->context, 1, sizeof *p);
  if (!p)
    return NULL;
  p->context = device->context, p->stream = device->stream, p->device = device->name;
  if (open_library(p) && allocate_workspace(p))
    return p;
  linnet_cuda_products_close(p);
  return NULL;
}

static void release_plan(struct linnet_cuda_products *p, struct plan *plan) {
  if (plan->desc)
    p->desc_destroy(plan->desc);
  cublasLtMatrixLayout_t layouts[] = {plan->a, plan->b, plan->c};
  for (size_t i = 0; i < 3; i++)
    if (layouts[i])
      p->layout_destroy(layouts[i]);
  *plan = (struct plan){0};
}

void linnet_cuda_products_close(struct linnet_cuda_products *p) {
  if (!p)
    return;
  for (size_t i = 0; i < p->count; i++)
    release_plan(p, &p->plans[i]);
  if (p->workspace)
    cudaFreeAsync(p->workspace, p->stream);
  if (p->handle)
    p->destroy(p->handle);
  if (p->library)
    dlclose(p->library);
  linnet_free(p->context, p);
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

/* The types of a product, by the precision of the device. With bfloat16, activations are multiplied by weights that
 * were rounded to bfloat16. */
static const struct {
  cublasComputeType_t compute;
  cudaDataType_t operands;
} types[] = {[LINNET_FLOAT32] = {CUBLAS_COMPUTE_32F, CUDA_R_32F},
             [LINNET_TF32] = {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F},
             [LINNET_BFLOAT16] = {CUBLAS_COMPUTE_32F, CUDA_R_16BF}};

/* cuBLASLt's GELU is the approximation with tanh, so the library applies only ReLU. */
static unsigned epilogue_of(const struct linnet_gemm *g) {
  bool relu = g->activation == LINNET_RELU;
  if (g->bias)
    return relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  return relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

static unsigned alignment_of(const struct linnet_gemm *g) {
  uintptr_t bits = (uintptr_t)g->a | (uintptr_t)g->b | (uintptr_t)g->c | (uintptr_t)g->bias | 256;
  return (unsigned)(bits & (~bits + 1));
}

static struct shape shape_of(const struct linnet_gemm *g, enum linnet_precision mode) {
  struct shape s;
  memset(&s, 0, sizeof s); /* compared by bytes */
  s.m = g->m, s.n = g->n, s.k = g->k, s.lda = g->lda, s.ldb = g->ldb, s.ldc = g->ldc;
  s.transpose_a = g->transpose_a, s.transpose_b = g->transpose_b, s.accumulate = g->accumulate;
  s.epilogue = epilogue_of(g), s.mode = mode, s.result = g->result, s.alignment = alignment_of(g);
  return s;
}

static bool describe(struct linnet_cuda_products *p, const struct shape *s, struct plan *plan) {
  cublasOperation_t first = s->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasOperation_t second = s->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = (cublasLtEpilogue_t)s->epilogue;
  cudaDataType_t in = types[s->mode].operands;
  cudaDataType_t out = s->result == LINNET_GEMM_REALS ? CUDA_R_32F : in;
  return p->desc_create(&plan->desc, types[s->mode].compute, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS &&
         p->desc_set(plan->desc, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first) == CUBLAS_STATUS_SUCCESS &&
         p->desc_set(plan->desc, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second) == CUBLAS_STATUS_SUCCESS &&
         p->desc_set(plan->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue) == CUBLAS_STATUS_SUCCESS &&
         p->layout_create(&plan->b, in, s->transpose_b ? s->k : s->n, s->transpose_b ? s->n : s->k, (int64_t)s->ldb) ==
             CUBLAS_STATUS_SUCCESS &&
         p->layout_create(&plan->a, in, s->transpose_a ? s->m : s->k, s->transpose_a ? s->k : s->m, (int64_t)s->lda) ==
             CUBLAS_STATUS_SUCCESS &&
         p->layout_create(&plan->c, out, s->n, s->m, (int64_t)s->ldc) == CUBLAS_STATUS_SUCCESS;
}

static bool choose_algorithm(struct linnet_cuda_products *p, struct plan *plan) {
  static const cublasLtMatmulPreferenceAttributes_t alignments[] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulHeuristicResult_t found = {.state = CUBLAS_STATUS_NOT_SUPPORTED};
  uint64_t workspace = WORKSPACE;
  uint32_t alignment = plan->shape.alignment;
  int count = 0;
  if (p->preference_create(&preference) != CUBLAS_STATUS_SUCCESS)
    return false;
  p->preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
  for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++)
    p->preference_set(preference, alignments[i], &alignment, sizeof alignment);
  cublasStatus_t status =
      p->heuristic(p->handle, plan->desc, plan->b, plan->a, plan->c, plan->c, preference, 1, &found, &count);
  p->preference_destroy(preference);
  plan->algorithm = found.algo;
  return status == CUBLAS_STATUS_SUCCESS && count > 0 && found.state == CUBLAS_STATUS_SUCCESS;
}

/* The bias has n elements, one for each column of C. For the library this is one for each row of C^T
 * (CUBLASLT_EPILOGUE_BIAS). */
static bool set_bias(struct linnet_cuda_products *p, struct plan *plan, const real *bias) {
  return !bias ||
         p->desc_set(plan->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias) == CUBLAS_STATUS_SUCCESS;
}

/* The library refuses a shape: later products of this shape use the kernel of gemm.cu. Only the first refusal is
 * reported. */
static void give_up(struct linnet_cuda_products *p, struct plan *plan) {
  const struct shape *s = &plan->shape;
  plan->usable = false;
  if (!p->reported)
    linnet_log(p->context, LINNET_LOG_WARNING,
               "%s: cuBLASLt refuses a product of %zu x %zu by %zu x %zu (aligned to %u bytes): such products are "
               "computed without it, slowly",
               p->device, s->m, s->k, s->k, s->n, s->alignment);
  p->reported = true;
}

/* The plan for a shape, made when the shape first occurs. The heuristic may depend on the address of the bias. */
static struct plan *plan_of(struct linnet_cuda_products *p, const struct shape *shape, const real *bias) {
  for (size_t i = 0; i < p->count; i++)
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): shape_of sets all bytes, padding too */
    if (memcmp(&p->plans[i].shape, shape, sizeof *shape) == 0)
      return &p->plans[i];
  struct plan *plan = &p->plans[p->next];
  release_plan(p, plan);
  p->next = (p->next + 1) % PLANS;
  p->count = p->count < PLANS ? p->count + 1 : PLANS;
  plan->shape = *shape;
  plan->usable = describe(p, shape, plan) && set_bias(p, plan, bias) && choose_algorithm(p, plan);
  if (!plan->usable)
    give_up(p, plan);
  return plan;
}

/* --- the op ------------------------------------------------------------------------------------------------------- */

static bool multiply(struct linnet_cuda_products *p, enum linnet_precision mode, const struct linnet_gemm *g) {
  const float one = 1, beta = g->accumulate ? 1 : 0;
  struct shape shape = shape_of(g, mode);
  struct plan *plan = plan_of(p, &shape, g->bias);
  if (!plan->usable)
    return false;
  if (!set_bias(p, plan, g->bias) ||
      p->matmul(p->handle, plan->desc, &one, g->b, plan->b, g->a, plan->a, &beta, g->c, plan->c, g->c, plan->c,
                &plan->algorithm, p->workspace, WORKSPACE, p->stream) != CUBLAS_STATUS_SUCCESS)
    give_up(p, plan);
  return plan->usable;
}

/* GELU and SiLU run after the product, on a C without gaps between rows. */
void linnet_cuda_gemm(struct linnet_device *device, const struct linnet_gemm *g) {
  struct linnet_cuda_device *d = linnet_cuda_device(device);
  struct linnet_gemm product = *g;
  bool smooth = g->activation == LINNET_GELU || g->activation == LINNET_SILU;
  if (g->m == 0 || g->n == 0)
    return;
  if (smooth)
    product.activation = LINNET_IDENTITY;
  if (!d->products || g->k == 0 || (smooth && (g->ldc != g->n || g->result == LINNET_GEMM_REALS)) ||
      !multiply(d->products, d->precision, &product)) {
    linnet_cuda_gemm_kernel(device, g);
    return;
  }
  d->library_products++;
  if (smooth)
    linnet_cuda_activation_forward(device, g->activation, &(struct linnet_dropout){0}, g->m, g->n, g->c, g->c);
}
