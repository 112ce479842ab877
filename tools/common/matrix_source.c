/* Opens one archive after another and reads their matrices. */
#include "matrix_source.h"

#include <string.h>

#include "tool.h"

static enum linnet_status open_input(struct matrix_source *s) {
  const char *input = s->inputs[s->input];
  s->taken = 0;
  if (strncmp(input, "scp:", 4) == 0)
    return linnet_scp_open(s->context, input + 4, &s->scp);
  return linnet_ark_open(s->context, strncmp(input, "ark:", 4) == 0 ? input + 4 : input, &s->ark);
}

void matrix_source_close(struct matrix_source *s) {
  linnet_ark_destroy(s->ark);
  linnet_scp_destroy(s->scp);
  s->ark = NULL;
  s->scp = NULL;
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
      status = take(s, key, matrix);
    s->taken += status == LINNET_OK;
    if (status != LINNET_END)
      return status;
    if (s->taken == 0)
      tool_warn("%s: has no utterances", s->inputs[s->input]);
    matrix_source_close(s);
  }
  return LINNET_END;
}

enum linnet_status matrix_source_frame_shift(const struct matrix_source *s, double *seconds) {
  return s->ark ? linnet_ark_frame_shift(s->ark, seconds)
                : linnet_scp_frame_shift(s->scp, s->context, s->taken - 1, seconds);
}
