/* Training with stochastic depth, on a small synthetic corpus: it learns, with the same bytes on any number of threads
 * and after interruptions, also with two views; and what is refused: settings, a Bi-LSTM, a GPU, another probability
 * when a training continues. */
#include "refused_training.h"

static struct run depth_run(const char *config, double depth, unsigned threads, unsigned epochs) {
  struct run run = make_run(config, threads, epochs);
  run.stochastic_depth = depth;
  return run;
}

static void test_learning(const char *config, unsigned epochs) {
  char one[64], three[64], plain[64];
  struct run a = depth_run(config, 0.2, 1, epochs), b = depth_run(config, 0.2, 3, epochs),
             off = depth_run(config, 0, 1, epochs);
  train(&a, make_folder(one));
  train(&b, make_folder(three));
  train(&off, make_folder(plain));
  CHECK(a.status == LINNET_OK && a.last_loss < 0.3 * a.first_loss, "%g, %g: %s", a.first_loss, a.last_loss, a.error);
  CHECK(same_model(one, three), "models of 1 and 3 threads differ");
  CHECK(!same_model(one, plain), "stochastic depth changes nothing");
  remove_folder(one);
  remove_folder(three);
  remove_folder(plain);
}

static void test_interruptions(void) {
  struct run run = depth_run(transformer, 0.3, 2, 4);
  run.train.masking = MASKED;
  run.consistency = 0.2;
  unsigned parts = train_in_parts(&run, stop_after_three_steps);
  CHECK(parts > 4, "only %u interruptions", parts - 1);
}

static void test_settings(void) {
  static const double bad[] = {-0.1, 0.95, NAN};
  char folder[64];
  struct run run;
  make_folder(folder);
  for (size_t i = 0; i < 3; i++) {
    run = depth_run(transformer, bad[i], 1, 1);
    check_refused(&run, folder, LINNET_ERROR_ARGUMENT, "stochastic depth");
  }
  run = depth_run(blstm, 0.1, 1, 1);
  check_refused(&run, folder, LINNET_ERROR_UNSUPPORTED, "transformers only");
  run = depth_run(transformer, 0.1, 1, 1);
  train(&run, folder);
  run.stochastic_depth = 0;
  check_refused(&run, folder, LINNET_ERROR_STATE, "stochastic_depth=");
  remove_folder(folder);
}

/* A device with memory of its own. */
static void test_gpu(void) {
  limited_ops = linnet_cpu_device_ops;
  limited_ops.host = false;
  check_not_on_gpu(depth_run(transformer, 0.1, 1, 1));
}

int main(void) {
  test_learning(transformer, 40);
  test_learning(post_norm, 80);
  test_interruptions();
  test_settings();
  test_gpu();
  return test_result();
}
