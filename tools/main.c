/* The `linnet` command: finds the subcommand and runs it. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linnet/status.h>

#include "common/similar.h"
#include "common/tool.h"

static const struct subcommand {
  const char *name;
  tool_fn run;
  const char *summary;
} subcommands[] = {
    {"transcribe", tool_transcribe, "turn audio files into words or phones"},
    {"listen", tool_listen, "turn speech into words while it is spoken"},
    {"align", tool_align, "find the words and phones of a known text in audio"},
    {"decode", tool_decode, "turn posteriors of any system into symbols or words"},
    {"plot", tool_plot, "draw audio, posteriors and phones as SVG or PNG"},
    {"posteriors", tool_posteriors, "write log-posteriors of audio as Kaldi archives"},
    {"info", tool_info, "describe a model file"},
    {"features", tool_features, "write filterbank features of audio as Kaldi archives"},
    {"train", tool_train, "train a model"},
    {"average", tool_average, "average the weights of several models"},
    {"ngram", tool_ngram, "estimate, convert and measure n-gram language models"},
    {"g2p", tool_g2p, "pronounce words: look them up, and guess those that no lexicon has"},
    {"calibrate", tool_calibrate, "turn confidences of a model into probabilities of being right"},
    {"score", tool_score, "count the errors of hypotheses against references"},
    {"validate-data", tool_validate_data, "check and repair Kaldi data folders"},
};

enum { SUBCOMMANDS = sizeof subcommands / sizeof *subcommands };

static void print_help(FILE *stream) {
  fprintf(stream, "Usage: linnet COMMAND [OPTIONS] ...\n\nCommands:\n");
  for (size_t i = 0; i < SUBCOMMANDS; i++)
    fprintf(stream, "  %-13s %s\n", subcommands[i].name, subcommands[i].summary);
  fprintf(stream, "\n'linnet COMMAND --help' says more; 'linnet --version' prints the version.\n");
}

static const struct subcommand *find(const char *name) {
  for (size_t i = 0; i < SUBCOMMANDS; i++)
    if (strcmp(subcommands[i].name, name) == 0)
      return &subcommands[i];
  return NULL;
}

static int unknown(const char *name) {
  struct suggestion meant = {.word = name};
  char escaped[104];
  for (size_t i = 0; i < SUBCOMMANDS; i++)
    suggest(&meant, subcommands[i].name);
  terminal_escape(name, escaped, sizeof escaped);
  fprintf(stderr, "linnet: there is no command '%s'", escaped);
  if (meant.best)
    fprintf(stderr, "; did you mean '%s'?", meant.best);
  fprintf(stderr, "\n'linnet --help' lists all commands.\n");
  return TOOL_USAGE;
}

/* Runs a subcommand with argv[0] = "linnet NAME". */
static int run(const struct subcommand *subcommand, int argc, const char **argv) {
  char name[32];
  snprintf(name, sizeof name, "linnet %s", subcommand->name);
  argv[0] = name;
  return subcommand->run(argc, argv);
}

static int help(int argc, const char **argv) {
  if (argc < 3) {
    print_help(stdout);
    return TOOL_OK;
  }
  const struct subcommand *subcommand = find(argv[2]);
  const char *arguments[] = {NULL, "--help", NULL};
  return subcommand ? run(subcommand, 2, arguments) : unknown(argv[2]);
}

static int dispatch(int argc, const char **argv) {
  if (argc < 2) {
    print_help(stderr);
    return TOOL_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "-?") == 0 ||
      strcmp(argv[1], "help") == 0)
    return help(argc, argv);
  if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
    printf("linnet %s\n", linnet_version());
    return TOOL_OK;
  }
  const struct subcommand *subcommand = find(argv[1]);
  return subcommand ? run(subcommand, argc - 1, argv + 1) : unknown(argv[1]);
}

/* Opens standard streams that the caller has closed. Otherwise a file could get the number of a standard stream, and
 * messages would be written to it. Reading from standard input then fails, and so does writing to the others: missing
 * results are an error. */
static bool open_standard_streams(void) {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++)
    if (fcntl(descriptor, F_GETFD) < 0 &&
        open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) != descriptor)
      return false;
  return true;
}

int main(int argc, char **argv) {
  if (!open_standard_streams())
    return TOOL_FAILURE;
  terminal_guard_stdout();
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:2", 0); /* or LSTMs of cuDNN may differ from run to run: docs/cuda.md */
  int code = tool_exit_code(dispatch(argc, (const char **)argv));
  if (!tool_flush_stdout() && code == TOOL_OK)
    code = TOOL_FAILURE;
  return code;
}
