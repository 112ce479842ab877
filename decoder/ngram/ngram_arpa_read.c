/* ARPA files:
 *
 *   \data\
 *   ngram 1=4
 *   ngram 2=2
 *
 *   \1-grams:
 *   -1.2	word	-0.3        log10 probability, words, log10 back-off weight (0 if it is not there)
 *   ...
 *
 *   \2-grams:
 *   -0.5	word other
 *   ...
 *
 *   \end\
 */
#include "decoder/ngram/ngram_model.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "decoder/base/characters.h"
#include "decoder/base/text_file.h"
#include "decoder/ngram/ngram_builder.h"

static const double LN10 = 2.302585092994045684;

struct arpa {
  struct linnet_context *context;
  struct linnet_lines lines;
  char *line; /* the current one; its tokens are separated in place */
  uint64_t counts[NGRAM_MAX_ORDER];
  struct ngram_builder builder;
};

/* Fails with a message that names file and line. */
#define FAIL(a, status, format, ...)                                                                                   \
  linnet_fail((a)->context, status, "%s:%zu: " format, (a)->lines.name, (a)->lines.line, __VA_ARGS__)

static const char SEPARATORS[] = " \t\r\v\f";

static bool is_blank(const char *line) {
  return line[strspn(line, SEPARATORS)] == '\0';
}

/* True if the line is `text` and white space. */
static bool is_line(const char *line, const char *text) {
  size_t length = strlen(text);
  line += strspn(line, SEPARATORS);
  return strncmp(line, text, length) == 0 && is_blank(line + length);
}

/* Fails because the file ends here, or within this line, before the expected part. */
static enum linnet_status next_line(struct arpa *a, const char *wanted) {
  enum linnet_status status = linnet_lines_next(&a->lines, &a->line);
  bool inside = status == LINNET_OK && !a->lines.ended && !is_line(a->line, "\\end\\");
  if (status == LINNET_END || inside)
    return FAIL(a, LINNET_ERROR_FORMAT, "the file ends before '%s': it is truncated; fetch or make it again", wanted);
  return status;
}

/* The next line that is not blank. */
static enum linnet_status next_text(struct arpa *a, const char *wanted) {
  do
    LINNET_TRY(next_line(a, wanted));
  while (is_blank(a->line));
  return LINNET_OK;
}

/* The next token at *rest, NULL at the end of the line. */
static char *next_token(char **rest) {
  char *start = *rest + strspn(*rest, SEPARATORS);
  if (*start == '\0')
    return NULL;
  char *end = start + strcspn(start, SEPARATORS);
  *rest = *end == '\0' ? end : end + 1;
  *end = '\0';
  return start;
}

/* --- the header ------------------------------------------------------------------------------------------------- */

/* Reads a non-negative integer at the start of `text`; digits after a value of 2^32 are ignored. Returns the rest of
 * the text, NULL without digits. */
static const char *read_count(const char *text, uint64_t *value) {
  const char *at = text;
  for (*value = 0; *at >= '0' && *at <= '9'; at++)
    *value = *value >> 32 ? *value : *value * 10 + (uint64_t)(*at - '0');
  return at > text ? at : NULL;
}

/* "ngram 2=123": the next order's count. */
static enum linnet_status read_header_count(struct arpa *a) {
  unsigned next = a->builder.order + 1;
  uint64_t order, count;
  char *rest = a->line, *keyword = next_token(&rest);
  const char *at = strcmp(keyword, "ngram") == 0 ? read_count(rest + strspn(rest, SEPARATORS), &order) : NULL;
  at = at ? at + strspn(at, SEPARATORS) : NULL;
  at = at && *at == '=' ? read_count(at + 1 + strspn(at + 1, SEPARATORS), &count) : NULL;
  if (!at || !is_blank(at))
    return FAIL(a, LINNET_ERROR_FORMAT, "expected 'ngram %u=COUNT' or '\\1-grams:'", next);
  if (order != next || next > NGRAM_MAX_ORDER)
    return FAIL(a, order > NGRAM_MAX_ORDER && order == next ? LINNET_ERROR_LIMIT : LINNET_ERROR_FORMAT,
                "order %llu is wrong: orders count up from 1 to at most %d; %s", (unsigned long long)order,
                NGRAM_MAX_ORDER,
                order > NGRAM_MAX_ORDER ? "estimate a model of a lower order" : "the header is damaged");
  if (count == 0 && next == 1)
    return FAIL(a, LINNET_ERROR_FORMAT, "the number of words is 0; a model has at least one%s", "");
  a->counts[a->builder.order++] = count;
  return LINNET_OK;
}

/* Reads the header, up to and including the line "\1-grams:". */
static enum linnet_status read_header(struct arpa *a) {
  do {
    LINNET_TRY(next_line(a, "\\data\\"));
    if (is_line(a->line, "LinGram"))
      return FAIL(a, LINNET_ERROR_FORMAT,
                  "this is a binary model, which must be a file: a pipe or a compressed file is not possible%s", "");
  } while (!is_line(a->line, "\\data\\"));
  LINNET_TRY(next_text(a, "ngram 1="));
  while (a->line[strspn(a->line, SEPARATORS)] != '\\') {
    LINNET_TRY(read_header_count(a));
    LINNET_TRY(next_text(a, "\\1-grams:"));
  }
  if (a->builder.order == 0)
    return FAIL(a, LINNET_ERROR_FORMAT, "'ngram 1=COUNT' is missing after '\\data\\'%s", "");
  return LINNET_OK;
}

/* --- n-grams ---------------------------------------------------------------------------------------------------- */

/* A log10 number of the file as a natural logarithm. */
static enum linnet_status read_value(struct arpa *a, const char *text, const char *what, double maximum, float *value) {
  double number;
  if (!linnet_parse_number(text, &number))
    return FAIL(a, LINNET_ERROR_FORMAT, "%s '%.40s' is not a number: correct it, or make the model again", what, text);
  if (number > maximum)
    return FAIL(a, LINNET_ERROR_FORMAT, "%s %.40s is above %g: logarithms to base 10 are expected", what, text,
                maximum);
  number *= LN10;
  *value = number < -FLT_MAX ? -INFINITY : (float)number;
  return LINNET_OK;
}

/* The number of a word of an n-gram; a unigram gets a new number. */
static enum linnet_status read_word(struct arpa *a, unsigned order, const char *text, uint32_t *word) {
  size_t index;
  bool fresh;
  if (order > 1) {
    index = linnet_names_find(&a->builder.names, text, strlen(text));
    if (index == LINNET_NOT_FOUND)
      return FAIL(a, LINNET_ERROR_FORMAT, "word '%.100s' is not among the unigrams: add it there, or remove this line",
                  text);
    *word = a->builder.rank[index];
    return LINNET_OK;
  }
  LINNET_TRY(linnet_names_add(&a->builder.names, text, strlen(text), &index, &fresh));
  if (!fresh)
    return FAIL(a, LINNET_ERROR_FORMAT, "word '%.100s' appears twice: remove one of the lines", text);
  *word = (uint32_t)index;
  return LINNET_OK;
}

static enum linnet_status read_words(struct arpa *a, unsigned order, char **rest, struct ngram_record *record) {
  uint32_t words[NGRAM_MAX_ORDER];
  for (unsigned k = 0; k < order; k++) {
    const char *text = next_token(rest);
    if (!text)
      return FAIL(a, LINNET_ERROR_FORMAT,
                  "the line has %u words, but an n-gram has %u: complete this line, or remove it", k, order);
    LINNET_TRY(read_word(a, order, text, &words[k]));
  }
  record->word = words[order - 1];
  record->parent = order > 1 ? linnet_ngram_builder_node(&a->builder, words, order - 1) : 0;
  if (order > 1 && record->parent == 0)
    return FAIL(a, LINNET_ERROR_FORMAT, "the first %u words are not among the %u-grams: add them there", order - 1,
                order - 1);
  return LINNET_OK;
}

static enum linnet_status read_backoff(struct arpa *a, unsigned order, char **rest, struct ngram_record *record) {
  const char *text = next_token(rest);
  record->backoff = 0;
  if (text)
    LINNET_TRY(read_value(a, text, "back-off weight", 99, &record->backoff));
  if (next_token(rest))
    return FAIL(a, LINNET_ERROR_FORMAT, "more than %u words and a back-off weight: remove the rest of the line", order);
  if (order == a->builder.order && record->backoff != 0)
    return FAIL(a, LINNET_ERROR_FORMAT,
                "an n-gram of the highest order, %u, has no back-off weight: remove its last number", order);
  return LINNET_OK;
}

static enum linnet_status read_ngram(struct arpa *a, unsigned order) {
  struct ngram_record record;
  char *rest = a->line;
  const char *probability = next_token(&rest);
  LINNET_TRY(read_value(a, probability, "log probability", 0, &record.probability));
  LINNET_TRY(read_words(a, order, &rest, &record));
  LINNET_TRY(read_backoff(a, order, &rest, &record));
  return linnet_ngram_builder_add(&a->builder, order - 1, &record);
}

static enum linnet_status seal(struct arpa *a, unsigned order, size_t first_line) {
  size_t duplicate = SIZE_MAX;
  if (order == 1)
    return linnet_ngram_builder_sort_words(&a->builder);
  LINNET_TRY(linnet_ngram_builder_seal(&a->builder, order - 1, &duplicate));
  if (duplicate != SIZE_MAX)
    return linnet_fail(a->context, LINNET_ERROR_FORMAT, "%s:%zu: this %u-gram appears twice: remove one of the lines",
                       a->lines.name, first_line + duplicate, order);
  return LINNET_OK;
}

/* Reads the n-grams of an order; the current line is its title. There are no blank lines between n-grams, so the line
 * number of each is known. */
static enum linnet_status read_section(struct arpa *a, unsigned order) {
  char title[16];
  snprintf(title, sizeof title, "\\%u-grams:", order);
  if (!is_line(a->line, title))
    return FAIL(a, LINNET_ERROR_FORMAT, "expected '%s'; are there more or fewer orders than the header announces?",
                title);
  unsigned long long count = a->counts[order - 1];
  size_t first_line = a->lines.line + 1;
  for (uint64_t i = 0; i < count; i++) {
    LINNET_TRY(next_line(a, "\\end\\"));
    if (is_blank(a->line) || a->line[0] == '\\')
      return FAIL(a, LINNET_ERROR_FORMAT, "there are only %llu of %llu %u-grams: correct 'ngram %u=' or the n-grams",
                  (unsigned long long)i, count, order, order);
    LINNET_TRY(read_ngram(a, order));
  }
  LINNET_TRY(next_text(a, "\\end\\"));
  if (a->line[strspn(a->line, SEPARATORS)] != '\\')
    return FAIL(a, LINNET_ERROR_FORMAT, "there are more than %llu %u-grams: correct 'ngram %u='", count, order, order);
  return seal(a, order, first_line);
}

static enum linnet_status read_all(struct arpa *a, struct linnet_ngram **ngram) {
  LINNET_TRY(read_header(a));
  for (unsigned order = 1; order <= a->builder.order; order++)
    LINNET_TRY(read_section(a, order));
  if (!is_line(a->line, "\\end\\"))
    return FAIL(a, LINNET_ERROR_FORMAT, "expected '\\end\\'; are there more orders than the header announces?%s", "");
  LINNET_TRY(linnet_lines_check(&a->lines));
  return linnet_ngram_builder_finish(&a->builder, ngram);
}

/* Reads a source; `status` is that of opening it. */
static enum linnet_status read_source(struct arpa *a, enum linnet_status status, struct linnet_ngram **ngram) {
  a->builder = (struct ngram_builder){.context = a->context, .names = {.context = a->context}};
  if (status == LINNET_OK)
    status = read_all(a, ngram);
  linnet_ngram_builder_clear(&a->builder);
  linnet_lines_close(&a->lines);
  return status;
}

enum linnet_status linnet_ngram_read_arpa(struct linnet_context *context, const char *path,
                                          struct linnet_ngram **ngram) {
  struct arpa a = {.context = context};
  return read_source(&a, linnet_lines_open(context, path, &a.lines), ngram);
}

enum linnet_status linnet_ngram_read_arpa_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                 const char *name, struct linnet_ngram **ngram) {
  struct arpa a = {.context = context};
  return read_source(&a, linnet_lines_open_memory(context, data, bytes, name, &a.lines), ngram);
}
