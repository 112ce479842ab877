/* Resamples live audio, piece by piece. */
#include "recognizer/input_rate.h"

#include "base/base.h"
#include "frontend/audio/resample.h"

enum { PIECE = 4096 }; /* samples that the resampler may give at a time */

struct linnet_input_rate {
  struct linnet_context *context;
  double from, to;
  struct linnet_resampler *resampler; /* NULL after a reset, until there are samples */
  float *samples;                     /* (count) */
  size_t count, capacity;
};

static enum linnet_status open_resampler(struct linnet_input_rate *r) {
  return r->resampler ? LINNET_OK : linnet_resampler_create(r->context, r->from, r->to, &r->resampler);
}

enum linnet_status linnet_input_rate_create(struct linnet_context *context, double from, double to,
                                            struct linnet_input_rate **rate) {
  struct linnet_input_rate *r = linnet_calloc(context, 1, sizeof *r);
  *rate = NULL;
  if (!r)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a resampler");
  *r = (struct linnet_input_rate){.context = context, .from = from, .to = to};
  const enum linnet_status status = open_resampler(r);
  if (status == LINNET_OK)
    *rate = r;
  else
    linnet_input_rate_destroy(r);
  return status;
}

void linnet_input_rate_destroy(struct linnet_input_rate *r) {
  if (!r)
    return;
  linnet_resampler_destroy(r->resampler);
  linnet_free(r->context, r->samples);
  linnet_free(r->context, r);
}

double linnet_input_rate_from(const struct linnet_input_rate *r) {
  return r->from;
}

void linnet_input_rate_reset(struct linnet_input_rate *r) {
  linnet_resampler_destroy(r->resampler);
  r->resampler = NULL;
}

/* Gives the resampler up to n samples, *used of them. *got: the number that came of them. */
static enum linnet_status run(struct linnet_input_rate *r, const float *samples, size_t n, size_t *used, size_t *got) {
  float *grown = linnet_grow(r->context, r->samples, &r->capacity, r->count + PIECE, sizeof *grown);
  if (!grown)
    return linnet_fail(r->context, LINNET_ERROR_MEMORY, "out of memory for %zu samples", r->count + PIECE);
  r->samples = grown;
  LINNET_TRY(linnet_resampler_run(r->resampler, samples, n, used, grown + r->count, PIECE, got));
  r->count += *got;
  return LINNET_OK;
}

enum linnet_status linnet_input_rate_convert(struct linnet_input_rate *r, const float *samples, size_t n,
                                             const float **converted, size_t *count) {
  size_t done = 0, used = 0, got = 0;
  r->count = 0;
  LINNET_TRY(open_resampler(r));
  do {
    LINNET_TRY(run(r, samples ? samples + done : NULL, n - done, &used, &got));
    done += used;
  } while (done < n || got > 0);
  *converted = r->samples;
  *count = r->count;
  return LINNET_OK;
}
