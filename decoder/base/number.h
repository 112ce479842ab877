/* Decimal numbers of text files, read alike in every locale. */
#ifndef LINNET_NUMBER_H
#define LINNET_NUMBER_H

#include <stdbool.h>

/* Reads all of `text` as a decimal number such as -1.25, 3e-7, -inf (any case), to a few units of the last place of a
 * double; false if it is anything else, such as NaN. */
bool linnet_parse_number(const char *text, double *value);

#endif
