/* What functions share whose settings name sources (linnet/source.h). */
#ifndef LINNET_BASE_SOURCE_H
#define LINNET_BASE_SOURCE_H

#include <linnet/source.h>

#include "base/base.h"

/* Whether there is a file or memory. */
static inline bool linnet_source_given(const struct linnet_source *source) {
  return source->path || source->data;
}

/* What messages call it. */
static inline const char *linnet_source_name(const struct linnet_source *source) {
  return source->path ? source->path : "memory";
}

/* Prefixes the sentence of a failure with the setting or file that it is about; returns `status`. */
enum linnet_status linnet_fail_setting(struct linnet_context *context, const char *setting, enum linnet_status status);

#endif
