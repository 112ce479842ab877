/* Switches the calling thread to the C locale and back, and formats and scans numbers in it. */
#include "base/c_locale.h"

#include <stdarg.h>
#include <stdio.h>

bool linnet_c_locale_enter(struct linnet_c_locale *locale) {
  locale->own = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* glibc and musl have it ready: no memory, no failure */
  if (!locale->own)
    return false;
  locale->before = uselocale(locale->own);
  return true;
}

void linnet_c_locale_leave(struct linnet_c_locale *locale) {
  uselocale(locale->before);
  freelocale(locale->own);
}

int linnet_format(char *text, size_t size, const char *format, ...) {
  struct linnet_c_locale locale;
  if (size > 0)
    text[0] = '\0';
  if (!linnet_c_locale_enter(&locale))
    return -1;
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, size, format, arguments);
  va_end(arguments);
  linnet_c_locale_leave(&locale);
  return length;
}

int linnet_scan(const char *text, const char *format, ...) {
  struct linnet_c_locale locale;
  if (!linnet_c_locale_enter(&locale))
    return -1;
  va_list arguments;
  va_start(arguments, format);
  int fields = vsscanf(text, format, arguments);
  va_end(arguments);
  linnet_c_locale_leave(&locale);
  return fields;
}
