/* The configuration of `linnet train`: one JSON file,
 *
 *   {"model": {...}, "features": {...}, "training": {...}, "augment": {...}}
 *
 * "model" and "features" are those of a model file (docs/model-file.md). Every key may be left out; unknown ones are
 * errors. Command-line options of the form KEY=VALUE set keys of "training". */
#ifndef LINNET_TRAIN_CONFIG_H
#define LINNET_TRAIN_CONFIG_H

#include <linnet/augment.h>
#include <linnet/train.h>

#include "common/tool.h"

enum { MAX_SPEEDS = 8 };

struct train_config {
  char *model, *features; /* JSON text */
  struct linnet_feature_config feature_config;
  struct linnet_train_settings training;

  /* augmentation of training utterances */
  double speeds[MAX_SPEEDS]; /* one is drawn each time */
  size_t num_speeds;         /* 0: only the recording's own */
  bool specaugment;
  struct linnet_specaugment_settings masks;
  char *noise; /* a list of clips, lines "name path"; NULL: none */
  struct linnet_noise_settings mixing;
  struct linnet_level_settings level; /* this and the next two: size 0 where the file lacks the section */
  struct linnet_band_settings band;
  struct linnet_padding_settings padding; /* by clips of `noise`, or digital silence */
  char *recipe;                           /* all of this as one line */
};

/* Reads `path` (NULL: all defaults) and then settings "key=value" (`count`). False after printing what is wrong. */
bool train_config_load(struct linnet_context *context, const char *path, const char *const *settings, size_t count,
                       struct train_config *config);
void train_config_free(struct train_config *config);

#endif
