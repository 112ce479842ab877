/* Pieces of text: characters and numbers. */
#include "decoder/base/characters.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "base/c_locale.h"

/* --- decoding ----------------------------------------------------------------------------------------------------- */

uint32_t linnet_utf8_decode(const char *text, size_t *bytes) {
  static const unsigned char first_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  size_t length = linnet_utf8_length(text);
  *bytes = length > 0 ? length : 1;
  if (length == 0)
    return 0xFFFD;
  uint32_t code = (unsigned char)text[0] & first_bits[length];
  for (size_t i = 1; i < length; i++)
    code = code << 6 | ((unsigned char)text[i] & 0x3Fu);
  return code;
}

size_t linnet_utf8_encode(uint32_t code, char text[4]) {
  static const unsigned char first[] = {0, 0, 0xC0, 0xE0, 0xF0};
  size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = length; i-- > 1; code >>= 6)
    text[i] = (char)(0x80 | (code & 0x3F));
  text[0] = (char)(first[length] | code);
  return length;
}

/* --- properties --------------------------------------------------------------------------------------------------- */

static bool within(uint32_t code, uint32_t first, uint32_t last) {
  return code >= first && code <= last;
}

bool linnet_utf8_is_space(uint32_t code) {
  return within(code, 0x09, 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 || code == 0x1680 ||
         within(code, 0x2000, 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
         code == 0x3000;
}

bool linnet_utf8_is_letter(uint32_t code) {
  if (code < 0x80)
    return within(code | 0x20, 'a', 'z');
  if (code < 0xC0)
    return code == 0xAA || code == 0xB5 || code == 0xBA;
  return code != 0xD7 && code != 0xF7 && !within(code, 0x2000, 0x2BFF) && !within(code, 0x2E00, 0x2E7F) &&
         !within(code, 0x3000, 0x303F) && !within(code, 0xD800, 0xF8FF) && !within(code, 0xFE00, 0xFE6F) &&
         !within(code, 0xFEFF, 0xFF0F) && !within(code, 0xFFF0, 0xFFFF) && code < 0x1F000;
}

/* Alphabets whose capitals lie `distance` before their small letters, or, with distance 1, alternate with them:
 * capitals have the parity of `first`. */
struct alphabet {
  uint32_t first, last, distance;
};

static const struct alphabet alphabets[] = {
    {'A', 'Z', 32},     {0xC0, 0xD6, 32},   {0xD8, 0xDE, 32},    {0x100, 0x12F, 1},   {0x132, 0x137, 1},
    {0x139, 0x148, 1},  {0x14A, 0x177, 1},  {0x179, 0x17E, 1},   {0x386, 0x386, 38},  {0x388, 0x38A, 37},
    {0x391, 0x3A1, 32}, {0x3A3, 0x3AB, 32}, {0x400, 0x40F, 80},  {0x410, 0x42F, 32},  {0x460, 0x481, 1},
    {0x48A, 0x4BF, 1},  {0x4D0, 0x52F, 1},  {0x1E00, 0x1E95, 1}, {0x1EA0, 0x1EFF, 1}, {0xFF21, 0xFF3A, 32},
};

enum { ALPHABETS = sizeof alphabets / sizeof *alphabets };

uint32_t linnet_utf8_lower(uint32_t code) {
  for (size_t i = 0; i < ALPHABETS; i++)
    if (within(code, alphabets[i].first, alphabets[i].last)) {
      bool capital = alphabets[i].distance > 1 || (code - alphabets[i].first) % 2 == 0;
      return capital ? code + alphabets[i].distance : code;
    }
  return code == 0x178 ? 0xFF : code;
}

uint32_t linnet_utf8_upper(uint32_t code) {
  if (code == 0xFF)
    return 0x178;
  for (size_t i = 0; i < ALPHABETS; i++) {
    uint32_t capital = code - alphabets[i].distance;
    if (code >= alphabets[i].distance && within(capital, alphabets[i].first, alphabets[i].last) &&
        linnet_utf8_lower(capital) == code)
      return capital;
  }
  return code;
}

/* U+00C0 to U+017F; a digit is an index into `pairs`. */
static const char latin[] = "aaaaaa0ceeeeiiiidnooooo ouuuuy12aaaaaa0ceeeeiiiidnooooo ouuuuy1y"
                            "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii33jjkkklllllllllln"
                            "nnnnnnnnoooooo44rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";
static const char *const pairs[] = {"ae", "th", "ss", "ij", "oe"};

/* U+1E00 to U+1EFF, a letter each for two code points: the capital and the small letter. */
static const char latin_additional[] = "abbbcdddddeeeeefghhhhhiikkkllllmmmnnnnoooopprrrrsssssttttuuuuuvvwwwwwxxyzzzhw"
                                       "   aaaaaaaaaaaaeeeeeeeeiioooooooooooouuuuuuuyyyy   ";

static const char *plain_letter(char letter) {
  static const char letters[] = "a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0k\0l\0m\0n\0o\0p\0q\0r\0s\0t\0u\0v\0w\0x\0y\0z";
  if (letter >= '0' && letter <= '4')
    return pairs[letter - '0'];
  return letter >= 'a' && letter <= 'z' ? &letters[2 * (letter - 'a')] : NULL;
}

const char *linnet_utf8_plain(uint32_t code) {
  static const char *const ligatures[] = {"ff", "fi", "fl", "ffi", "ffl", "st", "st"};
  if (within(code, 0xC0, 0x17F))
    return plain_letter(latin[code - 0xC0]);
  if (within(code, 0x1E00, 0x1EFF))
    return plain_letter(latin_additional[(code - 0x1E00) / 2]);
  if (within(code, 0xFB00, 0xFB06))
    return ligatures[code - 0xFB00];
  return within(code, 0x300, 0x36F) ? "" : NULL;
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

/* Whether a text is a word of lower-case letters, in any case. */
static bool is_word(const char *text, const char *word) {
  while (*word && linnet_lower(*text) == *word)
    text++, word++;
  return *text == *word;
}

/* Adds digits to *mantissa as long as they fit; the number of digits that do not fit is added to *exponent. */
static const char *read_digits(const char *at, bool fraction, uint64_t *mantissa, int *exponent, bool *any) {
  for (; linnet_is_digit(*at); at++) {
    bool fits = *mantissa < UINT64_MAX / 10 - 1;
    if (fits)
      *mantissa = *mantissa * 10 + (uint64_t)(*at - '0');
    *exponent += fraction ? (fits ? -1 : 0) : (fits ? 0 : 1);
    *any = true;
  }
  return at;
}

/* "e-12" after a number; NULL if it is malformed. */
static const char *read_exponent(const char *at, int *exponent) {
  if (*at != 'e' && *at != 'E')
    return at;
  at++;
  bool negative = *at == '-';
  if (*at == '-' || *at == '+')
    at++;
  if (!linnet_is_digit(*at))
    return NULL;
  int value = 0;
  for (; linnet_is_digit(*at); at++)
    value = value < 10000 ? value * 10 + (*at - '0') : value;
  *exponent += negative ? -value : value;
  return at;
}

bool linnet_parse_number(const char *text, double *value) {
  bool negative = *text == '-', any = false;
  const char *at = text + (negative || *text == '+');
  if (is_word(at, "inf") || is_word(at, "infinity")) {
    *value = negative ? -INFINITY : INFINITY;
    return true;
  }
  uint64_t mantissa = 0;
  int exponent = 0;
  at = read_digits(at, false, &mantissa, &exponent, &any);
  if (*at == '.')
    at = read_digits(at + 1, true, &mantissa, &exponent, &any);
  at = any ? read_exponent(at, &exponent) : NULL;
  if (!at || *at != '\0')
    return false;
  double scaled = exponent < 0 ? (double)mantissa / pow(10, -exponent) : (double)mantissa * pow(10, exponent);
  *value = mantissa == 0 ? 0 : scaled;
  if (negative)
    *value = -*value;
  return true;
}
