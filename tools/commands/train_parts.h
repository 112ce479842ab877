/* The parts of `linnet train`. */
#ifndef LINNET_TOOL_TRAIN_PARTS_H
#define LINNET_TOOL_TRAIN_PARTS_H

#include <pthread.h>

#include <linnet/augment.h>
#include <linnet/lexicon.h>
#include <linnet/ngram.h>
#include <linnet/train.h>

#include "common/tool.h"
#include "mpi/mpi_group.h"

/* --- the configuration (train_config.c) --------------------------------------------------------------------------- */

/* The configuration of `linnet train`: one JSON file,
 *
 *   {"model": {...}, "features": {...}, "training": {...}, "augment": {...}}
 *
 * "model" and "features" are those of a model file (docs/model-file.md). Every key is optional; unknown keys are
 * errors. Command-line options of the form KEY=VALUE set keys of "training". */

enum { MAX_SPEEDS = 8 };

enum train_objective { TRAIN_CTC = 0, TRAIN_CTC_CRF = 1 };

struct train_config {
  char *model, *features; /* JSON text */
  char source[4096];      /* what they come from, for messages */
  struct linnet_feature_config feature_config;
  struct linnet_train_settings training;
  enum train_objective objective;
  char *denominator;   /* the file of an n-gram; NULL unless the objective is CTC-CRF */
  char *teacher;       /* a model file, or NULL */
  char *frame_targets; /* a file of alignments, or NULL */

  /* augmentation of training utterances */
  double speeds[MAX_SPEEDS]; /* one is drawn each time */
  size_t num_speeds;         /* 0: only the recording's own */
  bool specaugment;
  struct linnet_specaugment_settings masks;
  char *noise; /* a list of clips, lines "name path"; NULL: none */
  struct linnet_noise_settings mixing;
  struct linnet_level_settings level; /* this and the next two: size 0 if the file lacks the section */
  struct linnet_band_settings band;
  struct linnet_room_settings room;
  struct linnet_padding_settings padding; /* by clips of `noise`, or digital silence */
  char *recipe;      /* the section augment as one line, in which the clips of noise stand for their list */
  char *path_recipe; /* ... with the path of the list, as earlier versions had it; NULL without noise */
  char *text;        /* the whole configuration, indented */
};

/* Reads `path` (NULL: all defaults) and then settings "key=value" (`count`). False after printing what is wrong. */
bool train_config_load(struct linnet_context *context, const char *path, const char *const *settings, size_t count,
                       struct train_config *config);
/* Writes the configuration with the changes of the settings to FOLDER/config.json. False after printing an error. */
bool train_config_save(const struct train_config *config, const char *folder);
void train_config_free(struct train_config *config);

/* Replaces the list of noise in the recipe by a text about its clips: a training continues with the same clips, however
 * their list is called. False after printing an error. */
bool train_config_describe_noise(struct train_config *config, const char *text);

/* --- ranks (train_ranks.c) ---------------------------------------------------------------------------------------- */

/* The processes that mpirun or srun started together. */
struct train_ranks {
  struct mpi_group mpi;      /* one rank without MPI */
  mpi_group_close_fn *close; /* NULL without MPI */
  bool failed;               /* all ranks know that one of them failed: they exchange nothing any more */
};

/* Whether rank 0 has the same command line as this rank, and so the same errors in it: Open MPI says that it started
 * this program, for all ranks alike. */
bool train_ranks_repeat(void);

/* Begins MPI if the launcher started several processes, or always or never with `mode` "on" or "off" (NULL: "auto").
 * Ranks after the first print errors only, which name rank and host, and the ranks of a machine share its processors. A
 * rank waits for the others at most `timeout` seconds; 0: for ever. TOOL_OK, or the exit code after printing what is
 * wrong; train_ranks_close in any case. */
int train_ranks_open(const char *mode, double timeout, struct train_ranks *ranks);

/* NULL without MPI. */
const struct linnet_group *train_ranks_group(const struct train_ranks *ranks);

/* Whether this is rank 0, which prints and writes. */
bool train_ranks_first(const struct train_ranks *ranks);

/* The next three are collective: all ranks call the same ones in the same order, up to the first that returns false.
 * They return whether all ranks say that they are `good`; one rank alone exchanges nothing. A rank that has failed
 * calls the next one with false, and whatever it is, the others learn of it. */
bool train_ranks_agree(struct train_ranks *ranks, bool good);

/* Gives all ranks what rank 0 has. */
bool train_ranks_share_first(struct train_ranks *ranks, bool good, void *data, size_t bytes);

/* `data` has `count` elements of `bytes` bytes. Each rank fills those from *begin to *end - 1 (train_ranks_part), and
 * gets those of the others. */
bool train_ranks_share_parts(struct train_ranks *ranks, bool good, void *data, size_t count, size_t bytes);
void train_ranks_part(const struct train_ranks *ranks, size_t count, size_t *begin, size_t *end);

/* With the exit code of the command. */
void train_ranks_close(const struct train_ranks *ranks, int code);

/* --- data (train_corpus.c) ---------------------------------------------------------------------------------------- */

/* The data of `linnet train`: utterances of Kaldi-style folders with their labels, and the callbacks of the trainer.
 * Recordings and stored features are read when they are needed. */

/* How transcripts become labels. */
struct train_labels {
  const char *file;                     /* in each data folder: "phones", "text" ... */
  const struct linnet_lexicon *lexicon; /* words to phones; NULL: tokens are symbols */
  const char *lexicon_file;             /* for messages */
  struct linnet_symbols *symbols;       /* while `open`, new tokens are added; otherwise they are errors */
  const char *symbols_file;             /* for messages; NULL: there is none */
  bool open;
};

struct train_corpus;

/* Room for decoded audio that stays in memory, which corpora share. */
struct train_memory {
  pthread_mutex_t mutex;
  size_t bytes_left;
};
struct train_memories {
  struct train_memory audio, noise;
};

/* Loads folders (`count` names) into one corpus; NULL after printing why. Utterances without audio or labels are
 * reported and counted. `augmented`: epochs > 0 use the speeds, noise and masks of the configuration. Ranks divide
 * among them what has to be read, here and in train_corpus_normalise; both are collective. */
struct train_corpus *train_corpus_load(struct linnet_context *context, struct train_ranks *ranks,
                                       const char *const *folders, size_t count, const struct train_config *config,
                                       struct train_memories *memories, struct train_labels *labels, bool augmented);

/* Warns of utterances that occur more than once in the training data, or also in the validation data. */
void train_corpus_compare(struct linnet_context *context, const struct train_corpus *train,
                          const struct train_corpus *dev);

/* Sets CMVN statistics that cover more than one utterance. Per speaker: computes them from this corpus. Global: uses
 * *global if it has statistics (count > 0); else computes them from this corpus and stores them in *global. */
bool train_corpus_normalise(struct linnet_context *context, struct train_corpus *corpus, struct linnet_cmvn *global);

/* Lets the corpus normalise features for a teacher, too; the model must outlive the corpus. */
void train_corpus_set_teacher(struct train_corpus *corpus, const struct linnet_model *teacher);

/* Gives the training corpus targets of its frames; they must outlive it. False after printing why: phones last longer
 * than the audio of their utterance, or no utterance has any. */
struct train_targets;
bool train_corpus_set_targets(struct train_corpus *corpus, const struct train_targets *targets);

/* The callbacks; valid as long as the corpus. */
struct linnet_corpus train_corpus_callbacks(struct train_corpus *corpus);

/* Calls train_config_describe_noise for the noise of a training corpus, if it has any. */
bool train_corpus_describe_noise(const struct train_corpus *corpus, struct train_config *config);

/* Hours of speech, without copies. */
double train_corpus_hours(const struct train_corpus *corpus);

void train_corpus_free(struct train_corpus *corpus);

/* --- before the data are read (train_check.c) --------------------------------------------------------------------- */

/* Whether the files that the configuration names can be read, and `initial` is a model; NULL: there is none. False
 * after printing which. The teacher is loaded anyway. */
bool train_check_files(struct linnet_context *context, const struct train_config *config, const char *initial);

/* Whether the folders of an option (`count`) can be read. */
bool train_check_folders(const char *const *folders, size_t count, const char *option);

/* Whether a trainer takes the settings, the network and the precision. `symbols` is NULL if the corpus will give them.
 * False after printing why. */
bool train_check_settings(struct linnet_context *context, const struct train_config *config,
                          const struct linnet_symbols *symbols);

/* --- the denominator of CTC-CRF (train_denominator.c) ------------------------------------------------------------- */

/* An n-gram over the symbols. */
struct train_denominator {
  struct linnet_ngram *ngram;
  struct linnet_ngram_binding *binding;
};

/* Loads it. False after printing why: also if it lacks a symbol. */
bool train_denominator_load(struct linnet_context *context, const char *path, const struct linnet_symbols *symbols,
                            struct train_denominator *denominator);
void train_denominator_free(struct train_denominator *denominator);

/* --- the teacher (train_teacher.c) -------------------------------------------------------------------------------- */

/* Loads a model whose features the corpus can compute beside its own. NULL after printing why there is none. */
struct linnet_model *train_teacher_load(struct linnet_context *context, const char *path);

/* --- frame targets (train_targets.c) ------------------------------------------------------------------------------ */

/* A phone of an alignment, in seconds of the recording. */
struct train_phone {
  float start, end;
  int symbol;
};

/* Loads phones of utterances with their times, in CTM. NULL after printing why: also if a phone is not a symbol. */
struct train_targets *train_targets_load(struct linnet_context *context, const char *path,
                                         const struct linnet_symbols *symbols);
void train_targets_free(struct train_targets *targets);

/* The file, and the phones of an utterance, sorted by their starts; *count is 0 if the file does not have it. */
const char *train_targets_path(const struct train_targets *targets);
const struct train_phone *train_targets_find(const struct train_targets *targets, const char *utterance, size_t *count);

/* --- what it shows and writes (train_log.c) ----------------------------------------------------------------------- */

/* The output of a running `linnet train`: a progress line, a line per epoch, log.jsonl and batches.txt. */

struct train_log {
  const struct linnet_corpus *corpus;
  struct linnet_context *context; /* whose kernels and device run, for the record */
  double frame_seconds;
  /* Set by train_log_open: */
  char path[4096], batches_path[4096];
  FILE *batches; /* "epoch utterance utterance ...", or NULL */
  struct tool_progress progress;
  unsigned epoch;         /* the progress line is of this epoch */
  bool failed;            /* one of the files could not be written, which ends the training */
  char error[4096 + 256]; /* ... and why */
};

/* Opens FOLDER/log.jsonl and, if `batches`, FOLDER/batches.txt. In existing files it keeps only the epochs and steps
 * that `trainer` has completed, because the resumed training repeats the later ones. False after printing why it
 * failed. */
bool train_log_open(struct train_log *log, const char *folder, const struct linnet_trainer *trainer, bool batches);
struct linnet_train_events train_log_events(struct train_log *log);
void train_log_close(struct train_log *log); /* may set log->failed */

#endif
