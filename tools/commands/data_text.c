/* What Kaldi's scripts refuse in a transcript: encodings, white space, reserved words. */
#include "data_lists.h"

#include <string.h>

#include "base/utf8.h"

size_t data_text_mark(const char *text) {
  static const char mark[] = "\xEF\xBB\xBF";
  return strncmp(text, mark, sizeof mark - 1) == 0 ? sizeof mark - 1 : 0;
}

/* Decodes the character at *text and advances *text to the next one. Negative if the bytes are not UTF-8. */
static long next_character(const char **text) {
  static const unsigned char first_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  const unsigned char *at = (const unsigned char *)*text;
  const size_t length = linnet_utf8_length(*text);
  long character = *at & first_bits[length];
  for (size_t i = 1; i < length; i++)
    character = character << 6 | (at[i] & 0x3F);
  *text += length;
  return length > 0 ? character : -1;
}

/* White space other than the space and the tab. */
static bool is_other_space(long c) {
  return (c > '\t' && c <= '\r') || (c >= 0x1C && c < 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

const char *data_text_fault(const char *text) {
  while (*text) {
    long character = next_character(&text);
    if (character < 0)
      return "is not UTF-8";
    if (is_other_space(character))
      return "has white space other than spaces and tabs";
  }
  return NULL;
}

const char *data_text_reserved(const char *text) {
  static const char *const reserved[] = {"<s>", "</s>", "#0"};
  char word[8];
  for (const char *at = text; (at = data_next_field(at, word, sizeof word));)
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
      if (strcmp(word, reserved[i]) == 0)
        return reserved[i];
  return NULL;
}
