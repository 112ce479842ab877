/* Finds the files that a command line names, and compares its outputs with them. */
#include "separate.h"

#include <ctype.h>
#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/destination.h"
#include "inputs.h"
#include "matrix_source.h"
#include "tool.h"

enum { MAX_OUTPUTS = 16 /* options of one command */ };

struct output {
  const char *option, *path;
  const char *beside; /* the ending of a file that the command makes beside `path`; "": the output itself */
  struct linnet_destination place;
  struct stat status;
  bool exists; /* a regular file, which the output would replace */
};

static struct {
  struct output items[MAX_OUTPUTS];
  size_t count;
  struct output folder;    /* one that is a folder, but has to be a file; path NULL: none is */
  const char *standard[2]; /* the first two options that name standard output; NULL: none */
} outputs;

struct identity {
  dev_t device;
  ino_t inode;
};

static struct {
  struct identity *items; /* sorted before a search */
  size_t count, capacity;
  bool sorted;
  struct stat exempt; /* an input that may be replaced, if there is one */
  bool has_exempt;
} inputs;

/* Script files, whose lines name files. */
static struct {
  char **paths;
  size_t count;
} scripts;

static const char frame_shift[] = ".frame_shift", partial[] = ".partial";

/* --- inputs ------------------------------------------------------------------------------------------------------- */

/* The files in a folder that commands read: a data folder's, a recognizer's. Results may lie beside them. */
static const char *const folder_files[] = {"wav.scp", "segments",     "text",     "utt2spk",       "spk2utt",
                                           "phones",  "feats.scp",    "cmvn.scp", "*.safetensors", "recognizer.json",
                                           "*.bin",   "lexicon*.txt", "*.rules",  "*.arpa*",       NULL};
static const char *const feature_files[] = {"wav.scp", "segments", "text", "utt2spk", "spk2utt", "phones", NULL};

/* The path of the file with this ending beside another. False if it is too long. */
static bool name_beside(const char *path, const char *ending, char name[LINNET_PATH_BYTES]) {
  const int length = snprintf(name, LINNET_PATH_BYTES, "%s%s", path, ending);
  return length > 0 && length < LINNET_PATH_BYTES;
}

static void out_of_memory(void) {
  tool_fail("out of memory for the names of files");
  exit(TOOL_FAILURE);
}

static void keep_identity(const struct stat *status) {
  if (inputs.count == inputs.capacity) {
    inputs.capacity = 2 * inputs.capacity + 64;
    struct identity *grown = realloc(inputs.items, inputs.capacity * sizeof *grown);
    if (!grown)
      out_of_memory();
    inputs.items = grown;
  }
  inputs.items[inputs.count++] = (struct identity){status->st_dev, status->st_ino};
  inputs.sorted = false;
}

static void keep_script(const char *path) {
  char **grown = realloc(scripts.paths, (scripts.count + 1) * sizeof *grown);
  char *copy = strdup(path);
  if (!grown || !copy)
    out_of_memory();
  scripts.paths = grown;
  scripts.paths[scripts.count++] = copy;
}

static bool matches(const char *name, const char *const *patterns) {
  while (*patterns && fnmatch(*patterns, name, 0) != 0)
    patterns++;
  return *patterns != NULL;
}

static void add_folder(const char *folder, const char *const *patterns) {
  char path[LINNET_PATH_BYTES];
  struct stat status;
  DIR *stream = opendir(folder);
  for (struct dirent *entry; stream && (entry = readdir(stream));)
    if (matches(entry->d_name, patterns) &&
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path && stat(path, &status) == 0) {
      keep_identity(&status);
      if (fnmatch("*.scp", entry->d_name, 0) == 0)
        keep_script(path);
    }
  if (stream)
    closedir(stream);
}

/* A file, "ark:FILE", "scp:FILE" or "-". An archive has a file beside it. */
static void add_file(const char *path) {
  struct stat status;
  bool script;
  char shift[LINNET_PATH_BYTES];
  const char *file = matrix_source_file(path, &script);
  if (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &status) == 0 : stat(path, &status) == 0)
    keep_identity(&status);
  if (file != path && stat(file, &status) == 0)
    keep_identity(&status);
  if (name_beside(file, frame_shift, shift) && stat(shift, &status) == 0)
    keep_identity(&status);
  if (script)
    keep_script(file);
}

void separate_add_input(const char *path) {
  add_file(path);
  add_folder(path, folder_files);
}

void separate_exempt(const char *path) {
  inputs.has_exempt = stat(path, &inputs.exempt) == 0;
}

static bool are_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int compare(const void *a, const void *b) {
  const struct identity *x = a, *y = b;
  return x->device != y->device ? (x->device > y->device) - (x->device < y->device)
                                : (x->inode > y->inode) - (x->inode < y->inode);
}

static bool is_input(const struct stat *status) {
  const struct identity wanted = {status->st_dev, status->st_ino};
  if (inputs.count == 0 || (inputs.has_exempt && are_same(status, &inputs.exempt)))
    return false;
  if (!inputs.sorted)
    qsort(inputs.items, inputs.count, sizeof *inputs.items, compare);
  inputs.sorted = true;
  return bsearch(&wanted, inputs.items, inputs.count, sizeof *inputs.items, compare) != NULL;
}

/* --- script files ------------------------------------------------------------------------------------------------- */

static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static bool is_file(const struct output *output, const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && are_same(&status, &output->status);
}

/* Whether the output is the file of a script file, which looks for relative paths in its folder and the two above. Only
 * files of the same name are opened: a corpus has many. */
static bool is_same(const struct output *output, const char *folder, const char *path) {
  static const char *const above[] = {"", "../", "../../"};
  char joined[2 * LINNET_PATH_BYTES];
  bool same = false;
  if (strcmp(name_of(output->place.path), name_of(path)) != 0)
    return false;
  for (size_t i = 0; !same && *path != '/' && i < sizeof above / sizeof *above; i++)
    same = snprintf(joined, sizeof joined, "%s/%s%s", folder, above[i], path) < (int)sizeof joined &&
           is_file(output, joined);
  return same || is_file(output, path);
}

/* The same for what is read beside the file, too. */
static bool is_read(const struct output *output, const char *folder, const char *path) {
  char shift[LINNET_PATH_BYTES];
  return is_same(output, folder, path) || (name_beside(path, frame_shift, shift) && is_same(output, folder, shift));
}

/* Whether a line "KEY FILE" or "KEY FILE:OFFSET" names the output. */
static bool line_names(const struct output *output, const char *folder, char *line) {
  char *path = line + strcspn(line, " \t"), *colon;
  path += strspn(path, " \t");
  for (size_t length = strlen(path); length > 0 && isspace((unsigned char)path[length - 1]);)
    path[--length] = '\0';
  if (is_read(output, folder, path))
    return true;
  if ((colon = strrchr(path, ':')))
    *colon = '\0';
  return colon && is_read(output, folder, path);
}

static bool script_names(const struct output *output, const char *script) {
  char *line = NULL, folder[LINNET_PATH_BYTES];
  size_t capacity = 0;
  bool found = false;
  struct stat status; /* a pipe can be read only once */
  FILE *stream = stat(script, &status) == 0 && S_ISREG(status.st_mode) ? fopen(script, "r") : NULL;
  if (stream)
    linnet_destination_folder(script, folder);
  while (stream && !found && getline(&line, &capacity, stream) > 0)
    found = line_names(output, folder, line);
  free(line);
  if (stream)
    fclose(stream);
  return found;
}

/* --- outputs ------------------------------------------------------------------------------------------------------ */

static bool find_output(struct output *output, const char *option, const char *path, const char *beside) {
  char name[LINNET_PATH_BYTES];
  *output = (struct output){.option = option, .path = path, .beside = beside};
  if (strcmp(path, "-") == 0 || !name_beside(path, beside, name) || !linnet_destination_find(name, &output->place) ||
      output->place.direct)
    return false;
  output->exists = stat(name, &output->status) == 0 && S_ISREG(output->status.st_mode);
  return true;
}

bool separate_is_standard(const char *path) {
  struct linnet_destination place;
  return strcmp(path, "-") == 0 ||
         (linnet_destination_find(path, &place) && place.direct && place.descriptor == STDOUT_FILENO);
}

/* Standard output has one output: several would be mixed. */
static bool take_standard(const char *option) {
  outputs.standard[outputs.standard[0] ? 1 : 0] = option;
  if (outputs.standard[1])
    tool_usage("--%s and --%s both write to standard output: name a file for one of them", outputs.standard[0],
               outputs.standard[1]);
  return !outputs.standard[1];
}

static bool names_folder(const char *path) {
  struct stat status;
  const size_t length = strlen(path);
  return length > 0 && (path[length - 1] == '/' || (stat(path, &status) == 0 && S_ISDIR(status.st_mode)));
}

/* False if there is no such file to compare. */
static bool keep_output(const char *option, const char *path, const char *beside) {
  const bool found = outputs.count < MAX_OUTPUTS && find_output(&outputs.items[outputs.count], option, path, beside);
  outputs.count += found;
  return found;
}

/* `info`: TOOL_OUTPUT and what is added to it. False after printing what is wrong. */
static bool add_output(const char *option, const char *path, unsigned info) {
  const bool folder = names_folder(path);
  if (separate_is_standard(path))
    return take_standard(option);
  if (folder && (info & TOOL_OUTPUT_FOLDER) != TOOL_OUTPUT_FOLDER)
    outputs.folder = (struct output){.option = option, .path = path};
  else if (keep_output(option, path, "") && !folder) {
    if ((info & TOOL_ARCHIVE) == TOOL_ARCHIVE)
      keep_output(option, path, frame_shift);
    if ((info & TOOL_RESULTS) == TOOL_RESULTS)
      keep_output(option, path, partial);
  }
  return true;
}

/* Whether both would be the same file, which need not exist. */
static bool share_place(const struct output *a, const struct output *b) {
  char folder[LINNET_PATH_BYTES];
  struct stat x, y;
  if (strcmp(name_of(a->place.path), name_of(b->place.path)) != 0)
    return false;
  linnet_destination_folder(a->place.path, folder);
  if (stat(folder, &x) != 0)
    return strcmp(a->place.path, b->place.path) == 0;
  linnet_destination_folder(b->place.path, folder);
  return stat(folder, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool refuse_input(const struct output *output) {
  if (*output->beside)
    tool_usage("--%s %s: makes %s%s, too, but this is an input, which it would replace: name another file",
               output->option, output->path, output->path, output->beside);
  else
    tool_usage("--%s %s: is an input, which it would replace: name another file", output->option, output->path);
  return false;
}

/* Whether the output differs from the first `others` outputs. */
static bool check_others(const struct output *output, size_t others) {
  for (size_t i = 0; i < others; i++)
    if (share_place(output, &outputs.items[i])) {
      tool_usage("--%s and --%s both name %s%s: name two files", outputs.items[i].option, output->option, output->path,
                 output->beside);
      return false;
    }
  return true;
}

static bool check_existing(const struct output *output) {
  if (!output->exists)
    return true;
  if (is_input(&output->status))
    return refuse_input(output);
  for (size_t i = 0; i < scripts.count; i++)
    if (script_names(output, scripts.paths[i]))
      return refuse_input(output);
  return true;
}

/* Whether two names differ, and only in digits. */
static bool are_numbered(const char *a, const char *b) {
  const bool differ = strcmp(a, b) != 0;
  for (;; a++, b++) {
    a += strspn(a, "0123456789");
    b += strspn(b, "0123456789");
    if (*a != *b || !*a)
      return differ && *a == *b;
  }
}

/* The value of an option may be a word by itself: then the next word of the command line; NULL: none. */
static const char *next_word(const char *const *words, const char *value) {
  for (size_t i = 1; words[0] && words[i]; i++)
    if (words[i - 1][0] == '-' && strcmp(words[i], value) == 0)
      return words[i + 1];
  return NULL;
}

/* The shell replaces "--output *.wav" by "--output 1.wav 2.wav": then the first input becomes the output, and the next
 * word is the second input. The shell does not replace "--output=*.wav". */
static bool check_pattern(const struct output *output, const char *const *words) {
  if (!output->exists || *output->beside)
    return true;
  if (walk_is_audio(output->path)) {
    tool_usage("--%s %s: is an audio file, which it would replace: name another file", output->option, output->path);
    return false;
  }
  const char *next = next_word(words, output->path);
  const bool good = !next || !are_numbered(output->path, next);
  if (!good)
    tool_usage("--%s %s: exists, and the next name, %s, differs only in numbers, as if both came from a pattern: to "
               "replace the file, write --%s=%s",
               output->option, output->path, next, output->option, output->path);
  return good;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

/* False after printing what is wrong with an output. */
static bool add_options(const struct poptOption *table) {
  bool good = true;
  for (const struct poptOption *option = table; good && (option->longName || option->shortName || option->arg);
       option++) {
    const char *value = NULL;
    if ((option->argInfo & POPT_ARG_MASK) == POPT_ARG_INCLUDE_TABLE)
      good = add_options(option->arg);
    else if (option->argInfo & POPT_GROUP_MASK && option->arg)
      value = *(char *const *)option->arg;
    if (value && (option->argInfo & TOOL_OUTPUT) == TOOL_OUTPUT)
      good = add_output(option->longName, value, option->argInfo);
    else if (value)
      separate_add_input(value);
  }
  return good;
}

bool separate_check_again(void) {
  bool good = true;
  for (size_t i = 0; good && i < outputs.count; i++)
    good = check_existing(&outputs.items[i]) && check_others(&outputs.items[i], i);
  return good;
}

bool separate_check(const struct poptOption *table, const char *const *words, const char **arguments, size_t count) {
  if (!add_options(table))
    return false;
  for (size_t i = 0; i < count; i++)
    add_file(arguments[i]);
  if (outputs.folder.path)
    tool_usage("--%s %s: is a folder: name a file in it", outputs.folder.option, outputs.folder.path);
  bool good = !outputs.folder.path && separate_check_again();
  for (size_t i = 0; good && i < outputs.count; i++)
    good = check_pattern(&outputs.items[i], words);
  return good;
}

bool separate_check_streams(const char *const *arguments, size_t count) {
  size_t streams = 0;
  bool script;
  for (size_t i = 0; i < count; i++)
    streams += strcmp(matrix_source_file(arguments[i], &script), "-") == 0;
  if (streams > 1)
    tool_usage("'-' appears %zu times: standard input can be read only once", streams);
  return streams < 2;
}

bool separate_check_default(const char *option) {
  return take_standard(option);
}

bool separate_check_inputs(const char *const *paths, size_t count) {
  for (size_t i = 0; i < count; i++)
    add_file(paths[i]);
  return separate_check_again();
}

bool separate_check_data(const char *folder) {
  add_folder(folder, feature_files);
  return separate_check_again();
}

bool separate_check_output(const char *option, const char *path) {
  struct output output;
  if (names_folder(path)) {
    tool_usage("--%s %s: is a folder, but has to be a file: rename it, or change --%s", option, path, option);
    return false;
  }
  if (!find_output(&output, option, path, ""))
    return true;
  if (output.exists && is_input(&output.status))
    return refuse_input(&output);
  return check_others(&output, outputs.count);
}
