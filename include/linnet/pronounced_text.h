/* A written text with the pronunciations of its words, ready for forced alignment (align.h), and its words in their
 * written form with the times that the alignment found.
 *
 *   struct linnet_pronounced_text_settings settings;
 *   linnet_pronounced_text_settings_default(&settings);
 *   settings.normalizer = normalizer, settings.lexicon = lexicon;
 *   linnet_pronounced_text_create(context, "It’s 25 km.", "text", &settings, &text);
 *   words = linnet_pronounced_text_align_words(text, &count);
 *   linnet_alignment_create(context, log_posteriors, frames, symbols, words, count, NULL, &alignment);
 *   linnet_pronounced_text_place(text, alignment, frames, placed, capacity, &n);
 *   linnet_pronounced_text_destroy(text);
 *
 * Threads: a text does not change once made and may be read from many threads.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_PRONOUNCED_TEXT_H
#define LINNET_PRONOUNCED_TEXT_H

#include <linnet/align.h>
#include <linnet/g2p.h>
#include <linnet/lexicon.h>
#include <linnet/text_normalizer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All objects are the caller's and are used by linnet_pronounced_text_create alone. */
struct linnet_pronounced_text_settings {
  size_t size;                                     /* set by ..._default */
  const struct linnet_text_normalizer *normalizer; /* required; see linnet_text_normalizer_load for one without rules */
  const struct linnet_lexicon *lexicon;            /* the words that are known; NULL: none */
  const struct linnet_g2p *g2p;                    /* guesses the others; NULL: they stay unknown */
  const struct linnet_symbols *phones; /* labels of the guessed phones, with or without stress digits; those of the
                                        * lexicon if it is given; NULL: the lexicon's */
};

LINNET_API void linnet_pronounced_text_settings_default(struct linnet_pronounced_text_settings *settings, size_t size);
#define linnet_pronounced_text_settings_default(settings)                                                              \
  linnet_pronounced_text_settings_default(settings, sizeof *(settings))

enum linnet_word_source {
  LINNET_WORD_KNOWN = 0,   /* all of its spoken words are in the lexicon */
  LINNET_WORD_GUESSED = 1, /* a pronunciation is guessed, at least in part */
  LINNET_WORD_UNKNOWN = 2  /* no pronunciation: it is not aligned */
};

/* A word as it is written; what is between two spaces. Strings live as long as the text. */
struct linnet_written_word {
  const char *text;
  size_t line, column; /* where it begins, from 1; columns are code points */
  enum linnet_word_source source;
  const char *missing; /* LINNET_WORD_UNKNOWN: the spoken words that are not known, with spaces; else NULL */
};

struct linnet_pronounced_text;

/* Splits `text` at white space and finds the pronunciations of each word: of all ways to say it that the normalizer
 * gives, at most LINNET_ALIGN_MAX_VARIANTS together. Punctuation that stands alone is no word. Bytes that are not UTF-8
 * are LINNET_ERROR_FORMAT with `name`, line and column. Memory is a small multiple of the text and its pronunciations.
 */
LINNET_API enum linnet_status linnet_pronounced_text_create(struct linnet_context *context, const char *text,
                                                            const char *name,
                                                            const struct linnet_pronounced_text_settings *settings,
                                                            struct linnet_pronounced_text **result);

/* All words in the order of the text. */
LINNET_API const struct linnet_written_word *linnet_pronounced_text_words(const struct linnet_pronounced_text *text,
                                                                          size_t *count);

/* Those that have pronunciations, for linnet_alignment_create; the index of such a word among all words,
 * LINNET_NOT_FOUND out of range; the spoken words of one of its variants, with spaces, NULL out of range. They live as
 * long as the text. */
LINNET_API const struct linnet_align_word *linnet_pronounced_text_align_words(const struct linnet_pronounced_text *text,
                                                                              size_t *count);
LINNET_API size_t linnet_pronounced_text_index(const struct linnet_pronounced_text *text, size_t aligned);
LINNET_API const char *linnet_pronounced_text_spoken(const struct linnet_pronounced_text *text, size_t aligned,
                                                     size_t variant);

/* A word in time. */
struct linnet_placed_word {
  size_t word;       /* index of the written word */
  size_t aligned;    /* index into linnet_alignment_words, LINNET_NOT_FOUND: the time is interpolated */
  double start, end; /* frames */
};

/* Puts the words of the alignment of this text, in the order of time, and between them those without a pronunciation:
 * these share the frames between their neighbours by their lengths. Where there are none, the neighbours give half a
 * frame for each. (Where the alignment has jumps, words without a pronunciation are placed only beside a neighbour in
 * the text that was said.) `frames` is the length of the recording. *count is always the number of words;
 * LINNET_ERROR_LIMIT, without a sentence, if it is over `capacity`. */
LINNET_API enum linnet_status linnet_pronounced_text_place(const struct linnet_pronounced_text *text,
                                                           const struct linnet_alignment *alignment, size_t frames,
                                                           struct linnet_placed_word *placed, size_t capacity,
                                                           size_t *count);

/* Destroys the text; NULL is allowed. */
LINNET_API void linnet_pronounced_text_destroy(struct linnet_pronounced_text *text);

#ifdef __cplusplus
}
#endif
#endif
