/* Files of label priors, and the priors of a search. */
#include "decoder/search_parts.h"

#include <float.h>
#include <string.h>

#include "decoder/base/characters.h"
#include "decoder/base/text_file.h"
#include "decoder/ctc/beam_parts.h"

enum { MAX_BYTES = 1 << 26 };

static const char REMEDY[] = "'linnet posteriors --estimate-priors' writes the priors of a model";

/* "SYMBOL PROBABILITY". */
static enum linnet_status read_line(struct linnet_text *text, const char *symbol, float *prior) {
  double value = 0;
  const char *name = linnet_text_token(text), *number = linnet_text_token(text);
  if (strcmp(name, symbol) != 0)
    return linnet_fail(text->context, LINNET_ERROR_FORMAT,
                       "%s:%zu: '%.100s' where the symbol '%.100s' is expected: are these priors of another model? %s",
                       text->name, text->line, name, symbol, REMEDY);
  if (!number || !linnet_parse_number(number, &value) || !(value >= 0 && value <= FLT_MAX) || linnet_text_token(text))
    return linnet_fail(text->context, LINNET_ERROR_FORMAT,
                       "%s:%zu: not 'SYMBOL PROBABILITY' with a number that is not negative: %s", text->name,
                       text->line, REMEDY);
  *prior = (float)value;
  return LINNET_OK;
}

static enum linnet_status read_lines(struct linnet_text *text, const char *const *names, size_t symbols,
                                     float *priors) {
  size_t count = 0;
  for (; linnet_text_next_line(text); count++) {
    if (count == symbols)
      return linnet_fail(text->context, LINNET_ERROR_FORMAT, "%s:%zu: more priors than the %zu symbols: %s", text->name,
                         text->line, symbols, REMEDY);
    LINNET_TRY(read_line(text, count == 0 && !names[0] ? LINNET_BLANK : names[count], &priors[count]));
  }
  if (count == symbols)
    return LINNET_OK;
  return linnet_fail(text->context, LINNET_ERROR_FORMAT, "%s: %zu priors of %zu symbols, the blank included: %s",
                     text->name, count, symbols, REMEDY);
}

enum linnet_status linnet_priors_load(struct linnet_context *context, const struct linnet_source *source,
                                      const char *const *names, size_t num_symbols, float *priors) {
  if (!context || !source || !linnet_source_given(source) || !names || !priors)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_priors_load: NULL argument");
  for (size_t i = 1; i < num_symbols; i++)
    if (!names[i])
      return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_priors_load: symbol %zu has no name", i);
  struct linnet_text text;
  enum linnet_status status = source->data ? linnet_text_open_memory(context, source->data, source->bytes,
                                                                     linnet_source_name(source), MAX_BYTES, &text)
                                           : linnet_text_open(context, source->path, MAX_BYTES, &text);
  if (status == LINNET_OK)
    status = read_lines(&text, names, num_symbols, priors);
  linnet_text_close(&text);
  return status;
}

enum linnet_status linnet_search_load_priors(struct linnet_search *s, const struct linnet_search_settings *settings) {
  const struct linnet_source *source = &settings->priors;
  if (!linnet_source_given(source))
    return LINNET_OK;
  s->priors = linnet_calloc(s->context, s->num_symbols, sizeof *s->priors);
  if (!s->priors)
    return linnet_fail(s->context, LINNET_ERROR_MEMORY, "out of memory for the priors of %zu symbols", s->num_symbols);
  enum linnet_status status = linnet_priors_load(s->context, source, s->names, s->num_symbols, s->priors);
  if (status == LINNET_OK) /* searches check the scale */
    status = linnet_row_priors_check(s->context, linnet_source_name(source), s->priors, s->num_symbols, 1);
  return status == LINNET_OK ? status : linnet_fail_setting(s->context, "priors", status);
}
