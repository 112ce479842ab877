/* What `linnet train` shows and writes while it runs: a progress line, a line per epoch, log.jsonl and batches.txt. */
#ifndef LINNET_TRAIN_LOG_H
#define LINNET_TRAIN_LOG_H

#include <linnet/train.h>

#include "common/tool.h"

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
