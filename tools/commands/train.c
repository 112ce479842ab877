/* linnet train: trains an encoder on Kaldi-style data folders. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <linnet/train.h>

#include "common/results.h"
#include "train_parts.h"

enum { MAX_REPEATS = 64 };

/* An option that may be given several times. */
struct list {
  const char *items[MAX_REPEATS];
  size_t count;
};

static struct {
  char *mpi, *config, *exp, *labels, *lexicon, *symbols, *initial, *licence, *provenance, *name;
  int batches, measure_chunk, audio_memory, noise_memory;
  double rank_timeout;
  struct list train, dev, set;
} options = {.audio_memory = 2048, .noise_memory = 512, .rank_timeout = 1800};

enum { OPTION_TRAIN = 1, OPTION_DEV, OPTION_SET };

static bool take_option(void *user, int val, const char *argument) {
  struct list *list = val == OPTION_TRAIN ? &options.train : val == OPTION_DEV ? &options.dev : &options.set;
  (void)user;
  if (list->count == MAX_REPEATS) {
    tool_usage("%s: is given more than %d times", argument, MAX_REPEATS);
    return false;
  }
  list->items[list->count++] = argument;
  return true;
}

static struct train_ranks ranks;

/* What a run holds. */
struct run {
  struct linnet_context *context;
  struct train_config config;
  struct linnet_lexicon *lexicon;
  struct linnet_symbols *symbols;
  struct train_memories memories;
  struct train_corpus *train, *dev;
  struct linnet_cmvn cmvn; /* global */
  struct train_denominator denominator;
  struct linnet_model *teacher;
  struct train_targets *targets;
  struct linnet_trainer *trainer;
};

static void release(struct run *run) {
  linnet_trainer_destroy(run->trainer);
  train_denominator_free(&run->denominator);
  train_corpus_free(run->train);
  train_corpus_free(run->dev);
  train_targets_free(run->targets);
  linnet_model_destroy(run->teacher);
  linnet_symbols_destroy(run->symbols);
  linnet_lexicon_destroy(run->lexicon);
  train_config_free(&run->config);
}

/* All of the lexicon, so that searches can use the model with it. */
static enum linnet_status add_phones(struct run *run) {
  const struct linnet_symbols *phones = linnet_lexicon_phones(run->lexicon);
  enum linnet_status status = LINNET_OK;
  for (size_t i = 1; status == LINNET_OK && i < linnet_symbols_num_symbols(phones); i++)
    status = linnet_symbols_add(run->symbols, linnet_symbols_name(phones, (int)i), NULL);
  return status;
}

/* Whether labels become symbols as they occur. */
static bool symbols_are_open(void) {
  return !options.symbols && !options.lexicon;
}

static bool load_symbols(struct run *run) {
  struct linnet_lexicon_settings settings;
  linnet_lexicon_settings_default(&settings);
  settings.strip_stress = 1;
  if (options.lexicon &&
      linnet_lexicon_load(run->context, options.lexicon, &settings, NULL, &run->lexicon) != LINNET_OK)
    return tool_fail_context(run->context) == TOOL_OK;
  enum linnet_status status = options.symbols ? linnet_symbols_load(run->context, options.symbols, &run->symbols)
                                              : linnet_symbols_create(run->context, NULL, 0, &run->symbols);
  if (status == LINNET_OK && run->lexicon && !options.symbols)
    status = add_phones(run);
  return status == LINNET_OK || tool_fail_context(run->context) == TOOL_OK;
}

/* Without a list of symbols and a lexicon, collects them from the training labels, in the order of their first
 * occurrence. */
static bool load_corpora(struct run *run) {
  struct train_labels labels = {.file = options.labels    ? options.labels
                                        : options.lexicon ? "text"
                                                          : "phones",
                                .lexicon = run->lexicon,
                                .lexicon_file = options.lexicon,
                                .symbols = run->symbols,
                                .symbols_file = options.symbols,
                                .open = symbols_are_open()};
  run->train = train_corpus_load(run->context, &ranks, options.train.items, options.train.count, &run->config,
                                 &run->memories, &labels, true);
  labels.open = false;
  if (run->train)
    run->dev = train_corpus_load(run->context, &ranks, options.dev.items, options.dev.count, &run->config,
                                 &run->memories, &labels, false);
  if (!run->dev)
    return false;
  train_corpus_compare(run->context, run->train, run->dev);
  if (train_ranks_first(&ranks))
    fprintf(stderr, "training on %.2f hours, validating on %.2f hours, %zu symbols\n", train_corpus_hours(run->train),
            train_corpus_hours(run->dev), linnet_symbols_num_symbols(run->symbols));
  return train_corpus_describe_noise(run->train, &run->config) &&
         train_corpus_normalise(run->context, run->train, &run->cmvn) &&
         train_corpus_normalise(run->context, run->dev, &run->cmvn);
}

static bool load_denominator(struct run *run) {
  const char *path = run->config.denominator;
  if (!path)
    return true;
  if (!train_denominator_load(run->context, path, run->symbols, &run->denominator))
    return false;
  run->config.training.denominator = linnet_ngram_language_model(run->denominator.binding);
  return true;
}

static bool load_teacher(struct run *run) {
  if (!run->config.teacher)
    return true;
  run->config.training.teacher = run->teacher = train_teacher_load(run->context, run->config.teacher);
  run->config.training.teacher_source = run->config.teacher;
  return run->teacher;
}

static bool load_targets(struct run *run) {
  if (!run->config.frame_targets)
    return true;
  run->targets = train_targets_load(run->context, run->config.frame_targets, run->symbols);
  return run->targets && train_corpus_set_targets(run->train, run->targets);
}

/* A checkpoint of an earlier version has the path of the list of noise instead of its clips. */
static bool create_or_continue(struct run *run, struct linnet_train_model *model) {
  char error[LINNET_ERROR_BYTES];
  const struct linnet_corpus train = train_corpus_callbacks(run->train), dev = train_corpus_callbacks(run->dev);
  struct linnet_train_settings *settings = &run->config.training;
  settings->group = train_ranks_group(&ranks);
  enum linnet_status status =
      linnet_trainer_create(run->context, options.exp, settings, model, &train, &dev, &run->trainer);
  snprintf(error, sizeof error, "%s", linnet_context_error(run->context));
  if (status == LINNET_ERROR_STATE && run->config.path_recipe) {
    model->recipe = run->config.path_recipe;
    status = linnet_trainer_create(run->context, options.exp, settings, model, &train, &dev, &run->trainer);
    if (!strstr(linnet_context_error(run->context),
                "settings, augment ")) /* else the first message names what differs */
      snprintf(error, sizeof error, "%s", linnet_context_error(run->context));
  }
  if (status != LINNET_OK && !tool_interrupted() && train_ranks_first(&ranks)) /* all ranks have the same message */
    tool_fail("%s", error);
  return status == LINNET_OK;
}

static bool create_trainer(struct run *run) {
  const char *metadata[] = {"name", options.name, "licence", options.licence, "provenance", options.provenance, NULL};
  const char *pairs[7];
  size_t n = 0;
  for (size_t i = 0; metadata[i]; i += 2)
    if (metadata[i + 1]) {
      pairs[n++] = metadata[i];
      pairs[n++] = metadata[i + 1];
    }
  pairs[n] = NULL;
  size_t count = linnet_symbols_num_symbols(run->symbols);
  const char **symbols = calloc(count, sizeof *symbols);
  for (size_t i = 0; symbols && i < count; i++)
    symbols[i] = linnet_symbols_name(run->symbols, (int)i);
  struct linnet_train_model model = {.size = sizeof model,
                                     .source = run->config.source,
                                     .config = run->config.model,
                                     .features = run->config.features,
                                     .symbols = symbols,
                                     .num_symbols = count,
                                     .cmvn = run->cmvn.count > 0 ? &run->cmvn : NULL,
                                     .metadata = pairs,
                                     .initial = options.initial,
                                     .recipe = run->config.recipe};
  const bool good = create_or_continue(run, &model);
  free(symbols);
  return good;
}

/* Prevents two trainings from using one folder; the lock ends with the process. */
static bool lock_folder(const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/.lock", folder);
  int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    tool_fail("%s: %s", path, strerror(errno));
    return false;
  }
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    return true;
  close(descriptor);
  tool_fail("%s: another 'linnet train' is running in this folder", folder);
  return false;
}

static int on_rank_step(void *user, const struct linnet_train_step *step) {
  (void)user, (void)step;
  return tool_interrupted();
}

/* Whether a training has ended as it should, or has been interrupted. It then did so on all ranks. */
static bool ended(enum linnet_status status) {
  return status == LINNET_OK || status == LINNET_ERROR_CANCELLED;
}

/* Rank 0 speaks for all. */
static int train_silently(struct run *run) {
  struct linnet_train_events events = {.size = sizeof events, .step = on_rank_step};
  if (!train_ranks_agree(&ranks, true))
    return TOOL_FAILURE;
  enum linnet_status status = linnet_trainer_run(run->trainer, &events);
  if (!ended(status) || !train_ranks_agree(&ranks, true))
    return TOOL_FAILURE;
  return status == LINNET_OK ? TOOL_OK : TOOL_INTERRUPTED;
}

static int train(struct run *run) {
  struct linnet_corpus corpus = train_corpus_callbacks(run->train);
  size_t done = linnet_trainer_num_epochs(run->trainer);
  struct train_log log = {
      .corpus = &corpus, .context = run->context, .frame_seconds = run->config.feature_config.fbank.frame_shift / 1000};
  if (done > 0 && done < run->config.training.num_epochs)
    fprintf(stderr, "continuing after epoch %zu\n", done);
  if (!train_ranks_agree(&ranks, train_config_save(&run->config, options.exp) &&
                                     train_log_open(&log, options.exp, run->trainer, options.batches)))
    return TOOL_FAILURE;
  struct linnet_train_events events = train_log_events(&log);
  enum linnet_status status = linnet_trainer_run(run->trainer, &events);
  train_log_close(&log);
  if (log.failed)
    tool_fail("%s", log.error);
  if (!ended(status) && !(log.failed && strstr(linnet_context_error(run->context), log.error)))
    tool_fail_context(run->context);
  if (!ended(status) || !train_ranks_agree(&ranks, !log.failed) || log.failed)
    return TOOL_FAILURE;
  if (status == LINNET_OK && done > 0 && linnet_trainer_num_epochs(run->trainer) == done)
    fprintf(stderr, "this training is finished: %zu of %zu epochs\n", done, run->config.training.num_epochs);
  if (status == LINNET_OK)
    return TOOL_OK;
  tool_fail("%s", linnet_context_error(run->context));
  return TOOL_INTERRUPTED;
}

static void report_ranks(const struct run *run) {
  const size_t count = train_ranks_group(&ranks) ? ranks.mpi.group.num_ranks : 0;
  if (count == 1)
    fprintf(stderr, "1 rank by %s\n", ranks.mpi.library);
  if (count > 1)
    fprintf(stderr, "%zu ranks by %s, sums of gradients are sent as %s, %s\n", count, ranks.mpi.library,
            run->config.training.wire_precision == LINNET_BFLOAT16 ? "bfloat16" : "float32",
            linnet_trainer_exchange(run->trainer));
}

/* What can be checked before the data are read. */
static bool check(struct run *run) {
  return train_check_folders(options.train.items, options.train.count, "--train") &&
         train_check_folders(options.dev.items, options.dev.count, "--dev") &&
         train_check_files(run->context, &run->config, options.initial) && load_teacher(run) &&
         train_check_settings(run->context, &run->config, symbols_are_open() ? NULL : run->symbols);
}

/* Everything up to the trainer. Rank 0 alone has the folder. */
static bool prepare(struct run *run) {
  const bool first = train_ranks_first(&ranks);
  if (!train_config_load(run->context, options.config, options.set.items, options.set.count, &run->config) ||
      (first && !(results_make_folder(options.exp) && lock_folder(options.exp))) || !load_symbols(run) || !check(run) ||
      !load_corpora(run) || !load_denominator(run) || !load_targets(run))
    return false;
  if (run->teacher)
    train_corpus_set_teacher(run->train, run->teacher);
  return true;
}

static int run_all(struct run *run) {
  tool_catch_interrupt();
  const bool fits = tool_check_precision(run->context);
  const bool prepared = train_ranks_agree(&ranks, fits && prepare(run));
  tool_speak_as(NULL); /* from here on messages say of themselves which rank they are from */
  if (!prepared || !create_trainer(run))
    return tool_interrupted() ? TOOL_INTERRUPTED : fits ? TOOL_FAILURE : TOOL_USAGE;
  if (!train_ranks_first(&ranks))
    return train_silently(run);
  report_ranks(run);
  return train(run);
}

/* Prints what --measure-chunk finds. */
static int measure_chunk(struct run *run) {
  size_t chunk = 0;
  if (!train_config_load(run->context, options.config, options.set.items, options.set.count, &run->config))
    return TOOL_FAILURE;
  if (linnet_train_measure_chunk(run->context, run->config.model, &chunk) != LINNET_OK)
    return tool_fail_context(run->context);
  printf("causal_chunk %zu\n", chunk);
  return TOOL_OK;
}

static const struct poptOption table[] = {
    {"train", 0, POPT_ARG_STRING, NULL, OPTION_TRAIN,
     "data folder to train on: wav.scp, utt2spk, phones (required; repeatable)", "DIR"},
    {"dev", 0, POPT_ARG_STRING, NULL, OPTION_DEV, "data folder to validate on (required; repeatable)", "DIR"},
    {"exp", 0, POPT_ARG_STRING, &options.exp, 0,
     "folder for checkpoint, models and log; continues an interrupted training there (required)", "DIR"},
    {"config", 'c', POPT_ARG_STRING, &options.config, 0,
     "JSON with model, features, training and augment (default: the model of the paper, docs/training.md)", "FILE"},
    {"set", 's', POPT_ARG_STRING, NULL, OPTION_SET,
     "change a key of the configuration, such as model.layers=6; a KEY without a dot belongs to training (repeatable)",
     "KEY=VALUE"},
    {"measure-chunk", 0, POPT_ARG_NONE, &options.measure_chunk, 0,
     "only print the model.causal_chunk that is fastest for this configuration on this machine (default: train)", NULL},
    {"labels", 'l', POPT_ARG_STRING, &options.labels, 0,
     "file of labels in each data folder, lines 'utterance token ...' (default: phones; with --lexicon: text)", "NAME"},
    {"lexicon", 0, POPT_ARG_STRING, &options.lexicon, 0,
     "labels are words; use their first pronunciations, without stress (default: labels are symbols)", "FILE"},
    {"symbols", 0, POPT_ARG_STRING, &options.symbols, 0,
     "output symbols, one per line (default: the phones of the lexicon; without one, the training labels)", "FILE"},
    {"initial", 0, POPT_ARG_STRING, &options.initial, 0,
     "start from the weights of this model (default: random weights)", "MODEL"},
    {"name", 0, POPT_ARG_STRING, &options.name, 0, "name to store in the model file (default: none)", "TEXT"},
    {"licence", 0, POPT_ARG_STRING, &options.licence, 0, "licence to store in the model file (default: none)", "TEXT"},
    {"provenance", 0, POPT_ARG_STRING, &options.provenance, 0,
     "data and attribution to store in the model file (default: none)", "TEXT"},
    {"mpi", 0, POPT_ARG_STRING, &options.mpi, 0,
     "train with all processes of an MPI job: on, off, or auto (default): if mpirun or srun started several; with "
     "--device cuda each takes its own GPU, and training.shards is needed (docs/scale.md)",
     "WHEN"},
    {"rank-timeout", 0, POPT_ARG_DOUBLE, &options.rank_timeout, 0,
     "a rank that waits longer for the others ends the job; 0: waits for ever (default: 1800)", "SECONDS"},
    {"audio-memory", 0, POPT_ARG_INT, &options.audio_memory, 0,
     "decoded audio that this process keeps in memory; the rest is decoded again when it is needed (default: 2048)",
     "MEBIBYTES"},
    {"noise-memory", 0, POPT_ARG_INT, &options.noise_memory, 0,
     "the same for clips of augment.noise.scp (default: 512)", "MEBIBYTES"},
    {"batches", 0, POPT_ARG_NONE, &options.batches, 0,
     "write the utterances of each step to EXP/batches.txt (default: no)", NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, tool_common_options, 0, "Common options:", NULL},
    POPT_TABLEEND};

static int check_options(const char **arguments, size_t count) {
  (void)arguments, (void)count;
  if (options.measure_chunk)
    return TOOL_OK;
  if (options.audio_memory < 0)
    return tool_usage("--audio-memory %d: must be 0 or more", options.audio_memory);
  if (options.noise_memory < 0)
    return tool_usage("--noise-memory %d: must be 0 or more", options.noise_memory);
  if (options.train.count > 0 && options.dev.count > 0 && options.exp)
    return train_ranks_open(options.mpi, options.rank_timeout, &ranks);
  return tool_usage("--train DIR, --dev DIR and --exp DIR are needed");
}

static int run_command(struct linnet_context *context, const char **arguments, size_t count) {
  (void)arguments, (void)count;
  struct run run = {.context = context,
                    .memories = {.audio = {PTHREAD_MUTEX_INITIALIZER, (size_t)options.audio_memory << 20},
                                 .noise = {PTHREAD_MUTEX_INITIALIZER, (size_t)options.noise_memory << 20}}};
  int code = options.measure_chunk ? measure_chunk(&run) : run_all(&run);
  release(&run);
  return code;
}

int tool_train(int argc, const char **argv) {
  const struct tool_command command = {.options = table,
                                       .usage = "[OPTIONS] --train DIR --dev DIR --exp DIR",
                                       .handle = take_option,
                                       .needed = "",
                                       .check = check_options,
                                       .run = run_command};
  tool_hide_usage(train_ranks_repeat());
  int code = tool_run(argc, argv, &command);
  train_ranks_close(&ranks, code);
  return code;
}
