/* The options for texts that are aligned, and what is said of their words. */
#ifndef LINNET_TOOL_ALIGN_TEXT_H
#define LINNET_TOOL_ALIGN_TEXT_H

#include <popt.h>
#include <stdbool.h>

#include <linnet/model.h>
#include <linnet/text_aligner.h>

/* --g2p and --text-rules; whether words are guessed. */
extern struct poptOption align_words_options[];
bool align_words_guessed(void);

/* An aligner to the symbols of a model, for texts of words with the rules and the model of pronunciations that the
 * options name, or for texts of phones; `lexicon` may be NULL. NULL after printing why not. */
struct linnet_text_aligner *align_text_open(struct linnet_context *context, const struct linnet_model *model,
                                            bool words, const char *lexicon);

/* Names the words of a text that have no pronunciation, or a guessed one. False, after printing what to do, if that is
 * an error. `name` is that of the input, `source` that of the text in messages; `lexicon` (may be NULL) the path. */
bool align_text_check(const struct linnet_aligned_text *text, const char *lexicon, bool skip_unknown, const char *name,
                      const char *source);

#endif
