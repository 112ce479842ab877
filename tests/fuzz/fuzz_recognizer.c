/* Settings of recognizers: any bytes are read or refused, with a message that names the file, within a budget of
 * memory and without leaks; accepted settings point to valid strings and paths. */
#include "recognizer/recognizer_parts.h"

#include <string.h>

#include "fuzz.h"

static void check_source(const struct linnet_source *source) {
  check(!source->path || strncmp(source->path, "FOLDER/", 7) == 0 || source->path[0] == '/',
        "a path that does not begin in the file's folder");
  check(!source->data, "a source in memory");
}

static void check_settings(const struct linnet_recognizer_settings *settings) {
  const struct linnet_search_settings *search = settings->search;
  check(settings->model.path != NULL, "no model");
  check_source(&settings->model);
  check_source(&search->lexicon);
  check_source(&search->language_model);
  check_source(&search->grammar);
  check_source(&search->hotwords);
  check_source(&search->priors);
  check((unsigned)search->kind <= LINNET_SEARCH_WORDS, "a kind of search that is none");
  check(!settings->max_silence || (*settings->max_silence >= 0 && *settings->max_silence <= 3600), "a negative length");
  check(!settings->edge_silence || (*settings->edge_silence >= 0 && *settings->edge_silence <= 3600),
        "a negative length");
  for (size_t i = 0; i < search->num_silences; i++)
    check(search->silences[i] != NULL, "a silence without a name");
  check(!search->calibrations || (search->calibrations->phones.slope > 0 && search->calibrations->words.slope > 0),
        "a calibration that falls");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct linnet_context *context;
  struct linnet_recognizer_file file;
  if (!context)
    context = budget_context();
  check(context != NULL, "no context");
  const size_t before = budget.live;
  budget.limit = before + 64 * size + (1 << 16);
  enum linnet_status status =
      linnet_recognizer_file_read(&file, context, (const char *)data, size, "FOLDER/recognizer.json");
  check(!budget.exceeded, "asked for more memory than any file deserves");
  if (status == LINNET_OK)
    check_settings(&file.settings);
  else
    check(strstr(linnet_context_error(context), "FOLDER/recognizer.json") != NULL,
          "a message that does not name the file");
  linnet_recognizer_file_release(&file);
  budget.limit = 0;
  check(budget.live == before, "memory was not released");
  return 0;
}
