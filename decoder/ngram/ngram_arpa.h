/* Reading of ARPA files; see linnet_ngram_load. */
#ifndef LINNET_NGRAM_ARPA_H
#define LINNET_NGRAM_ARPA_H

#include <linnet/ngram.h>

enum linnet_status linnet_ngram_read_arpa(struct linnet_context *context, const char *path,
                                          struct linnet_ngram **ngram);
enum linnet_status linnet_ngram_read_arpa_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                 const char *name, struct linnet_ngram **ngram);

#endif
