/* The matrices of archives and script files, one after another. */
#ifndef LINNET_TOOL_MATRIX_SOURCE_H
#define LINNET_TOOL_MATRIX_SOURCE_H

#include <linnet/kaldi.h>

/* Start with zeros but for the first three. */
struct matrix_source {
  struct linnet_context *context; /* of the archives and the matrices */
  const char **inputs;            /* (count) "ark:FILE", "scp:FILE", or an archive's name alone */
  size_t count;
  size_t input;           /* the current one */
  struct linnet_ark *ark; /* at most one is not NULL: the open input */
  struct linnet_scp *scp;
  size_t taken; /* matrices of it */
};

/* Reads the next matrix; *key is valid until the next call. LINNET_END after the last one; the context has the message
 * of other failures. Prints a warning for inputs without a matrix. One thread at a time. */
enum linnet_status matrix_source_next(struct matrix_source *source, const char **key, struct linnet_matrix *matrix);

/* The frame shift of the last matrix in seconds, from the file beside its archive; 0: unknown. */
enum linnet_status matrix_source_frame_shift(const struct matrix_source *source, double *seconds);

void matrix_source_close(struct matrix_source *source);

#endif
