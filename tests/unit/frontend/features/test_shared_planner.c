/* FFTW's planner is shared by the process: a program plans in a thread of its own while filterbanks come and go.
 * Without a lock for both, the planner's tables break: the process ends by a signal, or ThreadSanitizer says so. */
#include <linnet/fbank.h>

#include <fftw3.h>
#include <pthread.h>
#include <stdatomic.h>

#include "test.h"

enum { FILTERBANKS = 3000, MOST_POINTS = 1024 };

static atomic_bool done;

static void *plan(void *user) {
  fftwf_complex *points = fftwf_malloc(MOST_POINTS * sizeof *points);
  size_t *plans = user;
  REQUIRE(points, "no memory");
  for (int n = 256; !done; n = n < MOST_POINTS ? n + 128 : 256) {
    fftwf_plan plan = fftwf_plan_dft_1d(n, points, points, FFTW_FORWARD, FFTW_ESTIMATE);
    REQUIRE(plan, "no plan for %d points", n);
    fftwf_destroy_plan(plan);
    ++*plans;
  }
  fftwf_free(points);
  return NULL;
}

static void make_filterbank(struct linnet_context *context) {
  struct linnet_fbank *fbank = NULL;
  CHECK(linnet_fbank_create(context, NULL, &fbank) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_fbank_destroy(fbank);
}

int main(void) {
  struct linnet_context *context = test_context();
  pthread_t host;
  size_t plans = 0;
  make_filterbank(context); /* the first one switches the lock on */
  REQUIRE(pthread_create(&host, NULL, plan, &plans) == 0, "no thread");
  for (size_t i = 0; i < FILTERBANKS; i++)
    make_filterbank(context);
  done = true;
  pthread_join(host, NULL);
  CHECK(plans > 0, "the host planned nothing");
  printf("%d filterbanks, %zu plans\n", (int)FILTERBANKS, plans);
  linnet_context_destroy(context);
  return test_result();
}
