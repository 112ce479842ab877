/* The input frames of a stream that do not yet fill an output frame. */
#ifndef LINNET_MODEL_RECURRENCE_STATE_H
#define LINNET_MODEL_RECURRENCE_STATE_H

#include <stddef.h>

#include <linnet/recurrence.h>

/* Takes back the input frames that do not yet fill an output frame: copies them to features (num_mel for each, at most
 * linnet_model_stride - 1 frames) and returns their number. The stream is then as if it had never got them. */
size_t linnet_recurrence_unstack(struct linnet_recurrence *recurrence, float *features);

#endif
