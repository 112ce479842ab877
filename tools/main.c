/* The `linnet` command: finds the subcommand and runs it. */
#include <stdlib.h>
#include <string.h>

#include <linnet/status.h>

#include "tool.h"

static const struct subcommand {
  const char *name;
  tool_fn run;
  const char *summary;
} subcommands[] = {
    {"transcribe", tool_transcribe, "turn audio files into phonemes"},
    {"align", tool_align, "find the words and phones of a known text in audio"},
    {"decode", tool_decode, "turn posteriors of any system into symbols"},
    {"plot", tool_plot, "draw audio, posteriors and phones as SVG or PNG"},
    {"posteriors", tool_posteriors, "write log-posteriors of audio as Kaldi archives"},
    {"info", tool_info, "describe a model file"},
    {"features", tool_features, "write filterbank features of audio as Kaldi archives"},
    {"train", tool_train, "train a model"},
    {"average", tool_average, "average the weights of several models"},
    {"ngram", tool_ngram, "estimate, convert and measure n-gram language models"},
    {"calibrate", tool_calibrate, "make a model's confidences the probability of being right"},
    {"score", tool_score, "error rates of hypotheses against references"},
    {"validate-data", tool_validate_data, "check a Kaldi data folder, and repair it"},
};

enum { SUBCOMMANDS = sizeof subcommands / sizeof *subcommands };

static void print_help(FILE *stream) {
  fprintf(stream, "Usage: linnet COMMAND [OPTIONS] ...\n\nCommands:\n");
  for (size_t i = 0; i < SUBCOMMANDS; i++)
    fprintf(stream, "  %-13s %s\n", subcommands[i].name, subcommands[i].summary);
  fprintf(stream, "\n'linnet COMMAND --help' tells more; 'linnet --version' prints the version.\n");
}

static const struct subcommand *find(const char *name) {
  for (size_t i = 0; i < SUBCOMMANDS; i++)
    if (strcmp(subcommands[i].name, name) == 0)
      return &subcommands[i];
  return NULL;
}

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Letters to change, add or remove to get from one word to the other; `b` has at most 15. */
static size_t distance(const char *a, const char *b) {
  size_t row[16], m = strlen(b);
  for (size_t j = 0; j <= m; j++)
    row[j] = j;
  for (size_t i = 1; a[i - 1]; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = smaller(change, smaller(row[j], row[j - 1]) + 1);
    }
  }
  return row[m];
}

/* The command that was meant, NULL if none is near: one that begins like it, or is at most two letters away. */
static const char *suggest(const char *name) {
  const char *best = NULL;
  size_t least = 3;
  for (size_t i = 0; i < SUBCOMMANDS; i++) {
    const char *candidate = subcommands[i].name;
    bool prefix = strlen(name) >= 2 && strncmp(candidate, name, strlen(name)) == 0;
    size_t d = prefix ? 0 : distance(name, candidate);
    if (d < least && d < strlen(candidate) - 1) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

static int unknown(const char *name) {
  const char *meant = suggest(name);
  fprintf(stderr, "linnet: there is no command '%.100s'", name);
  if (meant)
    fprintf(stderr, "; did you mean '%s'?", meant);
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

int main(int argc, char **argv) {
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:2", 0); /* or LSTMs of cuDNN may differ from run to run: docs/cuda.md */
  int code = tool_exit_code(dispatch(argc, (const char **)argv));
  if ((ferror(stdout) || fflush(stdout) != 0) && code == TOOL_OK) {
    perror("linnet: standard output");
    code = TOOL_FAILURE;
  }
  return code;
}
