/* Opens what pronounces words: a model of pronunciations, or that of a recognizer with its lexicon. */
#include <stdlib.h>
#include <string.h>

#include "common/default_model.h"
#include "common/separate.h"
#include "g2p_tasks.h"

static int open_model(struct linnet_context *context, const char *path, struct g2p_source *source) {
  return linnet_g2p_load(context, path, &source->g2p) == LINNET_OK ? TOOL_OK : tool_fail_context(context);
}

/* The files of a recognizer. `path` is the one that tool_find_recognizer finds for `named`. */
static int open_files(struct linnet_context *context, const char *path, const struct tool_word_files *files,
                      bool lexicon, struct g2p_source *source) {
  if (tool_names_recognizer(path) && !files->recognizer)
    return tool_fail_recognizer(context, path);
  if (!files->g2p)
    return tool_fail("%s: has no model of pronunciations: name one, or a recognizer that has one, with --model", path);
  separate_add_input(files->g2p);
  if (!separate_check_again())
    return TOOL_USAGE;
  const int code = open_model(context, files->g2p, source);
  if (code != TOOL_OK || !lexicon || !files->lexicon)
    return code;
  source->lexicon = g2p_open_lexicon(context, files->lexicon, g2p_has_stress(source->g2p));
  return source->lexicon ? TOOL_OK : TOOL_FAILURE;
}

int g2p_open_source(struct linnet_context *context, const char *named, bool lexicon, struct g2p_source *source) {
  *source = (struct g2p_source){NULL, NULL};
  char *path = tool_find_recognizer(named);
  if (!path)
    return TOOL_FAILURE;
  int code;
  if (named && !tool_names_recognizer(path)) {
    code = open_model(context, path, source);
  } else {
    struct tool_word_files files = tool_find_word_files(context, named);
    code = open_files(context, path, &files, lexicon, source);
    tool_free_word_files(&files);
  }
  free(path);
  return code;
}

void g2p_close_source(struct g2p_source *source) {
  linnet_g2p_destroy(source->g2p);
  linnet_lexicon_destroy(source->lexicon);
}
