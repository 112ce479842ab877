/* Pieces of text: characters and numbers. */
#include "decoder/base/characters.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* Capitals that lie `distance` before their small letters, or, with distance 1, alternate with them: those of the
 * parity of `first`. Unicode's pairs of a capital and a small letter up to U+052F and from U+1E00 to U+1EFF; ASCII is
 * elsewhere. */
struct alphabet {
  uint16_t first, last;
  int32_t distance;
};

static const struct alphabet alphabets[] = {
    {0xC0, 0xD6, 32},         {0xD8, 0xDE, 32},         {0x100, 0x12F, 1},        {0x132, 0x137, 1},
    {0x139, 0x148, 1},        {0x14A, 0x177, 1},        {0x178, 0x178, -121},     {0x179, 0x17E, 1},
    {0x181, 0x181, 210},      {0x182, 0x185, 1},        {0x186, 0x186, 206},      {0x187, 0x188, 1},
    {0x189, 0x18A, 205},      {0x18B, 0x18C, 1},        {0x18E, 0x18E, 79},       {0x18F, 0x18F, 202},
    {0x190, 0x190, 203},      {0x191, 0x192, 1},        {0x193, 0x193, 205},      {0x194, 0x194, 207},
    {0x196, 0x196, 211},      {0x197, 0x197, 209},      {0x198, 0x199, 1},        {0x19C, 0x19C, 211},
    {0x19D, 0x19D, 213},      {0x19F, 0x19F, 214},      {0x1A0, 0x1A5, 1},        {0x1A6, 0x1A6, 218},
    {0x1A7, 0x1A8, 1},        {0x1A9, 0x1A9, 218},      {0x1AC, 0x1AD, 1},        {0x1AE, 0x1AE, 218},
    {0x1AF, 0x1B0, 1},        {0x1B1, 0x1B2, 217},      {0x1B3, 0x1B6, 1},        {0x1B7, 0x1B7, 219},
    {0x1B8, 0x1B9, 1},        {0x1BC, 0x1BD, 1},        {0x1C4, 0x1C4, 2},        {0x1C7, 0x1C7, 2},
    {0x1CA, 0x1CA, 2},        {0x1CD, 0x1DC, 1},        {0x1DE, 0x1EF, 1},        {0x1F1, 0x1F1, 2},
    {0x1F4, 0x1F5, 1},        {0x1F6, 0x1F6, -97},      {0x1F7, 0x1F7, -56},      {0x1F8, 0x21F, 1},
    {0x220, 0x220, -130},     {0x222, 0x233, 1},        {0x23A, 0x23A, 10795},    {0x23B, 0x23C, 1},
    {0x23D, 0x23D, -163},     {0x23E, 0x23E, 10792},    {0x241, 0x242, 1},        {0x243, 0x243, -195},
    {0x244, 0x244, 69},       {0x245, 0x245, 71},       {0x246, 0x24F, 1},        {0x370, 0x373, 1},
    {0x376, 0x377, 1},        {0x37F, 0x37F, 116},      {0x386, 0x386, 38},       {0x388, 0x38A, 37},
    {0x38C, 0x38C, 64},       {0x38E, 0x38F, 63},       {0x391, 0x3A1, 32},       {0x3A3, 0x3AB, 32},
    {0x3CF, 0x3CF, 8},        {0x3D8, 0x3EF, 1},        {0x3F7, 0x3F8, 1},        {0x3F9, 0x3F9, -7},
    {0x3FA, 0x3FB, 1},        {0x3FD, 0x3FF, -130},     {0x400, 0x40F, 80},       {0x410, 0x42F, 32},
    {0x460, 0x481, 1},        {0x48A, 0x4BF, 1},        {0x4C0, 0x4C0, 15},       {0x4C1, 0x4CE, 1},
    {0x4D0, 0x52F, 1},        {0x1E00, 0x1E95, 1},      {0x1EA0, 0x1EFF, 1},      {0x2C62, 0x2C62, -10743},
    {0x2C64, 0x2C64, -10727}, {0x2C6D, 0x2C6D, -10780}, {0x2C6E, 0x2C6E, -10749}, {0x2C6F, 0x2C6F, -10783},
    {0x2C70, 0x2C70, -10782}, {0x2C7E, 0x2C7F, -10815}, {0xA78D, 0xA78D, -42280}, {0xA7AA, 0xA7AA, -42308},
    {0xA7AB, 0xA7AB, -42319}, {0xA7AC, 0xA7AC, -42315}, {0xA7AD, 0xA7AD, -42305}, {0xA7AE, 0xA7AE, -42308},
    {0xA7B0, 0xA7B0, -42258}, {0xA7B1, 0xA7B1, -42282}, {0xA7B2, 0xA7B2, -42261}, {0xA7C5, 0xA7C5, -42307},
    {0xFF21, 0xFF3A, 32},
};

/* A letter and its other case, which is in a pair with another letter. */
struct other_case {
  uint16_t code, other;
};

static const struct other_case only_lower[] = {
    {0x1C5, 0x1C6}, {0x1C8, 0x1C9}, {0x1CB, 0x1CC}, {0x1F2, 0x1F3}, {0x3F4, 0x3B8}, {0x1E9E, 0xDF},
};

static const struct other_case only_upper[] = {
    {0x131, 0x49},  {0x17F, 0x53},  {0x1C5, 0x1C4}, {0x1C8, 0x1C7},   {0x1CB, 0x1CA}, {0x1F2, 0x1F1},
    {0x345, 0x399}, {0x3C2, 0x3A3}, {0x3D0, 0x392}, {0x3D1, 0x398},   {0x3D5, 0x3A6}, {0x3D6, 0x3A0},
    {0x3F0, 0x39A}, {0x3F1, 0x3A1}, {0x3F5, 0x395}, {0x1E9B, 0x1E60},
};

enum {
  ALPHABETS = sizeof alphabets / sizeof *alphabets,
  ONLY_LOWER = sizeof only_lower / sizeof *only_lower,
  ONLY_UPPER = sizeof only_upper / sizeof *only_upper
};

static uint32_t find_other(const struct other_case *cases, size_t count, uint32_t code) {
  for (size_t i = 0; i < count; i++)
    if (cases[i].code == code)
      return cases[i].other;
  return code;
}

uint32_t linnet_utf8_lower(uint32_t code) {
  if (code < 0x80)
    return within(code, 'A', 'Z') ? code + 32 : code;
  for (size_t i = 0; i < ALPHABETS; i++)
    if (within(code, alphabets[i].first, alphabets[i].last)) {
      bool capital = alphabets[i].distance != 1 || (code - alphabets[i].first) % 2 == 0;
      return capital ? code + (uint32_t)alphabets[i].distance : code;
    }
  return find_other(only_lower, ONLY_LOWER, code);
}

uint32_t linnet_utf8_upper(uint32_t code) {
  if (code < 0x80)
    return within(code, 'a', 'z') ? code - 32 : code;
  for (size_t i = 0; i < ALPHABETS; i++) {
    uint32_t capital = code - (uint32_t)alphabets[i].distance;
    if (within(capital, alphabets[i].first, alphabets[i].last) && linnet_utf8_lower(capital) == code)
      return capital;
  }
  return find_other(only_upper, ONLY_UPPER, code);
}

size_t linnet_utf8_capitals(char *text) {
  size_t length = 0;
  for (size_t at = 0, bytes; text[at]; at += bytes) {
    char capital[4];
    const uint32_t code = linnet_utf8_decode(text + at, &bytes);
    const size_t count = linnet_utf8_encode(linnet_utf8_upper(code), capital);
    const bool fits = count <= bytes; /* a byte that begins no character stays, too */
    memmove(text + length, fits ? capital : text + at, fits ? count : bytes);
    length += fits ? count : bytes;
  }
  text[length] = '\0';
  return length;
}

/* From U+00C0 on; a digit is an index into `pairs`. */
static const char latin[] =
    "aaaaaa0ceeeeiiiidnooooo ouuuuy12aaaaaa0ceeeeiiiidnooooo ouuuuy1yaaaaaaccccccccddddeeeeeeeeeegggg"
    "gggghhhhiiiiiiiiii33jjkkkllllllllllnnnnnnnnnoooooo44rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs"
    "bbbb   cc ddd    ffg   ikkl  nnooo  pp     ttttuu vyyzz             555666777aaiioouuuuuuuuuu aa"
    "aa00ggggkkoooo  j555gg  nnaa00ooaaaaeeeeiiiioooorrrruuuusstt  hhnd  zzaaeeooooooooyylntj  acclts"
    "z  b  eejj qrryy   b cdd        g     h i  lll   mnn o      rrr   s     t  v    zz           j  "
    "q";
static const char *const pairs[] = {"ae", "th", "ss", "ij", "oe", "dz", "lj", "nj"};

/* U+1E00 to U+1EFF, a letter each for two code points: the capital and the small letter. Those from U+1E96 to U+1E9F
 * follow. */
static const char latin_additional[] =
    "abbbcdddddeeeeefghhhhhiikkkllllmmmnnnnoooopprrrrsssssttttuuuuuvvwwwwwxxyzzz     "
    "aaaaaaaaaaaaeeeeeeeeiioooooooooooouuuuuuuyyyy  y";
static const char unpaired[] = "htwyas  2 ";

static const char *plain_letter(char letter) {
  static const char letters[] = "a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0k\0l\0m\0n\0o\0p\0q\0r\0s\0t\0u\0v\0w\0x\0y\0z";
  if (letter >= '0' && letter <= '7')
    return pairs[letter - '0'];
  return letter >= 'a' && letter <= 'z' ? &letters[2 * (letter - 'a')] : NULL;
}

const char *linnet_utf8_plain(uint32_t code) {
  static const char *const ligatures[] = {"ff", "fi", "fl", "ffi", "ffl", "st", "st"};
  if (code >= 0xC0 && code - 0xC0 < sizeof latin)
    return plain_letter(latin[code - 0xC0]);
  if (within(code, 0x1E96, 0x1E9F))
    return plain_letter(unpaired[code - 0x1E96]);
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
