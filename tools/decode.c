/* linnet decode: log-posteriors in Kaldi archives, of any system, to symbols by a prefix beam search, or to words. */
#include <stdlib.h>
#include <string.h>

#include <linnet/kaldi.h>
#include <linnet/lexicon.h>

#include "lattices.h"
#include "search.h"
#include "tool.h"

static struct {
  char *symbols, *format, *output;
  double frame_shift;
} options = {.frame_shift = 10};

struct decoding {
  struct linnet_context *context;
  const struct linnet_symbols *symbols;
  struct search search;
  const struct linnet_output_format *format;
  FILE *output;
  struct lattices lattices;
  bool json; /* tells the scores of a single hypothesis, too */
  size_t utterances, frames;
  double seconds; /* of searching */
};

static const char *symbol_name(const void *user, int symbol) {
  return linnet_symbols_name(user, symbol);
}

static int write_result(struct decoding *d, const char *key, size_t frames) {
  const struct segment_rule rule = {
      .name = symbol_name, .user = d->symbols, .frame_seconds = options.frame_shift / 1000};
  struct linnet_output output = {.id = key, .seconds = (double)frames * rule.frame_seconds};
  struct hypotheses hypotheses;
  enum linnet_status status = LINNET_ERROR_MEMORY;
  if (search_hypotheses(&d->search, &rule, &hypotheses)) {
    hypotheses_describe(&hypotheses, beam_options_nbest() || d->json, &output);
    status = linnet_output_write(d->format, &output, tool_write_piece, d->output);
  }
  hypotheses_release(&hypotheses);
  return status == LINNET_OK ? TOOL_OK
                             : tool_fail("%s: cannot write the result: %s", key, linnet_status_string(status));
}

static int decode_matrix(struct decoding *d, const char *key, const struct linnet_matrix *matrix) {
  size_t symbols = (size_t)linnet_symbols_count(d->symbols);
  if (matrix->rows > 0 && matrix->cols != symbols)
    return tool_fail("%s: rows of %zu posteriors, but %s has %zu symbols with the blank", key, matrix->cols,
                     options.symbols, symbols);
  double started = tool_clock();
  search_reset(&d->search);
  if (search_accept(&d->search, matrix->values, matrix->rows) != LINNET_OK || search_finish(&d->search) != LINNET_OK)
    return tool_fail_context(d->context);
  d->seconds += tool_clock() - started;
  if (!lattices_put(&d->lattices, d->context, d->utterances, key, &d->search))
    return TOOL_FAILURE;
  d->utterances++;
  d->frames += matrix->rows;
  return write_result(d, key, matrix->rows);
}

static int decode_archive(struct decoding *d, const char *path) {
  struct linnet_ark *ark = NULL;
  struct linnet_matrix matrix = {0};
  const char *key;
  int code = TOOL_OK;
  enum linnet_status status = linnet_ark_open(d->context, path, &ark);
  while (status == LINNET_OK && code == TOOL_OK && (status = linnet_ark_next(ark, &key, &matrix)) == LINNET_OK)
    code = tool_interrupted() ? TOOL_INTERRUPTED : decode_matrix(d, key, &matrix);
  if (status != LINNET_OK && status != LINNET_END)
    code = tool_fail_context(d->context);
  linnet_matrix_release(d->context, &matrix);
  linnet_ark_destroy(ark);
  return code;
}

static int decode_script(struct decoding *d, const char *path) {
  struct linnet_scp *scp = NULL;
  struct linnet_matrix matrix = {0};
  if (linnet_scp_open(d->context, path, &scp) != LINNET_OK)
    return tool_fail_context(d->context);
  int code = TOOL_OK;
  for (size_t i = 0; i < linnet_scp_count(scp) && code == TOOL_OK; i++) {
    if (linnet_scp_read(scp, d->context, i, &matrix) != LINNET_OK)
      code = tool_fail_context(d->context);
    else
      code = tool_interrupted() ? TOOL_INTERRUPTED : decode_matrix(d, linnet_scp_key(scp, i), &matrix);
  }
  linnet_matrix_release(d->context, &matrix);
  linnet_scp_destroy(scp);
  return code;
}

/* "ark:FILE", "scp:FILE" or an archive's name alone. */
static int decode_input(struct decoding *d, const char *input) {
  if (strncmp(input, "scp:", 4) == 0)
    return decode_script(d, input + 4);
  return decode_archive(d, strncmp(input, "ark:", 4) == 0 ? input + 4 : input);
}

static int decode_all(struct decoding *d, const char **inputs, size_t count) {
  struct tool_output output;
  int code = TOOL_OK;
  if (!tool_output_open(&output, options.output))
    return TOOL_FAILURE;
  d->output = output.stream;
  tool_catch_interrupt();
  for (size_t i = 0; i < count && code == TOOL_OK; i++)
    code = decode_input(d, inputs[i]);
  if (code != TOOL_OK)
    tool_output_abandon(&output);
  else if (!tool_output_commit(&output))
    code = TOOL_FAILURE;
  if (code == TOOL_OK)
    fprintf(stderr, "%zu utterances, %zu frames in %.3f s\n", d->utterances, d->frames, d->seconds);
  return code;
}

static bool read_options(struct decoding *d) {
  d->format = linnet_output_format_find(options.format);
  d->json = strcmp(options.format, "json") == 0;
  if (!options.symbols) {
    tool_usage("--symbols FILE is missing: what do the columns stand for?");
    return false;
  }
  if (!d->format || linnet_output_format_is_single(d->format)) {
    tool_usage("--format %s: not one of text, json, ctm, stm", options.format);
    return false;
  }
  if (beam_options_nbest() && !linnet_output_format_has_alternatives(d->format)) {
    tool_usage("--format %s holds the best hypothesis alone: leave --nbest out, or choose text or json",
               options.format);
    return false;
  }
  if (!(options.frame_shift > 0)) {
    tool_usage("--frame-shift %g: must be above 0", options.frame_shift);
    return false;
  }
  return search_options_check(false);
}

static int run(struct linnet_context *context, const char **inputs, size_t count) {
  struct decoding d = {.context = context};
  struct linnet_symbols *symbols = NULL;
  struct search_setup search = {.symbols = 0};
  int code = TOOL_FAILURE;
  if (!read_options(&d))
    return TOOL_USAGE;
  if (linnet_symbols_load(context, options.symbols, &symbols) != LINNET_OK) {
    tool_fail_context(context);
  } else if (search_setup_open(&search, context, symbol_name, symbols, linnet_symbols_count(symbols))) {
    d.symbols = symbols;
    if (search_create(&d.search, context, &search) != LINNET_OK)
      tool_fail_context(context);
    else if (search_open_lattices(&search, &d.lattices, symbol_name, symbols))
      code = lattices_close(&d.lattices, decode_all(&d, inputs, count));
  }
  search_destroy(&d.search);
  search_setup_close(&search);
  linnet_symbols_destroy(symbols);
  return code;
}

int tool_decode(int argc, const char **argv) {
  options.format = "text";
  options.output = "-";
  const struct poptOption table[] = {
      {"symbols", 's', POPT_ARG_STRING, &options.symbols, 0,
       "names of the columns, one a line, or Kaldi's 'name index'; the blank is 0 (needed)", "FILE"},
      {"format", 'f', POPT_ARG_STRING, &options.format, 0, "text (default), json (a line each, with times), ctm, stm",
       "FORMAT"},
      {"output", 'o', POPT_ARG_STRING, &options.output, 0, "where results go (default: standard output)", "FILE"},
      {"frame-shift", 0, POPT_ARG_DOUBLE, &options.frame_shift, 0, "from one row to the next, for times (10)", "MS"},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, beam_options_table, 0, "Beam search:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, lattices_options, 0, "Lattices:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, word_options_table, 0, "Words:", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_common_options, 0, "Common options:", NULL},
      POPT_TABLEEND};
  poptContext parsed =
      tool_parse(argc, argv, table, "[OPTIONS] ark:FILE|scp:FILE|FILE...   (log-posteriors; 'ark:-' is standard input)",
                 NULL, NULL);
  size_t count = 0;
  const char **inputs = parsed ? tool_arguments(parsed, 1, SIZE_MAX, &count) : NULL;
  struct linnet_context *context = inputs ? tool_context() : NULL;
  int code = context ? run(context, inputs, count) : inputs ? TOOL_FAILURE : TOOL_USAGE;
  linnet_context_destroy(context);
  poptFreeContext(parsed);
  return code;
}
