/* UTF-8: whether bytes are, how many characters, and the mark that some editors put in front of a text. */
#ifndef LINNET_UTF8_H
#define LINNET_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Number of bytes of the character at `text`, which ends in NUL. 0 if it is invalid: an overlong form, a surrogate, a
 * code point above U+10FFFF, or a truncated character. */
static inline size_t linnet_utf8_length(const char *text) {
  const unsigned char *s = (const unsigned char *)text;
  size_t length = s[0] < 0x80 ? 1 : s[0] >= 0xC2 && s[0] < 0xE0 ? 2 : s[0] >= 0xE0 && s[0] < 0xF0 ? 3 : 4;
  if (length == 4 && (s[0] < 0xF0 || s[0] > 0xF4))
    return 0;
  for (size_t i = 1; i < length; i++)
    if ((s[i] & 0xC0) != 0x80)
      return 0;
  bool bad = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF0 && s[1] < 0x90) ||
             (s[0] == 0xF4 && s[1] > 0x8F);
  return bad ? 0 : length;
}

static inline bool linnet_is_utf8(const char *text) {
  size_t length = 1;
  for (; *text && length > 0; text += length)
    length = linnet_utf8_length(text);
  return length > 0;
}

/* The number of characters: of bytes that do not continue one. */
static inline size_t linnet_utf8_count(const char *text) {
  size_t count = 0;
  for (; *text; text++)
    count += ((unsigned char)*text & 0xC0) != 0x80;
  return count;
}

/* Bytes of the byte order mark at the beginning of a text, 0 if there is none. Readers of texts skip it. */
static inline size_t linnet_utf8_mark(const char *text, size_t bytes) {
  return bytes >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

#endif
