/* What gives words and phones their labels: symbols, and a lexicon over them. */
#ifndef LINNET_VOCABULARY_H
#define LINNET_VOCABULARY_H

#include <linnet/search.h>

#include "base/base.h"

/* Start with zeros; to be closed also after a failure. */
struct linnet_vocabulary {
  struct linnet_symbols *symbols;
  struct linnet_lexicon *lexicon; /* NULL: phones alone */
};

/* Whether there is a file or memory. */
static inline bool linnet_source_given(const struct linnet_source *source) {
  return source->path || source->data;
}

/* What messages call it. */
static inline const char *linnet_source_name(const struct linnet_source *source) {
  return source->path ? source->path : "memory";
}

/* Copies settings of the caller over the defaults in `full` (bytes): of a structure with fewer members than today's,
 * the others keep their defaults. `what` names the function for messages. */
enum linnet_status linnet_settings_read(struct linnet_context *context, const char *what, void *full, size_t bytes,
                                        const void *given);

/* Prefixes the sentence of a failure with the setting that it is about; returns `status`. */
enum linnet_status linnet_fail_setting(struct linnet_context *context, const char *setting, enum linnet_status status);

/* Symbols called names[0], the blank, to names[count - 1]; `lexicon` may be empty. Stress digits of the lexicon are
 * dropped unless symbols have them. A lexicon without words is LINNET_ERROR_FORMAT. */
enum linnet_status linnet_vocabulary_open(struct linnet_vocabulary *vocabulary, struct linnet_context *context,
                                          const char *const *names, size_t count, const struct linnet_source *lexicon);
void linnet_vocabulary_close(struct linnet_vocabulary *vocabulary);

#endif
