/* Text in files must not depend on the program's locale. Where a function of the C library does (decimal points of %g,
 * %a and strtod, kinds and case of letters), code that reads or writes files uses these functions instead; also around
 * jansson, which depends on the locale, too. */
#ifndef LINNET_C_LOCALE_H
#define LINNET_C_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

/* The C locale for the calling thread, between enter and leave. Other threads and the program's setlocale are not
 * touched. */
struct linnet_c_locale {
  locale_t own, before;
};

/* False without memory; then there is nothing to leave. */
bool linnet_c_locale_enter(struct linnet_c_locale *locale);
void linnet_c_locale_leave(struct linnet_c_locale *locale);

/* snprintf and sscanf in the C locale. Without memory for it, linnet_format gives -1 and "", linnet_scan -1. */
int linnet_format(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int linnet_scan(const char *text, const char *format, ...) __attribute__((format(scanf, 2, 3)));

/* ASCII alone. */
static inline bool linnet_is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static inline bool linnet_is_digit(char c) {
  return c >= '0' && c <= '9';
}
static inline char linnet_lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

#endif
