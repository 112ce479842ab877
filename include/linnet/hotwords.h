/* Hotwords: words and phrases that a search for words (word_search.h) prefers or avoids, such as the names of contacts.
 *
 * Each occurrence of a phrase adds its weight to the score of the word sequence. Every word of the phrase adds an equal
 * part of the weight, so that an incomplete phrase stays in the beam; together they are at most half of the score
 * threshold until the phrase is complete. If the next word does not continue the phrase, the search subtracts these
 * parts again. If several phrases are incomplete at the same time, the one with the highest bonus so far counts.
 *
 * Threads: a list is immutable and may be used from many threads.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_HOTWORDS_H
#define LINNET_HOTWORDS_H

#include <linnet/lexicon.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_hotwords;

/* Reads a list with one phrase per line: "WORD[ WORD...] [weight]"; lines that begin with "#" are comments. The weight
 * is a natural logarithm, -100 to 100; a missing weight means 10. A negative weight makes the phrase less likely. The
 * search uses the tokens of the lexicon's words (word_search.h). A word that is not in the lexicon is an error that
 * names the line, and so is a phrase that occurs twice; a search can guess the pronunciations of such words (`g2p` in
 * search.h). At most 64 MiB. */
LINNET_API enum linnet_status linnet_hotwords_load(struct linnet_context *context, const char *path,
                                                   const struct linnet_lexicon *lexicon,
                                                   struct linnet_hotwords **hotwords);

/* The same from memory, which may be released afterwards; `name` is for messages. */
LINNET_API enum linnet_status linnet_hotwords_load_memory(struct linnet_context *context, const void *data,
                                                          size_t bytes, const char *name,
                                                          const struct linnet_lexicon *lexicon,
                                                          struct linnet_hotwords **hotwords);

/* The number of phrases. */
LINNET_API size_t linnet_hotwords_num_phrases(const struct linnet_hotwords *hotwords);

/* Destroys the list; NULL is allowed. */
LINNET_API void linnet_hotwords_destroy(struct linnet_hotwords *hotwords);

#ifdef __cplusplus
}
#endif
#endif
