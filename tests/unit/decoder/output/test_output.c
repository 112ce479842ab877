/* Output formats, byte for byte: independent readers have accepted the files in tests/golden/outputs
 * (check_outputs.py). */
#include <linnet/output.h>

#include "locales.h"
#include "test.h"

struct text {
  char bytes[1 << 16];
  size_t count, limit;
};

static int append(void *user, const char *bytes, size_t count) {
  struct text *text = user;
  if (count > text->limit - text->count)
    return 1;
  memcpy(text->bytes + text->count, bytes, count);
  text->count += count;
  return 0;
}

/* Quotes, tags, a newline, white space, UTF-8, bytes that are not UTF-8, times that need rounding, a long line,
 * pauses. */
static const struct linnet_span words[] = {
    {"the", 0.03, 0.09, 0.98765f, 0, 0, 0, NULL, 0, 0, NULL},
    {"\"quoted\"", 0.09, 0.30000004, 1, 1, -0.25f, 0, NULL, 0, 0, NULL},
    {"a<b>&c", 0.3333333, 0.6666667, 0.5f, 1, 0, 0, NULL, 0, 0, NULL},
    {"gr\xC3\xBC\xC3\x9F", 0.7, 0.9, 0, 1, -INFINITY, 0, NULL, 0, 0, NULL},
    {"two words", 0.9, 1.2, 0.25f, 0, 0, 0, NULL, 0, 0, NULL},
    {"after", 2.5, 2.8, 0.75f, 0, 0, 0, NULL, 0, 0, NULL},
    {"-->", 2.8, 2.9, 0.75f, 0, 0, 0, NULL, 0, 0, NULL},
    {"pneumonoultramicroscopicsilicovolcanoconiosis", 3, 4.5, 0.9f, 0, 0, 0, NULL, 0, 0, NULL},
    {"new\nline", 4.6, 4.9, 0.1f, 0, 0, 0, NULL, 0, 0, NULL},
    {"back\\slash", 4.9, 4.9, 0.1f, 0, 0, 0, NULL, 0, 0, NULL}};
static const struct linnet_span phones[] = {{"DH", 0.03, 0.06, 0.5f, 0, 0, 0, NULL, 0, 0, NULL},
                                            {"AH", 0.06, 0.09, 0.6f, 0, 0, 0, NULL, 0, 0, NULL}};

enum { WORDS = sizeof words / sizeof *words };

static const struct linnet_output full = {.size = sizeof full,
                                          .id = "u1",
                                          .seconds = 5.25,
                                          .words = words,
                                          .num_words = WORDS,
                                          .phones = phones,
                                          .num_phones = 2};

static const struct linnet_alternative alternatives[] = {{-1.23456, -2.5, -INFINITY, NULL, phones, 0, 2, 0},
                                                         {-30, -28, -4e-5, NULL, phones + 1, 0, 1, 1},
                                                         {-2e8, 0.5, 0, NULL, NULL, 0, 0, 0}};

static const struct linnet_output several = {.size = sizeof several,
                                             .id = "u 1",
                                             .bare = 1,
                                             .seconds = 1,
                                             .offset = 10,
                                             .phones = phones,
                                             .num_phones = 2,
                                             .alternatives = alternatives,
                                             .num_alternatives = 3};

static const char *const left_out[] = {"two \"words\"", "after"};
static const struct linnet_output_jump jumps[] = {{"inserted", 0, 0.03, 0, 0, NULL},
                                                  {"skipped", 0.0625, 0.25, 7, 2, left_out}};
static const struct linnet_span doubtful[] = {{"the", 0.03, 0.0625, 0.5f, 1, -5, 1, NULL, 0, 0, NULL},
                                              {"25", 0.25, 0.5, 0.5f, 1, -1, 0, "twenty \"five\"", 1, 0, NULL},
                                              {"zz", 0.5, 0.75, 0, 0, 0, 0, NULL, 0, 1, NULL}};

static const size_t segment_ends[] = {2, 5, WORDS};

static const struct linnet_output divided = {.size = sizeof divided,
                                             .id = "u3",
                                             .seconds = 5.25,
                                             .offset = 10,
                                             .words = words,
                                             .num_words = WORDS,
                                             .phones = phones,
                                             .num_phones = 2,
                                             .segment_ends = segment_ends,
                                             .num_segments = 3,
                                             .recording = "tape 1",
                                             .begins = 59.5,
                                             .incomplete = 1};

static void write_whole(const struct linnet_output_format *format, const struct linnet_output *output,
                        struct text *text) {
  text->count = 0;
  text->limit = sizeof text->bytes;
  CHECK(linnet_output_begin(format, append, text) == LINNET_OK, "begin");
  CHECK(linnet_output_write(format, output, append, text) == LINNET_OK, "write");
}

static void compare_file(const char *name, const char *extension, const struct text *text) {
  static char expected[1 << 16];
  char path[256];
  snprintf(path, sizeof path, "tests/golden/outputs/%s.%s", name, extension);
  if (getenv("LINNET_WRITE_GOLDEN")) {
    FILE *file = fopen(test_source(path), "wb");
    REQUIRE(file && fwrite(text->bytes, 1, text->count, file) == text->count && fclose(file) == 0, "%s", path);
  }
  FILE *file = fopen(test_source(path), "rb");
  REQUIRE(file, "%s is missing", path);
  size_t count = fread(expected, 1, sizeof expected, file);
  fclose(file);
  CHECK(count == text->count && memcmp(expected, text->bytes, count) == 0, "%s differs:\n%.*s", path, (int)text->count,
        text->bytes);
}

static void test_golden(void) {
  static struct text text;
  const struct linnet_output only_phones = {
      .size = sizeof only_phones, .id = "a b", .file = "dir/a b.wav", .seconds = 1, .phones = phones, .num_phones = 2};
  const struct linnet_output nothing = {.size = sizeof nothing, .id = "silence"};
  const struct linnet_output later = {.size = sizeof later,
                                      .id = "part",
                                      .speaker = "s1",
                                      .channel = 2,
                                      .offset = 3599.9996,
                                      .seconds = 5.25,
                                      .words = words,
                                      .num_words = WORDS};
  const struct linnet_output aligned = {.size = sizeof aligned,
                                        .id = "u2",
                                        .seconds = 1,
                                        .offset = 10,
                                        .words = doubtful,
                                        .num_words = 3,
                                        .jumps = jumps,
                                        .num_jumps = 2};
  const struct linnet_output_format *format;
  for (size_t i = 0; (format = linnet_output_format_at(i)); i++) {
    const char *extension = linnet_output_format_extension(format);
    CHECK(linnet_output_format_find(linnet_output_format_name(format)) == format, "%s is not found", extension);
    CHECK(linnet_output_format_has_times(format) == (strcmp(extension, "txt") != 0), "times of %s", extension);
    write_whole(format, &full, &text);
    compare_file("full", extension, &text);
    write_whole(format, &only_phones, &text);
    compare_file("phones", extension, &text);
    write_whole(format, &nothing, &text);
    compare_file("nothing", extension, &text);
    write_whole(format, &later, &text);
    compare_file("later", extension, &text);
    write_whole(format, &several, &text);
    if (linnet_output_format_has_alternatives(format))
      compare_file("several", extension, &text);
    write_whole(format, &aligned, &text);
    if (strcmp(extension, "json") == 0)
      compare_file("aligned", extension, &text);
    write_whole(format, &divided, &text);
    if (strcmp(extension, "json") == 0 || strcmp(extension, "TextGrid") == 0)
      compare_file("segments", extension, &text);
  }
  CHECK(!linnet_output_format_find("docx"), "found what is not there");
}

/* A cue of no length is shown for a millisecond; times are clipped as in the other formats. */
static void test_cues(void) {
  static struct text text;
  static const struct linnet_span at_once[] = {{.text = "one", .start = 1, .end = 1},
                                               {.text = "two", .start = 9, .end = 1e20}};
  const struct linnet_output output = {.size = sizeof output, .id = "u", .words = at_once, .num_words = 2};
  write_whole(linnet_output_format_find("srt"), &output, &text);
  text.bytes[text.count] = '\0';
  CHECK(strstr(text.bytes, "00:00:01,000 --> 00:00:01,001\none") &&
            strstr(text.bytes, "00:00:09,000 --> 277777:46:40,000\ntwo"),
        "%s", text.bytes);
}

/* Checks the lines of all cues, joined by '/'. Each word takes `seconds`; a '|' is a gap as long as a word. */
static void check_lines(const char *line_of_words, double seconds, const char *wanted) {
  static struct text text;
  static struct linnet_span spans[200];
  char copy[2000], lines[2000] = "", *rest = NULL;
  size_t count = 0;
  double at = 0;
  snprintf(copy, sizeof copy, "%s", line_of_words);
  for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    if (strcmp(word, "|") != 0)
      spans[count++] = (struct linnet_span){.text = word, .start = at, .end = at + seconds};
    at += seconds;
  }
  const struct linnet_output output = {.size = sizeof output, .id = "u", .words = spans, .num_words = count};
  write_whole(linnet_output_format_find("vtt"), &output, &text);
  text.bytes[text.count] = '\0';
  for (char *line = strstr(text.bytes, "-->"); line; line = strstr(line, "-->")) {
    line = strchr(line, '\n') + 1;
    const size_t used = strlen(lines);
    snprintf(lines + used, sizeof lines - used, "%s%.*s", used > 0 ? "/" : "", (int)strcspn(line, "\n"), line);
  }
  CHECK(strcmp(lines, wanted) == 0, "'%s', expected '%s'", lines, wanted);
}

/* Cues end with sentences, else after other marks, else at gaps, at most after 7 seconds, and the last one is not very
 * short. */
static void test_ends_of_cues(void) {
  check_lines("The sun is out. It shines on us all.", 0.4, "The sun is out./It shines on us all.");
  check_lines("\"The sun is out!\" It shines on us all.", 0.4, "\"The sun is out!\"/It shines on us all.");
  check_lines("Yes. The sun is out. Yes.", 0.4, "Yes. The sun is out. Yes.");
  check_lines("There came Dr. J. Smith of the U.S. navy.", 0.4, "There came Dr. J. Smith of the U.S. navy.");
  check_lines("We all go on and wait... Nobody is here now.", 0.4, "We all go on and wait.../Nobody is here now.");
  check_lines("We all go on and wait\xE2\x80\xA6 Nobody is here now.", 0.4,
              "We all go on and wait\xE2\x80\xA6/Nobody is here now.");
  check_lines("Then he says hmm... Nobody is here now.", 0.4, "Then he says hmm.../Nobody is here now.");
  check_lines("When the sun is over the water, the birds sing in trees", 0.4,
              "When the sun is over the water,/the birds sing in trees");
  check_lines("When the sun is over the | water the birds sing in trees", 0.4,
              "When the sun is over the/water the birds sing in trees");
  check_lines("So, when the sun is over the water the birds sing in trees", 0.4,
              "So, when the sun is over the water the/birds sing in trees");
  check_lines("one two three four five six seven eight nine", 0.4, "one two three four five/six seven eight nine");
  check_lines("one two six ten one two six ten one two", 0.9, "one two six ten one two six/ten one two");
  check_lines("This sentence has just a full line itself. Then comes more of it here.", 0.4,
              "This sentence has just a full line itself./Then comes more of it here.");
}

/* A decimal comma stays out of the files. */
static void test_locale(void) {
  static struct text text;
  if (!test_set_locale("de_DE.UTF-8"))
    return;
  write_whole(linnet_output_format_find("ctm"), &full, &text);
  compare_file("full", "ctm", &text);
  setlocale(LC_ALL, "C");
}

/* A sink that fails at any byte is reported. */
static void test_full_disk(void) {
  static struct text text;
  const struct linnet_output_format *format;
  for (size_t i = 0; (format = linnet_output_format_at(i)); i++) {
    write_whole(format, &full, &text);
    size_t whole = text.count;
    for (size_t limit = 0; limit < whole; limit += 7) {
      text.count = 0;
      text.limit = limit;
      enum linnet_status status = linnet_output_begin(format, append, &text);
      if (status == LINNET_OK)
        status = linnet_output_write(format, &full, append, &text);
      CHECK(status == LINNET_ERROR_IO, "%s: status %d with room for %zu bytes", linnet_output_format_name(format),
            (int)status, limit);
    }
  }
}

static void test_arguments(void) {
  static struct text text;
  const struct linnet_output_format *format = linnet_output_format_find("ctm");
  static const struct linnet_span bad[][2] = {
      {{"a", 1, 2, 0, 0, 0, 0, NULL, 0, 0, NULL}, {"b", 1.5, 3, 0, 0, 0, 0, NULL, 0, 0, NULL}},
      {{"a", 1, 0.5, 0, 0, 0, 0, NULL, 0, 0, NULL}, {"b", 2, 3, 0, 0, 0, 0, NULL, 0, 0, NULL}},
      {{"a", NAN, 2, 0, 0, 0, 0, NULL, 0, 0, NULL}, {"b", 2, 3, 0, 0, 0, 0, NULL, 0, 0, NULL}},
      {{"a", 1, 2, 0, 0, 0, 0, NULL, 0, 0, NULL}, {"b", 2, INFINITY, 0, 0, 0, 0, NULL, 0, 0, NULL}},
      {{NULL, 1, 2, 0, 0, 0, 0, NULL, 0, 0, NULL}, {"b", 2, 3, 0, 0, 0, 0, NULL, 0, 0, NULL}},
      {{"a", -1, 2, 0, 0, 0, 0, NULL, 0, 0, NULL}, {"b", 2, 3, 0, 0, 0, 0, NULL, 0, 0, NULL}}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const struct linnet_output output = {
        .size = sizeof output, .id = "u", .seconds = 5, .words = bad[i], .num_words = 2};
    CHECK(linnet_output_write(format, &output, append, &text) == LINNET_ERROR_ARGUMENT, "spans %zu", i);
  }
  const struct linnet_output nameless = {.size = sizeof nameless, .seconds = 1},
                             endless = {.size = sizeof endless, .id = "u", .seconds = NAN};
  CHECK(linnet_output_write(format, &nameless, append, &text) == LINNET_ERROR_ARGUMENT, "no id");
  CHECK(linnet_output_write(format, &endless, append, &text) == LINNET_ERROR_ARGUMENT, "NaN seconds");
  const struct {
    struct linnet_output known;
    size_t more;
  } newer = {.known = {.size = sizeof newer, .id = "u"}},
    newest = {.known = {.size = sizeof newest, .id = "u"}, .more = 1};
  const struct linnet_output unsized = {.id = "u"},
                             older = {.size = offsetof(struct linnet_output, seconds), .id = "u", .seconds = NAN};
  CHECK(linnet_output_write(format, &newer.known, append, &text) == LINNET_OK, "a larger structure");
  CHECK(linnet_output_write(format, &newest.known, append, &text) == LINNET_ERROR_ARGUMENT, "an unknown member");
  CHECK(linnet_output_write(format, &unsized, append, &text) == LINNET_ERROR_ARGUMENT, "no size");
  CHECK(linnet_output_write(format, &older, append, &text) == LINNET_OK, "members that an older program lacks");
  const struct linnet_alternative worse = {.phones = bad[0], .num_phones = 2};
  const struct linnet_output mixed = {.size = sizeof mixed, .id = "u", .alternatives = &worse, .num_alternatives = 1};
  CHECK(linnet_output_write(format, &mixed, append, &text) == LINNET_ERROR_ARGUMENT, "an alternative's spans");
  static const size_t bad_ends[][2] = {{0, 2}, {2, 2}, {2, WORDS + 1}};
  for (size_t i = 0; i < 3; i++) {
    struct linnet_output wrong = full;
    wrong.segment_ends = bad_ends[i], wrong.num_segments = 2;
    CHECK(linnet_output_write(format, &wrong, append, &text) == LINNET_ERROR_ARGUMENT, "ends of segments %zu", i);
  }
  const struct linnet_output early = {.size = sizeof early, .id = "u", .recording = "r", .begins = -1};
  CHECK(linnet_output_write(format, &early, append, &text) == LINNET_ERROR_ARGUMENT, "a negative beginning");
  CHECK(linnet_output_write(NULL, &full, append, &text) == LINNET_ERROR_ARGUMENT, "no format");
}

int main(void) {
  test_golden();
  test_cues();
  test_ends_of_cues();
  test_locale();
  test_full_disk();
  test_arguments();
  return test_result();
}
