/* The trainer on a small synthetic corpus: it learns, results do not depend on the number of threads, an interrupted
 * run that is continued ends with the same bytes, and bad data is refused. */
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

#include <linnet/train.h>

#include "base/base.h"
#include "base/file.h"
#include "model/model.h"

enum { UTTERANCES = 24, SYMBOLS = 5, DIM = 4, MAX_LABELS = 6, FRAMES_PER_LABEL = 7 };

/* Each label is a few frames with its own pattern. */
struct corpus {
  size_t count;
  uint64_t seed;
  int labels[UTTERANCES][MAX_LABELS];
  size_t num_labels[UTTERANCES];
  char ids[UTTERANCES][32];
  size_t poisoned; /* this utterance's features are infinite; SIZE_MAX: none */
};

static void make_corpus(struct corpus *c, uint64_t seed) {
  struct test_random random = {seed};
  *c = (struct corpus){.count = UTTERANCES, .seed = seed, .poisoned = SIZE_MAX};
  for (size_t u = 0; u < c->count; u++) {
    snprintf(c->ids[u], sizeof c->ids[u], "utt-%02zu", u);
    c->num_labels[u] = 1 + test_below(&random, MAX_LABELS);
    for (size_t i = 0; i < c->num_labels[u]; i++)
      c->labels[u][i] = 1 + (int)test_below(&random, SYMBOLS - 1);
  }
}

static const char *corpus_id(void *user, size_t u) {
  return ((struct corpus *)user)->ids[u];
}

static size_t corpus_frames(void *user, size_t u) {
  return ((struct corpus *)user)->num_labels[u] * FRAMES_PER_LABEL;
}

static const int *corpus_labels(void *user, size_t u, size_t *count) {
  struct corpus *c = user;
  *count = c->num_labels[u];
  return c->labels[u];
}

static enum linnet_status corpus_features(void *user, struct linnet_context *context, size_t u, uint64_t epoch,
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
  if (u == c->poisoned)
    features[3] = INFINITY;
  return LINNET_OK;
}

static struct linnet_corpus callbacks(struct corpus *c) {
  return (struct linnet_corpus){.user = c,
                                .count = c->count,
                                .id = corpus_id,
                                .frames = corpus_frames,
                                .labels = corpus_labels,
                                .features = corpus_features};
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
static const char causal[] = TRANSFORMER "\"layers\": 2, \"attention\": \"causal-linear\", \"causal_chunk\": 8}";
static const char mapped[] = TRANSFORMER "\"layers\": 2, \"feature_map\": \"positive\", \"features\": 8}";
static const struct network {
  const char *config;
  unsigned epochs; /* in which it learns */
} networks[] = {{transformer, 30}, {softmax, 30}, {causal_softmax, 30}, {mixed, 30},
                {lsh, 30},         {causal, 30},  {mapped, 30},         {blstm, 70}};
enum { NETWORKS = sizeof networks / sizeof *networks };
static const char features[] = "{\"num_mel\": 4, \"cmvn\": \"none\"}";

struct run {
  const char *config;
  unsigned threads, epochs;
  uint64_t stop_after; /* steps of this process; 0: never */
  uint64_t model_seed;
  struct corpus train, dev;
  double first_loss, last_loss;
  uint64_t steps;
  enum linnet_status status;
  char error[512];
};

static int on_step(void *user, const struct linnet_train_step *step) {
  struct run *run = user;
  (void)step;
  return ++run->steps == run->stop_after;
}

static int on_epoch(void *user, const struct linnet_train_epoch *epoch) {
  struct run *run = user;
  if (epoch->epoch == 1)
    run->first_loss = epoch->dev_loss;
  run->last_loss = epoch->dev_loss;
  return 0;
}

/* Trains in `folder`, continuing what is there. */
static void train(struct run *run, const char *folder) {
  struct linnet_context_settings context_settings;
  struct linnet_context *context = NULL;
  struct linnet_train_settings settings;
  struct linnet_trainer *trainer = NULL;
  linnet_context_settings_default(&context_settings);
  context_settings.threads = run->threads;
  REQUIRE(linnet_context_create(&context_settings, &context) == LINNET_OK, "context");
  linnet_train_settings_default(&settings);
  settings.learning_rate = 1e-2;
  settings.batch_frames = 150;
  settings.epochs = run->epochs;
  settings.keep_models = 2;
  settings.seed = run->model_seed;
  struct linnet_train_model model = {
      .config = run->config, .features = features, .symbols = symbols, .num_symbols = SYMBOLS};
  struct linnet_corpus train_corpus = callbacks(&run->train), dev_corpus = callbacks(&run->dev);
  run->status = linnet_trainer_create(context, folder, &settings, &model, &train_corpus, &dev_corpus, &trainer);
  struct linnet_train_events events = {.user = run, .step = on_step, .epoch = on_epoch};
  if (run->status == LINNET_OK)
    run->status = linnet_trainer_run(trainer, &events);
  snprintf(run->error, sizeof run->error, "%s", linnet_context_error(context));
  linnet_trainer_destroy(trainer);
  linnet_context_destroy(context);
}

static struct run make_run(const char *config, unsigned threads, unsigned epochs) {
  struct run run = {.config = config, .threads = threads, .epochs = epochs, .model_seed = 1};
  make_corpus(&run.train, 1);
  make_corpus(&run.dev, 2);
  return run;
}

static const char *make_folder(char path[64]) {
  strcpy(path, "/tmp/linnet-trainer-XXXXXX");
  REQUIRE(mkdtemp(path) != NULL, "mkdtemp");
  return path;
}

static void remove_folder(const char *folder) {
  char path[128];
  const char *const names[] = {"checkpoint", "model"};
  for (size_t i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, names[i]);
    unlink(path);
  }
  for (unsigned e = 1; e < 100; e++) {
    snprintf(path, sizeof path, "%s/epoch-%03u.safetensors", folder, e);
    unlink(path);
  }
  CHECK(rmdir(folder) == 0, "%s: unexpected files are left", folder);
}

static bool same_model(const char *a, const char *b) {
  struct linnet_context *context = test_context();
  char paths[2][128];
  void *data[2] = {NULL, NULL};
  size_t bytes[2] = {0, 0};
  snprintf(paths[0], sizeof paths[0], "%s/model.safetensors", a);
  snprintf(paths[1], sizeof paths[1], "%s/model.safetensors", b);
  bool good = linnet_file_read(context, paths[0], 1 << 24, &data[0], &bytes[0]) == LINNET_OK &&
              linnet_file_read(context, paths[1], 1 << 24, &data[1], &bytes[1]) == LINNET_OK;
  good = good && bytes[0] == bytes[1] && bytes[0] > 1000 && memcmp(data[0], data[1], bytes[0]) == 0;
  linnet_free(context, data[0]);
  linnet_free(context, data[1]);
  linnet_context_destroy(context);
  return good;
}

static void test_learning_and_threads(const struct network *network) {
  char one[64], three[64];
  struct run a = make_run(network->config, 1, network->epochs), b = make_run(network->config, 3, network->epochs);
  train(&a, make_folder(one));
  train(&b, make_folder(three));
  CHECK(a.status == LINNET_OK, "status %d: %s", a.status, a.error);
  CHECK(a.last_loss < 0.2 * a.first_loss, "%s: loss per label went from %g to %g, expected a fifth", network->config,
        a.first_loss, a.last_loss);
  CHECK(same_model(one, three), "%s: models of 1 and 3 threads differ", network->config);
  remove_folder(one);
  remove_folder(three);
}

static void test_resume(const char *config) {
  char whole[64], parts[64];
  struct run a = make_run(config, 2, 6);
  train(&a, make_folder(whole));
  make_folder(parts);
  unsigned runs = 0;
  struct run b;
  do {
    b = make_run(config, 2, 6);
    b.stop_after = 3;
    train(&b, parts);
  } while (b.status == LINNET_ERROR_CANCELLED && ++runs < 100);
  CHECK(b.status == LINNET_OK, "status %d: %s", b.status, b.error);
  CHECK(runs > 3, "only %u interruptions", runs);
  CHECK(same_model(whole, parts), "the model after %u interruptions differs", runs);
  remove_folder(whole);
  remove_folder(parts);
}

static void test_other_settings(void) {
  char folder[64];
  struct run a = make_run(transformer, 1, 1);
  train(&a, make_folder(folder));
  a.config = causal;
  train(&a, folder);
  CHECK(a.status == LINNET_ERROR_STATE, "status %d with another configuration", a.status);
  a.config = transformer;
  a.train.labels[0][0] = a.train.labels[0][0] % (SYMBOLS - 1) + 1;
  train(&a, folder);
  CHECK(a.status == LINNET_ERROR_STATE, "status %d with other data", a.status);
  CHECK(strstr(a.error, "train=") != NULL, "message: %s", a.error);
  remove_folder(folder);
}

static void test_not_finite(void) {
  char folder[64];
  struct run a = make_run(transformer, 2, 3);
  a.train.poisoned = 5;
  train(&a, make_folder(folder));
  CHECK(a.status == LINNET_ERROR_NUMERIC, "status %d with infinite features", a.status);
  CHECK(strstr(a.error, "utt-05") != NULL, "the message does not name the utterance: %s", a.error);
  remove_folder(folder);
}

static void test_bad_labels(void) {
  char folder[64];
  struct run a = make_run(transformer, 1, 1);
  a.dev.labels[3][0] = SYMBOLS;
  train(&a, make_folder(folder));
  CHECK(a.status == LINNET_ERROR_ARGUMENT, "status %d with a label out of range", a.status);
  CHECK(strstr(a.error, "utt-03") != NULL, "message: %s", a.error);
  remove_folder(folder);
}

static void test_average(void) {
  char folder[64], inputs[2][128], output[128];
  struct run a = make_run(transformer, 1, 2);
  train(&a, make_folder(folder));
  for (unsigned i = 0; i < 2; i++)
    snprintf(inputs[i], sizeof inputs[i], "%s/epoch-%03u.safetensors", folder, i + 1);
  snprintf(output, sizeof output, "%s/epoch-099.safetensors", folder);
  struct linnet_context *context = test_context();
  const char *const paths[] = {inputs[0], inputs[1]};
  CHECK(linnet_model_average(context, paths, 2, 1, output) == LINNET_OK, "%s", linnet_context_error(context));
  struct linnet_model *model = NULL;
  CHECK(linnet_model_load(context, output, &model) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_model_destroy(model);
  linnet_context_destroy(context);
  remove_folder(folder);
}

/* The tensors of random features: those of the seed to the last bit. */
static void check_fixed(struct linnet_context *context, const char *path, uint64_t seed) {
  struct linnet_model *model = NULL;
  REQUIRE(linnet_model_load(context, path, &model) == LINNET_OK, "%s", linnet_context_error(context));
  const struct linnet_parameters *p = model->parameters;
  float *initial = malloc(p->size * sizeof *initial);
  unsigned fixed = 0;
  linnet_parameters_initialise(p, seed, initial);
  for (size_t i = 0; i < p->count; i++) {
    const struct linnet_parameter *t = &p->list[i];
    bool same = memcmp(initial + t->offset, model->weights + t->offset, t->count * sizeof *initial) == 0;
    CHECK(same == t->fixed, "%s: %s: %s", path, t->name, same ? "was not trained" : "was changed");
    fixed += t->fixed;
  }
  CHECK(fixed == 2, "%u fixed tensors", fixed);
  free(initial);
  linnet_model_destroy(model);
}

/* Training, clipping, checkpoints and averages leave random features alone; models with others have no average. */
static void test_fixed(void) {
  char folder[64], other[64], inputs[3][128], output[128];
  struct run a = make_run(mapped, 2, 2), b = make_run(mapped, 1, 1);
  b.model_seed = 2;
  train(&a, make_folder(folder));
  train(&b, make_folder(other));
  CHECK(a.status == LINNET_OK && b.status == LINNET_OK, "%s%s", a.error, b.error);
  for (unsigned i = 0; i < 2; i++)
    snprintf(inputs[i], sizeof inputs[i], "%s/epoch-%03u.safetensors", folder, i + 1);
  snprintf(inputs[2], sizeof inputs[2], "%s/model.safetensors", other);
  snprintf(output, sizeof output, "%s/epoch-099.safetensors", folder);
  struct linnet_context *context = test_context();
  const char *const paths[] = {inputs[0], inputs[1], inputs[2]};
  CHECK(linnet_model_average(context, paths, 2, 0, output) == LINNET_OK, "%s", linnet_context_error(context));
  check_fixed(context, inputs[1], 1);
  check_fixed(context, output, 1);
  check_fixed(context, inputs[2], 2);
  CHECK(linnet_model_average(context, paths, 3, 0, output) == LINNET_ERROR_ARGUMENT &&
            strstr(linnet_context_error(context), "random features"),
        "%s", linnet_context_error(context));
  CHECK(linnet_model_average(context, paths, 2, 1, output) == LINNET_OK, "%s", linnet_context_error(context));
  struct linnet_model *half = NULL;
  CHECK(linnet_model_load(context, output, &half) == LINNET_OK, "%s", linnet_context_error(context));
  linnet_model_destroy(half);
  linnet_context_destroy(context);
  remove_folder(folder);
  remove_folder(other);
}

/* The measurement for causal layers gives a chunk that a configuration may name. */
static void test_measure_chunk(void) {
  struct linnet_context *context = test_context();
  size_t chunk = SIZE_MAX;
  CHECK(linnet_train_measure_chunk(context, causal, &chunk) == LINNET_OK && chunk <= 128, "chunk %zu: %s", chunk,
        linnet_context_error(context));
  CHECK(linnet_train_measure_chunk(context, "{\"heads\": 5}", &chunk) == LINNET_ERROR_FORMAT, "5 heads of 192");
  CHECK(linnet_train_measure_chunk(context, NULL, &chunk) == LINNET_ERROR_ARGUMENT, "NULL");
  linnet_context_destroy(context);
}

int main(void) {
  for (size_t i = 0; i < NETWORKS; i++) {
    test_learning_and_threads(&networks[i]);
    test_resume(networks[i].config);
  }
  test_other_settings();
  test_not_finite();
  test_bad_labels();
  test_average();
  test_fixed();
  test_measure_chunk();
  return test_result();
}
