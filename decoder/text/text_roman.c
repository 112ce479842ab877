/* Roman numerals: 1 to 3999 in their usual form, IV and not IIII. */
#include <string.h>

#include "base/c_locale.h"
#include "decoder/text/text_rules.h"

enum { LONGEST = 15 /* MMMDCCCLXXXVIII */ };

static const struct {
  const char *letters;
  unsigned value;
} numerals[] = {{"m", 1000}, {"cm", 900}, {"d", 500}, {"cd", 400}, {"c", 100}, {"xc", 90}, {"l", 50},
                {"xl", 40},  {"x", 10},   {"ix", 9},  {"v", 5},    {"iv", 4},  {"i", 1}};

/* The numeral of a value below 4000. */
static void write_roman(uint64_t value, char roman[LONGEST + 1]) {
  size_t used = 0;
  for (size_t i = 0; value > 0; i += value < numerals[i].value)
    if (value >= numerals[i].value) {
      memcpy(roman + used, numerals[i].letters, strlen(numerals[i].letters));
      used += strlen(numerals[i].letters);
      value -= numerals[i].value;
    }
  roman[used] = '\0';
}

/* The largest numeral that the letters begin with; its value, or 0. *length is its number of letters. */
static unsigned next_numeral(const char *letters, size_t *length) {
  for (size_t i = 0; i < sizeof numerals / sizeof *numerals; i++) {
    *length = strlen(numerals[i].letters);
    if (strncmp(letters, numerals[i].letters, *length) == 0)
      return numerals[i].value;
  }
  return 0;
}

size_t linnet_text_read_roman(const char *text, uint64_t *value) {
  bool small = linnet_lower(*text) == *text;
  size_t length = strspn(text, small ? "ivxlcdm" : "IVXLCDM"), step;
  char letters[LONGEST + 1] = "", usual[LONGEST + 1];
  *value = 0;
  if (length > LONGEST)
    return 0;
  for (size_t i = 0; i < length; i++)
    letters[i] = (char)linnet_lower(text[i]);
  for (size_t at = 0; at < length; at += step)
    *value += next_numeral(letters + at, &step);
  if (*value == 0 || *value > 3999)
    return 0;
  write_roman(*value, usual);
  return strcmp(usual, letters) == 0 ? length : 0;
}
