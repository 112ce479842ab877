/* linnet validate-data: checks Kaldi data folders, and can remove the faulty lines. */
#include "base/numbers.h"
#include "common/tool.h"
#include "data_lists.h"

static struct { int fix, no_audio, max_faults; } options = {.max_faults = 10};

/* The number of lines without a fault. */
static size_t count_good(const struct data_file *file) {
  size_t count = 0;
  for (size_t i = 0; i < file->count; i++)
    count += !file->lines[i].bad;
  return count;
}

static void print_good(const struct data_lists *lists) {
  const struct data_file *files = lists->files;
  const char *separator = ";";
  const size_t utterances = count_good(data_lists_utterances(lists)), speakers = count_good(&files[DATA_SPK2UTT]);
  printf("%s: good: %zu utterance%s", lists->folder, utterances, linnet_plural(utterances));
  printf(" of %zu speaker%s", speakers, linnet_plural(speakers));
  for (enum data_list list = 0; list < DATA_LISTS; list++)
    if (files[list].path) {
      printf("%s %s", separator, files[list].name);
      separator = ",";
    }
  putchar('\n');
}

/* Checks a folder; with `fix`, removes faulty lines. Returns the number of faults, SIZE_MAX if it cannot be read or
 * fixed. */
static size_t check_once(struct linnet_context *context, const char *folder, bool fix) {
  const struct data_check_settings settings = {.max_faults = (size_t)options.max_faults,
                                               .open_audio = !options.no_audio};
  struct data_lists lists;
  size_t faults = SIZE_MAX;
  tool_note("%s: checking", folder);
  if (data_lists_open(&lists, folder)) {
    faults = data_check(context, &lists, &settings);
    if (faults == 0)
      print_good(&lists);
    else if (fix && !data_fix(&lists))
      faults = SIZE_MAX;
    else if (!fix)
      printf("%s: %zu fault%s\n", lists.folder, faults, linnet_plural(faults));
  }
  data_lists_close(&lists);
  return faults;
}

static int run(struct linnet_context *context, const char **folders, size_t count) {
  int code = TOOL_OK;
  for (size_t i = 0; i < count; i++) {
    size_t faults = check_once(context, folders[i], options.fix);
    if (options.fix && faults > 0 && faults != SIZE_MAX)
      faults = check_once(context, folders[i], false);
    if (faults > 0)
      code = TOOL_FAILURE;
  }
  return code;
}

static int check_options(const char **folders, size_t count) {
  (void)folders, (void)count;
  return options.max_faults < 0 ? tool_usage("--max-faults %d: must be at least 0", options.max_faults) : TOOL_OK;
}

int tool_validate_data(int argc, const char **argv) {
  const struct poptOption table[] = {{"fix", 0, POPT_ARG_NONE, &options.fix, 0,
                                      "remove utterances that a file lacks, sort, write spk2utt; old files go to a new "
                                      "DIR/.backup (default: only report)",
                                      NULL},
                                     {"no-audio", 0, POPT_ARG_NONE, &options.no_audio, 0,
                                      "check that audio files exist, but do not open them (default: open each one)",
                                      NULL},
                                     {"max-faults", 0, POPT_ARG_INT, &options.max_faults, 0,
                                      "print at most N faults of each kind and file (default 10)", "N"},
                                     {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_plain_options, 0, "Common options:", NULL},
                                     POPT_TABLEEND};
  const struct tool_command command = {.options = table,
                                       .usage = "[OPTIONS] DIR...   (Kaldi data folders)",
                                       .needed = "DIR",
                                       .max_arguments = SIZE_MAX,
                                       .check = check_options,
                                       .run = run};
  return tool_run(argc, argv, &command);
}
