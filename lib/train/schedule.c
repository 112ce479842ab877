/* Computes the learning rate of a step, and whether training has stopped improving. */
#include "train/schedule.h"

#include <math.h>

void linnet_schedule_start(const struct linnet_train_settings *settings, struct linnet_schedule *schedule) {
  *schedule = (struct linnet_schedule){
      .rate = settings->learning_rate, .best = INFINITY, .best_loss = INFINITY, .tie_loss = INFINITY};
}

static double cosine(const struct linnet_train_settings *settings, double progress) {
  const double pi = 3.14159265358979323846;
  double low = settings->min_learning_rate, high = settings->learning_rate;
  return low + (high - low) * (1 + cos(pi * fmin(progress, 1))) / 2;
}

double linnet_schedule_rate(const struct linnet_train_settings *settings, const struct linnet_schedule *schedule,
                            uint64_t step, double progress) {
  double rate = settings->schedule == LINNET_TRAIN_COSINE ? cosine(settings, progress) : schedule->rate;
  return step < settings->num_warmup_steps ? rate * (double)step / (double)settings->num_warmup_steps : rate;
}

bool linnet_schedule_epoch(const struct linnet_train_settings *settings, struct linnet_schedule *schedule,
                           double result, double loss) {
  bool best = result < schedule->best || (result == schedule->best && loss < schedule->tie_loss);
  if (best)
    schedule->tie_loss = loss;
  if (best || loss < schedule->best_loss) {
    schedule->best = fmin(result, schedule->best);
    schedule->best_loss = fmin(loss, schedule->best_loss);
    schedule->waiting = schedule->stagnant = 0;
    return best;
  }
  schedule->stagnant++;
  if (++schedule->waiting >= settings->plateau_patience) {
    schedule->rate = fmax(schedule->rate * settings->plateau_factor, settings->min_learning_rate);
    schedule->waiting = 0;
  }
  return false;
}

bool linnet_schedule_stopped(const struct linnet_train_settings *settings, const struct linnet_schedule *schedule) {
  return settings->patience > 0 && schedule->stagnant >= settings->patience;
}
