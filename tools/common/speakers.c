/* Computes statistics per speaker when the first utterance of the speaker is recognised. */
#include "speakers.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct speaker {
  size_t first, utterances; /* a range of the array of utterances */
  pthread_mutex_t mutex;    /* protects what follows until `done` */
  bool done;
  struct linnet_cmvn *cmvn; /* NULL: none */
};

struct speakers {
  const struct linnet_data_folder *folder;
  struct linnet_feature_config config;
  struct linnet_audio_settings audio;
  size_t *utterances; /* of the first speaker, then of the second ..., each in the order of the folder */
  size_t count;
  struct speaker speakers[]; /* (count) */
};

/* Sorts the utterances by speaker. */
static void sort_utterances(struct speakers *s) {
  const size_t utterances = linnet_data_folder_num_utterances(s->folder);
  for (size_t i = 0; i < utterances; i++)
    s->speakers[linnet_data_folder_speaker(s->folder, i)].utterances++;
  for (size_t i = 1; i < s->count; i++)
    s->speakers[i].first = s->speakers[i - 1].first + s->speakers[i - 1].utterances;
  for (size_t i = 0; i < s->count; i++)
    s->speakers[i].utterances = 0;
  for (size_t i = 0; i < utterances; i++) {
    struct speaker *speaker = &s->speakers[linnet_data_folder_speaker(s->folder, i)];
    s->utterances[speaker->first + speaker->utterances++] = i;
  }
}

struct speakers *speakers_open(const struct linnet_data_folder *folder, const struct linnet_feature_config *config,
                               const struct linnet_audio_settings *audio) {
  size_t count = linnet_data_folder_num_speakers(folder);
  struct speakers *s = calloc(1, sizeof *s + count * sizeof s->speakers[0]);
  size_t *utterances = calloc(linnet_data_folder_num_utterances(folder) + 1, sizeof *utterances);
  if (!s || !utterances) {
    free(s);
    free(utterances);
    return NULL;
  }
  s->folder = folder;
  s->utterances = utterances;
  s->config = *config;
  s->audio = *audio;
  s->count = count;
  for (size_t i = 0; i < count; i++)
    pthread_mutex_init(&s->speakers[i].mutex, NULL);
  sort_utterances(s);
  return s;
}

void speakers_close(struct speakers *s) {
  for (size_t i = 0; s && i < s->count; i++) {
    pthread_mutex_destroy(&s->speakers[i].mutex);
    free(s->speakers[i].cmvn);
  }
  if (s)
    free(s->utterances);
  free(s);
}

/* --- one utterance ------------------------------------------------------------------------------------------------ */

static enum linnet_status accumulate(const struct speakers *s, const float *values, size_t rows, size_t cols,
                                     struct linnet_cmvn *cmvn) {
  return cols == cmvn->dim ? linnet_cmvn_accumulate_frames(cmvn, s->config.cmvn_frames, values, rows) : LINNET_OK;
}

static enum linnet_status add_features(const struct speakers *s, struct linnet_context *context, size_t utterance,
                                       struct linnet_cmvn *cmvn) {
  struct linnet_matrix matrix = {0};
  enum linnet_status status = linnet_data_folder_features(s->folder, context, utterance, &matrix);
  if (status == LINNET_OK)
    status = accumulate(s, matrix.values, matrix.rows, matrix.cols, cmvn);
  linnet_matrix_release(context, &matrix);
  return status;
}

static enum linnet_status add_frames(const struct speakers *s, struct linnet_context *context,
                                     struct linnet_fbank *fbank, const float *samples, size_t count,
                                     struct linnet_cmvn *cmvn) {
  size_t frames = linnet_fbank_num_frames(fbank, count), dim = linnet_fbank_dim(fbank);
  float *values = malloc((frames * dim + 1) * sizeof *values);
  enum linnet_status status = values ? linnet_fbank_compute(fbank, samples, count, values)
                                     : linnet_context_fail(context, LINNET_ERROR_MEMORY, "out of memory for features");
  if (status == LINNET_OK)
    status = accumulate(s, values, frames, dim, cmvn);
  free(values);
  return status;
}

static enum linnet_status add_audio(const struct speakers *s, struct linnet_context *context, size_t utterance,
                                    struct linnet_cmvn *cmvn) {
  struct linnet_fbank *fbank = NULL;
  float *samples = NULL;
  size_t count = 0;
  enum linnet_status status = linnet_data_folder_audio(s->folder, context, utterance, &s->audio, &samples, &count);
  if (status == LINNET_OK)
    status = linnet_fbank_create(context, &s->config.fbank, &fbank);
  if (status == LINNET_OK)
    status = add_frames(s, context, fbank, samples, count, cmvn);
  linnet_fbank_destroy(fbank);
  linnet_audio_release(context, samples);
  return status;
}

/* --- a speaker ---------------------------------------------------------------------------------------------------- */

/* Stops only where the recognition of all utterances would: when memory ends, or at an interrupt. */
static enum linnet_status add_all(const struct speakers *s, struct linnet_context *context,
                                  const struct speaker *speaker, struct linnet_cmvn *cmvn) {
  for (size_t i = 0; i < speaker->utterances; i++) {
    const size_t utterance = s->utterances[speaker->first + i];
    bool audio = linnet_data_folder_path(s->folder, utterance) || !linnet_data_folder_has_features(s->folder);
    enum linnet_status status = (audio ? add_audio : add_features)(s, context, utterance, cmvn);
    if (status == LINNET_ERROR_MEMORY || status == LINNET_ERROR_CANCELLED)
      return status;
  }
  return LINNET_OK;
}

static enum linnet_status compute(const struct speakers *s, struct linnet_context *context, struct speaker *speaker) {
  struct linnet_cmvn *cmvn = speaker->utterances > 1 ? calloc(1, sizeof *cmvn) : NULL;
  enum linnet_status status = LINNET_OK;
  if (cmvn) {
    linnet_cmvn_reset(cmvn, s->config.fbank.num_mel);
    status = add_all(s, context, speaker, cmvn);
  }
  if (cmvn && (status != LINNET_OK || !(cmvn->count > 0))) {
    free(cmvn);
    cmvn = NULL;
  }
  speaker->cmvn = cmvn;
  speaker->done = status == LINNET_OK;
  return status;
}

enum linnet_status speakers_find(struct speakers *s, struct linnet_context *context, size_t index,
                                 const struct linnet_cmvn **cmvn) {
  struct speaker *speaker = &s->speakers[index];
  pthread_mutex_lock(&speaker->mutex);
  enum linnet_status status = speaker->done ? LINNET_OK : compute(s, context, speaker);
  *cmvn = speaker->cmvn;
  pthread_mutex_unlock(&speaker->mutex);
  return status;
}
