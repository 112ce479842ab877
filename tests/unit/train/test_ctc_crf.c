/* Training with CTC-CRF on a small synthetic corpus: it learns, with the same bytes on any number of threads and after
 * interruptions, also with two views; and what is refused: settings, language models, a GPU, another model when a
 * training continues. */
#include "allocators.h"
#include "phone_model.h"
#include "refused_training.h"
#include "train/denominator_graph.h"

static float *table; /* (SYMBOLS, SYMBOLS, SYMBOLS) */
static struct phone_model phones;
static struct linnet_language_model model;

static struct run crf_run(unsigned threads, unsigned epochs) {
  struct run run = make_run(networks[0].config, threads, epochs);
  run.denominator = &model;
  run.ctc_weight = 0.1;
  return run;
}

/* --- learning ----------------------------------------------------------------------------------------------------- */

static void test_learning(void) {
  char one[64], three[64], plain[64];
  struct run a = crf_run(1, networks[0].epochs), b = a, ctc = a;
  b.threads = 3, ctc.denominator = NULL, ctc.ctc_weight = 0;
  train(&a, make_folder(one));
  train(&b, make_folder(three));
  train(&ctc, make_folder(plain));
  printf("loss %g to %g, CTC-CRF at the end %g\n", a.first_loss, a.last_loss, a.last_crf);
  CHECK(a.status == LINNET_OK && a.last_loss < 0.2 * a.first_loss, "%g, %g: %s", a.first_loss, a.last_loss, a.error);
  CHECK(a.last_crf >= 0 && a.last_crf < 1 && a.last_crf == b.last_crf && ctc.last_crf < 0, "CTC-CRF %g, %g, off %g",
        a.last_crf, b.last_crf, ctc.last_crf);
  CHECK(same_model(one, three), "models of 1 and 3 threads differ");
  CHECK(!same_model(one, plain), "the denominator changes nothing");
  remove_folder(one);
  remove_folder(three);
  remove_folder(plain);
}

static void test_interruptions(void) {
  struct run run = crf_run(2, 4);
  run.train.masking = MASKED;
  run.consistency = 0.2;
  unsigned parts = train_in_parts(&run, stop_after_three_steps);
  CHECK(parts > 4, "only %u interruptions", parts - 1);
}

/* The sum over all label sequences holds that of the transcript, so that no loss is below 0, whatever the network: an
 * untrained one. */
static void test_other_models(void) {
  char folder[64];
  for (unsigned order = 1; order <= 3; order++) {
    struct phone_model other = phones;
    struct linnet_language_model language_model = phone_language_model(&other);
    struct run run = crf_run(1, 1);
    other.order = order, other.merged = order == 3 ? 2 : 0;
    run.denominator = &language_model;
    train(&run, make_folder(folder));
    CHECK(run.status == LINNET_OK && run.last_crf > 0, "order %u: %g: %s", order, run.last_crf, run.error);
    remove_folder(folder);
  }
}

/* --- refused ------------------------------------------------------------------------------------------------------ */

static void test_settings(void) {
  static const double bad[] = {-0.1, 101, NAN};
  char folder[64];
  struct run run = crf_run(1, 1);
  make_folder(folder);
  for (size_t i = 0; i < 3; i++) {
    run.ctc_weight = bad[i];
    check_refused(&run, folder, LINNET_ERROR_ARGUMENT, "CTC weight");
  }
  run = crf_run(1, 1);
  run.denominator = NULL;
  check_refused(&run, folder, LINNET_ERROR_ARGUMENT, "denominator");
  run = crf_run(1, 1);
  train(&run, folder);
  run.ctc_weight = 0.2;
  check_refused(&run, folder, LINNET_ERROR_STATE, "ctc_weight 0.1, not 0.2");
  run.ctc_weight = 0.1;
  table[1] *= 0.5F;
  check_refused(&run, folder, LINNET_ERROR_STATE, "other settings, another denominator:");
  table[1] *= 2;
  remove_folder(folder);
}

/* Each token leads to another history. */
static float score_endless(const void *user, const void *state, unsigned token, void *next) {
  uint64_t count;
  (void)user;
  memcpy(&count, state, sizeof count);
  count = count * SYMBOLS + token;
  memcpy(next, &count, sizeof count);
  return -1;
}

static void begin_endless(const void *user, void *state) {
  (void)user;
  memset(state, 0, sizeof(uint64_t));
}

static float finish_endless(const void *user, const void *state) {
  (void)user, (void)state;
  return -1;
}

static void test_bad_models(void) {
  static const float impossible[] = {0, NAN};
  const size_t at = (2 * SYMBOLS + 3) * SYMBOLS + 4;
  const float good = table[at];
  struct linnet_context *context = test_context();
  struct linnet_denominator_graph *graph;
  struct linnet_language_model endless = {.size = sizeof endless,
                                          .state_bytes = sizeof(uint64_t),
                                          .begin = begin_endless,
                                          .score = score_endless,
                                          .finish = finish_endless};
  for (size_t i = 0; i < 2; i++) {
    char folder[64];
    struct run run = crf_run(1, 1);
    table[at] = impossible[i];
    check_refused(&run, make_folder(folder), LINNET_ERROR_ARGUMENT, symbols[4]);
    remove_folder(folder);
    table[at] = good;
  }
  const size_t end = (2 * SYMBOLS + 3) * SYMBOLS;
  const float end_before = table[end];
  table[end] = 0;
  enum linnet_status status = linnet_denominator_graph_create(context, &model, SYMBOLS, NULL, &graph);
  CHECK(status == LINNET_ERROR_ARGUMENT && strstr(linnet_context_error(context), "gives the end no probability"),
        "no end: %d: %s", status, linnet_context_error(context));
  table[end] = end_before;
  status = linnet_denominator_graph_create(context, &endless, 4000, NULL, &graph);
  CHECK(status == LINNET_ERROR_ARGUMENT && strstr(linnet_context_error(context), "smaller order"), "%d: %s", status,
        linnet_context_error(context));
  endless.state_bytes = 65;
  status = linnet_denominator_graph_create(context, &endless, SYMBOLS, NULL, &graph);
  CHECK(status == LINNET_ERROR_ARGUMENT && !graph, "states of 65 bytes: %d", status);
  endless.state_bytes = 8, endless.finish = NULL;
  status = linnet_denominator_graph_create(context, &endless, SYMBOLS, NULL, &graph);
  CHECK(status == LINNET_ERROR_ARGUMENT && !graph, "a function that is NULL: %d", status);
  linnet_context_destroy(context);
}

/* Without the op. */
static void test_gpu(void) {
  limited_ops = linnet_cpu_device_ops;
  limited_ops.denominator = NULL;
  check_not_on_gpu(crf_run(1, 1));
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static enum linnet_status make_graph(struct linnet_context *context) {
  struct linnet_denominator_graph *graph;
  enum linnet_status status = linnet_denominator_graph_create(context, &model, SYMBOLS, NULL, &graph);
  linnet_denominator_graph_destroy(context, graph);
  return status;
}

int main(void) {
  struct test_random r = {3};
  table = phone_table(&r, SYMBOLS);
  for (size_t i = 0; i < (size_t)SYMBOLS * SYMBOLS * SYMBOLS; i++) /* more even: the corpus has all labels as often */
    table[i] = (table[i] + 1) / (SYMBOLS + 1);
  phones = (struct phone_model){SYMBOLS, 3, 0, table};
  model = phone_language_model(&phones);
  test_learning();
  test_interruptions();
  test_other_models();
  test_settings();
  test_bad_models();
  test_gpu();
  torture("a denominator graph", make_graph);
  free(table);
  return test_result();
}
