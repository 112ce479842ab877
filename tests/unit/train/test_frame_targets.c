/* Training with frame targets on a small synthetic corpus: their loss falls, with the same bytes on any number of
 * threads and after interruptions, also with two views; and what is refused: weights, a corpus without targets or with
 * symbols that do not exist, a GPU, other targets when a training continues. */
#include "refused_training.h"
#include "side_loss.h"

static struct run targeted_run(unsigned threads, unsigned epochs) {
  struct run run = make_run(transformer, threads, epochs);
  run.train.masking = MASKED;
  run.frame_weight = 0.3;
  return run;
}

/* --- learning ----------------------------------------------------------------------------------------------------- */

static void test_learning(void) {
  const struct run run = targeted_run(1, 20);
  struct run without = run;
  without.frame_weight = 0;
  check_side_loss(&run, &without, offsetof(struct run, last_frame_loss), 0.5);
}

static void test_interruptions(void) {
  struct run run = targeted_run(2, 2);
  run.consistency = 0.2;
  unsigned parts = train_in_parts(&run, stop_after_three_steps);
  CHECK(parts > 2, "only %u interruptions", parts - 1);
}

/* --- refused ------------------------------------------------------------------------------------------------------ */

static void test_weights(void) {
  static const double bad[] = {-0.1, 101, NAN};
  char folder[64];
  struct run run = targeted_run(1, 1);
  make_folder(folder);
  for (size_t i = 0; i < 3; i++) {
    run.frame_weight = bad[i];
    check_refused(&run, folder, LINNET_ERROR_ARGUMENT, "frame weight");
  }
  remove_folder(folder);
}

static void test_targets(void) {
  static const struct {
    int wrong;
    const char *part;
  } cases[] = {{-1, "utterance utt-00: the target -1 of frame 0 is out of range"},
               {SYMBOLS, "utterance utt-00: the target 5 of frame 0 is out of range; it must be 0 to 4"}};
  char folder[64];
  make_folder(folder);
  struct run run = targeted_run(1, 1);
  run.train.untargeted = true;
  check_refused(&run, folder, LINNET_ERROR_ARGUMENT, "needs the corpus's targets");
  run.train.untargeted = false;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run.train.wrong_target = cases[i].wrong;
    check_refused(&run, folder, LINNET_ERROR_ARGUMENT, cases[i].part);
  }
  remove_folder(folder);
}

/* A training with targets continues only with the same ones. */
static void test_continued(void) {
  char folder[64];
  struct run run = targeted_run(1, 1);
  train(&run, make_folder(folder));
  CHECK(run.status == LINNET_OK, "%s", run.error);
  run.frame_weight = 0.5;
  check_refused(&run, folder, LINNET_ERROR_STATE, "frame_weight 0.3, not 0.5");
  run.frame_weight = 0.3;
  run.train.late_targets = true;
  check_refused(&run, folder, LINNET_ERROR_STATE, "other settings, other frame targets:");
  run.train.late_targets = false;
  check_refused(&run, folder, LINNET_OK, "");
  remove_folder(folder);
}

/* Without the op. */
static void test_gpu(void) {
  limited_ops = linnet_cpu_device_ops;
  limited_ops.frame_targets = NULL;
  check_not_on_gpu(targeted_run(1, 1));
}

int main(void) {
  test_learning();
  test_interruptions();
  test_weights();
  test_targets();
  test_continued();
  test_gpu();
  return test_result();
}
