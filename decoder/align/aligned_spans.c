/* Converts an alignment to the spans and jumps of the output formats. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "decoder/align/aligned_text.h"
#include "decoder/output/spans.h"

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
  for (size_t length = strlen(part); *text; text++)
    if (strncasecmp(text, part, length) == 0)
      return true;
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
  span.start = seconds_of(t, timed->start);
  span.end = seconds_of(t, timed->end);
  return span;
}

static bool make_words(struct linnet_aligned_text *t) {
  size_t num_words;
  const struct linnet_aligned_word *words = linnet_alignment_words(t->alignment, &num_words);
  linnet_pronounced_text_word_times(t->spoken, t->alignment, t->frames, NULL, 0, &t->num_word_spans);
  struct linnet_timed_word *timed = linnet_alloc(t->context, t->num_word_spans, sizeof *timed);
  t->word_spans = linnet_alloc(t->context, t->num_word_spans, sizeof *t->word_spans);
  bool good = timed && t->word_spans &&
              linnet_pronounced_text_word_times(t->spoken, t->alignment, t->frames, timed, t->num_word_spans,
                                                &t->num_word_spans) == LINNET_OK;
  for (size_t i = 0; good && i < t->num_word_spans; i++)
    t->word_spans[i] = word_span(t, words, &timed[i]);
  linnet_free(t->context, timed);
  return good;
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

static void set_boundaries(struct linnet_aligned_text *t) {
  linnet_spans_widen(t->phone_spans, t->num_phone_spans, t->word_spans, t->num_word_spans, 0,
                     (double)t->frames * t->frame_seconds);
  clip(t->phone_spans, t->num_phone_spans, t->seconds);
  clip(t->word_spans, t->num_word_spans, t->seconds);
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
  linnet_free(t->context, t->jumps);
  t->word_spans = t->phone_spans = NULL;
  t->jumps = NULL;
}
