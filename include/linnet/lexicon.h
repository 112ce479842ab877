/* Text side of recognition: symbol tables, transcripts, pronunciation lexicons. All three read untrusted files: errors
 * name file and line, memory stays within a small multiple of the file's size.
 *
 *   struct linnet_symbols *phones;
 *   struct linnet_transcripts *text;
 *   struct linnet_lexicon *lexicon;
 *   linnet_transcripts_load(context, "data/train/text", &text);
 *   linnet_lexicon_load(context, "cmudict.dict", NULL, NULL, &lexicon);
 *   for (size_t i = 0; i < linnet_transcripts_num_utterances(text); i++) {
 *     words = linnet_transcripts_tokens(text, i, &count);
 *     linnet_lexicon_pronounce(lexicon, words, count, -1, missing, user, labels, capacity, &length);
 *   }
 *
 * Threads: the objects are immutable once made (linnet_symbols_add apart) and may be read from many threads, each with
 * its own context handle where a function takes one.
 *
 * Stability: stable (linnet.h). */
#ifndef LINNET_LEXICON_H
#define LINNET_LEXICON_H

#include <linnet/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- symbols --------------------------------------------------------------------------------------------------- */

/* Output symbols: a name for each index. Index 0 is always the CTC blank, called LINNET_BLANK. */
struct linnet_symbols;

#define LINNET_BLANK "<blk>"

/* A table with `count` names at 1, 2, ...; a leading LINNET_BLANK is taken as the blank itself. Names are neither empty
 * nor repeated nor hold white space. `names` may be NULL if `count` is 0. */
LINNET_API enum linnet_status linnet_symbols_create(struct linnet_context *context, const char *const *names,
                                                    size_t count, struct linnet_symbols **symbols);

/* Reads one name per line, or Kaldi's "name index" with indices that count up. The first line is the blank if it has
 * the index 0, whatever its name, or is LINNET_BLANK, <eps>, <blank>, <pad>, [PAD] or _; without it the first name has
 * index 1. Blank lines are skipped. At most 2^20 symbols. */
LINNET_API enum linnet_status linnet_symbols_load(struct linnet_context *context, const char *path,
                                                  struct linnet_symbols **symbols);

/* Appends a name, or finds it if it is there; *index may be NULL. */
LINNET_API enum linnet_status linnet_symbols_add(struct linnet_symbols *symbols, const char *name, int *index);

/* The number of symbols with the blank; the name of one (NULL out of range), which lives as long as the table; the
 * index of a name, LINNET_NOT_FOUND if it is not there. */
LINNET_API size_t linnet_symbols_num_symbols(const struct linnet_symbols *symbols);
LINNET_API const char *linnet_symbols_name(const struct linnet_symbols *symbols, int index);
LINNET_API size_t linnet_symbols_find(const struct linnet_symbols *symbols, const char *name);

/* Destroys the table; NULL is allowed. */
LINNET_API void linnet_symbols_destroy(struct linnet_symbols *symbols);

/* --- transcripts ----------------------------------------------------------------------------------------------- */

/* Utterances with their tokens, as in Kaldi's `text`, and any other file of that shape (utt2spk). */
struct linnet_transcripts;

/* Reads lines "ID TOKEN TOKEN ...", separated by spaces and tabs, in any order; an id alone has no tokens. Blank lines
 * are skipped; CRLF and a byte order mark are tolerated. An id that comes twice is an error, as is a NUL byte. At most
 * 256 MiB. */
LINNET_API enum linnet_status linnet_transcripts_load(struct linnet_context *context, const char *path,
                                                      struct linnet_transcripts **transcripts);

/* The same from memory, which may be released afterwards; `name` is for messages. */
LINNET_API enum linnet_status linnet_transcripts_load_memory(struct linnet_context *context, const void *data,
                                                             size_t bytes, const char *name,
                                                             struct linnet_transcripts **transcripts);

/* Reads speechocean762's resource/text-phone: lines "ID.WORDINDEX PHONE_B PHONE_I PHONE_E", in any order, one per word
 * (counted from 0, none missing). Gives the phones of each utterance in word order, without _B, _I, _E, _S and, where
 * `strip_stress`, without stress digits. */
LINNET_API enum linnet_status linnet_transcripts_load_text_phone(struct linnet_context *context, const char *path,
                                                                 int strip_stress,
                                                                 struct linnet_transcripts **transcripts);

/* The utterances come in the order of the file (of first mention for text-phone). Strings live as long as the object.
 * An index out of range gives NULL. Tokens may be NULL where there are none. */
LINNET_API size_t linnet_transcripts_num_utterances(const struct linnet_transcripts *transcripts);
LINNET_API const char *linnet_transcripts_id(const struct linnet_transcripts *transcripts, size_t index);
LINNET_API const char *const *linnet_transcripts_tokens(const struct linnet_transcripts *transcripts, size_t index,
                                                        size_t *count);

/* The index of an utterance, LINNET_NOT_FOUND if it is not there. */
LINNET_API size_t linnet_transcripts_find(const struct linnet_transcripts *transcripts, const char *id);

/* A symbol table of all tokens, sorted by bytes, so that it does not depend on the order of utterances. It belongs to
 * `context` and does not need the transcripts. */
LINNET_API enum linnet_status linnet_transcripts_symbols(struct linnet_context *context,
                                                         const struct linnet_transcripts *transcripts,
                                                         struct linnet_symbols **symbols);

/* Destroys the object; NULL is allowed. */
LINNET_API void linnet_transcripts_destroy(struct linnet_transcripts *transcripts);

/* --- lexicon --------------------------------------------------------------------------------------------------- */

/* Pronunciations of words. */
struct linnet_lexicon;

struct linnet_lexicon_settings {
  size_t size;           /* set by ..._default */
  int fold_case;         /* words, also those looked up, are compared in upper case (ASCII); default 1 */
  int strip_stress;      /* drop the stress digits 0, 1, 2 of phones; default 0 */
  int refuse_duplicates; /* a pronunciation given twice is an error; default 0: it is logged and counted once */
};

LINNET_API void linnet_lexicon_settings_default(struct linnet_lexicon_settings *settings, size_t size);
#define linnet_lexicon_settings_default(settings) linnet_lexicon_settings_default(settings, sizeof *(settings))

/* Reads a lexicon as CMUdict writes it (";;;" comment lines, variants "WORD(2)", trailing comments after "#") or as
 * Kaldi's lexicon.txt (tabs or spaces). A word may have many lines (at most 1000); their order is kept. A word without
 * phones is an error.
 *
 * `phones`, if not NULL, names the phones allowed (any other is an error) and gives their indices; it is copied. If
 * NULL, the phones are those that occur, sorted by bytes. `settings` may be NULL. At most 64 MiB. */
LINNET_API enum linnet_status linnet_lexicon_load(struct linnet_context *context, const char *path,
                                                  const struct linnet_lexicon_settings *settings,
                                                  const struct linnet_symbols *phones, struct linnet_lexicon **lexicon);

/* The same from memory, which may be released afterwards; `name` is for messages. */
LINNET_API enum linnet_status linnet_lexicon_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                         const char *name,
                                                         const struct linnet_lexicon_settings *settings,
                                                         const struct linnet_symbols *phones,
                                                         struct linnet_lexicon **lexicon);

/* The phones with their indices; lives as long as the lexicon. */
LINNET_API const struct linnet_symbols *linnet_lexicon_phones(const struct linnet_lexicon *lexicon);

/* The number of different words; a word by index; its index, LINNET_NOT_FOUND if it is not there. */
LINNET_API size_t linnet_lexicon_num_words(const struct linnet_lexicon *lexicon);
LINNET_API const char *linnet_lexicon_word(const struct linnet_lexicon *lexicon, size_t word);
LINNET_API size_t linnet_lexicon_find(const struct linnet_lexicon *lexicon, const char *word);

/* The number of pronunciations of a word (at least 1), and one of them as indices of phones. */
LINNET_API size_t linnet_lexicon_num_variants(const struct linnet_lexicon *lexicon, size_t word);
LINNET_API const int *linnet_lexicon_pronunciation(const struct linnet_lexicon *lexicon, size_t word, size_t variant,
                                                   size_t *count);

/* Receives each word that has no pronunciation, every time it occurs. */
typedef void (*linnet_missing_word_fn)(void *user, const char *word);

/* Turns words into phone indices by the first pronunciation of each. A word that is not in the lexicon gives
 * `unknown_phone` (an index, such as SPN's), or nothing if that is negative, and is reported to `missing` (may be
 * NULL). *length is always the number of phones; LINNET_ERROR_LIMIT, without a sentence, if it is over `capacity`. */
LINNET_API enum linnet_status linnet_lexicon_pronounce(const struct linnet_lexicon *lexicon, const char *const *words,
                                                       size_t count, int unknown_phone, linnet_missing_word_fn missing,
                                                       void *user, int *phones, size_t capacity, size_t *length);

/* Destroys the lexicon; NULL is allowed. */
LINNET_API void linnet_lexicon_destroy(struct linnet_lexicon *lexicon);

#ifdef __cplusplus
}
#endif
#endif
