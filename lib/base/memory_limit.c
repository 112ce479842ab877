/* Maps as many bytes as are asked for and releases them, to see whether the system has them. */
#include "base/memory_limit.h"

#include <sys/mman.h>

/* Pages that are not touched take no memory, but count for the limits. */
bool linnet_memory_available(size_t bytes) {
  void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages != MAP_FAILED && munmap(pages, bytes) == 0;
}
