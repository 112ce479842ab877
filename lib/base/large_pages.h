/* Large pages for blocks that are read again and again. */
#ifndef LINNET_LARGE_PAGES_H
#define LINNET_LARGE_PAGES_H

#include <stddef.h>

/* Asks the system to use large pages for a block, before it is first written: a block larger than the caches is then
 * read faster, because its addresses need fewer translations. Has no effect on small blocks, and where the system has
 * no such pages. */
void linnet_prefer_large_pages(void *block, size_t bytes);

#endif
