/* Spoken forms of written tokens: "$5.50" as "five dollars and fifty cents", "1984" as "nineteen eighty four", "it’s"
 * as "it's", "wood-blocks" as "wood blocks", "FBI" as "f. b. i.". The rules of a language are a file
 * (docs/text-rules.md; the English rules are installed as share/linnet/models/english/text.rules). A lexicon determines
 * which words are known.
 *
 *   struct linnet_text_normalizer *normalizer;
 *   struct linnet_spoken *spoken;
 *   linnet_text_normalizer_load(context, "models/english/text.rules", &normalizer);
 *   linnet_spoken_create(normalizer, context, "1984", known, user, &spoken);
 *   for (size_t i = 0; i < linnet_spoken_num_ways(spoken); i++) puts(linnet_spoken_words(spoken, i));
 *   linnet_spoken_destroy(spoken);
 *
 * pronounced_text.h does this for whole texts and finds pronunciations.
 *
 * Threads: a normalizer and a struct linnet_spoken are immutable and may be used from many threads, each with its own
 * context.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_TEXT_NORMALIZER_H
#define LINNET_TEXT_NORMALIZER_H

#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_text_normalizer;

/* Reads a file of rules, at most 1 MiB; errors name file and line. `path` NULL, or memory of 0 bytes, means no rules:
 * words are then looked up unchanged, and after that without the ASCII punctuation around them. The context must
 * outlive the normalizer. */
LINNET_API enum linnet_status linnet_text_normalizer_load(struct linnet_context *context, const char *path,
                                                          struct linnet_text_normalizer **normalizer);

/* The same from memory, which may be released afterwards; `name` is for messages. */
LINNET_API enum linnet_status linnet_text_normalizer_load_memory(struct linnet_context *context, const void *data,
                                                                 size_t bytes, const char *name,
                                                                 struct linnet_text_normalizer **normalizer);

/* Destroys the normalizer; NULL is allowed. */
LINNET_API void linnet_text_normalizer_destroy(struct linnet_text_normalizer *normalizer);

/* Returns whether a word has a pronunciation: non-zero if it has. */
typedef int (*linnet_known_word_fn)(void *user, const char *word);

/* Ways to say a token, at most LINNET_SPOKEN_MAX. */
struct linnet_spoken;

enum { LINNET_SPOKEN_MAX = 8, LINNET_SPOKEN_MAX_BYTES = 512 };

/* Finds the ways to say `token`, which is UTF-8 without white space (bytes that are not UTF-8 count as U+FFFD). If the
 * token is known unchanged, without the punctuation around it, in another case or without accents, this is the only
 * way. Otherwise the ways come from abbreviations and rules (such as numbers), then from the single letters of an
 * acronym, then from the parts of a compound, then from runs of letters, digits and symbols. Ways whose words are all
 * known come before the others. No way at all means that the token is punctuation and is not spoken. LINNET_ERROR_LIMIT
 * if the token, or every way to say it, is longer than LINNET_SPOKEN_MAX_BYTES. The result uses the memory of
 * `context`, which also gets the error and must outlive the result. */
LINNET_API enum linnet_status linnet_spoken_create(const struct linnet_text_normalizer *normalizer,
                                                   struct linnet_context *context, const char *token,
                                                   linnet_known_word_fn known, void *user,
                                                   struct linnet_spoken **spoken);

/* The number of ways; one of them, the most usual first, as words separated by spaces, NULL out of range; and whether
 * all its words are known. They live as long as the object. */
LINNET_API size_t linnet_spoken_num_ways(const struct linnet_spoken *spoken);
LINNET_API const char *linnet_spoken_words(const struct linnet_spoken *spoken, size_t way);
LINNET_API int linnet_spoken_is_known(const struct linnet_spoken *spoken, size_t way);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_spoken_destroy(struct linnet_spoken *spoken);

#ifdef __cplusplus
}
#endif
#endif
