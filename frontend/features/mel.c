/* Computes the weights of triangular mel filters. */
#include "frontend/features/fbank_kernel.h"

#include <math.h>

static double mel_of(double hertz) {
  return 1127 * log1p(hertz / 700);
}

struct triangle {
  double left, center, right; /* mel */
};

static struct triangle triangle_of(size_t band, size_t bands, double low, double high) {
  double from = mel_of(low), step = (mel_of(high) - from) / (double)(bands + 1);
  return (struct triangle){from + step * (double)band, from + step * (double)(band + 1),
                           from + step * (double)(band + 2)};
}

static double weight_at(const struct triangle *t, double mel) {
  if (mel <= t->left || mel >= t->right)
    return 0;
  return mel <= t->center ? (mel - t->left) / (t->center - t->left) : (t->right - mel) / (t->right - t->center);
}

/* Appends the weights of one filter; false if no bin lies inside. */
static bool add_filter(struct linnet_mel *mel, size_t band, const struct triangle *t, size_t bins, double width) {
  size_t count = 0;
  for (size_t k = band > 0 ? mel->first[band - 1] : 0; k < bins; k++) {
    double at = mel_of((double)k * width), weight = weight_at(t, at);
    if (at >= t->right)
      break;
    if (weight <= 0)
      continue;
    if (count == 0)
      mel->first[band] = k;
    mel->weights[mel->offsets[band] + count++] = (float)weight;
  }
  mel->offsets[band + 1] = mel->offsets[band] + count;
  return count > 0;
}

static enum linnet_status fill(struct linnet_context *context, struct linnet_mel *mel, size_t bins, double rate,
                               double low, double high) {
  mel->offsets[0] = 0;
  mel->begin = bins;
  for (size_t band = 0; band < mel->bands; band++) {
    struct triangle t = triangle_of(band, mel->bands, low, high);
    if (!add_filter(mel, band, &t, bins, rate / (2 * (double)bins)))
      return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                         "filterbank: mel band %zu of %zu holds no bin of an FFT of %zu: use fewer bands or longer "
                         "frames",
                         band + 1, mel->bands, 2 * bins);
    size_t end = mel->first[band] + mel->offsets[band + 1] - mel->offsets[band];
    mel->begin = mel->first[band] < mel->begin ? mel->first[band] : mel->begin;
    mel->end = end > mel->end ? end : mel->end;
  }
  return LINNET_OK;
}

enum linnet_status linnet_mel_create(struct linnet_context *context, size_t bands, size_t bins, double rate, double low,
                                     double high, struct linnet_mel *mel) {
  *mel = (struct linnet_mel){.bands = bands};
  mel->first = linnet_alloc(context, bands, sizeof *mel->first);
  mel->offsets = linnet_alloc(context, bands + 1, sizeof *mel->offsets);
  mel->weights = linnet_alloc(context, 2 * bins, sizeof *mel->weights); /* a bin lies in two filters at most */
  enum linnet_status status = LINNET_ERROR_MEMORY;
  if (mel->first && mel->offsets && mel->weights)
    status = fill(context, mel, bins, rate, low, high);
  else
    linnet_fail(context, status, "filterbank: out of memory for %zu mel filters", bands);
  if (status != LINNET_OK)
    linnet_mel_release(context, mel);
  return status;
}

void linnet_mel_release(struct linnet_context *context, struct linnet_mel *mel) {
  linnet_free(context, mel->first);
  linnet_free(context, mel->offsets);
  linnet_free(context, mel->weights);
  *mel = (struct linnet_mel){0};
}
