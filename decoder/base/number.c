/* Parses decimal numbers without the locale of the C library. */
#include "decoder/base/number.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "base/c_locale.h"

/* Whether a text is a word of lower-case letters, in any case. */
static bool is_word(const char *text, const char *word) {
  while (*word && linnet_lower(*text) == *word)
    text++, word++;
  return *text == *word;
}

/* Adds digits to *mantissa as long as it has room for them; what does not fit is counted in *exponent. */
static const char *read_digits(const char *at, bool fraction, uint64_t *mantissa, int *exponent, bool *any) {
  for (; linnet_is_digit(*at); at++) {
    bool room = *mantissa < UINT64_MAX / 10 - 1;
    if (room)
      *mantissa = *mantissa * 10 + (uint64_t)(*at - '0');
    *exponent += fraction ? (room ? -1 : 0) : (room ? 0 : 1);
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
