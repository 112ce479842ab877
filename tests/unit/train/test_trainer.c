/* The trainer on a small synthetic corpus: it learns, results do not depend on the number of threads, an interrupted
 * run that is continued ends with the same bytes, and bad data is refused. */
#include "test.h"

#include "model/format/model.h"
#include "refused_training.h"
#include "small_training.h"
#include "train/trainer.h"

/* Where everything is slow, two epochs, which teach little. */
static unsigned epochs_of(const struct network *network) {
  return TEST_SHARE > 1 ? 2 : network->epochs;
}

static bool learned(const struct run *run) {
  return run->status == LINNET_OK && (TEST_SHARE > 1 || run->last_loss < 0.2 * run->first_loss);
}

static void test_learning_and_threads(const struct network *network) {
  char one[64], three[64];
  struct run a = make_run(network->config, 1, epochs_of(network)), b = make_run(network->config, 3, epochs_of(network));
  train(&a, make_folder(one));
  train(&b, make_folder(three));
  CHECK(learned(&a), "%s: loss per label went from %g to %g, expected a fifth; status %d: %s", network->config,
        a.first_loss, a.last_loss, a.status, a.error);
  CHECK(same_model(one, three), "%s: models of 1 and 3 threads differ", network->config);
  remove_folder(one);
  remove_folder(three);
}

static void test_resume(const char *config) {
  struct run run = make_run(config, 2, 6);
  unsigned parts = train_in_parts(&run, stop_after_three_steps);
  CHECK(parts > 4, "only %u interruptions", parts - 1);
}

static void cancel_at_poll(struct run *run, unsigned part) {
  run->cancel_at = part;
}

/* The hook cancels at poll 1, 2, 3 ... of process after process: within steps and within validation. */
static void test_cancel(const char *config) {
  struct run run = make_run(config, 2, 2);
  unsigned parts = train_in_parts(&run, cancel_at_poll);
  CHECK(parts > 6, "only %u interruptions", parts - 1);
}

/* The last poll of an epoch is in its validation. If that is cancelled, the training continues with it: no step is
 * repeated. */
static void test_cancelled_validation(void) {
  char folder[64];
  struct run whole = make_run(transformer, 1, 1), cut = whole, rest = whole;
  whole.cancel_at = SIZE_MAX; /* counts polls */
  train(&whole, make_folder(folder));
  remove_folder(folder);
  cut.cancel_at = whole.polls;
  train(&cut, make_folder(folder));
  CHECK(whole.status == LINNET_OK && cut.status == LINNET_ERROR_CANCELLED && cut.steps == whole.steps,
        "%zu steps before the cancelled validation, of %zu: %s", (size_t)cut.steps, (size_t)whole.steps, cut.error);
  train(&rest, folder);
  CHECK(rest.status == LINNET_OK && rest.steps == 0 && rest.last_loss == whole.last_loss,
        "%zu steps again, loss %g, not %g: %s", (size_t)rest.steps, rest.last_loss, whole.last_loss, rest.error);
  remove_folder(folder);
}

/* Masks of the trainer give the same bytes as masked features, on any number of threads and in an interrupted run. */
static void test_masks(const char *config) {
  char plain[64], features_masked[64], masked[64];
  struct run run = make_run(config, 1, 2);
  train(&run, make_folder(plain));
  run.train.masking = MASKED_FEATURES;
  train(&run, make_folder(features_masked));
  run.train.masking = run.dev.masking = MASKED;
  run.threads = 3, run.steps = 0, run.stop_after = 7;
  train(&run, make_folder(masked));
  CHECK(run.status == LINNET_ERROR_CANCELLED, "status %d: %s", run.status, run.error);
  run.stop_after = 0;
  train(&run, masked);
  CHECK(run.status == LINNET_OK, "status %d: %s", run.status, run.error);
  CHECK(same_model(features_masked, masked), "%s: masks of the trainer and in features differ", config);
  CHECK(!same_model(plain, masked), "%s: masks change nothing", config);
  remove_folder(plain);
  remove_folder(features_masked);
  remove_folder(masked);
}

static struct run consistent_run(const char *config, unsigned threads, unsigned epochs) {
  struct run run = make_run(config, threads, epochs);
  run.train.masking = MASKED;
  run.consistency = 0.2;
  return run;
}

/* Two views of each utterance: it learns, on any number of threads and after interruptions with the same bytes. */
static void test_consistency(const struct network *network) {
  char one[64], three[64], plain[64];
  struct run a = consistent_run(network->config, 1, epochs_of(network)), b = a, off = a;
  b.threads = 3, off.consistency = 0;
  train(&a, make_folder(one));
  train(&b, make_folder(three));
  train(&off, make_folder(plain));
  CHECK(learned(&a), "%s: %g, %g: %s", network->config, a.first_loss, a.last_loss, a.error);
  CHECK(a.last_consistency > 0 && a.last_consistency == b.last_consistency && off.last_consistency < 0,
        "consistency %g, %g, off %g", a.last_consistency, b.last_consistency, off.last_consistency);
  CHECK(same_model(one, three), "%s: models of 1 and 3 threads differ", network->config);
  CHECK(!same_model(one, plain), "%s: consistency changes nothing", network->config);
  remove_folder(one);
  remove_folder(three);
  remove_folder(plain);
  a = consistent_run(network->config, 2, 6);
  unsigned parts = train_in_parts(&a, stop_after_three_steps);
  CHECK(parts > 4, "only %u interruptions", parts - 1);
}

/* Trains in a folder that is removed. */
static void train_and_remove(struct run *run) {
  char folder[64];
  train(run, make_folder(folder));
  remove_folder(folder);
}

/* Views without masks and dropout are equal: their consistency is 0, and training is as without it, up to rounding. */
static void test_equal_views(void) {
  static const char config[] =
      "{\"input_dim\": 4, \"width\": 16, \"heads\": 2, \"feed_forward\": 32, \"norm\": \"pre\", "
      "\"stack\": 2, \"dropout\": 0, \"layers\": 2}";
  struct run one = make_run(config, 1, 3), two = one;
  two.consistency = 0.2;
  train_and_remove(&one);
  train_and_remove(&two);
  CHECK(two.status == LINNET_OK && two.last_consistency == 0, "consistency %g: %s", two.last_consistency, two.error);
  CHECK(fabs(two.last_loss - one.last_loss) < 1e-3 * one.last_loss, "loss %g of one view, %g of two equal ones",
        one.last_loss, two.last_loss);
}

/* A moving average of the weights: the same bytes on any number of threads and after interruptions; a decay of almost 0
 * gives the weights, up to rounding. */
static void test_moving_average(void) {
  char one[64], three[64], plain[64], near[64];
  struct run a = make_run(transformer, 1, 6), b = a, off = a, none = a;
  a.average_decay = b.average_decay = 0.9, b.threads = 3, none.average_decay = 1e-9;
  train(&a, make_folder(one));
  train(&b, make_folder(three));
  train(&off, make_folder(plain));
  train(&none, make_folder(near));
  CHECK(a.status == LINNET_OK && b.status == LINNET_OK && none.status == LINNET_OK, "%s%s%s", a.error, b.error,
        none.error);
  CHECK(same_model(one, three), "models of 1 and 3 threads differ");
  CHECK(!same_model(one, plain) && a.last_loss != off.last_loss, "the average changes nothing");
  CHECK(fabs(none.last_loss - off.last_loss) < 1e-4 * off.last_loss, "loss %g, with an average of no length %g",
        off.last_loss, none.last_loss);
  remove_folder(one);
  remove_folder(three);
  remove_folder(plain);
  remove_folder(near);
  a = make_run(transformer, 2, 6);
  a.average_decay = 0.99;
  unsigned parts = train_in_parts(&a, stop_after_three_steps);
  CHECK(parts > 4, "only %u interruptions", parts - 1);
}

/* A long average, too, soon forgets the initial weights. */
static void test_start_of_average(void) {
  struct run a = make_run(transformer, 1, 6), plain = a;
  a.average_decay = 0.9999;
  train_and_remove(&a);
  train_and_remove(&plain);
  CHECK(a.status == LINNET_OK && fabs(a.last_loss - plain.last_loss) < 0.2 * plain.last_loss,
        "loss %g, of a long average %g: %s", plain.last_loss, a.last_loss, a.error);
}

/* Settings that are 0 unless a method is used: bad values are refused, and so is another value when a training
 * continues. */
static void test_method_settings(void) {
  static const struct {
    size_t member;
    const char *name, *difference;
    double bad[3], good, other;
  } settings[] = {
      {offsetof(struct run, average_decay), "average decay", "with average_decay=0.9:", {-0.1, 1, NAN}, 0.9, 0},
      {offsetof(struct run, consistency), "consistency", "consistency 0.2, not 0.3:", {-0.1, 101, NAN}, 0.2, 0.3}};
  char folder[64];
  for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
    struct run run = make_run(transformer, 1, 1);
    double *value = (double *)(void *)((char *)&run + settings[s].member);
    for (size_t i = 0; i < 3; i++) {
      *value = settings[s].bad[i];
      train(&run, make_folder(folder));
      CHECK(run.status == LINNET_ERROR_ARGUMENT && strstr(run.error, settings[s].name), "%g: status %d: %s",
            settings[s].bad[i], run.status, run.error);
      remove_folder(folder);
    }
    *value = settings[s].good;
    train(&run, make_folder(folder));
    *value = settings[s].other;
    train(&run, folder);
    CHECK(run.status == LINNET_ERROR_STATE && strstr(run.error, settings[s].difference), "status %d: %s", run.status,
          run.error);
    remove_folder(folder);
  }
}

static void test_other_settings(void) {
  char folder[64];
  struct run a = make_run(transformer, 1, 1);
  train(&a, make_folder(folder));
  a.config = causal;
  train(&a, folder);
  CHECK(a.status == LINNET_ERROR_STATE, "status %d with another configuration", a.status);
  a.config = transformer;
  a.train.labels[0][0] = a.train.labels[0][0] % (SYMBOLS - 1) + 1;
  train(&a, folder);
  CHECK(a.status == LINNET_ERROR_STATE, "status %d with other data", a.status);
  CHECK(strstr(a.error, "other settings, other training data (ids, frames, labels or their order):") != NULL,
        "message: %s", a.error);
  remove_folder(folder);
}

static const char *const other_symbols[SYMBOLS] = {"<blk>", "A", "B", "D", "C"};
static const char global[] = "{\"num_mel\": 4, \"cmvn\": \"global\"}";

/* Statistics of four bands with these means. */
static struct linnet_cmvn make_cmvn(double mean) {
  struct linnet_cmvn cmvn = {.dim = DIM, .count = 100};
  for (size_t i = 0; i < DIM; i++)
    cmvn.sum[i] = mean * 100, cmvn.square[i] = (mean * mean + 1) * 100;
  return cmvn;
}

/* Other names of symbols and other statistics, but not those with other last digits. */
static void test_other_model(void) {
  char folder[64];
  const struct linnet_cmvn cmvn = make_cmvn(2), last_digits = make_cmvn(2 + 1e-7), other = make_cmvn(3);
  struct run a = make_run(transformer, 1, 1);
  a.features = global, a.cmvn = &cmvn;
  train(&a, make_folder(folder));
  a.cmvn = &last_digits;
  train(&a, folder);
  CHECK(a.status == LINNET_OK, "%s", a.error);
  a.cmvn = &other;
  train(&a, folder);
  CHECK(a.status == LINNET_ERROR_STATE && strstr(a.error, "another mean or variance of the features (CMVN)"),
        "status %d: %s", a.status, a.error);
  a.cmvn = &cmvn, a.symbols = other_symbols;
  train(&a, folder);
  CHECK(a.status == LINNET_ERROR_STATE && strstr(a.error, "other symbols, or another order of them"), "status %d: %s",
        a.status, a.error);
  remove_folder(folder);
}

/* Text that no model file can hold is refused at the start. */
static void test_not_utf8(void) {
  static const char *const latin[SYMBOLS] = {"<blk>", "A", "B", "C", "\xe9"};
  static const char *const licence[] = {"licence", "\xa9 me", NULL};
  char folder[64];
  struct run a = make_run(transformer, 1, 1);
  a.symbols = latin;
  train(&a, make_folder(folder));
  CHECK(a.status == LINNET_ERROR_FORMAT && a.steps == 0 && strstr(a.error, "is not UTF-8"), "status %d: %s", a.status,
        a.error);
  a.symbols = NULL, a.metadata = licence;
  train(&a, folder);
  CHECK(a.status == LINNET_ERROR_ARGUMENT && a.steps == 0 && strstr(a.error, "\"licence\" is not UTF-8"),
        "status %d: %s", a.status, a.error);
  remove_folder(folder);
}

/* A training that begins anew in a folder leaves no models of the one before. */
static void test_begun_anew(void) {
  char folder[64], path[128];
  struct run a = make_run(transformer, 1, 3);
  a.keep_models = 3;
  train(&a, make_folder(folder));
  const char *const names[] = {"checkpoint", "checkpoint-previous"};
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, names[i]);
    unlink(path);
  }
  a.epochs = 1;
  train(&a, folder);
  CHECK(a.status == LINNET_OK, "%s", a.error);
  for (unsigned e = 1; e <= 3; e++) {
    snprintf(path, sizeof path, "%s/epoch-%03u.safetensors", folder, e);
    CHECK((access(path, F_OK) == 0) == (e == 1), "%s", path);
  }
  remove_folder(folder);
}

static void test_not_finite(void) {
  char folder[64];
  struct run a = make_run(transformer, 2, 3);
  a.train.poisoned = 5;
  train(&a, make_folder(folder));
  CHECK(a.status == LINNET_ERROR_NUMERIC, "status %d with infinite features", a.status);
  const char *named = strstr(a.error, "utt-");
  CHECK(named && strncmp(named, "utt-05", 6) == 0 && !strstr(named + 1, "utt-"),
        "the message does not name the utterance alone: %s", a.error);
  remove_folder(folder);
}

/* A trainer with all utterances in one batch. `dev_frames`: of the validation utterances; NULL: their own. */
static struct linnet_trainer *create_trainer(struct linnet_context *context, const char *folder, struct run *run,
                                             const char *recipe, size_t (*dev_frames)(void *user, size_t u)) {
  struct linnet_train_settings settings;
  struct linnet_trainer *trainer = NULL;
  linnet_train_settings_default(&settings);
  settings.num_batch_frames = 100000;
  settings.num_epochs = run->epochs;
  settings.seed = run->model_seed;
  const struct linnet_train_model model = {.size = sizeof model,
                                           .config = run->config,
                                           .features = features,
                                           .symbols = symbols,
                                           .num_symbols = SYMBOLS,
                                           .recipe = recipe};
  struct linnet_corpus train_corpus = callbacks(&run->train), dev_corpus = callbacks(&run->dev);
  if (dev_frames)
    dev_corpus.frames = dev_frames;
  run->status = linnet_trainer_create(context, folder, &settings, &model, &train_corpus, &dev_corpus, &trainer);
  return trainer;
}

/* A step whose loss is not finite changes no weights, though the gradients of the other utterances are finite. */
static void test_failed_step(void) {
  char folder[64];
  struct linnet_context *context = test_context();
  struct run run = make_run(transformer, 1, 2);
  run.train.poisoned = 5;
  struct linnet_trainer *trainer = create_trainer(context, make_folder(folder), &run, NULL, NULL);
  REQUIRE(trainer, "%s", linnet_context_error(context));
  const size_t bytes = trainer->parameters->size * sizeof *trainer->weights;
  real *before = malloc(bytes);
  REQUIRE(before, "no memory");
  memcpy(before, trainer->weights, bytes);
  CHECK(linnet_trainer_run(trainer, NULL) == LINNET_ERROR_NUMERIC && trainer->state.step == 0, "step %d",
        (int)trainer->state.step);
  CHECK(memcmp(before, trainer->weights, bytes) == 0, "the weights have changed");
  free(before);
  linnet_trainer_destroy(trainer);
  linnet_context_destroy(context);
  remove_folder(folder);
}

/* Of epochs with the same result, the best one by its loss stays. */
static void test_tie(void) {
  char folder[64];
  struct linnet_context *context = test_context();
  struct run run = make_run(transformer, 1, 2);
  struct linnet_trainer *trainer = create_trainer(context, make_folder(folder), &run, NULL, NULL);
  REQUIRE(trainer && trainer->settings.num_kept_models == 5, "%s", linnet_context_error(context));
  for (unsigned epoch = 1; epoch <= 7; epoch++)
    CHECK(linnet_trainer_save_models(trainer, trainer->weights, epoch, 50, epoch == 1 || epoch == 7) == LINNET_OK, "%s",
          linnet_context_error(context));
  const struct linnet_train_state *state = &trainer->state;
  CHECK(state->num_kept == 5 && state->kept[0].epoch == 7 && state->kept[1].epoch == 1 && state->kept[4].epoch == 4,
        "%u epochs stay, first %u and %u", state->num_kept, state->kept[0].epoch, state->kept[1].epoch);
  linnet_trainer_destroy(trainer);
  linnet_context_destroy(context);
  remove_folder(folder);
}

/* The end of an epoch fails: the next run of the trainer repeats the validation and the event, and gives the models of
 * an undisturbed training. */
static void test_failed_epoch(void) {
  char folder[64], path[128];
  struct linnet_context *context = test_context();
  struct run run = make_run(transformer, 1, 2), whole = run;
  struct linnet_train_events events = {.size = sizeof events, .user = &run, .step = on_step, .epoch = on_epoch};
  struct linnet_trainer *trainer = create_trainer(context, make_folder(folder), &run, NULL, NULL);
  REQUIRE(trainer, "%s", linnet_context_error(context));
  run.context = context;
  run.fail_epoch = 1;
  CHECK(linnet_trainer_run(trainer, &events) == LINNET_ERROR_IO && trainer->state.epoch == 0, "no failure");
  CHECK(trainer->state.num_kept == 0 && trainer->state.total_seconds == trainer->state.sums.seconds, "not as before");
  const uint64_t steps = run.steps;
  run.fail_epoch = 0;
  run.first_loss = 0;
  CHECK(linnet_trainer_run(trainer, &events) == LINNET_OK && run.steps == 2 * steps, "%s",
        linnet_context_error(context));
  CHECK(run.first_loss > 0 && trainer->state.num_kept == 2, "the first epoch has no event, or no model");
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  CHECK(access(path, F_OK) == 0, "%s is missing", path);
  linnet_trainer_destroy(trainer);
  remove_folder(folder);
  events.user = &whole;
  trainer = create_trainer(context, make_folder(folder), &whole, NULL, NULL);
  CHECK(trainer && linnet_trainer_run(trainer, &events) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(whole.first_loss == run.first_loss && whole.last_loss == run.last_loss, "%g and %g, not %g and %g",
        run.first_loss, run.last_loss, whole.first_loss, whole.last_loss);
  linnet_trainer_destroy(trainer);
  linnet_context_destroy(context);
  remove_folder(folder);
}

/* A method that was switched off or on is named, not its neighbours. */
static void test_other_methods(void) {
  char folder[64];
  struct run a = make_run(transformer, 1, 1);
  a.average_decay = 0.9;
  train(&a, make_folder(folder));
  a.average_decay = 0;
  train(&a, folder);
  CHECK(a.status == LINNET_ERROR_STATE && strstr(a.error, "settings, with average_decay=0.9"), "%s", a.error);
  a.average_decay = 0.9;
  a.consistency = 0.2;
  train(&a, folder);
  CHECK(a.status == LINNET_ERROR_STATE && strstr(a.error, "settings, without consistency=0.2"), "%s", a.error);
  remove_folder(folder);
}

/* What comes after a long recipe counts, too. */
static void test_long_recipe(void) {
  static char recipe[20000];
  char folder[64];
  struct linnet_context *context = test_context();
  struct run run = make_run(transformer, 1, 1);
  memset(recipe, 'a', sizeof recipe - 1);
  struct linnet_trainer *trainer = create_trainer(context, make_folder(folder), &run, recipe, NULL);
  CHECK(trainer && linnet_trainer_run(trainer, NULL) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_trainer_destroy(trainer);
  run.model_seed++;
  trainer = create_trainer(context, folder, &run, recipe, NULL);
  CHECK(!trainer && run.status == LINNET_ERROR_STATE && strstr(linnet_context_error(context), "seed "), "status %d: %s",
        run.status, linnet_context_error(context));
  linnet_context_destroy(context);
  remove_folder(folder);
}

static size_t two_frames(void *user, size_t u) {
  (void)user, (void)u;
  return 2;
}

/* Validation utterances that are all too short for their labels say nothing about the network. */
static void test_useless_validation(void) {
  char folder[64];
  struct linnet_context *context = test_context();
  struct run run = make_run(transformer, 1, 1);
  for (size_t u = 0; u < UTTERANCES; u++)
    run.dev.labels[u][1] = run.dev.labels[u][2] = 1, run.dev.num_labels[u] = 3;
  const struct linnet_trainer *trainer = create_trainer(context, make_folder(folder), &run, NULL, two_frames);
  CHECK(!trainer && run.status == LINNET_ERROR_ARGUMENT &&
            strstr(linnet_context_error(context), "no usable utterance for validation"),
        "status %d: %s", run.status, linnet_context_error(context));
  linnet_context_destroy(context);
  remove_folder(folder);
}

/* Entries of the metadata that describe the network come from the network; a calibration is one. */
static void test_metadata(void) {
  static const char *const own[] = {"symbols", "[]", NULL};
  static const struct {
    const char *key, *value;
    enum linnet_status status;
  } cases[] = {{"format", "x", LINNET_ERROR_ARGUMENT},
               {"config", "x", LINNET_ERROR_ARGUMENT},
               {"features", "x", LINNET_ERROR_ARGUMENT},
               {"symbols", "x", LINNET_ERROR_ARGUMENT},
               {"confidence", "x", LINNET_ERROR_FORMAT},
               {"word_confidence", "{\"slope\": 0, \"offset\": 1}", LINNET_ERROR_FORMAT},
               {"confidence", "{\"slope\": 1, \"offset\": 1}", LINNET_OK},
               {"licence", "x", LINNET_OK}};
  char folder[64], path[128], output[128];
  struct linnet_context *context = test_context();
  struct run a = make_run(transformer, 1, 1);
  a.metadata = own;
  check_refused(&a, make_folder(folder), LINNET_ERROR_ARGUMENT, "\"symbols\" describes the network");
  a.metadata = NULL;
  train(&a, folder);
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  snprintf(output, sizeof output, "%s/epoch-099.safetensors", folder);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    CHECK(linnet_model_annotate(context, path, cases[i].key, cases[i].value, 0, output) == cases[i].status, "%s: %s",
          cases[i].key, linnet_context_error(context));
  linnet_context_destroy(context);
  remove_folder(folder);
}

static void test_bad_labels(void) {
  char folder[64];
  struct run a = make_run(transformer, 1, 1);
  a.dev.labels[3][0] = SYMBOLS;
  train(&a, make_folder(folder));
  CHECK(a.status == LINNET_ERROR_ARGUMENT, "status %d with a label out of range", a.status);
  CHECK(strstr(a.error, "utt-03") != NULL, "message: %s", a.error);
  remove_folder(folder);
}

/* A mean has no calibration, which is that of one model; the "mean" of one model keeps it. */
static void test_average_calibration(void) {
  static const char *const metadata[] = {"confidence", "{\"slope\": 1, \"offset\": 1}", "name", "x", NULL};
  char folder[64], path[128], output[128];
  struct run a = make_run(transformer, 1, 1);
  a.metadata = metadata;
  train(&a, make_folder(folder));
  CHECK(a.status == LINNET_OK, "%s", a.error);
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  snprintf(output, sizeof output, "%s/epoch-099.safetensors", folder);
  struct linnet_context *context = test_context();
  const char *const paths[] = {path, path};
  for (size_t count = 1; count <= 2; count++) {
    struct linnet_model *model = NULL;
    CHECK(linnet_model_average(context, paths, count, 0, output) == LINNET_OK &&
              linnet_model_load(context, output, &model) == LINNET_OK,
          "%s", linnet_context_error(context));
    CHECK(model && (linnet_model_metadata(model, "confidence") != NULL) == (count == 1) &&
              linnet_model_metadata(model, "name"),
          "metadata of a mean of %zu", count);
    linnet_model_destroy(model);
  }
  linnet_context_destroy(context);
  remove_folder(folder);
}

static void test_average(void) {
  char folder[64], inputs[2][128], output[128];
  struct run a = make_run(transformer, 1, 2);
  train(&a, make_folder(folder));
  for (unsigned i = 0; i < 2; i++)
    snprintf(inputs[i], sizeof inputs[i], "%s/epoch-%03u.safetensors", folder, i + 1);
  snprintf(output, sizeof output, "%s/epoch-099.safetensors", folder);
  struct linnet_context *context = test_context();
  const char *const paths[] = {inputs[0], inputs[1]};
  CHECK(linnet_model_average(context, paths, 2, 1, output) == LINNET_OK, "%s", linnet_context_error(context));
  struct linnet_model *model = NULL;
  CHECK(linnet_model_load(context, output, &model) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_model_destroy(model);
  linnet_context_destroy(context);
  remove_folder(folder);
}

/* A training with other symbols (1), features (2) or statistics (3) than the first (0), whose model is *path. */
static void train_variant(int variant, char folder[64], char path[128]) {
  static const char other_bands[] = "{\"num_mel\": 4, \"cmvn\": \"global\", \"low_frequency\": 50}";
  const struct linnet_cmvn cmvn = make_cmvn(variant == 3 ? 3 : 2);
  struct run a = make_run(transformer, 1, 1);
  a.symbols = variant == 1 ? other_symbols : NULL;
  a.features = variant == 2 ? other_bands : global;
  a.cmvn = &cmvn;
  train(&a, make_folder(folder));
  CHECK(a.status == LINNET_OK, "%s", a.error);
  snprintf(path, 128, "%s/model.safetensors", folder);
}

/* Models of one network that were trained otherwise are not averaged. */
static void test_average_others(void) {
  static const char *const words[] = {"symbol 3 is D, but C", "features differ", "statistics for CMVN differ"};
  char folder[64], other[64], path[128], other_path[128];
  struct linnet_context *context = test_context();
  train_variant(0, folder, path);
  for (int i = 0; i < 3; i++) {
    train_variant(i + 1, other, other_path);
    const char *const both[] = {path, other_path};
    CHECK(linnet_model_average(context, both, 2, 0, path) == LINNET_ERROR_ARGUMENT &&
              strstr(linnet_context_error(context), words[i]) && strstr(linnet_context_error(context), other_path),
          "%s", linnet_context_error(context));
    remove_folder(other);
  }
  remove_folder(folder);
  linnet_context_destroy(context);
}

/* The tensors of random features: those of the seed to the last bit. */
static void check_fixed(struct linnet_context *context, const char *path, uint64_t seed) {
  struct linnet_model *model = NULL;
  REQUIRE(linnet_model_load_whole(context, path, &model) == LINNET_OK, "%s", linnet_context_error(context));
  const struct linnet_parameters *p = model->parameters;
  float *initial = malloc(p->size * sizeof *initial);
  unsigned fixed = 0;
  linnet_parameters_initialise(p, seed, initial);
  for (size_t i = 0; i < p->count; i++) {
    const struct linnet_parameter *t = &p->list[i];
    bool same = memcmp(initial + t->offset, model->weights + t->offset, t->count * sizeof *initial) == 0;
    CHECK(same == t->fixed, "%s: %s: %s", path, t->name, same ? "was not trained" : "was changed");
    fixed += t->fixed;
  }
  CHECK(fixed == 2, "%u fixed tensors", fixed);
  free(initial);
  linnet_model_destroy(model);
}

/* Training, clipping, checkpoints and averages do not change random features; models with different ones cannot be
 * averaged. */
static void test_fixed(void) {
  char folder[64], other[64], inputs[3][128], output[128];
  struct run a = make_run(mapped, 2, 2), b = make_run(mapped, 1, 1);
  b.model_seed = 2;
  train(&a, make_folder(folder));
  train(&b, make_folder(other));
  CHECK(a.status == LINNET_OK && b.status == LINNET_OK, "%s%s", a.error, b.error);
  for (unsigned i = 0; i < 2; i++)
    snprintf(inputs[i], sizeof inputs[i], "%s/epoch-%03u.safetensors", folder, i + 1);
  snprintf(inputs[2], sizeof inputs[2], "%s/model.safetensors", other);
  snprintf(output, sizeof output, "%s/epoch-099.safetensors", folder);
  struct linnet_context *context = test_context();
  const char *const paths[] = {inputs[0], inputs[1], inputs[2]};
  CHECK(linnet_model_average(context, paths, 2, 0, output) == LINNET_OK, "%s", linnet_context_error(context));
  check_fixed(context, inputs[1], 1);
  check_fixed(context, output, 1);
  check_fixed(context, inputs[2], 2);
  CHECK(linnet_model_average(context, paths, 3, 0, output) == LINNET_ERROR_ARGUMENT &&
            strstr(linnet_context_error(context), "random features"),
        "%s", linnet_context_error(context));
  CHECK(linnet_model_average(context, paths, 2, 1, output) == LINNET_OK, "%s", linnet_context_error(context));
  struct linnet_model *half = NULL;
  CHECK(linnet_model_load(context, output, &half) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_model_destroy(half);
  linnet_context_destroy(context);
  remove_folder(folder);
  remove_folder(other);
}

/* The chunk that is stored with a folder's model. */
static size_t stored_chunk(const char *folder) {
  struct linnet_context *context = test_context();
  struct linnet_model *model = load_trained(context, folder);
  size_t chunk = model->config.causal_chunk;
  linnet_model_destroy(model);
  linnet_context_destroy(context);
  return chunk;
}

/* "auto" becomes a number when a training starts; a continued training has the same number, here one that no
 * measurement gives. Without causal layers it is 0. */
static void test_automatic_chunk(void) {
  static const char automatic[] =
      TRANSFORMER "\"layers\": 2, \"attention\": \"causal-linear\", \"causal_chunk\": \"auto\"}";
  static const char other[] = TRANSFORMER "\"layers\": 2, \"attention\": \"causal-linear\", \"causal_chunk\": 24}";
  static const char unused[] = TRANSFORMER "\"layers\": 2, \"causal_chunk\": \"auto\"}";
  char folder[64];
  struct run run = make_run(automatic, 1, 1);
  train(&run, make_folder(folder));
  CHECK(run.status == LINNET_OK && stored_chunk(folder) <= 128, "chunk %zu: %s", stored_chunk(folder), run.error);
  remove_folder(folder);

  struct run begun = make_run(other, 1, 2), continued = make_run(automatic, 1, 2);
  begun.stop_after = 1;
  train(&begun, make_folder(folder));
  train(&continued, folder);
  CHECK(continued.status == LINNET_OK && stored_chunk(folder) == 24, "continued with a chunk of %zu: %s",
        stored_chunk(folder), continued.error);
  remove_folder(folder);

  struct run idle = make_run(unused, 1, 1);
  train(&idle, make_folder(folder));
  CHECK(idle.status == LINNET_OK && stored_chunk(folder) == 0, "chunk %zu: %s", stored_chunk(folder), idle.error);
  remove_folder(folder);
}

/* The measurement for causal layers gives a chunk that is valid in a configuration. */
static void test_measure_chunk(void) {
  struct linnet_context *context = test_context();
  size_t chunk = SIZE_MAX;
  CHECK(linnet_train_measure_chunk(context, causal, &chunk) == LINNET_OK && chunk <= 128, "chunk %zu: %s", chunk,
        linnet_context_error(context));
  CHECK(linnet_train_measure_chunk(context, "{\"heads\": 5}", &chunk) == LINNET_ERROR_FORMAT, "5 heads of 192");
  CHECK(linnet_train_measure_chunk(context, NULL, &chunk) == LINNET_ERROR_ARGUMENT, "NULL");
  linnet_context_destroy(context);
}

/* Attention without kernels for GPUs is refused there. */
static void test_decay_on_gpu(void) {
  limited_ops = linnet_cpu_device_ops;
  limited_ops.host = false;
  check_not_on_gpu(make_run(TRANSFORMER "\"layers\": 2, \"attention\": [\"linear\", \"linear-decay\"]}", 1, 1));
}

/* Products of 8-bit integers are refused before anything is written. */
static void test_integers(void) {
  char folder[64];
  struct run run = make_run(networks[0].config, 1, 1);
  const struct linnet_ops *ops = linnet_cpu_best_ops(LINNET_INT8);
  if (ops->precision != LINNET_INT8)
    return;
  run.kernels = ops->name;
  train(&run, make_folder(folder));
  CHECK(run.status == LINNET_ERROR_UNSUPPORTED && strstr(run.error, "for recognition"), "status %d: %s",
        (int)run.status, run.error);
  CHECK(rmdir(folder) == 0, "%s is not empty", folder);
}

/* A training with CTC refuses networks that read tokens, or whose outputs are no posteriors. */
static void test_other_networks(void) {
  static const char *const configs[] = {"{\"input_dim\": 1, \"tokens\": [9]}", "{\"output\": \"linear\"}"};
  char folder[64];
  for (size_t i = 0; i < 2; i++) {
    struct run run = make_run(configs[i], 1, 1);
    train(&run, make_folder(folder));
    CHECK(run.status == LINNET_ERROR_UNSUPPORTED && strstr(run.error, "remove \"tokens\""), "%s: status %d: %s",
          configs[i], (int)run.status, run.error);
    CHECK(rmdir(folder) == 0, "%s is not empty", folder);
  }
}

/* A folder that is missing is noticed before the first update. */
static void test_missing_folder(void) {
  char folder[64];
  struct run run = make_run(networks[0].config, 1, 1);
  make_folder(folder);
  REQUIRE(rmdir(folder) == 0, "rmdir");
  train(&run, folder);
  CHECK(run.status == LINNET_ERROR_IO && strstr(run.error, "create it before the training"), "status %d: %s",
        (int)run.status, run.error);
}

int main(void) {
  test_decay_on_gpu();
  test_missing_folder();
  test_integers();
  test_other_networks();
  for (size_t i = 0; i < NETWORKS; i++) {
    test_learning_and_threads(&networks[i]);
    test_resume(networks[i].config);
  }
  test_cancel(transformer);
  test_cancelled_validation();
  test_cancel(blstm);
  test_masks(transformer);
  test_masks(blstm);
  test_consistency(&networks[0]);
  test_consistency(&networks[7]);
  test_equal_views();
  test_method_settings();
  test_moving_average();
  test_start_of_average();
  test_other_settings();
  test_not_finite();
  test_failed_step();
  test_tie();
  test_failed_epoch();
  test_other_methods();
  test_long_recipe();
  test_useless_validation();
  test_metadata();
  test_bad_labels();
  test_average();
  test_average_calibration();
  test_average_others();
  test_other_model();
  test_begun_anew();
  test_not_utf8();
  test_fixed();
  test_measure_chunk();
  test_automatic_chunk();
  return test_result();
}
