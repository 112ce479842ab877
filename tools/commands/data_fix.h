/* What `linnet validate-data --fix` writes. */
#ifndef LINNET_TOOL_DATA_FIX_H
#define LINNET_TOOL_DATA_FIX_H

#include "data_lists.h"

/* Keeps the utterances that every list has a good line of, after data_check: the lists sorted, without other lines,
 * spk2utt from utt2spk. What changes is first copied to FOLDER/.backup, then replaced file by file; interrupted in
 * between, it can be run again. False after printing why nothing more was changed. */
bool data_fix(struct data_lists *lists);

#endif
