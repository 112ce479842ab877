/* Settings structures of older and newer programs, and the failures that name a setting. */
#include "base/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is larger has not been set by ..._default. */
enum { MAX_UNKNOWN = 4096 };

void linnet_settings_fill(void *settings, size_t size, const void *defaults, size_t bytes) {
  if (!settings || size < sizeof size)
    return;
  memset(settings, 0, size);
  memcpy(settings, defaults, size < bytes ? size : bytes);
  memcpy(settings, &size, sizeof size);
}

static bool is_zero(const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (bytes[i] != 0)
      return false;
  return true;
}

enum linnet_status linnet_settings_read(struct linnet_context *context, const char *name, const void *given, void *full,
                                        size_t bytes) {
  if (!given)
    return LINNET_OK;
  size_t size;
  memcpy(&size, given, sizeof size);
  if (size < sizeof size || size > bytes + MAX_UNKNOWN)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "%s: its size is %zu, but this library's structure has %zu bytes: call its ..._default function "
                       "first, or, if it has none, set its size to sizeof",
                       name, size, bytes);
  memcpy(full, given, size < bytes ? size : bytes);
  memcpy(full, &bytes, sizeof bytes);
  if (size > bytes && !is_zero((const unsigned char *)given + bytes, size - bytes))
    return linnet_fail(context, LINNET_ERROR_ARGUMENT,
                       "%s: its size is %zu bytes, and members after byte %zu are set, which Linnet %s does not know: "
                       "use the library that the program was compiled for",
                       name, size, bytes, linnet_version());
  return LINNET_OK;
}

/* --- sources ------------------------------------------------------------------------------------------------------ */

enum linnet_status linnet_fail_setting(struct linnet_context *context, const char *setting, enum linnet_status status) {
  char sentence[1024];
  snprintf(sentence, sizeof sentence, "%s", linnet_context_error(context));
  return linnet_fail(context, status, "%s: %s", setting, sentence);
}

enum linnet_status linnet_setting_check_range(struct linnet_context *context, const char *name, float value, double low,
                                              double high) {
  if ((double)value >= low && (double)value <= high)
    return LINNET_OK;
  return isinf(high)
             ? linnet_fail(context, LINNET_ERROR_ARGUMENT, "%s is %g; it must be at least %g", name, (double)value, low)
             : linnet_fail(context, LINNET_ERROR_ARGUMENT, "%s is %g; it must be %g to %g", name, (double)value, low,
                           high);
}
