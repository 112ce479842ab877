/* Runs a fuzz target without libFuzzer: every file of the corpus as it is, then a bounded number of mutations of them.
 *
 *   fuzz_TARGET [-runs=N] [-seed=S] FILE_OR_FOLDER...
 *
 * Mutation number n depends only on (seed, n) and the corpus. When the target aborts or a sanitizer stops the
 * program, the bytes at fault are written to crash-SEED-N in the working folder; run the program on that file to see
 * it again. */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 4096, INPUT_MAX = 1 << 20 };

struct input {
  char *path;
  uint8_t *data;
  size_t size;
};

static struct input files[FILES_MAX];
static size_t file_count;
static unsigned long runs = 0, seed = 1;

/* --- the running input, for the record of a crash ----------------------------------------------------------------- */

static uint8_t current[INPUT_MAX];
static size_t current_size;
static char crash_path[64];

/* Only calls that are safe in a signal handler. */
static void write_crash(void) {
  int file = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0)
    return;
  ssize_t written = write(file, current, current_size);
  close(file);
  const char message[] = "the input at fault is in ";
  written += write(STDERR_FILENO, message, sizeof message - 1);
  written += write(STDERR_FILENO, crash_path, strlen(crash_path));
  written += write(STDERR_FILENO, "\n", 1);
  (void)written;
}

static void on_signal(int number) {
  write_crash();
  signal(number, SIG_DFL);
  raise(number);
}

/* A function of the sanitizers' runtime, if there is one. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void catch_crashes(void) {
  signal(SIGABRT, on_signal);
  if (__sanitizer_set_death_callback) {
    __sanitizer_set_death_callback(write_crash);
    return;
  }
  signal(SIGSEGV, on_signal);
  signal(SIGFPE, on_signal);
  signal(SIGBUS, on_signal);
}

/* The target gets a block of exactly its size, so that a sanitizer notices the first byte beyond it. */
static void run(unsigned long number) {
  snprintf(crash_path, sizeof crash_path, "crash-%lu-%lu", seed, number);
  uint8_t *copy = malloc(current_size ? current_size : 1);
  if (!copy)
    exit(1);
  memcpy(copy, current, current_size);
  LLVMFuzzerTestOneInput(copy, current_size);
  free(copy);
}

/* --- mutations ------------------------------------------------------------------------------------------------- */

static uint64_t random_state;

static uint64_t next_random(void) { /* splitmix64 */
  uint64_t z = (random_state += 0x9E3779B97F4A7C15u);
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static size_t below(size_t n) {
  return n > 0 ? (size_t)(next_random() % n) : 0;
}

static size_t flip_bit(uint8_t *data, size_t size, size_t capacity) {
  (void)capacity;
  data[below(size)] ^= (uint8_t)(1u << below(8));
  return size;
}

static size_t set_byte(uint8_t *data, size_t size, size_t capacity) {
  static const char telling[] = "\"{}[],:0123456789-+.eE\\ \t\n\x7f\xff\x80";
  (void)capacity;
  data[below(size)] = below(2) ? (uint8_t)telling[below(sizeof telling)] : (uint8_t)next_random();
  return size;
}

/* Another digit where the next digit is. */
static size_t change_digit(uint8_t *data, size_t size, size_t capacity) {
  (void)capacity;
  for (size_t i = below(size); i < size; i++)
    if (data[i] >= '0' && data[i] <= '9') {
      data[i] = (uint8_t)('0' + below(10));
      break;
    }
  return size;
}

static size_t set_integer(uint8_t *data, size_t size, size_t capacity) {
  static const uint64_t telling[] = {0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, INT64_MAX, UINT64_MAX};
  uint64_t value = telling[below(sizeof telling / sizeof *telling)] + below(3) - 1;
  size_t bytes = (size_t)1 << below(4), position = below(size);
  (void)capacity;
  for (size_t i = 0; i < bytes && position + i < size; i++)
    data[position + i] = (uint8_t)(value >> 8 * i);
  return size;
}

static size_t delete_range(uint8_t *data, size_t size, size_t capacity) {
  size_t position = below(size), n = 1 + below(size - position < 64 ? size - position : 64);
  (void)capacity;
  memmove(data + position, data + position + n, size - position - n);
  return size - n;
}

/* Copies a range to another offset. */
static size_t insert_range(uint8_t *data, size_t size, size_t capacity) {
  uint8_t range[64];
  size_t from = below(size), position = below(size), n = 1 + below(size - from < 64 ? size - from : 64);
  if (n > capacity - size)
    return size;
  memcpy(range, data + from, n);
  memmove(data + position + n, data + position, size - position);
  memcpy(data + position, range, n);
  return size + n;
}

static size_t copy_range(uint8_t *data, size_t size, size_t capacity) {
  size_t from = below(size), to = below(size), max_bytes = size - (from > to ? from : to);
  (void)capacity;
  memmove(data + to, data + from, 1 + below(max_bytes < 64 ? max_bytes : 64));
  return size;
}

static size_t cut(uint8_t *data, size_t size, size_t capacity) {
  (void)data, (void)capacity;
  return below(4) ? size : below(size);
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity) {
  static size_t (*const mutations[])(uint8_t *, size_t, size_t) = {
      flip_bit, set_byte, change_digit, set_integer, delete_range, insert_range, copy_range, cut};
  for (size_t i = 1 + below(3); i > 0 && size > 0; i--)
    size = mutations[below(sizeof mutations / sizeof *mutations)](data, size, capacity);
  return size;
}

#pragma weak LLVMFuzzerCustomMutator

static void run_mutation(unsigned long number) {
  random_state = (uint64_t)seed << 32 ^ number;
  const struct input *input = &files[below(file_count)];
  memcpy(current, input->data, input->size);
  if (LLVMFuzzerCustomMutator)
    current_size = LLVMFuzzerCustomMutator(current, input->size, INPUT_MAX, (unsigned)next_random());
  else
    current_size = LLVMFuzzerMutate(current, input->size, INPUT_MAX);
  run(number);
}

/* --- the corpus ------------------------------------------------------------------------------------------------ */

static void fail(const char *path, const char *why) {
  fprintf(stderr, "%s: %s\n", path, why);
  exit(1);
}

static void add_file(const char *path) {
  FILE *stream = fopen(path, "rb");
  if (!stream || file_count == FILES_MAX)
    fail(path, "cannot be opened, or there are too many files");
  struct input *input = &files[file_count++];
  size_t size = fread(current, 1, INPUT_MAX, stream);
  if (ferror(stream) || fgetc(stream) != EOF)
    fail(path, "cannot be read, or is larger than 1 MiB");
  fclose(stream);
  *input = (struct input){strdup(path), malloc(size ? size : 1), size};
  if (!input->path || !input->data)
    fail(path, "out of memory");
  memcpy(input->data, current, size);
}

static void add_folder(const char *path, DIR *folder) {
  for (struct dirent *entry; (entry = readdir(folder));) {
    char name[4096];
    if (entry->d_name[0] == '.')
      continue;
    int n = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    if (n > 0 && (size_t)n < sizeof name)
      add_file(name);
  }
}

static void add_path(const char *path) {
  DIR *folder = opendir(path);
  if (!folder) {
    add_file(path);
    return;
  }
  add_folder(path, folder);
  closedir(folder);
}

/* The order of a folder differs from machine to machine. */
static int compare_path(const void *left, const void *right) {
  const struct input *a = left, *b = right;
  return strcmp(a->path, b->path);
}

/* Options are libFuzzer's; others of its options are passed over. */
static void read_argument(const char *argument) {
  if (sscanf(argument, "-runs=%lu", &runs) != 1 && sscanf(argument, "-seed=%lu", &seed) != 1 && argument[0] != '-')
    add_path(argument);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    read_argument(argv[i]);
  if (file_count == 0)
    fail(argv[0], "needs files or folders of a corpus");
  qsort(files, file_count, sizeof *files, compare_path);
  catch_crashes();
  for (size_t i = 0; i < file_count; i++) {
    memcpy(current, files[i].data, files[i].size);
    current_size = files[i].size;
    run(0);
  }
  for (unsigned long number = 1; number <= runs; number++)
    run_mutation(number);
  printf("%zu files and %lu mutations (seed %lu) passed\n", file_count, runs, seed);
  for (size_t i = 0; i < file_count; i++) {
    free(files[i].path);
    free(files[i].data);
  }
  return 0;
}
