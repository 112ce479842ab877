/* A batch: the order of an epoch, and the features of several utterances in memory. */
#ifndef LINNET_BATCH_H
#define LINNET_BATCH_H

#include <linnet/train.h>

#include "backend/backend.h"
#include "base/base.h"
#include "model/config.h"
#include "train/losses.h"
#include "train/shards.h"

/* --- random numbers ----------------------------------------------------------------------------------------------- */

/* The purposes of random numbers in training. A purpose is the top byte of Philox's high counter word, so no two
 * purposes share numbers. Dropout has 0: its high word is (step << 32 | site), with steps below 2^24. */

enum linnet_draw { LINNET_DRAW_DROPOUT = 0, LINNET_DRAW_ORDER = 1, LINNET_DRAW_INITIAL = 2 };

/* --- the order of an epoch ---------------------------------------------------------------------------------------- */

/* The order of an epoch: utterances shuffled by counter and packed by frames. */

/* Batch b is order[starts[b]] ... order[starts[b + 1] - 1]. */
struct linnet_batches {
  size_t *order;   /* (utterances) */
  size_t *starts;  /* (batches + 1) */
  size_t *scratch; /* (utterances) */
  size_t utterances, batches;
};

/* Allocates arrays for `utterances` utterances. */
enum linnet_status linnet_batches_create(struct linnet_context *context, size_t utterances,
                                         struct linnet_batches *batches);
void linnet_batches_destroy(struct linnet_context *context, struct linnet_batches *batches);

/* How an epoch is ordered. */
struct linnet_order {
  uint64_t seed, epoch; /* epoch 0 keeps the order of the corpus */
  size_t block;         /* utterances of a block; 0: one block. Blocks are shuffled, and utterances inside each block */
};

/* Packs all utterances with frames[u] > 0, in an order that depends on `order` alone, so that no batch exceeds
 * batch_frames unless one utterance does. */
void linnet_batches_fill(struct linnet_batches *batches, const size_t *frames, size_t utterances, size_t batch_frames,
                         const struct linnet_order *order);

/* --- one batch ---------------------------------------------------------------------------------------------------- */

/* A batch in memory: stacked features of several utterances, packed, and the masks that will cover some of them. For a
 * teacher, it also has their features as the teacher expects them, without masks. A rank has only those of its
 * shards, but knows the frames of all. One object is reused from batch to batch. */

struct linnet_batch {
  struct linnet_context *context;
  const struct linnet_config *config;
  size_t views;               /* sequences of each utterance, which differ in masks and dropout only: 1 after
                                 linnet_batch_init; set it before loading, as the next four */
  bool taught;                /* features for a teacher are loaded, too: false after linnet_batch_init */
  bool targeted;              /* frame targets are loaded, too: false after linnet_batch_init */
  struct linnet_ranks *ranks; /* NULL after linnet_batch_init: this rank alone loads all */
  size_t num_shards;          /* 0 after linnet_batch_init: by the frames */
  struct linnet_shards shards;
  size_t begin, end;        /* the utterances of this rank's shards, which it has loaded */
  size_t count;             /* sequences: those of an utterance follow each other */
  const size_t *utterances; /* (count / views), indices into the corpus; the caller's */
  size_t *offsets;          /* (count + 1), in output frames */
  real *features;           /* (rows, stack * input_dim), from row offsets[begin * views] on; then those for a teacher,
                               one sequence for each utterance */
  const int **labels;       /* (count) */
  size_t *num_labels;       /* (count) */
  const int **targets;      /* (count), each (its rows), from begin * views to end * views; with frame targets */
  double *losses[LINNET_NUM_LOSSES]; /* (count), of pairs (count / 2); set by the code that computes them */
  unsigned char *not_finite;         /* (count / views): whether a loss or gradient is not (gradient.h) */

  size_t num_masks;                  /* of each sequence; 0 in validation */
  struct linnet_feature_mask *masks; /* (count, num_masks), set from begin * views to end * views */

  /* Features as the corpus gives them, utterance i from frame slots[i] on; for a teacher slots[end] frames later. */
  float *raw;
  int *raw_targets; /* utterance i's from slots[i] on: at first those of its frames, then those of its rows */
  size_t *slots, *frames;
  enum linnet_status *status;                             /* of each utterance's features */
  size_t sequence_capacity;                               /* sequences */
  size_t raw_capacity, feature_capacity, target_capacity; /* elements */
  size_t mask_capacity;                                   /* masks */
};

void linnet_batch_init(struct linnet_batch *batch, struct linnet_context *context, const struct linnet_config *config);
void linnet_batch_release(struct linnet_batch *batch);

/* Loads `count` utterances of `nominal[u]` frames each; epoch 0 is validation. With `contexts`, one for each worker,
 * all threads of the batch's context read the corpus. With NULL, only this thread does. All ranks load their parts
 * together, and fail together. */
enum linnet_status linnet_batch_load(struct linnet_batch *batch, const struct linnet_corpus *corpus,
                                     const size_t *utterances, size_t count, const size_t *nominal, uint64_t epoch,
                                     struct linnet_context *const *contexts);

/* Frame targets of an utterance (corpus->targets) into `targets` (frames), checked. */
enum linnet_status linnet_batch_read_targets(const struct linnet_config *config, const struct linnet_corpus *corpus,
                                             struct linnet_context *context, size_t utterance, uint64_t epoch,
                                             size_t frames, int *targets);

/* Announces to the corpus what this rank will read of the batches after `step`, a few batches ahead; `first`: nothing
 * has been announced yet. `batch` says how batches are divided. */
void linnet_batch_prefetch(const struct linnet_batch *batch, const struct linnet_batches *batches,
                           const struct linnet_corpus *corpus, const size_t *nominal, size_t step, bool first,
                           uint64_t epoch);

/* The number of utterances in the batch. */
size_t linnet_batch_utterances(const struct linnet_batch *batch);

/* The features of sequence s, which this rank has loaded. */
real *linnet_batch_features(const struct linnet_batch *batch, size_t s);

/* The features of utterance i for a teacher, if the batch is taught. */
real *linnet_batch_teacher_features(const struct linnet_batch *batch, size_t i);

/* The masks of the sequences from `first` on, as ops take them. */
struct linnet_masks linnet_batch_masks(const struct linnet_batch *batch, size_t first);

/* Rank r's first sequence. */
size_t linnet_batch_first(const struct linnet_batch *batch, size_t r);

/* True if the labels of sequence i fit into its frames. */
bool linnet_batch_feasible(const struct linnet_batch *batch, size_t i);

#endif
