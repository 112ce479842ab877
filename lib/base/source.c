/* Files, or bytes in memory, as inputs of loaders. */
#include "base/source.h"

#include <stdio.h>

enum linnet_status linnet_fail_setting(struct linnet_context *context, const char *setting, enum linnet_status status) {
  char sentence[1024];
  snprintf(sentence, sizeof sentence, "%s", linnet_context_error(context));
  return linnet_fail(context, status, "%s: %s", setting, sentence);
}
