/* An aligner for the symbols of a recognizer, with the pronunciations that the recognizer's folder names. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/destination.h"
#include "base/file.h"
#include "base/settings.h"
#include "decoder/search_parts.h"
#include "recognizer/recognizer_parts.h"

enum { RECOGNIZER, LEXICON, G2P, RULES, NUM_FILES };

/* The settings of the recognizer, and paths of files. */
struct aligner_files {
  struct linnet_recognizer_file *recognizer; /* NULL: there are none */
  char folder[LINNET_PATH_BYTES];            /* of the lexicon, or else of the recognizer */
  char paths[NUM_FILES][LINNET_PATH_BYTES];
};

/* Sets *found to a file of the folder (`path`), if the file exists, else to NULL. */
static enum linnet_status find_file(struct linnet_context *context, const char *folder, const char *name, char *path,
                                    const char **found) {
  if (snprintf(path, LINNET_PATH_BYTES, "%s/%s", folder, name) >= LINNET_PATH_BYTES)
    return linnet_fail(context, LINNET_ERROR_IO, "%s: the path is too long", folder);
  *found = access(path, F_OK) == 0 ? path : NULL;
  return LINNET_OK;
}

/* Finds the settings of the recognizer at `path`, NULL if it is a folder without them, and its folder. */
static enum linnet_status find_recognizer(struct linnet_context *context, const char *path, struct aligner_files *files,
                                          const char **settings) {
  struct stat found;
  if (strlen(path) >= LINNET_PATH_BYTES)
    return linnet_fail(context, LINNET_ERROR_IO, "%s: the path is too long", path);
  if (stat(path, &found) != 0)
    return linnet_fail_errno(context, path, errno);
  *settings = path;
  if (!S_ISDIR(found.st_mode)) {
    linnet_destination_folder(path, files->folder);
    return LINNET_OK;
  }
  snprintf(files->folder, sizeof files->folder, "%s", path);
  return find_file(context, path, "recognizer.json", files->paths[RECOGNIZER], settings);
}

/* Reads which lexicon and g2p the recognizer names, NULL for none. The folder becomes that of the lexicon. */
static enum linnet_status read_recognizer(struct linnet_context *context, const char *path, struct aligner_files *files,
                                          const char **lexicon, const char **g2p) {
  struct linnet_search_settings search;
  const char *settings = NULL;
  *lexicon = *g2p = NULL;
  LINNET_TRY(find_recognizer(context, path, files, &settings));
  if (!settings)
    return LINNET_OK;
  LINNET_TRY(linnet_recognizer_file_load(context, settings, &files->recognizer));
  linnet_recognizer_file_search_settings(files->recognizer, &search);
  *lexicon = search.lexicon.path;
  *g2p = search.g2p.path;
  if (!*lexicon)
    return LINNET_OK;
  if (strlen(*lexicon) >= LINNET_PATH_BYTES)
    return linnet_fail(context, LINNET_ERROR_IO, "%s: the path of its lexicon is too long", settings);
  linnet_destination_folder(*lexicon, files->folder);
  return LINNET_OK;
}

static enum linnet_status find_pronunciations(struct linnet_context *context, const char *path,
                                              struct aligner_files *files, const char **lexicon, const char **g2p) {
  if (!*lexicon)
    LINNET_TRY(find_file(context, files->folder, "lexicon.txt", files->paths[LEXICON], lexicon));
  if (!*g2p)
    LINNET_TRY(find_file(context, files->folder, "g2p.bin", files->paths[G2P], g2p));
  if (*lexicon || *g2p)
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                     "%s: no pronunciations: there is no recognizer.json that names a lexicon, no lexicon.txt and no "
                     "g2p.bin; name a lexicon or a g2p in the settings, or give no folder if all texts are phones",
                     path);
}

/* Fills what the settings do not name. */
static enum linnet_status find_files(struct linnet_context *context, const char *path, struct aligner_files *files,
                                     struct linnet_text_aligner_settings *settings) {
  const char *lexicon, *g2p;
  LINNET_TRY(read_recognizer(context, path, files, &lexicon, &g2p));
  if (!linnet_source_given(&settings->lexicon) && !linnet_source_given(&settings->g2p)) {
    LINNET_TRY(find_pronunciations(context, path, files, &lexicon, &g2p));
    settings->lexicon.path = lexicon;
    settings->g2p.path = g2p;
  }
  if (linnet_source_given(&settings->rules))
    return LINNET_OK;
  return find_file(context, files->folder, "text.rules", files->paths[RULES], &settings->rules.path);
}

enum linnet_status linnet_recognizer_load_aligner(struct linnet_context *context,
                                                  const struct linnet_recognizer *recognizer, const char *path,
                                                  const struct linnet_text_aligner_settings *settings,
                                                  struct linnet_text_aligner **aligner) {
  struct linnet_text_aligner_settings full;
  if (aligner)
    *aligner = NULL;
  if (!context || !recognizer || !aligner)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_recognizer_load_aligner: an argument is NULL");
  LINNET_TRY(LINNET_READ_SETTINGS(context, text_aligner, settings, &full));
  full.emission_delay = (float)recognizer->search->emission_delay;
  struct aligner_files *files = linnet_calloc(context, 1, sizeof *files);
  if (!files)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the paths of an aligner");
  enum linnet_status status = path ? find_files(context, path, files, &full) : LINNET_OK;
  if (status == LINNET_OK)
    status = linnet_text_aligner_create(context, linnet_model_symbols(recognizer->model),
                                        linnet_model_num_symbols(recognizer->model), &full, aligner);
  linnet_recognizer_file_destroy(files->recognizer);
  linnet_free(context, files);
  return status;
}
