/* Forced alignment of any text to any posteriors: texts too long for the audio, impossible frames, NaN, bands and
 * jumps.
 *
 *   byte 0  symbols: 2 to 17, the blank included
 *   byte 1  bits 0 and 1: jumps, a narrow band; from bit 2: words, 0 to 63
 *   words   a byte of 1 to 3 pronunciations; each a byte of 1 to 4 labels, and these
 *   rest    frames of a byte per symbol: 0 impossible, 255 NaN, else -byte / 16 */
#include <linnet/align.h>

#include <math.h>
#include <string.h>

#include "fuzz.h"

enum { MAX_WORDS = 64, VARIANTS = 3, LABELS = 4, MAX_VALUES = 1 << 15 };

struct text {
  struct linnet_align_word words[MAX_WORDS];
  struct linnet_pronunciation variants[MAX_WORDS][VARIANTS];
  int labels[MAX_WORDS][VARIANTS][LABELS];
  size_t count, symbols;
};

struct bytes {
  const uint8_t *data;
  size_t left;
};

static unsigned take(struct bytes *b) {
  if (b->left == 0)
    return 0;
  b->left--;
  return *b->data++;
}

static void take_word(struct bytes *b, struct text *text, size_t w) {
  text->words[w] = (struct linnet_align_word){text->variants[w], 1 + take(b) % VARIANTS};
  for (size_t v = 0; v < text->words[w].count; v++) {
    text->variants[w][v] = (struct linnet_pronunciation){text->labels[w][v], 1 + take(b) % LABELS};
    for (size_t i = 0; i < text->variants[w][v].count; i++)
      text->labels[w][v][i] = 1 + (int)(take(b) % (text->symbols - 1));
  }
}

static float value_of(unsigned byte) {
  return byte == 0 ? -INFINITY : byte == 255 ? NAN : -(float)byte / 16;
}

static void check_alignment(const struct linnet_alignment *alignment, const struct text *text, size_t frames,
                            bool jumps) {
  size_t phones, words, count, next = 0, end = 0;
  const struct linnet_aligned_phone *p = linnet_alignment_phones(alignment, &phones);
  const struct linnet_aligned_word *w = linnet_alignment_words(alignment, &words);
  const struct linnet_align_jump *j = linnet_alignment_jumps(alignment, &count);
  check(isfinite(linnet_alignment_score(alignment)), "the score is not finite");
  check(jumps ? true : words == text->count && count == 0, "not the words of the text");
  for (size_t i = 0; i < phones; i++) {
    check(p[i].start >= end && p[i].end > p[i].start && p[i].end <= frames, "phones are not in order");
    check(p[i].confidence >= 0 && p[i].confidence <= 1 && p[i].gop <= 0, "confidence or GOP");
    end = p[i].end;
  }
  for (size_t i = 0; i < words; next += w[i++].count) {
    check(w[i].word < text->count && w[i].variant < text->words[w[i].word].count, "no such word");
    const struct linnet_pronunciation *variant = &text->variants[w[i].word][w[i].variant];
    check(w[i].phone == next && w[i].count == variant->count && next + w[i].count <= phones, "phones of a word");
    for (size_t k = 0; k < w[i].count; k++)
      check(p[next + k].symbol == variant->labels[k], "another phone");
  }
  for (size_t i = 0; i < count; i++)
    check(j[i].start <= j[i].end && j[i].end <= frames && j[i].word + j[i].count <= text->count, "a jump");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct linnet_context *context;
  static struct text text;
  static float values[MAX_VALUES];
  struct bytes b = {data, size};
  struct linnet_align_settings settings;
  struct linnet_alignment *alignment = NULL;
  if (!context)
    context = budget_context();
  check(context != NULL, "no context");
  linnet_align_settings_default(&settings);
  text.symbols = 2 + take(&b) % 16;
  unsigned flags = take(&b);
  settings.jumps = flags & 1;
  settings.band = flags & 2 ? 8 : 0;
  text.count = flags >> 2;
  for (size_t w = 0; w < text.count; w++)
    take_word(&b, &text, w);
  size_t frames = (b.left < MAX_VALUES ? b.left : MAX_VALUES) / text.symbols, before = budget.live;
  for (size_t i = 0; i < frames * text.symbols; i++)
    values[i] = value_of(take(&b));
  enum linnet_status status = linnet_alignment_create(context, values, frames, (int)text.symbols, text.words,
                                                      text.count, &settings, &alignment);
  check((status == LINNET_OK) == (alignment != NULL), "status and result disagree");
  check(status == LINNET_OK || status == LINNET_ERROR_LIMIT || status == LINNET_ERROR_NUMERIC, "another status");
  if (alignment)
    check_alignment(alignment, &text, frames, settings.jumps);
  linnet_alignment_destroy(alignment);
  check(budget.live == before, "memory was not released");
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  (void)seed;
  return LLVMFuzzerMutate(data, size, capacity);
}
