/* Reads an alignment of the training data in CTM, lines "utterance channel start duration phone ...", as `linnet align`
 * writes it. */
#include "train_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct train_targets {
  char *path;
  struct linnet_symbols *utterances; /* ids, from index 1 on */
  size_t *ends; /* (utterances, from index 1 on): the first phone after those of each; ends[0] is 0 */
  struct train_phone *phones;
  size_t count, capacity, utterance_capacity;
};

/* Where the reader is. */
struct reader {
  struct linnet_context *context;
  struct train_targets *targets;
  const struct linnet_symbols *symbols;
  size_t line;
};

static bool fail_line(const struct reader *r, const char *what, const char *text) {
  tool_fail("%s:%zu: %s%s", r->targets->path, r->line, what, text);
  return false;
}

static bool read_seconds(const char *field, double *seconds) {
  char *end;
  *seconds = strtod(field, &end);
  return end > field && !*end && *seconds >= 0 && *seconds < 1e6;
}

/* Memory for one more utterance and one more phone. */
static bool reserve(struct train_targets *t) {
  const size_t utterances = linnet_symbols_num_symbols(t->utterances) + 1;
  if (t->count == t->capacity) {
    const size_t capacity = 2 * t->capacity + 1000;
    struct train_phone *grown = realloc(t->phones, capacity * sizeof *grown);
    if (!grown)
      return false;
    t->phones = grown, t->capacity = capacity;
  }
  if (utterances >= t->utterance_capacity) {
    const size_t capacity = 2 * utterances + 1000;
    size_t *grown = realloc(t->ends, capacity * sizeof *grown);
    if (!grown)
      return false;
    t->ends = grown, t->utterance_capacity = capacity;
    t->ends[0] = 0;
  }
  return true;
}

/* Appends a phone to its utterance, which is the last one, or a new one. */
static bool append(struct reader *r, const char *id, struct train_phone phone) {
  struct train_targets *t = r->targets;
  const size_t before = linnet_symbols_num_symbols(t->utterances);
  int index = 0;
  if (!reserve(t))
    return fail_line(r, "out of memory for utterance ", id);
  if (linnet_symbols_add(t->utterances, id, &index) != LINNET_OK)
    return fail_line(r, "", linnet_context_error(r->context));
  const bool first = (size_t)index == before;
  if (!first && (index == 0 || (size_t)index + 1 != before))
    return fail_line(r, "lines of other utterances lie between those of ", id);
  if (!first && phone.start < t->phones[t->count - 1].start)
    return fail_line(r, "the phones are not sorted by time in utterance ", id);
  t->phones[t->count++] = phone;
  t->ends[index] = t->count;
  return true;
}

static bool read_line(struct reader *r, char *line) {
  static const char separators[] = " \t\r\n";
  char *fields[5], *rest = NULL;
  size_t count = 0;
  double start, duration;
  if (strncmp(line, ";;", 2) == 0)
    return true;
  for (char *field = strtok_r(line, separators, &rest); field && count < 5; field = strtok_r(NULL, separators, &rest))
    fields[count++] = field;
  if (count == 0)
    return true;
  if (count < 5)
    return fail_line(r, "must be: utterance channel start duration phone", "");
  if (!read_seconds(fields[2], &start) || !read_seconds(fields[3], &duration))
    return fail_line(r, "start and duration must be seconds from 0 on, of utterance ", fields[0]);
  const size_t symbol = linnet_symbols_find(r->symbols, fields[4]);
  if (symbol == LINNET_NOT_FOUND || symbol == 0)
    return fail_line(r, "is not a symbol of the training: ", fields[4]);
  return append(r, fields[0], (struct train_phone){(float)start, (float)(start + duration), (int)symbol});
}

static bool read_lines(FILE *file, struct reader *r) {
  char *line = NULL;
  size_t capacity = 0;
  bool good = true;
  errno = 0;
  while (good && getline(&line, &capacity, file) >= 0) {
    r->line++;
    good = read_line(r, line);
  }
  free(line);
  if (good && ferror(file))
    tool_fail("%s: %s", r->targets->path, strerror(errno));
  return good && !ferror(file);
}

static bool read_file(struct reader *r) {
  FILE *file = fopen(r->targets->path, "r");
  if (!file) {
    tool_fail("%s: %s", r->targets->path, strerror(errno));
    return false;
  }
  const bool good = read_lines(file, r);
  fclose(file);
  return good;
}

struct train_targets *train_targets_load(struct linnet_context *context, const char *path,
                                         const struct linnet_symbols *symbols) {
  struct train_targets *targets = calloc(1, sizeof *targets);
  if (!targets || !(targets->path = strdup(path)) ||
      linnet_symbols_create(context, NULL, 0, &targets->utterances) != LINNET_OK)
    tool_fail("%s: out of memory", path);
  else if (read_file(&(struct reader){context, targets, symbols, 0}))
    return targets;
  train_targets_free(targets);
  return NULL;
}

void train_targets_free(struct train_targets *targets) {
  if (!targets)
    return;
  linnet_symbols_destroy(targets->utterances);
  free(targets->phones);
  free(targets->ends);
  free(targets->path);
  free(targets);
}

const char *train_targets_path(const struct train_targets *targets) {
  return targets->path;
}

const struct train_phone *train_targets_find(const struct train_targets *targets, const char *utterance,
                                             size_t *count) {
  const size_t index = linnet_symbols_find(targets->utterances, utterance);
  *count = 0;
  if (index == LINNET_NOT_FOUND || index == 0)
    return NULL;
  *count = targets->ends[index] - targets->ends[index - 1];
  return targets->phones + targets->ends[index - 1];
}
