/* Training of encoders with CTC. It stands apart: those who only recognise never see it.
 *
 * A corpus is a set of callbacks, so that features may come from anywhere; a trainer runs epochs over it, writes
 * checkpoints and models into a folder, and resumes from it: an interrupted run that is resumed ends with the same
 * bytes as one that never stopped, whatever the number of threads.
 *
 * Threads: a trainer is used from one thread; callbacks come from the context's threads, several at once.
 *
 * Stability: experimental (linnet.h). */
#ifndef LINNET_TRAIN_H
#define LINNET_TRAIN_H

#include <stdint.h>

#include <linnet/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A rectangle of an utterance's features that is hidden in training (SpecAugment). Without frames or channels: none. */
struct linnet_feature_mask {
  size_t first_frame, num_frames;
  size_t first_channel, num_channels;
};

/* Utterances 0 ... num_utterances-1 with features and labels. All functions must be callable from several threads at
 * once. */
struct linnet_corpus {
  size_t size; /* sizeof(struct linnet_corpus); what an older program's lacks is NULL or 0 */
  void *user;
  size_t num_utterances;

  /* A name for messages. */
  const char *(*id)(void *user, size_t utterance);

  /* Input frames as batches are packed by, without augmentation; 0 leaves the utterance out. */
  size_t (*frames)(void *user, size_t utterance);

  /* Labels: symbol indices 1 ... symbols-1; valid as long as the corpus. */
  const int *(*labels)(void *user, size_t utterance, size_t *count);

  /* Writes normalised features (*frames, num_mel) into `features`, which takes `capacity` frames: at least 1.25 times
   * frames() + 8 + extra_frames. `epoch` counts from 1, and is 0 in validation; it and the utterance are all that
   * augmentation may depend on. On failure leaves a sentence in `context`, which is the calling worker's own. */
  enum linnet_status (*features)(void *user, struct linnet_context *context, size_t utterance, uint64_t epoch,
                                 float *features, size_t capacity, size_t *frames);

  /* Optional, for validation: decodes log_posteriors (frames, symbols) of an utterance and counts errors and reference
   * tokens. */
  enum linnet_status (*count_errors)(void *user, struct linnet_context *context, size_t utterance,
                                     const float *log_posteriors, size_t frames, size_t symbols, size_t *errors,
                                     size_t *reference);

  /* Optional, for training: writes the masks (num_masks) of an utterance, as linnet_specaugment_masks draws them.
   * `frames`: what features() gave. Covered features become 0 on the device that trains, before the network reads
   * them. */
  size_t num_masks;
  void (*masks)(void *user, size_t utterance, uint64_t epoch, size_t frames, struct linnet_feature_mask *masks);

  /* For training: the maximum number of frames that augmentation adds to an utterance, such as silence around it. */
  size_t extra_frames;
};

enum linnet_train_optimizer { LINNET_TRAIN_ADAM = 0, LINNET_TRAIN_RADAM = 1 };

enum linnet_train_schedule {
  LINNET_TRAIN_PLATEAU = 0, /* multiplied by `plateau_factor` when validation, error and loss, stopped improving */
  LINNET_TRAIN_COSINE = 1   /* falls to `min_learning_rate` along half a cosine over `epochs` */
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
  unsigned plateau_patience; /* epochs without improvement, of error or loss, before the factor is applied; 2 */
  unsigned patience;         /* epochs without improvement before training stops; 0: never */
  size_t num_kept_models;    /* epoch models kept in the folder, the best ones; 5 */
  double checkpoint_seconds; /* a checkpoint at least this often; 300 */
  uint64_t seed;             /* initial weights, order, dropout; 1 */
};

LINNET_API void linnet_train_settings_default(struct linnet_train_settings *settings, size_t size);
#define linnet_train_settings_default(settings) linnet_train_settings_default(settings, sizeof *(settings))

/* What the model will be. Strings are copied. */
struct linnet_train_model {
  size_t size;                /* sizeof(struct linnet_train_model); what an older program's lacks is NULL */
  const char *source;         /* where config and features are from, for messages; may be NULL */
  const char *config;         /* JSON, see docs/model-file.md; "outputs" may be left out */
  const char *features;       /* JSON, the same */
  const char *const *symbols; /* (num_symbols); "<blk>" first */
  size_t num_symbols;
  const struct linnet_cmvn *cmvn; /* for global CMVN, else NULL */
  const char *const *metadata;    /* pairs key, value, ended by NULL: licence, provenance ...; may be NULL */
  const char *initial;            /* path of a model of the same shape to start from, or NULL */
  const char *recipe; /* one line on whatever else results depend on (augmentation ...), or NULL: a checkpoint made with
                         another is refused */
};

/* State after a step; rates over the running epoch. */
struct linnet_train_step {
  unsigned epoch;                     /* from 1 */
  uint64_t step;                      /* optimiser steps done since the start */
  size_t epoch_step, num_epoch_steps; /* done and in all in this epoch */
  size_t num_frames;                  /* input frames of this step */
  size_t num_labels;
  double loss;          /* negative log likelihood per label, of this step */
  double gradient_norm; /* before clipping */
  double learning_rate;
};

struct linnet_train_epoch {
  unsigned epoch;
  uint64_t step;
  double train_loss, dev_loss;       /* per label */
  double dev_error;                  /* percent; negative without count_errors */
  double learning_rate;              /* at the end of the epoch */
  double train_seconds, dev_seconds; /* wall time, of this process if the epoch was resumed */
  double total_seconds;              /* of training in all, across interruptions, checkpointed */
  size_t num_frames;                 /* input frames trained on */
  size_t num_infeasible;             /* utterances left out because their labels do not fit into their frames */
  int best;                          /* this epoch has the best validation result so far */
};

/* Called from linnet_trainer_run's thread; a callback that returns non-zero makes the trainer save a checkpoint and
 * return LINNET_ERROR_CANCELLED. Any may be NULL. */
struct linnet_train_events {
  size_t size; /* sizeof(struct linnet_train_events); what an older program's lacks is NULL */
  void *user;
  int (*step)(void *user, const struct linnet_train_step *step);
  int (*epoch)(void *user, const struct linnet_train_epoch *epoch);
  /* The utterances of a step, before `step`, for a log of batches. */
  void (*batch)(void *user, unsigned epoch, const size_t *utterances, size_t count);
};

struct linnet_trainer;

/* Prepares training into `folder`, which must exist; continues from the checkpoint there if there is one and it was
 * made with the same settings, model and corpora (else LINNET_ERROR_STATE, naming what differs). A checkpoint has a
 * checksum: where it is damaged or missing, training continues from the one before, checkpoint-previous.safetensors,
 * with a warning in the log, and the damaged one becomes checkpoint-damaged.safetensors; without a whole one,
 * LINNET_ERROR_FORMAT. Checkpoints of versions without a checksum are LINNET_ERROR_UNSUPPORTED. Temporary files of a
 * process that was killed are removed, so only one trainer may use a folder. Everything passed but the corpora's
 * callbacks and the context is copied. */
LINNET_API enum linnet_status linnet_trainer_create(struct linnet_context *context, const char *folder,
                                                    const struct linnet_train_settings *settings,
                                                    const struct linnet_train_model *model,
                                                    const struct linnet_corpus *train, const struct linnet_corpus *dev,
                                                    struct linnet_trainer **trainer);

/* Epochs completed before (0 for a fresh start). */
LINNET_API size_t linnet_trainer_num_epochs(const struct linnet_trainer *trainer);

/* Optimiser steps done before, also in an unfinished epoch. As many lines of a log of batches
 * (linnet_train_events.batch) are valid: a run that was killed repeats the steps of later lines. */
LINNET_API uint64_t linnet_trainer_num_steps(const struct linnet_trainer *trainer);

/* Runs to the end. In the folder it leaves checkpoint.safetensors and the one before it,
 * checkpoint-previous.safetensors, model.safetensors (the best epoch's) and epoch-NNN.safetensors. A loss or gradient
 * that is not finite gives LINNET_ERROR_NUMERIC, naming the utterances; weights and checkpoint stay as they were before
 * that step. Cancelled by an event or by the context's hook, it saves a checkpoint of the last whole step, from which
 * the trainer, or another one, goes on to the same bytes. */
LINNET_API enum linnet_status linnet_trainer_run(struct linnet_trainer *trainer,
                                                 const struct linnet_train_events *events);

/* Destroys the trainer, not its files; NULL is allowed. */
LINNET_API void linnet_trainer_destroy(struct linnet_trainer *trainer);

/* The fastest "causal_chunk" for causal linear attention in a model of this configuration (as in linnet_train_model) on
 * this machine, by a measurement of some milliseconds: what a training whose configuration says "auto" begins with.
 * Results depend on the chunk in their last bits, so without "auto" none is chosen: put it into the configuration. */
LINNET_API enum linnet_status linnet_train_measure_chunk(struct linnet_context *context, const char *config,
                                                         size_t *chunk);

/* Writes the mean of the weights of models of one shape; everything else is taken from the first. `half` stores
 * float16. One input just copies (or converts). */
LINNET_API enum linnet_status linnet_model_average(struct linnet_context *context, const char *const *paths,
                                                   size_t count, int half, const char *output);

/* Writes a model with a metadata entry added or replaced. `half` stores float16. */
LINNET_API enum linnet_status linnet_model_annotate(struct linnet_context *context, const char *path, const char *key,
                                                    const char *value, int half, const char *output);

#ifdef __cplusplus
}
#endif
#endif
