/* What a training run depends on, as text, so that a checkpoint is not continued by another run. */
#ifndef LINNET_FINGERPRINT_H
#define LINNET_FINGERPRINT_H

#include "train/trainer.h"

/* One "key=value" a line; *text is released with linnet_free. `recipe` may be NULL. */
enum linnet_status linnet_fingerprint(const struct linnet_trainer *t, const char *recipe, char **text);

/* The network's configuration in a fingerprint, which it cuts off there. `name` is for messages. */
enum linnet_status linnet_fingerprint_config(struct linnet_context *context, const char *name, char *text,
                                             struct linnet_config *config);

#endif
