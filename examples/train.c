/* Trains a model on your own corpus: train LIST FOLDER
 * LIST has a line "AUDIO PHONE PHONE ..." for each recording. The program writes the best model to
 * FOLDER/model.safetensors; FOLDER must exist. The network is small and causal, so it can recognise live audio. For a
 * real training, use more data, hold out a part of it for validation, and follow docs/training.md. The trainer gets the
 * corpus through functions of the program, so you can load it from anywhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linnet/audio.h>
#include <linnet/cmvn.h>
#include <linnet/fbank.h>
#include <linnet/lexicon.h>
#include <linnet/train.h>

static const char config[] = "{\"input_dim\": 40, \"width\": 32, \"heads\": 2, \"layers\": 2, \"feed_forward\": 64, "
                             "\"stack\": 3, \"norm\": \"pre\", \"attention\": \"causal-linear\", \"dropout\": 0}";
static const char features[] = "{\"num_mel\": 40, \"cmvn\": \"global\"}";
enum { MEL = 40 };

/* One recording: features (frames, MEL) and labels. */
struct recording {
  const char *path;
  float *features;
  size_t frames;
  int *labels;
  size_t num_labels;
};

struct corpus {
  struct linnet_transcripts *text;
  struct linnet_symbols *symbols;
  struct recording *recordings;
  size_t count;
  struct linnet_cmvn cmvn; /* of all recordings */
};

/* --- callbacks of the trainer ------------------------------------------------------------------------------------- */

static const struct recording *at(void *user, size_t utterance) {
  return &((struct corpus *)user)->recordings[utterance];
}

static const char *get_id(void *user, size_t utterance) {
  return at(user, utterance)->path;
}

static size_t get_frames(void *user, size_t utterance) {
  return at(user, utterance)->frames;
}

static const int *get_labels(void *user, size_t utterance, size_t *count) {
  *count = at(user, utterance)->num_labels;
  return at(user, utterance)->labels;
}

static enum linnet_status get_features(void *user, struct linnet_context *context, size_t utterance, uint64_t epoch,
                                       float *to, size_t capacity, size_t *frames) {
  const struct recording *recording = at(user, utterance);
  (void)context, (void)epoch;
  *frames = recording->frames < capacity ? recording->frames : capacity;
  memcpy(to, recording->features, *frames * MEL * sizeof *to);
  return LINNET_OK;
}

static int on_epoch(void *user, const struct linnet_train_epoch *epoch) {
  (void)user;
  printf("epoch %u: loss %.4f\n", epoch->epoch, epoch->dev_loss);
  return 0;
}

/* --- the corpus --------------------------------------------------------------------------------------------------- */

static enum linnet_status compute_features(struct linnet_context *context, struct recording *recording,
                                           const float *samples, size_t count) {
  struct linnet_fbank *fbank = NULL;
  enum linnet_status status = linnet_fbank_create(context, NULL, &fbank);
  if (status != LINNET_OK)
    return status;
  recording->frames = linnet_fbank_num_frames(fbank, count);
  recording->features = malloc((recording->frames + 1) * MEL * sizeof *recording->features);
  status = recording->features ? linnet_fbank_compute(fbank, samples, count, recording->features) : LINNET_ERROR_MEMORY;
  linnet_fbank_destroy(fbank);
  return status;
}

static enum linnet_status read_audio(struct linnet_context *context, struct recording *recording) {
  struct linnet_audio *audio = NULL;
  float *samples = NULL;
  size_t count = 0;
  enum linnet_status status = linnet_audio_open(context, recording->path, NULL, &audio);
  if (status == LINNET_OK && (status = linnet_audio_read_all(audio, &samples, &count)) == LINNET_OK)
    status = compute_features(context, recording, samples, count);
  linnet_audio_release(context, samples);
  linnet_audio_destroy(audio);
  return status;
}

static enum linnet_status read_recording(struct linnet_context *context, struct corpus *corpus, size_t index) {
  struct recording *recording = &corpus->recordings[index];
  const char *const *phones = linnet_transcripts_tokens(corpus->text, index, &recording->num_labels);
  recording->path = linnet_transcripts_id(corpus->text, index);
  recording->labels = calloc(recording->num_labels + 1, sizeof *recording->labels);
  if (!recording->labels)
    return LINNET_ERROR_MEMORY;
  for (size_t i = 0; i < recording->num_labels; i++)
    recording->labels[i] = (int)linnet_symbols_find(corpus->symbols, phones[i]);
  return read_audio(context, recording);
}

static enum linnet_status read_corpus(struct linnet_context *context, const char *list, struct corpus *corpus) {
  enum linnet_status status = linnet_transcripts_load(context, list, &corpus->text);
  if (status == LINNET_OK)
    status = linnet_transcripts_symbols(context, corpus->text, &corpus->symbols);
  if (status != LINNET_OK)
    return status;
  corpus->count = linnet_transcripts_num_utterances(corpus->text);
  corpus->recordings = calloc(corpus->count + 1, sizeof *corpus->recordings);
  if (!corpus->recordings)
    return LINNET_ERROR_MEMORY;
  for (size_t i = 0; i < corpus->count && status == LINNET_OK; i++)
    status = read_recording(context, corpus, i);
  return status;
}

/* The trainer expects normalised features; the model stores the statistics. */
static void normalise(struct corpus *corpus) {
  linnet_cmvn_reset(&corpus->cmvn, MEL);
  for (size_t i = 0; i < corpus->count; i++)
    linnet_cmvn_accumulate(&corpus->cmvn, corpus->recordings[i].features, corpus->recordings[i].frames);
  for (size_t i = 0; i < corpus->count; i++)
    linnet_cmvn_apply(&corpus->cmvn, 1, corpus->recordings[i].features, corpus->recordings[i].frames);
}

static void release_corpus(struct corpus *corpus) {
  for (size_t i = 0; i < corpus->count && corpus->recordings; i++) {
    free(corpus->recordings[i].features);
    free(corpus->recordings[i].labels);
  }
  free(corpus->recordings);
  linnet_symbols_destroy(corpus->symbols);
  linnet_transcripts_destroy(corpus->text);
}

/* --- training ----------------------------------------------------------------------------------------------------- */

static enum linnet_status train(struct linnet_context *context, struct corpus *corpus, const char *folder) {
  const struct linnet_train_events events = {.size = sizeof events, .epoch = on_epoch};
  const struct linnet_corpus callbacks = {.size = sizeof callbacks,
                                          .user = corpus,
                                          .num_utterances = corpus->count,
                                          .id = get_id,
                                          .frames = get_frames,
                                          .labels = get_labels,
                                          .features = get_features};
  size_t count = linnet_symbols_num_symbols(corpus->symbols);
  const char **names = malloc(count * sizeof *names);
  struct linnet_train_settings settings;
  struct linnet_trainer *trainer = NULL;
  for (size_t i = 0; names && i < count; i++)
    names[i] = linnet_symbols_name(corpus->symbols, (int)i);
  const struct linnet_train_model model = {.size = sizeof model,
                                           .config = config,
                                           .features = features,
                                           .symbols = names,
                                           .num_symbols = count,
                                           .cmvn = &corpus->cmvn};
  linnet_train_settings_default(&settings);
  settings.learning_rate = 5e-3;
  settings.num_batch_frames = 600;
  settings.num_epochs = 60;
  enum linnet_status status =
      names ? linnet_trainer_create(context, folder, &settings, &model, &callbacks, &callbacks, &trainer)
            : LINNET_ERROR_MEMORY;
  if (status == LINNET_OK)
    status = linnet_trainer_run(trainer, &events);
  linnet_trainer_destroy(trainer);
  free(names);
  return status;
}

int main(int argc, char **argv) {
  struct linnet_context *context = NULL;
  struct corpus corpus = {NULL};
  if (argc != 3 || linnet_context_create(NULL, &context) != LINNET_OK)
    return 2;
  enum linnet_status status = read_corpus(context, argv[1], &corpus);
  if (status == LINNET_OK) {
    normalise(&corpus);
    status = train(context, &corpus, argv[2]);
  }
  if (status != LINNET_OK)
    fprintf(stderr, "train: %s\n", linnet_context_error(context));
  release_corpus(&corpus);
  linnet_context_destroy(context);
  return status != LINNET_OK;
}
