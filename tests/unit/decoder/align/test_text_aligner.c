/* Written texts, aligned: words without a pronunciation have times, also with an emission delay. */
#include <linnet/text_aligner.h>

#include <math.h>
#include <stddef.h>

#include "test.h"

enum { FRAMES = 20, MAX_FRAMES = 400, SYMBOLS = 3 };

static const double frame_seconds = 0.03;
static const char *const names[SYMBOLS] = {"<blank>", "IH", "N"};
static const char lexicon[] = "in IH N\nhi N IH\n";

static int count_bytes(void *user, const char *text, size_t bytes) {
  (void)text;
  *(size_t *)user += bytes;
  return 0;
}

/* Aligns a text with IH in frame 5 and N in frame 6 of `frames`, the last of which may reach beyond the recording.
 * Checks that words have times within it, one after the other. */
static void check_times_within(struct linnet_context *context, const char *text, float delay, size_t frames,
                               double seconds, size_t count) {
  struct linnet_text_aligner_settings settings;
  struct linnet_text_aligner *aligner = NULL;
  struct linnet_aligned_text *aligned = NULL;
  static float log_posteriors[MAX_FRAMES * SYMBOLS];
  linnet_text_aligner_settings_default(&settings);
  settings.lexicon = (struct linnet_source){.data = lexicon, .bytes = sizeof lexicon - 1};
  settings.emission_delay = delay;
  for (size_t i = 0; i < frames * SYMBOLS; i++) {
    const size_t frame = i / SYMBOLS, symbol = frame == 5 ? 1 : frame == 6 ? 2 : 0;
    log_posteriors[i] = logf(i % SYMBOLS == symbol ? 0.98f : 0.01f);
  }
  REQUIRE(linnet_text_aligner_create(context, names, SYMBOLS, &settings, &aligner) == LINNET_OK &&
              linnet_aligned_text_create(context, aligner, text, "TEXT", &aligned) == LINNET_OK &&
              linnet_aligned_text_align(aligned, log_posteriors, frames, frame_seconds, seconds, NULL) == LINNET_OK,
          "%s", linnet_context_error(context));
  struct linnet_output output = {.size = sizeof output, .id = "u"};
  REQUIRE(linnet_aligned_text_describe(aligned, &output) == LINNET_OK, "describe");
  CHECK(output.num_words == count, "'%s': %zu words", text, output.num_words);
  double end = 0;
  for (size_t i = 0; i < output.num_words; i++) {
    const struct linnet_span *word = &output.words[i];
    CHECK(word->start >= end && word->end > word->start && word->end <= seconds,
          "'%s' with a delay of %g: '%s' from %g to %g after %g", text, (double)delay, word->text, word->start,
          word->end, end);
    end = word->end;
  }
  size_t bytes = 0;
  CHECK(linnet_output_write(linnet_output_format_find("textgrid"), &output, count_bytes, &bytes) == LINNET_OK,
        "'%s' in %zu frames: no TextGrid", text, frames);
  linnet_aligned_text_destroy(aligned);
  linnet_text_aligner_destroy(aligner);
}

static void check_times(struct linnet_context *context, const char *text, float delay, size_t frames, size_t count) {
  check_times_within(context, text, delay, frames, (double)frames * frame_seconds, count);
}

/* The last word is in the last frame, and ends with the recording. */
static void test_last_frame(struct linnet_context *context) {
  check_times_within(context, "in", 0, 7, 7 * frame_seconds - 0.02, 1);
  check_times_within(context, "zz in", 0, 7, 7 * frame_seconds - 0.02, 2);
}

/* With a delay, times before the recording become its start. Words without a pronunciation keep some time there. */
static void test_delay(struct linnet_context *context) {
  static const float delays[] = {0, 0.06f, 0.2f, 1};
  for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
    check_times(context, "zz in", delays[i], FRAMES, 2);
    check_times(context, "zz zzzz in zz", delays[i], FRAMES, 4);
    check_times(context, "in zz", delays[i], FRAMES, 2);
    check_times(context, "zz zzz", delays[i], FRAMES, 2);
  }
}

/* Shares of a gap add up to it, and no more, whatever its length. */
static void test_gaps(struct linnet_context *context) {
  for (size_t frames = FRAMES; frames <= MAX_FRAMES; frames += 3) {
    check_times(context, "in zz zzzz zzz z zzzzzzz", 0.06f, frames, 6);
    check_times(context, "zzz z zz", 0, frames, 3);
  }
}

/* --- random texts ------------------------------------------------------------------------------------------------- */

enum { RANDOM_TEXTS = 4000, RANDOM_FRAMES = 40, RANDOM_SYMBOLS = 4, RANDOM_WORDS = 12 };

static struct linnet_text_aligner *open_random(struct linnet_context *context, float delay) {
  static const char *const symbols[RANDOM_SYMBOLS] = {"<blank>", "A", "B", "C"};
  static const char words[] = "a A\nb B\nab A B\nabc A B C\nabc A C\naa A A\n";
  struct linnet_text_aligner_settings settings;
  struct linnet_text_aligner *aligner = NULL;
  linnet_text_aligner_settings_default(&settings);
  settings.lexicon = (struct linnet_source){.data = words, .bytes = sizeof words - 1};
  settings.emission_delay = delay;
  REQUIRE(linnet_text_aligner_create(context, symbols, RANDOM_SYMBOLS, &settings, &aligner) == LINNET_OK, "%s",
          linnet_context_error(context));
  return aligner;
}

/* Random words in `text`, about half of them not in the lexicon. */
static void random_text(struct test_random *random, char *text) {
  static const char *const words[] = {"a", "b", "ab", "abc", "aa", "zz", "qqq", "x", "zzzzzzzzzzzz", "yyyyy"};
  size_t count = 1 + test_below(random, RANDOM_WORDS - 1);
  *text = '\0';
  for (size_t i = 0; i < count; i++) {
    strcat(text, words[test_below(random, sizeof words / sizeof *words)]);
    strcat(text, " ");
  }
}

/* A jump ends where the next word begins, or before; interpolated words may stand in it. */
static void check_jumps(const struct linnet_output *output, uint64_t seed, const char *text) {
  for (size_t i = 0; i < output->num_jumps; i++) {
    const struct linnet_output_jump *jump = &output->jumps[i];
    size_t next = 0;
    while (next < output->num_words && (output->words[next].interpolated || output->words[next].start < jump->start ||
                                        output->words[next].end <= jump->start))
      next++;
    CHECK(jump->end >= jump->start && (next == output->num_words || jump->end <= output->words[next].start),
          "seed %llu: '%s': jump %zu from %.17g to %.17g, before word %zu", (unsigned long long)seed, text, i,
          jump->start, jump->end, next);
  }
}

/* The times can be written as CTM; with `lengths`, each word lasts longer than 0. */
static void check_spans(const struct linnet_aligned_text *aligned, uint64_t seed, const char *text, double seconds,
                        bool lengths) {
  struct linnet_output output = {.size = sizeof output, .id = "u", .seconds = seconds};
  size_t bytes = 0;
  REQUIRE(linnet_aligned_text_describe(aligned, &output) == LINNET_OK, "describe");
  CHECK(linnet_output_write(linnet_output_format_find("ctm"), &output, count_bytes, &bytes) == LINNET_OK,
        "seed %llu: '%s' has no CTM", (unsigned long long)seed, text);
  check_jumps(&output, seed, text);
  for (size_t i = 0; lengths && i < output.num_words; i++)
    CHECK(output.words[i].end > output.words[i].start, "seed %llu: '%s': word %zu from %.17g to %.17g",
          (unsigned long long)seed, text, i, output.words[i].start, output.words[i].end);
}

/* Whether a random text could be aligned; its times are checked then. */
static bool check_random(struct linnet_context *context, const struct linnet_text_aligner *aligner, uint64_t seed,
                         bool delayed) {
  struct test_random random = {seed};
  float rows[RANDOM_FRAMES * RANDOM_SYMBOLS];
  char text[RANDOM_WORDS * 16];
  struct linnet_align_settings settings;
  struct linnet_aligned_text *aligned = NULL;
  const size_t frames = 1 + test_below(&random, RANDOM_FRAMES);
  for (size_t i = 0; i < frames * RANDOM_SYMBOLS; i++)
    rows[i] = -5 + 5 * (float)test_uniform(&random);
  random_text(&random, text);
  linnet_align_settings_default(&settings);
  settings.jumps = (int)test_below(&random, 2);
  settings.jump_cost = (float)test_below(&random, 8);
  REQUIRE(linnet_aligned_text_create(context, aligner, text, "TEXT", &aligned) == LINNET_OK, "%s",
          linnet_context_error(context));
  const double seconds = (double)frames * frame_seconds;
  const bool found = linnet_aligned_text_align(aligned, rows, frames, frame_seconds, seconds, &settings) == LINNET_OK;
  if (found)
    check_spans(aligned, seed, text, seconds, !delayed);
  linnet_aligned_text_destroy(aligned);
  return found;
}

/* Any words, aligned to anything, come one after the other, in spite of rounding. */
static void test_random_texts(struct linnet_context *context) {
  static const float delays[] = {0, 0.05f, 1};
  for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
    struct linnet_text_aligner *aligner = open_random(context, delays[i]);
    size_t found = 0;
    for (uint64_t seed = 0; seed < test_cases(RANDOM_TEXTS); seed++)
      found += check_random(context, aligner, seed, delays[i] > 0);
    CHECK(found > test_cases(RANDOM_TEXTS) / 2, "delay %g: %zu of %zu texts are aligned", delays[i], found,
          (size_t)test_cases(RANDOM_TEXTS));
    linnet_text_aligner_destroy(aligner);
  }
}

/* Two groups of unknown words leave some time to a word of one frame between them. */
static void test_one_frame(struct linnet_context *context) {
  float rows[3 * RANDOM_SYMBOLS];
  struct linnet_text_aligner *aligner = open_random(context, 0);
  struct linnet_aligned_text *aligned = NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    rows[i] = i % RANDOM_SYMBOLS == (const size_t[]){1, 2, 1}[i / RANDOM_SYMBOLS] ? -0.01f : -6;
  REQUIRE(linnet_aligned_text_create(context, aligner, "a zz zz b zz zz a", "TEXT", &aligned) == LINNET_OK &&
              linnet_aligned_text_align(aligned, rows, 3, frame_seconds, 3 * frame_seconds, NULL) == LINNET_OK,
          "%s", linnet_context_error(context));
  check_spans(aligned, 0, "a zz zz b zz zz a", 3 * frame_seconds, true);
  linnet_aligned_text_destroy(aligned);
  linnet_text_aligner_destroy(aligner);
}

/* Members behind the size of a structure are those of a later version: they are neither read nor set. */
static void test_older_program(struct linnet_context *context) {
  static const struct linnet_output_jump own;
  struct linnet_output output = {.size = offsetof(struct linnet_output, jumps), .jumps = &own};
  struct linnet_align_settings settings;
  struct linnet_text_aligner *aligner = NULL;
  struct linnet_aligned_text *text = NULL;
  float log_posteriors[FRAMES * SYMBOLS] = {0};
  linnet_align_settings_default(&settings);
  settings.size = offsetof(struct linnet_align_settings, jumps);
  settings.jumps = 1;
  REQUIRE(linnet_text_aligner_create(context, names, SYMBOLS, NULL, &aligner) == LINNET_OK &&
              linnet_aligned_text_create_phones(context, aligner, "IH N", "TEXT", &text) == LINNET_OK &&
              linnet_aligned_text_align(text, log_posteriors, FRAMES, frame_seconds, 1, &settings) == LINNET_OK &&
              linnet_aligned_text_describe(text, &output) == LINNET_OK,
          "%s", linnet_context_error(context));
  CHECK(output.num_phones == 2 && output.jumps == &own, "%zu phones", output.num_phones);
  output.size = 0;
  CHECK(linnet_aligned_text_describe(text, &output) == LINNET_ERROR_ARGUMENT, "no size");
  output.size = sizeof output;
  CHECK(linnet_aligned_text_describe(text, &output) == LINNET_OK && !output.jumps, "jumps that were not asked for");
  linnet_aligned_text_destroy(text);
  linnet_text_aligner_destroy(aligner);
}

int main(void) {
  struct linnet_context *context = NULL;
  REQUIRE(linnet_context_create(NULL, &context) == LINNET_OK, "context");
  test_delay(context);
  test_last_frame(context);
  test_gaps(context);
  test_random_texts(context);
  test_one_frame(context);
  test_older_program(context);
  linnet_context_destroy(context);
  return test_result();
}
