/* Prepares a written text for forced alignment (align.h): finds the pronunciations of its words. After the alignment it
 * gives the times of the words in their written form.
 *
 *   struct linnet_pronounced_text_settings settings;
 *   linnet_pronounced_text_settings_default(&settings);
 *   settings.normalizer = normalizer, settings.lexicon = lexicon;
 *   linnet_pronounced_text_create(context, "It’s 25 km.", "text", &settings, &text);
 *   words = linnet_pronounced_text_align_words(text, &count);
 *   linnet_alignment_create(context, log_posteriors, frames, symbols, words, count, NULL, &alignment);
 *   linnet_pronounced_text_word_times(text, alignment, frames, timed, capacity, &n);
 *   linnet_pronounced_text_destroy(text);
 *
 * Threads: a text is immutable and may be read from many threads.
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

/* The caller owns all objects. Only linnet_pronounced_text_create uses them. */
struct linnet_pronounced_text_settings {
  size_t size;                                     /* set by ..._default */
  const struct linnet_text_normalizer *normalizer; /* required; linnet_text_normalizer_load can create one without
                                                      rules */
  const struct linnet_lexicon *lexicon;            /* the known words; NULL: none */
  const struct linnet_g2p *g2p;                    /* guesses all other words; NULL: they stay unknown */
  const struct linnet_symbols *phones; /* labels of the guessed phones, with or without stress digits; must be those of
                                        * the lexicon if there is one; NULL: those of the lexicon */
};

LINNET_API void linnet_pronounced_text_settings_default(struct linnet_pronounced_text_settings *settings, size_t size);
#define linnet_pronounced_text_settings_default(settings)                                                              \
  linnet_pronounced_text_settings_default(settings, sizeof *(settings))

enum linnet_word_source {
  LINNET_WORD_KNOWN = 0,   /* the lexicon has all its spoken words */
  LINNET_WORD_GUESSED = 1, /* at least a part of its pronunciation is guessed */
  LINNET_WORD_UNKNOWN = 2  /* it has no pronunciation and is not aligned */
};

/* A word as it is written: the characters between white space. Strings live as long as the text. */
struct linnet_written_word {
  const char *text;
  size_t line, column; /* the position of its first character, from 1; columns are code points */
  enum linnet_word_source source;
  const char *missing; /* for LINNET_WORD_UNKNOWN: the spoken words that are unknown, separated by spaces; otherwise
                          NULL */
  const char *written; /* `text` with what stands alone beside it and is not said, with spaces between: punctuation and
                          marks such as "[music]" after the word, and before the first word of the text */
};

struct linnet_pronounced_text;

/* Splits `text` at white space and finds the pronunciations of each word, for all ways to say it that the
 * normalizer returns: at most LINNET_ALIGN_MAX_VARIANTS. Punctuation between white space, and marks of table `silent`
 * (docs/text-rules.md), are not words. Bytes that are not UTF-8 give LINNET_ERROR_FORMAT with `name`, line and column.
 * Memory is a small multiple of the text and its pronunciations. */
LINNET_API enum linnet_status linnet_pronounced_text_create(struct linnet_context *context, const char *text,
                                                            const char *name,
                                                            const struct linnet_pronounced_text_settings *settings,
                                                            struct linnet_pronounced_text **result);

/* All words in the order of the text. */
LINNET_API const struct linnet_written_word *linnet_pronounced_text_words(const struct linnet_pronounced_text *text,
                                                                          size_t *count);

/* The words that have pronunciations, for linnet_alignment_create; the index among all words of one of them,
 * LINNET_NOT_FOUND out of range; the spoken words of one of its variants, separated by spaces, NULL out of range. They
 * live as long as the text. */
LINNET_API const struct linnet_align_word *linnet_pronounced_text_align_words(const struct linnet_pronounced_text *text,
                                                                              size_t *count);
LINNET_API size_t linnet_pronounced_text_index(const struct linnet_pronounced_text *text, size_t aligned);
LINNET_API const char *linnet_pronounced_text_spoken(const struct linnet_pronounced_text *text, size_t aligned,
                                                     size_t variant);

/* A written word with its times. */
struct linnet_timed_word {
  size_t word;       /* index of the written word */
  size_t aligned;    /* index into linnet_alignment_words; LINNET_NOT_FOUND: the times are interpolated */
  double start, end; /* frames */
};

/* Gives each written word its times from the alignment of this text, in order of time. Words without a pronunciation
 * get times between those of their neighbours: they divide the frames between the neighbours in proportion to their
 * lengths. If there are no such frames, the neighbours give half a frame for each word, but each of them keeps at least
 * a third of its own frames. (If the alignment has jumps, a word without a pronunciation gets times only next to a
 * neighbour in the text that was spoken.) `frames` is the length of the recording. *count is the number of words.
 * LINNET_ERROR_LIMIT, without a sentence, if it is above `capacity`; LINNET_ERROR_MEMORY. */
LINNET_API enum linnet_status linnet_pronounced_text_word_times(const struct linnet_pronounced_text *text,
                                                                const struct linnet_alignment *alignment, size_t frames,
                                                                struct linnet_timed_word *timed, size_t capacity,
                                                                size_t *count);

/* Destroys the text; NULL is allowed. */
LINNET_API void linnet_pronounced_text_destroy(struct linnet_pronounced_text *text);

#ifdef __cplusplus
}
#endif
#endif
