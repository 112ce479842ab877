/* Training with label priors, on a small synthetic corpus: it learns, the first epoch is one without them, and the
 * bytes are the same on any number of threads and after interruptions, also with two views; and what is refused:
 * settings, CTC-CRF, a GPU, another scale when a training continues. */
#include "refused_training.h"

static struct run prior_run(double scale, unsigned threads, unsigned epochs) {
  struct run run = make_run(transformer, threads, epochs);
  run.ctc_prior_scale = scale;
  return run;
}

/* Whether two runs give the same model. */
static bool same_result(struct run a, struct run b) {
  char folders[2][64];
  train(&a, make_folder(folders[0]));
  train(&b, make_folder(folders[1]));
  CHECK(a.status == LINNET_OK && b.status == LINNET_OK, "%s, %s", a.error, b.error);
  const bool same = same_model(folders[0], folders[1]);
  remove_folder(folders[0]);
  remove_folder(folders[1]);
  return same;
}

static void test_learning(void) {
  char folder[64];
  struct run run = prior_run(0.3, 1, 30);
  train(&run, make_folder(folder));
  CHECK(run.status == LINNET_OK && run.last_loss < 0.3 * run.first_loss, "%g, %g: %s", run.first_loss, run.last_loss,
        run.error);
  remove_folder(folder);
  CHECK(same_result(prior_run(0.3, 1, 1), prior_run(0, 1, 1)), "the first epoch has priors");
  CHECK(!same_result(prior_run(0.3, 1, 3), prior_run(0, 1, 3)), "priors change nothing");
  CHECK(same_result(prior_run(0.3, 1, 4), prior_run(0.3, 3, 4)), "models of 1 and 3 threads differ");
}

static void test_interruptions(void) {
  struct run run = prior_run(0.5, 2, 4);
  run.train.masking = MASKED;
  run.consistency = 0.2;
  unsigned parts = train_in_parts(&run, stop_after_three_steps);
  CHECK(parts > 4, "only %u interruptions", parts - 1);
}

static void test_settings(void) {
  static const double bad[] = {-0.1, 1.1, NAN};
  char folder[64];
  struct run run;
  make_folder(folder);
  for (size_t i = 0; i < 3; i++) {
    run = prior_run(bad[i], 1, 1);
    check_refused(&run, folder, LINNET_ERROR_ARGUMENT, "CTC prior scale");
  }
  run = prior_run(0.3, 1, 1);
  train(&run, folder);
  run.ctc_prior_scale = 0.5;
  check_refused(&run, folder, LINNET_ERROR_STATE, "ctc_prior_scale=");
  run.ctc_prior_scale = 0;
  check_refused(&run, folder, LINNET_ERROR_STATE, "ctc_prior_scale=");
  remove_folder(folder);
}

/* A device with memory of its own. */
static void test_gpu(void) {
  limited_ops = linnet_cpu_device_ops;
  limited_ops.host = false;
  check_not_on_gpu(prior_run(0.3, 1, 1));
}

int main(void) {
  test_learning();
  test_interruptions();
  test_settings();
  test_gpu();
  return test_result();
}
