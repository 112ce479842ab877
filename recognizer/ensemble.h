/* An ensemble of two networks: the log-posteriors of a second network are averaged with those of the first one, row by
 * row (log-linear combination; Deng and Platt 2014, "Ensemble deep learning for speech recognition"). Networks that
 * were trained in different ways make different errors. */
#ifndef LINNET_RECOGNIZER_ENSEMBLE_H
#define LINNET_RECOGNIZER_ENSEMBLE_H

#include <linnet/recognizer.h>

#include "recognizer/silence.h"

/* The second network. */
struct linnet_ensemble {
  const struct linnet_model *model; /* NULL: the first network is alone */
  struct linnet_model *own_model;   /* NULL: the model belongs to another recognizer, or there is none */
  float weight;                     /* of its log-posteriors; the first network has the rest */
  size_t delay;                     /* in rows: its row t + delay belongs to row t of the first network */
};

/* Loads the network that the settings name, if its weight is above 0, for a recognizer with the model `first`.
 * `loaded`: that network, which must outlive the ensemble, if it is in memory already; else NULL. Release the ensemble
 * even after a failure. LINNET_ERROR_UNSUPPORTED if the networks have other symbols, another filterbank or other times
 * of rows, or if the first network does not get whole utterances. */
enum linnet_status linnet_ensemble_load(struct linnet_context *context,
                                        const struct linnet_recognizer_settings *settings,
                                        const struct linnet_model *first, const struct linnet_model *loaded,
                                        struct linnet_ensemble *ensemble);
void linnet_ensemble_release(struct linnet_ensemble *ensemble);

struct linnet_companion; /* the second network, for one stream */

enum linnet_status linnet_companion_create(struct linnet_context *context, const struct linnet_ensemble *ensemble,
                                           struct linnet_companion **companion);
void linnet_companion_destroy(struct linnet_companion *companion); /* NULL is allowed */

/* For models with CMVN "speaker"; NULL: statistics of each utterance. */
void linnet_companion_set_speaker(struct linnet_companion *companion, const struct linnet_cmvn *cmvn);

/* Runs the second network on a whole utterance: features (frames, num_mel) before normalisation. `silence` (may be
 * NULL) are the silences that no network gets. */
enum linnet_status linnet_companion_run(struct linnet_companion *companion, const float *features, size_t frames,
                                        const struct linnet_silence *silence);

/* The averages of rows of the first network (rows, num_symbols), of which the first has the number `first`, with those
 * of the second one; valid until the next call. A row that the second network does not reach because of its delay stays
 * as it is. NULL: no memory. */
const float *linnet_companion_average(struct linnet_companion *companion, const float *log_posteriors, size_t first,
                                      size_t rows);

#endif
