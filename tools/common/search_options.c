/* Chooses between the search over symbols and the search for words, and applies the options to a recognizer. */
#include "search_options.h"

#include "default_model.h"
#include "lattices.h"
#include "tool.h"

bool search_options_given(void) {
  return beam_options_given() || word_options_given() || lattices_given();
}

bool search_options_check(bool optional, bool recognizer) {
  const bool none = optional && !recognizer && !word_options_given() && !lattices_given();
  return beam_options_check(none, recognizer) && word_options_check(recognizer) && lattices_check();
}

bool search_options_read(struct linnet_search_settings *settings, bool optional) {
  const bool greedy = settings->kind == LINNET_SEARCH_GREEDY;
  settings->lattice = lattices_given();
  if (word_options_given())
    settings->kind = LINNET_SEARCH_WORDS;
  else if (greedy && (!optional || search_options_given()))
    settings->kind = LINNET_SEARCH_SYMBOLS;
  beam_options_read(settings);
  if (settings->kind == LINNET_SEARCH_WORDS)
    word_options_read(settings);
  return word_options_fit(settings->kind == LINNET_SEARCH_WORDS);
}

/* --- a recognizer with these options ------------------------------------------------------------------------------ */

static int phones_option;

struct poptOption recognizer_options_table[] = {
    {"phones", 0, POPT_ARG_NONE, &phones_option, 0,
     "recognise phones with the model of a recognizer (default: what the recognizer says)", NULL},
    POPT_TABLEEND};

/* Whether the options ask for words, or for other results of a recognizer. */
static bool takes_recognizer(const char *path) {
  return !phones_option && tool_names_recognizer(path);
}

bool recognizer_options_check(const char *path) {
  if (phones_option && word_options_given()) {
    tool_usage("only one of --phones and --words");
    return false;
  }
  return search_options_check(true, takes_recognizer(path));
}

bool recognizer_options_read(struct recognizer_options *options, struct linnet_context *context, const char *path) {
  linnet_search_settings_default(&options->search);
  if (!tool_load_settings(context, path, &options->file, &options->settings))
    return false;
  if (takes_recognizer(path))
    linnet_recognizer_file_search_settings(options->file, &options->search);
  options->settings.search = &options->search;
  return search_options_read(&options->search, true);
}

void recognizer_options_release(struct recognizer_options *options) {
  linnet_recognizer_file_destroy(options->file);
}
