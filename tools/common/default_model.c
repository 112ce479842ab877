/* Finds the model that is installed with the command. */
#include "default_model.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "search_options.h"
#include "separate.h"
#include "tool.h"

#define TRAINED_MODEL "model.safetensors" /* in the folder of a training */
#define SHIPPED_RECOGNIZER "english/recognizer.json"
#define SHIPPED_MODEL "english/phones.safetensors"
#define SHIPPED_LIVE "english-live/recognizer.json"

enum { PATH_BYTES = 4096 };

/* Finds a file relative to the program: PREFIX/bin/linnet uses PREFIX/share/linnet/models, so the installation can be
 * moved. In a build folder a link to the sources has the same effect. */
static bool beside_program(const char *name, char path[PATH_BYTES]) {
  char program[PATH_BYTES];
  ssize_t bytes = readlink("/proc/self/exe", program, sizeof program);
  if (bytes <= 0 || (size_t)bytes >= sizeof program)
    return false;
  while (bytes > 0 && program[bytes - 1] != '/')
    bytes--;
  int length = snprintf(path, PATH_BYTES, "%.*s../share/linnet/models/%s", (int)bytes, program, name);
  return length > 0 && length < PATH_BYTES && access(path, R_OK) == 0;
}

char *tool_find_shipped(const char *name) {
  char path[PATH_BYTES];
  if (beside_program(name, path))
    return strdup(path);
  int length = snprintf(path, sizeof path, "%s/%s", LINNET_MODEL_DIR, name);
  return length > 0 && (size_t)length < sizeof path && access(path, R_OK) == 0 ? strdup(path) : NULL;
}

static bool is_folder(const char *path) {
  struct stat found;
  return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

bool tool_names_recognizer(const char *path) {
  const char *ending = strrchr(path, '.');
  return (ending && strcmp(ending, ".json") == 0) || is_folder(path);
}

/* Whether it is a folder of `linnet train`, which is no recognizer. */
static bool is_experiment(const char *path) {
  char file[PATH_BYTES], model[PATH_BYTES];
  return snprintf(file, sizeof file, "%s/recognizer.json", path) < PATH_BYTES && access(file, F_OK) != 0 &&
         snprintf(model, sizeof model, "%s/" TRAINED_MODEL, path) < PATH_BYTES && access(model, F_OK) == 0;
}

/* The model that the user names, or NULL. */
static const char *given_model(const char *named) {
  const char *given = named ? named : tool_variable("LINNET_MODEL");
  return given && *given ? given : NULL;
}

/* Cuts the name of a file off its path, which becomes "." if it has no folder. */
static char *cut_name(char *path) {
  char *slash = strrchr(path, '/');
  if (slash) {
    *slash = '\0';
    return path;
  }
  free(path);
  return strdup(".");
}

/* The folder of the installed recognizer of this name; NULL: there is none. */
static char *find_installed(const char *name) {
  char path[PATH_BYTES];
  const int length = snprintf(path, sizeof path, "%s/recognizer.json", name);
  char *found = length > 0 && length < PATH_BYTES ? tool_find_shipped(path) : NULL;
  return found ? cut_name(found) : NULL;
}

/* Prints that there is no file of this name, and the names of the recognizers that are installed. */
static void fail_name(const char *prefix, const char *name) {
  char folder[PATH_BYTES], list[1024] = "";
  struct dirent **entries;
  const int count = scandir(beside_program("", folder) ? folder : LINNET_MODEL_DIR, &entries, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    char *found = entries[i]->d_name[0] != '.' ? find_installed(entries[i]->d_name) : NULL;
    const size_t used = strlen(list);
    if (found)
      snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", entries[i]->d_name);
    free(found);
    free(entries[i]);
  }
  if (count >= 0)
    free(entries);
  tool_fail("%s%s: %s, and no model of this name is installed: name the path of one%s%s", prefix, name,
            strerror(ENOENT), *list ? ", or one of those that are installed: " : "", list);
}

char *tool_find_given(const char *prefix, const char *given) {
  if (strchr(given, '/') || access(given, F_OK) == 0 || errno != ENOENT)
    return strdup(given);
  char *installed = find_installed(given);
  if (!installed)
    fail_name(prefix, given);
  return installed;
}

char *tool_find_live_recognizer(const char *named) {
  const char *given = given_model(named);
  if (given)
    return tool_find_given("", given);
  char *path = tool_find_shipped(SHIPPED_LIVE);
  if (!path)
    tool_fail("no model for live audio: name a causal model with --model PATH or in $LINNET_MODEL (there is no %s)",
              LINNET_MODEL_DIR "/" SHIPPED_LIVE);
  return path;
}

/* Whether `path`, or the recognizer.json in this folder, is that file. */
static bool is_file(const char *path, const char *file) {
  char inside[PATH_BYTES];
  struct stat found, wanted;
  const int length = snprintf(inside, sizeof inside, is_folder(path) ? "%s/recognizer.json" : "%s", path);
  return length > 0 && (size_t)length < sizeof inside && stat(inside, &found) == 0 && stat(file, &wanted) == 0 &&
         found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino;
}

/* Whether `path` is the installed recognizer of that name. */
static bool is_shipped(const char *path, const char *name) {
  char *installed = tool_find_shipped(name);
  const bool same = installed && is_file(path, installed);
  free(installed);
  return same;
}

char *tool_find_second_pass(const char *path) {
  return is_shipped(path, SHIPPED_LIVE) ? tool_find_shipped(SHIPPED_RECOGNIZER) : NULL;
}

char *tool_find_first_pass(const char *path) {
  char *live = is_shipped(path, SHIPPED_RECOGNIZER) ? tool_find_shipped(SHIPPED_LIVE) : NULL;
  return live ? live : strdup(path);
}

char *tool_find_recognizer(const char *named) {
  const char *given = given_model(named);
  if (named && !*named) {
    tool_fail("--model: the name is empty: name a recognizer or a model");
    return NULL;
  }
  if (given)
    return tool_find_given("", given);
  char *shipped = tool_find_shipped(SHIPPED_RECOGNIZER);
  if (!shipped)
    shipped = tool_find_shipped(SHIPPED_MODEL);
  if (!shipped)
    tool_fail("the model is missing: name one with --model FILE or in $LINNET_MODEL (there is none at %s)",
              LINNET_MODEL_DIR "/" SHIPPED_MODEL);
  return shipped;
}

/* Copies the paths that the settings of a recognizer name. */
static void read_named_files(struct linnet_context *context, const char *path, struct tool_word_files *files) {
  struct linnet_recognizer_file *file;
  struct linnet_search_settings search;
  if (linnet_recognizer_file_load(context, path, &file) != LINNET_OK)
    return; /* opening the recognizer will report it */
  linnet_recognizer_file_search_settings(file, &search);
  files->recognizer = strdup(path);
  files->lexicon = search.lexicon.path ? strdup(search.lexicon.path) : NULL;
  files->g2p = search.g2p.path ? strdup(search.g2p.path) : NULL;
  linnet_recognizer_file_destroy(file);
}

/* The files of the folder that the recognizer does not name. No output may replace any of these files, because an
 * aligner reads them (linnet_recognizer_load_aligner). */
static void find_other_files(struct tool_word_files *files) {
  const struct {
    const char *name;
    char **found;
  } others[] = {{"lexicon.txt", &files->lexicon}, {"g2p.bin", &files->g2p}, {"text.rules", &files->rules}};
  char path[PATH_BYTES];
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (snprintf(path, sizeof path, "%s/%s", files->folder, others[i].name) < PATH_BYTES) {
      separate_add_input(path);
      if (!*others[i].found && access(path, F_OK) == 0)
        *others[i].found = strdup(path);
    }
}

struct tool_word_files tool_find_word_files(struct linnet_context *context, const char *named) {
  struct tool_word_files files = {0};
  char *path = tool_find_recognizer(named);
  const bool recognizer = path && tool_names_recognizer(path);
  if (path && !recognizer && given_model(named)) {
    free(path);
    return files;
  }
  if (recognizer)
    read_named_files(context, path, &files);
  char *copy = files.lexicon ? strdup(files.lexicon) : NULL;
  files.folder = copy ? cut_name(copy) : !path || is_folder(path) ? path : cut_name(path);
  if (copy)
    free(path);
  if (files.folder)
    find_other_files(&files);
  return files;
}

void tool_free_word_files(struct tool_word_files *files) {
  free(files->recognizer);
  free(files->folder);
  free(files->lexicon);
  free(files->g2p);
  free(files->rules);
}

const char *tool_choose_lexicon(const char *option, const struct tool_word_files *files) {
  if (option)
    return option;
  const char *lexicon = files->lexicon ? NULL : tool_variable("LINNET_LEXICON");
  if (lexicon)
    separate_add_input(lexicon);
  return lexicon;
}

/* --- settings ----------------------------------------------------------------------------------------------------- */

static bool load_settings(struct linnet_context *context, const char *path, struct linnet_recognizer_file **file,
                          struct linnet_recognizer_settings *settings) {
  *file = NULL;
  linnet_recognizer_settings_default(settings);
  settings->model.path = path;
  if (!tool_names_recognizer(path))
    return true;
  if (linnet_recognizer_file_load(context, path, file) != LINNET_OK) {
    if (is_experiment(path))
      tool_fail("%s: has no recognizer.json: name the model of the training, " TRAINED_MODEL " in it", path);
    else
      tool_fail_context(context);
    return false;
  }
  linnet_recognizer_file_settings(*file, settings);
  return true;
}

/* No output may replace the files of a recognizer. `file` NULL: `path` is a model. */
static void add_files(const char *path, const struct linnet_recognizer_file *file,
                      const struct linnet_recognizer_settings *settings) {
  struct linnet_search_settings search;
  char inside[PATH_BYTES];
  linnet_search_settings_default(&search);
  if (file)
    linnet_recognizer_file_search_settings(file, &search);
  if (file && is_folder(path) && snprintf(inside, sizeof inside, "%s/recognizer.json", path) < PATH_BYTES)
    path = inside;
  const char *const paths[] = {path,
                               settings->model.path,
                               settings->ensemble_model.path,
                               search.lexicon.path,
                               search.language_model.path,
                               search.grammar.path,
                               search.hotwords.path,
                               search.g2p.path,
                               search.priors.path};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    if (paths[i])
      separate_add_input(paths[i]);
}

void tool_add_recognizer_inputs(struct linnet_context *context, const char *path) {
  struct linnet_recognizer_file *file;
  struct linnet_recognizer_settings settings;
  if (linnet_recognizer_file_load(context, path, &file) != LINNET_OK)
    return; /* opening the recognizer will report it */
  linnet_recognizer_file_settings(file, &settings);
  add_files(path, file, &settings);
  linnet_recognizer_file_destroy(file);
}

int tool_load_settings(struct linnet_context *context, const char *path, struct linnet_recognizer_file **file,
                       struct linnet_recognizer_settings *settings) {
  if (!load_settings(context, path, file, settings))
    return TOOL_FAILURE;
  add_files(path, *file, settings);
  if (settings->second_pass)
    tool_add_recognizer_inputs(context, settings->second_pass);
  if (tool_check_precision(context) && separate_check_again())
    return TOOL_OK;
  linnet_recognizer_file_destroy(*file);
  *file = NULL;
  return TOOL_USAGE;
}

int tool_fail_recognizer(const struct linnet_context *context, const char *path) {
  if (!tool_names_recognizer(path) || tool_interrupted())
    return tool_fail_context(context);
  return tool_fail("%s%s: %s", path, is_folder(path) ? "/recognizer.json" : "", linnet_context_error(context));
}

char *tool_find_model(struct linnet_context *context, const char *named) {
  struct linnet_recognizer_file *file = NULL;
  struct linnet_recognizer_settings settings;
  char *path = tool_find_recognizer(named);
  char *model = path && load_settings(context, path, &file, &settings) ? strdup(settings.model.path) : NULL;
  linnet_recognizer_file_destroy(file);
  free(path);
  return model;
}

/* `search` (NULL: greedy) with what the recognizer of `file` (may be NULL) says about its model. */
static struct linnet_search_settings adapt_search(const struct linnet_recognizer_file *file,
                                                  const struct linnet_search_settings *search) {
  struct linnet_search_settings adapted, of_file;
  linnet_search_settings_default(&adapted);
  if (search)
    adapted = *search;
  if (file) {
    linnet_recognizer_file_search_settings(file, &of_file);
    adapted.emission_delay = of_file.emission_delay;
    adapted.calibrations = of_file.calibrations;
  }
  return adapted;
}

struct linnet_recognizer *tool_open_recognizer(struct linnet_context *context, const char *path,
                                               const struct linnet_search_settings *search,
                                               struct linnet_calibrations *calibrations, int *code) {
  struct linnet_recognizer_file *file;
  struct linnet_recognizer_settings settings;
  struct linnet_recognizer *recognizer = NULL;
  *code = tool_load_settings(context, path, &file, &settings);
  if (*code != TOOL_OK)
    return NULL;
  const struct linnet_search_settings adapted = adapt_search(file, search);
  settings.search = &adapted;
  settings.endpoint = NULL;
  settings.partial_interval = 0;
  settings.second_pass = NULL;
  if (linnet_recognizer_create(context, &settings, &recognizer) != LINNET_OK)
    *code = search ? search_options_fail(context, path) : tool_fail_recognizer(context, path);
  if (recognizer && calibrations)
    *calibrations =
        adapted.calibrations ? *adapted.calibrations : *linnet_model_calibrations(linnet_recognizer_model(recognizer));
  linnet_recognizer_file_destroy(file);
  return recognizer;
}

double tool_sample_rate(const struct linnet_model *model) {
  struct linnet_feature_config features;
  linnet_model_features(model, &features);
  return features.fbank.sample_rate;
}

int tool_with_recognizer(const char *named, const char **arguments, size_t count, tool_recognizer_fn run) {
  if (!arguments)
    return TOOL_USAGE;
  struct linnet_context *context = tool_context();
  char *path = context ? tool_find_recognizer(named) : NULL;
  int code = path ? run(context, path, arguments, count) : TOOL_FAILURE;
  free(path);
  linnet_context_destroy(context);
  return code;
}
