/* What `linnet train` is made of. */
#ifndef LINNET_TOOL_TRAIN_PARTS_H
#define LINNET_TOOL_TRAIN_PARTS_H

#include <linnet/augment.h>
#include <linnet/lexicon.h>
#include <linnet/train.h>

#include "common/tool.h"

/* --- the configuration (train_config.c) --------------------------------------------------------------------------- */

/* The configuration of `linnet train`: one JSON file,
 *
 *   {"model": {...}, "features": {...}, "training": {...}, "augment": {...}}
 *
 * "model" and "features" are those of a model file (docs/model-file.md). Every key may be left out; unknown ones are
 * errors. Command-line options of the form KEY=VALUE set keys of "training". */

enum { MAX_SPEEDS = 8 };

struct train_config {
  char *model, *features; /* JSON text */
  struct linnet_feature_config feature_config;
  struct linnet_train_settings training;

  /* augmentation of training utterances */
  double speeds[MAX_SPEEDS]; /* one is drawn each time */
  size_t num_speeds;         /* 0: only the recording's own */
  bool specaugment;
  struct linnet_specaugment_settings masks;
  char *noise; /* a list of clips, lines "name path"; NULL: none */
  struct linnet_noise_settings mixing;
  struct linnet_level_settings level; /* this and the next two: size 0 where the file lacks the section */
  struct linnet_band_settings band;
  struct linnet_padding_settings padding; /* by clips of `noise`, or digital silence */
  char *recipe;                           /* all of this as one line */
};

/* Reads `path` (NULL: all defaults) and then settings "key=value" (`count`). False after printing what is wrong. */
bool train_config_load(struct linnet_context *context, const char *path, const char *const *settings, size_t count,
                       struct train_config *config);
void train_config_free(struct train_config *config);

/* --- data (train_corpus.c) ---------------------------------------------------------------------------------------- */

/* The data of `linnet train`: utterances of Kaldi-style folders, held in memory as 16-bit samples (one copy per speed),
 * with labels; and the callbacks that a trainer wants. */

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

/* --- what it shows and writes (train_log.c) ----------------------------------------------------------------------- */

/* What `linnet train` shows and writes while it runs: a progress line, a line per epoch, log.jsonl and batches.txt. */

struct train_log {
  const struct linnet_corpus *corpus;
  const struct linnet_context *context; /* whose kernels and device run, for the record */
  double frame_seconds;
  /* Set by train_log_open: */
  char path[4096];
  FILE *batches; /* "epoch utterance utterance ...", or NULL */
  struct tool_progress progress;
  unsigned epoch; /* the progress line is of this epoch */
};

/* Opens FOLDER/log.jsonl and, where `batches`, FOLDER/batches.txt. Of those that are there, only the epochs and the
 * steps are kept that `trainer` has done: a run that was killed makes the later ones again. False after printing why
 * not. */
bool train_log_open(struct train_log *log, const char *folder, const struct linnet_trainer *trainer, bool batches);
struct linnet_train_events train_log_events(struct train_log *log);
void train_log_close(struct train_log *log);

#endif
