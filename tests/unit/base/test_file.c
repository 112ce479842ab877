/* Whole files: after any fault, a file is complete or does not exist; reading files, pipes and folders with a limit. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "allocators.h"
#include "base/file.h"
#include "test.h"

static struct linnet_context *context;
static char folder[4096];

/* A path in the test's folder. Two at a time. */
static const char *in_folder(const char *name) {
  static char paths[2][8192];
  static int turn;
  turn = !turn;
  snprintf(paths[turn], sizeof paths[turn], "%s/%s", folder, name);
  return paths[turn];
}

static size_t entries(void) {
  size_t count = 0;
  DIR *directory = opendir(folder);
  REQUIRE(directory, "%s", folder);
  for (struct dirent *entry; (entry = readdir(directory));)
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  closedir(directory);
  return count;
}

static void put(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s", path);
}

/* Whether the file holds exactly `text`; a NULL text: whether there is no file. */
static bool holds(const char *path, const char *text) {
  void *data;
  size_t bytes;
  if (linnet_file_read(context, path, 1 << 20, &data, &bytes) != LINNET_OK)
    return !text;
  bool same = text && bytes == strlen(text) && memcmp(data, text, bytes) == 0;
  linnet_free(context, data);
  return same;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static void check_commit(const char *before) {
  struct linnet_output_file output;
  const char *path = in_folder("commit");
  if (before)
    put(path, before);
  REQUIRE(linnet_output_file_open(context, path, &output) == LINNET_OK, "%s", linnet_context_error(context));
  fputs("new", output.stream);
  fflush(output.stream);
  CHECK(holds(path, before), "the target changed before the commit");
  CHECK(linnet_output_file_commit(&output) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(holds(path, "new") && entries() == 1, "after the commit there are %zu files", entries());
  linnet_output_file_abandon(&output);
  CHECK(holds(path, "new"), "abandoning after the commit did something");
  remove(path);
}

static void check_abandon(const char *before) {
  struct linnet_output_file output;
  const char *path = in_folder("abandon");
  if (before)
    put(path, before);
  REQUIRE(linnet_output_file_open(context, path, &output) == LINNET_OK, "%s", linnet_context_error(context));
  fputs("new", output.stream);
  linnet_output_file_abandon(&output);
  CHECK(holds(path, before) && entries() == (before != NULL), "after abandoning there are %zu files", entries());
  linnet_output_file_abandon(&output);
  remove(path);
}

/* Outputs that cannot be opened report it, leave no file, and can be abandoned. */
static void check_refused(const char *path, enum linnet_status expected, const char *mention) {
  struct linnet_output_file output;
  size_t before = entries();
  enum linnet_status status = linnet_output_file_open(context, path, &output);
  CHECK(status == expected, "%.40s...: %s instead of %s", path, linnet_status_string(status),
        linnet_status_string(expected));
  CHECK(strstr(linnet_context_error(context), mention), "\"%s\" does not mention \"%s\"", linnet_context_error(context),
        mention);
  linnet_output_file_abandon(&output);
  CHECK(entries() == before, "%.40s...: something was left behind", path);
}

static void check_refusals(void) {
  char longest[5000];
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = 0;
  check_refused(in_folder("missing/file"), LINNET_ERROR_IO, "missing/file");
  put(in_folder("plain"), "text");
  check_refused(in_folder("plain/file"), LINNET_ERROR_IO, "plain/file");
  remove(in_folder("plain"));
  check_refused(longest, LINNET_ERROR_LIMIT, "longer than");
  check_refused("", LINNET_ERROR_IO, "empty");
}

/* Permissions do not apply to root. */
static void check_unwritable(void) {
  const char *closed = in_folder("closed");
  REQUIRE(mkdir(closed, 0500) == 0, "%s", closed);
  if (geteuid() == 0)
    printf("root: permissions are not checked\n");
  else
    check_refused(in_folder("closed/file"), LINNET_ERROR_IO, "closed/file");
  rmdir(in_folder("closed"));
}

/* The target is a folder: refused before anything is written. */
static void check_target_is_folder(void) {
  const char *path = in_folder("folder");
  REQUIRE(mkdir(path, 0700) == 0, "%s", path);
  check_refused(path, LINNET_ERROR_IO, "folder");
  CHECK(entries() == 1, "%zu entries: something is left", entries());
  rmdir(path);
}

/* A device is written to, not replaced. */
static void check_device(void) {
  struct linnet_output_file output;
  struct stat before, after;
  REQUIRE(stat("/dev/null", &before) == 0, "/dev/null");
  REQUIRE(linnet_output_file_open(context, "/dev/null", &output) == LINNET_OK, "%s", linnet_context_error(context));
  fputs("new", output.stream);
  CHECK(linnet_output_file_commit(&output) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(stat("/dev/null", &after) == 0 && before.st_ino == after.st_ino, "the device was replaced");
}

static bool is_link(const char *path) {
  struct stat information;
  return lstat(path, &information) == 0 && S_ISLNK(information.st_mode);
}

static enum linnet_status write_text(const char *path, const char *text) {
  struct linnet_output_file output;
  enum linnet_status status = linnet_output_file_open(context, path, &output);
  if (status != LINNET_OK)
    return status;
  fputs(text, output.stream);
  return linnet_output_file_commit(&output);
}

/* Of a link the target is replaced or made, and the link stays. */
static void check_links(void) {
  const struct {
    const char *link, *to, *file; /* a link to the link is written to */
  } cases[] = {{"near", "target", "target"}, {"far", "sub/../target", "target"}, {"dangling", "made", "made"}};
  REQUIRE(mkdir(in_folder("sub"), 0700) == 0, "sub");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    put(in_folder("target"), "old");
    REQUIRE(symlink(cases[i].to, in_folder(cases[i].link)) == 0 &&
                symlink(in_folder(cases[i].link), in_folder("second")) == 0,
            "%s", cases[i].link);
    CHECK(write_text(in_folder("second"), "new") == LINNET_OK, "%s", linnet_context_error(context));
    CHECK(is_link(in_folder("second")) && is_link(in_folder(cases[i].link)), "%s is no link now", cases[i].link);
    CHECK(holds(in_folder(cases[i].file), "new"), "the target of %s", cases[i].link);
    remove(in_folder(cases[i].link));
    remove(in_folder("second"));
    remove(in_folder(cases[i].file));
    remove(in_folder("target"));
  }
  rmdir(in_folder("sub"));
  REQUIRE(symlink("b", in_folder("a")) == 0 && symlink("a", in_folder("b")) == 0, "a loop");
  CHECK(write_text(in_folder("a"), "new") == LINNET_ERROR_IO && is_link(in_folder("a")), "a loop of links");
  remove(in_folder("a"));
  remove(in_folder("b"));
}

/* /dev/stdout is a link to /proc/self/fd/1. This link of the test names a file of the test: output begins at the
 * offset of the descriptor, and neither the link nor the file is replaced. */
static void check_descriptors(void) {
  static const char *const names[] = {"/proc/self/fd/%d", "/dev/fd/%d"};
  for (size_t i = 0; i < 2; i++) {
    char name[64];
    FILE *file = fopen(in_folder("opened"), "wb");
    REQUIRE(file && fputs("before ", file) >= 0 && fflush(file) == 0, "opened");
    snprintf(name, sizeof name, names[i], fileno(file));
    REQUIRE(symlink(name, in_folder("link")) == 0, "link");
    CHECK(write_text(in_folder("link"), "new") == LINNET_OK, "%s", linnet_context_error(context));
    CHECK(write_text(name, " again") == LINNET_OK, "%s", linnet_context_error(context));
    CHECK(is_link(in_folder("link")) && entries() == 2, "%s: %zu entries", name, entries());
    fputs(" behind", file);
    fclose(file);
    CHECK(holds(in_folder("opened"), "before new again behind"), "%s", name);
    CHECK(write_text(in_folder("link"), "new") == LINNET_ERROR_IO && is_link(in_folder("link")), "a closed descriptor");
    remove(in_folder("link"));
    remove(in_folder("opened"));
  }
}

/* A socket cannot be opened for writing and is not replaced; a full device gives an error. */
static void check_special(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
  int server = socket(AF_UNIX, SOCK_STREAM, 0), here = open(".", O_RDONLY | O_DIRECTORY);
  REQUIRE(here >= 0 && chdir(folder) == 0, "chdir"); /* names of sockets are short */
  REQUIRE(server >= 0 && bind(server, (struct sockaddr *)&address, sizeof address) == 0, "bind");
  CHECK(write_text("socket", "new") == LINNET_ERROR_IO && entries() == 1, "%zu entries", entries());
  close(server);
  remove("socket");
  REQUIRE(fchdir(here) == 0 && close(here) == 0, "chdir");
  if (access("/dev/full", W_OK) == 0)
    CHECK(write_text("/dev/full", "new") == LINNET_ERROR_IO && strstr(linnet_context_error(context), strerror(ENOSPC)),
          "%s", linnet_context_error(context));
}

/* The disk is full (or the limit of a file's size is reached): the old file does not change. */
static void check_full(void) {
  struct linnet_output_file output;
  struct rlimit old, small;
  const char *path = in_folder("full");
  put(path, "old");
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0, "getrlimit");
  signal(SIGXFSZ, SIG_IGN);
  small = (struct rlimit){4096, old.rlim_max};
  REQUIRE(linnet_output_file_open(context, path, &output) == LINNET_OK, "%s", linnet_context_error(context));
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0, "setrlimit");
  for (int i = 0; i < 100000; i++)
    fputc('x', output.stream);
  enum linnet_status status = linnet_output_file_commit(&output);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &old) == 0, "setrlimit");
  CHECK(status == LINNET_ERROR_IO, "a file cut short was committed: %s", linnet_status_string(status));
  CHECK(strstr(linnet_context_error(context), strerror(EFBIG)), "the reason is missing: %s",
        linnet_context_error(context));
  CHECK(holds(path, "old") && entries() == 1, "%zu entries", entries());
  remove(path);
}

/* Two outputs at once do not disturb each other. */
static void check_two(void) {
  struct linnet_output_file first, second;
  REQUIRE(linnet_output_file_open(context, in_folder("first"), &first) == LINNET_OK &&
              linnet_output_file_open(context, in_folder("second"), &second) == LINNET_OK,
          "%s", linnet_context_error(context));
  fputs("1", first.stream);
  fputs("2", second.stream);
  CHECK(linnet_output_file_commit(&second) == LINNET_OK && linnet_output_file_commit(&first) == LINNET_OK, "%s",
        linnet_context_error(context));
  CHECK(holds(in_folder("first"), "1") && holds(in_folder("second"), "2"), "contents");
  remove(in_folder("first"));
  remove(in_folder("second"));
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static enum linnet_status read_with_cap(const char *path, size_t cap) {
  void *data = &data;
  size_t bytes = 0;
  enum linnet_status status = linnet_file_read(context, path, cap, &data, &bytes);
  CHECK((status == LINNET_OK) == (data != NULL), "%s: status %s, data %p", path, linnet_status_string(status), data);
  if (status != LINNET_OK)
    CHECK(strstr(linnet_context_error(context), path), "\"%s\" does not name the file", linnet_context_error(context));
  linnet_free(context, data);
  return status;
}

static void check_reading(void) {
  const char *path = in_folder("read");
  CHECK(read_with_cap(path, 10) == LINNET_ERROR_IO, "a file that is not there");
  put(path, "0123456789");
  CHECK(read_with_cap(path, 10) == LINNET_OK, "exactly the cap");
  CHECK(read_with_cap(path, 9) == LINNET_ERROR_LIMIT, "one more than the cap");
  CHECK(read_with_cap(path, 0) == LINNET_ERROR_LIMIT, "a cap of 0");
  CHECK(holds(path, "0123456789"), "contents");
  put(path, "");
  CHECK(read_with_cap(path, 0) == LINNET_OK && holds(path, ""), "an empty file");
  remove(path);
  CHECK(read_with_cap(folder, 1 << 20) == LINNET_ERROR_IO, "a folder");
}

enum { PIPED = 1000000 };

/* Reading needs memory for the file once. */
static void check_memory(void) {
  enum { BYTES = 1 << 20, LITTLE = 8192 };
  struct usage usage;
  struct linnet_context *counted = counting_context(&usage);
  const char *path = in_folder("large");
  char *text = malloc(BYTES + 1);
  void *data;
  size_t bytes;
  REQUIRE(text, "no memory");
  memset(text, 'a', BYTES);
  text[BYTES] = '\0';
  put(path, text);
  const size_t before = usage.bytes;
  REQUIRE(linnet_file_read(counted, path, BYTES + 1, &data, &bytes) == LINNET_OK && bytes == BYTES &&
              memcmp(data, text, BYTES) == 0,
          "%s", linnet_context_error(counted));
  CHECK(usage.peak - before < BYTES + LITTLE, "%zu bytes for a file of %d", usage.peak - before, BYTES);
  linnet_free(counted, data);
  linnet_context_destroy(counted);
  free(text);
  remove(path);
}

static void *feed_pipe(void *path) {
  FILE *pipe = fopen(path, "wb");
  for (int i = 0; pipe && i < PIPED; i++)
    fputc(i % 251, pipe);
  if (pipe)
    fclose(pipe);
  return NULL;
}

/* A pipe has no size, and its contents arrive in pieces. */
static void check_pipe(void) {
  char path[8192];
  pthread_t feeder;
  void *data;
  size_t bytes = 0, wrong = 0;
  snprintf(path, sizeof path, "%s", in_folder("pipe"));
  REQUIRE(mkfifo(path, 0600) == 0 && pthread_create(&feeder, NULL, feed_pipe, path) == 0, "%s", path);
  enum linnet_status status = linnet_file_read(context, path, 1 << 24, &data, &bytes);
  pthread_join(feeder, NULL);
  REQUIRE(status == LINNET_OK && bytes == PIPED, "%s, %zu bytes", linnet_status_string(status), bytes);
  for (size_t i = 0; i < bytes; i++)
    wrong += ((unsigned char *)data)[i] != i % 251;
  CHECK(wrong == 0, "%zu of %zu bytes", wrong, bytes);
  linnet_free(context, data);
  remove(path);
}

/* --- without memory ----------------------------------------------------------------------------------------------- */

static void check_failing_read(void) {
  struct failing_allocator heap;
  struct linnet_context *poor = failing_context(&heap);
  const char *path = in_folder("large");
  FILE *file = fopen(path, "wb");
  REQUIRE(file && fseek(file, 300000, SEEK_SET) == 0 && fputc(1, file) == 1 && fclose(file) == 0, "%s", path);
  size_t before = heap.live;
  size_t failures = 0, bytes;
  for (;; failures++) {
    void *data;
    heap.left = failures;
    enum linnet_status status = linnet_file_read(poor, path, 1 << 20, &data, &bytes);
    if (status == LINNET_OK)
      linnet_free(poor, data);
    CHECK(heap.live == before, "allocation %zu: %zu blocks left", failures + 1, heap.live - before);
    if (status == LINNET_OK)
      break;
    REQUIRE(status == LINNET_ERROR_MEMORY && !data && failures < 100, "allocation %zu: %s", failures + 1,
            linnet_status_string(status));
  }
  CHECK(failures == 1 && bytes == 300001, "%zu allocations, %zu bytes", failures, bytes);
  linnet_context_destroy(poor);
  remove(path);
}

/* The file before stays until the next time. */
static void check_replace(void) {
  static const char *const texts[] = {"first", "second", "third"};
  const char *path = in_folder("kept"), *previous = in_folder("kept-previous");
  for (size_t i = 0; i < 3; i++) {
    struct linnet_output_file output;
    REQUIRE(linnet_output_file_open(context, path, &output) == LINNET_OK, "%s", linnet_context_error(context));
    fputs(texts[i], output.stream);
    CHECK(linnet_output_file_replace(&output, previous) == LINNET_OK, "%s", linnet_context_error(context));
    CHECK(holds(path, texts[i]) && holds(previous, i > 0 ? texts[i - 1] : NULL), "after %s", texts[i]);
    CHECK(entries() == (i > 0 ? 2 : 1), "%zu files", entries());
  }
  remove(path), remove(previous);
}

static void check_temporary_names(void) {
  struct linnet_output_file output;
  const char *path = in_folder("a.tmp.1");
  REQUIRE(linnet_output_file_open(context, path, &output) == LINNET_OK, "%s", linnet_context_error(context));
  CHECK(linnet_output_file_temporary_length(output.temporary) == strlen(path), "%s", output.temporary);
  linnet_output_file_abandon(&output);
  CHECK(linnet_output_file_temporary_length("model") == 0 && linnet_output_file_temporary_length("") == 0 &&
            linnet_output_file_temporary_length("a.tmp.") == 0 && linnet_output_file_temporary_length(".tmp.1") == 0 &&
            linnet_output_file_temporary_length("12") == 0,
        "names of other files");
}

int main(void) {
  context = test_context();
  snprintf(folder, sizeof folder, "%s/test_file.XXXXXX", TEST_BINARY_DIR);
  REQUIRE(mkdtemp(folder), "%s", folder);
  check_commit(NULL);
  check_commit("old");
  check_abandon(NULL);
  check_abandon("old");
  check_refusals();
  check_unwritable();
  check_target_is_folder();
  check_replace();
  check_temporary_names();
  check_device();
  check_links();
  check_descriptors();
  check_special();
  check_full();
  check_two();
  check_reading();
  check_memory();
  check_pipe();
  check_failing_read();
  CHECK(entries() == 0 && rmdir(folder) == 0, "%s is not empty", folder);
  linnet_context_destroy(context);
  return test_result();
}
