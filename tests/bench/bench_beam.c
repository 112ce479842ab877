/* Prefix beam search, T = 800, V = 42 without a language model, or the input of --read and --model: milliseconds for
 * 800 frames, frames per second, bytes a hypothesis.
 *
 *   bench_beam [--kind peaked|random] [--beam N] [--json] [--write FILE] [--read FILE --symbols V [--frames T]]
 *              [--model LM --names FILE] [--model-weight X] [--threshold X] [--top N]
 *
 * "peaked" are posteriors like those of a trained model: 80 symbols, each a peak of one to three frames between
 * blanks, one in five with a rival; "random" are softmaxes of noise, the worst case. --write stores them as raw
 * float32 for a peer, --read reads others from such a file, as utterances of T frames or as one. --model is an
 * n-gram model over the symbols, which --names names as for `linnet decode`. The best hypotheses are printed with
 * --json. */
#include <linnet/beam.h>
#include <linnet/ngram.h>

#include "bench.h"

enum { FRAMES = 800, SYMBOLS = 42, LABELS = 80 };

static const struct kind {
  const char *name;
  double noise, blank, peak; /* logits: amplitude of noise, and additions for blanks and symbols */
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

/* Log-posteriors (utterances, frames, symbols). */
struct posteriors {
  const char *name;
  float *values;
  size_t utterances, frames, symbols;
};

struct arguments {
  const char *kind, *write, *read, *model, *names;
  size_t symbols, frames;
  struct linnet_beam_settings settings;
  bool json, one_beam;
};

/* --- language model ---------------------------------------------------------------------------------------------- */

struct model {
  struct linnet_symbols *symbols;
  struct linnet_ngram *ngram;
  struct linnet_ngram_binding *binding;
};

static void load_model(struct linnet_context *context, struct arguments *a, struct model *model) {
  if (!a->model)
    return;
  REQUIRE(linnet_symbols_load(context, a->names, &model->symbols) == LINNET_OK &&
              linnet_ngram_load(context, a->model, &model->ngram) == LINNET_OK &&
              linnet_ngram_bind_symbols(context, model->ngram, model->symbols, NULL, &model->binding) == LINNET_OK,
          "%s", linnet_context_error(context));
  a->settings.model = linnet_ngram_language_model(model->binding);
}

static void destroy_model(struct model *model) {
  linnet_ngram_binding_destroy(model->binding);
  linnet_ngram_destroy(model->ngram);
  linnet_symbols_destroy(model->symbols);
}

/* --- search ------------------------------------------------------------------------------------------------------ */

struct run {
  struct linnet_beam *beam;
  const struct posteriors *posteriors;
};

static void search(const struct run *r, size_t utterance) {
  size_t frames = r->posteriors->frames;
  linnet_beam_reset(r->beam);
  linnet_beam_accept(r->beam, r->posteriors->values + utterance * frames * r->posteriors->symbols, frames);
  linnet_beam_finish(r->beam);
}

static void search_all(void *user) {
  const struct run *r = user;
  for (size_t i = 0; i < r->posteriors->utterances; i++)
    search(r, i);
}

static void print_best(struct linnet_beam *beam) {
  struct linnet_hypothesis best;
  REQUIRE(linnet_beam_hypothesis(beam, 0, &best) == LINNET_OK, "no hypothesis");
  printf("{\"score\": %.9g, \"symbols\": [", best.score);
  for (size_t i = 0; i < best.num_segments; i++)
    printf("%s%d", i > 0 ? ", " : "", best.segments[i].symbol);
  printf("]}");
}

static void print_json(const struct run *r, size_t width, double seconds, double bytes) {
  printf("{\"kind\": \"%s\", \"beam\": %zu, \"ms\": %.4f, \"bytes\": %.0f, \"hypotheses\": [", r->posteriors->name,
         width, seconds * FRAMES * 1e3, bytes);
  for (size_t i = 0; i < r->posteriors->utterances; i++) {
    printf("%s", i > 0 ? ", " : "");
    search(r, i);
    print_best(r->beam);
  }
  printf("]}\n");
}

static void measure(struct linnet_context *context, const struct posteriors *posteriors,
                    const struct linnet_beam_settings *settings, bool json) {
  struct run r = {.posteriors = posteriors};
  REQUIRE(linnet_beam_create(context, (int)posteriors->symbols, settings, &r.beam) == LINNET_OK, "%s",
          linnet_context_error(context));
  double frames = (double)(posteriors->utterances * posteriors->frames);
  double seconds = bench_time(search_all, &r, 0.3) / frames; /* of a frame */
  double bytes = (double)linnet_beam_memory_bytes(r.beam) / (double)settings->beam;
  if (json)
    print_json(&r, settings->beam, seconds, bytes);
  else
    printf("%-7s beam %4zu  %8.3f ms  %9.0f frames/s  %6.0f bytes a hypothesis\n", posteriors->name, settings->beam,
           seconds * FRAMES * 1e3, 1 / seconds, bytes);
  linnet_beam_destroy(r.beam);
}

static void measure_beams(struct linnet_context *context, const struct posteriors *posteriors,
                          const struct arguments *a) {
  struct linnet_beam_settings settings = a->settings;
  for (size_t i = 0; i < sizeof beams / sizeof *beams && !a->one_beam; i++) {
    settings.beam = beams[i];
    measure(context, posteriors, &settings, a->json);
  }
  if (a->one_beam)
    measure(context, posteriors, &settings, a->json);
}

/* --- files and options ------------------------------------------------------------------------------------------- */

static bool parse_value(const char *option, const char *value, struct arguments *a) {
  const struct {
    const char *name;
    const char **text;
    size_t *number;
    float *real;
  } options[] = {
      {"--kind", &a->kind, NULL, NULL},
      {"--write", &a->write, NULL, NULL},
      {"--read", &a->read, NULL, NULL},
      {"--model", &a->model, NULL, NULL},
      {"--names", &a->names, NULL, NULL},
      {"--symbols", NULL, &a->symbols, NULL},
      {"--frames", NULL, &a->frames, NULL},
      {"--beam", NULL, &a->settings.beam, NULL},
      {"--top", NULL, &a->settings.top_symbols, NULL},
      {"--model-weight", NULL, NULL, &a->settings.model_weight},
      {"--threshold", NULL, NULL, &a->settings.score_threshold},
  };
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    if (strcmp(option, options[i].name) != 0)
      continue;
    if (options[i].text)
      *options[i].text = value;
    if (options[i].number)
      *options[i].number = strtoul(value, NULL, 10);
    if (options[i].real)
      *options[i].real = strtof(value, NULL);
    return true;
  }
  return false;
}

static bool parse(int argc, char **argv, struct arguments *a) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0) {
      a->json = true;
      continue;
    }
    if (i + 1 == argc || !parse_value(argv[i], argv[i + 1], a))
      return false;
    a->one_beam = a->one_beam || strcmp(argv[i], "--beam") == 0;
    i++;
  }
  return (!a->read || a->symbols > 0) && !a->model == !a->names && (!a->model || a->read);
}

static void write_floats(const char *path, const float *values, size_t count) {
  FILE *file = fopen(path, "wb");
  REQUIRE(file && fwrite(values, sizeof *values, count, file) == count && fclose(file) == 0, "%s", path);
}

static struct posteriors read_posteriors(const struct arguments *a) {
  enum { MAX_FLOATS = 1 << 26 };
  float *values = bench_alloc(MAX_FLOATS * sizeof *values);
  FILE *file = fopen(a->read, "rb");
  REQUIRE(file, "%s", a->read);
  size_t rows = fread(values, sizeof *values, MAX_FLOATS, file) / a->symbols, frames = a->frames ? a->frames : rows;
  fclose(file);
  REQUIRE(frames > 0 && frames <= rows, "%s: %zu frames", a->read, rows);
  return (struct posteriors){"read", values, rows / frames, frames, a->symbols};
}

static void run(struct linnet_context *context, struct posteriors posteriors, const struct arguments *a) {
  if (a->write)
    write_floats(a->write, posteriors.values, posteriors.utterances * posteriors.frames * posteriors.symbols);
  measure_beams(context, &posteriors, a);
  free(posteriors.values);
}

int main(int argc, char **argv) {
  struct arguments a = {0};
  struct model model = {0};
  linnet_beam_settings_default(&a.settings);
  if (!parse(argc, argv, &a)) {
    fprintf(stderr, "usage: bench_beam [--kind peaked|random] [--beam N] [--json] [--write FILE] "
                    "[--read FILE --symbols V [--frames T]] [--model LM --names FILE] [--model-weight X] "
                    "[--threshold X] [--top N]\n");
    return 2;
  }
  struct linnet_context *context = test_context();
  load_model(context, &a, &model);
  if (a.read)
    run(context, read_posteriors(&a), &a);
  for (size_t k = 0; k < KINDS && !a.read; k++)
    if (!a.kind || strcmp(a.kind, kinds[k].name) == 0)
      run(context, (struct posteriors){kinds[k].name, make_posteriors(&kinds[k]), 1, FRAMES, SYMBOLS}, &a);
  destroy_model(&model);
  linnet_context_destroy(context);
  return 0;
}
