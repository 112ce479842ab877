/* Parts of the commands without memory: they report it and end in order. */
#include "test.h"

#include <jansson.h>
#include <unistd.h>

#include "allocators.h"
#include "commands/train_corpus.h"
#include "common/journal.h"

/* --- a C library that fails --------------------------------------------------------------------------------------- */

static size_t copies_left = SIZE_MAX; /* of strdup, before it fails */

/* Replaces that of the C library. */
char *strdup(const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = copies_left > 0 ? malloc(bytes) : NULL;
  copies_left -= copies_left > 0 && copies_left < SIZE_MAX;
  return copy ? memcpy(copy, text, bytes) : NULL;
}

static size_t blocks_left = SIZE_MAX; /* of malloc in train_labels.c, before it fails */
void *test_malloc(size_t bytes);

void *test_malloc(size_t bytes) {
  void *block = blocks_left > 0 ? malloc(bytes) : NULL;
  blocks_left -= blocks_left > 0 && blocks_left < SIZE_MAX;
  return block;
}

static void *no_memory(size_t bytes) {
  (void)bytes;
  return NULL;
}

/* Whether a function fails and prints `part` to standard error. */
static void check_message(bool (*function)(void), const char *part) {
  char text[1000];
  FILE *messages = tmpfile();
  REQUIRE(messages, "no temporary file");
  fflush(stderr);
  int own = dup(STDERR_FILENO);
  dup2(fileno(messages), STDERR_FILENO);
  const bool good = function();
  fflush(stderr);
  dup2(own, STDERR_FILENO);
  close(own);
  rewind(messages);
  text[fread(text, 1, sizeof text - 1, messages)] = '\0';
  fclose(messages);
  CHECK(!good && strstr(text, part), "succeeds, or the message is: %s", text);
}

/* --- the journal -------------------------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s cannot be written", path);
}

/* Resumes with results of an earlier run, of which `copies` keys can be stored. */
static bool resume(size_t copies) {
  const char *target = TEST_BINARY_DIR "/tool_memory.txt", *partial = TEST_BINARY_DIR "/tool_memory.txt.partial";
  struct journal_form form = journal_form("text", true, false);
  struct journal journal;
  write_file(partial, "c.wav\tthree\nb.wav\ttwo\na.wav\tone\n");
  copies_left = copies;
  bool good = journal_open(&journal, target, &form, true);
  copies_left = SIZE_MAX;
  if (good) {
    CHECK(journal.old == 3, "%zu results of the earlier run", journal.old);
    journal_keep(&journal);
  }
  remove(partial);
  return good;
}

static void test_journal(void) {
  for (size_t copies = 0; copies < 3; copies++)
    CHECK(!resume(copies), "opened with memory for %zu keys of 3", copies);
  CHECK(resume(3), "not opened with memory for all keys");
}

/* --- the configuration of a training ------------------------------------------------------------------------------ */

static bool load_without_memory(void) {
  struct train_config config;
  json_set_alloc_funcs(no_memory, free);
  bool good = train_config_load(NULL, NULL, NULL, 0, &config);
  json_set_alloc_funcs(malloc, free);
  return good;
}

static void test_config(void) {
  check_message(load_without_memory, "out of memory");
}

/* --- labels ------------------------------------------------------------------------------------------------------- */

static struct failing_allocator allocator;

/* Labels of an utterance with many new symbols. */
static bool make_labels(size_t blocks, size_t allocations) {
  enum { TOKENS = 1000 };
  static char names[TOKENS][8];
  const char *tokens[TOKENS];
  struct linnet_context *context = failing_context(&allocator);
  struct train_labels labels = {.file = "phones", .open = true};
  struct utterance utterance = {.id = "u1"};
  bool unknown;
  for (int i = 0; i < TOKENS; i++) {
    snprintf(names[i], sizeof names[i], "T%d", i);
    tokens[i] = names[i];
  }
  REQUIRE(linnet_symbols_create(context, NULL, 0, &labels.symbols) == LINNET_OK, "no symbols");
  blocks_left = blocks, allocator.left = allocations;
  const bool good = labels_make(&utterance, &labels, "data", tokens, TOKENS, NULL, &unknown);
  blocks_left = allocator.left = SIZE_MAX;
  free(utterance.labels);
  linnet_symbols_destroy(labels.symbols);
  linnet_context_destroy(context);
  return good;
}

static bool make_without_block(void) {
  return make_labels(0, SIZE_MAX);
}

static bool make_without_symbol(void) {
  return make_labels(SIZE_MAX, 0);
}

static void test_labels(void) {
  CHECK(make_labels(SIZE_MAX, SIZE_MAX), "no labels");
  check_message(make_without_block, "out of memory for the labels of utterance u1");
  check_message(make_without_symbol, "out of memory for the labels of utterance u1");
}

int main(void) {
  test_journal();
  test_config();
  test_labels();
  return test_result();
}
