#include "base/settings.h"

#include <stdio.h>
#include <string.h>

enum linnet_status linnet_settings_read(struct linnet_context *context, const char *object, void *full, size_t bytes,
                                        const void *given) {
  size_t size = bytes;
  if (given)
    memcpy(&size, given, sizeof size);
  if (size < sizeof size || size > bytes)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "%s: settings of %zu bytes: fill them with %s_settings_default",
                       object, size, object);
  if (given)
    memcpy((char *)full + sizeof size, (const char *)given + sizeof size, size - sizeof size);
  return LINNET_OK;
}

enum linnet_status linnet_fail_setting(struct linnet_context *context, const char *setting, enum linnet_status status) {
  char sentence[1024];
  snprintf(sentence, sizeof sentence, "%s", linnet_context_error(context));
  return linnet_fail(context, status, "%s: %s", setting, sentence);
}
