/* Training of encoders with CTC or CTC-CRF. Programs that only recognise do not need this header.
 *
 * A corpus is a set of callbacks, so that features may come from any source. A trainer runs epochs over it, writes
 * checkpoints and models into a folder, and resumes from the last checkpoint. A run that was interrupted and resumed
 * ends with the same bytes as one that never stopped, with any number of threads, and of ranks (linnet/group.h).
 *
 * Threads: a trainer is used from one thread. It calls the callbacks of a corpus from the context's threads, several at
 * once.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_TRAIN_H
#define LINNET_TRAIN_H

#include <stdint.h>

#include <linnet/context.h>
#include <linnet/feature_mask.h>
#include <linnet/group.h>
#include <linnet/language_model.h>
#include <linnet/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A corpus: utterances 0 ... num_utterances-1 with features and labels. All its functions must be callable from several
 * threads at once. */
struct linnet_corpus {
  size_t size; /* sizeof(struct linnet_corpus); members that an older program does not have count as NULL or 0 */
  void *user;
  size_t num_utterances;

  /* A name for messages. */
  const char *(*id)(void *user, size_t utterance);

  /* Returns the number of input frames without augmentation, which determines the batches. 0: the utterance is not
   * used. */
  size_t (*frames)(void *user, size_t utterance);

  /* Returns the labels: symbol indices 1 ... symbols-1, valid as long as the corpus. */
  const int *(*labels)(void *user, size_t utterance, size_t *count);

  /* Writes normalised features (*frames, num_mel) into `features`, which can hold `capacity` frames: at least 1.25
   * times frames() + 8 + extra_frames. `epoch` begins at 1, and is 0 in validation. Augmentation may depend only on
   * `epoch` and `utterance`. On failure the function stores a sentence in `context`, which belongs to the calling
   * worker (linnet_context_fail). */
  enum linnet_status (*features)(void *user, struct linnet_context *context, size_t utterance, uint64_t epoch,
                                 float *features, size_t capacity, size_t *frames);

  /* Optional, for validation: decodes log_posteriors (frames, symbols) of an utterance and counts errors and reference
   * tokens. */
  enum linnet_status (*count_errors)(void *user, struct linnet_context *context, size_t utterance,
                                     const float *log_posteriors, size_t frames, size_t symbols, size_t *errors,
                                     size_t *reference);

  /* Optional, for training: writes the masks (num_masks) of an utterance, as linnet_specaugment_masks draws them.
   * `frames` is the number that features() returned. The trainer sets masked features to 0 on its device, before the
   * forward pass. `view` is 0; if training compares two views of each utterance (linnet_train_settings.consistency), it
   * is 0 or 1, and the masks of the views should be independent. */
  size_t num_masks;
  void (*masks)(void *user, size_t utterance, uint64_t epoch, unsigned view, size_t frames,
                struct linnet_feature_mask *masks);

  /* For training: the maximum number of frames that augmentation adds to an utterance, for example silence around
   * it. */
  size_t extra_frames;

  /* Optional: announces utterances of a later batch, for which this rank will call features(), so that a corpus on a
   * disk or in a network can read ahead. It is called from the thread of linnet_trainer_run and must return at once. */
  void (*prefetch)(void *user, const size_t *utterances, size_t count, uint64_t epoch);

  /* For training with a teacher (linnet_train_settings.teacher): does what features() does, and writes the same frames,
   * equally augmented, into `teacher` (*frames, num_mel), normalised as the teacher expects. */
  enum linnet_status (*both_features)(void *user, struct linnet_context *context, size_t utterance, uint64_t epoch,
                                      float *features, float *teacher, size_t capacity, size_t *frames);

  /* For training with frame targets (linnet_train_settings.frame_weight): writes for each of the `frames` frames that
   * features() returned in this epoch the symbol that is spoken in it, 1 ... symbols-1; 0: it is not known, or there is
   * none. With epoch 0 the frames are those of the recording, frames() in number. */
  void (*targets)(void *user, size_t utterance, uint64_t epoch, size_t frames, int *targets);
};

enum linnet_train_optimizer { LINNET_TRAIN_ADAM = 0, LINNET_TRAIN_RADAM = 1 };

enum linnet_train_schedule {
  LINNET_TRAIN_PLATEAU = 0, /* the rate is multiplied by `plateau_factor` when neither error nor loss of validation
                               improves */
  LINNET_TRAIN_COSINE = 1   /* the rate falls to `min_learning_rate` along half a cosine over `num_epochs` */
};

/* How ranks on GPUs exchange gradients. The results have the same bytes. */
enum linnet_train_gpu_exchange {
  LINNET_TRAIN_EXCHANGE_AUTO = 0, /* NCCL where each rank has it, and a GPU of its own; otherwise host memory */
  LINNET_TRAIN_EXCHANGE_HOST = 1, /* host memory */
  LINNET_TRAIN_EXCHANGE_NCCL = 2  /* NCCL; LINNET_ERROR_UNSUPPORTED if that cannot be */
};

struct linnet_train_settings {
  size_t size;                           /* set by ..._default */
  enum linnet_train_optimizer optimizer; /* RAdam */
  enum linnet_train_schedule schedule;   /* plateau */
  double learning_rate;                  /* 1e-4 */
  double min_learning_rate;              /* 1e-6 */
  double clip_norm;                      /* global norm of the gradient; 1; 0: no clipping */
  size_t num_batch_frames;               /* input frames per optimiser step; 4000 */
  size_t num_epochs;                     /* 100 */
  size_t num_warmup_steps;               /* the learning rate rises linearly over these; 0 */
  double plateau_factor;                 /* 0.5 */
  unsigned plateau_patience;             /* epochs without improvement of error or loss before the factor applies; 2 */
  unsigned patience;                     /* epochs without improvement before training stops; 0: never */
  size_t num_kept_models;                /* number of epoch models that stay in the folder, the best ones; 5 */
  double checkpoint_seconds;             /* maximum time between checkpoints; 300 */
  uint64_t seed;                         /* initial weights, order, dropout; 1 */
  double consistency;                    /* weight of the consistency of two views of each utterance; 0: off */
  double average_decay;        /* validation and models use a moving average of the weights with this decay for
                                  each step; below 1; 0: off */
  size_t num_block_utterances; /* an epoch shuffles blocks of this number of consecutive utterances, and the utterances
                                  in each block, so that storage is read in long pieces; 0: shuffles all utterances */
  size_t num_shards; /* into which a batch is divided among ranks and threads: a power of two up to 4096, and at least
                        the number of ranks if all shall have work. Each shard of a rank has a gradient in memory.
                        0: on the CPU 2 to 16, by the batch's frames; on a GPU 1; several ranks on GPUs must set it */
  enum linnet_precision wire_precision; /* LINNET_FLOAT32, or LINNET_BFLOAT16: every sum of two gradients of shards is
                                           rounded to bfloat16 (also with one rank), and sent so to other ranks */
  const struct linnet_group *group;     /* the ranks that train together; copied; NULL: this one alone. All compute on
                                           the CPU, or each on a GPU of the same model. Each calls
                                           linnet_trainer_create and linnet_trainer_run, with the same arguments but for
                                           its own context, corpora and events. Rank 0 alone reads and writes the
                                           folder. A failure, or a cancelled call, of one rank ends the call on all */
  const struct linnet_language_model *denominator; /* the loss is that of CTC-CRF (Xiang and Ou 2019), lattice-free MMI
                                           with the topology of CTC: the language model, whose tokens are the symbols,
                                           weights the label sequences. linnet_trainer_create reads it; it need not live
                                           longer. NULL: the loss is that of CTC. Not on a GPU:
                                           LINNET_ERROR_UNSUPPORTED */
  double ctc_weight; /* with `denominator`: weight of CTC beside CTC-CRF, 0 to 100, such as 0.1 (default 0) */
  const struct linnet_model *teacher; /* a fixed model, whose posteriors the trained one approaches (knowledge
                                         distillation, Hinton et al. 2015): for each output frame,
                                         KL(teacher || student) is added to the loss. Filterbank, stack and symbols must
                                         be those of the training. Loaded with linnet_model_load_whole; it must outlive
                                         the trainer. NULL: none. Not on a GPU: LINNET_ERROR_UNSUPPORTED */
  const char *teacher_source;         /* its file, for messages; may be NULL */
  double teacher_weight;              /* with `teacher`: weight of that loss, above 0 to 100, such as 0.5 (default 0) */
  size_t intermediate_ctc; /* CTC also after this number of layers (Lee and Watanabe 2021), with the same output layer:
                              1 to one less than the network has; 0: off. Transformers, and not on a GPU:
                              LINNET_ERROR_UNSUPPORTED */
  double intermediate_weight; /* ... and the weight of this loss, 0 to 100; 0.3 */
  double frame_weight; /* weight of frame targets, which linnet_corpus.targets gives: for each output frame with a
                          target, its cross entropy among the symbols without blank is added to the loss; 0 to 100, such
                          as 0.1; 0 (default): off. Not on a GPU: LINNET_ERROR_UNSUPPORTED */
  enum linnet_train_gpu_exchange gpu_exchange; /* AUTO; the same on all ranks; without effect on the CPU */
};

LINNET_API void linnet_train_settings_default(struct linnet_train_settings *settings, size_t size);
#define linnet_train_settings_default(settings) linnet_train_settings_default(settings, sizeof *(settings))

/* The model to train. The trainer copies the strings. */
struct linnet_train_model {
  size_t size;                /* sizeof(struct linnet_train_model); members that an older program does not have count as
                                 NULL */
  const char *source;         /* the source of config and features, for messages; may be NULL */
  const char *config;         /* JSON, see docs/model-file.md; "outputs" and "input_dim" are optional */
  const char *features;       /* JSON, see docs/model-file.md */
  const char *const *symbols; /* (num_symbols); "<blk>" first */
  size_t num_symbols;
  const struct linnet_cmvn *cmvn; /* for global and running CMVN, otherwise NULL */
  const char *const *metadata; /* pairs key, value, ended by NULL: licence, provenance ...; may be NULL. Keys are those
                                  that linnet_model_annotate takes */
  const char *initial;         /* path of a model with the initial weights, or NULL. It must have the same symbols
                                  and the same tensors, but may have fewer layers if it is pre-norm: additional
                                  layers begin as the identity. Its attention may be of another kind, and its
                                  convolutions may have another look-ahead: their taps are moved, so that they read
                                  the same frames */
  const char *recipe; /* one line that describes everything else that results depend on (augmentation ...), or NULL. The
                         trainer refuses a checkpoint with another line; messages call it `augment` */
};

/* The state after a step of the optimiser. */
struct linnet_train_step {
  unsigned epoch;                     /* from 1 */
  uint64_t step;                      /* optimiser steps done since the start */
  size_t epoch_step, num_epoch_steps; /* steps done in this epoch, and all steps of this epoch */
  size_t num_frames;                  /* input frames of this step */
  size_t num_labels;
  double loss;          /* negative log likelihood per label, of this step */
  double gradient_norm; /* before clipping */
  double learning_rate;
};

struct linnet_train_epoch {
  unsigned epoch;
  uint64_t step;
  double train_loss, dev_loss;       /* of CTC, per label */
  double dev_error;                  /* percent; negative without count_errors */
  double learning_rate;              /* at the end of the epoch */
  double train_seconds, dev_seconds; /* wall time of the epoch's training and of its validation */
  double total_seconds;              /* of both, of all epochs so far; processes before count (saved in checkpoints) */
  size_t num_frames;                 /* input frames trained on */
  size_t num_infeasible;             /* utterances that were skipped because they have too few frames for their
                                        labels */
  int best;                          /* this epoch has the best validation result so far */
  double consistency;                /* consistency loss per label, without its weight; negative if it is off */
  size_t num_ranks;
  double exchange_seconds;  /* of train_seconds: for sending and receiving gradients and weights */
  double waiting_seconds;   /* of train_seconds: for other ranks */
  uint64_t num_sent_bytes;  /* by this rank, gradients and weights */
  double crf_loss;          /* CTC-CRF loss per label; negative if the loss is that of CTC */
  double hidden_seconds;    /* of exchange_seconds: while this rank computed */
  double distillation;      /* distillation loss per label, without its weight; negative without a teacher */
  double intermediate_loss; /* CTC loss per label after the layer `intermediate_ctc`, without its weight; negative if it
                               is off */
  double frame_loss;        /* loss of frame targets per label, without its weight; negative if they are off */
};

/* Callbacks that run in the thread of linnet_trainer_run. Any may be NULL. What they return:
 *
 *   0    training goes on
 *   > 0  the trainer saves a checkpoint and returns LINNET_ERROR_CANCELLED
 *   < 0  the program has failed, for example to write its own log, and has stored a sentence in the trainer's context
 *        (linnet_context_fail). The trainer returns LINNET_ERROR_IO, on all ranks. It saves no checkpoint, so a
 *        continued training repeats the step or the validation, and the event */
struct linnet_train_events {
  size_t size; /* sizeof(struct linnet_train_events); members that an older program does not have count as NULL */
  void *user;
  int (*step)(void *user, const struct linnet_train_step *step);
  int (*epoch)(void *user, const struct linnet_train_epoch *epoch);
  /* Receives the utterances of a step, before `step` is called, for a log of batches. */
  void (*batch)(void *user, unsigned epoch, const size_t *utterances, size_t count);
};

struct linnet_trainer;

/* Creates a trainer that writes into `folder`, which must exist (LINNET_ERROR_IO). If it has a checkpoint, training
 * continues from it. Settings, model, teacher and corpora must then be the same; otherwise LINNET_ERROR_STATE, which
 * names the difference. A checkpoint has a checksum. If the checkpoint is damaged or missing, training continues from
 * the one before, checkpoint-previous.safetensors, with a warning in the log, and the damaged file is renamed to
 * checkpoint-damaged.safetensors. If there is no intact checkpoint, the status is LINNET_ERROR_FORMAT.
 * LINNET_ERROR_UNSUPPORTED for checkpoints of versions without a checksum. The trainer removes temporary files of a
 * process that was killed, so that only one trainer may use a folder. It copies all arguments except the corpora's
 * callbacks and the context, which must outlive it. It calls no callback before it has found settings and network
 * good. */
LINNET_API enum linnet_status linnet_trainer_create(struct linnet_context *context, const char *folder,
                                                    const struct linnet_train_settings *settings,
                                                    const struct linnet_train_model *model,
                                                    const struct linnet_corpus *train, const struct linnet_corpus *dev,
                                                    struct linnet_trainer **trainer);

/* The number of epochs that are complete (0 for a new training). */
LINNET_API size_t linnet_trainer_num_epochs(const struct linnet_trainer *trainer);

/* The number of optimiser steps that are done, including those of an unfinished epoch. So many lines of a log of
 * batches (linnet_train_events.batch) are valid: after a process was killed, the trainer repeats the steps of later
 * lines. */
LINNET_API uint64_t linnet_trainer_num_steps(const struct linnet_trainer *trainer);

/* When and how this rank exchanges gradients with the others, in words that follow "gradients are sent", such as "after
 * the backward pass, from GPU to GPU by NCCL 2.32.3". "" for one rank. Valid as long as the trainer. */
LINNET_API const char *linnet_trainer_exchange(const struct linnet_trainer *trainer);

/* Trains to the end. It writes checkpoint.safetensors, checkpoint-previous.safetensors (the checkpoint before),
 * model.safetensors (the model of the best epoch) and epoch-NNN.safetensors into the folder. After the first epoch it
 * removes the epoch-NNN.safetensors of a training that was there before. LINNET_ERROR_NUMERIC,
 * which names the utterances, if a loss or gradient is not finite; weights and checkpoint are then those before that
 * step. If an event or the context's hook cancels the call, it saves a checkpoint of the last complete step. This
 * trainer or another one can continue from it and ends with the same bytes. */
LINNET_API enum linnet_status linnet_trainer_run(struct linnet_trainer *trainer,
                                                 const struct linnet_train_events *events);

/* Destroys the trainer; its files stay. NULL is allowed. */
LINNET_API void linnet_trainer_destroy(struct linnet_trainer *trainer);

/* Measures, in some milliseconds, the fastest "causal_chunk" on this machine for causal linear attention in a model of
 * this configuration (as in linnet_train_model). A training begins with this measurement if its configuration has
 * "auto". Because the last bits of results depend on the chunk, a training without "auto" does not measure: write the
 * chunk into the configuration. LINNET_ERROR_ARGUMENT if no layer has causal linear attention. */
LINNET_API enum linnet_status linnet_train_measure_chunk(struct linnet_context *context, const char *config,
                                                         size_t *chunk);

/* Writes a model whose weights are the mean of those of several models of one training. Everything else comes from the
 * first, but for calibrations ("confidence", "word_confidence"), which are of one model only: a mean of several has
 * none, with a warning. If `half` is not 0, weights are stored as float16. A single model is copied or converted.
 * LINNET_ERROR_ARGUMENT, which names the file and the difference, if a model has another network than the first, other
 * symbols, other features or other statistics for CMVN. */
LINNET_API enum linnet_status linnet_model_average(struct linnet_context *context, const char *const *paths,
                                                   size_t count, int half, const char *output);

/* Writes a copy of a model with a metadata entry added or replaced. If `half` is not 0, weights are stored as float16.
 * LINNET_ERROR_ARGUMENT if `key` is one of the entries that describe the network ("format", "config", "features",
 * "symbols"); LINNET_ERROR_FORMAT if `value` is no calibration, but `key` that of one (calibration.h). */
LINNET_API enum linnet_status linnet_model_annotate(struct linnet_context *context, const char *path, const char *key,
                                                    const char *value, int half, const char *output);

#ifdef __cplusplus
}
#endif
#endif
