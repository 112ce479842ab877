/* What `linnet g2p` does, once its options are read. */
#ifndef LINNET_TOOL_G2P_TASKS_H
#define LINNET_TOOL_G2P_TASKS_H

#include <linnet/g2p.h>
#include <linnet/lexicon.h>

#include "common/tool.h"

/* CMUdict or Kaldi's lexicon; without stress digits unless `stress`. NULL after printing why. */
struct linnet_lexicon *g2p_open_lexicon(struct linnet_context *context, const char *path, bool stress);

/* Prints the error rates of the model's best pronunciations of the lexicon's words: of all, or (every > 0) of those
 * whose number leaves every - 1 when divided by it. Any of a word's pronunciations counts as right. */
bool g2p_measure(struct linnet_context *context, const struct linnet_g2p *g2p, const struct linnet_lexicon *lexicon,
                 size_t every, size_t nbest);

/* Writes the lexicon at `path` to `output`, and after its lines the best pronunciations of those words of the
 * transcripts that it lacks. */
bool g2p_complete(struct linnet_context *context, const struct linnet_g2p *g2p, const char *path, const char *text,
                  const char *output);

#endif
