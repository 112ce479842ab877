/* Connectionist temporal classification (Graves et al. 2006): the C reference. */
#ifndef LINNET_CTC_H
#define LINNET_CTC_H

#include "backend/backend.h"

double linnet_ctc_reference(const struct linnet_ctc *c, void *work);

/* The fewest frames that can carry the labels: their number plus one blank between equal neighbours. */
size_t linnet_ctc_min_frames(const int *label, size_t labels);

#endif
