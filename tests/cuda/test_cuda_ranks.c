/* Training by several ranks on CUDA devices, emulated or real: the ranks are threads, each with a device of its own, or
 * on a machine with one device, a stream of its own. The same bytes for every number of ranks, by NCCL (emulated) and
 * through host memory, also when another number continues; what is refused; failures of each end all. */
#include "backend/cuda/memory.h"
#include "fake_nccl.h"
#include "rank_threads.h"
#include "test_device.h"

static struct fake_nccl *nccl; /* NULL: it is not there, or the real one */

static void check_exchange(const struct rank_thread *threads, size_t count, const char *part) {
  for (size_t r = 0; r < count; r++)
    CHECK(strstr(threads[r].run.exchange, part), "rank %zu: gradients are sent %s", r, threads[r].run.exchange);
}

static enum linnet_status open_bfloat16(struct linnet_context *own, int index, enum linnet_precision precision,
                                        struct linnet_device **device) {
  (void)precision;
  return linnet_cuda_open(own, index, LINNET_BFLOAT16, device);
}

static struct run make_device_run(const char *config) {
  struct run run = make_run(config, 1, 1);
  run.on_device = linnet_cuda_open;
  run.train.masking = MASKED;
  run.num_shards = 4;
  run.average_decay = 0.9;
  return run;
}

static void test_same_bytes(struct run run, const size_t *counts) {
  char alone[64], folder[64];
  struct rank_thread threads[MAX_RANKS];
  run.train.count = 12;
  run.dev.count = 6;
  train(&run, make_folder(alone));
  CHECK(run.status == LINNET_OK, "one rank: %s", run.error);
  for (size_t i = 0; counts[i] > 0; i++) {
    run.threads = 1 + (unsigned)i % 2;
    run.gpu_exchange = nccl && i % 2 == 0 ? LINNET_TRAIN_EXCHANGE_NCCL : LINNET_TRAIN_EXCHANGE_HOST;
    train_ranks(&run, counts[i], make_folder(folder), NULL, 0, threads);
    check_all(threads, counts[i], LINNET_OK, "");
    check_exchange(threads, counts[i], nccl && i % 2 == 0 ? "GPU to GPU by NCCL 2.23.4" : "gpu_exchange is host");
    CHECK(same_model(alone, folder), "%zu ranks give another model", counts[i]);
    for (size_t r = 0; r < counts[i]; r++)
      CHECK(threads[r].run.last_loss == run.last_loss && threads[r].run.last_consistency == run.last_consistency,
            "rank %zu of %zu: another loss", r, counts[i]);
    remove_folder(folder);
  }
  remove_folder(alone);
}

/* A device sums gradients of shards as the CPU does. */
static void test_against_cpu(void) {
  char folders[2][64];
  struct run device = make_device_run(transformer), cpu = device;
  cpu.on_device = NULL;
  train(&device, make_folder(folders[0]));
  train(&cpu, make_folder(folders[1]));
  CHECK(fabs(device.last_loss - cpu.last_loss) <= 1e-4 * cpu.last_loss, "loss %g, on the CPU %g", device.last_loss,
        cpu.last_loss);
  remove_folder(folders[0]);
  remove_folder(folders[1]);
}

/* One rank asks to stop, in an event or through the context's hook. */
static void stop_one(struct rank_thread *t) {
  t->run.stop_after = t->own.rank == t->own.num_ranks - 1 ? 2 : 0;
}

static void cancel_one(struct rank_thread *t) {
  t->run.cancel_at = t->own.rank == t->own.num_ranks - 1 ? 7 : 0;
}

/* Stopped with two ranks and with one, finished with three. */
static void test_resume(void) {
  char whole[64], folder[64];
  struct rank_thread threads[MAX_RANKS];
  struct run run = make_device_run(transformer), again = run;
  train(&run, make_folder(whole));
  train_ranks(&again, 2, make_folder(folder), stop_one, 0, threads);
  check_all(threads, 2, LINNET_ERROR_CANCELLED, "");
  train_ranks(&again, 1, folder, cancel_one, 0, threads);
  check_all(threads, 1, LINNET_ERROR_CANCELLED, "");
  train_ranks(&again, 2, folder, cancel_one, 0, threads);
  check_all(threads, 2, LINNET_ERROR_CANCELLED, "");
  train_ranks(&again, 3, folder, NULL, 0, threads);
  check_all(threads, 3, LINNET_OK, "");
  CHECK(same_model(whole, folder), "a training in parts with other ranks differs");
  remove_folder(whole);
  remove_folder(folder);
}

static void other_device(struct rank_thread *t) {
  t->run.on_device = t->own.rank == 1 ? NULL : linnet_cuda_open;
}

static void other_exchange(struct rank_thread *t) {
  t->run.gpu_exchange = t->own.rank == 1 ? LINNET_TRAIN_EXCHANGE_HOST : LINNET_TRAIN_EXCHANGE_AUTO;
}

static void no_shards(struct rank_thread *t) {
  t->run.num_shards = 0;
}

static void not_finite(struct rank_thread *t) {
  t->run.train.poisoned = 5;
}

static void test_refused(void) {
  static const struct {
    change_fn *change;
    enum linnet_status status;
    const char *part;
  } cases[] = {{other_device, LINNET_ERROR_STATE, "rank 1: differs from rank 0: device cpu, not emulated"},
               {other_exchange, LINNET_ERROR_STATE, "rank 1: differs from rank 0: gpu_exchange 1, not 0"},
               {no_shards, LINNET_ERROR_ARGUMENT, "2 ranks on GPUs need training.shards"},
               {not_finite, LINNET_ERROR_NUMERIC, "utt-05"}};
  struct rank_thread threads[MAX_RANKS];
  char folder[64];
  const struct run run = make_device_run(transformer);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    train_ranks(&run, 2, make_folder(folder), cases[i].change, 0, threads);
    check_all(threads, 2, cases[i].status, cases[i].part);
    remove_folder(folder);
  }
}

/* A device that fails once, when it is waited for. */
static struct linnet_device_ops failing_ops;
static size_t waits_left;

static enum linnet_status failing_wait(struct linnet_device *device, struct linnet_context *context) {
  enum linnet_status status = linnet_cuda_wait(device, context);
  return waits_left > 0 && --waits_left == 0 ? linnet_fail(context, LINNET_ERROR_DEVICE, "the device failed") : status;
}

static enum linnet_status open_failing(struct linnet_context *own, int index, enum linnet_precision precision,
                                       struct linnet_device **device) {
  enum linnet_status status = linnet_cuda_open(own, index, precision, device);
  if (status == LINNET_OK) {
    failing_ops = *(*device)->ops;
    failing_ops.wait = failing_wait;
    (*device)->ops = &failing_ops;
  }
  return status;
}

static void failing_device(struct rank_thread *t) {
  t->run.on_device = t->own.rank == 1 ? open_failing : linnet_cuda_open;
}

/* For trainings that end in many ways. */
static struct run make_short_run(void) {
  struct run run = make_device_run(transformer);
  run.train.count = 10;
  run.dev.count = 4;
  return run;
}

/* If a device of one rank fails, all ranks end, wherever that is. */
static void test_failing_device(void) {
  struct rank_thread threads[MAX_RANKS];
  char folder[64];
  const struct run run = make_short_run();
  size_t waits = 1, left = 0;
  for (; left == 0; waits = waits * 3 / 2 + 1) {
    waits_left = waits;
    train_ranks(&run, 2, make_folder(folder), failing_device, 0, threads);
    left = waits_left;
    check_all(threads, 2, left > 0 ? LINNET_OK : LINNET_ERROR_DEVICE, left > 0 ? "" : "rank 1: the device failed");
    remove_folder(folder);
  }
  CHECK(waits > 8, "%zu waits in a training", waits);
}

/* --- NCCL --------------------------------------------------------------------------------------------------------- */

static void fail_nccl(const char *function, int rank, unsigned passing) {
  nccl->failing = function, nccl->rank = rank, nccl->passing = passing, nccl->failed = 0;
}

/* Where ranks cannot be linked, all use host memory, unless NCCL is asked for. */
static void test_fallback(void) {
  static const struct {
    const char *function, *part;
    bool alike;
  } cases[] = {{"ncclGetVersion", "ncclGetVersion: a call failed", false},
               {"ncclGetUniqueId", "rank 0: cuda, emulated: NCCL 2.23.4: ncclGetUniqueId: a call failed", false},
               {"ncclCommInitRank", "ncclCommInitRank: ", false},
               {NULL, "ranks 0 and 1 share a GPU", true}};
  struct rank_thread threads[MAX_RANKS];
  char folder[64];
  struct run run = make_device_run(transformer);
  run.train.count = 4;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (unsigned forced = 0; forced < 2; forced++) {
      test_cuda_alike(cases[i].alike);
      fail_nccl(cases[i].function, 1, i == 0); /* one rank of two */
      run.gpu_exchange = forced ? LINNET_TRAIN_EXCHANGE_NCCL : LINNET_TRAIN_EXCHANGE_AUTO;
      train_ranks(&run, 2, make_folder(folder), NULL, 0, threads);
      check_all(threads, 2, forced ? LINNET_ERROR_UNSUPPORTED : LINNET_OK, forced ? cases[i].part : "");
      check_exchange(threads, 2, forced ? "" : "through host memory: ");
      check_exchange(threads, 2, forced ? "" : cases[i].part);
      remove_folder(folder);
    }
  test_cuda_alike(false);
  fail_nccl(NULL, 0, 0);
}

/* Each call in turn fails on one rank: all end, or use host memory if there is no link yet. */
static void test_failing_nccl(unsigned step) {
  struct rank_thread threads[MAX_RANKS];
  char folder[64];
  const struct run run = make_short_run();
  unsigned calls = 0, failed = 1;
  for (; failed > 0; calls += calls < 14 ? step : 5 * step) {
    fail_nccl("any", calls % 2, calls);
    train_ranks(&run, 2, make_folder(folder), NULL, 0, threads);
    failed = nccl->failed;
    const bool linked = strstr(threads[0].run.exchange, "GPU to GPU") != NULL, ends = failed > 0 && linked;
    check_all(threads, 2, ends ? LINNET_ERROR_DEVICE : LINNET_OK, ends ? "NCCL 2.23.4: " : "");
    CHECK(linked || failed > 0, "call %u: %s", calls, threads[0].run.exchange);
    remove_folder(folder);
  }
  CHECK(calls > 20, "%u calls in a training", calls);
  fail_nccl(NULL, 0, 0);
}

/* A message that never comes. */
static void test_hanging(void) {
  struct rank_thread threads[MAX_RANKS];
  char folder[64];
  struct run run = make_device_run(transformer);
  test_cuda_hang(true);
  train_ranks(&run, 2, make_folder(folder), NULL, 0, threads);
  test_cuda_hang(false);
  check_all(threads, 2, LINNET_ERROR_DEVICE, "NCCL 2.23.4: no answer from other GPUs in 1 s");
  remove_folder(folder);
}

static void test_nccl(bool few) {
  struct run run = make_device_run(transformer);
  if (!few)
    test_same_bytes(run, (const size_t[]){4, 2, 2, 0});
  run.wire_precision = LINNET_BFLOAT16;
  test_same_bytes(run, few ? (const size_t[]){3, 0} : (const size_t[]){3, 3, 4, 0});
  test_fallback();
  test_failing_nccl(few ? 4 : 1);
  test_hanging();
  CHECK(nccl->messages > 0 && nccl->refused == 0 && nccl->communicators == 0,
        "NCCL: %u messages, %u calls refused, %u communicators left", nccl->messages, nccl->refused,
        nccl->communicators);
}

int main(void) {
  const bool few = getenv("LINNET_TEST_CASES") != NULL;
  struct linnet_context *context = test_context();
  enum linnet_status status = linnet_context_use_device(context, linnet_cuda_open);
  printf("%s\n", status == LINNET_OK ? linnet_context_device(context) : linnet_context_error(context));
  linnet_context_destroy(context);
  if (status == LINNET_ERROR_DEVICE)
    return test_skip("no CUDA device");
  REQUIRE(status == LINNET_OK, "no device");
  nccl = fake_nccl_find();
  if (nccl)
    nccl->owns = test_cuda_owns;
  test_same_bytes(make_device_run(wide), few ? (const size_t[]){2, 0} : (const size_t[]){3, 4, 0});
  struct run run = make_device_run(blstm);
  run.on_device = open_bfloat16;
  run.wire_precision = LINNET_BFLOAT16;
  run.consistency = 0.5;
  run.average_decay = 0;
  test_same_bytes(run, (const size_t[]){2, 0});
  if (!few)
    test_against_cpu();
  test_resume();
  test_refused();
  run = make_device_run(transformer);
  run.train.masking = UNMASKED;
  check_gradient_not_finite(run, 2);
  test_failing_device();
  if (nccl)
    test_nccl(few);
  return test_result();
}
