/* Reads a whole text file, checks it once, and splits it into lines and tokens in place. */
#include "decoder/base/text_file.h"

#include <string.h>

#include "base/c_locale.h"
#include "base/file.h"

static size_t count_lines(const char *from, const char *to) {
  size_t lines = 1;
  while ((from = memchr(from, '\n', (size_t)(to - from))) != NULL) {
    from++;
    lines++;
  }
  return lines;
}

/* A linnet_head_fn. */
static enum linnet_status check_text(struct linnet_context *context, const char *name, const unsigned char *data,
                                     size_t bytes) {
  const void *nul = bytes > 0 ? memchr(data, '\0', bytes) : NULL;
  if (!nul)
    return LINNET_OK;
  return linnet_fail(context, LINNET_ERROR_FORMAT, "%s:%zu: holds a NUL byte; is this a text file?", name,
                     count_lines((const char *)data, nul));
}

enum linnet_status linnet_text_open_memory(struct linnet_context *context, const void *data, size_t bytes,
                                           const char *name, size_t max_bytes, struct linnet_text *text) {
  *text = (struct linnet_text){.context = context, .name = name, .size = bytes};
  if (bytes > max_bytes)
    return linnet_fail(context, LINNET_ERROR_LIMIT, "%s: larger than %zu bytes", name, max_bytes);
  LINNET_TRY(check_text(context, name, data, bytes));
  text->buffer = linnet_alloc(context, bytes + 1, 1);
  if (!text->buffer)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "%s: out of memory for %zu bytes", name, bytes);
  if (bytes > 0)
    memcpy(text->buffer, data, bytes);
  text->buffer[bytes] = '\0';
  bool mark = strncmp(text->buffer, "\xEF\xBB\xBF", 3) == 0;
  text->next = text->buffer + (mark ? 3 : 0);
  return LINNET_OK;
}

enum linnet_status linnet_text_open(struct linnet_context *context, const char *path, size_t max_bytes,
                                    struct linnet_text *text) {
  *text = (struct linnet_text){.context = context, .name = path};
  void *data = NULL;
  size_t bytes = 0;
  LINNET_TRY(linnet_file_read_checked(context, path, max_bytes, check_text, &data, &bytes));
  enum linnet_status status = linnet_text_open_memory(context, data, bytes, path, max_bytes, text);
  linnet_free(context, data);
  return status;
}

static const char separators[] = " \t\r\v\f";

bool linnet_text_next_line(struct linnet_text *text) {
  char *end = text->buffer + text->size;
  do {
    if (text->next >= end)
      return false;
    char *newline = memchr(text->next, '\n', (size_t)(end - text->next));
    if (newline)
      *newline = '\0';
    text->token = text->next + strspn(text->next, separators);
    text->next = newline ? newline + 1 : end;
    text->line++;
  } while (*text->token == '\0');
  return true;
}

char *linnet_text_token(struct linnet_text *text) {
  char *start = text->token + strspn(text->token, separators);
  if (*start == '\0')
    return NULL;
  char *end = start + strcspn(start, separators);
  text->token = *end == '\0' ? end : end + 1;
  *end = '\0';
  return start;
}

void linnet_text_close(struct linnet_text *text) {
  linnet_free(text->context, text->buffer);
  text->buffer = NULL;
}

size_t linnet_strip_stress(const char *phone, size_t length) {
  bool stressed = length > 1 && strchr("012", phone[length - 1]) && linnet_is_letter(phone[length - 2]);
  return stressed ? length - 1 : length;
}
