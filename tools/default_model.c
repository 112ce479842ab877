#include "default_model.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

#define MODEL_NAME "english-phonemes.safetensors"

char *tool_find_model(const char *named) {
  static const char *const shipped[] = {LINNET_MODEL_DIR "/" MODEL_NAME, LINNET_SOURCE_MODEL_DIR "/" MODEL_NAME};
  const char *model = named ? named : getenv("LINNET_MODEL");
  if (model && *model)
    return strdup(model);
  for (size_t i = 0; i < sizeof shipped / sizeof *shipped; i++)
    if (access(shipped[i], R_OK) == 0)
      return strdup(shipped[i]);
  tool_fail("no model: name one with --model FILE or in $LINNET_MODEL (the shipped one is not at %s)", shipped[0]);
  return NULL;
}
