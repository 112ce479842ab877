/* A causal model on hours of audio in one stream, as from a microphone: in constant memory and faster than real time.
 *
 *   torture_day MODEL HOURS [FILE...]
 *
 * MODEL is a model file, which gets phones by greedy decoding in one utterance and drops final segments at once, or the
 * folder of a recognizer with endpoints, which runs the whole search. The audio is that of the files, each followed by
 * two seconds of silence, in a loop; without files, it is tones and noise, made while they are fed. The last line has
 * the measurements; the exit code is 1 if memory grew by more than a megabyte after the first hour (or the first
 * twentieth of a shorter run), or if the audio took more CPU time than it lasts. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <linnet/recognizer.h>

enum { RATE = 16000, CHUNK = 1600, PAUSE = 2 * RATE, GROWTH_MAX = 1 << 20 };

struct day {
  struct linnet_context *context;
  struct linnet_model *model; /* of `stream` */
  struct linnet_stream *stream;
  struct linnet_recognizer *recognizer; /* of `words` */
  struct linnet_recognizer_stream *words;
  float *audio; /* of the files; NULL: there are none */
  size_t samples;
  size_t segments;
};

/* CPU time: on a busy machine, a process that waits is not slow. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Resident memory in bytes. */
static long resident(void) {
  long total = 0, pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &total, &pages) != 2)
    pages = 0;
  if (file)
    fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

static int fail(const char *what, const char *why) {
  fprintf(stderr, "torture_day: %s: %s\n", what, why);
  return 1;
}

/* --- audio -------------------------------------------------------------------------------------------------------- */

/* A tenth of a second from sample `first` on: a tone for a while, then noise, then silence; never twice the same. */
static void make_tones(uint64_t first, float *samples) {
  uint64_t noise = first * 0x9E3779B97F4A7C15u + 1, part = first / (RATE / 4);
  double step = 0.02 + 0.3 * (double)(part * 2654435761u % 1000) / 1000;
  for (int i = 0; i < CHUNK; i++) {
    noise = noise * 6364136223846793005u + 1442695040888963407u;
    double hiss = (double)(int32_t)(noise >> 32) / 2147483648.0;
    samples[i] = (float)(part % 3 == 0   ? 6000 * sin(step * (double)(first + (uint64_t)i)) + 20 * hiss
                         : part % 3 == 1 ? 3000 * hiss
                                         : 5 * hiss);
  }
}

static void make_chunk(const struct day *day, uint64_t first, float *samples) {
  if (!day->audio)
    make_tones(first, samples);
  for (size_t i = 0; day->audio && i < CHUNK; i++)
    samples[i] = day->audio[(first + i) % day->samples];
}

/* Adds `n` samples; NULL: of silence. */
static int add_samples(struct day *day, const float *samples, size_t n) {
  float *grown = realloc(day->audio, (day->samples + n) * sizeof *grown);
  if (!grown)
    return fail("audio", "out of memory");
  day->audio = grown;
  memset(grown + day->samples, 0, n * sizeof *grown);
  if (samples)
    memcpy(grown + day->samples, samples, n * sizeof *grown);
  day->samples += n;
  return 0;
}

static int read_file(struct day *day, const char *path) {
  static float samples[CHUNK];
  struct linnet_audio_settings settings;
  struct linnet_audio *audio = NULL;
  size_t count = 0;
  linnet_audio_settings_default(&settings);
  settings.sample_rate = RATE;
  enum linnet_status status = linnet_audio_open(day->context, path, &settings, &audio);
  while (status == LINNET_OK) {
    status = linnet_audio_read(audio, samples, CHUNK, &count);
    if ((status == LINNET_OK || status == LINNET_END) && add_samples(day, samples, count) != 0)
      status = LINNET_ERROR_MEMORY;
  }
  linnet_audio_destroy(audio);
  return status == LINNET_END ? add_samples(day, NULL, PAUSE) : fail("audio", linnet_context_error(day->context));
}

/* --- recognition -------------------------------------------------------------------------------------------------- */

static int count_final(void *user, const struct linnet_result *result) {
  struct day *day = user;
  day->segments += result->is_final != 0;
  return 0;
}

static enum linnet_status open_words(struct day *day, const char *path) {
  enum linnet_status status = linnet_recognizer_load(day->context, path, &day->recognizer);
  if (status == LINNET_OK)
    status = linnet_recognizer_stream_create(day->context, day->recognizer, &day->words);
  return status == LINNET_OK ? linnet_recognizer_stream_set_hook(day->words, count_final, day) : status;
}

static enum linnet_status open_phones(struct day *day, const char *path) {
  enum linnet_status status = linnet_model_load(day->context, path, &day->model);
  return status == LINNET_OK ? linnet_stream_create(day->context, day->model, &day->stream) : status;
}

static int open_day(struct day *day, char **arguments, int count) {
  struct stat information;
  if (linnet_context_create(NULL, &day->context) != LINNET_OK)
    return fail("context", "cannot be made");
  for (int i = 3; i < count; i++)
    if (read_file(day, arguments[i]) != 0)
      return 1;
  const int is_folder = stat(arguments[1], &information) == 0 && S_ISDIR(information.st_mode);
  enum linnet_status status = is_folder ? open_words(day, arguments[1]) : open_phones(day, arguments[1]);
  return status == LINNET_OK ? 0 : fail("model", linnet_context_error(day->context));
}

static void close_day(struct day *day) {
  linnet_recognizer_stream_destroy(day->words);
  linnet_recognizer_destroy(day->recognizer);
  linnet_stream_destroy(day->stream);
  linnet_model_destroy(day->model);
  linnet_context_destroy(day->context);
  free(day->audio);
}

/* Drops the final segments. */
static enum linnet_status feed_phones(struct day *day, const float *samples) {
  size_t count = 0;
  enum linnet_status status = linnet_stream_accept(day->stream, samples, CHUNK);
  linnet_stream_segments(day->stream, &count);
  const size_t final = count > 0 ? count - 1 : 0;
  day->segments += final;
  return status == LINNET_OK ? linnet_stream_drop_segments(day->stream, final) : status;
}

static enum linnet_status feed(struct day *day, uint64_t first) {
  static float samples[CHUNK];
  make_chunk(day, first, samples);
  return day->words ? linnet_recognizer_stream_accept(day->words, samples, CHUNK) : feed_phones(day, samples);
}

static int run(struct day *day, double hours) {
  const uint64_t all = (uint64_t)(hours * 3600 * RATE), early = hours > 1 ? 3600 * RATE : all / 20;
  double started = now();
  long before = 0;
  for (uint64_t first = 0; first < all; first += CHUNK) {
    if (feed(day, first) != LINNET_OK)
      return fail("stream", linnet_context_error(day->context));
    if (before == 0 && first >= early)
      before = resident();
    if (first % (3600ull * RATE) == 0)
      printf("hour %llu: %.1f MB, %zu segments, %.0f s\n", (unsigned long long)(first / (3600ull * RATE)),
             (double)resident() / 1e6, day->segments, now() - started);
  }
  long growth = resident() - before;
  double seconds = now() - started;
  printf("%g hours of audio in %.0f s of CPU time, %.0f times real time, %zu segments; %.1f MB after %s, %.1f MB at "
         "the end\n",
         hours, seconds, hours * 3600 / seconds, day->segments, (double)before / 1e6,
         hours > 1 ? "an hour" : "a twentieth", (double)(before + growth) / 1e6);
  return growth > GROWTH_MAX || seconds > hours * 3600;
}

int main(int argc, char **argv) {
  struct day day = {0};
  double hours = argc >= 3 ? atof(argv[2]) : 0;
  if (!(hours > 0 && hours < 10000))
    return fail("usage", "torture_day MODEL HOURS [FILE...]");
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  int status = open_day(&day, argv, argc);
  if (status == 0)
    status = run(&day, hours);
  close_day(&day);
  return status;
}
