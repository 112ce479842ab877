/* Training with CTC after a layer, on a small synthetic corpus: both losses fall, with the same bytes on any number of
 * threads and after interruptions, also with two views; and what is refused: settings, kinds of network, a GPU, other
 * settings when a training continues. */
#include "refused_training.h"
#include "side_loss.h"

static struct run intermediate_run(const char *config, unsigned threads, unsigned epochs) {
  struct run run = make_run(config, threads, epochs);
  run.intermediate_ctc = 1;
  return run;
}

/* --- learning ----------------------------------------------------------------------------------------------------- */

static void test_learning(const char *config, unsigned epochs) {
  const struct run run = intermediate_run(config, 1, epochs);
  struct run without = run;
  without.intermediate_ctc = 0;
  struct run trained = check_side_loss(&run, &without, offsetof(struct run, last_intermediate), 0.5);
  CHECK(trained.last_loss < 0.3 * trained.first_loss, "%g, %g", trained.first_loss, trained.last_loss);
}

static void test_interruptions(void) {
  struct run run = intermediate_run(transformer, 2, 4);
  run.train.masking = MASKED;
  run.consistency = 0.2;
  unsigned parts = train_in_parts(&run, stop_after_three_steps);
  CHECK(parts > 4, "only %u interruptions", parts - 1);
}

/* --- refused ------------------------------------------------------------------------------------------------------ */

static void test_settings(void) {
  static const double bad[] = {-0.1, 101, NAN};
  char folder[64];
  const struct run good = intermediate_run(transformer, 1, 1);
  struct run run = good;
  make_folder(folder);
  for (size_t i = 0; i < 3; i++) {
    run.intermediate_weight = bad[i];
    check_refused(&run, folder, LINNET_ERROR_ARGUMENT, "intermediate weight");
  }
  run = good;
  run.intermediate_ctc = 2;
  check_refused(&run, folder, LINNET_ERROR_ARGUMENT, "after layer 2 of 2");
  run = intermediate_run(blstm, 1, 1);
  check_refused(&run, folder, LINNET_ERROR_UNSUPPORTED, "transformers only");
  run = good;
  train(&run, folder);
  run.intermediate_weight = 0.5;
  check_refused(&run, folder, LINNET_ERROR_STATE, "intermediate_weight 0.3, not 0.5");
  run.intermediate_ctc = 0;
  check_refused(&run, folder, LINNET_ERROR_STATE, "with intermediate_ctc=1");
  remove_folder(folder);
}

/* A device with memory of its own. */
static void test_gpu(void) {
  limited_ops = linnet_cpu_device_ops;
  limited_ops.host = false;
  check_not_on_gpu(intermediate_run(transformer, 1, 1));
}

int main(void) {
  test_learning(transformer, 30);
  test_learning(post_norm, 60);
  test_interruptions();
  test_settings();
  test_gpu();
  return test_result();
}
