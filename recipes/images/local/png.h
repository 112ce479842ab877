/* Writes pictures as PNG without compression. */
#ifndef IMAGES_PNG_H
#define IMAGES_PNG_H

#include <stddef.h>

/* Writes pixels (height, width, channels), grey or RGB; at most 65000 bytes a row. Exits on failure. */
void png_write(const char *path, const unsigned char *pixels, size_t height, size_t width, size_t channels);

#endif
