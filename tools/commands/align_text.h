/* The options for texts that are aligned, and the messages about words without a pronunciation. */
#ifndef LINNET_TOOL_ALIGN_TEXT_H
#define LINNET_TOOL_ALIGN_TEXT_H

#include <popt.h>
#include <stdbool.h>

#include <linnet/recognizer.h>

#include "common/default_model.h"

/* --g2p and --text-rules. */
extern struct poptOption align_words_options[];

/* The name of one of these options that is given; NULL: none is. */
const char *align_words_given(void);

/* A text file ("-": standard input); the caller frees the result. NULL after printing why it cannot be aligned. */
char *align_read_text(const char *path);

/* The path of the text beside an audio file, NAME.txt or NAME.lab; the caller frees it. NULL after printing that there
 * is none, or that there are two. */
char *align_find_beside(const char *audio);

/* No output may replace the texts beside an audio file (separate_check_again). */
void align_add_beside(const char *audio);

/* Where the pronunciations of words come from, beside --g2p. */
struct align_words_source {
  const char *named;            /* a lexicon that the user names, NULL: none */
  struct tool_word_files files; /* of the model, for what the options do not name */
};

/* Whether words can have pronunciations, with and without the files of the model. */
bool align_words_pronounced(const struct align_words_source *source, bool files);

/* Prints the remedy if they cannot; returns TOOL_FAILURE. */
int align_words_fail(void);

/* Creates an aligner for the symbols of a recognizer. `words`: of the words' source, NULL for texts of phones. NULL
 * after printing why it failed. */
struct linnet_text_aligner *align_text_open(struct linnet_context *context, const struct linnet_recognizer *recognizer,
                                            const struct align_words_source *words);

/* Prints the words of a text that have no pronunciation or a guessed one. `fate`: what happens to a word without one,
 * for the warning; NULL: such a word is an error, so prints the remedy and returns false. Messages use `name` for the
 * input and `source` for the text. */
bool align_text_check(const struct linnet_aligned_text *text, const struct align_words_source *words, const char *fate,
                      const char *name, const char *source);

#endif
