/* Weights and the state of the optimiser: their memory, and what ranks exchange of them. The state is divided among
 * ranks on the CPU (division.h); ranks on GPUs all have the whole state. Where somebody needs a whole vector, it is
 * gathered in the memory of a gradient, which is free between steps. */
#include <string.h>

#include "train/trainer.h"

static enum linnet_status out_of_memory(const struct linnet_trainer *t) {
  return linnet_fail(t->context, LINNET_ERROR_MEMORY, "out of memory for a trainer");
}

static size_t own_size(const struct linnet_trainer *t) {
  return linnet_division_own_size(&t->gradient.division);
}

/* Whether this rank has the whole state: it is the only one, or it computes on a GPU. */
static bool whole_state(const struct linnet_trainer *t) {
  return t->gradient.division.num_ranks == 1;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* A vector on the host and on the device; on the CPU they are the same. */
static bool create_vector(const struct linnet_trainer *t, size_t size, real **host, real **on_device) {
  struct linnet_device *device = t->network.device;
  *host = linnet_calloc(t->context, size, sizeof **host);
  *on_device = device->ops->host ? *host : device->ops->alloc(device, size * sizeof **host);
  return *host && *on_device;
}

enum linnet_status linnet_trainer_create_state(struct linnet_trainer *t, const char *initial) {
  const bool good =
      create_vector(t, t->parameters->size, &t->weights, &t->device.weights) &&
      create_vector(t, own_size(t), &t->moment1, &t->device.moment1) &&
      create_vector(t, own_size(t), &t->moment2, &t->device.moment2) &&
      (!(t->settings.average_decay > 0) || create_vector(t, own_size(t), &t->average, &t->device.average));
  return good ? linnet_trainer_initial_weights(t, initial) : out_of_memory(t);
}

void linnet_trainer_release_state(struct linnet_trainer *t) {
  struct linnet_device *device = t->network.device;
  void *blocks[] = {t->device.weights, t->device.moment1, t->device.moment2, t->device.average};
  for (size_t i = 0; device && !device->ops->host && i < sizeof blocks / sizeof *blocks; i++)
    device->ops->free(device, blocks[i]);
  real *host[] = {t->weights, t->moment1, t->moment2, t->average};
  for (size_t i = 0; i < sizeof host / sizeof *host; i++)
    linnet_free(t->context, host[i]);
}

/* --- device ------------------------------------------------------------------------------------------------------- */

enum linnet_status linnet_trainer_download(struct linnet_trainer *t) {
  struct linnet_device *device = t->network.device;
  const size_t own = own_size(t) * sizeof(real);
  device->ops->download(device, t->weights, t->device.weights, t->parameters->size * sizeof(real));
  device->ops->download(device, t->moment1, t->device.moment1, own);
  device->ops->download(device, t->moment2, t->device.moment2, own);
  if (t->average)
    device->ops->download(device, t->average, t->device.average, own);
  return device->ops->wait(device, t->context);
}

enum linnet_status linnet_trainer_upload(struct linnet_trainer *t) {
  struct linnet_device *device = t->network.device;
  const size_t own = own_size(t) * sizeof(real);
  device->ops->upload(device, t->device.weights, t->weights, t->parameters->size * sizeof(real));
  device->ops->upload(device, t->device.moment1, t->moment1, own);
  device->ops->upload(device, t->device.moment2, t->moment2, own);
  if (t->average)
    device->ops->upload(device, t->device.average, t->average, own);
  return device->ops->wait(device, t->context);
}

/* --- ranks -------------------------------------------------------------------------------------------------------- */

/* *own becomes this rank's part of a vector of rank 0's checkpoint. */
static enum linnet_status share_vector(struct linnet_trainer *t, const struct linnet_checkpoint_file *file,
                                       enum linnet_checkpoint_vector which, real *own) {
  real *whole = whole_state(t) ? own : t->gradient.shards[0];
  if (file->context)
    linnet_checkpoint_read(file, which, whole);
  LINNET_TRY(linnet_ranks_share(&t->ranks, whole, t->parameters->size * sizeof *whole));
  if (whole != own)
    linnet_division_take(&t->gradient.division, whole, own);
  return LINNET_OK;
}

enum linnet_status linnet_trainer_share_state(struct linnet_trainer *t, const struct linnet_checkpoint_file *file) {
  bool found = file->context != NULL;
  if (found)
    linnet_checkpoint_read(file, LINNET_CHECKPOINT_WEIGHTS, t->weights);
  LINNET_TRY(linnet_ranks_share(&t->ranks, &found, sizeof found));
  LINNET_TRY(linnet_ranks_share(&t->ranks, &t->state, sizeof t->state));
  LINNET_TRY(linnet_ranks_share(&t->ranks, t->weights, t->parameters->size * sizeof *t->weights));
  if (!found) {
    if (t->average)
      linnet_division_take(&t->gradient.division, t->weights, t->average);
    return LINNET_OK;
  }
  LINNET_TRY(share_vector(t, file, LINNET_CHECKPOINT_MOMENT1, t->moment1));
  LINNET_TRY(share_vector(t, file, LINNET_CHECKPOINT_MOMENT2, t->moment2));
  return t->average ? share_vector(t, file, LINNET_CHECKPOINT_AVERAGE, t->average) : LINNET_OK;
}

/* *whole (size) from a divided vector; valid until the next step or call. */
static enum linnet_status gather(struct linnet_trainer *t, const real *own, const real **whole) {
  real *all = t->gradient.shards[0];
  *whole = whole_state(t) ? own : all;
  if (whole_state(t))
    return LINNET_OK;
  linnet_division_put(&t->gradient.division, own, all);
  return linnet_gradient_gather(&t->gradient, all);
}

enum linnet_status linnet_trainer_model_weights(struct linnet_trainer *t, const real **on_device, const real **host) {
  *on_device = t->device.weights;
  *host = t->weights;
  if (!t->average)
    return LINNET_OK;
  LINNET_TRY(gather(t, t->average, host));
  *on_device = whole_state(t) ? t->device.average : *host;
  return LINNET_OK;
}

/* --- a checkpoint ------------------------------------------------------------------------------------------------- */

struct collecting {
  struct linnet_trainer *trainer;
  unsigned next;             /* vector that all ranks gather */
  enum linnet_status status; /* of the connection */
};

static enum linnet_status collect(void *user, enum linnet_checkpoint_vector which, const real **vector) {
  struct collecting *c = user;
  struct linnet_trainer *t = c->trainer;
  const real *const own[] = {t->weights, t->moment1, t->moment2, t->average};
  *vector = t->weights;
  c->next = which + 1;
  if (which != LINNET_CHECKPOINT_WEIGHTS)
    c->status = gather(t, own[which], vector);
  return c->status;
}

/* Rank 0 gathers while it writes. Others, and rank 0 after a failure to write, take part in the rest. */
enum linnet_status linnet_trainer_checkpoint(struct linnet_trainer *t) {
  struct collecting c = {.trainer = t, .status = LINNET_OK};
  const unsigned count = t->average ? LINNET_CHECKPOINT_VECTORS : LINNET_CHECKPOINT_AVERAGE;
  enum linnet_status status = linnet_trainer_download(t);
  if (status == LINNET_OK && linnet_ranks_self(&t->ranks) == 0)
    status = linnet_trainer_save_checkpoint(t, collect, &c);
  while (c.status == LINNET_OK && c.next < count) {
    const real *vector;
    collect(&c, (enum linnet_checkpoint_vector)c.next, &vector);
  }
  LINNET_TRY(c.status);
  t->saved_at = linnet_train_clock();
  return linnet_ranks_agree(&t->ranks, status);
}
