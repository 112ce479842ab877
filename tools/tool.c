/* What the subcommands share: command lines, messages, interrupts, progress, output. */
#include "tool.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <linnet/output.h>

static const char *tool_name = "linnet"; /* "linnet NAME" once the command line is parsed */
static int option_threads, option_verbose;
static char *option_kernels, *option_precision, *option_device;
static atomic_bool line_shown; /* a progress line is on the terminal; messages come from any thread */

struct poptOption tool_common_options[] = {
    {"threads", 'j', POPT_ARG_INT, &option_threads, 0, "worker threads (default: one per processor)", "N"},
    {"jobs", 0, POPT_ARG_INT, &option_threads, 0, "the same: files are worked on one per thread", "N"},
    {"kernels", 0, POPT_ARG_STRING, &option_kernels, 0, "CPU kernels: auto, or one of those that \"linnet info\" names",
     "NAME"},
    {"precision", 0, POPT_ARG_STRING, &option_precision, 0,
     "of matrix products: float32 (default), or what is faster where there is hardware for it: bfloat16 (on GPUs of "
     "activations, too), on GPUs "
     "tf32, for recognition on processors int8",
     "NAME"},
    {"device", 0, POPT_ARG_STRING, &option_device, 0,
     "where networks run: cpu (default), cuda, cuda:N, or auto: a GPU if there is one", "NAME"},
    {"verbose", 'v', POPT_ARG_NONE, &option_verbose, 0, "tell what is being done", NULL},
    POPT_TABLEEND};

/* --- messages --------------------------------------------------------------------------------------------------- */

static void clear_line(void) {
  if (atomic_exchange(&line_shown, false))
    fputs("\r\033[K", stderr);
}

static void print_message(const char *kind, const char *format, va_list arguments) {
  char message[2048];
  vsnprintf(message, sizeof message, format, arguments);
  clear_line();
  fprintf(stderr, "%s: %s%s\n", tool_name, kind, message);
}

__attribute__((format(printf, 2, 3))) static void say(const char *kind, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_message(kind, format, arguments);
  va_end(arguments);
}

int tool_fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_message("", format, arguments);
  va_end(arguments);
  return TOOL_FAILURE;
}

int tool_usage(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_message("", format, arguments);
  va_end(arguments);
  fprintf(stderr, "Try '%s --help'.\n", tool_name);
  return TOOL_USAGE;
}

void tool_warn(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_message("warning: ", format, arguments);
  va_end(arguments);
}

int tool_fail_context(const struct linnet_context *context) {
  const char *error = linnet_context_error(context);
  return tool_fail("%s", *error ? error : "failed without a reason given");
}

/* --- command line ----------------------------------------------------------------------------------------------- */

/* What is wrong at: an option, or its argument if that is a word of its own. popt tells only the word. */
static void refuse_option(poptContext parsed, int argc, const char **argv, int error) {
  const char *word = poptBadOption(parsed, POPT_BADOPTION_NOALIAS);
  int at = 1;
  while (at < argc && argv[at] != word)
    at++;
  bool argument = at > 1 && at < argc && *word != '-' && *argv[at - 1] == '-';
  tool_usage("%s%s%s: %s", argument ? argv[at - 1] : "", argument ? " " : "", word, poptStrerror(error));
}

/* Reads all options; false after printing why not. */
static bool read_options(poptContext parsed, int argc, const char **argv, tool_option_fn handle, void *user) {
  int val;
  while ((val = poptGetNextOpt(parsed)) >= 0) {
    const char *argument = poptGetOptArg(parsed);
    if (handle && !handle(user, val, argument))
      return false;
  }
  if (val < -1)
    refuse_option(parsed, argc, argv, val);
  else if (option_threads < 0)
    tool_usage("--threads %d: the number of threads cannot be negative", option_threads);
  return val == -1 && option_threads >= 0;
}

poptContext tool_parse(int argc, const char **argv, const struct poptOption *options, const char *usage,
                       tool_option_fn handle, void *user) {
  /* popt keeps a pointer to the table, which must live as long as its context. */
  static struct poptOption table[] = {{NULL, 0, POPT_ARG_INCLUDE_TABLE, NULL, 0, NULL, NULL},
                                      POPT_AUTOHELP POPT_TABLEEND};
  table[0].arg = (void *)options;
  tool_name = strdup(argv[0]); /* kept to the end: messages may come at any time */
  poptContext parsed = poptGetContext(NULL, argc, argv, table, 0);
  if (!parsed || !tool_name) {
    fprintf(stderr, "%s: out of memory\n", argv[0]);
    return NULL;
  }
  poptSetOtherOptionHelp(parsed, usage);
  if (read_options(parsed, argc, argv, handle, user))
    return parsed;
  poptFreeContext(parsed);
  return NULL;
}

const char **tool_arguments(poptContext parsed, const char *needed, size_t most, size_t *count) {
  static const char *none[1];
  const char **arguments = poptGetArgs(parsed), *missing = needed;
  for (*count = 0; arguments && arguments[*count]; ++*count) {
    missing += strcspn(missing, " ");
    missing += strspn(missing, " ");
  }
  if (*count > most)
    tool_usage("'%s' is one argument too many", arguments[most]);
  else if (*missing)
    tool_usage("%s %s missing", missing, strchr(missing, ' ') ? "are" : "is");
  else
    return arguments ? arguments : none;
  return NULL;
}

/* --- context ---------------------------------------------------------------------------------------------------- */

static void print_log(void *user, enum linnet_log_level level, const char *message) {
  (void)user;
  if (level >= LINNET_LOG_WARNING || option_verbose)
    say(level == LINNET_LOG_WARNING ? "warning: " : "", "%s", message);
}

/* --precision, float32 if it was not given; false after printing what is wrong. */
static bool find_precision(enum linnet_precision *precision) {
  static const char *const names[] = {
      [LINNET_FLOAT32] = "float32", [LINNET_BFLOAT16] = "bfloat16", [LINNET_TF32] = "tf32", [LINNET_INT8] = "int8"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(option_precision ? option_precision : names[0], names[i]) == 0) {
      *precision = (enum linnet_precision)i;
      return true;
    }
  tool_fail("--precision %s: must be float32, bfloat16, tf32 or int8", option_precision);
  return false;
}

struct linnet_context *tool_context(void) {
  struct linnet_context_settings settings;
  linnet_context_settings_default(&settings);
  settings.threads = (unsigned)option_threads;
  settings.kernels = option_kernels;
  settings.device = option_device;
  settings.log = print_log;
  if (!find_precision(&settings.precision))
    return NULL;
  struct linnet_context *context = NULL;
  enum linnet_status status = linnet_context_create(&settings, &context);
  if (status == LINNET_ERROR_UNSUPPORTED)
    tool_fail("--kernels %s: not in this build, not on this processor, or not with so little memory",
              option_kernels ? option_kernels : "auto");
  else if (status == LINNET_ERROR_DEVICE)
    tool_fail("--device %s cannot be had: leave it out to run on the CPU", option_device);
  else if (status != LINNET_OK)
    tool_fail("cannot start with %d threads: %s", option_threads, linnet_status_string(status));
  return context;
}

/* --- interrupts and time ---------------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void note_interrupt(int number) {
  (void)number;
  interrupted = 1;
}

void tool_catch_interrupt(void) {
  struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

bool tool_interrupted(void) {
  return interrupted != 0;
}

double tool_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- progress --------------------------------------------------------------------------------------------------- */

static void print_left(double seconds) {
  long left = seconds < 359999 ? (long)(seconds + 0.5) : 359999;
  if (left >= 3600)
    fprintf(stderr, "  %ld:%02ld:%02ld left", left / 3600, left / 60 % 60, left % 60);
  else
    fprintf(stderr, "  %02ld:%02ld left", left / 60, left % 60);
}

static void show(struct tool_progress *progress, double now) {
  double elapsed = now - progress->started, rate = elapsed > 0 ? progress->done / elapsed : 0;
  clear_line();
  fprintf(stderr, "%s  %.0f", progress->label, progress->done);
  if (progress->total > 0)
    fprintf(stderr, "/%.0f", progress->total);
  fprintf(stderr, rate < 10 ? "  [%.1f %s/s]" : "  [%.0f %s/s]", rate, progress->unit);
  if (progress->total > progress->done && rate > 0)
    print_left((progress->total - progress->done) / rate);
  fflush(stderr);
  line_shown = true;
  progress->shown = now;
}

void tool_progress_start(struct tool_progress *progress, const char *label, const char *unit, double total) {
  *progress = (struct tool_progress){.label = label, .unit = unit, .total = total, .started = tool_clock()};
  progress->terminal = isatty(STDERR_FILENO) != 0;
}

void tool_progress_add(struct tool_progress *progress, double done) {
  progress->done += done;
  if (!progress->terminal)
    return;
  double now = tool_clock();
  if (now - progress->shown >= 0.1)
    show(progress, now);
}

void tool_progress_finish(struct tool_progress *progress) {
  if (progress->terminal)
    clear_line();
}

/* --- JSON ------------------------------------------------------------------------------------------------------- */

int tool_write_piece(void *stream, const char *text, size_t bytes) {
  return fwrite(text, 1, bytes, stream) != bytes;
}

void tool_write_json_string(FILE *stream, const char *text) {
  linnet_output_json_string(text, tool_write_piece, stream);
}

/* --- files ------------------------------------------------------------------------------------------------------ */

/* Devices, pipes and links (/dev/stdout is one) are written to, not replaced. */
static bool is_special(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

static char *temporary_name(const char *path) {
  size_t size = strlen(path) + 32;
  char *name = malloc(size);
  if (name)
    snprintf(name, size, "%s.tmp.%ld", path, (long)getpid());
  return name;
}

static void release_output(struct tool_output *output) {
  free(output->path);
  free(output->temporary);
  *output = (struct tool_output){NULL, NULL, NULL};
}

bool tool_output_open(struct tool_output *output, const char *path) {
  *output = (struct tool_output){NULL, NULL, NULL};
  if (strcmp(path, "-") == 0) {
    output->stream = stdout;
    return true;
  }
  bool special = is_special(path);
  output->path = strdup(path);
  output->temporary = special ? NULL : temporary_name(path);
  if (output->path && (special || output->temporary))
    output->stream = fopen(special ? path : output->temporary, "wb");
  if (output->stream)
    return true;
  tool_fail("%s: cannot write: %s", path, strerror(errno));
  release_output(output);
  return false;
}

bool tool_output_commit(struct tool_output *output) {
  FILE *stream = output->stream;
  bool good = !ferror(stream) && fflush(stream) == 0;
  if (output->temporary)
    good = good && fsync(fileno(stream)) == 0;
  if (output->path)
    good = fclose(stream) == 0 && good;
  if (output->temporary)
    good = good && rename(output->temporary, output->path) == 0;
  if (!good)
    tool_fail("%s: cannot write: %s", output->path ? output->path : "standard output", strerror(errno));
  if (!good && output->temporary)
    remove(output->temporary);
  release_output(output);
  return good;
}

void tool_output_abandon(struct tool_output *output) {
  if (output->path && output->stream)
    fclose(output->stream);
  if (output->temporary)
    remove(output->temporary);
  release_output(output);
}

char *tool_read_stdin(size_t max_bytes, size_t *bytes) {
  size_t size = 0, capacity = 65536;
  char *data = malloc(capacity);
  while (data && size <= max_bytes) {
    size += fread(data + size, 1, capacity - size, stdin);
    if (size < capacity)
      break;
    char *grown = realloc(data, capacity *= 2);
    if (!grown)
      free(data);
    data = grown;
  }
  if (data && size <= max_bytes && !ferror(stdin)) {
    *bytes = size;
    return data;
  }
  tool_fail("standard input: %s", !data ? "out of memory" : size > max_bytes ? "too large" : strerror(errno));
  free(data);
  return NULL;
}
