/* The learning rate over steps and epochs. Plain state: it is saved and restored as it is. */
#ifndef LINNET_SCHEDULE_H
#define LINNET_SCHEDULE_H

#include <stdbool.h>

#include <linnet/train.h>

struct linnet_schedule {
  double rate;       /* before warm-up */
  double best;       /* validation result (error rate or loss); infinity at the start */
  double best_loss;  /* of validation; likewise */
  double tie_loss;   /* that of the epoch with the best result, which decides ties of results; likewise */
  unsigned waiting;  /* epochs since the last improvement, or since the rate fell */
  unsigned stagnant; /* epochs since the last improvement */
};

void linnet_schedule_start(const struct linnet_train_settings *settings, struct linnet_schedule *schedule);

/* The rate for a step: `step` counts from 1 over the whole run; `progress` is the part of all epochs that is done. */
double linnet_schedule_rate(const struct linnet_train_settings *settings, const struct linnet_schedule *schedule,
                            uint64_t step, double progress);

/* Takes an epoch's validation result (smaller is better) and loss; true if the result is the best so far; of equal
 * results, that with the lower loss is better. An epoch is part of a plateau if neither result nor loss is the best so
 * far. CTC training begins with blank outputs only: the error rate stays near 100 %, while the loss falls. */
bool linnet_schedule_epoch(const struct linnet_train_settings *settings, struct linnet_schedule *schedule,
                           double result, double loss);

/* True if training should end. */
bool linnet_schedule_stopped(const struct linnet_train_settings *settings, const struct linnet_schedule *schedule);

#endif
