/* Training by several ranks, which are threads here: the same bytes for every number of ranks, also when another number
 * continues; a failure of one ends all; gradients are exchanged during the backward pass. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "phone_model.h"
#include "random_model.h"
#include "rank_threads.h"

/* Ranks whose operations must come from one thread. */
static void one_thread(struct rank_thread *t) {
  t->own.any_thread = 0;
}

static struct run make_ranks_run(const char *config) {
  struct run run = make_run(config, 1, 2);
  run.num_shards = 8;
  run.average_decay = 0.9;
  return run;
}

static void test_same_bytes(struct run run) {
  static const size_t counts[] = {2, 3, 4, 8};
  char alone[64], folder[64];
  struct rank_thread threads[MAX_RANKS];
  train(&run, make_folder(alone));
  CHECK(run.status == LINNET_OK, "one rank: %s", run.error);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    run.threads = 1 + (unsigned)i % 2;
    run.steps = 0;
    train_ranks(&run, counts[i], make_folder(folder), counts[i] == 4 ? one_thread : NULL, 0, threads);
    check_all(threads, counts[i], LINNET_OK, "");
    CHECK(same_model(alone, folder), "%zu ranks give another model", counts[i]);
    for (size_t r = 0; r < counts[i]; r++)
      CHECK(threads[r].run.last_loss == run.last_loss && threads[r].run.last_crf == run.last_crf &&
                threads[r].run.last_distillation == run.last_distillation &&
                threads[r].run.last_intermediate == run.last_intermediate &&
                threads[r].run.last_frame_loss == run.last_frame_loss,
            "rank %zu of %zu: another loss", r, counts[i]);
    remove_folder(folder);
  }
  remove_folder(alone);
}

/* The losses beside CTC. */
static void test_same_bytes_with_all_losses(struct run run) {
  struct test_random r = {4};
  float *table = phone_table(&r, SYMBOLS);
  struct phone_model phones = {SYMBOLS, 2, 0, table};
  struct linnet_language_model model = phone_language_model(&phones);
  run.denominator = &model;
  run.ctc_weight = 0.1;
  struct linnet_context *context = test_context();
  struct linnet_config config = small_config(context, blstm);
  config.outputs = SYMBOLS;
  struct linnet_model *teacher = random_whole_model(context, &config, 5, 1, LINNET_CMVN_NONE);
  run.teacher = teacher;
  run.teacher_weight = 0.5;
  run.frame_weight = 0.3;
  test_same_bytes(run);
  linnet_model_destroy(teacher);
  linnet_context_destroy(context);
  free(table);
}

/* One rank asks to stop, in an event or through the context's hook. */
static void stop_one(struct rank_thread *t) {
  t->run.stop_after = t->own.rank == t->own.num_ranks - 1 ? 4 : 0;
}

static void cancel_one(struct rank_thread *t) {
  t->run.cancel_at = t->own.rank == t->own.num_ranks / 2 ? 9 : 0;
}

static void test_resume(change_fn *interrupt) {
  static const size_t counts[] = {2, 4, 1, 3, 8};
  char whole[64], folder[64];
  struct rank_thread threads[MAX_RANKS];
  struct run run = make_ranks_run(wide), again = run;
  train(&run, make_folder(whole));
  make_folder(folder);
  size_t parts = 0;
  for (bool done = false; !done && parts < 50; parts++) {
    size_t count = counts[parts % (sizeof counts / sizeof *counts)];
    train_ranks(&again, count, folder, interrupt, 0, threads);
    done = threads[0].run.status == LINNET_OK;
    check_all(threads, count, done ? LINNET_OK : LINNET_ERROR_CANCELLED, "");
  }
  CHECK(parts > 2 && parts < 50, "%zu parts", parts);
  CHECK(same_model(whole, folder), "a training of %zu parts with other ranks differs", parts);
  remove_folder(whole);
  remove_folder(folder);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void note_held(void *user) {
  struct rank_thread *t = user;
  t->held = t->usage.bytes;
}

static void *create_counted(void *user) {
  struct rank_thread *t = user;
  struct linnet_context *context = counting_context(&t->usage);
  t->run.group = t->own.num_ranks > 1 ? &t->own : NULL;
  t->run.created = note_held;
  t->run.created_user = t;
  t->run.stop_after = 1;
  train_with(context, &t->run, t->folder);
  linnet_context_destroy(context);
  CHECK(t->usage.bytes == 0, "rank %zu: %zu bytes are left", t->own.rank, t->usage.bytes);
  return NULL;
}

static struct linnet_parameters *make_parameters(struct linnet_context *context, const char *json) {
  struct linnet_config config;
  struct linnet_parameters *parameters = NULL;
  linnet_config_default(&config);
  REQUIRE(linnet_config_parse(context, json, "test", &config) == LINNET_OK, "%s", linnet_context_error(context));
  config.outputs = SYMBOLS;
  REQUIRE(linnet_parameters_create(context, &config, &parameters) == LINNET_OK, "%s", linnet_context_error(context));
  return parameters;
}

/* Bytes of a vector of parameters. */
static size_t vector_bytes(const char *json) {
  struct linnet_context *context = NULL;
  REQUIRE(linnet_context_create(NULL, &context) == LINNET_OK, "context");
  struct linnet_parameters *parameters = make_parameters(context, json);
  const size_t bytes = parameters->size * sizeof(real);
  linnet_parameters_destroy(parameters);
  linnet_context_destroy(context);
  return bytes;
}

/* Ranks hold all weights and one gradient, but of moments and average, together, as much as one rank alone. */
static void test_divided_state(void) {
  enum { RANKS = 4, SMALL = 5000 };
  const size_t bytes = vector_bytes(wide);
  struct rank_thread alone, threads[MAX_RANKS];
  char folder[64];
  struct run run = make_ranks_run(wide);
  alone = (struct rank_thread){.own.num_ranks = 1, .run = run, .folder = make_folder(folder)};
  create_counted(&alone);
  remove_folder(folder);
  run_threads(&run, RANKS, make_folder(folder), NULL, 0, threads, create_counted);
  remove_folder(folder);
  size_t sum = 0;
  for (size_t r = 0; r < RANKS; r++)
    sum += threads[r].held;
  printf("%zu bytes a vector; one rank holds %zu, of %d ranks the first %zu\n", bytes, alone.held, RANKS,
         threads[0].held);
  const double expected = (double)RANKS * (double)(alone.held - 3 * bytes + bytes) + 3.0 * bytes;
  CHECK(fabs((double)sum - expected) < RANKS * SMALL, "%d ranks hold %zu bytes, not %.0f", RANKS, sum, expected);
  CHECK(threads[0].held + bytes < alone.held, "rank 0 holds %zu bytes, one rank %zu", threads[0].held, alone.held);
}

/* --- exchange during the backward pass ---------------------------------------------------------------------------- */

/* Two shards, one a rank, whose gradients are numbers. */
static void begin_gradient(struct rank_thread *t, struct linnet_context *context, struct linnet_parameters *parameters,
                           struct linnet_ranks *ranks, struct linnet_gradient *gradient) {
  static const struct linnet_shards shards = {2, {0, 1, 2}};
  struct linnet_network *network = &t->network;
  *network = (struct linnet_network){linnet_device_of(context), NULL, parameters};
  REQUIRE(linnet_ranks_create(context, &t->own, ranks) == LINNET_OK, "ranks");
  REQUIRE(linnet_gradient_create(context, network, NULL, gradient) == LINNET_OK, "gradient");
  REQUIRE(linnet_gradient_join(gradient, ranks, false) == LINNET_OK, "join");
  CHECK(linnet_exchange_begin(&gradient->exchange, &shards), "memory is already there");
  REQUIRE(linnet_exchange_reserve(&gradient->exchange, &shards) == LINNET_OK, "memory");
  CHECK(!linnet_exchange_begin(&gradient->exchange, &shards), "memory is missing");
  for (size_t i = 0; i < parameters->size; i++)
    gradient->shards[0][i] = (real)(i % 1000) + (real)t->own.rank;
  linnet_reduction_begin(&t->reduction, gradient, &shards, 1);
}

/* A bucket is exchanged although the shard has not passed those before. */
static void pass_buckets(struct rank_thread *t, const struct linnet_division *d) {
  struct linnet_reduction_shard shard = linnet_reduction_shard(&t->reduction);
  for (size_t k = d->buckets; k-- > 0;) {
    linnet_reduction_passed(&shard, linnet_division_first(d, k, 0) + 1);
    CHECK(thread_group_operations(t->own.user) == d->buckets - 1 - k, "bucket %zu was sent too early", k);
    linnet_reduction_passed(&shard, linnet_division_first(d, k, 0));
    for (int i = 0; i < 10000 && thread_group_operations(t->own.user) < d->buckets - k; i++)
      usleep(1000);
    CHECK(thread_group_operations(t->own.user) == d->buckets - k, "bucket %zu was not sent", k);
  }
}

static void *overlap(void *user) {
  struct rank_thread *t = user;
  struct linnet_context *context = NULL;
  struct linnet_parameters *parameters = NULL;
  struct linnet_ranks ranks;
  struct linnet_gradient gradient;
  REQUIRE(linnet_context_create(NULL, &context) == LINNET_OK, "context");
  parameters = make_parameters(context, wide);
  begin_gradient(t, context, parameters, &ranks, &gradient);
  CHECK(gradient.division.buckets > 1, "one bucket");
  pass_buckets(t, &gradient.division);
  CHECK(linnet_reduction_finish(&t->reduction) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(ranks.hidden > 0 && ranks.hidden <= ranks.seconds, "%g of %g seconds are hidden", ranks.hidden, ranks.seconds);
  for (size_t i = 0; i < linnet_division_own_blocks(&gradient.division); i++) {
    const size_t first = linnet_division_own_block(&gradient.division, i) * gradient.division.block;
    CHECK(gradient.sum[first + 1] == (real)(2 * ((first + 1) % 1000) + 1), "parameter %zu", first + 1);
  }
  linnet_gradient_release(&gradient);
  linnet_ranks_release(&ranks);
  linnet_parameters_destroy(parameters);
  linnet_context_destroy(context);
  return NULL;
}

static void test_overlap(void) {
  struct rank_thread threads[MAX_RANKS];
  const struct run run = make_ranks_run(wide);
  run_threads(&run, 2, "", NULL, 0, threads, overlap);
}

/* --- what is refused ---------------------------------------------------------------------------------------------- */

static void other_rate(struct rank_thread *t) {
  t->run.learning_rate = t->own.rank == 2 ? 2e-2 : 1e-2;
}

static void other_config(struct rank_thread *t) {
  t->run.config = t->own.rank == 1 ? softmax : transformer;
}

static void other_labels(struct rank_thread *t) {
  if (t->own.rank == 1)
    t->run.dev.labels[0][0] = t->run.dev.labels[0][0] % (SYMBOLS - 1) + 1;
}

static void bad_labels(struct rank_thread *t) {
  if (t->own.rank == 1)
    t->run.train.labels[3][0] = SYMBOLS;
}

static void other_kernels(struct rank_thread *t) {
  t->run.kernels = t->own.rank == 1 ? "reference" : "generic";
}

static void test_differences(void) {
  static const struct {
    change_fn *change;
    enum linnet_status status;
    const char *part;
  } cases[] = {{other_rate, LINNET_ERROR_STATE, "rank 2: differs from rank 0: learning_rate 0.02, not 0.01"},
               {other_config, LINNET_ERROR_STATE, "rank 1: differs from rank 0: model \""},
               {other_labels, LINNET_ERROR_STATE,
                "rank 1: differs from rank 0: other validation data (ids, frames, labels or their order): give all"},
               {other_kernels, LINNET_ERROR_STATE, "kernels reference, not generic"},
               {bad_labels, LINNET_ERROR_ARGUMENT, "rank 1: utterance utt-03"}};
  struct rank_thread threads[MAX_RANKS];
  char folder[64];
  const struct run run = make_ranks_run(transformer);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    train_ranks(&run, 3, make_folder(folder), cases[i].change, 0, threads);
    check_all(threads, 3, cases[i].status, cases[i].part);
    remove_folder(folder);
  }
}

/* A rank that ends at some operation. */
static void test_failing_operations(void) {
  struct rank_thread threads[MAX_RANKS];
  char folder[64];
  const struct run run = make_ranks_run(transformer);
  for (size_t operation = 1; operation < 100; operation = operation * 3 / 2 + 1) {
    train_ranks(&run, 4, make_folder(folder), NULL, operation, threads);
    check_all(threads, 4, LINNET_ERROR_DEVICE, "the connection to the other ranks failed");
    remove_folder(folder);
  }
}

static void test_not_finite(void) {
  struct rank_thread threads[MAX_RANKS];
  char folder[64];
  struct run run = make_ranks_run(transformer);
  run.train.poisoned = 5;
  train_ranks(&run, 3, make_folder(folder), NULL, 0, threads);
  check_all(threads, 3, LINNET_ERROR_NUMERIC, "utterances with such a loss: utt-05");
  remove_folder(folder);
}

/* Rank 0 cannot write: it has no folder. */
static void test_missing_folder(void) {
  struct rank_thread threads[MAX_RANKS];
  const struct run run = make_ranks_run(transformer);
  train_ranks(&run, 2, "/nonexistent", NULL, 0, threads);
  check_all(threads, 2, LINNET_ERROR_IO, "rank 0: /nonexistent");
}

/* The largest file that this process may write; RLIM_INFINITY for no limit. */
static void limit_files(rlim_t bytes) {
  struct rlimit limit;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0, "getrlimit");
  limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
}

/* Ends in two parts, between which the disk is full: the checkpoint of the first part is intact, and no other file is
 * left. */
static void test_full_disk(void) {
  struct rank_thread threads[MAX_RANKS];
  char whole[64], folder[64];
  struct run run = make_ranks_run(transformer), first = run;
  train(&run, make_folder(whole));
  run.steps = 0;
  train_ranks(&first, 2, make_folder(folder), stop_one, 0, threads);
  check_all(threads, 2, LINNET_ERROR_CANCELLED, "");
  limit_files(1000);
  train_ranks(&run, 4, folder, NULL, 0, threads);
  limit_files(RLIM_INFINITY);
  check_all(threads, 4, LINNET_ERROR_IO, "rank 0: /tmp/linnet-trainer-");
  check_all(threads, 4, LINNET_ERROR_IO, ".safetensors");
  check_all(threads, 4, LINNET_ERROR_IO, strerror(EFBIG));
  train_ranks(&run, 3, folder, NULL, 0, threads);
  check_all(threads, 3, LINNET_OK, "");
  CHECK(same_model(whole, folder), "a training on a disk that was full differs");
  remove_folder(whole);
  remove_folder(folder);
}

/* An event of one rank fails: all ranks end without a checkpoint of what it was about. */
static void fail_step(struct rank_thread *t) {
  t->run.fail_after = t->own.rank == 1 ? 3 : 0;
}

static void fail_epoch(struct rank_thread *t) {
  t->run.fail_epoch = t->own.rank == 0 ? 2 : 0;
}

static void test_failing_event(change_fn *fail, const char *part) {
  struct rank_thread threads[MAX_RANKS];
  char whole[64], folder[64];
  struct run run = make_ranks_run(transformer);
  run.epochs = 2;
  train(&run, make_folder(whole));
  const double last_loss = run.last_loss;
  run.steps = 0, run.last_loss = 0;
  train_ranks(&run, 3, make_folder(folder), fail, 0, threads);
  check_all(threads, 3, LINNET_ERROR_IO, part);
  train_ranks(&run, 2, folder, NULL, 0, threads);
  check_all(threads, 2, LINNET_OK, "");
  CHECK(threads[0].run.last_loss == last_loss, "the event was not repeated");
  CHECK(same_model(whole, folder), "a training whose event failed differs");
  remove_folder(whole);
  remove_folder(folder);
}

static void test_settings(void) {
  char folder[64];
  struct run run = make_ranks_run(transformer);
  struct linnet_group group = {.size = sizeof group, .rank = 2, .num_ranks = 2};
  run.group = &group;
  make_folder(folder);
  train(&run, folder);
  CHECK(run.status == LINNET_ERROR_ARGUMENT && strstr(run.error, "rank 2 of 2"), "status %d: %s", run.status,
        run.error);
  run.group = NULL;
  run.num_shards = 6;
  train(&run, folder);
  CHECK(run.status == LINNET_ERROR_ARGUMENT && strstr(run.error, "power of two"), "status %d: %s", run.status,
        run.error);
  run.num_shards = 4;
  run.wire_precision = LINNET_INT8;
  train(&run, folder);
  CHECK(run.status == LINNET_ERROR_ARGUMENT && strstr(run.error, "wire"), "status %d: %s", run.status, run.error);
  run.wire_precision = LINNET_FLOAT32;
  run.gpu_exchange = (enum linnet_train_gpu_exchange)3;
  train(&run, folder);
  CHECK(run.status == LINNET_ERROR_ARGUMENT && strstr(run.error, "GPU exchange"), "status %d: %s", run.status,
        run.error);
  remove_folder(folder);
}

int main(void) {
  struct run run = make_ranks_run(wide);
  test_same_bytes(run);
  run.wire_precision = LINNET_BFLOAT16;
  run.intermediate_ctc = 1;
  test_same_bytes(run);
  run = make_ranks_run(blstm);
  run.consistency = 0.5;
  run.average_decay = 0;
  run.train.masking = MASKED;
  test_same_bytes_with_all_losses(run);
  test_resume(stop_one);
  test_resume(cancel_one);
  test_divided_state();
  test_overlap();
  test_differences();
  test_failing_operations();
  test_not_finite();
  check_gradient_not_finite(make_ranks_run(transformer), 1);
  check_gradient_not_finite(make_ranks_run(transformer), 3);
  test_missing_folder();
  signal(SIGXFSZ, SIG_IGN);
  test_full_disk();
  test_failing_event(fail_step, "rank 1: the event failed");
  test_failing_event(fail_epoch, "rank 0: the event failed");
  test_settings();
  return test_result();
}
