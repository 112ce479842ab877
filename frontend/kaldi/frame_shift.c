/* Reads and writes the text file that holds the frame shift of an archive. */
#include "frontend/kaldi/kaldi_value.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "base/file.h"

enum { MAX_BYTES = 64 };

/* To be freed. */
static enum linnet_status name_file(struct linnet_context *context, const char *ark_path, char **name) {
  static const char extension[] = ".frame_shift";
  size_t length = strlen(ark_path);
  *name = linnet_alloc(context, length + sizeof extension, 1);
  if (!*name)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory", ark_path);
  memcpy(*name, ark_path, length);
  memcpy(*name + length, extension, sizeof extension);
  return LINNET_OK;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static enum linnet_status fail_content(struct linnet_context *context, const char *name) {
  return linnet_fail(context, LINNET_ERROR_FORMAT,
                     "%s: must hold only the seconds from one row to the next, such as 0.01", name);
}

static enum linnet_status parse(struct linnet_context *context, const char *name, const char *text, double *seconds) {
  struct linnet_c_locale locale;
  char *end;
  if (!linnet_c_locale_enter(&locale))
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for a locale", name);
  double value = strtod(text, &end);
  linnet_c_locale_leave(&locale);
  if (end == text || end[strspn(end, " \t\r\n")] || !(value > 0) || !isfinite(value))
    return fail_content(context, name);
  *seconds = value;
  return LINNET_OK;
}

static enum linnet_status read_file(struct linnet_context *context, const char *name, double *seconds) {
  char text[MAX_BYTES + 1] = "";
  void *data;
  size_t bytes;
  *seconds = 0;
  if (access(name, F_OK) != 0)
    return LINNET_OK;
  const enum linnet_status status = linnet_file_read(context, name, MAX_BYTES, &data, &bytes);
  if (status != LINNET_OK)
    return status == LINNET_ERROR_LIMIT ? fail_content(context, name) : status;
  memcpy(text, data, bytes);
  linnet_free(context, data);
  return parse(context, name, text, seconds);
}

enum linnet_status linnet_frame_shift_read(struct linnet_context *context, const char *ark_path, double *seconds) {
  char *name;
  LINNET_TRY(name_file(context, ark_path, &name));
  enum linnet_status status = read_file(context, name, seconds);
  linnet_free(context, name);
  return status;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static enum linnet_status prepare(struct linnet_context *context, const char *name, double seconds,
                                  struct linnet_output_file *output) {
  char text[MAX_BYTES];
  if (linnet_format(text, sizeof text, "%.15g\n", seconds) < 0)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for a locale", name);
  LINNET_TRY(linnet_output_file_open(context, name, output));
  fputs(text, output->stream); /* a failure shows in the flush */
  int error = linnet_destination_flush(output->stream, false);
  if (error == 0)
    return LINNET_OK;
  linnet_output_file_abandon(output);
  return linnet_fail(context, LINNET_ERROR_IO, "%s: cannot write: %s", name, strerror(error));
}

enum linnet_status linnet_frame_shift_prepare(struct linnet_context *context, const char *ark_path, double seconds,
                                              struct linnet_output_file *output) {
  char *name;
  LINNET_TRY(name_file(context, ark_path, &name));
  enum linnet_status status = prepare(context, name, seconds, output);
  linnet_free(context, name);
  return status;
}

enum linnet_status linnet_frame_shift_remove(struct linnet_context *context, const char *ark_path) {
  char *name;
  enum linnet_status status = LINNET_OK;
  LINNET_TRY(name_file(context, ark_path, &name));
  if (remove(name) != 0 && errno != ENOENT)
    status = linnet_fail(context, LINNET_ERROR_IO, "%s: cannot remove this file of an older archive: %s", name,
                         strerror(errno));
  linnet_free(context, name);
  return status;
}
