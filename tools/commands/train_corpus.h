/* The data of `linnet train`: utterances of Kaldi-style folders, held in memory as 16-bit samples (one copy per speed),
 * with labels; and the callbacks that a trainer wants. */
#ifndef LINNET_TRAIN_CORPUS_H
#define LINNET_TRAIN_CORPUS_H

#include <linnet/lexicon.h>

#include "train_config.h"

/* How transcripts become labels. */
struct train_labels {
  const char *file;                     /* in each data folder: "phones", "text" ... */
  const struct linnet_lexicon *lexicon; /* words to phones; NULL: tokens are symbols */
  struct linnet_symbols *symbols;       /* tokens not in it are added while `open`, else errors */
  bool open;
};

struct train_corpus;

/* Loads folders (`count` names) into one corpus; NULL after printing why. Utterances without audio or labels are named
 * and counted. `augmented`: the configuration's speeds, noise and masks are used when epoch > 0. */
struct train_corpus *train_corpus_load(struct linnet_context *context, const char *const *folders, size_t count,
                                       const struct train_config *config, struct train_labels *labels, bool augmented);

/* Sets the CMVN statistics that go beyond an utterance. Per speaker: of this corpus. Global: *global if it holds any
 * (count > 0), else those of this corpus, which go into *global. */
bool train_corpus_normalise(struct linnet_context *context, struct train_corpus *corpus, struct linnet_cmvn *global);

/* The callbacks; valid as long as the corpus. */
struct linnet_corpus train_corpus_callbacks(struct train_corpus *corpus);

/* Hours of speech, without copies. */
double train_corpus_hours(const struct train_corpus *corpus);

void train_corpus_free(struct train_corpus *corpus);

#endif
