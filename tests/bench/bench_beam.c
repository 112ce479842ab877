/* Prefix beam search without a language model, T = 800, V = 42: milliseconds an utterance, bytes a hypothesis.
 *
 *   bench_beam [--kind peaked|random] [--beam N] [--json] [--write FILE] [--read FILE --symbols V]
 *
 * "peaked" are posteriors like those of a trained model: 80 symbols, each a peak of one to three frames between blanks,
 * one in five with a rival; "random" are softmaxes of noise, the worst case. --write stores them as raw float32 for a
 * peer, --read takes others from such a file. The best hypothesis is printed with --json. */
#include <linnet/beam.h>

#include "bench.h"

enum { FRAMES = 800, SYMBOLS = 42, LABELS = 80 };

static const struct kind {
  const char *name;
  double noise, blank, peak; /* logits: amplitude of noise, what blanks and symbols have in addition */
} kinds[] = {{"peaked", 2, 9, 10}, {"random", 2, 0, 0}};

enum { KINDS = sizeof kinds / sizeof *kinds };
static const size_t beams[] = {16, 50, 100};

static void log_softmax(float *row) {
  double sum = 0;
  for (size_t v = 0; v < SYMBOLS; v++)
    sum += exp(row[v]);
  for (size_t v = 0; v < SYMBOLS; v++)
    row[v] -= (float)log(sum);
}

/* A symbol's peak, and perhaps that of a rival, in the middle of its part of the frames. */
static void add_peak(struct test_random *r, float *logits, size_t label, double height) {
  size_t start = label * (FRAMES / LABELS) + 2 + test_below(r, 4), length = 1 + test_below(r, 3);
  size_t symbol = 1 + test_below(r, SYMBOLS - 1), rival = 1 + test_below(r, SYMBOLS - 1);
  double second = test_below(r, 5) == 0 ? height - 1 + test_uniform(r) : 0;
  for (size_t t = start; t < start + length; t++) {
    logits[t * SYMBOLS] = (float)(height / 2 + 2 * test_uniform(r));
    logits[t * SYMBOLS + rival] += (float)second;
    logits[t * SYMBOLS + symbol] += (float)height;
  }
}

static float *make_posteriors(const struct kind *kind) {
  struct test_random r = {1};
  float *logits = bench_alloc((size_t)FRAMES * SYMBOLS * sizeof *logits);
  for (size_t i = 0; i < (size_t)FRAMES * SYMBOLS; i++)
    logits[i] = (float)(kind->noise * test_uniform(&r)) + (i % SYMBOLS == 0 ? (float)kind->blank : 0);
  for (size_t label = 0; label < LABELS && kind->peak > 0; label++)
    add_peak(&r, logits, label, kind->peak);
  for (size_t t = 0; t < FRAMES; t++)
    log_softmax(logits + t * SYMBOLS);
  return logits;
}

/* Log-posteriors (frames, symbols). */
struct posteriors {
  const char *name;
  float *values;
  size_t frames, symbols;
};

struct run {
  struct linnet_beam *beam;
  const struct posteriors *posteriors;
};

static void body(void *user) {
  struct run *r = user;
  linnet_beam_reset(r->beam);
  linnet_beam_accept(r->beam, r->posteriors->values, r->posteriors->frames);
  linnet_beam_finish(r->beam);
}

static void print_symbols(struct linnet_beam *beam) {
  struct linnet_hypothesis best;
  REQUIRE(linnet_beam_hypothesis(beam, 0, &best) == LINNET_OK, "no hypothesis");
  printf("\"score\": %.9g, \"symbols\": [", best.score);
  for (size_t i = 0; i < best.count; i++)
    printf("%s%d", i > 0 ? ", " : "", best.segments[i].symbol);
  printf("]");
}

static void measure(struct linnet_context *context, const struct posteriors *posteriors, size_t width, bool json) {
  struct linnet_beam_settings settings;
  struct run r = {.posteriors = posteriors};
  linnet_beam_settings_default(&settings);
  settings.beam = width;
  REQUIRE(linnet_beam_create(context, (int)posteriors->symbols, &settings, &r.beam) == LINNET_OK, "%s",
          linnet_context_error(context));
  double seconds = bench_time(body, &r, 0.3), bytes = (double)linnet_beam_memory(r.beam) / (double)width;
  if (json) {
    printf("{\"kind\": \"%s\", \"beam\": %zu, \"ms\": %.4f, \"bytes\": %.0f, ", posteriors->name, width, seconds * 1e3,
           bytes);
    print_symbols(r.beam);
    printf("}\n");
  } else {
    printf("%-7s beam %4zu  %8.3f ms  %9.0f frames/s  %6.0f bytes a hypothesis\n", posteriors->name, width,
           seconds * 1e3, (double)posteriors->frames / seconds, bytes);
  }
  linnet_beam_destroy(r.beam);
}

struct arguments {
  const char *kind, *write, *read;
  size_t beam, symbols;
  bool json;
};

static bool parse(int argc, char **argv, struct arguments *a) {
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--json") == 0) {
      a->json = true;
      continue;
    }
    if (value && strcmp(argv[i], "--kind") == 0)
      a->kind = value;
    else if (value && strcmp(argv[i], "--write") == 0)
      a->write = value;
    else if (value && strcmp(argv[i], "--read") == 0)
      a->read = value;
    else if (value && strcmp(argv[i], "--beam") == 0)
      a->beam = strtoul(value, NULL, 10);
    else if (value && strcmp(argv[i], "--symbols") == 0)
      a->symbols = strtoul(value, NULL, 10);
    else
      return false;
    i++;
  }
  return !a->read || a->symbols > 0;
}

static void write_floats(const char *path, const float *values, size_t count) {
  FILE *file = fopen(path, "wb");
  REQUIRE(file && fwrite(values, sizeof *values, count, file) == count && fclose(file) == 0, "%s", path);
}

static struct posteriors read_posteriors(const char *path, size_t symbols) {
  enum { MOST_FLOATS = 1 << 26 };
  float *values = bench_alloc(MOST_FLOATS * sizeof *values);
  FILE *file = fopen(path, "rb");
  REQUIRE(file, "%s", path);
  size_t count = fread(values, sizeof *values, MOST_FLOATS, file);
  fclose(file);
  return (struct posteriors){"read", values, count / symbols, symbols};
}

static void measure_beams(struct linnet_context *context, const struct posteriors *posteriors,
                          const struct arguments *a) {
  if (a->write)
    write_floats(a->write, posteriors->values, posteriors->frames * posteriors->symbols);
  for (size_t i = 0; i < sizeof beams / sizeof *beams; i++)
    if (a->beam == 0 || i == 0)
      measure(context, posteriors, a->beam > 0 ? a->beam : beams[i], a->json);
  free(posteriors->values);
}

int main(int argc, char **argv) {
  struct arguments a = {0};
  if (!parse(argc, argv, &a)) {
    fprintf(stderr, "usage: bench_beam [--kind peaked|random] [--beam N] [--json] [--write FILE] "
                    "[--read FILE --symbols V]\n");
    return 2;
  }
  struct linnet_context *context = test_context();
  if (a.read) {
    struct posteriors posteriors = read_posteriors(a.read, a.symbols);
    measure_beams(context, &posteriors, &a);
  }
  for (size_t k = 0; k < KINDS && !a.read; k++)
    if (!a.kind || strcmp(a.kind, kinds[k].name) == 0) {
      struct posteriors posteriors = {kinds[k].name, make_posteriors(&kinds[k]), FRAMES, SYMBOLS};
      measure_beams(context, &posteriors, &a);
    }
  linnet_context_destroy(context);
  return 0;
}
