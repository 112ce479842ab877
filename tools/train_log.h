/* What `linnet train` shows and writes while it runs: a progress line, a line per epoch, log.jsonl and batches.txt. */
#ifndef LINNET_TRAIN_LOG_H
#define LINNET_TRAIN_LOG_H

#include <linnet/train.h>

#include "tool.h"

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

/* Opens FOLDER/log.jsonl, of which only epochs up to `epoch` are kept (a run that was killed repeats the later ones),
 * and, where `batches`, FOLDER/batches.txt. False after printing why not. */
bool train_log_open(struct train_log *log, const char *folder, unsigned epoch, bool batches);
struct linnet_train_events train_log_events(struct train_log *log);
void train_log_close(struct train_log *log);

#endif
