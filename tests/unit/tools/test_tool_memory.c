/* Parts of the commands without memory: they report it and end in order. */
#include "test.h"

#include <jansson.h>
#include <unistd.h>

#include "commands/train_parts.h"
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

static void *no_memory(size_t bytes) {
  (void)bytes;
  return NULL;
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

/* What the function prints to standard error. */
static void load_without_memory(char *text, size_t size) {
  struct train_config config;
  FILE *messages = tmpfile();
  REQUIRE(messages, "no temporary file");
  fflush(stderr);
  int own = dup(STDERR_FILENO);
  dup2(fileno(messages), STDERR_FILENO);
  json_set_alloc_funcs(no_memory, free);
  bool good = train_config_load(NULL, NULL, NULL, 0, &config);
  json_set_alloc_funcs(malloc, free);
  fflush(stderr);
  dup2(own, STDERR_FILENO);
  close(own);
  rewind(messages);
  text[fread(text, 1, size - 1, messages)] = '\0';
  fclose(messages);
  CHECK(!good, "loaded without memory");
}

static void test_config(void) {
  char text[1000];
  load_without_memory(text, sizeof text);
  CHECK(strstr(text, "out of memory"), "the message is: %s", text);
}

int main(void) {
  test_journal();
  test_config();
  return test_result();
}
