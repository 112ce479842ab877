/* Recognises formats of transcripts by their shape, which must fit all lines, and ids by the references that they are
 * made of; says how they become text, or ids. */
#include "score_formats.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "common/tool.h"

static const char separators[] = " \t\r\v\f";

/* --- lines -------------------------------------------------------------------------------------------------------- */

enum { MAX_FIELDS = 8 };

struct field {
  const char *text; /* without NUL at its end */
  size_t length;
};

/* A line that is neither blank nor a comment of NIST's formats. */
struct line {
  struct field fields[MAX_FIELDS]; /* the first ones; the others are empty */
  struct field last;
  size_t count; /* of all fields */
};

static struct line divide(const char *text, const char *end) {
  struct line line = {.count = 0};
  while (text < end) {
    text += strspn(text, separators);
    if (text >= end)
      break;
    size_t length = strcspn(text, " \t\r\v\f\n");
    if (line.count < MAX_FIELDS)
      line.fields[line.count] = (struct field){text, length};
    line.last = (struct field){text, length};
    line.count++;
    text += length;
  }
  return line;
}

/* Reads the next line that is not blank, and moves *text to the line after it; false at the end. */
static bool next_line(const char **text, struct line *line) {
  while (**text) {
    const char *start = *text, *end = start + strcspn(start, "\n");
    *text = *end ? end + 1 : end;
    if (strncmp(start, ";;", 2) == 0)
      continue;
    *line = divide(start, end);
    if (line->count > 0)
      return true;
  }
  return false;
}

static bool is_number(const struct field *field) {
  size_t digits = 0, points = 0;
  for (size_t i = 0; i < field->length; i++) {
    digits += field->text[i] >= '0' && field->text[i] <= '9';
    points += field->text[i] == '.';
  }
  return digits > 0 && points <= 1 && digits + points == field->length;
}

static bool has_point(const struct field *field) {
  return memchr(field->text, '.', field->length) != NULL;
}

static bool same(const struct field *a, const struct field *b) {
  return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* --- formats ------------------------------------------------------------------------------------------------------ */

/* A channel is 1, 2, A or B; a longer one is a word. */
static bool has_channel(const struct line *line) {
  return line->fields[1].length == 1;
}

static bool fits_stm(const struct line *line) {
  const struct field *begin = &line->fields[3], *end = &line->fields[4];
  return line->count >= 5 && has_channel(line) && is_number(begin) && is_number(end) &&
         strtod(begin->text, NULL) < strtod(end->text, NULL);
}

static bool proves_stm(const struct line *line, const struct line *before) {
  const struct field *label = &line->fields[5];
  return has_point(&line->fields[3]) || has_point(&line->fields[4]) ||
         (label->length > 1 && label->text[0] == '<' && label->text[label->length - 1] == '>') ||
         same(&line->fields[0], &before->fields[0]);
}

/* The confidence may be missing, or NA. */
static bool fits_ctm(const struct line *line) {
  const struct field missing = {"NA", 2}, *confidence = &line->fields[5];
  return line->count >= 5 && line->count <= 8 && has_channel(line) && is_number(&line->fields[2]) &&
         is_number(&line->fields[3]) && (line->count == 5 || is_number(confidence) || same(confidence, &missing));
}

static bool proves_ctm(const struct line *line, const struct line *before) {
  return has_point(&line->fields[2]) || has_point(&line->fields[3]) || same(&line->fields[0], &before->fields[0]);
}

/* A word in parentheses may be a noise or an optional word. Few of them have a digit and the '-' or '_' that stands
 * between the speaker and the rest of an id. */
static bool fits_trn(const struct line *line) {
  const struct field *id = &line->last;
  size_t digits = 0, dashes = 0;
  for (size_t i = 0; i < id->length; i++) {
    digits += id->text[i] >= '0' && id->text[i] <= '9';
    dashes += id->text[i] == '-' || id->text[i] == '_';
  }
  return digits > 0 && dashes > 0 && id->text[0] == '(' && id->text[id->length - 1] == ')';
}

static bool fits_json(const struct line *line) {
  return line->fields[0].text[0] == '{' && line->fields[0].text[1] == '"';
}

/* Lines of a format. Numbers may be words, so that some line must also have what no text has. */
static const struct format {
  bool (*fits)(const struct line *line); /* each line */
  /* One of them; the first has an empty line before it. NULL: needs no proof. */
  bool (*proves)(const struct line *line, const struct line *before);
  const char *is, *remedy;
} formats[] = {
    {fits_stm, proves_stm, "NIST's STM, lines 'FILE CHANNEL SPEAKER BEGIN END <LABEL> WORD ...'",
     "docs/training.md, Scoring, has an awk line that makes text of it"},
    {fits_ctm, proves_ctm, "CTM, lines 'ID CHANNEL BEGIN DURATION TOKEN'",
     "write text instead (linnet transcribe --format text), or make it by the awk line in docs/training.md, Scoring"},
    {fits_trn, NULL, "sclite's trn, lines 'TOKEN TOKEN ... (ID)'",
     "put the id first: awk '{id = $NF; $NF = \"\"; print substr(id, 2, length(id) - 2), $0}'"},
    {fits_json, NULL, "JSON", "write text instead (linnet transcribe --format text)"}};

static bool is_format(const struct format *format, const char *text) {
  struct line line, before = {.count = 0};
  bool proved = false;
  while (next_line(&text, &line)) {
    if (!format->fits(&line))
      return false;
    proved = proved || !format->proves || format->proves(&line, &before);
    before = line;
  }
  return proved;
}

/* Whether `text` begins with `word`, and a blank or a line's end follows. */
static bool begins(const char *text, const char *word) {
  const size_t length = strlen(word);
  return strncmp(text, word, length) == 0 && (!text[length] || strchr(" \t\r\n", text[length]));
}

/* Whether a line is the times of an SRT: 00:00:01,000 --> 00:00:02,000 */
static bool is_srt_times(const char *line) {
  const char *arrow = strstr(line, " --> ");
  return arrow && strspn(line, "0123456789:,.") == (size_t)(arrow - line);
}

/* A format for people, of blocks of lines, which its first lines tell; NULL if it is none. */
static const char *format_for_people(const char *text) {
  text += strspn(text, "\r\n");
  if (begins(text, "File type = \"ooTextFile\""))
    return "a TextGrid";
  if (begins(text, "WEBVTT"))
    return "WebVTT";
  const char *second = text + strcspn(text, "\n");
  const bool number = strspn(text, "0123456789") > 0 && strspn(text, "0123456789\r") == (size_t)(second - text);
  return number && *second && is_srt_times(second + 1) ? "SRT" : NULL;
}

static bool refuse(const char *name, const char *is, const char *remedy) {
  tool_fail("%s: is %s, but linnet score reads lines 'ID TOKEN TOKEN ...': %s", name, is, remedy);
  return false;
}

bool score_formats_check(const char *name, const char *text) {
  text += linnet_utf8_mark(text, strlen(text));
  const char *is = format_for_people(text);
  if (is)
    return refuse(name, is, "write text instead, such as with linnet transcribe --format text");
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (is_format(&formats[i], text))
      return refuse(name, formats[i].is, formats[i].remedy);
  return true;
}

/* --- ids ---------------------------------------------------------------------------------------------------------- */

/* Cuts the rank off ID-RANK. */
static bool cut_rank(char **id) {
  char *dash = strrchr(*id, '-');
  if (!dash || dash[1] == '0' || !dash[1] || dash[1 + strspn(dash + 1, "0123456789")])
    return false;
  *dash = '\0';
  return true;
}

/* Cuts the folder and the extension off a path. */
static bool cut_path(char **id) {
  char *slash = strrchr(*id, '/');
  if (slash)
    *id = slash + 1;
  char *dot = strrchr(*id, '.');
  if (dot)
    *dot = '\0';
  return slash || dot;
}

static bool cut_rank_and_path(char **id) {
  return cut_rank(id) && cut_path(id);
}

static const struct naming {
  bool (*cut)(char **id);
  const char *are, *remedy;
} namings[] = {{cut_rank, "end in ranks of n-best lists, ID-1, ID-2 ...",
                "keep the first of each (awk 'sub(/-1$/, \"\", $1)'), or score the best by --oracle nbest"},
               {cut_rank_and_path, "end in ranks of n-best lists of files, PATH-1, PATH-2 ...",
                "make ids of the first of each: "
                "awk 'sub(\"-1$\", \"\", $1) {sub(\".*/\", \"\", $1); sub(\"[.][^.]*$\", \"\", $1); print}'"},
               {cut_path, "are paths of files",
                "make ids of them: awk '{sub(\".*/\", \"\", $1); sub(\"[.][^.]*$\", \"\", $1)} 1'"}};

/* The first hypothesis that has the id of a reference, which `cut` makes of it if it is not NULL. NULL: none has, or
 * there is an id that `cut` does not fit. */
static const char *first_with_reference(const struct linnet_transcripts *reference,
                                        const struct linnet_transcripts *hypothesis, bool (*cut)(char **id)) {
  const char *first = NULL;
  for (size_t i = 0; i < linnet_transcripts_num_utterances(hypothesis); i++) {
    const char *id = linnet_transcripts_id(hypothesis, i);
    char copy[1024], *name = copy;
    snprintf(copy, sizeof copy, "%s", id);
    if (cut && !cut(&name))
      return NULL;
    if (!first && linnet_transcripts_find(reference, cut ? name : id) != LINNET_NOT_FOUND)
      first = id;
  }
  return first;
}

bool score_formats_check_ids(const char *name, const struct linnet_transcripts *reference,
                             const struct linnet_transcripts *hypothesis) {
  if (first_with_reference(reference, hypothesis, NULL))
    return true;
  for (size_t i = 0; i < sizeof namings / sizeof *namings; i++) {
    const char *first = first_with_reference(reference, hypothesis, namings[i].cut);
    if (first) {
      tool_fail("%s: the ids, such as '%s', %s: %s", name, first, namings[i].are, namings[i].remedy);
      return false;
    }
  }
  return true;
}
