/* The options of bench_cuda, and a context of the device for each precision of products, with the limits measured on
 * it. */
#ifndef LINNET_BENCH_SIDE_H
#define LINNET_BENCH_SIDE_H

#include "bench_device.h"

struct bench_side_options {
  const char *device, *precision, *work, *network; /* NULL: all */
  size_t frames;                                   /* of a batch, and of all sequences of attention; 0: the list */
  double seconds;                                  /* of measuring, each case */
  double limit;                                    /* of the run; later cases are dropped */
  bool no_limits, profile, json;
  double started;
};

/* A context for each precision of products. */
struct bench_side {
  const char *name;
  enum linnet_precision precision;
  struct linnet_context *context;
  struct bench_limits limits;
  double linear; /* seconds of a frame in a step of the first encoder, smallest batch */
  double rate;   /* its frames per second with the largest */
};

/* Percent of a limit; 0 where that was not measured. */
static inline double bench_percent(double rate, double limit) {
  return limit > 0 ? 100 * rate / limit : 0;
}

static inline bool bench_chosen(const char *wanted, const char *name) {
  return !wanted || strcmp(wanted, name) == 0;
}

/* Whether there is time for another case; prints a message if not. */
static inline bool bench_time_left(const struct bench_side_options *o, const char *work, const char *what,
                                   const struct bench_side *side, size_t frames) {
  if (bench_wall() - o->started < o->limit)
    return true;
  if (o->json)
    printf("{\"bench\": \"cuda\", \"dropped\": \"%s %s %s %zu\"}\n", work, what, side->name, frames);
  else
    printf("dropped after %.0f s: %s %s %s %zu\n", o->limit, work, what, side->name, frames);
  return false;
}

/* --- options ------------------------------------------------------------------------------------------------------ */

static inline int bench_side_usage(const char *program) {
  fprintf(stderr,
          "usage: %s [--device NAME] [--precision float32|tf32|bfloat16] [--work limits|training|attention|longest] "
          "[--network NAME] [--frames N] [--seconds S] [--limit S] [--no-limits] [--profile] [--json]\n",
          program);
  return 2;
}

static inline bool bench_side_parse(int argc, char **argv, struct bench_side_options *o) {
  *o = (struct bench_side_options){.device = "cuda", .seconds = 0.4, .limit = 75, .started = bench_wall()};
  const char *frames = NULL, *seconds = NULL, *limit = NULL;
  const struct {
    const char *name;
    bool *value;
  } flags[] = {{"--no-limits", &o->no_limits}, {"--profile", &o->profile}, {"--json", &o->json}};
  const struct {
    const char *name, **value;
  } names[] = {{"--device", &o->device},   {"--precision", &o->precision}, {"--work", &o->work},
               {"--network", &o->network}, {"--frames", &frames},          {"--seconds", &seconds},
               {"--limit", &limit}};
  enum { FLAGS = sizeof flags / sizeof *flags, NAMES = sizeof names / sizeof *names };
  for (int i = 1; i < argc; i++) {
    size_t f = 0, n = 0;
    while (f < FLAGS && strcmp(argv[i], flags[f].name) != 0)
      f++;
    while (n < NAMES && strcmp(argv[i], names[n].name) != 0)
      n++;
    if (f < FLAGS)
      *flags[f].value = true;
    else if (n < NAMES && i + 1 < argc)
      *names[n].value = argv[++i];
    else
      return false;
  }
  o->frames = frames ? strtoul(frames, NULL, 10) : 0;
  o->seconds = seconds ? atof(seconds) : o->seconds;
  o->limit = limit ? atof(limit) : o->limit;
  return true;
}

/* --- contexts ----------------------------------------------------------------------------------------------------- */

static inline void bench_side_log(void *user, enum linnet_log_level level, const char *message) {
  if (level == LINNET_LOG_ERROR)
    snprintf(user, 256, "%s", message);
  else if (level == LINNET_LOG_WARNING) /* such as: products are slow without a library */
    fprintf(stderr, "%s\n", message);
}

/* On the CPU, ops run on one thread, because counting needs it. */
static inline enum linnet_status bench_side_open(const struct bench_side_options *o, struct bench_side *side,
                                                 char error[256]) {
  struct linnet_context_settings settings;
  linnet_context_settings_default(&settings);
  settings.device = o->device;
  settings.precision = side->precision;
  settings.num_threads = strncmp(o->device, "cuda", 4) == 0 ? 0 : 1;
  settings.log = bench_side_log;
  settings.log_user = error;
  LINNET_TRY(linnet_context_create(&settings, &side->context));
  struct linnet_device *device = linnet_device_of(side->context);
  if (device->ops->lock)
    device->ops->lock(device);
  return LINNET_OK;
}

static inline void bench_side_close(struct bench_side *side) {
  if (!side->context)
    return;
  struct linnet_device *device = linnet_device_of(side->context);
  if (device->ops->unlock)
    device->ops->unlock(device);
  linnet_context_destroy(side->context);
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

static inline void bench_side_limits(const struct bench_side_options *o, struct bench_side *side) {
  side->limits = bench_device_limits(side->context, o->seconds);
  if (o->json)
    printf("{\"bench\": \"cuda\", \"work\": \"limits\", \"device\": \"%s\", \"precision\": \"%s\", \"bandwidth\": "
           "%.0f, \"flops\": %.0f}\n",
           linnet_context_device(side->context), side->name, side->limits.bandwidth, side->limits.flops);
  else
    printf("%-8s product %8.1f TFLOP/s, y += x %8.1f GB/s\n", side->name, side->limits.flops * 1e-12,
           side->limits.bandwidth * 1e-9);
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

typedef void bench_side_fn(const struct bench_side_options *o, struct bench_side *side);

static inline void bench_for_each_side(const struct bench_side_options *o, struct bench_side *sides, size_t count,
                                       bench_side_fn *body) {
  for (size_t i = 0; i < count; i++)
    if (sides[i].context)
      body(o, &sides[i]);
  fflush(stdout);
}

#endif
