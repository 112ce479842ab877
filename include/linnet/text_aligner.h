/* Finds the times, in seconds, of the words and phones of a text in a recording. It combines the pronunciations of the
 * text (pronounced_text.h) and forced alignment (align.h), and returns the result in the structure of the output
 * formats (output.h).
 *
 *   linnet_text_aligner_settings_default(&settings);
 *   settings.lexicon.path = "cmudict.dict";
 *   linnet_text_aligner_create(context, names, num_symbols, &settings, &aligner);
 *   linnet_aligned_text_create(context, aligner, "hello world", "text", &text);
 *   linnet_aligned_text_align(text, log_posteriors, frames, 0.01, seconds, NULL);
 *   struct linnet_output output = {.size = sizeof output, .id = "u1", .seconds = seconds};
 *   linnet_aligned_text_describe(text, &output);                 // words, phones, lines, jumps
 *
 * linnet_recognizer_load_aligner (recognizer.h) creates an aligner with the pronunciations of a recognizer.
 *
 * Threads: an aligner is immutable; a text is used from one thread at a time. Any number of texts share one aligner,
 * each created with its own context handle (linnet_context_share).
 *
 * Stability: experimental (linnet.h). */
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
  struct linnet_source lexicon; /* pronunciations; none: `g2p` guesses every word; without `g2p`, all words are unknown.
                                   Stress digits are removed unless the symbols have them */
  struct linnet_source g2p;     /* guesses words that the lexicon does not have (g2p.h); none: they stay unknown. A file
                                   is loaded with the first such word, and must stay until then; at first only its kind
                                   is checked */
  struct linnet_source rules; /* how numbers, abbreviations etc. are spoken (text_normalizer.h); none: they are unknown
                                 words */
  float emission_delay;       /* seconds by which the posteriors have symbols later than the audio, 0 (default) to 10.
                                 Spans and jumps are earlier by it, but not before the recording: phones whose time
                                 that would be follow each other from its start, one row each */
};

LINNET_API void linnet_text_aligner_settings_default(struct linnet_text_aligner_settings *settings, size_t size);
#define linnet_text_aligner_settings_default(settings)                                                                 \
  linnet_text_aligner_settings_default(settings, sizeof *(settings))

struct linnet_text_aligner;

/* Creates an aligner. names[0], the blank, to names[num_symbols - 1] are the names of the posteriors' symbols.
 * `settings` may be NULL. */
LINNET_API enum linnet_status linnet_text_aligner_create(struct linnet_context *context, const char *const *names,
                                                         size_t num_symbols,
                                                         const struct linnet_text_aligner_settings *settings,
                                                         struct linnet_text_aligner **aligner);

/* Destroys the aligner; NULL is allowed. Destroy its texts first. */
LINNET_API void linnet_text_aligner_destroy(struct linnet_text_aligner *aligner);

struct linnet_aligned_text;

/* Creates a text of words, with the pronunciations of all ways to say them. Words without a pronunciation are not
 * aligned; they get times between those of their neighbours. `name` is for messages. The aligner must outlive the
 * text. */
LINNET_API enum linnet_status linnet_aligned_text_create(struct linnet_context *context,
                                                         const struct linnet_text_aligner *aligner, const char *text,
                                                         const char *name, struct linnet_aligned_text **result);

/* Creates a text of phones, with or without stress digits, separated by white space. LINNET_ERROR_FORMAT if a phone is
 * not among the symbols. */
LINNET_API enum linnet_status linnet_aligned_text_create_phones(struct linnet_context *context,
                                                                const struct linnet_text_aligner *aligner,
                                                                const char *phones, const char *name,
                                                                struct linnet_aligned_text **result);

/* The words or phones exactly as in the text; the words with their properties, NULL for a text of phones. They live as
 * long as the text. */
LINNET_API const char *const *linnet_aligned_text_tokens(const struct linnet_aligned_text *text, size_t *num_tokens);
LINNET_API const struct linnet_written_word *linnet_aligned_text_words(const struct linnet_aligned_text *text,
                                                                       size_t *num_words);

/* The number of words that can be aligned, and the index among the tokens of one of them. */
LINNET_API size_t linnet_aligned_text_num_aligned(const struct linnet_aligned_text *text);
LINNET_API size_t linnet_aligned_text_index(const struct linnet_aligned_text *text, size_t aligned);

/* Aligns the text to log_posteriors (frames, symbols), as linnet_alignment_create does with `settings` (may be NULL).
 * `frame_seconds`, above 0, is the duration of a row, `seconds` that of the recording; the last row may end later.
 * LINNET_ERROR_ARGUMENT for other numbers: then the text keeps the alignment that it has. Otherwise a second call
 * for the same text replaces the result of the first. The call can be cancelled and reports its progress
 * (linnet_cancel_fn). */
LINNET_API enum linnet_status linnet_aligned_text_align(struct linnet_aligned_text *text, const float *log_posteriors,
                                                        size_t frames, double frame_seconds, double seconds,
                                                        const struct linnet_align_settings *settings);

/* The alignment, with times in frames; NULL before linnet_aligned_text_align. */
LINNET_API const struct linnet_alignment *linnet_aligned_text_alignment(const struct linnet_aligned_text *text);

/* Sets members of `output`: phones, words (NULL for a text of phones) and, if the settings of the alignment allowed
 * jumps, jumps. The lines of a text of several lines are segments; a line without an aligned word is none. `size` must
 * be set; the other members stay. They are valid as long as the text, but only until its next alignment.
 * LINNET_ERROR_STATE before linnet_aligned_text_align. */
LINNET_API enum linnet_status linnet_aligned_text_describe(const struct linnet_aligned_text *text,
                                                           struct linnet_output *output);

/* Destroys the text; NULL is allowed. */
LINNET_API void linnet_aligned_text_destroy(struct linnet_aligned_text *text);

#ifdef __cplusplus
}
#endif
#endif
