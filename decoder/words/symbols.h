/* Functions of symbol tables for the readers of lexicons and transcripts. */
#ifndef LINNET_SYMBOLS_H
#define LINNET_SYMBOLS_H

#include <linnet/lexicon.h>

#include "decoder/base/names.h"

/* Makes a symbol table: the blank, then the strings of `names`, sorted by bytes. *symbols is NULL on failure. */
enum linnet_status linnet_symbols_from_names(const struct linnet_names *names, struct linnet_symbols **symbols);

enum linnet_status linnet_symbols_copy(struct linnet_context *context, const struct linnet_symbols *from,
                                       struct linnet_symbols **symbols);

#endif
