/* Text files, whole or line by line. */
#include "decoder/base/text_file.h"

#include <errno.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/file.h"
#include "base/utf8.h"

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
  text->next = text->buffer + linnet_utf8_mark(text->buffer, bytes);
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

enum linnet_status linnet_text_open_source(struct linnet_context *context, const struct linnet_source *source,
                                           const char *name, size_t max_bytes, struct linnet_text *text) {
  if (source->path && !source->data)
    return linnet_text_open(context, source->path, max_bytes, text);
  return linnet_text_open_memory(context, source->data, source->bytes, name, max_bytes, text);
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

/* --- line by line: bytes ------------------------------------------------------------------------------------------ */

/* Reads up to `capacity` bytes without decompression; *bytes is 0 at the end. Memory of 0 bytes may be NULL. */
static enum linnet_status read_raw(struct linnet_lines *l, void *buffer, size_t capacity, size_t *bytes) {
  if (!l->file) {
    *bytes = l->left < capacity ? l->left : capacity;
    if (*bytes == 0)
      return LINNET_OK;
    memcpy(buffer, l->memory, *bytes);
    l->memory += *bytes;
    l->left -= *bytes;
    return LINNET_OK;
  }
  *bytes = fread(buffer, 1, capacity, l->file);
  if (*bytes == 0 && ferror(l->file))
    return linnet_fail_errno(l->context, l->name, errno);
  return LINNET_OK;
}

/* Gives zlib compressed bytes: first those that start() read to recognise gzip, because `buffer` holds decompressed
 * text by now. */
static enum linnet_status pull_piece(void *user, const unsigned char **data, size_t *bytes) {
  struct linnet_lines *l = user;
  *data = l->piece;
  if (l->pieced > 0) {
    *bytes = l->pieced;
    l->pieced = 0;
    return LINNET_OK;
  }
  return read_raw(l, l->piece, LINNET_LINE_BYTES, bytes);
}

/* --- line by line: opening ---------------------------------------------------------------------------------------- */

static enum linnet_status out_of_memory(const struct linnet_lines *l) {
  return linnet_fail(l->context, LINNET_ERROR_MEMORY, "%s: out of memory for reading lines", l->name);
}

/* Reads the beginning: recognises gzip by its first two bytes, and skips a byte order mark. */
static enum linnet_status start(struct linnet_lines *l) {
  l->buffer = linnet_alloc(l->context, LINNET_LINE_BYTES + 1, 1);
  if (!l->buffer)
    return out_of_memory(l);
  LINNET_TRY(read_raw(l, l->buffer, LINNET_LINE_BYTES, &l->end));
  if (l->end >= 2 && memcmp(l->buffer, "\x1F\x8B", 2) == 0) {
    l->piece = linnet_alloc(l->context, LINNET_LINE_BYTES, 1);
    if (!l->piece)
      return out_of_memory(l);
    memcpy(l->piece, l->buffer, l->end);
    l->pieced = l->end;
    l->end = 0;
    LINNET_TRY(linnet_gunzip_open(l->context, l->name, pull_piece, l, &l->gunzip));
    LINNET_TRY(linnet_gunzip_read(l->gunzip, l->buffer, LINNET_LINE_BYTES, &l->end));
  }
  l->start = linnet_utf8_mark(l->buffer, l->end);
  return LINNET_OK;
}

enum linnet_status linnet_lines_open(struct linnet_context *context, const char *path, struct linnet_lines *lines) {
  *lines = (struct linnet_lines){.context = context, .name = path};
  lines->file = fopen(path, "rb");
  if (!lines->file)
    return linnet_fail_errno(context, path, errno);
  return start(lines);
}

enum linnet_status linnet_lines_open_memory(struct linnet_context *context, const void *data, size_t bytes,
                                            const char *name, struct linnet_lines *lines) {
  *lines = (struct linnet_lines){.context = context, .name = name, .memory = data, .left = bytes};
  return start(lines);
}

void linnet_lines_close(struct linnet_lines *l) {
  linnet_gunzip_close(l->gunzip);
  linnet_free(l->context, l->buffer);
  linnet_free(l->context, l->piece);
  if (l->file)
    fclose(l->file);
  *l = (struct linnet_lines){.context = l->context};
}

/* --- line by line: lines ------------------------------------------------------------------------------------------ */

/* Moves the unread text to the front of the buffer and fills the rest. */
static enum linnet_status fill(struct linnet_lines *l) {
  memmove(l->buffer, l->buffer + l->start, l->end - l->start);
  l->end -= l->start;
  l->start = 0;
  size_t space = LINNET_LINE_BYTES - l->end, bytes = 0;
  if (space == 0)
    return linnet_fail(l->context, LINNET_ERROR_LIMIT, "%s:%zu: the line has more than %d bytes", l->name, l->line + 1,
                       LINNET_LINE_BYTES);
  LINNET_TRY(l->gunzip ? linnet_gunzip_read(l->gunzip, l->buffer + l->end, space, &bytes)
                       : read_raw(l, l->buffer + l->end, space, &bytes));
  l->finished = bytes == 0;
  l->end += bytes;
  return LINNET_OK;
}

/* Ends the line at `end` with a NUL, which may overwrite the newline. */
static enum linnet_status take(struct linnet_lines *l, size_t end, char **line) {
  l->line++;
  l->ended = end < l->end;
  *line = l->buffer + l->start;
  size_t length = end - l->start;
  if (memchr(*line, '\0', length))
    return linnet_fail(l->context, LINNET_ERROR_FORMAT, "%s:%zu: holds a NUL byte; is this a text file?", l->name,
                       l->line);
  if (length > 0 && (*line)[length - 1] == '\r')
    length--;
  (*line)[length] = '\0';
  l->start = end < l->end ? end + 1 : end;
  return LINNET_OK;
}

enum linnet_status linnet_lines_next(struct linnet_lines *l, char **line) {
  for (;;) {
    char *newline = memchr(l->buffer + l->start, '\n', l->end - l->start);
    if (newline)
      return take(l, (size_t)(newline - l->buffer), line);
    if (l->finished)
      return l->start < l->end ? take(l, l->end, line) : LINNET_END;
    LINNET_TRY(fill(l));
  }
}

enum linnet_status linnet_lines_check(struct linnet_lines *l) {
  size_t bytes = l->gunzip && !l->finished;
  while (bytes > 0)
    LINNET_TRY(linnet_gunzip_read(l->gunzip, l->buffer, LINNET_LINE_BYTES, &bytes));
  l->start = l->end = 0;
  l->finished = true;
  return LINNET_OK;
}
