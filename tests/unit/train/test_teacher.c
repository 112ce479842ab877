/* Training with a teacher on a small synthetic corpus: the student approaches it, with the same bytes on any number of
 * threads and after interruptions, also with two views; a student that is its teacher has no loss; and what is refused:
 * settings, models, a corpus without features for it, a GPU, another teacher when a training continues. */
#include "random_model.h"
#include "refused_training.h"
#include "side_loss.h"

static struct linnet_context *context; /* of the teachers */
static struct linnet_model *teacher;

/* A model of SYMBOLS outputs, unless `text` says otherwise, on the features of the corpus. */
static struct linnet_model *make_teacher(const char *text, uint64_t seed) {
  struct linnet_config config = small_config(context, transformer);
  config.outputs = SYMBOLS;
  REQUIRE(linnet_config_parse(context, text, "test", &config) == LINNET_OK, "%s", linnet_context_error(context));
  return random_whole_model(context, &config, seed, 1, LINNET_CMVN_UTTERANCE);
}

static struct run taught_run(unsigned threads, unsigned epochs) {
  struct run run = make_run(causal, threads, epochs);
  run.train.masking = MASKED;
  run.teacher = teacher;
  run.teacher_weight = 0.5;
  return run;
}

/* --- training ----------------------------------------------------------------------------------------------------- */

static void test_approach(void) {
  const struct run run = taught_run(1, 12);
  struct run without = run;
  without.teacher = NULL, without.teacher_weight = 0;
  check_side_loss(&run, &without, offsetof(struct run, last_distillation), 0.95);
}

static void test_interruptions(void) {
  struct run run = taught_run(2, 2);
  run.consistency = 0.2;
  unsigned parts = train_in_parts(&run, stop_after_three_steps);
  CHECK(parts > 2, "only %u interruptions", parts - 1);
}

/* The teacher gets features of its own, and no masks. */
static void test_itself(void) {
  static const char still[] =
      "{\"input_dim\": 4, \"width\": 16, \"heads\": 2, \"feed_forward\": 32, \"norm\": \"pre\", "
      "\"stack\": 2, \"layers\": 2, \"convolution\": 3, \"dropout\": 0}";
  char folder[64], path[128], other[64];
  struct run run = make_run(still, 1, 1), masked, shifted;
  train(&run, make_folder(folder));
  struct linnet_model *model = load_trained(context, folder);
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  run.initial = path, run.teacher = model, run.teacher_weight = 1, run.learning_rate = 1e-12;
  shifted = masked = run;
  masked.train.masking = MASKED, shifted.train.teacher_offset = 1;
  struct run *const runs[] = {&run, &masked, &shifted};
  for (size_t i = 0; i < 3; i++) {
    train(runs[i], make_folder(other));
    CHECK(runs[i]->status == LINNET_OK && (runs[i]->last_distillation > 0) == (i > 0), "run %zu: distillation %g: %s",
          i, runs[i]->last_distillation, runs[i]->error);
    remove_folder(other);
  }
  remove_folder(folder);
  linnet_model_destroy(model);
}

/* --- refused ------------------------------------------------------------------------------------------------------ */

static void test_settings(void) {
  static const double bad[] = {-0.1, 101, NAN, 0};
  char folder[64];
  struct run run = taught_run(1, 1);
  make_folder(folder);
  for (size_t i = 0; i < 4; i++) {
    run.teacher_weight = bad[i];
    check_refused(&run, folder, LINNET_ERROR_ARGUMENT, i < 3 ? "teacher weight" : "go together");
  }
  run.teacher = NULL, run.teacher_weight = 0.5;
  check_refused(&run, folder, LINNET_ERROR_ARGUMENT, "go together");
  run = taught_run(1, 1);
  run.train.untaught = true;
  check_refused(&run, folder, LINNET_ERROR_ARGUMENT, "both_features");
  run = taught_run(1, 1);
  train(&run, folder);
  run.teacher_weight = 0.6;
  check_refused(&run, folder, LINNET_ERROR_STATE, "teacher_weight 0.5, not 0.6");
  run.teacher_weight = 0.5;
  struct linnet_model *other = make_teacher("{}", 6);
  run.teacher = other;
  check_refused(&run, folder, LINNET_ERROR_STATE, "other settings, another teacher:");
  run.teacher = teacher;
  check_refused(&run, folder, LINNET_OK, "");
  linnet_model_destroy(other);
  remove_folder(folder);
}

static void test_other_models(void) {
  static const struct {
    const char *text, *part;
  } cases[] = {{"{\"outputs\": 6}", "the teacher has 6 symbols"},
               {"{\"stack\": 1}", "model.stack of the teacher is 1"},
               {"{\"input_dim\": 8}", "features.num_mel of the teacher is 8"}};
  char folder[64];
  make_folder(folder);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct run run = taught_run(1, 1);
    struct linnet_model *model = make_teacher(cases[i].text, 5);
    run.teacher = model;
    check_refused(&run, folder, LINNET_ERROR_ARGUMENT, cases[i].part);
    linnet_model_destroy(model);
  }
  struct run run = taught_run(1, 1);
  struct linnet_model *model = random_model(context, &teacher->config, 5, 1, LINNET_CMVN_UTTERANCE);
  run.teacher = model;
  check_refused(&run, folder, LINNET_ERROR_ARGUMENT, "load it with linnet_model_load_whole");
  linnet_model_destroy(model);
  remove_folder(folder);
}

/* Without the op. */
static void test_gpu(void) {
  limited_ops = linnet_cpu_device_ops;
  limited_ops.distillation = NULL;
  check_not_on_gpu(taught_run(1, 1));
}

int main(void) {
  context = test_context();
  teacher = make_teacher("{}", 5);
  test_approach();
  test_interruptions();
  test_itself();
  test_settings();
  test_other_models();
  test_gpu();
  linnet_model_destroy(teacher);
  linnet_context_destroy(context);
  return test_result();
}
