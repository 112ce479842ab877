/* The recognizer's parts. */
#ifndef LINNET_RECOGNIZER_PARTS_H
#define LINNET_RECOGNIZER_PARTS_H

#include <linnet/recognizer.h>

#include "recognizer/silence_lengths.h"

struct linnet_recognizer {
  struct linnet_context *context;
  const struct linnet_model *model;
  struct linnet_model *own_model; /* NULL: the caller owns the model */
  struct linnet_search *search;
  struct linnet_silence_lengths lengths;
};

#endif
