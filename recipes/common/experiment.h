/* What the experiments (recipes/copy, shapes, attention-cost) share: options, and a training loop over one buffer of
 * parameters. Unlike the linnet command they see the engine's own headers. Experiments end with a message where a
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

/* Parses the options over their defaults; there are no other arguments. --threads and --kernels are added. */
struct linnet_context *experiment_start(int argc, const char **argv, const struct poptOption *options);

/* Zeroed memory, or the end. */
void *experiment_alloc(struct linnet_context *context, size_t count, size_t bytes);

/* The kind of attention of that name, or the end. */
enum linnet_attention_kind experiment_kind(const char *name);

/* Opens a file that replaces `path` when it is complete, and puts it there. */
FILE *experiment_create(const char *path);
void experiment_finish(FILE *file, const char *path);

double experiment_seconds(void); /* a clock */

/* A batch is cut into shards, which threads share; gradients are summed in the order of the shards, so results do not
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

/* Everything zero; the caller fills `weights`. */
void experiment_create_parameters(struct experiment *e, struct linnet_context *context, enum linnet_optimizer optimizer,
                                  size_t size);
void experiment_release(struct experiment *e);

/* A checkpoint: weights, moments and steps, and so many bytes of the caller's, by which it knows where it was. The file
 * replaces `path` when it is complete. */
void experiment_save(const struct experiment *e, const char *path, const void *more, size_t bytes);
/* False: there is none. One of another size is the end. */
bool experiment_load(struct experiment *e, const char *path, void *more, size_t bytes);

/* Returns the shard's loss and adds its gradient. */
typedef double experiment_shard_fn(void *user, size_t shard, const real *weights, real *gradient_add);

/* One update with the learning rate; returns the loss summed over the shards. */
double experiment_step(struct experiment *e, double rate, experiment_shard_fn *shard, void *user);

#endif
