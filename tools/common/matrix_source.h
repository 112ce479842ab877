/* The matrices of archives and script files, one after another. */
#ifndef LINNET_TOOL_MATRIX_SOURCE_H
#define LINNET_TOOL_MATRIX_SOURCE_H

#include <linnet/kaldi.h>

/* Start with zeros but for the first three. */
struct matrix_source {
  struct linnet_context *context; /* of all that is read, and of the matrices */
  const char **inputs;            /* (count) "ark:FILE", "scp:FILE", or an archive's name alone */
  size_t count;
  size_t input;           /* the current one */
  struct linnet_ark *ark; /* either of it, or none: it is not open */
  struct linnet_scp *scp;
  size_t taken; /* matrices of it */
};

/* The next matrix; *key lives until the next call. LINNET_END after the last one; the context has other failures.
 * Inputs without a matrix are warned of. One thread at a time. */
enum linnet_status matrix_source_next(struct matrix_source *source, const char **key, struct linnet_matrix *matrix);

/* Seconds from one row of the last matrix to the next, as they stand beside its archive; 0: they do not. */
enum linnet_status matrix_source_frame_shift(const struct matrix_source *source, double *seconds);

void matrix_source_close(struct matrix_source *source);

#endif
