/* What `linnet g2p` does, once its options are read. */
#ifndef LINNET_TOOL_G2P_TASKS_H
#define LINNET_TOOL_G2P_TASKS_H

#include <linnet/g2p.h>
#include <linnet/lexicon.h>

#include "common/tool.h"

/* CMUdict or Kaldi's lexicon; without stress digits unless `stress`. NULL after printing why. */
struct linnet_lexicon *g2p_open_lexicon(struct linnet_context *context, const char *path, bool stress);

/* Whether phones of the model end in stress digits. */
bool g2p_has_stress(const struct linnet_g2p *g2p);

/* What pronounces words. */
struct g2p_source {
  struct linnet_g2p *g2p;
  struct linnet_lexicon *lexicon; /* which is asked first; NULL: none */
};

/* `named`: a model of pronunciations, or a recognizer, of which the model is opened and, if `lexicon`, its lexicon.
 * NULL: the recognizer that tool_find_recognizer finds. Returns the exit code; close the source in any case. */
int g2p_open_source(struct linnet_context *context, const char *named, bool lexicon, struct g2p_source *source);
void g2p_close_source(struct g2p_source *source);

/* Prints the error rates of the model's best pronunciations for the words of the lexicon. every = 0: for all words;
 * else for the words whose index i has i mod every = every - 1. Any pronunciation of the lexicon counts as right. */
bool g2p_measure(struct linnet_context *context, const struct linnet_g2p *g2p, const struct linnet_lexicon *lexicon,
                 size_t every, size_t nbest);

/* Files of words; NULL: none. */
struct g2p_words {
  const char *transcripts; /* lines "ID WORD WORD ..." */
  const char *text;        /* words, separated by white space */
};

/* Copies the lexicon at `path` to `output` and appends the best pronunciations of the words that it lacks. */
bool g2p_complete(struct linnet_context *context, const struct linnet_g2p *g2p, const char *path,
                  const struct g2p_words *words, const char *output);

#endif
