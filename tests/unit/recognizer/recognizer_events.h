/* Files for recognizers, and what the hook of a recognizer stream sees, as text that tests compare. */
#ifndef LINNET_RECOGNIZER_EVENTS_H
#define LINNET_RECOGNIZER_EVENTS_H

#include <linnet/recognizer.h>

#include "test.h"

enum { EVENT_BYTES = 1 << 20, MAX_SEGMENTS = 64 };

/* Writes the file FOLDER/NAME. */
static inline void save_text(const char *folder, const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s", path);
}

/* All that a hook saw, as text, and the segments. */
struct events {
  size_t partials, finals, bytes, stop_at;
  double end;
  double starts[MAX_SEGMENTS], ends[MAX_SEGMENTS];
  char finals_text[MAX_SEGMENTS][8192];
  char text[EVENT_BYTES];
};

/* Words and phones exactly, with times from `start`, to a microsecond. */
static inline size_t describe(const struct linnet_result *result, double start, char *text, size_t bytes) {
  const struct linnet_alternative *best = result->alternatives;
  size_t n = (size_t)snprintf(text, bytes, "%a %zu", best->score, result->num_stable);
  for (size_t i = 0; i < best->num_words + best->num_phones && n < bytes; i++) {
    const struct linnet_span *span = i < best->num_words ? &best->words[i] : &best->phones[i - best->num_words];
    n += (size_t)snprintf(text + n, bytes - n, " %s %.6f %.6f %a", span->text, span->start - start, span->end - start,
                          (double)span->confidence);
  }
  REQUIRE(n < bytes, "%zu bytes of a result", n);
  return n;
}

static inline int see(void *user, const struct linnet_result *result) {
  struct events *e = user;
  const bool final = result->is_final != 0;
  CHECK(result->segment == e->finals, "segment %zu after %zu final results", result->segment, e->finals);
  CHECK(result->start >= e->end - 1e-9 && result->seconds >= result->start, "from %g to %g after %g", result->start,
        result->seconds, e->end);
  e->bytes += (size_t)snprintf(e->text + e->bytes, EVENT_BYTES - e->bytes, "\n%d %.6f %.6f ", final, result->start,
                               result->seconds);
  e->bytes += describe(result, 0, e->text + e->bytes, EVENT_BYTES - e->bytes);
  e->partials += !final;
  if (final) {
    REQUIRE(e->finals < MAX_SEGMENTS, "%zu segments", e->finals);
    describe(result, result->start, e->finals_text[e->finals], sizeof e->finals_text[0]);
    e->starts[e->finals] = result->start;
    e->end = e->ends[e->finals++] = result->seconds;
  }
  return e->partials + e->finals == e->stop_at;
}

#endif
