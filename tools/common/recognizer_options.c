/* Reads the settings of a recognizer and applies the options of a command to them. */
#include "recognizer_options.h"

#include "default_model.h"
#include "search_options.h"
#include "tool.h"
#include "word_options.h"

static int phones_option;

struct poptOption recognizer_options_table[] = {
    {"phones", 0, POPT_ARG_NONE, &phones_option, 0, "recognise phones with the model of a recognizer", NULL},
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
  struct linnet_recognizer_settings *settings = &options->settings;
  options->file = NULL;
  linnet_recognizer_settings_default(settings);
  linnet_search_settings_default(&options->search);
  settings->model.path = path;
  if (tool_names_recognizer(path)) {
    if (linnet_recognizer_file_load(context, path, &options->file) != LINNET_OK)
      return tool_fail_context(context) == TOOL_OK;
    *settings = *linnet_recognizer_file_settings(options->file);
    if (takes_recognizer(path))
      options->search = *settings->search;
  }
  settings->search = &options->search;
  return search_options_read(&options->search, true);
}

void recognizer_options_release(struct recognizer_options *options) {
  linnet_recognizer_file_destroy(options->file);
}
