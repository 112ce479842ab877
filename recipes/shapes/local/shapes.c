/* Fleuret's height-averaging task (the slides "Fast Attention Models"): a signal holds two triangles and two
 * rectangles; the target replaces each height by the mean of the pair. Five convolutions of 64 channels cannot
 * see both shapes of a pair; an attention layer in the place of one of them can. */
#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "base/philox.h"
#include "common/experiment.h"

static struct options {
  const char *attention, *log, *examples, *matrix;
  int epochs, sequences, batch, seed;
  double rate;
} options = {.attention = "none", .epochs = 40, .sequences = 25000, .batch = 100, .seed = 1, .rate = 1e-3};

#define INT(name, help) #name, 0, POPT_ARG_INT | POPT_ARGFLAG_SHOW_DEFAULT, &options.name, 0, help, "N"
#define TEXT(name, help, what) #name, 0, POPT_ARG_STRING | POPT_ARGFLAG_SHOW_DEFAULT, &options.name, 0, help, what
static const struct poptOption option_table[] = {
    {TEXT(attention, "none (convolutions alone), or a kind of attention", "NAME")},
    {TEXT(log, "epoch, mean squared error of training and test, seconds", "FILE")},
    {TEXT(examples, "position, input, target, output of test signals, a blank line between them", "FILE")},
    {TEXT(matrix, "the attention matrix of the first test signal, if there is one", "FILE")},
    {INT(epochs, "Epochs")},
    {INT(sequences, "Signals for training")},
    {INT(batch, "Signals in a batch")},
    {INT(seed, "Seed of weights and data")},
    {"rate", 0, POPT_ARG_DOUBLE | POPT_ARGFLAG_SHOW_DEFAULT, &options.rate, 0, "Learning rate of Adam", "R"},
    POPT_TABLEEND};
#undef INT
#undef TEXT

enum { LENGTH = 100, CHANNELS = 64, KERNEL = 5, LAYERS = 5, SHAPES = 4, TEST = 1000, EXAMPLES = 4 };

/* --- signals ------------------------------------------------------------------------------------------------------ */

static const double min_height = 1, max_height = 25, min_width = 5, max_width = 11, scale = 10; /* of the network's
                                                                                                  input, output */

struct signal {
  float input[LENGTH], target[LENGTH];
};

struct shape {
  double center, width, height;
  bool triangle;
};

static double uniform(uint64_t set, size_t index, size_t draw) {
  return linnet_philox_uniform(linnet_philox((uint64_t)options.seed, set << 32 | index, draw).word[0]);
}

/* Draws centers again until no shapes touch. */
static void draw_shapes(uint64_t set, size_t index, struct shape shapes[SHAPES]) {
  size_t draw = 0;
  for (size_t i = 0; i < SHAPES; i++) {
    struct shape *s = &shapes[i];
    s->triangle = i < 2;
    s->height = min_height + (max_height - min_height) * uniform(set, index, draw++);
    s->width = min_width + (max_width - min_width) * uniform(set, index, draw++);
    s->center = s->width + (LENGTH - 2 * s->width) * uniform(set, index, draw++);
    for (size_t j = 0; j < i; j++)
      if (fabs(s->center - shapes[j].center) < (s->width + shapes[j].width) / 2 + 2) {
        s->center = s->width + (LENGTH - 2 * s->width) * uniform(set, index, draw++);
        j = (size_t)-1;
      }
  }
}

static double shape_value(const struct shape *s, double height, double t) {
  double far = fabs(t - s->center) / (s->width / 2);
  return far >= 1 ? 0 : s->triangle ? height * (1 - far) : height;
}

static void make_signal(uint64_t set, size_t index, struct signal *signal) {
  struct shape shapes[SHAPES];
  draw_shapes(set, index, shapes);
  for (size_t t = 0; t < LENGTH; t++) {
    double input = 0, target = 0;
    for (size_t i = 0; i < SHAPES; i++) {
      double mean = (shapes[i].height + shapes[i ^ 1].height) / 2;
      input += shape_value(&shapes[i], shapes[i].height, (double)t);
      target += shape_value(&shapes[i], mean, (double)t);
    }
    signal->input[t] = (float)(input / scale);
    signal->target[t] = (float)(target / scale);
  }
}

/* --- the network: each layer is a convolution over time, or attention with its three maps ------------------------- */

struct layer {
  size_t in, out, weight, bias;
  bool attention, relu;
};

/* A shard's activations; T rows. */
struct shard {
  size_t sequences, *offsets;
  real *columns[LAYERS];    /* (T, KERNEL in): what a convolution multiplies; attention: q, k, v (T, 3 out) */
  real *values[LAYERS + 1]; /* (T, channels): input, and the layers' outputs */
  real *gradient;           /* (T, channels) */
  real *wide;               /* (T, the widest columns) */
  real *target;             /* (T) */
  void *saved, *work;
};

struct net {
  struct layer layers[LAYERS];
  size_t size; /* parameters */
  const struct linnet_attention_ops *attention;
  struct linnet_attention terms;
  struct experiment experiment;
  struct shard shards[EXPERIMENT_SHARDS];
  real *gemm_work[EXPERIMENT_SHARDS];
  const struct signal *signals; /* of the running batch ... */
  const size_t *order;          /* ... these of them */
  size_t count;
  bool training;
};

static struct linnet_pack pack_of(const struct shard *s) {
  return (struct linnet_pack){s->sequences, s->offsets};
}

/* Row t of columns is rows t - 2 .. t + 2 of x, zero outside the sequence. */
static void gather_columns(const struct shard *s, size_t channels, const real *x, real *columns) {
  for (size_t i = 0; i < s->sequences; i++)
    for (size_t t = s->offsets[i]; t < s->offsets[i + 1]; t++)
      for (size_t k = 0; k < KERNEL; k++, columns += channels) {
        size_t from = t + k - KERNEL / 2;
        if (from >= s->offsets[i] && from < s->offsets[i + 1])
          memcpy(columns, x + from * channels, channels * sizeof *x);
        else
          memset(columns, 0, channels * sizeof *x);
      }
}

/* The transpose of this: adds columns to x. */
static void scatter_columns(const struct shard *s, size_t channels, const real *columns, real *x) {
  memset(x, 0, s->offsets[s->sequences] * channels * sizeof *x);
  for (size_t i = 0; i < s->sequences; i++)
    for (size_t t = s->offsets[i]; t < s->offsets[i + 1]; t++)
      for (size_t k = 0; k < KERNEL; k++, columns += channels) {
        size_t from = t + k - KERNEL / 2;
        for (size_t c = 0; from >= s->offsets[i] && from < s->offsets[i + 1] && c < channels; c++)
          x[from * channels + c] += columns[c];
      }
}

/* A linear layer over x (T, in). */
struct linear {
  size_t in, out;
  const real *x, *weight, *bias; /* (out, in), (out); `bias` may be NULL */
};

/* y (T, out) = activation(x W^T + b). */
static void linear_forward(const struct net *n, size_t shard, const struct linear *l, enum linnet_activation activation,
                           real *y) {
  const struct shard *s = &n->shards[shard];
  struct linnet_gemm g = {.transpose_b = true,
                          .m = s->offsets[s->sequences],
                          .n = l->out,
                          .k = l->in,
                          .a = l->x,
                          .lda = l->in,
                          .b = l->weight,
                          .ldb = l->in,
                          .c = y,
                          .ldc = l->out,
                          .bias = l->bias,
                          .activation = activation};
  n->experiment.ops->gemm(&g, n->gemm_work[shard]);
}

/* dW += dy^T x, and dx = dy W unless it is NULL. */
static void linear_backward(const struct net *n, size_t shard, const struct linear *l, const real *dy,
                            real *dweight_add, real *dx) {
  const struct shard *s = &n->shards[shard];
  size_t rows = s->offsets[s->sequences];
  struct linnet_gemm g = {.transpose_a = true,
                          .m = l->out,
                          .n = l->in,
                          .k = rows,
                          .a = dy,
                          .lda = l->out,
                          .b = l->x,
                          .ldb = l->in,
                          .c = dweight_add,
                          .ldc = l->in,
                          .accumulate = true};
  n->experiment.ops->gemm(&g, n->gemm_work[shard]);
  g = (struct linnet_gemm){
      .m = rows, .n = l->in, .k = l->out, .a = dy, .lda = l->out, .b = l->weight, .ldb = l->in, .c = dx, .ldc = l->in};
  if (dx)
    n->experiment.ops->gemm(&g, n->gemm_work[shard]);
}

/* What a layer multiplies: the queries, keys and values of attention, or the columns of a convolution. */
static struct linear linear_of(const struct net *n, const struct shard *s, size_t l, const real *weights) {
  const struct layer *layer = &n->layers[l];
  if (layer->attention)
    return (struct linear){layer->in, 3 * layer->out, s->values[l], weights + layer->weight, NULL};
  return (struct linear){KERNEL * layer->in, layer->out, s->columns[l], weights + layer->weight, weights + layer->bias};
}

static void layer_forward(const struct net *n, size_t shard, size_t l, const real *weights) {
  const struct shard *s = &n->shards[shard];
  const struct layer *layer = &n->layers[l];
  const struct linnet_pack pack = pack_of(s);
  const struct linear linear = linear_of(n, s, l, weights);
  if (layer->attention) {
    real *qkv = s->columns[l];
    linear_forward(n, shard, &linear, LINNET_IDENTITY, qkv);
    n->attention->forward(&(struct linnet_attention_call){.attention = &n->terms,
                                                          .pack = &pack,
                                                          .q = qkv,
                                                          .k = qkv + layer->out,
                                                          .v = qkv + 2 * layer->out,
                                                          .saved = s->saved,
                                                          .out = s->values[l + 1],
                                                          .work = s->work});
    return;
  }
  gather_columns(s, layer->in, s->values[l], s->columns[l]);
  linear_forward(n, shard, &linear, layer->relu ? LINNET_RELU : LINNET_IDENTITY, s->values[l + 1]);
}

/* Replaces s->gradient, the gradient of the layer's output, by that of its input. */
static void layer_backward(const struct net *n, size_t shard, size_t l, const real *weights, real *gradient_add) {
  const struct linnet_ops *ops = n->experiment.ops;
  const struct shard *s = &n->shards[shard];
  const struct layer *layer = &n->layers[l];
  const struct linnet_pack pack = pack_of(s);
  const struct linear linear = linear_of(n, s, l, weights);
  size_t rows = s->offsets[s->sequences];
  if (layer->attention) {
    const real *qkv = s->columns[l];
    real *d = s->wide;
    n->attention->backward(&(struct linnet_attention_call){.attention = &n->terms,
                                                           .pack = &pack,
                                                           .q = qkv,
                                                           .k = qkv + layer->out,
                                                           .v = qkv + 2 * layer->out,
                                                           .saved = s->saved,
                                                           .out = s->values[l + 1],
                                                           .work = s->work,
                                                           .dout = s->gradient,
                                                           .dq = d,
                                                           .dk = d + layer->out,
                                                           .dv = d + 2 * layer->out});
    linear_backward(n, shard, &linear, d, gradient_add + layer->weight, s->gradient);
    return;
  }
  if (layer->relu)
    ops->activation_backward(LINNET_RELU, rows * layer->out, 1, s->values[l + 1], s->gradient, s->gradient);
  ops->column_sum(rows, layer->out, s->gradient, gradient_add + layer->bias);
  real *columns = l > 0 ? s->wide : NULL;
  linear_backward(n, shard, &linear, s->gradient, gradient_add + layer->weight, columns);
  if (columns)
    scatter_columns(s, layer->in, columns, s->gradient);
}

/* --- loss: the mean squared error of the batch -------------------------------------------------------------------- */

static void load_shard(struct net *n, size_t shard) {
  struct shard *s = &n->shards[shard];
  s->sequences = 0;
  for (size_t i = shard; i < n->count; i += EXPERIMENT_SHARDS) {
    const struct signal *signal = &n->signals[n->order ? n->order[i] : i];
    size_t first = s->sequences * LENGTH;
    memcpy(s->values[0] + first, signal->input, sizeof signal->input);
    memcpy(s->target + first, signal->target, sizeof signal->target);
    s->offsets[++s->sequences] = first + LENGTH;
  }
}

static double shard_loss(void *user, size_t shard, const real *weights, real *gradient_add) {
  struct net *n = user;
  struct shard *s = &n->shards[shard];
  load_shard(n, shard);
  for (size_t l = 0; l < LAYERS; l++)
    layer_forward(n, shard, l, weights);
  double loss = 0, each = 1 / (double)(n->count * LENGTH);
  for (size_t t = 0; t < s->offsets[s->sequences]; t++) {
    double error = s->values[LAYERS][t] - s->target[t];
    loss += error * error * each;
    s->gradient[t] = (real)(2 * error * each);
  }
  for (size_t l = LAYERS; n->training && l-- > 0;)
    layer_backward(n, shard, l, weights, gradient_add);
  return loss;
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

/* The networks of the slides: 62 337 parameters without attention, 54 081 with it. */
static void describe(struct net *n) {
  bool attention = strcmp(options.attention, "none") != 0;
  for (size_t l = 0; l < LAYERS; l++) {
    struct layer *layer = &n->layers[l];
    *layer = (struct layer){.in = l == 0 ? 1 : CHANNELS, .out = l + 1 == LAYERS ? 1 : CHANNELS, .weight = n->size};
    layer->attention = attention && l == 2;
    layer->relu = !layer->attention && l + 1 < LAYERS;
    n->size += layer->attention ? 3 * layer->out * layer->in : KERNEL * layer->in * layer->out;
    layer->bias = n->size;
    n->size += layer->attention ? 0 : layer->out;
  }
}

/* PyTorch's initial values: uniform from -1/sqrt(n) to 1/sqrt(n) for n inputs of a unit. */
static void initialise(struct net *n) {
  for (size_t l = 0; l < LAYERS; l++) {
    const struct layer *layer = &n->layers[l];
    size_t end = l + 1 < LAYERS ? n->layers[l + 1].weight : n->size;
    double bound = 1 / sqrt((double)(layer->in * (layer->attention ? 1 : KERNEL)));
    for (size_t i = layer->weight; i < end; i++)
      n->experiment.weights[i] = (real)(bound * (2 * uniform(2, i, 0) - 1));
  }
}

static void create_shard(struct net *n, struct linnet_context *context, size_t shard, size_t sequences) {
  struct shard *s = &n->shards[shard];
  size_t rows = sequences * LENGTH, wide = KERNEL * CHANNELS;
  s->offsets = experiment_alloc(context, sequences + 1, sizeof *s->offsets);
  for (size_t l = 0; l < LAYERS; l++)
    s->columns[l] = experiment_alloc(context, rows * wide, sizeof(real));
  for (size_t l = 0; l <= LAYERS; l++)
    s->values[l] = experiment_alloc(context, rows * CHANNELS, sizeof(real));
  s->gradient = experiment_alloc(context, rows * CHANNELS, sizeof(real));
  s->wide = experiment_alloc(context, rows * wide, sizeof(real));
  s->target = experiment_alloc(context, rows, sizeof(real));
  n->gemm_work[shard] = experiment_alloc(context, n->experiment.ops->gemm_work, sizeof(real));
  if (n->attention) {
    s->saved = experiment_alloc(context, n->attention->saved_bytes(&n->terms, rows, sequences), 1);
    s->work = experiment_alloc(context, n->attention->work_bytes(&n->terms, LENGTH), 1);
  }
}

static void release(struct net *n) {
  struct linnet_context *context = n->experiment.context;
  for (size_t i = 0; i < EXPERIMENT_SHARDS; i++) {
    struct shard *s = &n->shards[i];
    void *blocks[] = {s->offsets, s->gradient, s->wide, s->target, s->saved, s->work, n->gemm_work[i]};
    for (size_t j = 0; j < sizeof blocks / sizeof *blocks; j++)
      linnet_free(context, blocks[j]);
    for (size_t l = 0; l < LAYERS; l++)
      linnet_free(context, s->columns[l]);
    for (size_t l = 0; l <= LAYERS; l++)
      linnet_free(context, s->values[l]);
  }
  experiment_release(&n->experiment);
}

static void create(struct net *n, struct linnet_context *context) {
  describe(n);
  experiment_create_parameters(&n->experiment, context, LINNET_ADAM, n->size);
  if (strcmp(options.attention, "none") != 0) {
    n->attention = n->experiment.ops->attention[experiment_kind(options.attention)];
    n->terms = (struct linnet_attention){.heads = 1,
                                         .key_width = CHANNELS,
                                         .width = CHANNELS,
                                         .key_ld = 3 * CHANNELS,
                                         .value_ld = 3 * CHANNELS,
                                         .out_ld = CHANNELS};
  }
  initialise(n);
  size_t largest = (size_t)(options.batch > TEST ? options.batch : TEST);
  for (size_t i = 0; i < EXPERIMENT_SHARDS; i++)
    create_shard(n, context, i, linnet_divide_up(largest, EXPERIMENT_SHARDS));
}

static double run_epoch(struct net *n, const struct signal *signals, size_t *order, int epoch) {
  size_t count = (size_t)options.sequences, batches = 0;
  double loss = 0;
  for (size_t i = count; i > 1; i--) {
    size_t j = (size_t)(uniform(3 + (uint64_t)epoch, i, 0) * (double)i), saved = order[i - 1];
    order[i - 1] = order[j];
    order[j] = saved;
  }
  n->training = true;
  n->signals = signals;
  for (size_t first = 0; first < count; first += n->count, batches++) {
    n->order = order + first;
    n->count = count - first < (size_t)options.batch ? count - first : (size_t)options.batch;
    loss += experiment_step(&n->experiment, options.rate, shard_loss, n);
  }
  return loss / (double)batches * scale * scale;
}

static double test_error(struct net *n, const struct signal *signals) {
  double loss = 0;
  n->training = false;
  n->signals = signals;
  n->order = NULL;
  n->count = TEST;
  for (size_t i = 0; i < EXPERIMENT_SHARDS; i++)
    loss += shard_loss(n, i, n->experiment.weights, NULL);
  return loss * scale * scale;
}

/* The first signals of the last test: signal i is the first of shard i. */
static void write_examples(const struct net *n) {
  FILE *file = experiment_create(options.examples);
  for (size_t i = 0; i < EXAMPLES; i++) {
    const struct shard *s = &n->shards[i];
    for (size_t t = 0; t < LENGTH; t++)
      fprintf(file, "%zu\t%.4f\t%.4f\t%.4f\n", t, s->values[0][t] * scale, s->target[t] * scale,
              s->values[LAYERS][t] * scale);
    fputs("\n\n", file);
  }
  experiment_finish(file, options.examples);
}

/* The attention weights of row s for row t: attention over unit vectors as values, CHANNELS of them at a time. */
static void write_matrix(struct net *n) {
  static real matrix[LENGTH][LENGTH], qkv[LENGTH][3 * CHANNELS], out[LENGTH][CHANNELS];
  struct shard *s = &n->shards[0];
  const size_t offsets[2] = {0, LENGTH};
  const struct linnet_pack pack = {1, offsets};
  memcpy(qkv, s->columns[2], sizeof qkv);
  for (size_t first = 0; first < LENGTH; first += CHANNELS) {
    size_t count = LENGTH - first < CHANNELS ? LENGTH - first : CHANNELS;
    for (size_t t = 0; t < LENGTH; t++)
      for (size_t c = 0; c < CHANNELS; c++)
        qkv[t][2 * CHANNELS + c] = t == first + c;
    n->attention->forward(&(struct linnet_attention_call){.attention = &n->terms,
                                                          .pack = &pack,
                                                          .q = qkv[0],
                                                          .k = qkv[0] + CHANNELS,
                                                          .v = qkv[0] + 2 * CHANNELS,
                                                          .saved = s->saved,
                                                          .out = out[0],
                                                          .work = s->work});
    for (size_t t = 0; t < LENGTH; t++)
      memcpy(&matrix[t][first], out[t], count * sizeof(real));
  }
  FILE *file = experiment_create(options.matrix);
  for (size_t t = 0; t < LENGTH; t++)
    for (size_t u = 0; u < LENGTH; u++)
      fprintf(file, "%.5f%c", matrix[t][u], u + 1 < LENGTH ? '\t' : '\n');
  experiment_finish(file, options.matrix);
}

static void run(struct net *n, const struct signal *signals, const struct signal *tests, size_t *order) {
  double start = experiment_seconds(), test = 0;
  FILE *log = experiment_create(options.log);
  fprintf(log, "# epoch, mean squared error on training and test signals, seconds\n");
  for (int epoch = 1; epoch <= options.epochs; epoch++) {
    double train = run_epoch(n, signals, order, epoch);
    test = test_error(n, tests);
    fprintf(log, "%d\t%.6f\t%.6f\t%.2f\n", epoch, train, test, experiment_seconds() - start);
    if (epoch % 10 == 0)
      fprintf(stderr, "%s: epoch %d of %d, error %.4f, %.0f s\n", options.attention, epoch, options.epochs, test,
              experiment_seconds() - start);
  }
  experiment_finish(log, options.log);
  printf("%s\t%zu\t%.4f\t%.2f\n", options.attention, n->size, test, experiment_seconds() - start);
}

int main(int argc, const char **argv) {
  static struct net n;
  struct linnet_context *context = experiment_start(argc, argv, option_table);
  if (!options.log || options.epochs < 1 || options.sequences < 1 || options.batch < 1)
    experiment_die("needs --log, and --epochs, --sequences and --batch of at least 1; see --help");
  create(&n, context);
  struct signal *signals = experiment_alloc(context, (size_t)options.sequences, sizeof *signals);
  struct signal *tests = experiment_alloc(context, TEST, sizeof *tests);
  size_t *order = experiment_alloc(context, (size_t)options.sequences, sizeof *order);
  for (size_t i = 0; i < (size_t)options.sequences; i++)
    make_signal(0, order[i] = i, &signals[i]);
  for (size_t i = 0; i < TEST; i++)
    make_signal(1, i, &tests[i]);
  run(&n, signals, tests, order);
  if (options.examples)
    write_examples(&n);
  if (options.matrix && n.attention)
    write_matrix(&n);
  linnet_free(context, signals);
  linnet_free(context, tests);
  linnet_free(context, order);
  release(&n);
  linnet_context_destroy(context);
  return 0;
}
