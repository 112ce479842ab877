/* Reads the options of lattices and writes those of all inputs to one file, in their order. */
#include "lattices.h"

#include <stdlib.h>
#include <string.h>

static char kaldi[] = "kaldi"; /* the default format */
static struct { char *path, *format, *symbols; } options;

struct poptOption lattices_options[] = {
    {"lattice", 0, TOOL_OUTPUT, &options.path, 0,
     "write a lattice of all hypotheses in the beam at the end; this changes the result: a search for words also keeps "
     "hypotheses with the same future, and phones get a beam search (default: no lattice)",
     "FILE"},
    {"lattice-format", 0, POPT_ARG_STRING, &options.format, 0,
     "kaldi (default; text with numbers for symbols), or dot (for Graphviz)", "FORMAT"},
    {"lattice-symbols", 0, TOOL_OUTPUT, &options.symbols, 0,
     "write the table of these numbers, lines 'NAME NUMBER' (default: no table)", "FILE"},
    POPT_TABLEEND};

const char *lattices_path(void) {
  return options.path;
}

bool lattices_check(void) {
  if (options.symbols && !options.path) {
    tool_usage("--lattice-symbols %s: needs --lattice FILE", options.symbols);
    return false;
  }
  if (options.format && !options.path) {
    tool_usage("--lattice-format %s: needs --lattice FILE", options.format);
    return false;
  }
  if (!options.format)
    options.format = kaldi;
  if (linnet_lattice_format_find(options.format))
    return true;
  tool_usage("--lattice-format %s: must be kaldi or dot", options.format);
  return false;
}

/* Kaldi's table: 0 is no symbol. */
static bool write_symbols(const struct linnet_search *search) {
  struct tool_output output;
  if (!tool_output_open(&output, options.symbols))
    return false;
  fputs("<eps> 0\n", output.stream);
  for (size_t i = 1; i < linnet_search_num_tokens(search); i++)
    fprintf(output.stream, "%s %zu\n", linnet_search_token(search, i), i);
  return tool_output_commit(&output);
}

/* The names of the tokens, if the format has names. */
static bool find_names(struct lattices *lattices, const struct linnet_search *search) {
  const size_t count = linnet_search_num_tokens(search);
  if (strcmp(options.format, "kaldi") == 0)
    return true;
  lattices->names = calloc(count, sizeof *lattices->names);
  for (size_t i = 1; lattices->names && i < count; i++)
    lattices->names[i] = linnet_search_token(search, i);
  if (!lattices->names)
    tool_fail("out of memory for the names of %zu symbols", count);
  return lattices->names != NULL;
}

bool lattices_open(struct lattices *lattices, const struct linnet_search *search) {
  *lattices = (struct lattices){.names = NULL};
  if (!options.path)
    return true;
  lattices->format = linnet_lattice_format_find(options.format);
  lattices->search = search;
  if (!find_names(lattices, search))
    return false;
  if ((options.symbols && !write_symbols(search)) || !tool_output_open(&lattices->output, options.path)) {
    free(lattices->names);
    return false;
  }
  ordered_open(&lattices->ordered, lattices->output.stream);
  return true;
}

/* The lattice of a search as text; the caller frees it. NULL on failure. */
static char *render(const struct lattices *lattices, struct linnet_context *context, const char *id,
                    const struct linnet_search_stream *search, size_t *bytes) {
  struct linnet_lattice *lattice = NULL;
  char *text = NULL;
  FILE *stream = open_memstream(&text, bytes);
  bool good =
      stream && linnet_lattice_create(context, &lattice) == LINNET_OK &&
      linnet_search_stream_lattice(search, lattice) == LINNET_OK && linnet_lattice_finish(lattice, NULL) == LINNET_OK &&
      linnet_lattice_write(lattice, lattices->format, id, lattices->names, tool_write_piece, stream) == LINNET_OK;
  linnet_lattice_destroy(lattice);
  if (stream)
    good = fclose(stream) == 0 && good;
  if (good)
    return text;
  free(text);
  return NULL;
}

bool lattices_put(struct lattices *lattices, struct linnet_context *context, size_t item, const char *id,
                  const struct linnet_search_stream *search) {
  size_t bytes = 0;
  if (!lattices->format)
    return true;
  if (search && linnet_search_stream_search(search) != lattices->search) {
    tool_warn("%s: has no lattice, because the first pass recognised nothing, so there was no second pass", id);
    search = NULL;
  }
  char *text = search ? render(lattices, context, id, search, &bytes) : NULL;
  if (search && !text)
    tool_fail("%s: cannot write its lattice: %s", id, linnet_context_error(context));
  return ordered_put(&lattices->ordered, item, text, bytes) && (text || !search);
}

int lattices_close(struct lattices *lattices, int code, bool complete) {
  if (!lattices->format)
    return code;
  ordered_close(&lattices->ordered);
  free(lattices->names);
  if (!complete)
    tool_output_abandon(&lattices->output);
  else if (!tool_output_commit(&lattices->output))
    return TOOL_FAILURE;
  return code;
}
