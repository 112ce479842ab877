/* Advice to the system about pages, where it takes such advice (Linux). */
#include "base/large_pages.h"

#include <sys/mman.h>

#include "base/numbers.h"

void linnet_prefer_large_pages(void *block, size_t bytes) {
#ifdef MADV_HUGEPAGE
  const size_t page = (size_t)2 << 20; /* of most processors; a multiple of the smaller pages of all */
  char *first = linnet_align_up(block, page);
  const size_t before = (size_t)(first - (char *)block);
  if (bytes >= before + page)
    (void)madvise(first, (bytes - before) / page * page, MADV_HUGEPAGE); /* whole pages that are in the block */
#else
  (void)block, (void)bytes;
#endif
}
