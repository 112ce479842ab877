/* What functions that take settings share: structures that may have grown since the program was built, and sources. */
#ifndef LINNET_SETTINGS_H
#define LINNET_SETTINGS_H

#include <linnet/source.h>

#include "base/base.h"

/* Copies settings of the caller, which begin with their size, over the defaults in `full` (bytes); NULL: none. Of a
 * structure with fewer members than today's, the others keep their defaults. `object` names the function that fills
 * them, such as "linnet_search", for messages. */
enum linnet_status linnet_settings_read(struct linnet_context *context, const char *object, void *full, size_t bytes,
                                        const void *given);

/* Prefixes the sentence of a failure with the setting or file that it is about; returns `status`. */
enum linnet_status linnet_fail_setting(struct linnet_context *context, const char *setting, enum linnet_status status);

/* Whether there is a file or memory. */
static inline bool linnet_source_given(const struct linnet_source *source) {
  return source->path || source->data;
}

/* What messages call it. */
static inline const char *linnet_source_name(const struct linnet_source *source) {
  return source->path ? source->path : "memory";
}

#endif
