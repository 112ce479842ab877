/* Reading of lattices as Kaldi writes them in text: compact ones, "FROM TO SYMBOL G,A,ALIGNMENT", and others, "FROM TO
 * INPUT SYMBOL G,A"; without costs both are 0. The state of the first line is the start. Nothing in the file is
 * trusted. States are renumbered in the order of their occurrence, so a large number needs no memory. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "decoder/base/characters.h"
#include "decoder/base/names.h"
#include "decoder/base/text_file.h"
#include "decoder/lattice/lattice.h"

enum { MAX_COLUMNS = 5 };

struct linnet_lattice_reader {
  struct linnet_context *context;
  struct linnet_symbols *symbols; /* the caller's; NULL: symbols are numbers */
  struct linnet_lines lines;
  struct linnet_names states; /* their numbers as they are written */
  bool has_arc, has_final;    /* of the lattice so far */
  char *id;
};

/* --- opening ------------------------------------------------------------------------------------------------------ */

static enum linnet_status create(struct linnet_context *context, struct linnet_symbols *symbols,
                                 struct linnet_lattice_reader **reader) {
  if (!context || !reader)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_lattice_reader_open: an argument is NULL");
  *reader = linnet_calloc(context, 1, sizeof **reader);
  if (!*reader)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a reader of lattices");
  (*reader)->context = (*reader)->states.context = context;
  (*reader)->symbols = symbols;
  return LINNET_OK;
}

static enum linnet_status keep(enum linnet_status status, struct linnet_lattice_reader **reader) {
  if (status == LINNET_OK)
    return LINNET_OK;
  linnet_lattice_reader_destroy(*reader);
  *reader = NULL;
  return status;
}

enum linnet_status linnet_lattice_reader_open(struct linnet_context *context, const char *path,
                                              struct linnet_symbols *symbols, struct linnet_lattice_reader **reader) {
  if (reader)
    *reader = NULL;
  if (!path)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_lattice_reader_open: an argument is NULL");
  LINNET_TRY(create(context, symbols, reader));
  return keep(linnet_lines_open(context, path, &(*reader)->lines), reader);
}

enum linnet_status linnet_lattice_reader_open_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                     const char *name, struct linnet_symbols *symbols,
                                                     struct linnet_lattice_reader **reader) {
  if (reader)
    *reader = NULL;
  if ((!data && bytes > 0) || !name)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_lattice_reader_open_memory: an argument is NULL");
  LINNET_TRY(create(context, symbols, reader));
  return keep(linnet_lines_open_memory(context, data, bytes, name, &(*reader)->lines), reader);
}

void linnet_lattice_reader_destroy(struct linnet_lattice_reader *reader) {
  if (!reader)
    return;
  linnet_lines_close(&reader->lines);
  linnet_names_clear(&reader->states);
  linnet_free(reader->context, reader->id);
  linnet_free(reader->context, reader);
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

static enum linnet_status malformed(const struct linnet_lattice_reader *r, const char *what, const char *text) {
  return linnet_fail(r->context, LINNET_ERROR_FORMAT, "%s:%zu: %s '%.60s': this is not a lattice in Kaldi's text form",
                     r->lines.name, r->lines.line, what, text);
}

/* Divides a line at white space; returns the number of columns, MAX_COLUMNS + 1 if there are more. */
static size_t cut(char *line, char *columns[MAX_COLUMNS]) {
  static const char space[] = " \t\r\v\f";
  size_t count = 0;
  for (line += strspn(line, space); *line; line += strspn(line, space)) {
    if (count == MAX_COLUMNS)
      return MAX_COLUMNS + 1;
    columns[count++] = line;
    line += strcspn(line, space);
    if (*line)
      *line++ = '\0';
  }
  return count;
}

static bool is_number(const char *text) {
  return *text && text[strspn(text, "0123456789")] == '\0';
}

/* The state of the lattice for a number in the file; a new number gets a new state. */
static enum linnet_status find_state(struct linnet_lattice_reader *r, const char *text, struct linnet_lattice *lattice,
                                     size_t *state) {
  bool fresh;
  if (!is_number(text))
    return malformed(r, "state", text);
  LINNET_TRY(linnet_names_add(&r->states, text, strlen(text), state, &fresh));
  return fresh ? linnet_lattice_add_state(lattice, 0, NULL) : LINNET_OK;
}

static enum linnet_status find_symbol(struct linnet_lattice_reader *r, const char *text, int *symbol) {
  double value;
  *symbol = 0;
  if (r->symbols)
    return strcmp(text, "0") == 0 || strcmp(text, "<eps>") == 0 ? LINNET_OK
                                                                : linnet_symbols_add(r->symbols, text, symbol);
  if (!is_number(text) || !linnet_parse_number(text, &value) || value > (double)INT_MAX)
    return malformed(r, "symbol", text);
  *symbol = (int)value;
  return LINNET_OK;
}

/* "G,A" or "G,A,ALIGNMENT", as scores. */
static enum linnet_status read_costs(const struct linnet_lattice_reader *r, char *text,
                                     struct linnet_lattice_weight *weight) {
  char *comma = strchr(text, ',');
  if (!comma)
    return malformed(r, "costs", text);
  *comma = '\0';
  comma[1 + strcspn(comma + 1, ",")] = '\0';
  double graph, acoustic;
  if (!linnet_parse_number(text, &graph) || !linnet_parse_number(comma + 1, &acoustic) ||
      !(fabs(graph) <= 1e30 && fabs(acoustic) <= 1e30))
    return malformed(r, "costs", text);
  *weight = (struct linnet_lattice_weight){-acoustic, -graph};
  return LINNET_OK;
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* STATE, or STATE COSTS; Kaldi's infinite costs mean that the state is not final. */
static enum linnet_status read_final(struct linnet_lattice_reader *r, char **columns, size_t count,
                                     struct linnet_lattice *lattice) {
  struct linnet_lattice_weight weight = {0, 0};
  size_t state;
  LINNET_TRY(find_state(r, columns[0], lattice, &state));
  if (count == 2 && strncmp(columns[1], "Infinity,", 9) == 0)
    return LINNET_OK;
  if (count == 2)
    LINNET_TRY(read_costs(r, columns[1], &weight));
  r->has_final = true;
  return linnet_lattice_add_final(lattice, state, weight.acoustic, weight.language);
}

/* FROM TO [INPUT] SYMBOL [COSTS]; a column with a comma is COSTS. */
static enum linnet_status read_arc(struct linnet_lattice_reader *r, char **columns, size_t count,
                                   struct linnet_lattice *lattice) {
  struct linnet_lattice_weight weight = {0, 0};
  size_t from, to;
  int symbol;
  bool costs = count == MAX_COLUMNS || (count == MAX_COLUMNS - 1 && strchr(columns[count - 1], ','));
  LINNET_TRY(find_state(r, columns[0], lattice, &from));
  LINNET_TRY(find_state(r, columns[1], lattice, &to));
  LINNET_TRY(find_symbol(r, columns[count - 1 - costs], &symbol));
  if (costs)
    LINNET_TRY(read_costs(r, columns[count - 1], &weight));
  r->has_arc = true;
  return linnet_lattice_add_arc(lattice, from, to, symbol, weight.acoustic, weight.language);
}

/* Reads the first line of a lattice, and skips blank lines before it. */
static enum linnet_status read_id(struct linnet_lattice_reader *r) {
  char *line, *columns[MAX_COLUMNS];
  size_t count;
  do {
    LINNET_TRY(linnet_lines_next(&r->lines, &line));
  } while ((count = cut(line, columns)) == 0);
  if (count != 1)
    return malformed(r, "more than an utterance id after", columns[0]);
  linnet_free(r->context, r->id);
  r->id = linnet_strdup(r->context, columns[0]);
  return r->id ? LINNET_OK : linnet_fail(r->context, LINNET_ERROR_MEMORY, "out of memory for an id");
}

/* Kaldi writes empty lattices, but none that has arcs and no end. */
static enum linnet_status check_end(const struct linnet_lattice_reader *r) {
  if (!r->has_arc || r->has_final)
    return LINNET_OK;
  return linnet_fail(r->context, LINNET_ERROR_FORMAT,
                     "%s:%zu: the lattice of '%.60s' has no final state: the file is incomplete; write it again",
                     r->lines.name, r->lines.line, r->id);
}

static enum linnet_status read_lines(struct linnet_lattice_reader *r, struct linnet_lattice *lattice) {
  char *line, *columns[MAX_COLUMNS];
  enum linnet_status status;
  while ((status = linnet_lines_next(&r->lines, &line)) == LINNET_OK) {
    size_t count = cut(line, columns);
    if (count == 0)
      return check_end(r);
    if (count > MAX_COLUMNS)
      return malformed(r, "too many columns after", columns[0]);
    LINNET_TRY((count <= 2 ? read_final : read_arc)(r, columns, count, lattice));
  }
  return status == LINNET_END ? check_end(r) : status;
}

enum linnet_status linnet_lattice_reader_next(struct linnet_lattice_reader *reader, const char **id,
                                              struct linnet_lattice *lattice) {
  if (id)
    *id = NULL;
  if (!reader || !id || !lattice)
    return linnet_fail(reader ? reader->context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_lattice_reader_next: an argument is NULL");
  linnet_lattice_reset(lattice);
  linnet_names_clear(&reader->states);
  reader->has_arc = reader->has_final = false;
  LINNET_TRY(read_id(reader));
  *id = reader->id;
  return read_lines(reader, lattice);
}
