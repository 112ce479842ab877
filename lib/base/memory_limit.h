/* Whether libraries that cannot bear a failed allocation may be called. */
#ifndef LINNET_MEMORY_LIMIT_H
#define LINNET_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the process can map `bytes` more now (RLIMIT_AS, RLIMIT_DATA, strict overcommit); nothing is held. Another
 * thread may take the memory afterwards, so ask for several times what one caller needs. */
bool linnet_memory_available(size_t bytes);

#endif
