/* Shared by the subcommands of `linnet`. A subcommand is one function and one row in main.c; it uses public headers of
 * the library only. */
#ifndef LINNET_TOOL_H
#define LINNET_TOOL_H

#include <limits.h>
#include <math.h>
#include <popt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <linnet/context.h>

/* Exit codes of the command. tool_exit_code converts TOOL_INTERRUPTED to 128 + the signal. */
enum { TOOL_OK = 0, TOOL_FAILURE = 1, TOOL_USAGE = 2, TOOL_INTERRUPTED = 130 };
int tool_exit_code(int code);

/* The value of a number option that the command line does not have. */
#define TOOL_NOT_GIVEN (-(double)INFINITY)
enum { TOOL_NO_INTEGER = INT_MIN }; /* the same for an integer */

/* The name of a symbol of a model or of a table; NULL if the number is out of range. */
typedef const char *(*tool_symbol_fn)(const void *user, int symbol);

/* One subcommand: argv[0] is "linnet NAME". Returns the exit code. */
typedef int (*tool_fn)(int argc, const char **argv);

int tool_align(int argc, const char **argv);
int tool_average(int argc, const char **argv);
int tool_calibrate(int argc, const char **argv);
int tool_decode(int argc, const char **argv);
int tool_features(int argc, const char **argv);
int tool_g2p(int argc, const char **argv);
int tool_info(int argc, const char **argv);
int tool_listen(int argc, const char **argv);
int tool_ngram(int argc, const char **argv);
int tool_plot(int argc, const char **argv);
int tool_posteriors(int argc, const char **argv);
int tool_score(int argc, const char **argv);
int tool_train(int argc, const char **argv);
int tool_transcribe(int argc, const char **argv);
int tool_validate_data(int argc, const char **argv);

/* Options that subcommands share. Each table includes the one before it; include the table that the subcommand needs:
 * {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_common_options, 0, "Common options:", NULL}. */
extern struct poptOption tool_plain_options[];  /* --verbose */
extern struct poptOption tool_thread_options[]; /* --threads, --jobs */
extern struct poptOption tool_kernel_options[]; /* --kernels */
extern struct poptOption tool_device_options[]; /* --device */
extern struct poptOption tool_common_options[]; /* --precision: for commands that run a network */
extern struct poptOption tool_live_options[]; /* --precision and tool_kernel_options: for recognition frame by frame */

/* In place of POPT_ARG_STRING: the option names a file or a folder that the command reads, a file that it writes, or
 * either that it writes; an archive, which has FILE.frame_shift beside it; results, which are FILE.partial until they
 * are complete (both may be combined by |). Outputs may not replace inputs (separate.h). */
enum {
  TOOL_INPUT = POPT_ARG_STRING | 0x100,
  TOOL_OUTPUT = POPT_ARG_STRING | 0x200,
  TOOL_OUTPUT_FOLDER = TOOL_OUTPUT | 0x400,
  TOOL_ARCHIVE = TOOL_OUTPUT | 0x800,
  TOOL_RESULTS = TOOL_OUTPUT | 0x1000
};

/* Parses all options (values go to the table's pointers) and prints usage errors. Options whose `val` is not 0 are
 * handed to `handle` (may be NULL if there are none) with their argument, NULL for a flag; it returns false, after
 * printing why (tool_usage), to stop. --help, -h and --usage are added here: omit POPT_AUTOHELP from the table.
 * `usage` follows the name in the help, such as "[OPTIONS] REF HYP". Returns a context for the positional arguments
 * (poptGetArgs), or NULL: then return TOOL_USAGE. Release with poptFreeContext after the arguments' last use. Strings
 * of POPT_ARG_STRING and of `handle` are the caller's to free; static variables may keep them to the end. */
typedef bool (*tool_option_fn)(void *user, int val, const char *argument);
poptContext tool_parse(int argc, const char **argv, const struct poptOption *options, const char *usage,
                       tool_option_fn handle, void *user);

/* The positional arguments, at most `max_count`. `needed` has the names of the required ones as in the usage, separated
 * by spaces ("REF HYP"; "": none). Compares inputs and outputs (separate.h). NULL after printing what is wrong. */
const char **tool_arguments(poptContext parsed, const char *needed, size_t max_count, size_t *count);

/* Creates a context from the common options; its warnings and errors go to stderr. NULL after printing why it failed.
 */
struct linnet_context *tool_context(void);

/* The same, but an interrupt does not cancel calls: for what has to be completed after it. */
struct linnet_context *tool_context_uncancelled(void);

/* A command that needs a context and positional arguments. */
struct tool_command {
  const struct poptOption *options; /* of tool_parse, as the next two */
  const char *usage;
  tool_option_fn handle;
  const char *needed; /* of tool_arguments */
  size_t max_arguments;
  /* TOOL_OK, or TOOL_USAGE after printing what is wrong with options or arguments; NULL: nothing can be. */
  int (*check)(const char **arguments, size_t count);
  int (*run)(struct linnet_context *context, const char **arguments, size_t count);
};

/* Parses the command line, creates the context and runs the command; returns the exit code. */
int tool_run(int argc, const char **argv, const struct tool_command *command);

/* Prints "linnet NAME: MESSAGE" to stderr and returns TOOL_FAILURE. */
int tool_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with a pointer to --help, for a wrong command line; returns TOOL_USAGE. */
int tool_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* False after tool_usage if an option's file is read twice, but is a pipe or a device, which can be read once. `path`
 * NULL: there is none. */
bool tool_check_regular(const char *option, const char *path);

/* Prints "linnet NAME: warning: MESSAGE" to stderr. */
void tool_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* With --verbose, prints "linnet NAME: MESSAGE" to stderr: a step of the command. */
void tool_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Who errors are from, such as "rank 1 on node2", in one of several processes that print to the same place; NULL:
 * nobody in particular. */
void tool_speak_as(const char *speaker);

/* Whether warnings, progress and --verbose are suppressed: in a process that another one speaks for. */
void tool_be_quiet(bool quiet);

/* Whether tool_usage prints nothing: in a process of many with the same command line. */
void tool_hide_usage(bool hidden);

/* The number of threads if the command line has no --threads. Call it before tool_context. */
void tool_share_processors(int processors);

/* The number of this process among those that share the CUDA devices of the machine: --device cuda and auto then mean
 * the device of this number, modulo the number of devices. Call it before tool_context. */
void tool_share_devices(size_t index);

/* Prints the error of the context and returns TOOL_FAILURE. After an interrupt calls fail because they are cancelled;
 * then it prints nothing and returns TOOL_INTERRUPTED. */
int tool_fail_context(const struct linnet_context *context);

/* True after SIGINT or SIGTERM, if tool_catch_interrupt has been called. The signal also cancels library calls on
 * contexts of tool_context. A second signal ends the process at once. */
void tool_catch_interrupt(void);
bool tool_interrupted(void);

/* The value of --precision, "float32" without it. */
const char *tool_precision(void);

/* False, after printing so, if only GPUs have the precision, but the context computes on the CPU. */
bool tool_check_precision(const struct linnet_context *context);

/* Whether a text ends in another one. */
bool tool_ends_in(const char *text, const char *ending);

/* The value of a variable of the environment; NULL if it is missing or empty. */
const char *tool_variable(const char *name);

/* Seconds of a monotonic clock. */
double tool_clock(void);

/* Rewrites a line at the bottom of the terminal, of which the end is shown if it is too long; NULL clears it. Messages
 * and progress clear it, too. Without a terminal on standard error it has no effect. */
void tool_show_line(const char *text);

/* A progress line, rewritten at most ten times a second; only if stderr is a terminal:
 * "LABEL  42/100  42%  [rate unit/s]  00:12 left". From any thread. */
struct tool_progress {
  const char *label, *unit;
  double total, done, started, shown;
  bool terminal;
};
void tool_progress_start(struct tool_progress *progress, const char *label, const char *unit, double total);
void tool_progress_add(struct tool_progress *progress, double done);
void tool_progress_finish(struct tool_progress *progress); /* clears the line */

/* The stages of a unit, and the share of its time that is over after each. The shares differ between inputs, so these
 * are estimates. The library reports its own stages (linnet_progress_fn). */
struct tool_stages {
  double input, network, posteriors, alignment;
};

/* The calling thread begins a unit of the line, and reports the share of its input that it has read, 0 to 1. Its next
 * tool_progress_add ends the unit. */
void tool_progress_begin(struct tool_progress *progress, const struct tool_stages *stages);
void tool_progress_input(double share);

/* Writes a JSON string with its quotes, escaped, to a stdio stream. Bytes that are not UTF-8 become U+FFFD. */
void tool_write_json_string(FILE *stream, const char *text);

/* A linnet_write_fn (output.h) to a FILE. */
int tool_write_piece(void *stream, const char *text, size_t bytes);

/* A file that is written beside `path` and renamed on commit. "-" is standard output. Devices, pipes and descriptors
 * (/dev/stdout) are written directly; if `path` is a symbolic link, its target is replaced. Open and commit print why
 * they failed and return false, with errno. Abandon removes the file; after a commit or a failed open it has no effect.
 */
struct tool_output {
  FILE *stream;
  char *path;      /* as given, for messages */
  char *target;    /* after following links */
  char *temporary; /* renamed on commit; NULL: the target is written to directly */
};
bool tool_output_open(struct tool_output *output, const char *path);
bool tool_output_commit(struct tool_output *output);
void tool_output_abandon(struct tool_output *output);

/* Checks before long work that the output can be written. Leaves no file. `path` may be NULL. */
bool tool_output_check(const char *path);

/* The path for functions of the library; most of them do not accept "-" for standard output. */
const char *tool_output_path(const char *path);

/* False, after printing why, if a script file (may be NULL) would point into an archive on standard output. */
bool tool_check_script(const char *archive, const char *script);

/* Flushes standard output. On failure prints why, unless tool_output_commit has done so, and returns false. */
bool tool_flush_stdout(void);

/* The default maximum of raw input in seconds (four hours), because a pipe may never end. */
enum { TOOL_RAW_SECONDS = 14400 };

/* Reads all of a text file ("-": standard input), adds a NUL byte and gives the length without it; release with free.
 * If the file has a NUL byte, the end may be missing: input may be endless. NULL after printing why. */
char *tool_read_file(const char *path, size_t max_bytes, size_t *bytes);

/* --- terminals (terminal.c) --------------------------------------------------------------------------------------- */

/* Shows control characters in texts of files and in names as text, such as \x1b, because a terminal would obey them. */

/* Copies a message as one line: control characters, including C1 and newlines, become \n, \t or \xNN. Truncates a
 * message that does not fit. */
void terminal_escape(const char *text, char *escaped, size_t size);

/* From this call on, control characters other than newlines and tabs are written as \xNN if standard output is a
 * terminal. Output to a file or pipe does not change. */
void terminal_guard_stdout(void);

/* --- help (examples.c) -------------------------------------------------------------------------------------------- */

/* Prints the examples of a subcommand, `name` being "linnet NAME". */
void examples_print(FILE *stream, const char *name);

#endif
