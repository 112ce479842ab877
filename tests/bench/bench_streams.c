/* A server of live recognition: streams of speech through features, network and search, in pieces of 0.1 s. Prints CPU
 * time per second of audio, and how many streams one core runs at real time, for batches of several sizes.
 *
 *   bench_streams RECOGNIZER FILE... [--precision float32|bfloat16|int8] [--streams N] [--seconds S] [--interval S]
 *                 [--piece S] [--greedy]
 *
 * The audio is that of the files, each followed by a second of silence, in a loop that each stream enters elsewhere.
 * --seconds is the audio of all streams together (default 600), --interval replaces the partial_interval of the
 * recognizer, --greedy takes the model without the search. Endpoints and hooks are as in `linnet listen`. */
#include <linnet/recognizer.h>

#include "bench.h"

enum { RATE = 16000, MAX_STREAMS = 256 };

struct task {
  struct linnet_context *context;
  struct linnet_recognizer *recognizer;
  float *audio;
  size_t samples, capacity, piece, only, results;
  double seconds, interval;
  bool greedy;
  const char *model, *precision;
};

static void check(const struct task *t, enum linnet_status status) {
  REQUIRE(status == LINNET_OK, "%s", linnet_context_error(t->context));
}

/* --- audio -------------------------------------------------------------------------------------------------------- */

static void add_samples(struct task *t, const float *samples, size_t n) {
  while (t->samples + n > t->capacity) {
    t->capacity = t->capacity > 0 ? 2 * t->capacity : 1 << 20;
    t->audio = realloc(t->audio, t->capacity * sizeof *t->audio);
    REQUIRE(t->audio, "out of memory");
  }
  memcpy(t->audio + t->samples, samples, n * sizeof *samples);
  t->samples += n;
}

static void read_file(struct task *t, const char *path) {
  static float samples[RATE];
  struct linnet_audio_settings settings;
  struct linnet_audio *audio = NULL;
  enum linnet_status status = LINNET_OK;
  linnet_audio_settings_default(&settings);
  settings.sample_rate = RATE;
  check(t, linnet_audio_open(t->context, path, &settings, &audio));
  while (status == LINNET_OK) {
    size_t count = 0;
    status = linnet_audio_read(audio, samples, RATE, &count);
    add_samples(t, samples, count);
  }
  REQUIRE(status == LINNET_END, "%s: %s", path, linnet_context_error(t->context));
  linnet_audio_destroy(audio);
  memset(samples, 0, sizeof samples);
  add_samples(t, samples, RATE);
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

static int count_result(void *user, const struct linnet_result *result) {
  ++*(size_t *)user;
  return result->num_alternatives == 0;
}

/* The next piece of stream i of `streams`, from sample `done` on. Pieces at the end of the loop are short. */
static struct linnet_recognizer_input next_piece(const struct task *t, struct linnet_recognizer_stream *stream,
                                                 size_t i, size_t streams, size_t done) {
  const size_t first = (t->samples / streams * i + done) % t->samples, left = t->samples - first;
  return (struct linnet_recognizer_input){
      .stream = stream, .samples = t->audio + first, .num_samples = left < t->piece ? left : t->piece};
}

/* Returns CPU seconds per second of audio. */
static double measure(struct task *t, size_t streams) {
  static struct linnet_recognizer_input inputs[MAX_STREAMS];
  static struct linnet_recognizer_stream *opened[MAX_STREAMS];
  struct linnet_recognizer_batch *batch = NULL;
  size_t done = 0;
  check(t, linnet_recognizer_batch_create(t->context, t->recognizer, 0, &batch));
  for (size_t i = 0; i < streams; i++) {
    check(t, linnet_recognizer_batch_open(batch, &opened[i]));
    check(t, linnet_recognizer_stream_set_hook(opened[i], count_result, &t->results));
  }
  const double start = bench_now();
  for (; (double)(done * streams) < t->seconds * RATE; done += t->piece) {
    for (size_t i = 0; i < streams; i++)
      inputs[i] = next_piece(t, opened[i], i, streams, done);
    check(t, linnet_recognizer_batch_step(batch, inputs, streams));
  }
  const double seconds = bench_now() - start;
  for (size_t i = 0; i < streams; i++)
    linnet_recognizer_stream_destroy(opened[i]);
  linnet_recognizer_batch_destroy(batch);
  return seconds * RATE / (double)(done * streams);
}

static void report(struct task *t, size_t streams) {
  t->results = 0;
  const double seconds = measure(t, streams);
  printf("%-9s %7zu %18.2f %15.1f %9zu\n", t->precision, streams, seconds * 1e3, 1 / seconds, t->results);
}

/* --- the recognizer and options ----------------------------------------------------------------------------------- */

static void load(struct task *t) {
  struct linnet_recognizer_file *file = NULL;
  struct linnet_recognizer_settings settings;
  check(t, linnet_recognizer_file_load(t->context, t->model, &file));
  linnet_recognizer_file_settings(file, &settings);
  if (t->greedy)
    settings.search = NULL;
  if (t->interval > 0)
    settings.partial_interval = t->interval;
  check(t, linnet_recognizer_create(t->context, &settings, &t->recognizer));
  linnet_recognizer_file_destroy(file);
}

static enum linnet_precision precision_of(const char *name) {
  return strcmp(name, "int8") == 0 ? LINNET_INT8 : strcmp(name, "bfloat16") == 0 ? LINNET_BFLOAT16 : LINNET_FLOAT32;
}

/* Whether the option has a value. */
static bool set_option(struct task *t, const char *name, const char *value) {
  if (strcmp(name, "--precision") == 0)
    t->precision = value;
  else if (strcmp(name, "--streams") == 0)
    t->only = strtoul(value, NULL, 10);
  else if (strcmp(name, "--seconds") == 0)
    t->seconds = strtod(value, NULL);
  else if (strcmp(name, "--interval") == 0)
    t->interval = strtod(value, NULL);
  else if (strcmp(name, "--piece") == 0)
    t->piece = (size_t)(strtod(value, NULL) * RATE);
  else
    return false;
  return true;
}

static bool parse(struct task *t, int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--greedy") == 0)
      t->greedy = true;
    else if (strncmp(argv[i], "--", 2) == 0 && (i + 1 == argc || !set_option(t, argv[i], argv[i + 1])))
      return false;
    else if (strncmp(argv[i], "--", 2) == 0)
      i++;
    else if (!t->model)
      t->model = argv[i];
  return t->model && t->piece > 0 && t->only <= MAX_STREAMS;
}

static void read_files(struct task *t, int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (strncmp(argv[i], "--", 2) == 0)
      i += strcmp(argv[i], "--greedy") != 0;
    else if (argv[i] != t->model)
      read_file(t, argv[i]);
  REQUIRE(t->samples > 0, "no audio");
}

int main(int argc, char **argv) {
  static const size_t streams[] = {1, 4, 16, 64};
  struct task t = {.seconds = 600, .piece = RATE / 10, .precision = "float32"};
  struct linnet_context_settings settings;
  if (!parse(&t, argc, argv)) {
    fprintf(stderr, "usage: bench_streams RECOGNIZER FILE... [OPTIONS]\n");
    return 2;
  }
  linnet_context_settings_default(&settings);
  settings.num_threads = 1;
  settings.precision = precision_of(t.precision);
  REQUIRE(linnet_context_create(&settings, &t.context) == LINNET_OK, "no context");
  read_files(&t, argc, argv);
  load(&t);
  printf("%-9s %7s %18s %15s %9s\n", "precision", "streams", "ms per s of audio", "streams a core", "results");
  for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
    if (t.only == 0 || i == 0)
      report(&t, t.only > 0 ? t.only : streams[i]);
  linnet_recognizer_destroy(t.recognizer);
  linnet_context_destroy(t.context);
  free(t.audio);
  return 0;
}
