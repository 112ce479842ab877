/* A checkpoint: all data that training needs to continue, in one safetensors file: weights and moments as flat vectors,
 * and the state as metadata. Doubles are written so that they read back exactly. The last tensor, "checksum" of four
 * bytes, is the CRC-32 of all bytes before it, lowest byte first:
 *
 *   zlib.crc32(data[:-4]) == int.from_bytes(data[-4:], "little")        in Python */
#ifndef LINNET_CHECKPOINT_H
#define LINNET_CHECKPOINT_H

#include "base/base.h"
#include "base/real.h"
#include "model/format/safetensors.h"
#include "train/losses.h"
#include "train/schedule.h"

enum { LINNET_MAX_KEPT_MODELS = 63 };

/* An epoch's model that is kept in the folder. */
struct linnet_kept_model {
  unsigned epoch;
  double result;
};

/* Sums over the epoch that is running. */
struct linnet_epoch_sums {
  double losses[LINNET_NUM_LOSSES], seconds;
  uint64_t labels, frames, infeasible;
};

struct linnet_train_state {
  uint64_t step;       /* optimiser steps done */
  unsigned epoch;      /* epochs completed */
  uint64_t epoch_step; /* steps done in the one after */
  struct linnet_schedule schedule;
  struct linnet_epoch_sums sums;
  double total_seconds;
  unsigned num_kept;
  struct linnet_kept_model kept[LINNET_MAX_KEPT_MODELS];
};

enum linnet_checkpoint_vector {
  LINNET_CHECKPOINT_WEIGHTS,
  LINNET_CHECKPOINT_MOMENT1,
  LINNET_CHECKPOINT_MOMENT2,
  LINNET_CHECKPOINT_AVERAGE,
  LINNET_CHECKPOINT_VECTORS
};

/* The vectors are (size). `fingerprint` describes what the run depends on, one "key=value" a line. */
struct linnet_checkpoint {
  size_t size;
  bool averaged; /* there is a moving average */
  struct linnet_train_state *state;
  const char *fingerprint;
};

/* Gives a vector (size), which is valid until the next call. */
typedef enum linnet_status linnet_checkpoint_vector_fn(void *user, enum linnet_checkpoint_vector which,
                                                       const real **vector);

/* Writes atomically; what was at `path` is then at `previous`. Asks for the vectors one by one, in their order. */
enum linnet_status linnet_checkpoint_save(struct linnet_context *context, const char *path, const char *previous,
                                          const struct linnet_checkpoint *checkpoint,
                                          linnet_checkpoint_vector_fn *vector, void *user);

/* Whether there is a whole checkpoint whose vectors are at most (size). LINNET_ERROR_UNSUPPORTED for one of another
 * version, LINNET_ERROR_FORMAT or _LIMIT for what is damaged or none. */
enum linnet_status linnet_checkpoint_check(struct linnet_context *context, const char *path, size_t size);

/* A checkpoint that was read into memory. */
struct linnet_checkpoint_file {
  struct linnet_context *context; /* NULL: not open */
  void *data;
  struct linnet_safetensors file;
};

/* Reads and checks all of a checkpoint, and fills the state, or changes nothing. LINNET_ERROR_STATE, naming the first
 * difference, if the fingerprint is another's. */
enum linnet_status linnet_checkpoint_open(struct linnet_context *context, const char *path,
                                          const struct linnet_checkpoint *checkpoint,
                                          struct linnet_checkpoint_file *file);
/* vector (size) becomes that of an open file. */
void linnet_checkpoint_read(const struct linnet_checkpoint_file *file, enum linnet_checkpoint_vector which,
                            real *vector);
/* Zeros are allowed. */
void linnet_checkpoint_close(struct linnet_checkpoint_file *file);

/* The fingerprint of a checkpoint whose vectors are at most (size); *text is released with linnet_free. */
enum linnet_status linnet_checkpoint_fingerprint(struct linnet_context *context, const char *path, size_t size,
                                                 char **text);

#endif
