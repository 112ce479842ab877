/* The trainer behind <linnet/train.h>: create (trainer.c), the loop (trainer_run.c), its state
 * (trainer_state.c) and files (trainer_files.c). */
#ifndef LINNET_TRAINER_H
#define LINNET_TRAINER_H

#include <linnet/train.h>

#include "model/format/model.h"
#include "train/batch.h"
#include "train/checkpoint.h"
#include "train/denominator_graph.h"
#include "train/gradient.h"

/* --- the teacher (teacher.c) -------------------------------------------------------------------------------------- */

struct linnet_trainer;

/* Fills t->teacher from t->settings, after checking that its frames and symbols are those of the training. */
enum linnet_status linnet_trainer_create_teacher(struct linnet_trainer *t);

/* A number that almost surely differs from that of another teacher. */
uint64_t linnet_teacher_hash(const struct linnet_model *model);

/* --- frame targets (frame_targets.c) ------------------------------------------------------------------------------ */

/* Checks the frame targets of all training utterances, if the settings ask for them, and sets t->targets_hash. */
enum linnet_status linnet_trainer_check_targets(struct linnet_trainer *t);

/* --- evaluation (evaluate.c) -------------------------------------------------------------------------------------- */

/* Loss and error rate over a corpus, without dropout and without gradients. */

struct linnet_evaluation {
  double loss;              /* summed over feasible utterances */
  size_t labels;            /* theirs */
  size_t errors, reference; /* tokens, if the corpus counts them */
};

/* Runs all utterances with nominal[u] > 0, a batch per thread at a time; ranks divide the batches. Sums are in the
 * corpus's order. */
enum linnet_status linnet_evaluate(struct linnet_context *context, const struct linnet_network *network,
                                   struct linnet_worker *workers, struct linnet_ranks *ranks, const real *weights,
                                   const struct linnet_corpus *corpus, const size_t *nominal, size_t batch_frames,
                                   struct linnet_evaluation *result);

/* --- the trainer -------------------------------------------------------------------------------------------------- */

struct linnet_trainer {
  struct linnet_context *context;
  char *folder;
  struct linnet_train_settings settings;
  struct linnet_corpus train, dev;
  struct linnet_ranks ranks;
  struct linnet_link link;

  /* the model */
  struct linnet_config config;
  struct linnet_feature_config features;
  struct linnet_cmvn *cmvn;
  char **symbols;                   /* (config.outputs), each its own block */
  struct linnet_metadata *metadata; /* (num_metadata), each string its own block */
  size_t num_metadata;
  struct linnet_parameters *parameters;
  struct linnet_network network;
  struct linnet_denominator_graph *denominator; /* NULL: trains with CTC alone */
  struct linnet_teacher teacher;                /* zeros unless settings.teacher */
  uint64_t targets_hash;                        /* almost surely differs from that of other frame targets */

  /* the state */
  real *weights;                     /* (parameters->size) */
  real *moment1, *moment2, *average; /* of this rank's parameters (division.h); average NULL if it is off */
  struct {
    real *weights, *moment1, *moment2, *average; /* as steps read and write them; on the CPU the same */
  } device;
  struct linnet_train_state state;
  char *fingerprint;

  /* work */
  size_t *train_frames, *dev_frames; /* nominal frames of each utterance; 0: left out */
  struct linnet_batches batches;     /* of the running epoch */
  struct linnet_batch batch, next;   /* the running one; the one loaded meanwhile, if there is a device to wait for */
  bool loaded;                       /* `next` is loaded */
  enum linnet_status ahead;          /* of loading it */
  struct linnet_worker *workers;     /* (threads) */
  struct linnet_context **worker_contexts; /* (threads), theirs */
  struct linnet_gradient gradient;
  double saved_at; /* clock of the last checkpoint */
  bool warned;     /* that some ranks have no work */
};

/* Whether this is rank 0, which reads and writes the files. */
static inline bool linnet_trainer_is_first(const struct linnet_trainer *t) {
  return linnet_ranks_self(&t->ranks) == 0;
}

/* Fills t->weights with those of the model at `path`, or with random ones if it is NULL (initial_weights.c). */
enum linnet_status linnet_trainer_initial_weights(struct linnet_trainer *t, const char *path);

/* --- weights and the state of the optimiser (trainer_state.c) ----------------------------------------------------- */

/* Allocates them, and fills the weights. Needs t->gradient. */
enum linnet_status linnet_trainer_create_state(struct linnet_trainer *t, const char *initial);
void linnet_trainer_release_state(struct linnet_trainer *t);

/* Copies weights, moments and average from the device, and to it. */
enum linnet_status linnet_trainer_download(struct linnet_trainer *t);
enum linnet_status linnet_trainer_upload(struct linnet_trainer *t);

/* All ranks begin with the state of rank 0: its checkpoint `file`, or, if that is not open, its initial weights. */
enum linnet_status linnet_trainer_share_state(struct linnet_trainer *t, const struct linnet_checkpoint_file *file);

/* The weights of models, the average if there is one: on the device, and on the host after linnet_trainer_download.
 * They are valid until the next step or checkpoint. */
enum linnet_status linnet_trainer_model_weights(struct linnet_trainer *t, const real **on_device, const real **host);

/* Writes a checkpoint of all ranks' state. */
enum linnet_status linnet_trainer_checkpoint(struct linnet_trainer *t);

/* --- files (trainer_files.c) -------------------------------------------------------------------------------------- */

/* Files in the folder. */
enum linnet_status linnet_trainer_save_checkpoint(struct linnet_trainer *t, linnet_checkpoint_vector_fn *vector,
                                                  void *user);
/* Removes temporary files that a killed process left. Replaces a damaged or missing checkpoint by the previous one,
 * with a warning in the log; fails if that is damaged, too. Needs t->parameters. */
enum linnet_status linnet_trainer_recover(const struct linnet_trainer *t);
/* Opens the checkpoint, if there is one, and fills t->state. */
enum linnet_status linnet_trainer_open_checkpoint(struct linnet_trainer *t, struct linnet_checkpoint_file *file);
/* The configuration that it was made with, if there is one. */
enum linnet_status linnet_trainer_stored_config(const struct linnet_trainer *t, bool *found,
                                                struct linnet_config *config);
/* Writes the epoch's model if it is among the best, and model.safetensors if it is the best. */
enum linnet_status linnet_trainer_save_models(struct linnet_trainer *t, const real *weights, unsigned epoch,
                                              double result, bool best);
/* Removes the models of epochs that are no longer among the best. Call it after the checkpoint without them is
 * saved. */
void linnet_trainer_prune_models(struct linnet_trainer *t, unsigned epoch);

/* --- fingerprints (fingerprint.c) --------------------------------------------------------------------------------- */

/* The settings and data that a training depends on, as text, so that another training does not continue its
 * checkpoint. */

/* One "key=value" a line; *text is released with linnet_free. `recipe` may be NULL. */
enum linnet_status linnet_fingerprint(const struct linnet_trainer *t, const char *recipe, char **text);

/* Of the mean and variance of each band, rounded so that their last digits on another machine make no difference. */
uint64_t linnet_hash_cmvn(const struct linnet_cmvn *cmvn);

/* Whether two fingerprints differ; the sentence then says in which setting or data: "key ours, not theirs", by the
 * names that users give them. Those of earlier versions lack symbols and CMVN, and do not differ therefore. */
enum { LINNET_DIFFERENCE_BYTES = 300 };
bool linnet_fingerprint_differs(const char *ours, const char *theirs, char sentence[LINNET_DIFFERENCE_BYTES]);

/* LINNET_ERROR_STATE on all ranks unless all have the same text, one "key=value" a line. */
enum linnet_status linnet_fingerprint_compare(struct linnet_ranks *ranks, const char *text);

/* The network's configuration in a fingerprint, which is truncated after it. `name` is for messages. */
enum linnet_status linnet_fingerprint_config(struct linnet_context *context, const char *name, char *text,
                                             struct linnet_config *config);

/* --- the fastest "causal_chunk" (causal_chunk.c) ------------------------------------------------------------------ */

/* Measures forward and backward of a layer's causal linear attention, some milliseconds for each candidate; *chunk is
 * the best: rows, or 0 for the state form. */
enum linnet_status linnet_causal_chunk(struct linnet_context *context, const struct linnet_config *config,
                                       size_t *chunk);

/* Whether a network has a layer that sums in chunks. */
bool linnet_has_causal_chunk(const struct linnet_config *config);

#endif
