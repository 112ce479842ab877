/* Options, parameters, checkpoints and one optimiser step for the experiments. */
#include "common/experiment.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *program = "experiment";
static int threads;
static const char *kernels = "auto";

static const struct poptOption common_options[] = {
    {"threads", 0, POPT_ARG_INT, &threads, 0, "Threads (default: one per processor)", "N"},
    {"kernels", 0, POPT_ARG_STRING | POPT_ARGFLAG_SHOW_DEFAULT, &kernels, 0, "CPU kernels", "NAME"},
    POPT_TABLEEND};

static bool line_is_open; /* the last output to standard error is a progress line */

void experiment_end_progress(void) {
  if (line_is_open)
    fputc('\n', stderr);
  line_is_open = false;
}

void experiment_die(const char *format, ...) {
  va_list arguments;
  experiment_end_progress();
  va_start(arguments, format);
  fprintf(stderr, "%s: ", program);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

struct linnet_context *experiment_start(int argc, const char **argv, const struct poptOption *options) {
  const struct poptOption all[] = {{NULL, 0, POPT_ARG_INCLUDE_TABLE, (void *)options, 0, "Options:", NULL},
                                   {NULL, 0, POPT_ARG_INCLUDE_TABLE, (void *)common_options, 0, "Common:", NULL},
                                   POPT_AUTOHELP POPT_TABLEEND};
  const char *slash = strrchr(argv[0], '/');
  program = slash ? slash + 1 : argv[0];
  poptContext parsed = poptGetContext(program, argc, argv, all, 0);
  int code = poptGetNextOpt(parsed);
  if (code < -1)
    experiment_die("%s: %s; see --help", poptBadOption(parsed, 0), poptStrerror(code));
  if (poptPeekArg(parsed))
    experiment_die("%s: is not an option; see --help", poptPeekArg(parsed));
  poptFreeContext(parsed);
  struct linnet_context_settings settings;
  struct linnet_context *context;
  linnet_context_settings_default(&settings);
  settings.num_threads = threads > 0 ? (unsigned)threads : 0;
  settings.kernels = kernels;
  if (linnet_context_create(&settings, &context) != LINNET_OK)
    experiment_die("cannot create a context: are the kernels \"%s\" available on this machine?", kernels);
  return context;
}

void *experiment_alloc(struct linnet_context *context, size_t count, size_t bytes) {
  void *block = linnet_calloc(context, count, bytes);
  if (!block)
    experiment_die("out of memory for %zu * %zu bytes", count, bytes);
  return block;
}

enum linnet_attention_kind experiment_kind(const char *name) {
  for (int kind = 0; kind < LINNET_ATTENTION_KINDS; kind++)
    if (linnet_attention_traits[kind].name && strcmp(name, linnet_attention_traits[kind].name) == 0)
      return (enum linnet_attention_kind)kind;
  experiment_die("attention %s does not exist", name);
}

static void temporary_name(const char *path, char *name, size_t size) {
  snprintf(name, size, "%s.tmp.%ld", path, (long)getpid());
}

FILE *experiment_create(const char *path) {
  char name[4096];
  temporary_name(path, name, sizeof name);
  FILE *file = fopen(name, "w");
  if (!file)
    experiment_die("%s: %s", name, strerror(errno));
  return file;
}

void experiment_finish(FILE *file, const char *path) {
  char name[4096];
  temporary_name(path, name, sizeof name);
  bool failed = ferror(file) != 0;
  if (fclose(file) != 0 || failed || rename(name, path) != 0) {
    remove(name);
    experiment_die("%s: cannot write", path);
  }
}

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double experiment_seconds(void) {
  return seconds_of(CLOCK_MONOTONIC);
}

double experiment_processor_seconds(void) {
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

/* --- interrupts and progress -------------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted; /* the signal */

static void note_signal(int number) {
  interrupted = number;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

void experiment_catch_interrupt(bool caught) {
  const struct sigaction action = {.sa_handler = caught ? note_signal : SIG_DFL, .sa_flags = SA_RESTART};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

bool experiment_interrupted(void) {
  return interrupted != 0;
}

void experiment_stop(const char *checkpoint) {
  experiment_end_progress();
  fprintf(stderr, "%s: interrupted; the same command continues from %s\n", program, checkpoint);
  signal(interrupted, SIG_DFL);
  raise(interrupted);
  _exit(1);
}

void experiment_progress(const char *what, double started, double share) {
  if (!isatty(STDERR_FILENO) || share <= 0)
    return;
  const long left = lround((experiment_seconds() - started) * (1 - share) / share);
  fprintf(stderr, "\r%s  %.1f%%  %ld:%02ld:%02ld left\033[K", what, 100 * share, left / 3600, left / 60 % 60,
          left % 60);
  line_is_open = true;
}

/* --- parameters --------------------------------------------------------------------------------------------------- */

void experiment_create_parameters(struct experiment *e, struct linnet_context *context, enum linnet_optimizer optimizer,
                                  size_t size) {
  *e =
      (struct experiment){.context = context, .ops = linnet_context_ops(context), .optimizer = optimizer, .size = size};
  e->weights = experiment_alloc(context, size, sizeof(real));
  e->moment1 = experiment_alloc(context, size, sizeof(real));
  e->moment2 = experiment_alloc(context, size, sizeof(real));
  for (size_t i = 0; i < EXPERIMENT_SHARDS; i++)
    e->gradients[i] = experiment_alloc(context, size, sizeof(real));
}

void experiment_release(struct experiment *e) {
  linnet_free(e->context, e->weights);
  linnet_free(e->context, e->moment1);
  linnet_free(e->context, e->moment2);
  for (size_t i = 0; i < EXPERIMENT_SHARDS; i++)
    linnet_free(e->context, e->gradients[i]);
}

/* --- checkpoints -------------------------------------------------------------------------------------------------- */

/* The parts of a checkpoint, in their order. */
struct piece {
  void *data;
  size_t bytes;
};
enum { PIECES = 5 };

static void checkpoint_pieces(const struct experiment *e, void *more, size_t bytes, struct piece pieces[PIECES]) {
  size_t size = e->size * sizeof(real);
  pieces[0] = (struct piece){more, bytes};
  pieces[1] = (struct piece){(void *)(uintptr_t)&e->step, sizeof e->step};
  pieces[2] = (struct piece){e->weights, size};
  pieces[3] = (struct piece){e->moment1, size};
  pieces[4] = (struct piece){e->moment2, size};
}

long experiment_log_bytes(FILE *log, const char *out) {
  if (fflush(log) != 0 || ferror(log))
    experiment_die("%s: cannot write its log", out);
  return ftell(log);
}

void experiment_save(const struct experiment *e, const char *path, const void *more, size_t bytes) {
  struct piece pieces[PIECES];
  FILE *file = experiment_create(path);
  checkpoint_pieces(e, (void *)(uintptr_t)more, bytes, pieces);
  for (size_t i = 0; i < PIECES; i++)
    fwrite(pieces[i].data, 1, pieces[i].bytes, file);
  experiment_finish(file, path);
}

bool experiment_load(struct experiment *e, const char *path, void *more, size_t bytes) {
  struct piece pieces[PIECES];
  FILE *file = fopen(path, "rb");
  bool good = true;
  if (!file && errno == ENOENT)
    return false;
  if (!file)
    experiment_die("%s: %s", path, strerror(errno));
  checkpoint_pieces(e, more, bytes, pieces);
  for (size_t i = 0; i < PIECES; i++)
    good = good && fread(pieces[i].data, 1, pieces[i].bytes, file) == pieces[i].bytes;
  good = good && fgetc(file) == EOF;
  fclose(file);
  if (!good)
    experiment_die("%s: is not a checkpoint of this training; remove it to start again", path);
  return true;
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

struct step {
  struct experiment *experiment;
  experiment_shard_fn *shard;
  void *user;
};

static void run_shard(void *user, size_t shard, unsigned worker) {
  struct step *step = user;
  struct experiment *e = step->experiment;
  (void)worker;
  memset(e->gradients[shard], 0, e->size * sizeof(real));
  e->losses[shard] = step->shard(step->user, shard, e->weights, e->gradients[shard]);
}

double experiment_step(struct experiment *e, double rate, experiment_shard_fn *shard, void *user) {
  struct step step = {e, shard, user};
  struct linnet_update update;
  linnet_parallel(e->context, EXPERIMENT_SHARDS, run_shard, &step);
  double loss = e->losses[0];
  for (size_t i = 1; i < EXPERIMENT_SHARDS; i++) {
    e->ops->add(e->size, e->gradients[i], e->gradients[0]);
    loss += e->losses[i];
  }
  linnet_update_terms(e->optimizer, rate, ++e->step, &update);
  e->ops->update(&update, e->size, e->weights, e->gradients[0], e->moment1, e->moment2);
  return loss;
}
