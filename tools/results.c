#include "results.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char *format_name = "text", *output_path = "-";

struct poptOption results_options[] = {
    {"format", 'f', POPT_ARG_STRING, &format_name, 0,
     "text (default), json (a line each, with times), ctm, stm, textgrid, srt, vtt", "FORMAT"},
    {"output", 'o', POPT_ARG_STRING, &output_path, 0,
     "where results go (default: standard output); a folder for several textgrid, srt or vtt", "FILE"},
    POPT_TABLEEND};

static bool find_format(struct results *results) {
  results->format = linnet_output_format_find(format_name);
  if (results->format)
    return true;
  tool_fail("--format %s: not one of text, json, ctm, stm, textgrid, srt, vtt", format_name);
  return false;
}

bool results_take_alternatives(void) {
  const struct linnet_output_format *format = linnet_output_format_find(format_name);
  if (!format || linnet_output_format_has_alternatives(format))
    return true;
  tool_usage("--format %s holds the best hypothesis alone: leave --nbest out, or choose text or json", format_name);
  return false;
}

/* --- a file per input --------------------------------------------------------------------------------------------- */

/* Text and JSON name a file by its path. */
static bool names_by_id(void) {
  return strcmp(format_name, "text") != 0 && strcmp(format_name, "json") != 0;
}

static int compare(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* No two inputs may have one name: results are told apart by it. */
static bool check_ids(const struct inputs *inputs) {
  const char **ids = calloc(inputs->count + 1, sizeof *ids);
  bool good = ids != NULL;
  for (size_t i = 0; good && i < inputs->count; i++)
    ids[i] = inputs_id(inputs, i);
  if (good)
    qsort(ids, inputs->count, sizeof *ids, compare);
  else
    tool_fail("out of memory for the names of %zu inputs", inputs->count);
  for (size_t i = 1; good && i < inputs->count; i++)
    if (!(good = strcmp(ids[i - 1], ids[i]) != 0))
      tool_fail("two inputs are called '%s', so --format %s cannot tell their results apart: process them apart",
                ids[i], format_name);
  free(ids);
  return good;
}

/* No result may lead out of the folder. */
static bool check_file_names(const struct inputs *inputs) {
  for (size_t i = 0; i < inputs->count; i++) {
    const char *id = inputs_id(inputs, i);
    if (strchr(id, '/') || *id == '.') {
      tool_fail("utterance '%s': a file cannot have this name", id);
      return false;
    }
  }
  return true;
}

static bool open_folder(struct results *results) {
  results->folder = output_path;
  if (strcmp(output_path, "-") == 0) {
    tool_usage("--format %s holds one recording per file: name a folder for %zu of them with --output", format_name,
               results->inputs->count);
    return false;
  }
  if (!check_file_names(results->inputs))
    return false;
  if (mkdir(output_path, 0777) == 0 || errno == EEXIST)
    return true;
  tool_fail("%s: cannot make the folder: %s", output_path, strerror(errno));
  return false;
}

static bool write_file(const struct results *results, size_t item, const char *text, size_t bytes) {
  const char *id = inputs_id(results->inputs, item), *extension = linnet_output_format_extension(results->format);
  size_t size = strlen(results->folder) + strlen(id) + strlen(extension) + 3;
  char *path = malloc(size);
  struct tool_output output;
  bool good = path != NULL;
  if (good) {
    snprintf(path, size, "%s/%s.%s", results->folder, id, extension);
    good = tool_output_open(&output, path);
  }
  if (good) {
    fwrite(text, 1, bytes, output.stream);
    good = tool_output_commit(&output);
  }
  free(path);
  return good;
}

/* --- one result --------------------------------------------------------------------------------------------------- */

/* A result as text, to be freed; NULL after printing why. */
static char *render(const struct results *results, const struct linnet_output *output, size_t *bytes) {
  char *text = NULL;
  FILE *stream = open_memstream(&text, bytes);
  bool good = stream != NULL;
  if (good && linnet_output_format_is_single(results->format))
    good = linnet_output_begin(results->format, tool_write_piece, stream) == LINNET_OK;
  if (good)
    good = linnet_output_write(results->format, output, tool_write_piece, stream) == LINNET_OK;
  if (stream)
    good = fclose(stream) == 0 && good;
  if (good)
    return text;
  tool_fail("%s: out of memory for the result", output->id);
  free(text);
  return NULL;
}

void results_put(struct results *results, size_t item, const struct linnet_output *output) {
  size_t bytes = 0;
  char *text = output ? render(results, output, &bytes) : NULL;
  bool good = text != NULL;
  if (good && results->folder) {
    good = write_file(results, item, text, bytes);
    free(text);
    text = NULL;
  }
  good = ordered_put(&results->ordered, item, text, bytes) && good;
  pthread_mutex_lock(&results->mutex);
  results->failures += !good;
  results->seconds += output ? output->seconds : 0;
  tool_progress_add(&results->progress, 1);
  pthread_mutex_unlock(&results->mutex);
}

/* ------------------------------------------------------------------------------------------------------------------ */

bool results_open(struct results *results, const struct inputs *inputs, const char *label, int *code) {
  *results = (struct results){.inputs = inputs};
  *code = TOOL_USAGE;
  if (!find_format(results))
    return false;
  bool folder = linnet_output_format_is_single(results->format) && inputs->count > 1;
  if (names_by_id() && !check_ids(inputs))
    return false;
  if (folder && !open_folder(results))
    return false;
  *code = TOOL_FAILURE;
  if (!folder && !tool_output_open(&results->output, output_path))
    return false;
  ordered_open(&results->ordered, results->output.stream);
  pthread_mutex_init(&results->mutex, NULL);
  tool_catch_interrupt();
  results->started = tool_clock();
  tool_progress_start(&results->progress, label, "files", (double)inputs->count);
  return true;
}

static int report(const struct results *results, int parallel) {
  size_t count = results->inputs->count;
  double seconds = tool_clock() - results->started;
  if (parallel == TOOL_INTERRUPTED)
    return TOOL_INTERRUPTED;
  if (parallel != 0)
    return tool_fail("cannot start threads");
  if (count > 1 && results->seconds > 0)
    fprintf(stderr, "%zu files, %.1f s of audio in %.2f s (real-time factor %.4f)\n", count - results->failures,
            results->seconds, seconds, seconds / results->seconds);
  return results->failures > 0 ? tool_fail("%zu of %zu files failed", results->failures, count) : TOOL_OK;
}

int results_close(struct results *results, int parallel) {
  tool_progress_finish(&results->progress);
  int code = report(results, parallel);
  pthread_mutex_destroy(&results->mutex);
  ordered_close(&results->ordered);
  if (results->folder)
    return code;
  /* What failed was named; the rest is worth keeping. */
  if (code == TOOL_INTERRUPTED)
    tool_output_abandon(&results->output);
  else if (!tool_output_commit(&results->output))
    return TOOL_FAILURE;
  return code;
}
