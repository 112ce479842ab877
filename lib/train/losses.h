/* The losses of training: CTC, and those that a training may have beside it. */
#ifndef LINNET_LOSSES_H
#define LINNET_LOSSES_H

#include <stdbool.h>

/* The gradients of the logits are added in this order. */
enum linnet_loss {
  LINNET_LOSS_CTC,
  LINNET_LOSS_CRF,           /* CTC-CRF: replaces CTC (ops/denominator.h) */
  LINNET_LOSS_DISTILLATION,  /* from a teacher (ops/distillation.h) */
  LINNET_LOSS_FRAME_TARGETS, /* ops/frame_targets.h */
  LINNET_LOSS_CONSISTENCY,   /* of two views of an utterance (ops/consistency.h) */
  LINNET_LOSS_INTERMEDIATE,  /* CTC after a layer (linnet_pass_set_intermediate) */
  LINNET_NUM_LOSSES
};

struct linnet_loss_kind {
  const char *name;     /* in checkpoints */
  bool needs_alignment; /* infinite for a sequence that is too short for its labels */
  bool of_pairs;        /* one value for two views; otherwise one for each sequence */
};

extern const struct linnet_loss_kind linnet_losses[LINNET_NUM_LOSSES];

#endif
