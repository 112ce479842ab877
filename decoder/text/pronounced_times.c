/* The times of all words of a text, with interpolated times for words that could not be aligned. */
#include <math.h>
#include <string.h>

#include "decoder/base/characters.h"
#include "decoder/text/pronounced_text.h"

static const double min_frames = 0.5; /* for a word between neighbours without time between them */

struct timing {
  const struct linnet_pronounced_text *text;
  const struct linnet_aligned_word *words;
  size_t num_words;
  double frames;
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

/* Divides the time from `start` to `stop` among unknown words [first, end), in proportion to their lengths. */
static void share(struct timing *p, size_t first, size_t end, double start, double stop) {
  double total = 0, done = 0;
  for (size_t w = first; w < end; w++)
    total += characters(p, w);
  for (size_t w = first; w < end; w++) {
    double from = start + (stop - start) * done / total;
    done += characters(p, w);
    put(p, (struct linnet_timed_word){w, LINNET_NOT_FOUND, from, start + (stop - start) * done / total});
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

/* How many of `wanted` frames a word of `length` frames gives away: at most half of its length. */
static double given(double wanted, double length) {
  return fmin(wanted, length / 2);
}

/* Gives times to the unknown words between aligned words i and i + 1, which end at *end and begin at *start. Both words
 * may give up frames. */
static void time_between(struct timing *p, size_t i, double *end, double *start) {
  size_t before = index_of(p, i), after = index_of(p, i + 1), behind = unknown_behind(p, before);
  size_t ahead = unknown_before(p, after);
  bool together = before + 1 + behind == after;
  size_t count = behind + (together ? 0 : ahead);
  if (count == 0)
    return;
  double lacking = fmax(0, min_frames * (double)count - (*start - *end)) / 2;
  *end -= given(lacking, (double)(p->words[i].end - p->words[i].start));
  *start += given(lacking, (double)(p->words[i + 1].end - p->words[i + 1].start));
  double middle = *end + (*start - *end) * (double)behind / (double)count;
  share(p, before + 1, before + 1 + behind, *end, middle);
  if (!together)
    share(p, after - ahead, after, middle, *start);
}

/* Gives times to the unknown words after the last aligned word, which is `word` of the text and ends at *end. */
static void time_last(struct timing *p, size_t word, double *end) {
  const struct linnet_aligned_word *last = &p->words[p->num_words - 1];
  size_t count = unknown_behind(p, word);
  double stop = fmax(p->frames, *end);
  *end -= given(fmax(0, min_frames * (double)count - (stop - *end)), (double)(last->end - last->start));
  share(p, word + 1, word + 1 + count, *end, stop);
}

static void time_all(struct timing *p) {
  if (p->num_words == 0) {
    size_t unknown = is_unknown(p, 0) ? unknown_behind(p, 0) + 1 : 0;
    share(p, 0, p->text->aligned_count == 0 ? unknown : 0, 0, p->frames);
    return;
  }
  size_t first = index_of(p, 0), last = index_of(p, p->num_words - 1), before = unknown_before(p, first);
  double start = (double)p->words[0].start, lacking = fmax(0, min_frames * (double)before - start);
  start += given(lacking, (double)(p->words[0].end - p->words[0].start));
  share(p, first - before, first, 0, start);
  for (size_t i = 0; i < p->num_words; i++) {
    size_t at = p->count;
    double end = (double)p->words[i].end;
    put(p, (struct linnet_timed_word){index_of(p, i), i, start, end});
    start = 0;
    if (i + 1 < p->num_words) {
      start = (double)p->words[i + 1].start;
      time_between(p, i, &end, &start);
    } else {
      time_last(p, last, &end);
    }
    if (at < p->capacity)
      p->timed[at].end = end;
  }
}

enum linnet_status linnet_pronounced_text_word_times(const struct linnet_pronounced_text *text,
                                                     const struct linnet_alignment *alignment, size_t frames,
                                                     struct linnet_timed_word *timed, size_t capacity, size_t *count) {
  if (!text || !alignment || (!timed && capacity > 0) || !count)
    return LINNET_ERROR_ARGUMENT;
  struct timing p = {.text = text, .frames = (double)frames, .timed = timed, .capacity = capacity};
  p.words = linnet_alignment_words(alignment, &p.num_words);
  for (size_t i = 0; i < p.num_words; i++)
    if (p.words[i].word >= text->aligned_count)
      return LINNET_ERROR_ARGUMENT;
  time_all(&p);
  *count = p.count;
  return p.count <= capacity ? LINNET_OK : LINNET_ERROR_LIMIT;
}
