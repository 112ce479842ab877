/* Functions that the experiments (recipes/copy, shapes, attention-cost) share: options, and a training loop over one
 * buffer of parameters. Unlike the linnet command, experiments use internal headers. They exit with a message where a
 * library would return a status. */
#ifndef LINNET_EXPERIMENT_H
#define LINNET_EXPERIMENT_H

#include <popt.h>
#include <stdio.h>

#include "backend/backend.h"
#include "base/base.h"
#include "ops/attention.h"
#include "ops/optimizer.h"

/* Prints "NAME: message" and exits. */
void experiment_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Parses the options, and --threads and --kernels; variables have their defaults before. Refuses other arguments. */
struct linnet_context *experiment_start(int argc, const char **argv, const struct poptOption *options);

/* Returns zeroed memory, or exits. */
void *experiment_alloc(struct linnet_context *context, size_t count, size_t bytes);

/* Returns the kind of attention of that name, or exits. */
enum linnet_attention_kind experiment_kind(const char *name);

/* Open and commit a file that replaces `path` when it is complete. */
FILE *experiment_create(const char *path);
void experiment_finish(FILE *file, const char *path);

double experiment_seconds(void);           /* a clock */
double experiment_processor_seconds(void); /* of all threads of the program */

/* `caught`: from now on SIGINT and SIGTERM only make experiment_interrupted true, so that a training can save its
 * position; also where SIGINT is ignored, as shells start background jobs of scripts. After the first signal, either of
 * them ends the program. */
void experiment_catch_interrupt(bool caught);
bool experiment_interrupted(void);
/* Says that the training continues from `checkpoint`, and ends the program by the signal that it caught. */
void experiment_stop(const char *checkpoint) __attribute__((noreturn));

/* Rewrites a line with the share that is done, 0 to 1, and the time left, if standard error is a terminal. `started` is
 * of experiment_seconds, at a share of 0. Messages of this file end the line before. */
void experiment_progress(const char *what, double started, double share);
void experiment_end_progress(void);

/* A batch is divided into shards for the threads; gradients are summed in the order of the shards, so results do not
 * depend on the number of threads. */
enum { EXPERIMENT_SHARDS = 8 };

struct experiment {
  struct linnet_context *context;
  const struct linnet_ops *ops;
  enum linnet_optimizer optimizer;
  size_t size; /* parameters, with padding */
  uint64_t step;
  real *weights, *moment1, *moment2;  /* (size) */
  real *gradients[EXPERIMENT_SHARDS]; /* (size) */
  double losses[EXPERIMENT_SHARDS];
};

/* Sets everything to zero; the caller fills `weights`. */
void experiment_create_parameters(struct experiment *e, struct linnet_context *context, enum linnet_optimizer optimizer,
                                  size_t size);
void experiment_release(struct experiment *e);

/* Writes the log of `out` to its file; returns its length, for a checkpoint that must not count lines that the file
 * lacks. Exits if it cannot be written. */
long experiment_log_bytes(FILE *log, const char *out);

/* A checkpoint has weights, moments, steps, and `bytes` bytes with the caller's position. The file
 * replaces `path` when it is complete. */
void experiment_save(const struct experiment *e, const char *path, const void *more, size_t bytes);
/* Returns false if there is no checkpoint; exits if its size is wrong. */
bool experiment_load(struct experiment *e, const char *path, void *more, size_t bytes);

/* Returns the shard's loss and adds its gradient. */
typedef double experiment_shard_fn(void *user, size_t shard, const real *weights, real *gradient_add);

/* Makes one update with the learning rate; returns the loss summed over the shards. */
double experiment_step(struct experiment *e, double rate, experiment_shard_fn *shard, void *user);

#endif
