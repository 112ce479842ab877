/* Boundaries: between phones, at the ends, of words, beside interpolated words; spans stay in order. */
#include "decoder/output/spans.h"
#include "test.h"

static bool at(const struct linnet_span *span, double start, double end) {
  return fabs(span->start - start) < 1e-9 && fabs(span->end - end) < 1e-9;
}

/* A gap of 40 ms has its middle as boundary; of one of 500 ms each side gets 60 ms; the ends are bounds. */
static void test_phones(void) {
  struct linnet_span phones[] = {
      {.start = 0.03, .end = 0.06}, {.start = 0.10, .end = 0.13}, {.start = 0.63, .end = 0.66}};
  linnet_spans_widen(phones, 3, NULL, 0, 0, 0.7);
  CHECK(at(&phones[0], 0, 0.08), "%g to %g", phones[0].start, phones[0].end);
  CHECK(at(&phones[1], 0.08, 0.19), "%g to %g", phones[1].start, phones[1].end);
  CHECK(at(&phones[2], 0.57, 0.7), "%g to %g", phones[2].start, phones[2].end);
  linnet_spans_widen(phones, 0, NULL, 0, 0, 0.7);
}

static void test_words(void) {
  struct linnet_span phones[] = {
      {.start = 0.03, .end = 0.06}, {.start = 0.10, .end = 0.13}, {.start = 0.15, .end = 0.2}};
  struct linnet_span words[] = {{.start = 0.03, .end = 0.13}, {.start = 0.15, .end = 0.2}};
  linnet_spans_widen(phones, 3, words, 2, 0, 1);
  CHECK(at(&words[0], 0, 0.14) && at(&words[1], 0.14, 0.26), "%g to %g, %g to %g", words[0].start, words[0].end,
        words[1].start, words[1].end);
}

static void test_interpolated(void) {
  struct linnet_span phones[] = {{.start = 0.1, .end = 0.2}, {.start = 0.4, .end = 0.5}};
  struct linnet_span words[] = {{.start = 0, .end = 0.1, .interpolated = 1},
                                {.start = 0.1, .end = 0.2},
                                {.start = 0.2, .end = 0.4, .interpolated = 1},
                                {.start = 0.4, .end = 0.5}};
  linnet_spans_widen(phones, 2, words, 4, 0, 0.52);
  CHECK(at(&words[0], 0, 0.1) && at(&words[1], 0.1, 0.2), "%g to %g", words[1].start, words[1].end);
  CHECK(at(&words[2], 0.2, 0.4) && at(&words[3], 0.4, 0.52), "%g to %g", words[3].start, words[3].end);
}

/* Random phones and words of them, some of which are given other times, as where an unknown word takes frames. */
static void test_order(void) {
  struct test_random random = {5};
  for (int round = 0; round < 2000; round++) {
    struct linnet_span phones[12], words[12];
    size_t count = 1 + test_below(&random, 12), num_words = 0;
    double time = 0;
    for (size_t i = 0; i < count; i++) {
      phones[i].start = time += 0.03 * test_below(&random, 5);
      phones[i].end = time += 0.03 * (1 + test_below(&random, 3));
      if (i > 0 && test_below(&random, 2))
        words[num_words - 1].end = phones[i].end;
      else
        words[num_words++] = (struct linnet_span){.start = phones[i].start, .end = phones[i].end};
      if (test_below(&random, 5) == 0)
        words[num_words - 1].end -= 0.01;
    }
    linnet_spans_widen(phones, count, words, num_words, 0, time + 0.03 * test_below(&random, 4));
    for (size_t i = 0; i < count; i++)
      CHECK(phones[i].start < phones[i].end && (i == 0 || phones[i].start >= phones[i - 1].end), "phone %zu", i);
    for (size_t i = 0; i < num_words; i++)
      CHECK(words[i].start < words[i].end && (i == 0 || words[i].start >= words[i - 1].end), "round %d, word %zu",
            round, i);
  }
}

int main(void) {
  test_phones();
  test_words();
  test_interpolated();
  test_order();
  return test_result();
}
