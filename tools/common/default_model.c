#include "default_model.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

#define MODEL_NAME "english-phonemes.safetensors"

enum { PATH_BYTES = 4096 };

/* A file beside the program: PREFIX/bin/linnet has PREFIX/share/linnet/models, wherever it was installed. So has the
 * program in a build folder, through a link to the sources. */
static bool beside_program(const char *name, char path[PATH_BYTES]) {
  static const char relative[] = "/../share/linnet/models/";
  size_t size = PATH_BYTES - sizeof relative - strlen(name);
  ssize_t length = readlink("/proc/self/exe", path, size);
  if (length <= 0 || (size_t)length >= size)
    return false;
  path[length] = '\0';
  char *slash = strrchr(path, '/');
  if (!slash)
    return false;
  strcpy(slash, relative);
  strcat(slash, name);
  return access(path, R_OK) == 0;
}

char *tool_find_shipped(const char *name) {
  char path[PATH_BYTES];
  if (beside_program(name, path))
    return strdup(path);
  int length = snprintf(path, sizeof path, "%s/%s", LINNET_MODEL_DIR, name);
  return length > 0 && (size_t)length < sizeof path && access(path, R_OK) == 0 ? strdup(path) : NULL;
}

char *tool_find_model(const char *named) {
  const char *model = named ? named : getenv("LINNET_MODEL");
  if (model && *model)
    return strdup(model);
  char *shipped = tool_find_shipped(MODEL_NAME);
  if (!shipped)
    tool_fail("no model: name one with --model FILE or in $LINNET_MODEL (the shipped one is not at %s)",
              LINNET_MODEL_DIR "/" MODEL_NAME);
  return shipped;
}

struct linnet_recognizer *tool_greedy_recognizer(struct linnet_context *context, const char *model) {
  struct linnet_recognizer_settings settings;
  struct linnet_recognizer *recognizer = NULL;
  linnet_recognizer_settings_default(&settings);
  settings.model.path = model;
  if (linnet_recognizer_create(context, &settings, &recognizer) != LINNET_OK)
    tool_fail_context(context);
  return recognizer;
}

int tool_with_model(const char *named, const char **arguments, size_t count, tool_model_fn run) {
  if (!arguments)
    return TOOL_USAGE;
  struct linnet_context *context = tool_context();
  char *model = context ? tool_find_model(named) : NULL;
  int code = model ? run(context, model, arguments, count) : TOOL_FAILURE;
  free(model);
  linnet_context_destroy(context);
  return code;
}
