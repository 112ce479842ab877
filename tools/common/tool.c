/* Shared by the subcommands: command lines, messages, interrupts, progress, output. */
#include "tool.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <linnet/output.h>

#include "base/destination.h"
#include "separate.h"
#include "similar.h"

static const char *tool_name = "linnet"; /* "linnet NAME" once the command line is parsed */
static int option_threads, option_verbose;
static bool quiet, usage_hidden;
static char speaker[300]; /* "" or "rank 1 on node2: " */
static size_t own_index;  /* of this process among those that share the devices of a machine */
static char *option_kernels, *option_precision, *option_device;
static volatile sig_atomic_t interrupted; /* the signal */
static atomic_bool line_shown;            /* a progress line is on the terminal; messages come from any thread */

struct poptOption tool_plain_options[] = {{"verbose", 'v', POPT_ARG_NONE, &option_verbose, 0,
                                           "report each step on standard error (default: only warnings and errors)",
                                           NULL},
                                          POPT_TABLEEND};

struct poptOption tool_thread_options[] = {
    {"threads", 'j', POPT_ARG_INT, &option_threads, 0, "number of worker threads (default: one per processor)", "N"},
    {"jobs", 0, POPT_ARG_INT, &option_threads, 0, "another name of --threads", "N"},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_plain_options, 0, NULL, NULL},
    POPT_TABLEEND};

struct poptOption tool_kernel_options[] = {{"kernels", 0, POPT_ARG_STRING, &option_kernels, 0,
                                            "CPU kernels: auto (default), or a name that 'linnet info' lists", "NAME"},
                                           {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_thread_options, 0, NULL, NULL},
                                           POPT_TABLEEND};

struct poptOption tool_device_options[] = {
    {"device", 0, POPT_ARG_STRING, &option_device, 0,
     "where networks run: cpu (default), cuda, cuda:N, or auto (a GPU if there is one)", "NAME"},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_kernel_options, 0, NULL, NULL},
    POPT_TABLEEND};

#define PRECISION_OPTION                                                                                               \
  {                                                                                                                    \
    "precision", 0, POPT_ARG_STRING, &option_precision, 0,                                                             \
        "precision of matrix products: float32 (default), bfloat16, tf32 (GPU only), int8 (CPU recognition only)",     \
        "NAME"                                                                                                         \
  }

struct poptOption tool_common_options[] = {
    PRECISION_OPTION, {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_device_options, 0, NULL, NULL}, POPT_TABLEEND};

struct poptOption tool_live_options[] = {
    PRECISION_OPTION, {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_kernel_options, 0, NULL, NULL}, POPT_TABLEEND};

/* --- messages --------------------------------------------------------------------------------------------------- */

static void clear_line(void) {
  if (atomic_exchange(&line_shown, false))
    fputs("\r\033[K", stderr);
}

static void print_message(const char *kind, const char *format, va_list arguments) {
  char message[2048], escaped[4096];
  vsnprintf(message, sizeof message, format, arguments);
  terminal_escape(message, escaped, sizeof escaped);
  clear_line();
  fprintf(stderr, "%s: %s%s\n", tool_name, kind, escaped);
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
  print_message(speaker, format, arguments);
  va_end(arguments);
  return TOOL_FAILURE;
}

int tool_usage(const char *format, ...) {
  va_list arguments;
  if (usage_hidden) {
    sleep(1); /* mpirun ends all processes with the first one: the one that prints must come first */
    return TOOL_USAGE;
  }
  va_start(arguments, format);
  print_message("", format, arguments);
  va_end(arguments);
  fprintf(stderr, "Try '%s --help'.\n", tool_name);
  return TOOL_USAGE;
}

bool tool_check_regular(const char *option, const char *path) {
  struct stat status;
  if (!path || stat(path, &status) != 0 || S_ISREG(status.st_mode))
    return true;
  tool_usage("%s %s: is read twice, so it must be a file, not a pipe", option, path);
  return false;
}

void tool_speak_as(const char *name) {
  snprintf(speaker, sizeof speaker, "%.*s%s", (int)sizeof speaker - 3, name ? name : "", name ? ": " : "");
}

void tool_hide_usage(bool value) {
  usage_hidden = value;
}

void tool_be_quiet(bool value) {
  quiet = value;
}

void tool_share_processors(int processors) {
  if (option_threads == 0)
    option_threads = processors;
}

void tool_share_devices(size_t index) {
  own_index = index;
}

void tool_warn(const char *format, ...) {
  va_list arguments;
  if (quiet)
    return;
  va_start(arguments, format);
  print_message("warning: ", format, arguments);
  va_end(arguments);
}

void tool_note(const char *format, ...) {
  va_list arguments;
  if (quiet || !option_verbose)
    return;
  va_start(arguments, format);
  print_message("", format, arguments);
  va_end(arguments);
}

int tool_fail_context(const struct linnet_context *context) {
  const char *error = linnet_context_error(context);
  if (interrupted)
    return TOOL_INTERRUPTED;
  return tool_fail("%s", *error ? error : "failed for an unknown reason");
}

/* --- command line ----------------------------------------------------------------------------------------------- */

/* popt keeps pointers to its tables, which must live as long as its context. */
enum { HELP = 1000000, USAGE };
static struct poptOption help_options[] = {
    {"help", 'h', POPT_ARG_NONE, NULL, HELP, "print this help", NULL},
    {NULL, '?', POPT_ARG_NONE | POPT_ARGFLAG_DOC_HIDDEN, NULL, HELP, NULL, NULL},
    {"usage", 0, POPT_ARG_NONE, NULL, USAGE, "print all options in a few lines", NULL},
    POPT_TABLEEND};
static struct poptOption all_options[] = {{NULL, 0, POPT_ARG_INCLUDE_TABLE, NULL, 0, NULL, NULL},
                                          {NULL, 0, POPT_ARG_INCLUDE_TABLE, help_options, 0, "Help options:", NULL},
                                          POPT_TABLEEND};
static const char *const *all_words; /* of the command line, NULL after the last */

/* Refuses a long option that is in no table, and suggests a similar one. */
static void refuse_name(const char *word) {
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
  struct suggestion meant = {.word = name};
  suggest_options(&meant, all_options);
  if (meant.best)
    tool_usage("%s: unknown option; did you mean --%s?", word, meant.best);
  else
    tool_usage("%s: unknown option", word);
}

/* Reports a wrong option. popt names only the word where it failed; if this is an argument, the option is named too. */
static void refuse_option(poptContext parsed, int argc, const char **argv, int error) {
  const char *word = poptBadOption(parsed, POPT_BADOPTION_NOALIAS);
  int at = 1;
  while (at < argc && argv[at] != word)
    at++;
  if (error == POPT_ERROR_BADOPT && strncmp(word, "--", 2) == 0) {
    refuse_name(word);
    return;
  }
  bool argument = at > 1 && at < argc && *word != '-' && *argv[at - 1] == '-';
  tool_usage("%s%s%s: %s", argument ? argv[at - 1] : "", argument ? " " : "", word, poptStrerror(error));
}

/* Prints the help or the usage, and ends the program as popt's own options would. */
static void print_help(poptContext parsed, int val) {
  if (val == HELP) {
    poptPrintHelp(parsed, stdout, 0);
    examples_print(stdout, tool_name);
  } else {
    poptPrintUsage(parsed, stdout, 0);
  }
  exit(tool_flush_stdout() ? TOOL_OK : TOOL_FAILURE);
}

/* The row of an option that is handed to the command; NULL: none. */
static const struct poptOption *find_row(const struct poptOption *table, int val) {
  const struct poptOption *found = NULL;
  for (const struct poptOption *row = table; !found && (row->longName || row->shortName || row->arg); row++)
    if ((row->argInfo & POPT_ARG_MASK) == POPT_ARG_INCLUDE_TABLE)
      found = find_row(row->arg, val);
    else if (row->val == val)
      found = row;
  return found;
}

/* Reads all options; false after printing why not. */
static bool read_options(poptContext parsed, int argc, const char **argv, tool_option_fn handle, void *user) {
  int val;
  while ((val = poptGetNextOpt(parsed)) >= 0) {
    if (val == HELP || val == USAGE)
      print_help(parsed, val);
    const char *argument = poptGetOptArg(parsed);
    const struct poptOption *row = find_row(all_options, val);
    if (argument && row && row->argInfo == TOOL_INPUT)
      separate_add_input(argument);
    if (handle && !handle(user, val, argument))
      return false;
  }
  if (val < -1)
    refuse_option(parsed, argc, argv, val);
  else if (option_threads < 0)
    tool_usage("--threads %d: must be at least 0", option_threads);
  return val == -1 && option_threads >= 0;
}

poptContext tool_parse(int argc, const char **argv, const struct poptOption *options, const char *usage,
                       tool_option_fn handle, void *user) {
  all_options[0].arg = (void *)options;
  all_words = argv;
  tool_name = strdup(argv[0]); /* never freed: messages may need it at any time */
  poptContext parsed = poptGetContext(NULL, argc, argv, all_options, 0);
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

const char **tool_arguments(poptContext parsed, const char *needed, size_t max_count, size_t *count) {
  static const char *none[1];
  const char **arguments = poptGetArgs(parsed), *missing = needed;
  for (*count = 0; arguments && arguments[*count]; ++*count) {
    missing += strcspn(missing, " ");
    missing += strspn(missing, " ");
  }
  if (*count > max_count)
    tool_usage("'%s' is one argument too many", arguments[max_count]);
  else if (*missing)
    tool_usage("%s %s missing", missing, strchr(missing, ' ') ? "are" : "is");
  else if (separate_check(all_options, all_words, arguments, *count))
    return arguments ? arguments : none;
  return NULL;
}

/* --- context ---------------------------------------------------------------------------------------------------- */

static int is_interrupted(void *user) {
  (void)user;
  return interrupted;
}

static void report_stage(void *user, enum linnet_stage stage, double share);

bool tool_ends_in(const char *text, const char *ending) {
  const size_t length = strlen(text), end = strlen(ending);
  return length >= end && strcmp(text + length - end, ending) == 0;
}

/* The library logs one error, that of linnet_context_create, which create_context prints. It names no options: only
 * --raw reads a file without its header. */
static void print_log(void *user, enum linnet_log_level level, const char *message) {
  (void)user;
  if (quiet)
    return;
  if (level == LINNET_LOG_WARNING || (level < LINNET_LOG_WARNING && option_verbose))
    say(level == LINNET_LOG_WARNING ? "warning: " : "", "%s%s", message,
        tool_ends_in(message, "read it as a file") ? ": omit --raw" : "");
}

const char *tool_precision(void) {
  return option_precision ? option_precision : "float32";
}

bool tool_check_precision(const struct linnet_context *context) {
  const bool useless = strcmp(tool_precision(), "tf32") == 0 && strcmp(linnet_context_device(context), "cpu") == 0;
  if (useless && option_device && strcmp(option_device, "auto") == 0) {
    tool_warn("--precision tf32: there is no GPU, so products are in float32");
    return true;
  }
  if (useless)
    tool_usage("--precision tf32: only GPUs have it, but the network runs on the CPU: take another precision, or a GPU "
               "(--device cuda)");
  return !useless;
}

/* The value of --precision, float32 by default; false after printing what is wrong. */
static bool find_precision(enum linnet_precision *precision) {
  static const char *const names[] = {
      [LINNET_FLOAT32] = "float32", [LINNET_BFLOAT16] = "bfloat16", [LINNET_TF32] = "tf32", [LINNET_INT8] = "int8"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(tool_precision(), names[i]) == 0) {
      *precision = (enum linnet_precision)i;
      return true;
    }
  tool_fail("--precision %s: must be float32, bfloat16, tf32 or int8", option_precision);
  return false;
}

/* For the options "cuda" and "auto", the CUDA device of this process; otherwise --device itself. */
static const char *choose_device(char name[32]) {
  const bool any = option_device && (strcmp(option_device, "cuda") == 0 || strcmp(option_device, "auto") == 0);
  const size_t count = any && own_index > 0 ? linnet_num_cuda_devices() : 0;
  if (count == 0)
    return option_device;
  snprintf(name, 32, "cuda:%zu", own_index % count);
  return name;
}

static struct linnet_context *create_context(linnet_cancel_fn cancel) {
  struct linnet_context_settings settings;
  char error[LINNET_ERROR_BYTES], device[32];
  linnet_context_settings_default(&settings);
  settings.error = error;
  settings.error_bytes = sizeof error;
  settings.num_threads = (unsigned)option_threads;
  settings.kernels = option_kernels;
  settings.device = choose_device(device);
  settings.log = print_log;
  settings.cancel = cancel;
  settings.progress = report_stage;
  if (!find_precision(&settings.precision))
    return NULL;
  struct linnet_context *context = NULL;
  enum linnet_status status = linnet_context_create(&settings, &context);
  if (status != LINNET_OK)
    tool_fail("%s%s", error, status == LINNET_ERROR_DEVICE ? "; omit --device to run on the CPU" : "");
  return context;
}

struct linnet_context *tool_context(void) {
  return create_context(is_interrupted);
}

struct linnet_context *tool_context_uncancelled(void) {
  return create_context(NULL);
}

/* --- a command ---------------------------------------------------------------------------------------------------- */

static int run_command(const struct tool_command *command, const char **arguments, size_t count) {
  int code = command->check ? command->check(arguments, count) : TOOL_OK;
  struct linnet_context *context = code == TOOL_OK ? tool_context() : NULL;
  if (code == TOOL_OK)
    code = context ? command->run(context, arguments, count) : TOOL_FAILURE;
  linnet_context_destroy(context);
  return code;
}

int tool_run(int argc, const char **argv, const struct tool_command *command) {
  poptContext parsed = tool_parse(argc, argv, command->options, command->usage, command->handle, NULL);
  size_t count = 0;
  const char **arguments = parsed ? tool_arguments(parsed, command->needed, command->max_arguments, &count) : NULL;
  int code = arguments ? run_command(command, arguments, count) : TOOL_USAGE;
  poptFreeContext(parsed);
  return code;
}

/* --- interrupts and time ---------------------------------------------------------------------------------------- */

/* A second signal right after the first counts as the same one: `timeout`, and wrappers that forward signals of the
 * terminal, send it twice. */
static const double same_signal = 0.1; /* seconds */

static void note_interrupt(int number) {
  static double first;
  double now = tool_clock();
  if (interrupted && now - first >= same_signal) {
    signal(number, SIG_DFL);
    raise(number);
  } else if (!interrupted) {
    first = now;
    interrupted = number;
  }
}

/* Also where SIGINT is ignored: shells start background jobs of scripts so, and Ctrl-C in a recipe is for its jobs. */
void tool_catch_interrupt(void) {
  struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGINT);
  sigaddset(&action.sa_mask, SIGTERM);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

bool tool_interrupted(void) {
  return interrupted != 0;
}

int tool_exit_code(int code) {
  return code == TOOL_INTERRUPTED ? 128 + (interrupted ? interrupted : SIGINT) : code;
}

const char *tool_variable(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

double tool_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- a line of the terminal --------------------------------------------------------------------------------------- */

/* The last `columns` characters of UTF-8. */
static const char *end_of(const char *text, size_t columns) {
  const char *start = text + strlen(text);
  while (start > text && columns > 0)
    if ((*--start & 0xC0) != 0x80)
      columns--;
  return start;
}

static size_t terminal_columns(void) {
  struct winsize size;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

void tool_show_line(const char *text) {
  static char escaped[8192];
  clear_line();
  if (!text || !*text || !isatty(STDERR_FILENO))
    return;
  terminal_escape(end_of(text, 2000), escaped, sizeof escaped);
  fputs(end_of(escaped, terminal_columns() - 1), stderr);
  fflush(stderr);
  line_shown = true;
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
  fprintf(stderr, "%s  %.0f", progress->label, floor(progress->done + 1e-6));
  if (progress->total > 0)
    fprintf(stderr, "/%.0f  %.0f%%", progress->total, floor(100 * progress->done / progress->total + 1e-6));
  fprintf(stderr, rate < 10 ? "  [%.1f %s/s]" : "  [%.0f %s/s]", rate, progress->unit);
  if (progress->total > progress->done && rate > 0)
    print_left((progress->total - progress->done) / rate);
  fflush(stderr);
  line_shown = true;
  progress->shown = now;
}

void tool_progress_start(struct tool_progress *progress, const char *label, const char *unit, double total) {
  *progress = (struct tool_progress){.label = label, .unit = unit, .total = total, .started = tool_clock()};
  progress->terminal = !quiet && isatty(STDERR_FILENO) != 0;
}

/* The current unit of a thread. */
static _Thread_local struct {
  struct tool_progress *progress; /* NULL: none */
  struct tool_stages stages;
  double share; /* of the unit, already in progress->done */
} unit;

static void advance(struct tool_progress *progress, double done) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  progress->done += done;
  double now = progress->terminal ? tool_clock() : 0;
  if (progress->terminal && now - progress->shown >= 0.1)
    show(progress, now);
  pthread_mutex_unlock(&mutex);
}

void tool_progress_add(struct tool_progress *progress, double done) {
  bool ended = unit.progress == progress;
  advance(progress, ended ? done - unit.share : done);
  if (ended)
    unit.progress = NULL;
}

void tool_progress_begin(struct tool_progress *progress, const struct tool_stages *stages) {
  unit.progress = progress->terminal ? progress : NULL;
  unit.stages = *stages;
  unit.share = 0;
}

/* Advances the unit to `part` of the way between two shares of its time. Ignores shares below the current one. */
static void advance_unit(double from, double to, double part) {
  double share = from + part * (to - from);
  if (!unit.progress || !(share >= unit.share + 0.001))
    return;
  advance(unit.progress, share - unit.share);
  unit.share = share;
}

void tool_progress_input(double share) {
  advance_unit(0, unit.stages.input, share < 1 ? share : 1);
}

static void report_stage(void *user, enum linnet_stage stage, double share) {
  const struct tool_stages *s = &unit.stages;
  const double ends[] = {s->input, s->network, s->posteriors, s->alignment};
  (void)user;
  advance_unit(ends[stage], ends[stage + 1], share);
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

static char *temporary_name(const char *path) {
  size_t size = strlen(path) + 32;
  char *name = malloc(size);
  if (name)
    snprintf(name, size, "%s.tmp.%ld", path, (long)getpid());
  return name;
}

static void release_output(struct tool_output *output) {
  free(output->path);
  free(output->target);
  free(output->temporary);
  *output = (struct tool_output){NULL, NULL, NULL, NULL};
}

static FILE *open_output(struct tool_output *output, const char *path) {
  struct linnet_destination destination;
  if (!linnet_destination_find(path, &destination))
    return NULL;
  if (destination.descriptor == STDOUT_FILENO)
    return stdout;
  output->path = strdup(path);
  output->target = strdup(destination.path);
  output->temporary = destination.direct ? NULL : temporary_name(destination.path);
  if (!output->path || !output->target || (!destination.direct && !output->temporary))
    return NULL;
  return destination.direct ? linnet_destination_open(&destination) : fopen(output->temporary, "wb");
}

bool tool_output_open(struct tool_output *output, const char *path) {
  *output = (struct tool_output){NULL, NULL, NULL, NULL};
  output->stream = strcmp(path, "-") == 0 ? stdout : open_output(output, path);
  if (output->stream)
    return true;
  const int error = errno;
  tool_fail("%s: cannot write: %s", path, strerror(error));
  release_output(output);
  errno = error;
  return false;
}

static bool stdout_failed; /* and a message was printed */

bool tool_output_commit(struct tool_output *output) {
  if (!output->path)
    return tool_flush_stdout();
  int error = linnet_destination_flush(output->stream, output->temporary != NULL);
  if (fclose(output->stream) != 0 && error == 0)
    error = errno;
  if (error == 0 && output->temporary && rename(output->temporary, output->target) != 0)
    error = errno;
  if (error != 0)
    tool_fail("%s: cannot write: %s", output->path, strerror(error));
  if (error != 0 && output->temporary)
    remove(output->temporary);
  release_output(output);
  errno = error;
  return error == 0;
}

void tool_output_abandon(struct tool_output *output) {
  if (output->path && output->stream)
    fclose(output->stream);
  if (output->temporary)
    remove(output->temporary);
  release_output(output);
}

bool tool_output_check(const char *path) {
  struct linnet_destination destination;
  struct tool_output output;
  if (!path || strcmp(path, "-") == 0 || (linnet_destination_find(path, &destination) && destination.direct))
    return true; /* to open a pipe may take its reader */
  const bool good = tool_output_open(&output, path);
  if (good)
    tool_output_abandon(&output);
  return good;
}

const char *tool_output_path(const char *path) {
  return path && strcmp(path, "-") == 0 ? "/dev/stdout" : path;
}

bool tool_check_script(const char *archive, const char *script) {
  if (!script || !archive || strcmp(archive, "-") != 0)
    return true;
  tool_usage("%s: cannot point into an archive on standard output: name a file for the archive", script);
  return false;
}

bool tool_flush_stdout(void) {
  int error = linnet_destination_flush(stdout, false);
  if (error != 0 && !stdout_failed)
    tool_fail("standard output: cannot write: %s", strerror(error));
  stdout_failed = stdout_failed || error != 0;
  return !stdout_failed;
}

/* Reads a stream to its end, or to a NUL byte and what was read with it; NULL with errno set. */
static char *read_text(FILE *stream, size_t max_bytes, size_t *bytes) {
  size_t size = 0, capacity = 65536;
  char *data = malloc(capacity);
  while (data) {
    const size_t start = size;
    size += fread(data + size, 1, capacity - size - 1, stream);
    if (size < capacity - 1 || memchr(data + start, '\0', size - start))
      break;
    errno = EFBIG;
    char *grown = size > max_bytes ? NULL : realloc(data, capacity *= 2);
    if (!grown)
      free(data);
    data = grown;
  }
  if (!data || !ferror(stream)) {
    *bytes = size;
    return data;
  }
  free(data);
  return NULL;
}

char *tool_read_file(const char *path, size_t max_bytes, size_t *bytes) {
  const bool standard = strcmp(path, "-") == 0;
  FILE *stream = standard ? stdin : fopen(path, "rb");
  char *data = stream ? read_text(stream, max_bytes, bytes) : NULL;
  if (data)
    data[*bytes] = '\0';
  else
    tool_fail("%s: cannot be read: %s", standard ? "standard input" : path, strerror(errno));
  if (stream && !standard)
    fclose(stream);
  return data;
}
