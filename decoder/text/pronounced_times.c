/* The times of all words of a text, with interpolated times for words that could not be aligned. */
#include <math.h>
#include <string.h>

#include "decoder/base/characters.h"
#include "decoder/text/pronounced_text.h"

struct timing {
  const struct linnet_pronounced_text *text;
  const struct linnet_word_time *words;
  size_t num_words;
  double length, least; /* of the recording, and for a word between neighbours without time between them */
  struct linnet_timed_word *timed;
  size_t capacity, count;
};

static void put(struct timing *p, struct linnet_timed_word word) {
  if (p->count < p->capacity)
    p->timed[p->count] = word;
  p->count++;
}

static size_t index_of(const struct timing *p, size_t i) {
  return p->text->index[p->words[i].word];
}

static bool is_unknown(const struct timing *p, size_t word) {
  return word < p->text->num_words && p->text->words[word].source == LINNET_WORD_UNKNOWN;
}

static double characters(const struct timing *p, size_t word) {
  size_t count = 0, bytes;
  for (const char *c = p->text->words[word].text; *c; c += bytes, count++)
    linnet_utf8_decode(c, &bytes);
  return (double)count;
}

/* The point of [start, stop] at `done` of `total`: exactly `stop` at the end, and never beyond it by rounding. */
static double point(double start, double stop, double done, double total) {
  return done >= total ? stop : fmin(start + (stop - start) * done / total, stop);
}

/* Divides the time from `start` to `stop` among unknown words [first, end), in proportion to their lengths. */
static void share(struct timing *p, size_t first, size_t end, double start, double stop) {
  double total = 0, done = 0;
  for (size_t w = first; w < end; w++)
    total += characters(p, w);
  for (size_t w = first; w < end; w++) {
    const double from = point(start, stop, done, total);
    done += characters(p, w);
    put(p, (struct linnet_timed_word){w, LINNET_NOT_FOUND, from, point(start, stop, done, total)});
  }
}

/* The number of unknown words directly after, and directly before, a word of the text. */
static size_t unknown_behind(const struct timing *p, size_t word) {
  size_t count = 0;
  while (is_unknown(p, word + 1 + count))
    count++;
  return count;
}

static size_t unknown_before(const struct timing *p, size_t word) {
  size_t count = 0;
  while (word > count && is_unknown(p, word - 1 - count))
    count++;
  return count;
}

/* Numbers of unknown words between an aligned word and the next one: `after` those that follow the first word, `before`
 * those that precede the second and are not among these. With jumps, the two words need not follow each other. */
struct gap {
  size_t after, before;
};

static struct gap gap_after(const struct timing *p, size_t i) {
  const size_t word = index_of(p, i);
  struct gap gap = {.after = unknown_behind(p, word)};
  if (i + 1 < p->num_words && word + 1 + gap.after != index_of(p, i + 1))
    gap.before = unknown_before(p, index_of(p, i + 1));
  return gap;
}

static bool has_unknown(const struct timing *p, size_t i) {
  const struct gap gap = gap_after(p, i);
  return gap.after + gap.before > 0;
}

/* How much of `wanted` aligned word i gives away to one side: at most half of its length, or a third if there are
 * unknown words on both sides, so that it keeps some time. */
static double given(const struct timing *p, size_t i, double wanted) {
  const struct linnet_word_time *word = &p->words[i];
  const bool before = i > 0 ? has_unknown(p, i - 1) : unknown_before(p, index_of(p, 0)) > 0;
  return fmin(wanted, (word->end - word->start) / (before && has_unknown(p, i) ? 3 : 2));
}

/* Gives times to the unknown words between aligned words i and i + 1, which end at *end and begin at *start. Both words
 * may give up time. */
static void time_between(struct timing *p, size_t i, double *end, double *start) {
  const size_t before = index_of(p, i), after = index_of(p, i + 1);
  const struct gap gap = gap_after(p, i);
  const size_t count = gap.after + gap.before;
  if (count == 0)
    return;
  double lacking = fmax(0, p->least * (double)count - (*start - *end)) / 2;
  *end -= given(p, i, lacking);
  *start += given(p, i + 1, lacking);
  double middle = point(*end, *start, (double)gap.after, (double)count);
  share(p, before + 1, before + 1 + gap.after, *end, middle);
  share(p, after - gap.before, after, middle, *start);
}

/* Gives times to the unknown words after the last aligned word, which is `word` of the text and ends at *end. */
static void time_last(struct timing *p, size_t word, double *end) {
  size_t count = unknown_behind(p, word);
  double stop = fmax(p->length, *end);
  *end -= given(p, p->num_words - 1, fmax(0, p->least * (double)count - (stop - *end)));
  share(p, word + 1, word + 1 + count, *end, stop);
}

static void time_all(struct timing *p) {
  if (p->num_words == 0) {
    size_t unknown = is_unknown(p, 0) ? unknown_behind(p, 0) + 1 : 0;
    share(p, 0, p->text->aligned_count == 0 ? unknown : 0, 0, p->length);
    return;
  }
  size_t first = index_of(p, 0), last = index_of(p, p->num_words - 1), before = unknown_before(p, first);
  double start = p->words[0].start;
  start += given(p, 0, fmax(0, p->least * (double)before - start));
  share(p, first - before, first, 0, start);
  for (size_t i = 0; i < p->num_words; i++) {
    size_t at = p->count;
    double end = p->words[i].end;
    put(p, (struct linnet_timed_word){index_of(p, i), i, start, end});
    start = 0;
    if (i + 1 < p->num_words) {
      start = p->words[i + 1].start;
      time_between(p, i, &end, &start);
    } else {
      time_last(p, last, &end);
    }
    if (at < p->capacity)
      p->timed[at].end = end;
  }
}

size_t linnet_time_written_words(const struct linnet_pronounced_text *text, const struct linnet_word_time *words,
                                 size_t num_words, double length, double least, struct linnet_timed_word *timed,
                                 size_t capacity) {
  struct timing p = {text, words, num_words, length, least, timed, capacity, 0};
  time_all(&p);
  return p.count;
}

enum linnet_status linnet_pronounced_text_word_times(const struct linnet_pronounced_text *text,
                                                     const struct linnet_alignment *alignment, size_t frames,
                                                     struct linnet_timed_word *timed, size_t capacity, size_t *count) {
  if (!text || !alignment || (!timed && capacity > 0) || !count)
    return LINNET_ERROR_ARGUMENT;
  size_t num_words;
  const struct linnet_aligned_word *words = linnet_alignment_words(alignment, &num_words);
  struct linnet_word_time *times = linnet_alloc(text->context, num_words, sizeof *times);
  bool good = times != NULL;
  for (size_t i = 0; good && i < num_words; i++) {
    good = words[i].word < text->aligned_count;
    times[i] = (struct linnet_word_time){words[i].word, (double)words[i].start, (double)words[i].end};
  }
  if (good)
    *count = linnet_time_written_words(text, times, num_words, (double)frames, 0.5, timed, capacity);
  linnet_free(text->context, times);
  return !times               ? LINNET_ERROR_MEMORY
         : !good              ? LINNET_ERROR_ARGUMENT
         : *count <= capacity ? LINNET_OK
                              : LINNET_ERROR_LIMIT;
}
