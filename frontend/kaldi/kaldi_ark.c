/* Archives read in sequence, and files of one matrix. */
#include <linnet/kaldi.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "frontend/kaldi/kaldi_value.h"

struct linnet_ark {
  struct linnet_kaldi_input input;
  enum linnet_status status; /* of a read that failed: all later ones fail too */
  bool has_path;             /* the input's name is one */
};

static FILE *open_standard_input(void) {
  int fd = dup(STDIN_FILENO); /* so that closing the archive leaves standard input open */
  FILE *stream = fd < 0 ? NULL : fdopen(fd, "rb");
  if (!stream && fd >= 0)
    close(fd);
  return stream;
}

static enum linnet_status open_stream(struct linnet_context *context, FILE *stream, const char *name,
                                      struct linnet_ark **result) {
  struct linnet_ark *ark = linnet_calloc(context, 1, sizeof *ark);
  if (!ark) {
    if (stream)
      fclose(stream);
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", name);
  }
  enum linnet_status status = linnet_kaldi_input_open(context, stream, name, &ark->input);
  if (status != LINNET_OK) {
    linnet_free(context, ark);
    return status;
  }
  *result = ark;
  return LINNET_OK;
}

enum linnet_status linnet_ark_open(struct linnet_context *context, const char *path, struct linnet_ark **result) {
  if (result)
    *result = NULL;
  if (!context || !path || !result)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_ark_open: an argument is NULL");
  if (strcmp(path, "-") == 0)
    return open_stream(context, open_standard_input(), "standard input", result);
  LINNET_TRY(open_stream(context, fopen(path, "rb"), path, result));
  (*result)->has_path = true;
  return LINNET_OK;
}

enum linnet_status linnet_ark_open_memory(struct linnet_context *context, const void *data, size_t bytes,
                                          const char *name, struct linnet_ark **result) {
  if (result)
    *result = NULL;
  if (!context || (!data && bytes > 0) || !result)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_ark_open_memory: an argument is NULL");
  /* A stream over memory of no bytes cannot be made everywhere. */
  FILE *stream = bytes > 0 ? fmemopen((void *)(uintptr_t)data, bytes, "rb") : fopen("/dev/null", "rb");
  return open_stream(context, stream, name ? name : "archive in memory", result);
}

void linnet_ark_destroy(struct linnet_ark *ark) {
  if (!ark)
    return;
  struct linnet_context *context = ark->input.context;
  linnet_kaldi_input_close(&ark->input);
  linnet_free(context, ark);
}

/* Reads the next key. `ark->status` is then LINNET_OK, LINNET_END or an error. */
static enum linnet_status next_key(struct linnet_ark *ark, const char **key) {
  *key = NULL;
  if (ark->status != LINNET_OK && ark->status != LINNET_END)
    return linnet_fail(ark->input.context, ark->status, "%s: an earlier read failed", ark->input.name);
  if (ark->status == LINNET_OK)
    ark->status = linnet_kaldi_read_key(&ark->input);
  return ark->status;
}

enum linnet_status linnet_ark_next(struct linnet_ark *ark, const char **key, struct linnet_matrix *matrix) {
  if (key)
    *key = NULL;
  if (!ark)
    return LINNET_ERROR_ARGUMENT;
  if (!key || !matrix)
    return linnet_fail(ark->input.context, LINNET_ERROR_ARGUMENT, "linnet_ark_next: an argument is NULL");
  LINNET_TRY(next_key(ark, key));
  ark->status = linnet_kaldi_read_matrix(&ark->input, matrix);
  *key = ark->status == LINNET_OK ? ark->input.key : NULL;
  return ark->status;
}

enum linnet_status linnet_ark_frame_shift(const struct linnet_ark *ark, double *seconds) {
  if (!ark || !seconds)
    return linnet_fail(ark ? ark->input.context : NULL, LINNET_ERROR_ARGUMENT,
                       "linnet_ark_frame_shift: an argument is NULL");
  *seconds = 0;
  return ark->has_path ? linnet_frame_shift_read(ark->input.context, ark->input.name, seconds) : LINNET_OK;
}

enum linnet_status linnet_ark_next_cmvn(struct linnet_ark *ark, const char **key, struct linnet_cmvn *cmvn) {
  if (key)
    *key = NULL;
  if (!ark)
    return LINNET_ERROR_ARGUMENT;
  if (!key || !cmvn)
    return linnet_fail(ark->input.context, LINNET_ERROR_ARGUMENT, "linnet_ark_next_cmvn: an argument is NULL");
  LINNET_TRY(next_key(ark, key));
  ark->status = linnet_kaldi_read_cmvn(&ark->input, cmvn);
  *key = ark->status == LINNET_OK ? ark->input.key : NULL;
  return ark->status;
}

/* --- One matrix ----------------------------------------------------------------------------------------------- */

enum linnet_status linnet_kaldi_open_at(struct linnet_context *context, const char *path, uint64_t offset,
                                        const char *key, struct linnet_kaldi_input *input) {
  LINNET_TRY(linnet_kaldi_input_open(context, fopen(path, "rb"), path, input));
  strncat(input->key, key, LINNET_KALDI_MAX_KEY);
  if (offset == 0 || fseeko(input->stream, (off_t)offset, SEEK_SET) == 0)
    return LINNET_OK;
  linnet_kaldi_input_close(input);
  return linnet_fail(context, LINNET_ERROR_IO, "%s: cannot seek to offset %llu for %s", path,
                     (unsigned long long)offset, key);
}

/* "FILE", or "FILE:OFFSET" if no file has the whole name. */
static enum linnet_status open_location(struct linnet_context *context, const char *location,
                                        struct linnet_kaldi_input *input) {
  uint64_t offset = 0;
  const bool whole = access(location, F_OK) == 0;
  const size_t length = whole ? strlen(location) : linnet_split_offset(location, &offset);
  char *path = linnet_strdup(context, location);
  if (!path)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", location);
  path[length] = '\0';
  enum linnet_status status = linnet_kaldi_open_at(context, path, offset, "", input);
  linnet_free(context, path);
  return status;
}

enum linnet_status linnet_matrix_read(struct linnet_context *context, const char *path, struct linnet_matrix *matrix) {
  if (!context || !path || !matrix)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_matrix_read: an argument is NULL");
  struct linnet_kaldi_input input;
  LINNET_TRY(open_location(context, path, &input));
  enum linnet_status status = linnet_kaldi_read_matrix(&input, matrix);
  linnet_kaldi_input_close(&input);
  return status;
}

enum linnet_status linnet_cmvn_read(struct linnet_context *context, const char *path, struct linnet_cmvn *cmvn) {
  if (!context || !path || !cmvn)
    return linnet_fail(context, LINNET_ERROR_ARGUMENT, "linnet_cmvn_read: an argument is NULL");
  struct linnet_kaldi_input input;
  LINNET_TRY(open_location(context, path, &input));
  enum linnet_status status = linnet_kaldi_read_cmvn(&input, cmvn);
  linnet_kaldi_input_close(&input);
  return status;
}
