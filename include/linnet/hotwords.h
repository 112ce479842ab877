/* Hotwords: words and phrases that a search for words (word_search.h) is to prefer, such as the names of contacts.
 *
 * A phrase that occurs adds its weight to the score of the word sequence, once for each time. The bonus grows with each
 * word of the phrase, in equal parts, and is taken back when the next word does not continue it, so that the search
 * keeps a phrase that is under way. Of phrases under way at the same time, the one that has earned most counts.
 *
 * Threads: immutable once made; may be used from many threads.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_HOTWORDS_H
#define LINNET_HOTWORDS_H

#include <linnet/lexicon.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_hotwords;

/* Reads a list, one phrase a line: "WORD[ WORD...] [weight]", "#" at the start of a line for a comment. The weight is a
 * natural logarithm, -100 to 100, 10 without one; a negative one makes the phrase less likely. Words must be in the
 * lexicon, whose tokens the phrases become (word_search.h): any other is an error that names the line, as is a phrase
 * that comes twice. At most 64 MiB. */
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
