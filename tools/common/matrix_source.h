/* The matrices of archives and script files, one after another. */
#ifndef LINNET_TOOL_MATRIX_SOURCE_H
#define LINNET_TOOL_MATRIX_SOURCE_H

#include <stdbool.h>
#include <stdio.h>

#include <linnet/kaldi.h>

/* Inputs are named as for Kaldi's programs. Options after "ark" and "scp", such as "ark,t:" for text, have no effect:
 * the form of a matrix is recognised. Start with zeros but for the first four members. */
struct matrix_source {
  struct linnet_context *context; /* of the archives and the matrices */
  const char **inputs;            /* (count) "ark:FILE", "ark:COMMAND |", "scp:FILE", or an archive's name alone */
  size_t count;
  bool run_commands;      /* otherwise an input that is a command is refused */
  size_t input;           /* the current one */
  struct linnet_ark *ark; /* at most one is not NULL: the open input */
  struct linnet_scp *scp;
  FILE *pipe;         /* of its command; NULL: none */
  size_t taken;       /* matrices of it */
  double frame_shift; /* of the open archive, in seconds; negative until it is read */
};

/* The file that an input names, and whether it is a script file; a command and another name are returned as they are.
 */
const char *matrix_source_file(const char *input, bool *script);

/* Reads the next matrix; *key is valid until the next call. LINNET_END after the last one; prints the message
 * of other failures, and a warning for inputs without a matrix. One thread at a time. */
enum linnet_status matrix_source_next(struct matrix_source *source, const char **key, struct linnet_matrix *matrix);

/* The frame shift of the last matrix in seconds, from the file beside its archive; 0: unknown. One thread at a time. */
enum linnet_status matrix_source_frame_shift(struct matrix_source *source, double *seconds);

void matrix_source_close(struct matrix_source *source);

#endif
