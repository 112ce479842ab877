/* The checks of `linnet validate-data`. Each prints "FILE:LINE: what is wrong; what to do" and marks the lines that
 * cannot stay. */
#ifndef LINNET_TOOL_DATA_CHECK_H
#define LINNET_TOOL_DATA_CHECK_H

#include <linnet/context.h>

#include "data_lists.h"

struct data_check_settings {
  size_t most;     /* faults of a kind and file that are printed; the rest is counted */
  bool open_audio; /* recordings are opened, not only looked for */
};

/* All checks; the number of faults. */
size_t data_check(struct linnet_context *context, struct data_lists *lists, const struct data_check_settings *settings);

#endif
