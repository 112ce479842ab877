/* Pieces of text: characters of Unicode in UTF-8, by decoding that trusts nothing, and decimal numbers. */
#ifndef LINNET_CHARACTERS_H
#define LINNET_CHARACTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/utf8.h"

/* --- characters --------------------------------------------------------------------------------------------------- */

/* Unicode text in UTF-8: decoding that trusts nothing, and the few properties of characters that text needs. */

/* The code point at `text`; U+FFFD for a byte that begins no character. *bytes, at least 1, is its length. */
uint32_t linnet_utf8_decode(const char *text, size_t *bytes);

/* Writes a code point up to U+10FFFF; returns its length, 1 to 4. */
size_t linnet_utf8_encode(uint32_t code, char text[4]);

/* White space, also U+00A0 and the spaces of other widths. */
bool linnet_utf8_is_space(uint32_t code);

/* Letters, marks and digits of other scripts; not ASCII digits, punctuation, symbols and emoji. */
bool linnet_utf8_is_letter(uint32_t code);

/* Letters of Latin, Greek and Cyrillic alphabets (U+0000 to U+052F, U+1E00 to U+1EFF) in the other case; other
 * characters as they are. */
uint32_t linnet_utf8_lower(uint32_t code);
uint32_t linnet_utf8_upper(uint32_t code);

/* Replaces these letters by capitals, in place. Letters whose capital has more bytes, such as U+0251, stay. Returns the
 * length. */
size_t linnet_utf8_capitals(char *text);

/* ASCII letters in lower case for a Latin letter with marks ("e" for U+00C9, "ss" for U+00DF), "" for a combining mark,
 * NULL for any other character. */
const char *linnet_utf8_plain(uint32_t code);

/* --- numbers ------------------------------------------------------------------------------------------------------ */

/* Decimal numbers of text files, read alike in every locale. */

/* Reads all of `text` as a decimal number such as -1.25, 3e-7, -inf (any case), to a few units of the last place of a
 * double; false if it is anything else, such as NaN. */
bool linnet_parse_number(const char *text, double *value);

#endif
