/* How ranks exchange gradients: GPUs directly where all can (struct linnet_link_ops), otherwise through host memory.
 *
 * A direct exchange has the operations of struct linnet_group (linnet/group.h) on memory of the devices: `direct` is a
 * group of the same ranks with these operations. They are queued and do not fail; linnet_link_wait does. */
#ifndef LINNET_LINK_H
#define LINNET_LINK_H

#include <linnet/train.h>

#include "backend/device.h"
#include "train/ranks.h"

struct linnet_link {
  struct linnet_ranks *ranks;
  struct linnet_device *device;
  struct linnet_device_link *end;     /* NULL: gradients go through host memory, and the next is zeros */
  struct linnet_ranks direct;         /* for gather and exchange alone */
  char way[LINNET_ERROR_BYTES + 100]; /* in words, for linnet_trainer_exchange; "" for one rank */
};

/* All ranks call it, with the same `how`. */
enum linnet_status linnet_link_open(struct linnet_link *link, struct linnet_ranks *ranks, struct linnet_device *device,
                                    enum linnet_train_gpu_exchange how);
/* Zeros are allowed. */
void linnet_link_close(struct linnet_link *link);

/* Waits for the device after exchanges. Fails on all ranks if one fails. */
enum linnet_status linnet_link_wait(struct linnet_link *link);

#endif
