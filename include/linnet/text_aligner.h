/* Where the words and phones of a text lie in a recording, in seconds: the text's pronunciations (pronounced_text.h),
 * forced alignment (align.h), and the result as the output formats take it (output.h).
 *
 *   linnet_text_aligner_settings_default(&settings);
 *   settings.lexicon.path = "cmudict.dict";
 *   linnet_text_aligner_create(context, names, num_symbols, &settings, &aligner);
 *   linnet_aligned_text_create(context, aligner, "hello world", "text", &text);
 *   linnet_aligned_text_align(text, log_posteriors, frames, 0.01, seconds, NULL);
 *   struct linnet_output output = {.id = "u1", .seconds = seconds};
 *   linnet_aligned_text_describe(text, &output);                 // words, phones, jumps
 *
 * Threads: an aligner is immutable; a text is used from one thread at a time. Any number of texts share one aligner,
 * each made from its own context handle (linnet_context_share). */
#ifndef LINNET_TEXT_ALIGNER_H
#define LINNET_TEXT_ALIGNER_H

#include <linnet/align.h>
#include <linnet/output.h>
#include <linnet/pronounced_text.h>
#include <linnet/source.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linnet_text_aligner_settings {
  size_t size;                  /* set by ..._default */
  struct linnet_source lexicon; /* pronunciations; none: every word is guessed, or texts are phones. Stress digits are
                                   dropped unless symbols have them */
  struct linnet_source g2p;     /* guesses words that the lexicon does not have (g2p.h); none: they stay unknown */
  struct linnet_source rules; /* how numbers and the like are said (text_normalizer.h); none: they are unknown words */
};

LINNET_API void linnet_text_aligner_settings_default(struct linnet_text_aligner_settings *settings);

struct linnet_text_aligner;

/* For posteriors of symbols called names[0], the blank, to names[num_symbols - 1]. `settings` may be NULL. */
LINNET_API enum linnet_status linnet_text_aligner_create(struct linnet_context *context, const char *const *names,
                                                         size_t num_symbols,
                                                         const struct linnet_text_aligner_settings *settings,
                                                         struct linnet_text_aligner **aligner);

/* Destroys the aligner, after its texts; NULL is allowed. */
LINNET_API void linnet_text_aligner_destroy(struct linnet_text_aligner *aligner);

struct linnet_aligned_text;

/* A text of words, with the pronunciations of all ways to say them; words without one are not aligned, and get times
 * between those of their neighbours. `name` is for messages. The aligner must outlive the text. */
LINNET_API enum linnet_status linnet_aligned_text_create(struct linnet_context *context,
                                                         const struct linnet_text_aligner *aligner, const char *text,
                                                         const char *name, struct linnet_aligned_text **result);

/* A text of phones, with or without stress digits, between white space. One that the symbols do not have is
 * LINNET_ERROR_FORMAT. */
LINNET_API enum linnet_status linnet_aligned_text_create_phones(struct linnet_context *context,
                                                                const struct linnet_text_aligner *aligner,
                                                                const char *phones, const char *name,
                                                                struct linnet_aligned_text **result);

/* The words or phones as they stand in the text; the words with what is known of each, NULL for phones. They live as
 * long as the text. */
LINNET_API const char *const *linnet_aligned_text_tokens(const struct linnet_aligned_text *text, size_t *num_tokens);
LINNET_API const struct linnet_written_word *linnet_aligned_text_words(const struct linnet_aligned_text *text,
                                                                       size_t *num_words);

/* The number of words that are aligned, and the index in the tokens of one of them. */
LINNET_API size_t linnet_aligned_text_num_aligned(const struct linnet_aligned_text *text);
LINNET_API size_t linnet_aligned_text_index(const struct linnet_aligned_text *text, size_t aligned);

/* Aligns the text to log_posteriors (frames, symbols), as linnet_alignment_create does with `settings` (may be NULL).
 * A row stands for `frame_seconds`, the recording lasts `seconds`, beyond which the last row may reach. Again on the
 * same text, the earlier result is replaced. It can be cancelled and reports its progress (linnet_cancel_fn). */
LINNET_API enum linnet_status linnet_aligned_text_align(struct linnet_aligned_text *text, const float *log_posteriors,
                                                        size_t frames, double frame_seconds, double seconds,
                                                        const struct linnet_align_settings *settings);

/* What was found, in frames; NULL before linnet_aligned_text_align. */
LINNET_API const struct linnet_alignment *linnet_aligned_text_alignment(const struct linnet_aligned_text *text);

/* Puts phones, words (NULL for a text of phones) and, if these were looked for, jumps into what is written; other
 * members stay. Valid as long as the text, until it is aligned again. LINNET_ERROR_STATE before it is aligned. */
LINNET_API enum linnet_status linnet_aligned_text_describe(const struct linnet_aligned_text *text,
                                                           struct linnet_output *output);

/* Destroys the text; NULL is allowed. */
LINNET_API void linnet_aligned_text_destroy(struct linnet_aligned_text *text);

#ifdef __cplusplus
}
#endif
#endif
