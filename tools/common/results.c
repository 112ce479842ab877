/* Opens the outputs of a command and writes each result to its file. */
#include "results.h"
#include "base/numbers.h"
#include "base/utf8.h"

#include <linnet/output.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_keys.h"
#include "lattices.h"
#include "search_options.h"
#include "separate.h"

static char *format_name = "text", *output_path, *output_folder;
static const char *folder_option = "output-dir"; /* which named the folder */
static int resume;

static struct poptOption options[] = {
    {"format", 'f', POPT_ARG_STRING, &format_name, 0, NULL, "FORMAT"},
    {"output", 'o', TOOL_OUTPUT_FOLDER | TOOL_RESULTS, &output_path, 0,
     "where to write results (default: standard output); means the same as --output-dir if it is an existing folder, "
     "if it ends in '/', or if there are several inputs and the format holds one recording per file",
     "FILE"},
    {"output-dir", 0, POPT_ARG_STRING, &output_folder, 0,
     "write one file per input, DIR/NAME.txt (.json, ...), and make DIR if it is missing; NAME is the input's name or "
     "relative path (default: all results go to --output)",
     "DIR"},
    {"resume", 0, POPT_ARG_NONE, &resume, 0,
     "continue an interrupted run with the same options: skip inputs that have a result (default: process all inputs)",
     NULL},
    POPT_TABLEEND};

struct poptOption *results_options(void) {
  options[0].descrip = format_help(true, "recording");
  return options;
}

static bool find_format(struct results *results) {
  results->format = linnet_output_format_find(format_name);
  if (results->format)
    return true;
  tool_fail("--format %s: must be one of %s", format_name, format_names(true));
  return false;
}

bool results_take_alternatives(void) {
  const struct linnet_output_format *format = linnet_output_format_find(format_name);
  if (!format || linnet_output_format_has_alternatives(format))
    return true;
  tool_usage("--format %s writes the best hypothesis only: omit --nbest, or choose text or json", format_name);
  return false;
}

bool results_check_standard(void) {
  return output_path || output_folder || separate_check_default("output");
}

bool results_are_lines(bool *json) {
  *json = strcmp(format_name, "json") == 0;
  if (output_path || output_folder || resume)
    tool_usage("live results go to standard output: omit %s", output_path     ? "--output"
                                                              : output_folder ? "--output-dir"
                                                                              : "--resume");
  else if (!*json && strcmp(format_name, "text") != 0)
    tool_usage("--format %s: live results are written as text or json", format_name);
  else
    return true;
  return false;
}

/* --- a file per input --------------------------------------------------------------------------------------------- */

/* Text and JSON name a file by its path. */
static bool names_by_id(void) {
  return strcmp(format_name, "text") != 0 && strcmp(format_name, "json") != 0;
}

static int compare(const void *a, const void *b) {
  const char *x = *(const char *const *)a, *y = *(const char *const *)b;
  while (*x && key_character(*x) == key_character(*y))
    x++, y++;
  return key_character(*x) - key_character(*y);
}

bool results_check_ids(const struct inputs *inputs, const char *what) {
  const char **ids = calloc(inputs->count + 1, sizeof *ids);
  bool good = ids != NULL;
  for (size_t i = 0; good && i < inputs->count; i++)
    ids[i] = inputs_id(inputs, i);
  if (good)
    qsort(ids, inputs->count, sizeof *ids, compare);
  else
    tool_fail("out of memory for the names of %zu inputs", inputs->count);
  for (size_t i = 1; good && i < inputs->count; i++)
    if (!(good = compare(&ids[i - 1], &ids[i]) != 0))
      tool_fail("two inputs have the name '%s', so %s cannot distinguish their results: process them separately",
                ids[i], what);
  free(ids);
  return good;
}

/* Refuses names that lead out of the folder. The name of a file that was found in a folder contains its path there. */
static bool check_file_names(const struct inputs *inputs) {
  for (size_t i = 0; i < inputs->count; i++) {
    const char *id = inputs_id(inputs, i);
    if (*id == '.' || *id == '\0' || (strchr(id, '/') && !inputs_is_walked(inputs, i))) {
      tool_fail("%s: its result cannot be a file called '%s': rename the input, or use --output FILE",
                inputs_name(inputs, i), id);
      return false;
    }
  }
  return true;
}

static bool is_folder(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* False after printing why, with errno. */
static bool make_folder(const char *path) {
  if (is_folder(path) || mkdir(path, 0777) == 0)
    return true;
  int error = errno;
  if (is_folder(path)) /* another process has made it */
    return true;
  tool_fail("%s: cannot make the folder: %s", path, strerror(error));
  errno = error;
  return false;
}

/* Makes the folders of a path that end behind its first `start` bytes. */
static bool make_folders(char *path, size_t start) {
  for (char *slash = path + start; (slash = strchr(slash, '/')); slash++) {
    *slash = '\0';
    bool good = slash == path || make_folder(path);
    *slash = '/';
    if (!good)
      return false;
  }
  return true;
}

bool results_make_folder(const char *folder) {
  char *path = strdup(folder);
  bool good = path != NULL;
  if (!good)
    tool_fail("%s: out of memory", folder);
  good = good && make_folders(path, 0) && make_folder(path);
  free(path);
  return good;
}

/* Takes an --output that is a folder for --output-dir. */
static void find_folder(void) {
  size_t length = output_path ? strlen(output_path) : 0;
  if (output_folder || length == 0 || (output_path[length - 1] != '/' && !is_folder(output_path)))
    return;
  while (length > 1 && output_path[length - 1] == '/')
    output_path[--length] = '\0';
  output_folder = output_path;
  output_path = NULL;
  folder_option = "output";
}

/* Whether a path ends in the extension of the format. */
static bool names_result(const struct results *results, const char *path) {
  const char *dot = strrchr(path, '.');
  return dot && strcasecmp(dot + 1, linnet_output_format_extension(results->format)) == 0;
}

static bool open_folder(struct results *results) {
  results->folder = output_folder ? output_folder : output_path;
  if (!results->folder || strcmp(results->folder, "-") == 0) {
    tool_usage("--format %s writes one recording per file: name a folder for the %zu files with --output-dir",
               format_name, results->inputs->count);
    return false;
  }
  if (!output_folder && names_result(results, output_path)) {
    tool_usage("--output %s: is one file, but --format %s writes one recording per file: name a folder for the %zu "
               "files with --output-dir",
               output_path, format_name, results->inputs->count);
    return false;
  }
  return check_file_names(results->inputs);
}

/* The path of the result of an input; the caller frees it. */
static char *file_path(const struct results *results, size_t item) {
  const char *id = inputs_id(results->inputs, item), *extension = linnet_output_format_extension(results->format);
  size_t size = strlen(results->folder) + strlen(id) + strlen(extension) + 3;
  char *path = malloc(size);
  if (path)
    snprintf(path, size, "%s/%s.%s", results->folder, id, extension);
  else
    tool_fail("%s: out of memory", id);
  return path;
}

/* Whether no result would replace an input. */
static bool check_files(const struct results *results) {
  bool good = true;
  for (size_t i = 0; good && i < results->inputs->count; i++) {
    char *path = file_path(results, i);
    good = path && separate_check_output(folder_option, path);
    free(path);
  }
  return good;
}

/* False after printing why; *full: other files would fail, too. */
static bool write_file(const struct results *results, size_t item, const char *text, size_t bytes, bool *full) {
  char *path = file_path(results, item);
  struct tool_output output;
  errno = 0;
  bool good = path && make_folders(path, strlen(results->folder) + 1) && tool_output_open(&output, path);
  if (good) {
    fwrite(text, 1, bytes, output.stream);
    good = tool_output_commit(&output);
  }
  *full = !good && (errno == ENOSPC || errno == EDQUOT || errno == EROFS);
  free(path);
  return good;
}

/* --- an earlier run ----------------------------------------------------------------------------------------------- */

/* Marks the inputs whose results the journal has. */
static bool claim_all(struct results *results) {
  const struct inputs *inputs = results->inputs;
  bool good = true;
  for (size_t i = 0; good && i < inputs->count; i++) {
    char *key = journal_key(&results->journal, names_by_id() ? inputs_id(inputs, i) : inputs_name(inputs, i));
    good = key != NULL;
    results->there[i] = good && journal_claim(&results->journal, key, i);
    free(key);
  }
  return good && journal_is_claimed(&results->journal);
}

/* Whether the file holds a single result, perhaps without its name. Such a file is either complete or missing. */
static bool is_whole(const struct results *results) {
  bool bare = inputs_is_bare(results->inputs) && strcmp(format_name, "text") == 0;
  return bare || linnet_output_format_is_single(results->format);
}

/* Whether the names of results tell all inputs apart: JSON has U+FFFD for every byte that is not UTF-8. */
static bool check_names(const struct inputs *inputs) {
  for (size_t i = 0; i < inputs->count && strcmp(format_name, "json") == 0; i++)
    for (const char *s = names_by_id() ? inputs_id(inputs, i) : inputs_name(inputs, i); *s;) {
      const size_t length = linnet_utf8_length(s);
      if (length == 0) {
        tool_fail("--resume: %s: the name is not UTF-8, so JSON cannot tell its result from others: rename the file, "
                  "or choose another --format",
                  inputs_name(inputs, i));
        return false;
      }
      s += length;
    }
  return true;
}

static bool open_journal(struct results *results) {
  const struct inputs *inputs = results->inputs;
  const struct journal_form form = journal_form(format_name, !inputs->folder, beam_options_nbest());
  bool whole = is_whole(results), look = resume && !whole;
  if (resume && whole && access(output_path, F_OK) == 0)
    return results->there[0] = results->complete = true;
  if (look && !check_names(inputs))
    return false;
  results->journalled = journal_open(&results->journal, output_path, &form, look);
  return results->journalled && (!look || claim_all(results));
}

static bool find_files(struct results *results) {
  bool good = true;
  for (size_t i = 0; good && resume && i < results->inputs->count; i++) {
    char *path = file_path(results, i);
    good = path != NULL;
    results->there[i] = good && access(path, F_OK) == 0;
    free(path);
  }
  return good;
}

bool results_skip(struct results *results, size_t item) {
  pthread_mutex_lock(&results->mutex);
  const bool there = results->there[item], skip = there || results->blocked;
  results->skipped += there;
  results->untried += skip && !there;
  pthread_mutex_unlock(&results->mutex);
  if (skip)
    tool_progress_add(&results->progress, 1);
  if (there || !skip)
    tool_note("%s: %s", inputs_name(results->inputs, item), there ? "has a result already" : "started");
  return skip;
}

/* --- one result --------------------------------------------------------------------------------------------------- */

/* Prints why a result has no text. */
static void report_render(const char *id, enum linnet_status status) {
  if (status == LINNET_ERROR_ARGUMENT)
    tool_fail("%s: its words or phones overlap, or their times are not numbers: please report this defect", id);
  else
    tool_fail("%s: out of memory for the result", id); /* the text is written to memory alone */
}

/* A result as text; the caller frees it. NULL after printing why. */
static char *render(const struct results *results, const struct linnet_output *output, size_t *bytes) {
  char *text = NULL;
  FILE *stream = open_memstream(&text, bytes);
  enum linnet_status status = stream ? LINNET_OK : LINNET_ERROR_MEMORY;
  if (status == LINNET_OK && linnet_output_format_is_single(results->format))
    status = linnet_output_begin(results->format, tool_write_piece, stream);
  if (status == LINNET_OK)
    status = linnet_output_write(results->format, output, tool_write_piece, stream);
  if (stream && fclose(stream) != 0 && status == LINNET_OK)
    status = LINNET_ERROR_MEMORY;
  if (status == LINNET_OK)
    return text;
  report_render(output->id, status);
  free(text);
  return NULL;
}

/* Writes a text to its output and frees it. *full: no other result can be written. */
static bool keep(struct results *results, size_t item, char *text, size_t bytes, bool *full) {
  bool good = text != NULL;
  if (results->folder) {
    good = good && write_file(results, item, text, bytes, full);
    free(text);
    return good;
  }
  if (!results->journalled) {
    good = ordered_put(&results->ordered, item, text, bytes) && text && !ferror(results->output.stream);
  } else {
    good = good && journal_put(&results->journal, item, text, bytes);
    free(text);
  }
  *full = !good;
  return good;
}

void results_put(struct results *results, size_t item, const struct linnet_output *output) {
  size_t bytes = 0;
  char *text = NULL;
  if (output) {
    struct linnet_output named = *output;
    named.bare = named.bare || (results->folder && !results->inputs->folder);
    text = render(results, &named, &bytes);
  }
  bool full = false;
  const bool text_given = text != NULL, good = keep(results, item, text, bytes, &full);
  pthread_mutex_lock(&results->mutex);
  results->failures += !good;
  results->done += good;
  results->blocked = results->blocked || (text_given && full);
  results->seconds += good && output ? output->seconds : 0;
  pthread_mutex_unlock(&results->mutex);
  tool_note("%s: %s", inputs_name(results->inputs, item), good ? "finished" : "failed");
  tool_progress_add(&results->progress, 1);
}

/* --- begin and end ------------------------------------------------------------------------------------------------ */

/* False after printing what is wrong with the options. */
static bool check_output(void) {
  if ((output_folder && !*output_folder) || (output_path && !*output_path))
    tool_usage("--%s is empty: name a %s", output_folder ? "output-dir" : "output", output_folder ? "folder" : "file");
  else if (output_folder && output_path)
    tool_usage("only one of --output and --output-dir");
  else if (resume && !output_folder && (!output_path || !journal_possible(output_path)))
    tool_usage("--resume needs --output FILE or --output-dir DIR: %s is no regular file",
               output_path && strcmp(output_path, "-") != 0 ? output_path : "standard output");
  else if (resume && lattices_path())
    tool_usage("only one of --resume and --lattice");
  else
    return true;
  return false;
}

static bool open_output(struct results *results, bool folder) {
  if (folder)
    return find_files(results);
  if (output_path && journal_possible(output_path))
    return open_journal(results);
  return tool_output_open(&results->output, output_path ? output_path : "-");
}

bool results_open(struct results *results, const struct inputs *inputs, const char *label, int *code) {
  *results = (struct results){.inputs = inputs};
  *code = TOOL_USAGE;
  find_folder();
  if (!find_format(results) || !check_output())
    return false;
  bool folder =
      output_folder || (linnet_output_format_is_single(results->format) && inputs->count + inputs->walk.num_failed > 1);
  char what[64];
  snprintf(what, sizeof what, "--format %s%s", format_name, output_folder ? " in --output-dir" : "");
  if ((names_by_id() || folder) && !results_check_ids(inputs, what))
    return false;
  if (folder && !(open_folder(results) && check_files(results) && results_make_folder(results->folder)))
    return false;
  *code = TOOL_FAILURE;
  results->there = calloc(inputs->count + 1, sizeof *results->there);
  if (!results->there || !open_output(results, folder)) {
    if (results->journalled)
      journal_keep(&results->journal);
    free(results->there);
    return false;
  }
  ordered_open(&results->ordered, results->output.stream);
  pthread_mutex_init(&results->mutex, NULL);
  tool_catch_interrupt();
  results->started = tool_clock();
  tool_progress_start(&results->progress, label, "files", (double)inputs->count);
  return true;
}

static int report_interrupt(const struct results *results, size_t kept) {
  const char *advice = lattices_path() ? "" : "; to continue, run the same command with --resume";
  size_t count = results->inputs->count;
  if (results->folder)
    tool_fail("interrupted: %zu of %zu results are in %s%s", kept, count, results->folder, advice);
  else if (results->journalled && (results->done > 0 || results->journal.there))
    tool_fail("interrupted: %zu of %zu results are in %s.partial%s", kept, count, output_path, advice);
  else
    tool_fail("interrupted: %zu of %zu inputs were done", kept, count);
  return TOOL_INTERRUPTED;
}

static int report_failures(const struct results *results) {
  const size_t count = results->inputs->count;
  if (results->untried > 0)
    return tool_fail("%zu of %zu file%s failed, %zu %s not tried", results->failures, count, linnet_plural(count),
                     results->untried, results->untried == 1 ? "was" : "were");
  return tool_fail("%zu of %zu file%s failed", results->failures, count, linnet_plural(count));
}

static int report(const struct results *results, int parallel) {
  size_t count = results->inputs->count;
  double seconds = tool_clock() - results->started;
  if (parallel == TOOL_INTERRUPTED)
    return report_interrupt(results, results->done + results->skipped);
  if (parallel != 0)
    return tool_fail("cannot start threads");
  if (results->blocked && (results->folder || results->journalled))
    tool_fail("stopped: %zu of %zu results are in %s%s%s", results->done + results->skipped, count,
              results->folder ? results->folder : output_path, results->folder ? "" : ".partial",
              lattices_path() ? "" : "; make space, then run the same command with --resume");
  if (results->skipped > 0)
    fprintf(stderr, "skipped %zu of %zu input%s, which have results\n", results->skipped, count, linnet_plural(count));
  if (count > 1 && results->seconds > 0)
    fprintf(stderr, "%zu file%s, %.1f s of audio in %.2f s (real-time factor %.4f)\n", results->done,
            linnet_plural(results->done), results->seconds, seconds, seconds / results->seconds);
  const int folders = inputs_report_folders(results->inputs);
  return results->failures + results->untried > 0 ? report_failures(results) : folders;
}

/* Standard output has its own message at the end. */
static void abandon(struct results *results) {
  if (results->ordered.error != 0 && results->output.path)
    tool_fail("%s: cannot write: %s", results->output.path, strerror(results->ordered.error));
  tool_output_abandon(&results->output);
}

/* The failed inputs have been reported; the other results are worth keeping. Without any, an older file stays. After a
 * full disk, as after an interrupt, --resume goes on. */
static bool close_output(struct results *results, int code) {
  const bool empty = code != TOOL_OK && results->done + results->skipped == 0;
  results->published = code != TOOL_INTERRUPTED && !empty && !results->blocked;
  if (results->folder || results->complete)
    return true;
  if (!results->journalled && !empty)
    return tool_output_commit(&results->output);
  if (!results->journalled)
    abandon(results);
  else if (results->published)
    return journal_commit(&results->journal);
  else
    journal_keep(&results->journal);
  return true;
}

int results_close(struct results *results, int parallel) {
  tool_progress_finish(&results->progress);
  int code = report(results, parallel);
  pthread_mutex_destroy(&results->mutex);
  ordered_close(&results->ordered);
  free(results->there);
  const bool closed = close_output(results, code);
  results->published = results->published && closed;
  return closed ? code : TOOL_FAILURE;
}

/* --- formats ------------------------------------------------------------------------------------------------------ */

const char *format_names(bool single) {
  static char names[256];
  const struct linnet_output_format *format;
  size_t used = 0;
  for (size_t i = 0; (format = linnet_output_format_at(i)) && used < sizeof names; i++)
    if (single || !linnet_output_format_is_single(format))
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "",
                               linnet_output_format_name(format));
  return names;
}

const char *format_help(bool single, const char *item) {
  static char help[512];
  snprintf(help, sizeof help, "%s (default: text, which has no times); json writes one line per %s, with times",
           format_names(single), item);
  return help;
}
