/* An aligner for the symbols of a recognizer, with the files of its folder. */
#include <stdio.h>
#include <unistd.h>

#include "base/destination.h"
#include "base/settings.h"
#include "decoder/search_parts.h"
#include "recognizer/recognizer_parts.h"

enum { LEXICON, G2P, RULES, NUM_FILES };

/* The paths of the files in a folder. */
struct aligner_files {
  char paths[NUM_FILES][LINNET_PATH_BYTES];
};

/* Sets a source to a file of the folder, if the file exists. */
static enum linnet_status find_file(struct linnet_context *context, const char *folder, const char *name, char *path,
                                    struct linnet_source *source) {
  if (snprintf(path, LINNET_PATH_BYTES, "%s/%s", folder, name) >= LINNET_PATH_BYTES)
    return linnet_fail(context, LINNET_ERROR_IO, "%s: the path is too long", folder);
  if (access(path, F_OK) == 0)
    source->path = path;
  return LINNET_OK;
}

static enum linnet_status find_files(struct linnet_context *context, const char *folder, struct aligner_files *files,
                                     struct linnet_text_aligner_settings *settings) {
  if (!linnet_source_given(&settings->lexicon) && !linnet_source_given(&settings->g2p)) {
    LINNET_TRY(find_file(context, folder, "lexicon.txt", files->paths[LEXICON], &settings->lexicon));
    LINNET_TRY(find_file(context, folder, "g2p.bin", files->paths[G2P], &settings->g2p));
  }
  if (linnet_source_given(&settings->rules))
    return LINNET_OK;
  return find_file(context, folder, "text.rules", files->paths[RULES], &settings->rules);
}

enum linnet_status linnet_recognizer_load_aligner(struct linnet_context *context,
                                                  const struct linnet_recognizer *recognizer, const char *folder,
                                                  const struct linnet_text_aligner_settings *settings,
                                                  struct linnet_text_aligner **aligner) {
  struct linnet_text_aligner_settings full;
  if (aligner)
    *aligner = NULL;
  if (!context || !recognizer || !aligner)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_recognizer_load_aligner: an argument is NULL");
  LINNET_TRY(LINNET_READ_SETTINGS(context, text_aligner, settings, &full));
  full.emission_delay = (float)recognizer->search->emission_delay;
  struct aligner_files *files = linnet_alloc(context, 1, sizeof *files);
  if (!files)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for the paths of an aligner");
  enum linnet_status status = folder ? find_files(context, folder, files, &full) : LINNET_OK;
  if (status == LINNET_OK)
    status = linnet_text_aligner_create(context, linnet_model_symbols(recognizer->model),
                                        linnet_model_num_symbols(recognizer->model), &full, aligner);
  linnet_free(context, files);
  return status;
}
