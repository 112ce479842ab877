/* Settings structures that grow: each begins with `size`, the caller's sizeof of it.
 *
 * A program may be older or newer than the library that it runs with. An older one gives a smaller structure: the
 * members that it lacks have their defaults. A newer one gives a larger structure: bytes that this library does not
 * know must be zero, which means the default of every member that is added later.
 *
 * So new members go to the end, have zero for their default, and begin where the structure ended before, padding
 * included: an older program does not set the bytes of its padding. */
#ifndef LINNET_SETTINGS_H
#define LINNET_SETTINGS_H

#include <linnet/source.h>

#include "base/base.h"

/* Fills *settings, of `size` bytes at the caller's, with `defaults`, of `bytes` here, and sets its size. */
void linnet_settings_fill(void *settings, size_t size, const void *defaults, size_t bytes);

/* Copies *given, unless it is NULL, over *full, which holds `bytes` of defaults. LINNET_ERROR_ARGUMENT, naming the
 * structure, if its size cannot be one, or if what lies behind the members known here is not zero. *full then
 * has the members known here. `context` may be NULL. */
enum linnet_status linnet_settings_read(struct linnet_context *context, const char *name, const void *given, void *full,
                                        size_t bytes);

/* The same over the defaults of struct linnet_<kind>_settings. */
#define LINNET_READ_SETTINGS(context, kind, given, full)                                                               \
  ((linnet_##kind##_settings_default)(full, sizeof *(full)),                                                           \
   linnet_settings_read(context, "struct linnet_" #kind "_settings", given, full, sizeof *(full)))

/* --- sources ------------------------------------------------------------------------------------------------------ */

/* A setting may name a file or memory (linnet/source.h). */

/* Whether there is a file or memory. */
static inline bool linnet_source_given(const struct linnet_source *source) {
  return source->path || source->data;
}

/* What messages call it. */
static inline const char *linnet_source_name(const struct linnet_source *source) {
  return source->path ? source->path : "memory";
}

/* LINNET_ERROR_ARGUMENT with a sentence that names the setting, if its value is not in [low, high]. */
enum linnet_status linnet_setting_check_range(struct linnet_context *context, const char *name, float value, double low,
                                              double high);

/* Prefixes the sentence of a failure with the setting or file that it is about; returns `status`. */
enum linnet_status linnet_fail_setting(struct linnet_context *context, const char *setting, enum linnet_status status);

#endif
