/* Symbol tables, transcripts and pronunciation lexicons. Their files are untrusted: errors name file and line, and
 * memory is at most a small multiple of the file's size.
 *
 *   struct linnet_symbols *phones;
 *   struct linnet_transcripts *text;
 *   struct linnet_lexicon *lexicon;
 *   linnet_transcripts_load(context, "data/train/text", &text);
 *   linnet_lexicon_load(context, "cmudict.dict", NULL, NULL, &lexicon);
 *   for (size_t i = 0; i < linnet_transcripts_num_utterances(text); i++) {
 *     words = linnet_transcripts_tokens(text, i, &count);
 *     linnet_lexicon_pronounce(lexicon, words, count, NULL, labels, capacity, &length);
 *   }
 *
 * Threads: the objects are immutable (except for linnet_symbols_add) and may be read from many threads. Functions that
 * take a context need a handle per thread.
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

/* Creates a table with `count` names, which get the indices 1, 2, ...; if the first name is LINNET_BLANK, it gets index
 * 0. Names must be different, not empty, and without white space. `names` may be NULL if `count` is 0. */
LINNET_API enum linnet_status linnet_symbols_create(struct linnet_context *context, const char *const *names,
                                                    size_t count, struct linnet_symbols **symbols);

/* Reads one name per line, or Kaldi's "name index" with consecutive indices. The first line is the blank of CTC if its
 * index is 0 or its name is LINNET_BLANK, <eps>, <blank>, <pad>, [PAD] or _. Otherwise the first name has index 1.
 * Empty lines are ignored. At most 2^24 symbols. */
LINNET_API enum linnet_status linnet_symbols_load(struct linnet_context *context, const char *path,
                                                  struct linnet_symbols **symbols);

/* Sets *index to the index of a name, which is appended if the table does not have it. `index` may be NULL. */
LINNET_API enum linnet_status linnet_symbols_add(struct linnet_symbols *symbols, const char *name, int *index);

/* The number of symbols, including the blank; the name of a symbol (NULL out of range), which lives as long as the
 * table; the index of a name, LINNET_NOT_FOUND if it is missing. */
LINNET_API size_t linnet_symbols_num_symbols(const struct linnet_symbols *symbols);
LINNET_API const char *linnet_symbols_name(const struct linnet_symbols *symbols, int index);
LINNET_API size_t linnet_symbols_find(const struct linnet_symbols *symbols, const char *name);

/* Destroys the table; NULL is allowed. */
LINNET_API void linnet_symbols_destroy(struct linnet_symbols *symbols);

/* --- transcripts ----------------------------------------------------------------------------------------------- */

/* Utterances with their tokens, as in Kaldi's `text` and in other files of the same form (utt2spk). */
struct linnet_transcripts;

/* Reads lines "ID TOKEN TOKEN ...", separated by spaces and tabs, in any order. A line with only an id is an utterance
 * without tokens. Empty lines are ignored; CRLF and a byte order mark are allowed. A repeated id and a NUL byte are
 * errors. At most 256 MiB. */
LINNET_API enum linnet_status linnet_transcripts_load(struct linnet_context *context, const char *path,
                                                      struct linnet_transcripts **transcripts);

/* The same from memory, which may be released afterwards; `name` is for messages. */
LINNET_API enum linnet_status linnet_transcripts_load_memory(struct linnet_context *context, const void *data,
                                                             size_t bytes, const char *name,
                                                             struct linnet_transcripts **transcripts);

/* Reads speechocean762's resource/text-phone: lines "ID.WORDINDEX PHONE_B PHONE_I PHONE_E", in any order, one per word;
 * word indices begin at 0 and have no gaps. The tokens are the phones of each utterance in the order of its words,
 * without _B, _I, _E, _S and, if `strip_stress` is not 0, without stress digits. */
LINNET_API enum linnet_status linnet_transcripts_load_text_phone(struct linnet_context *context, const char *path,
                                                                 int strip_stress,
                                                                 struct linnet_transcripts **transcripts);

/* Utterances have the order of the file (for text-phone: of the first line of each). Strings live as long as the
 * object. An index out of range gives NULL. The tokens of an utterance without tokens may be NULL. */
LINNET_API size_t linnet_transcripts_num_utterances(const struct linnet_transcripts *transcripts);
LINNET_API const char *linnet_transcripts_id(const struct linnet_transcripts *transcripts, size_t index);
LINNET_API const char *const *linnet_transcripts_tokens(const struct linnet_transcripts *transcripts, size_t index,
                                                        size_t *count);

/* The index of an utterance, LINNET_NOT_FOUND if it is missing. */
LINNET_API size_t linnet_transcripts_find(const struct linnet_transcripts *transcripts, const char *id);

/* Creates a symbol table of all tokens, sorted by bytes, so that it does not depend on the order of utterances. The
 * table uses the memory of `context` and remains valid without the transcripts. */
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
  int fold_case;         /* compare words in linnet_lexicon_capitals, in the file and in lookups; default 1 */
  int strip_stress;      /* drop the stress digits 0, 1, 2 of phones; default 0 */
  int refuse_duplicates; /* a repeated pronunciation is an error; default 0: it is logged and ignored */
};

LINNET_API void linnet_lexicon_settings_default(struct linnet_lexicon_settings *settings, size_t size);
#define linnet_lexicon_settings_default(settings) linnet_lexicon_settings_default(settings, sizeof *(settings))

/* Replaces the letters of Latin, Greek (without the polytonic ones) and Cyrillic alphabets by capitals, in place, as
 * lexicons with `fold_case` do. Letters stay that have no capital (U+00DF), or one with more bytes (U+0251). Returns
 * the new length in bytes, which is not larger; 0 if `word` is NULL. */
LINNET_API size_t linnet_lexicon_capitals(char *word);

/* Reads a lexicon as CMUdict writes it (";;;" comment lines, variants "WORD(2)", trailing comments after "#") or as
 * Kaldi's lexicon.txt (tabs or spaces). A word may have many lines (at most 1000); their order is kept. A word without
 * phones is an error.
 *
 * Kaldi's lexiconp.txt is read, too: "WORD PROBABILITY PHONE...". A file has probabilities, above 0 and at most 1, if
 * there is a number with a point or an exponent after its first word; then each word must have one.
 *
 * `phones` has the allowed phones and their indices; any other phone is an error; the table is copied. NULL: the phones
 * are those of the file, sorted by bytes. `settings` may be NULL. At most 64 MiB. */
LINNET_API enum linnet_status linnet_lexicon_load(struct linnet_context *context, const char *path,
                                                  const struct linnet_lexicon_settings *settings,
                                                  const struct linnet_symbols *phones, struct linnet_lexicon **lexicon);

/* The same from memory, which may be released afterwards; `name` is for messages. */
LINNET_API enum linnet_status linnet_lexicon_load_memory(struct linnet_context *context, const void *data, size_t bytes,
                                                         const char *name,
                                                         const struct linnet_lexicon_settings *settings,
                                                         const struct linnet_symbols *phones,
                                                         struct linnet_lexicon **lexicon);

/* The phones with their indices. The table lives as long as the lexicon. */
LINNET_API const struct linnet_symbols *linnet_lexicon_phones(const struct linnet_lexicon *lexicon);

/* The number of different words; the word of an index; the index of a word, LINNET_NOT_FOUND if it is missing. */
LINNET_API size_t linnet_lexicon_num_words(const struct linnet_lexicon *lexicon);
LINNET_API const char *linnet_lexicon_word(const struct linnet_lexicon *lexicon, size_t word);
LINNET_API size_t linnet_lexicon_find(const struct linnet_lexicon *lexicon, const char *word);

/* The number of pronunciations of a word (at least 1), and one of them as indices of phones. */
LINNET_API size_t linnet_lexicon_num_variants(const struct linnet_lexicon *lexicon, size_t word);
LINNET_API const int *linnet_lexicon_pronunciation(const struct linnet_lexicon *lexicon, size_t word, size_t variant,
                                                   size_t *count);

/* Whether the file has probabilities; and that of a pronunciation given the word, in Kaldi's files often relative to
 * the word's most probable one. 1 in a file without probabilities, 0 out of range. */
LINNET_API int linnet_lexicon_has_probabilities(const struct linnet_lexicon *lexicon);
LINNET_API float linnet_lexicon_probability(const struct linnet_lexicon *lexicon, size_t word, size_t variant);

/* Receives each occurrence of a word that has no pronunciation. */
typedef void (*linnet_missing_word_fn)(void *user, const char *word);

/* What becomes of words that are not in the lexicon. */
struct linnet_missing_words {
  size_t size;                    /* sizeof this structure; the program sets it */
  int phone;                      /* stands for each of them (such as the index of SPN); negative: nothing does */
  linnet_missing_word_fn missing; /* receives them; may be NULL */
  void *user;
};

/* Converts words into phone indices with the first pronunciation of each. `missing` NULL: words that are not in the
 * lexicon are omitted. *length is always the number of phones. LINNET_ERROR_LIMIT, without a sentence, if it is above
 * `capacity`. */
LINNET_API enum linnet_status linnet_lexicon_pronounce(const struct linnet_lexicon *lexicon, const char *const *words,
                                                       size_t count, const struct linnet_missing_words *missing,
                                                       int *phones, size_t capacity, size_t *length);

/* Destroys the lexicon; NULL is allowed. */
LINNET_API void linnet_lexicon_destroy(struct linnet_lexicon *lexicon);

#ifdef __cplusplus
}
#endif
#endif
