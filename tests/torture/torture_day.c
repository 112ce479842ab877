/* A causal model on hours of audio in one utterance, as from a microphone: in constant memory and faster than real
 * time.
 *
 *   torture_day MODEL HOURS
 *
 * The audio is tones and noise, made while it is fed. Final segments are dropped at once. The last line has the
 * measurements; the exit code is 1 if memory grew by more than a megabyte after the first hour (or the first
 * twentieth of a shorter run), or if the stream was slower than real time. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <linnet/stream.h>

enum { RATE = 16000, CHUNK = 1600, GROWTH_MAX = 1 << 20 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
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

/* A tenth of a second from sample `first` on: a tone for a while, then noise, then silence; never twice the same. */
static void make_chunk(uint64_t first, float *samples) {
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

static int fail(const char *what, const char *why) {
  fprintf(stderr, "torture_day: %s: %s\n", what, why);
  return 1;
}

/* Feeds a chunk and drops the final segments; returns false on failure. */
static int feed(struct linnet_stream *stream, uint64_t first, size_t *segments) {
  static float samples[CHUNK];
  size_t count = 0;
  make_chunk(first, samples);
  if (linnet_stream_accept(stream, samples, CHUNK) != LINNET_OK)
    return 0;
  linnet_stream_segments(stream, &count);
  *segments += count > 0 ? count - 1 : 0;
  return linnet_stream_drop_segments(stream, count > 0 ? count - 1 : 0) == LINNET_OK;
}

static int run(struct linnet_context *context, struct linnet_stream *stream, double hours) {
  const uint64_t all = (uint64_t)(hours * 3600 * RATE), early = hours > 1 ? 3600 * RATE : all / 20;
  size_t segments = 0;
  double started = now();
  long before = 0;
  for (uint64_t first = 0; first < all; first += CHUNK) {
    if (!feed(stream, first, &segments))
      return fail("stream", linnet_context_error(context));
    if (before == 0 && first >= early)
      before = resident();
    if (first % (3600ull * RATE) == 0)
      printf("hour %llu: %.1f MB, %zu segments, %.0f s\n", (unsigned long long)(first / (3600ull * RATE)),
             (double)resident() / 1e6, segments, now() - started);
  }
  long growth = resident() - before;
  double seconds = now() - started;
  printf("%g hours of audio in %.0f s, %.0f times real time, %zu segments; %.1f MB after %s, %.1f MB at the end\n",
         hours, seconds, hours * 3600 / seconds, segments, (double)before / 1e6, hours > 1 ? "an hour" : "a twentieth",
         (double)(before + growth) / 1e6);
  return growth > GROWTH_MAX || seconds > hours * 3600;
}

int main(int argc, char **argv) {
  struct linnet_context *context = NULL;
  struct linnet_model *model = NULL;
  struct linnet_stream *stream = NULL;
  double hours = argc == 3 ? atof(argv[2]) : 0;
  if (!(hours > 0 && hours < 10000))
    return fail("usage", "torture_day MODEL HOURS");
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  int status = linnet_context_create(NULL, &context) == LINNET_OK ? 0 : fail("context", "cannot be made");
  if (status == 0 && linnet_model_load(context, argv[1], &model) != LINNET_OK)
    status = fail("model", linnet_context_error(context));
  if (status == 0 && linnet_stream_create(context, model, &stream) != LINNET_OK)
    status = fail("stream", linnet_context_error(context));
  if (status == 0)
    status = run(context, stream, hours);
  linnet_stream_destroy(stream);
  linnet_model_destroy(model);
  linnet_context_destroy(context);
  return status;
}
