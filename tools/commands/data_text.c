/* What Kaldi's scripts refuse in a transcript: encodings, white space, reserved words. */
#include "data_lists.h"

#include <string.h>

size_t data_text_mark(const char *text) {
  static const char mark[] = "\xEF\xBB\xBF";
  return strncmp(text, mark, sizeof mark - 1) == 0 ? sizeof mark - 1 : 0;
}

/* Decodes the character at *text and advances *text to the next one. Negative if the bytes are not UTF-8. */
static long next_character(const char **text) {
  static const long minimum[] = {0, 0x80, 0x800, 0x10000};
  const unsigned char *at = (const unsigned char *)*text;
  size_t more = *at < 0x80                  ? 0
                : *at >= 0xC2 && *at < 0xE0 ? 1
                : (*at & 0xF0) == 0xE0      ? 2
                : (*at & 0xF8) == 0xF0      ? 3
                                            : 4;
  long character = more == 0 ? *at : *at & (0x3F >> more);
  if (more == 4)
    return -1;
  for (size_t i = 1; i <= more; i++) {
    if ((at[i] & 0xC0) != 0x80)
      return -1;
    character = character << 6 | (at[i] & 0x3F);
  }
  *text += more + 1;
  bool surrogate = character >= 0xD800 && character < 0xE000;
  return character < minimum[more] || character > 0x10FFFF || surrogate ? -1 : character;
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
