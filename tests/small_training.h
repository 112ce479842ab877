/* Training of small networks of every kind on a small synthetic corpus that is soon learnt. */
#ifndef LINNET_TEST_SMALL_TRAINING_H
#define LINNET_TEST_SMALL_TRAINING_H

#include <unistd.h>

#include <linnet/train.h>

#include "base/base.h"
#include "test.h"

enum { UTTERANCES = 24, SYMBOLS = 5, DIM = 4, MAX_LABELS = 6, FRAMES_PER_LABEL = 7 };

/* Masks of features come from: nobody, the trainer, or features(). */
enum masking { UNMASKED, MASKED, MASKED_FEATURES };

/* Each label is a few frames with its own pattern. */
struct corpus {
  size_t count;
  uint64_t seed;
  int labels[UTTERANCES][MAX_LABELS];
  size_t num_labels[UTTERANCES];
  char ids[UTTERANCES][32];
  size_t poisoned; /* this utterance has the feature `poison`; SIZE_MAX: none */
  float poison;    /* INFINITY after make_corpus */
  enum masking masking;
  float teacher_offset; /* added to the features for a teacher */
  bool untaught;        /* there are none */
  bool untargeted;      /* there are no frame targets */
  bool late_targets;    /* they begin a frame later */
  int wrong_target;     /* added to them */
};

static inline void make_corpus(struct corpus *c, uint64_t seed) {
  struct test_random random = {seed};
  *c = (struct corpus){.count = UTTERANCES, .seed = seed, .poisoned = SIZE_MAX, .poison = INFINITY};
  for (size_t u = 0; u < c->count; u++) {
    snprintf(c->ids[u], sizeof c->ids[u], "utt-%02zu", u);
    c->num_labels[u] = 1 + test_below(&random, MAX_LABELS);
    for (size_t i = 0; i < c->num_labels[u]; i++)
      c->labels[u][i] = 1 + (int)test_below(&random, SYMBOLS - 1);
  }
}

static inline const char *corpus_id(void *user, size_t u) {
  return ((struct corpus *)user)->ids[u];
}

static inline size_t corpus_frames(void *user, size_t u) {
  return ((struct corpus *)user)->num_labels[u] * FRAMES_PER_LABEL;
}

static inline const int *corpus_labels(void *user, size_t u, size_t *count) {
  struct corpus *c = user;
  *count = c->num_labels[u];
  return c->labels[u];
}

/* A band, and two spans of frames, the second up to the end or beyond; half of the utterances are masked. */
enum { MASKS = 3 };
static inline void corpus_masks(void *user, size_t u, uint64_t epoch, unsigned view, size_t frames,
                                struct linnet_feature_mask *masks) {
  const struct corpus *c = user;
  struct test_random random = {c->seed * 7000 + epoch * UTTERANCES + u + view * 1000000};
  if (test_below(&random, 2))
    return;
  size_t last = test_below(&random, 6);
  masks[0] = (struct linnet_feature_mask){0, frames, test_below(&random, DIM), test_below(&random, 2)};
  masks[1] = (struct linnet_feature_mask){test_below(&random, frames - 4), test_below(&random, 5), 0, DIM};
  masks[2] = (struct linnet_feature_mask){frames - last, last + test_below(&random, 2), 0, DIM};
}

static inline void mask_features(void *user, size_t u, uint64_t epoch, float *x, size_t frames) {
  struct linnet_feature_mask masks[MASKS] = {{0}};
  corpus_masks(user, u, epoch, 0, frames, masks);
  for (size_t i = 0; i < frames * DIM; i++)
    for (size_t m = 0; m < MASKS; m++) {
      size_t t = i / DIM, channel = i % DIM;
      if (t >= masks[m].first_frame && t < masks[m].first_frame + masks[m].num_frames &&
          channel >= masks[m].first_channel && channel < masks[m].first_channel + masks[m].num_channels)
        x[i] = 0;
    }
}

static inline enum linnet_status corpus_features(void *user, struct linnet_context *context, size_t u, uint64_t epoch,
                                                 float *features, size_t capacity, size_t *frames) {
  const struct corpus *c = user;
  struct test_random random = {c->seed * 1000 + epoch * UTTERANCES + u};
  (void)context;
  *frames = corpus_frames(user, u);
  if (*frames > capacity)
    return LINNET_ERROR_LIMIT;
  for (size_t t = 0; t < *frames; t++)
    for (size_t d = 0; d < DIM; d++) {
      int label = t % FRAMES_PER_LABEL < 2 ? 0 : c->labels[u][t / FRAMES_PER_LABEL];
      features[t * DIM + d] = (float)((label == (int)d + 1) + 0.1 * test_uniform(&random));
    }
  if (c->masking == MASKED_FEATURES && epoch > 0)
    mask_features(user, u, epoch, features, *frames);
  for (size_t t = 0; u == c->poisoned && t < *frames; t++)
    features[t * DIM + 3] = c->poison;
  return LINNET_OK;
}

/* Features for a teacher. */
static inline enum linnet_status corpus_both_features(void *user, struct linnet_context *context, size_t u,
                                                      uint64_t epoch, float *features, float *teacher, size_t capacity,
                                                      size_t *frames) {
  enum linnet_status status = corpus_features(user, context, u, epoch, features, capacity, frames);
  for (size_t i = 0; status == LINNET_OK && i < *frames * DIM; i++)
    teacher[i] = features[i] + ((const struct corpus *)user)->teacher_offset;
  return status;
}

/* The label whose pattern a frame has. */
static inline void corpus_targets(void *user, size_t u, uint64_t epoch, size_t frames, int *targets) {
  const struct corpus *c = user;
  (void)epoch;
  for (size_t t = 0; t < frames; t++)
    targets[t] =
        (t % FRAMES_PER_LABEL < 2u + c->late_targets ? 0 : c->labels[u][t / FRAMES_PER_LABEL]) + c->wrong_target;
}

static inline struct linnet_corpus callbacks(struct corpus *c) {
  return (struct linnet_corpus){.size = sizeof(struct linnet_corpus),
                                .user = c,
                                .num_utterances = c->count,
                                .id = corpus_id,
                                .frames = corpus_frames,
                                .labels = corpus_labels,
                                .features = corpus_features,
                                .both_features = c->untaught ? NULL : corpus_both_features,
                                .targets = c->untargeted ? NULL : corpus_targets,
                                .num_masks = c->masking == MASKED ? MASKS : 0,
                                .masks = corpus_masks};
}

static const char *const symbols[SYMBOLS] = {"<blk>", "A", "B", "C", "D"};
#define TRANSFORMER                                                                                                    \
  "{\"input_dim\": 4, \"width\": 16, \"heads\": 2, \"feed_forward\": 32, \"norm\": \"pre\", \"stack\": 2, "            \
  "\"dropout\": 0.1, "
static const char transformer[] = TRANSFORMER "\"layers\": 2, \"convolution\": 3}";
static const char softmax[] = TRANSFORMER "\"layers\": 2, \"convolution\": 3, \"attention\": \"softmax\"}";
static const char causal_softmax[] = TRANSFORMER "\"layers\": 2, \"attention\": \"causal-softmax\"}";
static const char mixed[] =
    TRANSFORMER "\"layers\": 9, \"attention\": [\"linear\", \"linear\", \"linear\", \"softmax\", \"linear\", "
                "\"linear\", \"linear\", \"linear\", \"softmax\"]}";
static const char lsh[] = TRANSFORMER "\"layers\": 2, \"convolution\": 3, \"attention\": \"lsh\", \"lsh_rounds\": 2, "
                                      "\"lsh_buckets\": 4, \"lsh_chunk\": 8}";
static const char blstm[] = "{\"encoder\": \"blstm\", \"input_dim\": 4, \"width\": 16, \"layers\": 2, \"stack\": 2, "
                            "\"dropout\": 0.1}";
static const char causal[] = TRANSFORMER "\"layers\": 2, \"attention\": \"causal-linear\", \"causal_chunk\": 8, "
                                         "\"convolution\": 5, \"convolution_lookahead\": [1, 0]}";
static const char mapped[] = TRANSFORMER "\"layers\": 2, \"feature_map\": \"positive\", \"features\": 8}";
/* Several blocks of parameters (train/division.h). */
static const char wide[] = "{\"input_dim\": 4, \"width\": 64, \"heads\": 2, \"feed_forward\": 128, \"layers\": 2, "
                           "\"norm\": \"pre\", \"stack\": 2, \"dropout\": 0.1, \"convolution\": 3}";
static const char post_norm[] = "{\"input_dim\": 4, \"width\": 16, \"heads\": 2, \"feed_forward\": 32, \"stack\": 2, "
                                "\"dropout\": 0.1, \"layers\": 2, \"norm\": \"post\", \"convolution\": 3, "
                                "\"activation\": \"gelu\"}";
static const struct network {
  const char *config;
  unsigned epochs; /* in which it learns */
} networks[] = {{transformer, 30}, {softmax, 30}, {causal_softmax, 30}, {mixed, 30},    {lsh, 30},
                {causal, 30},      {mapped, 30},  {blstm, 70},          {post_norm, 60}};
enum { NETWORKS = sizeof networks / sizeof *networks };
static const char features[] = "{\"num_mel\": 4, \"cmvn\": \"none\"}";

typedef enum linnet_status test_open_device(struct linnet_context *own, int index, enum linnet_precision precision,
                                            struct linnet_device **device);

struct run {
  const char *config;
  const char *kernels;         /* NULL: the fastest */
  test_open_device *on_device; /* NULL: the CPU */
  unsigned threads, epochs, keep_models;
  uint64_t stop_after; /* steps of this process; 0: never */
  uint64_t fail_after; /* steps: their event fails; 0: never */
  unsigned fail_epoch; /* the event of this epoch fails; 0: never */
  size_t cancel_at;    /* the poll at which the context's hook cancels; 0: never */
  size_t polls;        /* atomic */
  uint64_t model_seed;
  const char *const *symbols;     /* NULL: those below */
  const char *features;           /* NULL: those below */
  const struct linnet_cmvn *cmvn; /* NULL: none */
  const char *const *metadata;    /* NULL: none */
  const char *initial;            /* path of a model with the initial weights, or NULL */
  double learning_rate;           /* 0: 1e-2 */
  struct corpus train, dev;
  double consistency, average_decay, ctc_weight;
  const struct linnet_language_model *denominator; /* NULL: CTC */
  size_t intermediate_ctc;
  double intermediate_weight;         /* 0: the default */
  const struct linnet_model *teacher; /* NULL: none */
  double teacher_weight, frame_weight;
  size_t num_shards;
  enum linnet_precision wire_precision;
  enum linnet_train_gpu_exchange gpu_exchange;
  const struct linnet_group *group;    /* NULL: one rank */
  void (*created)(void *created_user); /* called when the trainer exists; NULL: not called */
  void *created_user;
  struct linnet_context *context; /* while it trains */
  double first_loss, last_loss, last_consistency, last_crf, last_distillation, last_intermediate, last_frame_loss;
  uint64_t steps;
  enum linnet_status status;
  char error[512], log[2048]; /* the log's lines, of this process */
  char exchange[700];         /* linnet_trainer_exchange */
};

static inline void on_log(void *user, enum linnet_log_level level, const char *message) {
  struct run *run = user;
  size_t used = strlen(run->log);
  (void)level;
  snprintf(run->log + used, sizeof run->log - used, "%s\n", message);
}

static inline int fail_event(const struct run *run) {
  linnet_context_fail(run->context, LINNET_ERROR_IO, "the event failed");
  return -1;
}

static inline int on_step(void *user, const struct linnet_train_step *step) {
  struct run *run = user;
  (void)step;
  ++run->steps;
  return run->steps == run->fail_after ? fail_event(run) : run->steps == run->stop_after;
}

static inline int on_poll(void *user) {
  struct run *run = user;
  return __atomic_add_fetch(&run->polls, 1, __ATOMIC_RELAXED) == run->cancel_at;
}

static inline int on_epoch(void *user, const struct linnet_train_epoch *epoch) {
  struct run *run = user;
  if (epoch->epoch == 1)
    run->first_loss = epoch->dev_loss;
  run->last_loss = epoch->dev_loss;
  run->last_consistency = epoch->consistency;
  run->last_crf = epoch->crf_loss;
  run->last_intermediate = epoch->intermediate_loss;
  run->last_distillation = epoch->distillation;
  run->last_frame_loss = epoch->frame_loss;
  return epoch->epoch == run->fail_epoch ? fail_event(run) : 0;
}

/* Trains in `folder`; continues a training in it. */
static inline void train_with(struct linnet_context *context, struct run *run, const char *folder) {
  struct linnet_train_settings settings;
  struct linnet_trainer *trainer = NULL;
  linnet_train_settings_default(&settings);
  settings.learning_rate = run->learning_rate > 0 ? run->learning_rate : 1e-2;
  if (settings.min_learning_rate > settings.learning_rate)
    settings.min_learning_rate = settings.learning_rate;
  settings.num_batch_frames = 150;
  settings.num_epochs = run->epochs;
  settings.num_kept_models = run->keep_models;
  settings.seed = run->model_seed;
  settings.consistency = run->consistency;
  settings.average_decay = run->average_decay;
  settings.ctc_weight = run->ctc_weight;
  settings.denominator = run->denominator;
  settings.intermediate_ctc = run->intermediate_ctc;
  if (run->intermediate_weight != 0)
    settings.intermediate_weight = run->intermediate_weight;
  settings.teacher = run->teacher;
  settings.teacher_weight = run->teacher_weight;
  settings.frame_weight = run->frame_weight;
  settings.num_shards = run->num_shards;
  settings.wire_precision = run->wire_precision;
  settings.gpu_exchange = run->gpu_exchange;
  settings.group = run->group;
  struct linnet_train_model model = {.size = sizeof model,
                                     .config = run->config,
                                     .features = run->features ? run->features : features,
                                     .symbols = run->symbols ? run->symbols : symbols,
                                     .num_symbols = SYMBOLS,
                                     .cmvn = run->cmvn,
                                     .metadata = run->metadata,
                                     .initial = run->initial};
  struct linnet_corpus train_corpus = callbacks(&run->train), dev_corpus = callbacks(&run->dev);
  run->log[0] = '\0';
  run->context = context;
  run->status = linnet_trainer_create(context, folder, &settings, &model, &train_corpus, &dev_corpus, &trainer);
  struct linnet_train_events events = {.size = sizeof events, .user = run, .step = on_step, .epoch = on_epoch};
  snprintf(run->exchange, sizeof run->exchange, "%s", run->status == LINNET_OK ? linnet_trainer_exchange(trainer) : "");
  if (run->status == LINNET_OK && run->created)
    run->created(run->created_user);
  if (run->status == LINNET_OK)
    run->status = linnet_trainer_run(trainer, &events);
  linnet_trainer_destroy(trainer);
}

/* The same with a separate context. */
static inline void train(struct run *run, const char *folder) {
  struct linnet_context_settings context_settings;
  struct linnet_context *context = NULL;
  linnet_context_settings_default(&context_settings);
  context_settings.num_threads = run->threads;
  context_settings.kernels = run->kernels;
  context_settings.log = on_log;
  context_settings.log_user = run;
  context_settings.cancel = run->cancel_at > 0 ? on_poll : NULL;
  context_settings.cancel_user = run;
  REQUIRE(linnet_context_create(&context_settings, &context) == LINNET_OK, "context");
  if (run->on_device)
    REQUIRE(linnet_context_use_device(context, run->on_device) == LINNET_OK, "%s", linnet_context_error(context));
  train_with(context, run, folder);
  snprintf(run->error, sizeof run->error, "%s", linnet_context_error(context));
  linnet_context_destroy(context);
}

static inline struct run make_run(const char *config, unsigned threads, unsigned epochs) {
  struct run run = {.config = config, .threads = threads, .epochs = epochs, .keep_models = 2, .model_seed = 1};
  make_corpus(&run.train, 1);
  make_corpus(&run.dev, 2);
  return run;
}

static inline const char *make_folder(char path[64]) {
  strcpy(path, "/tmp/linnet-trainer-XXXXXX");
  REQUIRE(mkdtemp(path) != NULL, "mkdtemp");
  return path;
}

static inline void remove_folder(const char *folder) {
  char path[128];
  const char *const names[] = {"checkpoint", "checkpoint-previous", "checkpoint-damaged", "model"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, names[i]);
    unlink(path);
  }
  for (unsigned e = 1; e < 100; e++) {
    snprintf(path, sizeof path, "%s/epoch-%03u.safetensors", folder, e);
    unlink(path);
  }
  CHECK(rmdir(folder) == 0, "%s: unexpected files are left", folder);
}

/* The number of bytes of the model in a folder; 0 if it cannot be read, or is larger than `capacity`. */
static inline size_t read_bytes(const char *folder, char *bytes, size_t capacity) {
  char path[128];
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  FILE *file = fopen(path, "rb");
  size_t n = file ? fread(bytes, 1, capacity, file) : 0;
  if (file)
    fclose(file);
  return n < capacity ? n : 0;
}

static inline bool same_model(const char *a, const char *b) {
  static char bytes[2][1 << 20];
  const size_t n = read_bytes(a, bytes[0], sizeof bytes[0]);
  return n > 1000 && read_bytes(b, bytes[1], sizeof bytes[1]) == n && memcmp(bytes[0], bytes[1], n) == 0;
}

/* The best model of a training. */
static inline struct linnet_model *load_trained_by(enum linnet_status (*load)(struct linnet_context *, const char *,
                                                                              struct linnet_model **),
                                                   struct linnet_context *context, const char *folder) {
  char path[128];
  struct linnet_model *model = NULL;
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  REQUIRE(load(context, path, &model) == LINNET_OK, "%s", linnet_context_error(context));
  return model;
}

static inline struct linnet_model *load_trained(struct linnet_context *context, const char *folder) {
  return load_trained_by(linnet_model_load_whole, context, folder);
}

/* For train_in_parts. */
static inline void stop_after_three_steps(struct run *run, unsigned part) {
  (void)part;
  run->stop_after = 3;
}

/* Trains as a whole and in parts, which `interrupt` makes end early: the same model. Returns the number of parts. */
static inline unsigned train_in_parts(const struct run *run, void (*interrupt)(struct run *run, unsigned part)) {
  char whole[64], parts[64];
  struct run a = *run, b;
  train(&a, make_folder(whole));
  make_folder(parts);
  unsigned part = 0;
  do {
    b = *run;
    interrupt(&b, ++part);
    train(&b, parts);
  } while (b.status == LINNET_ERROR_CANCELLED && part < 200);
  CHECK(b.status == LINNET_OK, "status %d: %s", b.status, b.error);
  CHECK(same_model(whole, parts), "the model after %u interruptions differs", part - 1);
  CHECK(a.last_consistency == b.last_consistency && a.last_crf == b.last_crf &&
            a.last_distillation == b.last_distillation,
        "consistency %g, CTC-CRF %g, distillation %g, after interruptions %g, %g, %g", a.last_consistency, a.last_crf,
        a.last_distillation, b.last_consistency, b.last_crf, b.last_distillation);
  CHECK(a.last_intermediate == b.last_intermediate && a.last_frame_loss == b.last_frame_loss,
        "intermediate CTC %g, frames %g, after interruptions %g, %g", a.last_intermediate, a.last_frame_loss,
        b.last_intermediate, b.last_frame_loss);
  remove_folder(whole);
  remove_folder(parts);
  return part;
}

#endif
