/* The portable FFT against the sum that it is, in double precision. (In builds with FFTW it is in this program alone.)
 */
#include "frontend/fft.h"

#include "test.h"

enum { MOST = 2048 };

static const double pi = 3.14159265358979323846;

/* The largest error of n numbers, relative to the largest value. */
static double error_of(size_t n, const float *in, const float *out) {
  double worst = 0, largest = 0;
  for (size_t k = 0; k < n; k++) {
    double real = 0, imaginary = 0;
    for (size_t j = 0; j < n; j++) {
      double c = cos(2 * pi * (double)(j * k % n) / (double)n), s = -sin(2 * pi * (double)(j * k % n) / (double)n);
      real += in[2 * j] * c - in[2 * j + 1] * s;
      imaginary += in[2 * j] * s + in[2 * j + 1] * c;
    }
    worst = fmax(worst, hypot(out[2 * k] - real, out[2 * k + 1] - imaginary));
    largest = fmax(largest, hypot(real, imaginary));
  }
  return worst / largest;
}

static void check_size(struct linnet_context *context, size_t n, struct test_random *random) {
  static float in[2 * MOST], before[2 * MOST], out[2 * MOST];
  const double bound = 3e-7;
  struct linnet_fft *fft = NULL;
  REQUIRE(linnet_fft_create(context, n, in, out, &fft) == LINNET_OK, "%zu: %s", n, linnet_context_error(context));
  test_fill(random, in, 2 * n);
  memcpy(before, in, 2 * n * sizeof *in);
  for (int repeat = 0; repeat < 2; repeat++)
    linnet_fft_run(fft);
  double error = error_of(n, in, out);
  printf("%zu: error %.2g, bound %.0e\n", n, error, bound);
  CHECK(error <= bound, "%zu: error %.2g, bound %.0e", n, error, bound);
  CHECK(memcmp(in, before, 2 * n * sizeof *in) == 0, "%zu: the input was changed", n);
  linnet_fft_destroy(fft);
}

int main(void) {
  struct linnet_context *context = test_context();
  struct test_random random = {1};
  for (size_t n = 1; n <= MOST; n *= 2)
    check_size(context, n, &random);
  linnet_fft_destroy(NULL);
  linnet_context_destroy(context);
  return test_result();
}
