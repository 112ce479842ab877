/* Contexts: refused settings, failing allocations during creation, error texts of handles that share a core, memory
 * and log. */
#include "allocators.h"
#include "base/base.h"
#include "base/file.h"
#include "base/settings.h"
#include "base/utf8.h"
#include "tables.h"

/* --- settings ----------------------------------------------------------------------------------------------------- */

static const struct settings_case {
  const char *name;
  unsigned threads;
  const char *kernels;
  enum linnet_status status;
} settings_cases[] = {
    {"defaults", 0, NULL, LINNET_OK},
    {"one thread", 1, "auto", LINNET_OK},
    {"most threads", 256, "reference", LINNET_OK},
    {"too many threads", 257, NULL, LINNET_ERROR_ARGUMENT},
    {"threads -1", (unsigned)-1, NULL, LINNET_ERROR_ARGUMENT},
    {"unknown kernels", 1, "sse9", LINNET_ERROR_UNSUPPORTED},
    {"empty name", 1, "", LINNET_ERROR_UNSUPPORTED},
    {"another case", 1, "Reference", LINNET_ERROR_UNSUPPORTED},
};

/* A precision selects its table if that runs, else the next more precise one; by default none is less precise than
 * float32. */
static void check_precision(void) {
  static const char *const with_integers[] = {"avx512-amx-int8", "avx512-vnni", "avxvnni", "avx2-int8",
                                              "dotprod"}; /* best first */
  const struct linnet_ops *amx = linnet_cpu_ops("avx512-amx-bf16");
  const struct linnet_ops *reduced = amx ? amx : linnet_cpu_ops("avx512-bf16"), *integers = NULL;
  for (size_t i = 0; i < sizeof with_integers / sizeof *with_integers && !integers; i++)
    integers = linnet_cpu_ops(with_integers[i]);
  CHECK(linnet_cpu_best_ops(LINNET_FLOAT32)->precision == LINNET_FLOAT32, "float32");
  CHECK(linnet_cpu_best_ops(LINNET_BFLOAT16) == (reduced ? reduced : linnet_cpu_best_ops(LINNET_FLOAT32)), "bfloat16");
  CHECK(linnet_cpu_best_ops(LINNET_INT8) == (integers ? integers : linnet_cpu_best_ops(LINNET_BFLOAT16)), "int8");
  CHECK(linnet_cpu_best_ops(LINNET_TF32) == linnet_cpu_best_ops(LINNET_FLOAT32), "tf32");
  struct linnet_context_settings settings;
  struct linnet_context *context = NULL;
  linnet_context_settings_default(&settings);
  settings.precision = LINNET_BFLOAT16;
  CHECK(linnet_context_create(&settings, &context) == LINNET_OK, "bfloat16");
  CHECK(linnet_context_precision(context) == (reduced ? LINNET_BFLOAT16 : LINNET_FLOAT32), "%s",
        linnet_context_kernels(context));
  linnet_context_destroy(context);
  settings.precision = (enum linnet_precision)4;
  CHECK(linnet_context_create(&settings, &context) == LINNET_ERROR_ARGUMENT, "precision 4");
}

static void check_settings_case(const struct settings_case *c) {
  struct linnet_context_settings settings;
  struct linnet_context *context = (struct linnet_context *)&settings; /* anything but NULL */
  linnet_context_settings_default(&settings);
  settings.num_threads = c->threads;
  settings.kernels = c->kernels;
  enum linnet_status status = linnet_context_create(&settings, &context);
  CHECK(status == c->status, "%s: %s instead of %s", c->name, linnet_status_string(status),
        linnet_status_string(c->status));
  CHECK((context != NULL) == (status == LINNET_OK), "%s: context %p", c->name, (void *)context);
  if (status == LINNET_OK && c->threads > 0)
    CHECK(linnet_context_num_threads(context) <= c->threads, "%s: %zu threads", c->name,
          linnet_context_num_threads(context));
  linnet_context_destroy(status == LINNET_OK ? context : NULL);
}

/* The reason for a failed creation of a context: in a buffer of the caller, complete or truncated, and in the log. */
static const struct failure {
  unsigned threads;
  enum linnet_precision precision;
  const char *kernels, *device;
  bool memory;
  enum linnet_status status;
  const char *sentence;
} failed_creations[] = {
    {257, LINNET_FLOAT32, NULL, NULL, true, LINNET_ERROR_ARGUMENT, "257 threads; there must be at most 256"},
    {1, (enum linnet_precision)4, NULL, NULL, true, LINNET_ERROR_ARGUMENT, "precision 4"},
    {1, LINNET_FLOAT32, "sse9", NULL, true, LINNET_ERROR_UNSUPPORTED, "kernels \"sse9\""},
    {1, LINNET_FLOAT32, NULL, "tpu", true, LINNET_ERROR_DEVICE, "device tpu: expected cpu, cuda"},
    {1, LINNET_FLOAT32, NULL, "cuda:99", true, LINNET_ERROR_DEVICE, "CUDA device 99"},
    {1, LINNET_INT8, NULL, "cuda", true, LINNET_ERROR_DEVICE, "8-bit integers"},
    {1, LINNET_FLOAT32, NULL, NULL, false, LINNET_ERROR_MEMORY, "out of memory"},
};

static void copy_line(void *user, enum linnet_log_level level, const char *message) {
  CHECK(level == LINNET_LOG_ERROR, "level %d", (int)level);
  snprintf(user, LINNET_ERROR_BYTES, "%s", message);
}

static void check_failure(const struct failure *f) {
  char error[LINNET_ERROR_BYTES] = "", line[LINNET_ERROR_BYTES] = "", cut[4];
  struct failing_allocator heap = {.left = 0};
  struct linnet_context_settings settings = failing_settings(&heap);
  struct linnet_context *context;
  if (f->memory)
    settings.reallocate = NULL;
  settings.num_threads = f->threads, settings.precision = f->precision;
  settings.kernels = f->kernels, settings.device = f->device;
  settings.log = copy_line, settings.log_user = line;
  settings.error = error, settings.error_bytes = sizeof error;
  enum linnet_status status = linnet_context_create(&settings, &context);
  CHECK(status == f->status && !context, "%s: %s", f->sentence, linnet_status_string(status));
  CHECK(strstr(error, f->sentence) && strcmp(error, line) == 0, "%s: \"%s\", logged \"%s\"", f->sentence, error, line);
  settings.error = cut, settings.error_bytes = sizeof cut;
  linnet_context_create(&settings, &context);
  CHECK(strlen(cut) == 3 && strncmp(cut, error, 3) == 0, "%s: cut to \"%s\"", f->sentence, cut);
}

static void check_failures(void) {
  for (size_t i = 0; i < sizeof failed_creations / sizeof *failed_creations; i++)
    check_failure(&failed_creations[i]);
  char error[LINNET_ERROR_BYTES] = "old";
  struct linnet_context_settings settings;
  struct linnet_context *context;
  linnet_context_settings_default(&settings);
  settings.error = error, settings.error_bytes = sizeof error;
  CHECK(linnet_context_create(&settings, &context) == LINNET_OK && strcmp(error, "") == 0, "\"%s\"", error);
  linnet_context_destroy(context);
}

static void check_settings(void) {
  for (size_t i = 0; i < sizeof settings_cases / sizeof *settings_cases; i++)
    check_settings_case(&settings_cases[i]);
  struct linnet_context *context;
  CHECK(linnet_context_create(NULL, NULL) == LINNET_ERROR_ARGUMENT, "nowhere to put the context");
  CHECK(linnet_context_share(NULL, &context) == LINNET_ERROR_ARGUMENT, "nothing to share");
  linnet_context_destroy(NULL);
}

static void check_defaults(void) {
  struct linnet_context *context = test_context();
  CHECK(linnet_context_num_threads(context) >= 1, "%zu threads", linnet_context_num_threads(context));
  CHECK(linnet_context_ops(context) == linnet_cpu_best_ops(LINNET_FLOAT32), "%s", linnet_context_kernels(context));
  CHECK(strcmp(linnet_context_error(context), "") == 0, "\"%s\"", linnet_context_error(context));
  CHECK(linnet_context_share(context, NULL) == LINNET_ERROR_ARGUMENT, "nowhere to put the handle");
  linnet_context_destroy(context);
}

/* Every table that runs here can be asked for. */
static void check_kernels(const struct linnet_ops *ops) {
  struct linnet_context_settings settings;
  struct linnet_context *context;
  linnet_context_settings_default(&settings);
  settings.num_threads = 1;
  settings.kernels = ops->name;
  REQUIRE(linnet_context_create(&settings, &context) == LINNET_OK, "%s", ops->name);
  CHECK(linnet_context_ops(context) == ops && strcmp(linnet_context_kernels(context), ops->name) == 0, "%s became %s",
        ops->name, linnet_context_kernels(context));
  linnet_context_destroy(context);
}

/* --- failing allocations ------------------------------------------------------------------------------------------ */

static struct linnet_context_settings two_threads(struct failing_allocator *heap) {
  struct linnet_context_settings settings = failing_settings(heap);
  settings.num_threads = 2;
  return settings;
}

static struct linnet_context *create(struct failing_allocator *heap) {
  *heap = (struct failing_allocator){.left = SIZE_MAX};
  struct linnet_context_settings settings = two_threads(heap);
  struct linnet_context *context = NULL;
  REQUIRE(linnet_context_create(&settings, &context) == LINNET_OK, "create");
  return context;
}

static void check_failing_create(void) {
  struct linnet_context *context = NULL;
  size_t failures = 0;
  for (;;) {
    struct failing_allocator heap = {.left = failures};
    struct linnet_context_settings settings = two_threads(&heap);
    enum linnet_status status = linnet_context_create(&settings, &context);
    if (status == LINNET_OK) {
      CHECK(heap.calls == failures, "%zu allocations, %zu of them failed in turn", heap.calls, failures);
      linnet_context_destroy(context);
      CHECK(heap.live == 0, "%zu blocks left after destroying", heap.live);
      break;
    }
    failures++;
    CHECK(status == LINNET_ERROR_MEMORY && !context, "allocation %zu: %s, context %p", failures,
          linnet_status_string(status), (void *)context);
    CHECK(heap.live == 0, "allocation %zu failed: %zu blocks left", failures, heap.live);
    REQUIRE(failures < 100, "creation never succeeds");
  }
  printf("create: %zu allocations\n", failures);
  CHECK(failures >= 3, "core, handle and pool come from the hook: %zu allocations", failures);
}

static void check_failing_share(void) {
  struct failing_allocator heap;
  struct linnet_context *context = create(&heap), *shared = context;
  heap.left = 0;
  CHECK(linnet_context_share(context, &shared) == LINNET_ERROR_MEMORY && !shared, "share without memory");
  heap.left = SIZE_MAX;
  CHECK(linnet_context_share(context, &shared) == LINNET_OK, "share with memory again");
  linnet_context_destroy(shared);
  linnet_context_destroy(context);
  CHECK(heap.live == 0, "%zu blocks left", heap.live);
}

/* --- handles ------------------------------------------------------------------------------------------------------ */

static void check_handles(void) {
  struct failing_allocator heap;
  struct linnet_context *first = create(&heap), *second, *third;
  REQUIRE(linnet_context_share(first, &second) == LINNET_OK && linnet_context_share(second, &third) == LINNET_OK,
          "share");
  CHECK(linnet_context_ops(first) == linnet_context_ops(third) &&
            linnet_context_num_threads(first) == linnet_context_num_threads(third),
        "handles share their core");
  CHECK(linnet_fail(first, LINNET_ERROR_IO, "%s %d", "one", 1) == LINNET_ERROR_IO, "linnet_fail returns the status");
  linnet_fail(second, LINNET_ERROR_FORMAT, "two");
  CHECK(strcmp(linnet_context_error(first), "one 1") == 0 && strcmp(linnet_context_error(second), "two") == 0 &&
            strcmp(linnet_context_error(third), "") == 0,
        "texts: \"%s\", \"%s\", \"%s\"", linnet_context_error(first), linnet_context_error(second),
        linnet_context_error(third));
  linnet_copy_error(third, second);
  CHECK(strcmp(linnet_context_error(third), "two") == 0, "\"%s\"", linnet_context_error(third));
  linnet_context_destroy(first);
  void *block = linnet_alloc(third, 100, 1);
  CHECK(block, "the core outlives its first handle");
  linnet_free(third, block);
  linnet_context_destroy(third);
  linnet_context_destroy(second);
  CHECK(heap.live == 0, "%zu blocks left", heap.live);
}

static int read_flag(void *user) {
  return *(const int *)user;
}

static void count_report(void *user, enum linnet_stage stage, double share) {
  (void)stage, (void)share;
  ++*(int *)user;
}

/* A handle begins with the hooks of the one it was made from; then each may have its own. */
static void check_hooks(void) {
  int flags[2] = {0, 0}, reports[2] = {0, 0};
  struct linnet_context_settings settings;
  struct linnet_context *handles[2];
  linnet_context_settings_default(&settings);
  settings.cancel = read_flag, settings.cancel_user = &flags[0];
  settings.progress = count_report, settings.progress_user = &reports[0];
  REQUIRE(linnet_context_create(&settings, &handles[0]) == LINNET_OK, "create");
  REQUIRE(linnet_context_share(handles[0], &handles[1]) == LINNET_OK, "share");
  flags[0] = 1;
  CHECK(linnet_poll_stopped(handles[1]), "the hook of the first handle");
  linnet_context_set_cancel(handles[1], read_flag, &flags[1]);
  linnet_context_set_progress(handles[1], count_report, &reports[1]);
  for (size_t i = 0; i < 2; i++) {
    linnet_poll_begin(handles[i]);
    CHECK(linnet_poll_check(handles[i]) == (flags[i] ? LINNET_ERROR_CANCELLED : LINNET_OK), "handle %zu", i);
    linnet_progress(handles[i], LINNET_STAGE_NETWORK, 1);
  }
  CHECK(reports[0] == 1 && reports[1] == 1, "%d and %d reports", reports[0], reports[1]);
  linnet_context_set_cancel(handles[0], NULL, NULL);
  linnet_context_set_progress(handles[0], NULL, NULL);
  linnet_poll_begin(handles[0]);
  linnet_progress(handles[0], LINNET_STAGE_NETWORK, 1);
  CHECK(!linnet_poll_stopped(handles[0]) && !linnet_poll_of(handles[0]) && reports[0] == 1, "no hooks");
  linnet_context_destroy(handles[1]);
  linnet_context_destroy(handles[0]);
}

/* Of a message with a long path, the beginning and the reason are left, and no half of a character. */
static void check_long_path(struct linnet_context *context) {
  char path[4000];
  for (size_t i = 0; i < sizeof path; i++)
    path[i] = "/\xC3\xA4"[i % 3];
  for (size_t length = 300; length < sizeof path; length += 1 + length / 7) {
    void *data;
    size_t bytes;
    const char byte = path[length];
    path[length] = 0;
    CHECK(linnet_file_read(context, path, 100, &data, &bytes) == LINNET_ERROR_IO, "%zu bytes", length);
    CHECK(linnet_fail_setting(context, "recognizer.json: model", LINNET_ERROR_IO) == LINNET_ERROR_IO, "status");
    const char *error = linnet_context_error(context), *reason = strstr(error, ": No such file or directory");
    CHECK(strncmp(error, "recognizer.json: model: /", 25) == 0 && reason && strlen(reason) == 27, "%zu bytes: %s",
          length, error);
    CHECK(length < 480 || (strstr(error, "...") && strlen(error) >= LINNET_ERROR_BYTES - 9), "%zu bytes: %s", length,
          error);
    CHECK(length % 3 > 0 || linnet_is_utf8(error), "%zu bytes: %s", length, error);
    path[length] = byte;
  }
}

/* A message of any length is stored, shortened to the size of the buffer. */
static void check_error_text(void) {
  struct failing_allocator heap;
  struct linnet_context *context = create(&heap);
  char longest[2000];
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = 0;
  linnet_fail(context, LINNET_ERROR_FORMAT, "begin %s", longest);
  size_t length = strlen(linnet_context_error(context));
  CHECK(length >= 200 && length < 2000 && memcmp(linnet_context_error(context), "begin xxx", 9) == 0,
        "%zu characters are left", length);
  check_long_path(context);
  CHECK(linnet_fail(NULL, LINNET_ERROR_LIMIT, "unheard") == LINNET_ERROR_LIMIT, "without a context");
  CHECK(strcmp(linnet_context_error(NULL), "") == 0, "the text of no context");
  linnet_context_destroy(context);
}

static void check_status_strings(void) {
  for (int i = LINNET_OK; i <= LINNET_ERROR_DEVICE; i++) {
    const char *text = linnet_status_string((enum linnet_status)i);
    CHECK(text && *text && strcmp(text, "unknown status") != 0, "status %d has no name", i);
    for (int j = LINNET_OK; j < i; j++)
      CHECK(strcmp(text, linnet_status_string((enum linnet_status)j)) != 0, "%d and %d are both \"%s\"", i, j, text);
  }
  CHECK(strcmp(linnet_status_string((enum linnet_status)(LINNET_ERROR_DEVICE + 1)), "unknown status") == 0,
        "beyond the end");
  CHECK(strcmp(linnet_status_string((enum linnet_status) - 1), "unknown status") == 0, "before the beginning");
  CHECK(strcmp(linnet_version(), LINNET_VERSION) == 0, "version %s", linnet_version());
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void check_blocks(void) {
  static const size_t sizes[] = {0, 1, 63, 64, 65, 4095, 1000000};
  struct failing_allocator heap;
  struct linnet_context *context = create(&heap);
  size_t before = heap.live;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    unsigned char *block = linnet_alloc(context, sizes[i], 1), *clear = linnet_calloc(context, 1, sizes[i]);
    REQUIRE(block && clear, "%zu bytes", sizes[i]);
    CHECK((uintptr_t)block % 64 == 0 && (uintptr_t)clear % 64 == 0, "%p, %p", (void *)block, (void *)clear);
    memset(block, 0xA5, sizes[i]);
    CHECK(sizes[i] == 0 || (clear[0] == 0 && memcmp(clear, clear + 1, sizes[i] - 1) == 0), "%zu bytes are not clear",
          sizes[i]);
    linnet_free(context, block);
    linnet_free(context, clear);
  }
  linnet_free(context, NULL);
  CHECK(heap.live == before, "%zu blocks left", heap.live - before);
  linnet_context_destroy(context);
}

/* Sizes that overflow are refused before the hook is asked. */
static void check_overflow(void) {
  static const size_t pairs[][2] = {{SIZE_MAX, 2},      {SIZE_MAX / 2 + 1, 2}, {SIZE_MAX, 1},
                                    {SIZE_MAX - 64, 1}, {SIZE_MAX / 8, 9},     {3, SIZE_MAX / 2}};
  struct failing_allocator heap;
  struct linnet_context *context = create(&heap);
  size_t calls = heap.calls, capacity = 0, sum;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    CHECK(!linnet_alloc(context, pairs[i][0], pairs[i][1]), "%zu * %zu", pairs[i][0], pairs[i][1]);
    CHECK(!linnet_calloc(context, pairs[i][0], pairs[i][1]), "%zu * %zu", pairs[i][0], pairs[i][1]);
    CHECK(!linnet_grow(context, NULL, &capacity, pairs[i][0], pairs[i][1]) && capacity == 0, "%zu * %zu", pairs[i][0],
          pairs[i][1]);
  }
  CHECK(heap.calls == calls, "the hook was asked");
  CHECK(!linnet_mul_size(SIZE_MAX, 2, &sum) && !linnet_add_size(SIZE_MAX, 1, &sum), "helpers");
  CHECK(linnet_mul_size(SIZE_MAX / 2, 2, &sum) && sum == SIZE_MAX - 1 && linnet_add_size(SIZE_MAX - 1, 1, &sum) &&
            sum == SIZE_MAX,
        "helpers");
  linnet_context_destroy(context);
}

static void check_grow(void) {
  struct failing_allocator heap;
  struct linnet_context *context = create(&heap);
  size_t capacity = 0, calls = heap.calls, wrong = 0;
  int *numbers = NULL;
  for (int i = 0; i < 10000; i++) {
    numbers = linnet_grow(context, numbers, &capacity, (size_t)i + 1, sizeof *numbers);
    REQUIRE(numbers && capacity > (size_t)i, "%d", i);
    numbers[i] = i;
  }
  for (int i = 0; i < 10000; i++)
    wrong += numbers[i] != i;
  CHECK(wrong == 0, "%zu of 10000 numbers were lost", wrong);
  CHECK(heap.calls - calls < 40, "%zu allocations for 10000 numbers", heap.calls - calls);
  size_t before = capacity;
  heap.left = 0;
  CHECK(!linnet_grow(context, numbers, &capacity, capacity + 1, sizeof *numbers) && capacity == before &&
            numbers[9999] == 9999,
        "the old block does not survive a failure");
  linnet_free(context, numbers);
  linnet_context_destroy(context);
  CHECK(heap.live == 0, "%zu blocks left", heap.live);
}

static void check_strdup(void) {
  struct failing_allocator heap;
  struct linnet_context *context = create(&heap);
  char *copy = linnet_strdup(context, "text"), *empty = linnet_strdup(context, "");
  REQUIRE(copy && empty, "strdup");
  CHECK(strcmp(copy, "text") == 0 && strcmp(empty, "") == 0, "\"%s\", \"%s\"", copy, empty);
  heap.left = 0;
  CHECK(!linnet_strdup(context, "text"), "strdup without memory");
  linnet_free(context, copy);
  linnet_free(context, empty);
  linnet_context_destroy(context);
}

/* --- log ---------------------------------------------------------------------------------------------------------- */

struct heard {
  int lines;
  enum linnet_log_level level;
  char text[64];
  size_t length;
};

static void hear(void *user, enum linnet_log_level level, const char *message) {
  struct heard *heard = user;
  heard->lines++;
  heard->level = level;
  heard->length = strlen(message);
  snprintf(heard->text, sizeof heard->text, "%s", message);
}

static void check_log(void) {
  struct linnet_context_settings settings;
  struct linnet_context *context, *silent = test_context();
  struct heard heard = {0};
  char longest[5000];
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = 0;
  linnet_context_settings_default(&settings);
  settings.log = hear;
  settings.log_user = &heard;
  REQUIRE(linnet_context_create(&settings, &context) == LINNET_OK, "create");
  linnet_log(context, LINNET_LOG_WARNING, "%d of %s", 3, "four");
  CHECK(heard.lines == 1 && heard.level == LINNET_LOG_WARNING && strcmp(heard.text, "3 of four") == 0, "\"%s\"",
        heard.text);
  linnet_log(context, LINNET_LOG_DEBUG, "%s", longest);
  CHECK(heard.lines == 2 && heard.length >= 500 && heard.length < sizeof longest, "%zu characters", heard.length);
  linnet_log(silent, LINNET_LOG_ERROR, "nobody hears this");
  linnet_context_destroy(silent);
  linnet_context_destroy(context);
}

int main(void) {
  check_settings();
  check_failures();
  check_defaults();
  test_each_table(check_kernels);
  check_precision();
  check_failing_create();
  check_failing_share();
  check_handles();
  check_hooks();
  check_error_text();
  check_status_strings();
  check_blocks();
  check_overflow();
  check_grow();
  check_strdup();
  check_log();
  return test_result();
}
