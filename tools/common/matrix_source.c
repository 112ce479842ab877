/* Opens one archive after another and reads their matrices. */
#include "matrix_source.h"

#include <stdlib.h>
#include <string.h>

#include "tool.h"

/* What follows "KIND:" or "KIND,OPTIONS:"; NULL if the input has another kind. */
static const char *after_kind(const char *input, const char *kind) {
  static const char *const known[] = {"t", "b", "s", "ns", "cs", "ncs", "o", "no", "p", "np", "bg"};
  const char *at = input + strlen(kind);
  if (strncmp(input, kind, strlen(kind)) != 0)
    return NULL;
  while (*at == ',') {
    size_t length = strcspn(++at, ",:"), i = 0;
    while (i < sizeof known / sizeof *known && (strlen(known[i]) != length || strncmp(at, known[i], length) != 0))
      i++;
    if (i == sizeof known / sizeof *known)
      return NULL;
    at += length;
  }
  return *at == ':' ? at + 1 : NULL;
}

/* Whether the name ends with "|", as commands do. */
static bool is_command(const char *name) {
  size_t length = strlen(name);
  while (length > 0 && name[length - 1] == ' ')
    length--;
  return length > 0 && name[length - 1] == '|';
}

const char *matrix_source_file(const char *input, bool *script) {
  const char *name = after_kind(input, "scp");
  *script = name != NULL;
  if (!name)
    name = after_kind(input, "ark");
  return name && !is_command(name) ? name : input;
}

/* Prints the message of a failed call of the library. */
static enum linnet_status report(const struct matrix_source *s, enum linnet_status status) {
  if (status != LINNET_OK && status != LINNET_END)
    tool_fail_context(s->context);
  return status;
}

static enum linnet_status open_command(struct matrix_source *s, const char *name) {
  char descriptor[32], *command = strdup(name);
  if (!s->run_commands) {
    free(command);
    tool_fail("%s: is a command; if you trust it, run it with --run-commands", name);
    return LINNET_ERROR_UNSUPPORTED;
  }
  if (command)
    *strrchr(command, '|') = '\0';
  s->pipe = command ? popen(command, "r") : NULL; /* NOLINT(cert-env33-c): the user wrote it, as for Kaldi's programs */
  free(command);
  if (!s->pipe) {
    tool_fail("%s: cannot be run", name);
    return LINNET_ERROR_IO;
  }
  snprintf(descriptor, sizeof descriptor, "/dev/fd/%d", fileno(s->pipe));
  return report(s, linnet_ark_open(s->context, descriptor, &s->ark));
}

static enum linnet_status open_input(struct matrix_source *s) {
  const char *input = s->inputs[s->input], *name = after_kind(input, "scp");
  s->taken = 0;
  s->frame_shift = -1;
  if (name)
    return report(s, linnet_scp_open(s->context, name, &s->scp));
  name = after_kind(input, "ark");
  if (name && is_command(name))
    return open_command(s, name);
  return report(s, linnet_ark_open(s->context, name ? name : input, &s->ark));
}

/* Returns the exit status of its command, 0 if there is none. */
static int close_input(struct matrix_source *s) {
  linnet_ark_destroy(s->ark);
  linnet_scp_destroy(s->scp);
  s->ark = NULL;
  s->scp = NULL;
  int code = s->pipe ? pclose(s->pipe) : 0;
  s->pipe = NULL;
  return code;
}

void matrix_source_close(struct matrix_source *s) {
  close_input(s); /* its command need not have ended */
}

/* The next matrix of the open input. */
static enum linnet_status take(struct matrix_source *s, const char **key, struct linnet_matrix *matrix) {
  if (s->ark)
    return linnet_ark_next(s->ark, key, matrix);
  if (s->taken == linnet_scp_num_entries(s->scp))
    return LINNET_END;
  *key = linnet_scp_key(s->scp, s->taken);
  return linnet_scp_read(s->scp, s->context, s->taken, matrix);
}

enum linnet_status matrix_source_next(struct matrix_source *s, const char **key, struct linnet_matrix *matrix) {
  for (; s->input < s->count; s->input++) {
    enum linnet_status status = s->ark || s->scp ? LINNET_OK : open_input(s);
    if (status == LINNET_OK)
      status = report(s, take(s, key, matrix));
    s->taken += status == LINNET_OK;
    if (status != LINNET_END)
      return status;
    if (s->taken == 0)
      tool_warn("%s: has no utterances", s->inputs[s->input]);
    if (close_input(s) != 0) {
      tool_fail("%s: the command failed", s->inputs[s->input]);
      return LINNET_ERROR_IO;
    }
  }
  return LINNET_END;
}

/* Entries of a script file may lie in different archives, each of which is opened for its matrix anyway. */
enum linnet_status matrix_source_frame_shift(struct matrix_source *s, double *seconds) {
  *seconds = 0;
  if (s->pipe)
    return LINNET_OK;
  if (s->scp)
    return linnet_scp_frame_shift(s->scp, s->context, s->taken - 1, seconds);
  enum linnet_status status = s->frame_shift < 0 ? linnet_ark_frame_shift(s->ark, &s->frame_shift) : LINNET_OK;
  *seconds = s->frame_shift;
  return status;
}
