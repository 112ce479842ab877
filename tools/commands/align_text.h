/* The options for texts that are aligned, and the messages about words without a pronunciation. */
#ifndef LINNET_TOOL_ALIGN_TEXT_H
#define LINNET_TOOL_ALIGN_TEXT_H

#include <popt.h>
#include <stdbool.h>

#include <linnet/recognizer.h>

/* --g2p and --text-rules. */
extern struct poptOption align_words_options[];

/* Whether words can have pronunciations: from `lexicon`, from --g2p, or from a file of `folder` (both may be NULL). */
bool align_words_pronounced(const char *lexicon, const char *folder);

/* Prints the remedy if they cannot; returns TOOL_FAILURE. */
int align_words_fail(void);

/* Creates an aligner for the symbols of a recognizer. Texts of words use the lexicon (may be NULL), the text rules and
 * the grapheme-to-phoneme model that the options name, and for what they do not name the files of `folder` (may be
 * NULL). NULL after printing why it failed. */
struct linnet_text_aligner *align_text_open(struct linnet_context *context, const struct linnet_recognizer *recognizer,
                                            bool words, const char *lexicon, const char *folder);

/* Prints the words of a text that have no pronunciation or a guessed one. If this is an error, prints the remedy and
 * returns false. Messages use `name` for the input and `source` for the text. `lexicon` is its path, NULL: none was
 * named. */
bool align_text_check(const struct linnet_aligned_text *text, const char *lexicon, bool skip_unknown, const char *name,
                      const char *source);

#endif
