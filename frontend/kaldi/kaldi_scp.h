/* Where matrices lie: "file:offset". */
#ifndef LINNET_KALDI_SCP_H
#define LINNET_KALDI_SCP_H

#include "frontend/kaldi/kaldi_value.h"

/* Length of the file's name in "file:offset" or "file", and the offset, 0 if there is none. */
size_t linnet_kaldi_split_offset(const char *location, uint64_t *offset);

/* Opens a file and goes to an offset; `key` is for messages. */
enum linnet_status linnet_kaldi_open_at(struct linnet_context *context, const char *path, uint64_t offset,
                                        const char *key, struct linnet_kaldi_input *input);

#endif
