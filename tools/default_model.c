#include "default_model.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

#define MODEL_NAME "english-phonemes.safetensors"

enum { PATH_BYTES = 4096 };

/* The model beside the program: PREFIX/bin/linnet has PREFIX/share/linnet/models, wherever it was installed. So has the
 * program in a build folder, through a link to the sources. */
static bool beside_program(char path[PATH_BYTES]) {
  static const char relative[] = "/../share/linnet/models/" MODEL_NAME;
  ssize_t length = readlink("/proc/self/exe", path, PATH_BYTES - sizeof relative);
  if (length <= 0 || (size_t)length >= PATH_BYTES - sizeof relative)
    return false;
  path[length] = '\0';
  char *slash = strrchr(path, '/');
  if (!slash)
    return false;
  strcpy(slash, relative);
  return access(path, R_OK) == 0;
}

char *tool_find_model(const char *named) {
  static const char configured[] = LINNET_MODEL_DIR "/" MODEL_NAME;
  const char *model = named ? named : getenv("LINNET_MODEL");
  char path[PATH_BYTES];
  if (model && *model)
    return strdup(model);
  if (beside_program(path))
    return strdup(path);
  if (access(configured, R_OK) == 0)
    return strdup(configured);
  tool_fail("no model: name one with --model FILE or in $LINNET_MODEL (the shipped one is not at %s)", configured);
  return NULL;
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
