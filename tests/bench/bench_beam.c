/* Prefix beam search without a language model, T = 800, V = 42: milliseconds an utterance, bytes a hypothesis.
 *
 *   bench_beam [--kind peaked|random] [--beam N] [--json] [--write FILE]
 *
 * "peaked" are posteriors like those of a trained model: 80 symbols, each a peak of one to three frames between blanks,
 * one in five with a rival; "random" are softmaxes of noise, the worst case. --write stores them as raw float32 for a
 * peer. The hypotheses are printed with --json. */
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

struct run {
  struct linnet_beam *beam;
  const float *posteriors;
};

static void body(void *user) {
  struct run *r = user;
  linnet_beam_reset(r->beam);
  linnet_beam_accept(r->beam, r->posteriors, FRAMES);
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

static void measure(struct linnet_context *context, const struct kind *kind, const float *posteriors, size_t width,
                    bool json) {
  struct linnet_beam_settings settings;
  struct run r = {.posteriors = posteriors};
  linnet_beam_settings_default(&settings);
  settings.beam = width;
  REQUIRE(linnet_beam_create(context, SYMBOLS, &settings, &r.beam) == LINNET_OK, "%s", linnet_context_error(context));
  double seconds = bench_time(body, &r, 0.3), bytes = (double)linnet_beam_memory(r.beam) / (double)width;
  if (json) {
    printf("{\"kind\": \"%s\", \"beam\": %zu, \"ms\": %.4f, \"bytes\": %.0f, ", kind->name, width, seconds * 1e3,
           bytes);
    print_symbols(r.beam);
    printf("}\n");
  } else {
    printf("%-7s beam %4zu  %8.3f ms  %9.0f frames/s  %6.0f bytes a hypothesis\n", kind->name, width, seconds * 1e3,
           FRAMES / seconds, bytes);
  }
  linnet_beam_destroy(r.beam);
}

struct arguments {
  const char *kind, *write;
  size_t beam;
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
    else if (value && strcmp(argv[i], "--beam") == 0)
      a->beam = strtoul(value, NULL, 10);
    else
      return false;
    i++;
  }
  return true;
}

static void write_floats(const char *path, const float *values, size_t count) {
  FILE *file = fopen(path, "wb");
  REQUIRE(file && fwrite(values, sizeof *values, count, file) == count && fclose(file) == 0, "%s", path);
}

int main(int argc, char **argv) {
  struct arguments a = {0};
  if (!parse(argc, argv, &a)) {
    fprintf(stderr, "usage: bench_beam [--kind peaked|random] [--beam N] [--json] [--write FILE]\n");
    return 2;
  }
  struct linnet_context *context = test_context();
  for (size_t k = 0; k < KINDS; k++) {
    if (a.kind && strcmp(a.kind, kinds[k].name) != 0)
      continue;
    float *posteriors = make_posteriors(&kinds[k]);
    if (a.write)
      write_floats(a.write, posteriors, (size_t)FRAMES * SYMBOLS);
    for (size_t i = 0; i < sizeof beams / sizeof *beams; i++)
      if (a.beam == 0 || i == 0)
        measure(context, &kinds[k], posteriors, a.beam > 0 ? a.beam : beams[i], a.json);
    free(posteriors);
  }
  linnet_context_destroy(context);
  return 0;
}
