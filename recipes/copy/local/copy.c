/* The duplication task of Katharopoulos et al. 2020, section 4.1.1: from "# w # w[0..i)" a causal transformer predicts
 * w[i], w being random symbols. The loss is the cross entropy of the second w. Symbols go in as one-hot rows. w has a
 * quarter to a half of the longest sequence, as in the authors' code. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/numbers.h"
#include "base/philox.h"
#include "common/experiment.h"
#include "model/training/network.h"

static struct options {
  const char *attention, *out;
  int updates, symbols, length, layers, heads, width, batch, rounds, decay, seed;
  double rate;
} options = {.attention = "causal-linear",
             .updates = 6000,
             .symbols = 10,
             .length = 128,
             .layers = 4,
             .heads = 8,
             .width = 256,
             .batch = 64,
             .rounds = 4,
             .decay = 3000,
             .seed = 1,
             .rate = 1e-3};

#define INT(name, help) #name, 0, POPT_ARG_INT | POPT_ARGFLAG_SHOW_DEFAULT, &options.name, 0, help, "N"
static const struct poptOption option_table[] = {
    {"attention", 0, POPT_ARG_STRING | POPT_ARGFLAG_SHOW_DEFAULT, &options.attention, 0,
     "Kind of attention, which must be causal", "NAME"},
    {"out", 0, POPT_ARG_STRING, &options.out, 0, "Log to write: update, loss, errors, seconds in columns", "FILE"},
    {INT(updates, "Number of optimiser steps")},
    {INT(decay, "Divide the learning rate by 10 after this many steps")},
    {INT(symbols, "Number of symbols besides the separator")},
    {INT(length, "Maximum length of a sequence, with separators")},
    {INT(layers, "Layers")},
    {INT(heads, "Heads")},
    {INT(width, "Width of the model")},
    {INT(batch, "Sequences in a batch")},
    {INT(rounds, "Rounds of hashing, for lsh")},
    {INT(seed, "Seed of weights and data")},
    {"rate", 0, POPT_ARG_DOUBLE | POPT_ARGFLAG_SHOW_DEFAULT, &options.rate, 0, "Learning rate of RAdam", "R"},
    POPT_TABLEEND};
#undef INT

enum { REPORT = 50, CHECKPOINT = 250 }; /* updates per line of the log, and per checkpoint */

/* One shard's sequences and memory. */
struct shard {
  size_t sequences, offsets[1025];
  int *target; /* (T): the symbol to be predicted, -1 where the loss does not look */
  real *features, *logits;
  struct linnet_pass *pass;
  void *memory;
  double errors; /* predictions that missed */
};

struct copy {
  struct linnet_config config;
  struct linnet_parameters *parameters;
  struct linnet_network network;
  struct experiment experiment;
  struct shard shards[EXPERIMENT_SHARDS];
  size_t max_frames, bytes; /* of a shard */
  size_t predictions;       /* of the batch */
  bool training;
};

/* --- data --------------------------------------------------------------------------------------------------------- */

/* The random counters of sequence `index` of batch `batch` do not overlap with others; batch 0 is for evaluation. */
static uint32_t draw(uint64_t batch, size_t index, size_t i) {
  return linnet_philox((uint64_t)options.seed, batch << 16 | index, i / 4).word[i % 4];
}

/* Appends "# w #" and w without its last symbol as rows of features, and for the second half the symbol after each row.
 */
static void add_sequence(struct copy *c, struct shard *s, uint64_t batch, size_t index) {
  size_t min_symbols = (size_t)options.length / 4, max_symbols = ((size_t)options.length - 2) / 2;
  size_t n = min_symbols + draw(batch, index, 0) % (max_symbols - min_symbols + 1), rows = 2 * n + 1;
  size_t first = s->offsets[s->sequences], symbols = (size_t)options.symbols;
  for (size_t t = 0; t < rows; t++) {
    bool separator = t == 0 || t == n + 1;
    size_t at = t > n ? t - n - 2 : t - 1; /* which symbol of w */
    size_t symbol = separator ? symbols : draw(batch, index, 1 + at) % symbols;
    real *row = s->features + (first + t) * (symbols + 1);
    memset(row, 0, (symbols + 1) * sizeof *row);
    row[symbol] = 1;
    s->target[first + t] = t > n ? (int)(draw(batch, index, 1 + t - n - 1) % symbols) : -1;
  }
  s->offsets[++s->sequences] = first + rows;
  c->predictions += n;
}

static void fill_batch(struct copy *c, uint64_t batch) {
  c->predictions = 0;
  for (size_t i = 0; i < EXPERIMENT_SHARDS; i++)
    c->shards[i].sequences = 0;
  for (size_t i = 0; i < (size_t)options.batch; i++)
    add_sequence(c, &c->shards[i % EXPERIMENT_SHARDS], batch, i);
}

/* --- loss --------------------------------------------------------------------------------------------------------- */

/* Cross entropy of one row, whose logits become the gradient times `scale`. */
static double cross_entropy(const struct copy *c, int target, double scale, real *row, bool *missed) {
  size_t outputs = c->config.outputs, best = 0;
  c->experiment.ops->log_softmax(1, outputs, row, row);
  for (size_t i = 1; i < outputs; i++)
    best = row[i] > row[best] ? i : best;
  double loss = -row[target];
  *missed = best != (size_t)target;
  for (size_t i = 0; i < outputs; i++)
    row[i] = (real)(scale * (exp(row[i]) - (i == (size_t)target)));
  return loss;
}

static double shard_loss(void *user, size_t index, const real *weights, real *gradient_add) {
  struct copy *c = user;
  struct shard *s = &c->shards[index];
  const struct linnet_shard input = {.pack = {s->sequences, s->offsets},
                                     .features = s->features,
                                     .seed = ~(uint64_t)options.seed, /* of hashes; new ones in each update */
                                     .step = c->training ? (uint32_t)c->experiment.step + 1 : 0};
  size_t outputs = c->config.outputs, frames = s->offsets[s->sequences];
  linnet_pass_forward(s->pass, weights, &input, s->memory, c->bytes, s->logits);
  double loss = 0, scale = 1 / (double)c->predictions;
  s->errors = 0;
  for (size_t t = 0; t < frames; t++) {
    bool missed = false;
    if (s->target[t] >= 0)
      loss += cross_entropy(c, s->target[t], scale, s->logits + t * outputs, &missed) * scale;
    else
      memset(s->logits + t * outputs, 0, outputs * sizeof *s->logits);
    s->errors += missed;
  }
  if (c->training)
    linnet_pass_backward(s->pass, s->logits, gradient_add);
  return loss;
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

static void check(enum linnet_status status, const struct linnet_context *context) {
  if (status != LINNET_OK)
    experiment_die("%s", linnet_context_error(context));
}

static void create(struct copy *c, struct linnet_context *context) {
  struct linnet_config *config = &c->config;
  linnet_config_default(config);
  config->input_dim = config->outputs = (size_t)options.symbols + 1;
  config->layers = (size_t)options.layers, config->heads = (size_t)options.heads;
  config->width = (size_t)options.width, config->feed_forward = 4 * config->width;
  config->lsh_rounds = (size_t)options.rounds;
  config->dropout = 0;
  memset(config->attention, experiment_kind(options.attention), config->layers);
  check(linnet_parameters_create(context, config, &c->parameters), context);
  experiment_create_parameters(&c->experiment, context, LINNET_RADAM, c->parameters->size);
  linnet_parameters_initialise(c->parameters, (uint64_t)options.seed, c->experiment.weights);
  c->network = (struct linnet_network){linnet_device_of(context), config, c->parameters};
  size_t sequences = linnet_divide_up((size_t)options.batch, EXPERIMENT_SHARDS);
  c->max_frames = sequences * (size_t)options.length;
  for (size_t i = 0; i < EXPERIMENT_SHARDS; i++) {
    struct shard *s = &c->shards[i];
    check(linnet_pass_create(context, &c->network, &s->pass), context);
    for (size_t k = 0; k <= sequences; k++)
      s->offsets[k] = k * (size_t)options.length;
    c->bytes = linnet_pass_bytes(s->pass, &(struct linnet_pack){sequences, s->offsets}, false);
    s->target = experiment_alloc(context, c->max_frames, sizeof *s->target);
    s->features = experiment_alloc(context, c->max_frames * config->input_dim, sizeof(real));
    s->logits = experiment_alloc(context, c->max_frames * config->outputs, sizeof(real));
    s->memory = experiment_alloc(context, c->bytes, 1);
  }
}

static void release(struct copy *c) {
  struct linnet_context *context = c->experiment.context;
  for (size_t i = 0; i < EXPERIMENT_SHARDS; i++) {
    linnet_free(context, c->shards[i].target);
    linnet_free(context, c->shards[i].features);
    linnet_free(context, c->shards[i].logits);
    linnet_free(context, c->shards[i].memory);
    linnet_pass_destroy(c->shards[i].pass);
  }
  experiment_release(&c->experiment);
  linnet_parameters_destroy(c->parameters);
  linnet_context_destroy(context);
}

/* The share of wrong predictions in the last batch. */
static double error_rate(const struct copy *c) {
  double errors = 0;
  for (size_t i = 0; i < EXPERIMENT_SHARDS; i++)
    errors += c->shards[i].errors;
  return errors / (double)c->predictions;
}

/* The position of a training in its checkpoint, and its settings. */
struct progress {
  char attention[32];
  double settings[9];
  long log_bytes;
  double seconds;
};

static struct progress progress_of(long log_bytes, double seconds) {
  struct progress p;
  memset(&p, 0, sizeof p);
  snprintf(p.attention, sizeof p.attention, "%s", options.attention);
  const double settings[] = {options.symbols, options.length, options.layers, options.heads, options.width,
                             options.batch,   options.rounds, options.decay,  options.seed};
  memcpy(p.settings, settings, sizeof settings);
  p.log_bytes = log_bytes, p.seconds = seconds;
  return p;
}

/* Opens the log of a new or continued training; removes lines after its checkpoint. */
static FILE *open_log(struct copy *c, const char *partial, const char *checkpoint, double *seconds) {
  struct progress own = progress_of(0, 0), saved = own;
  const bool again = experiment_load(&c->experiment, checkpoint, &saved, sizeof saved);
  if (memcmp(own.attention, saved.attention, sizeof own.attention) != 0 ||
      memcmp(own.settings, saved.settings, sizeof own.settings) != 0) /* NOLINT(*-memory-comparison): the same bits */
    experiment_die("%s: is a checkpoint of other settings; remove it to start again", checkpoint);
  FILE *log = fopen(partial, again ? "r+" : "w");
  if (!log || ftruncate(fileno(log), saved.log_bytes) != 0 || fseek(log, 0, SEEK_END) != 0)
    experiment_die("%s: %s", partial, strerror(errno));
  if (!again)
    fprintf(log, "# update, cross entropy (nats) and errors (%%) of the last %d batches, seconds\n", REPORT);
  *seconds = saved.seconds;
  return log;
}

static void save(const struct copy *c, FILE *log, const char *checkpoint, double seconds) {
  const struct progress p = progress_of(experiment_log_bytes(log, options.out), seconds);
  experiment_save(&c->experiment, checkpoint, &p, sizeof p);
}

static void train_updates(struct copy *c, FILE *log, const char *checkpoint, double seconds) {
  double start = experiment_seconds() - seconds, loss = 0, errors = 0;
  int summed = 0; /* updates; fewer than REPORT in the first line after an interrupt */
  for (int u = (int)c->experiment.step + 1; u <= options.updates && !experiment_interrupted(); u++) {
    fill_batch(c, (uint64_t)u);
    loss += experiment_step(&c->experiment, u <= options.decay ? options.rate : options.rate / 10, shard_loss, c);
    errors += error_rate(c);
    summed++;
    if (!isfinite(loss))
      experiment_die("%s: the loss is not finite at update %d", options.attention, u);
    if (u % REPORT != 0)
      continue;
    seconds = experiment_seconds() - start;
    fprintf(log, "%d\t%.6f\t%.4f\t%.2f\n", u, loss / summed, 100 * errors / summed, seconds);
    if (u % CHECKPOINT == 0) {
      save(c, log, checkpoint, seconds);
      fprintf(stderr, "%s: update %d of %d, loss %.4f, %.0f s, %.0f s left\n", options.attention, u, options.updates,
              loss / summed, seconds, seconds / u * (options.updates - u));
    }
    loss = errors = 0, summed = 0;
  }
  experiment_catch_interrupt(false);
  if (experiment_interrupted()) {
    save(c, log, checkpoint, experiment_seconds() - start);
    experiment_stop(checkpoint);
  }
}

/* The log is OUT.partial until the training is finished, then OUT. An interrupted training continues from
 * OUT.checkpoint. */
static void train(struct copy *c) {
  char partial[4096], checkpoint[4096];
  double seconds;
  snprintf(partial, sizeof partial, "%s.partial", options.out);
  snprintf(checkpoint, sizeof checkpoint, "%s.checkpoint", options.out);
  FILE *log = open_log(c, partial, checkpoint, &seconds);
  c->training = true;
  experiment_catch_interrupt(true);
  train_updates(c, log, checkpoint, seconds);
  const bool failed = ferror(log) != 0;
  if (fclose(log) != 0 || failed || rename(partial, options.out) != 0)
    experiment_die("%s: cannot write", options.out);
  remove(checkpoint);
}

/* A batch that is not in the training data. */
static void evaluate(struct copy *c) {
  double loss = 0;
  c->training = false;
  fill_batch(c, 0);
  for (size_t i = 0; i < EXPERIMENT_SHARDS; i++)
    loss += shard_loss(c, i, c->experiment.weights, NULL);
  printf("%s\t%d\t%.6f\t%.4f\t%zu\n", options.attention, options.updates, loss, 100 * error_rate(c),
         c->parameters->trained);
}

int main(int argc, const char **argv) {
  static struct copy c;
  struct linnet_context *context = experiment_start(argc, argv, option_table);
  if (!options.out || options.length < 4 || options.symbols < 1 || options.batch < 1 || options.batch > 4096)
    experiment_die("needs --out, and --length of at least 4, --symbols and --batch of at least 1; see --help");
  if (!linnet_attention_traits[experiment_kind(options.attention)].causal)
    experiment_die("--attention %s sees the symbols that it should predict; it must be causal", options.attention);
  create(&c, context);
  train(&c);
  evaluate(&c);
  release(&c);
  return 0;
}
