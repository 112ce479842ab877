/* linnet listen: words or phones while somebody speaks, from a microphone or a pipe. */

#include "common/default_model.h"
#include "common/inputs.h"
#include "common/live.h"
#include "common/microphone.h"
#include "common/search_options.h"

#include <stdlib.h>
#include <string.h>

static char *model_option, *format_option = "text", *microphone_option;
static struct raw_options raw_option = RAW_DEFAULTS;
static int list_option;

/* Options as they were called before; the help does not show them. */
static struct poptOption former_names[] = {
    {"device", 0, POPT_ARG_STRING | POPT_ARGFLAG_DOC_HIDDEN, &microphone_option, 0, NULL, NULL},
    {"list-devices", 0, POPT_ARG_NONE | POPT_ARGFLAG_DOC_HIDDEN, &list_option, 0, NULL, NULL},
    {"rate", 0, POPT_ARG_DOUBLE | POPT_ARGFLAG_DOC_HIDDEN, &raw_option.rate, 0, NULL, NULL},
    {"channels", 0, POPT_ARG_INT | POPT_ARGFLAG_DOC_HIDDEN, &raw_option.channels, 0, NULL, NULL},
    POPT_TABLEEND};

static int listen_to_microphone(struct live *live) {
  struct linnet_audio *audio = NULL;
  struct microphone *microphone = microphone_open(live->reading, microphone_option, live_rate(live), &audio);
  live->microphone = microphone;
  int code = microphone ? live_run(live, audio, "the microphone", false) : TOOL_FAILURE;
  if (code == TOOL_OK) /* not interrupted */
    code = tool_fail("the microphone no longer records: it was removed, or its sound server ended");
  microphone_close(microphone);
  return code;
}

static int listen_to_pipe(struct live *live) {
  struct linnet_audio_settings settings;
  struct linnet_audio *audio = NULL;
  linnet_audio_settings_default(&settings);
  settings.sample_rate = live_rate(live);
  raw_options_read(&raw_option, &settings);
  const int code = linnet_audio_open(live->reading, "-", &settings, &audio) == LINNET_OK
                       ? live_run(live, audio, "standard input", false)
                       : tool_fail_context(live->reading);
  linnet_audio_destroy(audio);
  return code;
}

static int run(const char *path, bool pipe) {
  struct live live = {.json = strcmp(format_option, "json") == 0, .speed = 1};
  int code = live_open(&live, path);
  if (code == TOOL_OK)
    code = pipe ? listen_to_pipe(&live) : listen_to_microphone(&live);
  live_close(&live);
  return code;
}

/* False after printing what is wrong. */
static bool check_options(const char *const *arguments, bool pipe) {
  if (strcmp(format_option, "text") != 0 && strcmp(format_option, "json") != 0)
    tool_usage("--format %s: must be text or json", format_option);
  else if (pipe && strcmp(arguments[0], "-") != 0)
    tool_usage("%s: listen reads a microphone, or with '-' a pipe; for a file use linnet transcribe --live",
               arguments[0]);
  else if (pipe && !raw_option.format)
    tool_usage(INPUTS_NEED_RAW, "-");
  else if (!pipe && raw_option.format)
    tool_usage("--raw %s is for a pipe: add '-' to read one, or omit --raw to use a microphone", raw_option.format);
  else if (!pipe && (raw_option.rate != TOOL_NOT_GIVEN || raw_option.channels != TOOL_NO_INTEGER))
    tool_usage("--raw-rate and --raw-channels are for a pipe: omit them; the microphone's samples are converted");
  else if (pipe && microphone_option)
    tool_usage("--microphone %s: but '-' reads a pipe: omit one of them", microphone_option);
  else
    return raw_options_check(&raw_option);
  return false;
}

static int check_and_run(const char **arguments, size_t count) {
  if (list_option)
    return microphone_list();
  if (!check_options(arguments, count > 0))
    return TOOL_USAGE;
  char *path = tool_find_live_recognizer(model_option);
  const int code = !path ? TOOL_FAILURE : recognizer_options_check(path) ? run(path, count > 0) : TOOL_USAGE;
  free(path);
  return code;
}

int tool_listen(int argc, const char **argv) {
  const struct poptOption table[] = {
      {"model", 'm', POPT_ARG_STRING, &model_option, 0,
       "file of a causal model (phones), or folder of a recognizer with one, or its name if it is installed (default: "
       "$LINNET_MODEL, else english-live, if it is installed)",
       "PATH"},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, recognizer_options_table, 0, NULL, NULL},
      {"format", 'f', POPT_ARG_STRING, &format_option, 0,
       "text: one line per pause (default); json: one event per line, also for partial results", "FORMAT"},
      {"microphone", 0, POPT_ARG_STRING, &microphone_option, 0,
       "a number or a part of a name that --list-microphones prints (default: the system's microphone)", "NAME"},
      {"list-microphones", 0, POPT_ARG_NONE, &list_option, 0, "print the microphones and exit (default: listen)", NULL},
      {"raw", 0, POPT_ARG_STRING, &raw_option.format, 0,
       "with '-': format of the samples, " RAW_FORMATS " (default: a microphone)", "FORMAT"},
      RAW_RATE_ROW(raw_option),
      RAW_CHANNELS_ROW(raw_option),
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, former_names, 0, NULL, NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, beam_options_table, 0, "Search (default: as the recognizer says):", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, word_options_table, 0, "Words (default: as the recognizer says):", NULL},
      {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_live_options, 0, "Common options:", NULL},
      POPT_TABLEEND};
  poptContext parsed =
      tool_parse(argc, argv, table, "[OPTIONS] [-]   ('-' is raw audio on standard input)", NULL, NULL);
  size_t count = 0;
  const char **arguments = parsed ? tool_arguments(parsed, "", 1, &count) : NULL;
  const int code = arguments ? check_and_run(arguments, count) : TOOL_USAGE;
  poptFreeContext(parsed);
  return code;
}
