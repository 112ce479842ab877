/* Escapes control characters in a string, or in all output to a terminal. */
#define _GNU_SOURCE /* fopencookie */
#include "tool.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The position within a UTF-8 character. C1 controls are C2 80 to C2 9F; some terminals also obey single bytes. */
struct decoder {
  unsigned left; /* continuation bytes to come */
  bool c2;       /* C2 waits for its second byte */
};

static unsigned continuation_bytes(unsigned char c) {
  return c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : c >= 0xC2 ? 1 : 0;
}

static size_t put_hex(char *to, unsigned char c) {
  return (size_t)sprintf(to, "\\x%02x", c);
}

/* Writes the escaped form of a byte, at most 8 characters, and returns their number. */
static size_t escape_byte(struct decoder *d, unsigned char c, const char *kept, char *to) {
  bool continued = d->left > 0 && (c & 0xC0) == 0x80, c2 = d->c2;
  size_t n = 0;
  d->c2 = false;
  d->left = continued ? d->left - 1 : continuation_bytes(c);
  if (c2 && continued && c < 0xA0)
    return put_hex(to, 0xC2) + put_hex(to + 4, c);
  if (c2)
    to[n++] = (char)0xC2;
  if (c == 0xC2) {
    d->c2 = true;
  } else if (c < 0x20 || c == 0x7F || (c >= 0x80 && c < 0xA0 && !continued)) {
    static const char controls[] = "\n\t\r", letters[] = "ntr";
    const char *letter = c ? strchr(controls, c) : NULL;
    if (c && strchr(kept, c))
      to[n++] = (char)c;
    else
      n += letter ? (size_t)sprintf(to + n, "\\%c", letters[letter - controls]) : put_hex(to + n, c);
  } else {
    to[n++] = (char)c;
  }
  return n;
}

void terminal_escape(const char *text, char *escaped, size_t size) {
  struct decoder decoder = {0};
  size_t used = 0;
  for (char piece[16]; *text; text++) {
    size_t n = escape_byte(&decoder, (unsigned char)*text, "", piece);
    if (used + n + 1 > size)
      break;
    memcpy(escaped + used, piece, n);
    used += n;
  }
  escaped[used] = '\0';
}

#ifdef __GLIBC__

static struct decoder on_screen;

/* A cookie_write_function_t: escapes the bytes from stdio; writes all of them or returns 0. */
static ssize_t write_escaped(void *cookie, const char *data, size_t bytes) {
  char piece[4096];
  size_t used = 0;
  for (size_t i = 0; i < bytes; i++) {
    used += escape_byte(&on_screen, (unsigned char)data[i], "\n\t", piece + used);
    if (used + 16 <= sizeof piece && i + 1 < bytes)
      continue;
    for (size_t done = 0; done < used;) {
      ssize_t written = write(STDOUT_FILENO, piece + done, used - done);
      if (written <= 0)
        return 0;
      done += (size_t)written;
    }
    used = 0;
  }
  (void)cookie;
  return (ssize_t)bytes;
}

void terminal_guard_stdout(void) {
  static const cookie_io_functions_t functions = {.write = write_escaped};
  FILE *guarded = isatty(STDOUT_FILENO) ? fopencookie(NULL, "w", functions) : NULL;
  if (!guarded)
    return;
  setvbuf(guarded, NULL, _IOLBF, BUFSIZ);
  stdout = guarded;
}

#else /* a C library that does not allow replacing stdout: nothing is escaped */

void terminal_guard_stdout(void) {}

#endif
