/* Converts an alignment to the spans and jumps of the output formats. */
#include <math.h>
#include <string.h>

#include "base/c_locale.h"
#include "decoder/align/aligned_text.h"
#include "decoder/output/spans.h"
#include "decoder/text/pronounced_text.h"

/* The number of aligned phones that end at or before a frame. */
static size_t phones_before(const struct linnet_aligned_text *t, double frame) {
  size_t low = 0, high;
  const struct linnet_aligned_phone *phones = linnet_alignment_phones(t->alignment, &high);
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if ((double)phones[middle].end <= frame)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static double seconds_of(const struct linnet_aligned_text *t, double frame) {
  return linnet_spans_time(frame, phones_before(t, frame), t->frame_seconds, t->aligner->emission_delay);
}

static struct linnet_span span_of(const struct linnet_aligned_text *t, const char *text, size_t start, size_t end,
                                  float confidence, float gop) {
  return (struct linnet_span){.text = text,
                              .start = seconds_of(t, (double)start),
                              .end = seconds_of(t, (double)end),
                              .confidence = confidence,
                              .has_gop = 1,
                              .gop = gop};
}

/* A text of phones has a word for each of them, which may be doubtful. */
static bool make_phones(struct linnet_aligned_text *t) {
  size_t num_words;
  const struct linnet_aligned_word *words = linnet_alignment_words(t->alignment, &num_words);
  const struct linnet_aligned_phone *phones = linnet_alignment_phones(t->alignment, &t->num_phone_spans);
  t->phone_spans = linnet_alloc(t->context, t->num_phone_spans, sizeof *t->phone_spans);
  for (size_t i = 0; t->phone_spans && i < t->num_phone_spans; i++) {
    t->phone_spans[i] = span_of(t, linnet_symbols_name(t->aligner->vocabulary.symbols, phones[i].symbol),
                                phones[i].start, phones[i].end, phones[i].confidence, phones[i].gop);
    t->phone_spans[i].doubtful = !t->spoken && i < num_words && words[i].doubtful;
  }
  return t->phone_spans != NULL;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

static bool holds(const char *text, const char *part) {
  for (; *text; text++) {
    size_t i = 0;
    while (part[i] && linnet_lower(text[i]) == linnet_lower(part[i]))
      i++;
    if (!part[i])
      return true;
  }
  return false;
}

/* The words by which a written word was aligned, NULL if it has them within. */
static const char *spoken_words(const struct linnet_aligned_text *t, const struct linnet_aligned_word *word) {
  const char *spoken = linnet_pronounced_text_spoken(t->spoken, word->word, word->variant);
  return spoken && !holds(t->tokens[linnet_aligned_text_index(t, word->word)], spoken) ? spoken : NULL;
}

/* The times are those of the timed word: an aligned word may have given frames to its neighbours. */
static struct linnet_span word_span(const struct linnet_aligned_text *t, const struct linnet_aligned_word *words,
                                    const struct linnet_timed_word *timed) {
  size_t count;
  const struct linnet_written_word *written = linnet_pronounced_text_words(t->spoken, &count);
  const char *text = t->tokens[timed->word];
  const char *with_marks = strcmp(written[timed->word].written, text) != 0 ? written[timed->word].written : NULL;
  struct linnet_span span = {.text = text, .interpolated = 1};
  if (timed->aligned != LINNET_NOT_FOUND) {
    const struct linnet_aligned_word *word = &words[timed->aligned];
    span = span_of(t, text, word->start, word->end, word->confidence, word->gop);
    span.doubtful = word->doubtful;
    span.spoken = spoken_words(t, word);
    span.guessed = written[timed->word].source == LINNET_WORD_GUESSED;
  }
  span.written = with_marks;
  span.start = timed->start;
  span.end = timed->end;
  return span;
}

/* The times of aligned words (count), in seconds without the delay. Words without a pronunciation share the time
 * between them. NULL without memory. */
static struct linnet_word_time *aligned_times(const struct linnet_aligned_text *t,
                                              const struct linnet_aligned_word *words, size_t count) {
  struct linnet_word_time *times = linnet_alloc(t->context, count, sizeof *times);
  for (size_t i = 0; times && i < count; i++)
    times[i] = (struct linnet_word_time){words[i].word, seconds_of(t, (double)words[i].start),
                                         seconds_of(t, (double)words[i].end)};
  return times;
}

static size_t time_words(const struct linnet_aligned_text *t, const struct linnet_word_time *times, size_t count,
                         struct linnet_timed_word *timed, size_t capacity) {
  return linnet_time_written_words(t->spoken, times, count, (double)t->frames * t->frame_seconds, t->frame_seconds / 2,
                                   timed, capacity);
}

/* Where the line of the text changes from one word span to the next. */
static bool find_lines(struct linnet_aligned_text *t, const struct linnet_timed_word *timed) {
  size_t count;
  const struct linnet_written_word *written = linnet_pronounced_text_words(t->spoken, &count);
  if (count == 0 || written[0].line == written[count - 1].line)
    return true;
  t->line_ends = linnet_alloc(t->context, t->num_word_spans, sizeof *t->line_ends);
  for (size_t i = 0; t->line_ends && i < t->num_word_spans; i++)
    if (i + 1 == t->num_word_spans || written[timed[i].word].line != written[timed[i + 1].word].line)
      t->line_ends[t->num_lines++] = i + 1;
  return t->line_ends != NULL;
}

static bool make_words(struct linnet_aligned_text *t) {
  size_t count;
  const struct linnet_aligned_word *words = linnet_alignment_words(t->alignment, &count);
  struct linnet_word_time *times = aligned_times(t, words, count);
  t->num_word_spans = times ? time_words(t, times, count, NULL, 0) : 0;
  struct linnet_timed_word *timed = linnet_alloc(t->context, t->num_word_spans, sizeof *timed);
  t->word_spans = linnet_alloc(t->context, t->num_word_spans, sizeof *t->word_spans);
  const bool good = times && timed && t->word_spans;
  if (good)
    time_words(t, times, count, timed, t->num_word_spans);
  for (size_t i = 0; good && i < t->num_word_spans; i++)
    t->word_spans[i] = word_span(t, words, &timed[i]);
  const bool complete = good && find_lines(t, timed);
  linnet_free(t->context, times);
  linnet_free(t->context, timed);
  return complete;
}

/* --- jumps -------------------------------------------------------------------------------------------------------- */

/* The index in the text of an aligned word; after the last one, the index of the next token. */
static size_t index_of(const struct linnet_aligned_text *t, size_t word) {
  return word < t->num_words ? linnet_aligned_text_index(t, word)
         : word > 0          ? linnet_aligned_text_index(t, word - 1) + 1
                             : 0;
}

static bool make_jumps(struct linnet_aligned_text *t) {
  static const char *const kinds[] = {
      [LINNET_JUMP_INSERTED] = "inserted", [LINNET_JUMP_SKIPPED] = "skipped", [LINNET_JUMP_REPEATED] = "repeated"};
  const struct linnet_align_jump *jumps = linnet_alignment_jumps(t->alignment, &t->num_jumps);
  t->jumps = linnet_alloc(t->context, t->num_jumps, sizeof *t->jumps);
  for (size_t i = 0; t->jumps && i < t->num_jumps; i++) {
    size_t first = index_of(t, jumps[i].word), end = index_of(t, jumps[i].word + jumps[i].num_words);
    bool inserted = jumps[i].kind == LINNET_JUMP_INSERTED;
    t->jumps[i] = (struct linnet_output_jump){.kind = kinds[jumps[i].kind],
                                              .start = seconds_of(t, (double)jumps[i].start),
                                              .end = seconds_of(t, (double)jumps[i].end),
                                              .word = first,
                                              .num_words = inserted ? 0 : end - first,
                                              .words = t->tokens + first};
  }
  return t->jumps != NULL;
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* The last frame may reach beyond the recording. */
static void clip(struct linnet_span *spans, size_t count, double seconds) {
  for (size_t i = 0; i < count; i++)
    if (spans[i].end > seconds && spans[i].start < seconds)
      spans[i].end = seconds;
}

/* Jumps begin after the word before them, and end before the next one and within the recording: words reach a little
 * beyond the frames that they were aligned to. Interpolated words may stand anywhere in a jump. */
static void fit_jumps(struct linnet_aligned_text *t) {
  const struct linnet_span *spans = t->spoken ? t->word_spans : t->phone_spans;
  const size_t count = t->spoken ? t->num_word_spans : t->num_phone_spans;
  for (size_t i = 0, next = 0; i < t->num_jumps; i++) {
    struct linnet_output_jump *jump = &t->jumps[i];
    while (next < count && (spans[next].interpolated || spans[next].end <= jump->start))
      next++;
    if (next < count && spans[next].start < jump->start)
      jump->start = spans[next++].end;
    while (next < count && spans[next].interpolated)
      next++;
    if (next < count)
      jump->end = fmin(jump->end, spans[next].start);
    jump->end = fmax(jump->start, fmin(jump->end, t->seconds));
  }
}

static void set_boundaries(struct linnet_aligned_text *t) {
  linnet_spans_widen(t->phone_spans, t->num_phone_spans, t->word_spans, t->num_word_spans, 0,
                     (double)t->frames * t->frame_seconds);
  clip(t->phone_spans, t->num_phone_spans, t->seconds);
  clip(t->word_spans, t->num_word_spans, t->seconds);
  if (t->jumps)
    fit_jumps(t);
}

enum linnet_status linnet_aligned_spans_make(struct linnet_aligned_text *t, bool jumps) {
  if (make_phones(t) && (!t->spoken || make_words(t)) && (!jumps || make_jumps(t))) {
    set_boundaries(t);
    return LINNET_OK;
  }
  return linnet_fail(t->context, LINNET_ERROR_MEMORY, "out of memory for an alignment of %zu words", t->num_words);
}

void linnet_aligned_spans_release(struct linnet_aligned_text *t) {
  linnet_free(t->context, t->word_spans);
  linnet_free(t->context, t->phone_spans);
  linnet_free(t->context, t->line_ends);
  linnet_free(t->context, t->jumps);
  t->word_spans = t->phone_spans = NULL;
  t->line_ends = NULL;
  t->num_lines = 0;
  t->jumps = NULL;
}
