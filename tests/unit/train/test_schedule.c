/* The plateau schedule: when the rate falls, when training ends, and that a loss that falls is no plateau.
 */
#include "test.h"
#include "train/schedule.h"

static struct linnet_train_settings settings_of(unsigned plateau_patience, unsigned patience) {
  struct linnet_train_settings settings;
  linnet_train_settings_default(&settings);
  settings.schedule = LINNET_TRAIN_PLATEAU;
  settings.learning_rate = 1, settings.min_learning_rate = 0.2, settings.plateau_factor = 0.5;
  settings.plateau_patience = plateau_patience, settings.patience = patience;
  settings.num_warmup_steps = 0;
  return settings;
}

static void test_plateau(void) {
  static const struct {
    double result, loss, rate;
    bool best, stopped;
  } epochs[] = {{50, 9, 1, true, false},     {50, 9, 1, false, false},   {51, 9, 0.5, false, false},
                {52, 9, 0.5, false, false},  {40, 9, 0.5, true, false},  {41, 9, 0.5, false, false},
                {40, 8, 0.5, true, false},   {45, 8, 0.5, false, false}, {45, 8, 0.25, false, false},
                {45, 8, 0.25, false, false}, {45, 8, 0.2, false, true}};
  struct linnet_train_settings settings = settings_of(2, 4);
  struct linnet_schedule schedule;
  linnet_schedule_start(&settings, &schedule);
  for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++) {
    bool best = linnet_schedule_epoch(&settings, &schedule, epochs[i].result, epochs[i].loss);
    double rate = linnet_schedule_rate(&settings, &schedule, 1, 0);
    CHECK(best == epochs[i].best && rate == epochs[i].rate, "epoch %zu: best %d, rate %g", i + 1, best, rate);
    CHECK(linnet_schedule_stopped(&settings, &schedule) == epochs[i].stopped, "epoch %zu", i + 1);
  }
}

static void test_before_the_first_labels(void) {
  struct linnet_train_settings settings = settings_of(2, 4);
  struct linnet_schedule schedule;
  linnet_schedule_start(&settings, &schedule);
  CHECK(linnet_schedule_epoch(&settings, &schedule, 100, 20), "the first epoch is the best so far");
  for (size_t i = 0; i < 20; i++)
    CHECK(linnet_schedule_epoch(&settings, &schedule, 100, 19 - (double)i), "epoch %zu has a lower loss", i + 2);
  CHECK(!linnet_schedule_epoch(&settings, &schedule, 100, 0), "the same result and loss");
  CHECK(linnet_schedule_rate(&settings, &schedule, 1, 0) == 1, "the rate fell");
  CHECK(!linnet_schedule_stopped(&settings, &schedule), "stopped");
}

/* The loss of the best epoch decides, not the lowest of all. */
static void test_ties(void) {
  struct linnet_train_settings settings = settings_of(2, 4);
  struct linnet_schedule schedule;
  linnet_schedule_start(&settings, &schedule);
  CHECK(linnet_schedule_epoch(&settings, &schedule, 40, 9), "the first");
  CHECK(!linnet_schedule_epoch(&settings, &schedule, 45, 7), "a worse result");
  CHECK(linnet_schedule_epoch(&settings, &schedule, 40, 8), "a lower loss than that of the best epoch");
  CHECK(!linnet_schedule_epoch(&settings, &schedule, 40, 8.5), "a higher loss than that of the best epoch");
}

int main(void) {
  test_ties();
  test_plateau();
  test_before_the_first_labels();
  return test_result();
}
