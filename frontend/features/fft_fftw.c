/* The complex Fourier transform that fbank_kernel.h declares, by FFTW in single precision. */
#include "frontend/features/fbank_kernel.h"

#include <fftw3.h>
#include <pthread.h>

#include "base/base.h"

struct linnet_fft {
  struct linnet_context *context;
  fftwf_plan plan;
};

/* FFTW plans for one caller at a time, and offers no planner without shared state. The mutex is for calls of Linnet;
 * for those of the program FFTW has a lock of its own, which stays once it is switched on. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t sharing = PTHREAD_ONCE_INIT;

static void share_planner(void) {
#ifdef LINNET_HAVE_SHARED_PLANNER
  fftwf_make_planner_thread_safe();
#endif
}

/* In bytes, with a margin for other threads: FFTW ends the process if its planner gets no memory. It allocates about
 * 2000 small blocks. Each may take a page, in a thread for which malloc has no arena because the limit is near. */
static size_t needed_memory(size_t n) {
  return ((size_t)16 << 20) + 64 * n;
}

/* FFTW_ESTIMATE: with measurements, the choice, and so the last bits of results, could change from run to run. */
enum linnet_status linnet_fft_create(struct linnet_context *context, size_t n, float *in, float *out,
                                     struct linnet_fft **result) {
  *result = NULL;
  struct linnet_fft *fft = linnet_calloc(context, 1, sizeof *fft);
  if (!fft)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for an FFT of %zu points", n);
  fft->context = context;
  if (!linnet_memory_available(needed_memory(n))) {
    linnet_free(context, fft);
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for an FFT of %zu points", n);
  }
  pthread_once(&sharing, share_planner);
  pthread_mutex_lock(&planner);
  fft->plan = fftwf_plan_dft_1d((int)n, (fftwf_complex *)(void *)in, (fftwf_complex *)(void *)out, FFTW_FORWARD,
                                FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
  pthread_mutex_unlock(&planner);
  if (!fft->plan) {
    linnet_fft_destroy(fft);
    return linnet_fail(context, LINNET_ERROR_MEMORY, "FFTW has no plan for an FFT of %zu points", n);
  }
  *result = fft;
  return LINNET_OK;
}

enum linnet_status linnet_fft_run(struct linnet_fft *fft) {
  fftwf_execute(fft->plan);
  return LINNET_OK;
}

void linnet_fft_destroy(struct linnet_fft *fft) {
  if (!fft)
    return;
  if (fft->plan) {
    pthread_mutex_lock(&planner);
    fftwf_destroy_plan(fft->plan);
    pthread_mutex_unlock(&planner);
  }
  linnet_free(fft->context, fft);
}
