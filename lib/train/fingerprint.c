/* Hashes the corpus and settings of a training. */
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/hash.h"
#include "model/format/feature_config.h"

/* Of ids, lengths and labels. */
static uint64_t hash_corpus(const struct linnet_corpus *corpus, const size_t *frames) {
  uint64_t hash = LINNET_HASH_START;
  for (size_t u = 0; u < corpus->num_utterances; u++) {
    const char *id = corpus->id(corpus->user, u);
    size_t count = 0;
    const int *labels = corpus->labels(corpus->user, u, &count);
    hash = linnet_hash(hash, id, strlen(id) + 1);
    hash = linnet_hash(hash, &frames[u], sizeof frames[u]);
    hash = linnet_hash(hash, labels, count * sizeof *labels);
  }
  return hash;
}

/* Appends "key=value" on a line of its own, if the method is on. */
static void append_method(char *text, size_t bytes, bool on, const char *key, double value) {
  const size_t used = strlen(text);
  if (on)
    linnet_format(text + used, bytes - used, "%s=%.9g\n", key, value);
}

/* Appends "key=hash". */
static void append_hash(char *text, size_t bytes, bool on, const char *key, uint64_t hash) {
  const size_t used = strlen(text);
  if (on)
    linnet_format(text + used, bytes - used, "%s=%016" PRIx64 "\n", key, hash);
}

/* Of all probabilities and successors. */
static uint64_t hash_graph(const struct linnet_denominator_graph *g) {
  uint64_t hash = linnet_hash(LINNET_HASH_START, g->weight, g->states * g->columns * sizeof *g->weight);
  hash = linnet_hash(hash, g->next, g->groups * g->columns * sizeof *g->next);
  hash = linnet_hash(hash, g->repeat, g->states * sizeof *g->repeat);
  return linnet_hash(hash, g->finish, g->states * sizeof *g->finish);
}

/* Methods that are off by default have a line only if they are on, so fingerprints of trainings without them stay the
 * same. */
static void append_methods(const struct linnet_trainer *t, char *text, size_t bytes) {
  const struct linnet_train_settings *s = &t->settings;
  append_method(text, bytes, s->consistency > 0, "consistency", s->consistency);
  append_method(text, bytes, s->average_decay > 0, "average_decay", s->average_decay);
  append_method(text, bytes, s->num_block_utterances > 0, "shuffle_block", (double)s->num_block_utterances);
  append_method(text, bytes, s->num_shards > 0, "shards", (double)s->num_shards);
  append_method(text, bytes, s->ctc_weight > 0, "ctc_weight", s->ctc_weight);
  append_method(text, bytes, s->intermediate_ctc > 0, "intermediate_ctc", (double)s->intermediate_ctc);
  append_method(text, bytes, s->intermediate_ctc > 0, "intermediate_weight", s->intermediate_weight);
  append_method(text, bytes, s->frame_weight > 0, "frame_weight", s->frame_weight);
  append_method(text, bytes, s->teacher_weight > 0, "teacher_weight", s->teacher_weight);
  size_t used = strlen(text);
  if (s->wire_precision == LINNET_BFLOAT16)
    linnet_format(text + used, bytes - used, "wire_precision=bfloat16\n");
  append_hash(text, bytes, s->teacher, "teacher", s->teacher ? linnet_teacher_hash(s->teacher) : 0);
  append_hash(text, bytes, s->frame_weight > 0, "frame_targets", t->targets_hash);
  used = strlen(text);
  if (t->denominator)
    linnet_format(text + used, bytes - used, "denominator=%zu arcs, %016" PRIx64 "\n", t->denominator->arcs,
                  hash_graph(t->denominator));
}

/* --- what checkpoints of earlier versions lack -------------------------------------------------------------------- */

static const char first_new_key[] = "symbols=";

static uint64_t hash_symbols(const struct linnet_trainer *t) {
  uint64_t hash = LINNET_HASH_START;
  for (size_t i = 0; i < t->config.outputs; i++)
    hash = linnet_hash(hash, t->symbols[i], strlen(t->symbols[i]) + 1);
  return hash;
}

uint64_t linnet_hash_cmvn(const struct linnet_cmvn *cmvn) {
  uint64_t hash = LINNET_HASH_START;
  for (size_t i = 0; i < cmvn->dim && cmvn->count > 0; i++) {
    const double mean = cmvn->sum[i] / cmvn->count, variance = cmvn->square[i] / cmvn->count - mean * mean;
    const double values[2] = {mean, log(fmax(variance, 1e-10))};
    for (int k = 0; k < 2; k++) {
      const int64_t step = (int64_t)round(256 * fmin(fmax(values[k], -1e6), 1e6));
      hash = linnet_hash(hash, &step, sizeof step);
    }
  }
  return hash;
}

static void append_model(const struct linnet_trainer *t, char *text, size_t bytes) {
  append_hash(text, bytes, true, "symbols", hash_symbols(t));
  append_hash(text, bytes, t->cmvn, "cmvn", t->cmvn ? linnet_hash_cmvn(t->cmvn) : 0);
}

/* Whether one ends where the other has the keys that are new. */
static bool is_earlier(const char *a, const char *b) {
  return !*a && strncmp(b, first_new_key, sizeof first_new_key - 1) == 0;
}

/* ------------------------------------------------------------------------------------------------------------------ */

enum linnet_status linnet_fingerprint(const struct linnet_trainer *t, const char *recipe, char **text) {
  const struct linnet_train_settings *s = &t->settings;
  char *config = NULL, *features = NULL;
  enum { REST = 8192 }; /* more than the numbers and their names take */
  *text = NULL;
  enum linnet_status status = linnet_config_format(t->context, &t->config, &config);
  if (status == LINNET_OK)
    status = linnet_feature_config_format(t->context, &t->features, &features);
  recipe = recipe ? recipe : "";
  const size_t bytes = REST + strlen(recipe) + (status == LINNET_OK ? strlen(config) + strlen(features) : 0);
  if (status == LINNET_OK && !(*text = linnet_alloc(t->context, bytes, 1)))
    status = linnet_fail(t->context, LINNET_ERROR_MEMORY, "out of memory for a fingerprint");
  if (status == LINNET_OK) {
    linnet_format(
        *text, bytes,
        "config=%s\nfeatures=%s\nrecipe=%s\ntrain=%zu utterances, %016" PRIx64 "\ndev=%zu utterances, %016" PRIx64
        "\noptimizer=%d\nschedule=%d\nlearning_rate=%g\nmin_learning_rate=%g\nclip_norm=%g\nbatch_frames=%zu\n"
        "warmup_steps=%zu\nplateau_factor=%g\nplateau_patience=%u\nseed=%" PRIu64 "\ncosine_epochs=%zu\n",
        config, features, recipe, t->train.num_utterances, hash_corpus(&t->train, t->train_frames),
        t->dev.num_utterances, hash_corpus(&t->dev, t->dev_frames), s->optimizer, s->schedule, s->learning_rate,
        s->min_learning_rate, s->clip_norm, s->num_batch_frames, s->num_warmup_steps, s->plateau_factor,
        s->plateau_patience, s->seed, s->schedule == LINNET_TRAIN_COSINE ? s->num_epochs : (size_t)0);
    append_methods(t, *text, bytes);
    append_model(t, *text, bytes);
  }
  linnet_free(t->context, config);
  linnet_free(t->context, features);
  return status;
}

/* --- differences -------------------------------------------------------------------------------------------------- */

/* How messages show a key of the fingerprint: the name that users know it by, the names of its values, or, for a hash,
 * the whole phrase. */
struct meaning {
  const char *key, *name, *phrase;
  const char *values[2];
};

#define OTHER_DATA "data (ids, frames, labels or their order)"

static const struct meaning *meaning_of(const char *line) {
  static const struct meaning meanings[] = {
      {"config", "model", NULL, {NULL}},
      {"recipe", "augment", NULL, {NULL}},
      {"cosine_epochs", "epochs (with cosine)", NULL, {NULL}},
      {"optimizer", "optimizer", NULL, {[LINNET_TRAIN_ADAM] = "adam", [LINNET_TRAIN_RADAM] = "radam"}},
      {"schedule", "schedule", NULL, {[LINNET_TRAIN_PLATEAU] = "plateau", [LINNET_TRAIN_COSINE] = "cosine"}},
      {"train", "train", "other training " OTHER_DATA, {NULL}},
      {"dev", "dev", "other validation " OTHER_DATA, {NULL}},
      {"symbols", "symbols", "other symbols, or another order of them", {NULL}},
      {"cmvn", "cmvn", "another mean or variance of the features (CMVN)", {NULL}},
      {"teacher", "teacher", "another teacher", {NULL}},
      {"frame_targets", "frame_targets", "other frame targets", {NULL}},
      {"denominator", "denominator", "another denominator", {NULL}}};
  const size_t length = strcspn(line, "=\n");
  for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
    if (strlen(meanings[i].key) == length && strncmp(meanings[i].key, line, length) == 0)
      return &meanings[i];
  return NULL;
}

/* The name of the value in "key=0" or "key=1". The line may come from a checkpoint, and have any form. */
static const char *value_name(const struct meaning *meaning, const char *line) {
  const char *value = line + strcspn(line, "=\n");
  return *value == '=' && (value[1] == '0' || value[1] == '1') ? meaning->values[value[1] - '0'] : "another";
}

/* Where two lines "key=item, item, ..." begin to differ. */
static size_t first_difference(const char *a, const char *b, size_t length) {
  size_t at = 0;
  while (at < length && a[at] == b[at])
    at++;
  return at;
}

/* The item of a line that has the byte `at`: from `from` for the returned number of bytes, at most 60. If that byte is
 * a comma, the item that follows is included: the other line may end there. */
static int item_around(const char *line, size_t at, size_t end, size_t *from) {
  size_t start = at, stop = at < end ? at + 1 : end;
  while (start > 0 && line[start - 1] != ',' && line[start - 1] != '=')
    start--;
  while (start < at && line[start] == ' ')
    start++;
  while (stop < end && line[stop] != ',')
    stop++;
  *from = start;
  return stop - start < 60 ? (int)(stop - start) : 60;
}

/* Whether a text has a line with the key of `line`. */
static bool has_key(const char *text, const char *line) {
  const size_t length = strcspn(line, "=\n") + 1;
  while (*text && strncmp(text, line, length) != 0) {
    text += strcspn(text, "\n");
    text += *text == '\n';
  }
  return *text != '\0';
}

/* A line that only one of them has: a method that was switched on or off. */
static bool describe_missing(const char *ours, const char *theirs, char sentence[LINNET_DIFFERENCE_BYTES]) {
  const bool gone = *ours && !has_key(theirs, ours), fresh = !gone && *theirs && !has_key(ours, theirs);
  const char *line = gone ? ours : theirs;
  const struct meaning *meaning = meaning_of(line);
  const int length = (int)strcspn(line, meaning && meaning->phrase ? "=\n" : "\n");
  if (gone || fresh)
    linnet_format(sentence, LINNET_DIFFERENCE_BYTES, "%s %.*s", gone ? "with" : "without", length < 80 ? length : 80,
                  line);
  return gone || fresh;
}

/* Two lines of the same key, of `a` and `b` bytes. */
static void describe_values(const char *ours, size_t a, const char *theirs, size_t b,
                            char sentence[LINNET_DIFFERENCE_BYTES]) {
  const struct meaning *meaning = meaning_of(theirs);
  if (meaning && meaning->phrase) {
    linnet_format(sentence, LINNET_DIFFERENCE_BYTES, "%s", meaning->phrase);
  } else if (meaning && meaning->values[0]) {
    linnet_format(sentence, LINNET_DIFFERENCE_BYTES, "%s %s, not %s", meaning->name, value_name(meaning, ours),
                  value_name(meaning, theirs));
  } else {
    const char *name = meaning ? meaning->name : theirs;
    const size_t at = first_difference(ours, theirs, a < b ? a : b), key = strcspn(name, "=");
    size_t ours_from, theirs_from;
    const int ours_length = item_around(ours, at, a, &ours_from),
              theirs_length = item_around(theirs, at, b, &theirs_from);
    linnet_format(sentence, LINNET_DIFFERENCE_BYTES, "%.*s %.*s, not %.*s", key < 60 ? (int)key : 60, name, ours_length,
                  ours + ours_from, theirs_length, theirs + theirs_from);
  }
}

bool linnet_fingerprint_differs(const char *ours, const char *theirs, char sentence[LINNET_DIFFERENCE_BYTES]) {
  while ((*ours || *theirs) && !is_earlier(ours, theirs) && !is_earlier(theirs, ours)) {
    const size_t a = strcspn(ours, "\n"), b = strcspn(theirs, "\n");
    if (a != b || strncmp(ours, theirs, a) != 0) {
      if (!describe_missing(ours, theirs, sentence))
        describe_values(ours, a, theirs, b, sentence);
      return true;
    }
    ours += a + (ours[a] == '\n');
    theirs += b + (theirs[b] == '\n');
  }
  return false;
}

/* Compares with the text of rank 0, which has `bytes`. */
static enum linnet_status compare(struct linnet_ranks *ranks, const char *text, char *first, size_t bytes) {
  char sentence[LINNET_DIFFERENCE_BYTES];
  if (linnet_ranks_self(ranks) == 0)
    memcpy(first, text, bytes);
  LINNET_TRY(linnet_ranks_share(ranks, first, bytes));
  enum linnet_status status = LINNET_OK;
  if (linnet_fingerprint_differs(text, first, sentence))
    status =
        linnet_fail(ranks->context, LINNET_ERROR_STATE, "differs from rank 0: %s: give all ranks the same", sentence);
  return linnet_ranks_agree(ranks, status);
}

enum linnet_status linnet_fingerprint_compare(struct linnet_ranks *ranks, const char *text) {
  size_t bytes = strlen(text) + 1;
  if (linnet_ranks_count(ranks) == 1)
    return LINNET_OK;
  LINNET_TRY(linnet_ranks_share(ranks, &bytes, sizeof bytes));
  char *first = linnet_calloc(ranks->context, bytes, 1);
  enum linnet_status status = linnet_ranks_agree(
      ranks, first ? LINNET_OK : linnet_fail(ranks->context, LINNET_ERROR_MEMORY, "out of memory for a fingerprint"));
  if (status == LINNET_OK)
    status = compare(ranks, text, first, bytes);
  linnet_free(ranks->context, first);
  return status;
}

enum linnet_status linnet_fingerprint_config(struct linnet_context *context, const char *name, char *text,
                                             struct linnet_config *config) {
  static const char key[] = "config=";
  if (strncmp(text, key, sizeof key - 1) != 0)
    return linnet_fail(context, LINNET_ERROR_FORMAT, "%s: its fingerprint does not begin with a configuration", name);
  text += sizeof key - 1;
  text[strcspn(text, "\n")] = '\0';
  return linnet_config_parse_complete(context, text, name, config);
}
