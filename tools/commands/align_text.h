/* The options for texts that are aligned, and the messages about words without a pronunciation. */
#ifndef LINNET_TOOL_ALIGN_TEXT_H
#define LINNET_TOOL_ALIGN_TEXT_H

#include <popt.h>
#include <stdbool.h>

#include <linnet/model.h>
#include <linnet/text_aligner.h>

/* --g2p and --text-rules; whether words are guessed. */
extern struct poptOption align_words_options[];
bool align_words_guessed(void);

/* Creates an aligner for the symbols of a model. For texts of words it uses the text rules and the grapheme-to-phoneme
 * model that the options name; `lexicon` may be NULL. NULL after printing why it failed. */
struct linnet_text_aligner *align_text_open(struct linnet_context *context, const struct linnet_model *model,
                                            bool words, const char *lexicon);

/* Prints the words of a text that have no pronunciation or a guessed one. If this is an error, prints the remedy and
 * returns false. Messages use `name` for the input and `source` for the text. `lexicon` is the path; may be NULL. */
bool align_text_check(const struct linnet_aligned_text *text, const char *lexicon, bool skip_unknown, const char *name,
                      const char *source);

#endif
