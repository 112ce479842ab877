/* The files of a trainer in its folder: checkpoint.safetensors and the previous one, model.safetensors (the best),
 * epoch-NNN.safetensors. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "train/trainer.h"

#define CHECKPOINT "checkpoint.safetensors"
#define PREVIOUS "checkpoint-previous.safetensors"
#define DAMAGED "checkpoint-damaged.safetensors"
#define BEST_MODEL "model.safetensors"

struct path {
  char text[4096];
};

static enum linnet_status make_path(const struct linnet_trainer *t, const char *name, struct path *path) {
  int n = snprintf(path->text, sizeof path->text, "%s/%s", t->folder, name);
  return n > 0 && (size_t)n < sizeof path->text
             ? LINNET_OK
             : linnet_fail(t->context, LINNET_ERROR_LIMIT, "%.60s...: path too long", t->folder);
}

static enum linnet_status epoch_path(const struct linnet_trainer *t, unsigned epoch, struct path *path) {
  char name[64];
  snprintf(name, sizeof name, "epoch-%03u.safetensors", epoch);
  return make_path(t, name, path);
}

static struct linnet_checkpoint checkpoint_of(struct linnet_trainer *t) {
  return (struct linnet_checkpoint){
      .size = t->parameters->size, .averaged = t->average != NULL, .state = &t->state, .fingerprint = t->fingerprint};
}

enum linnet_status linnet_trainer_save_checkpoint(struct linnet_trainer *t, linnet_checkpoint_vector_fn *vector,
                                                  void *user) {
  struct path path, previous;
  struct linnet_checkpoint checkpoint = checkpoint_of(t);
  LINNET_TRY(make_path(t, CHECKPOINT, &path));
  LINNET_TRY(make_path(t, PREVIOUS, &previous));
  return linnet_checkpoint_save(t->context, path.text, previous.text, &checkpoint, vector, user);
}

static enum linnet_status find_file(const struct linnet_trainer *t, const char *name, struct path *path, bool *found) {
  LINNET_TRY(make_path(t, name, path));
  *found = access(path->text, F_OK) == 0;
  if (!*found && errno != ENOENT)
    return linnet_fail(t->context, LINNET_ERROR_IO, "%s: %s", path->text, strerror(errno));
  return LINNET_OK;
}

/* Whether a name is that of the model of an epoch. */
static bool is_epoch(const char *name, size_t length) {
  static const char start[] = "epoch-", end[] = ".safetensors";
  if (strncmp(name, start, sizeof start - 1) != 0)
    return false;
  const char *number = name + sizeof start - 1;
  size_t digits = strspn(number, "0123456789"), before = sizeof start - 1 + digits;
  return digits > 0 && strncmp(number + digits, end, sizeof end - 1) == 0 && before + sizeof end - 1 == length;
}

/* Whether a name is that of a temporary file of a process that was killed while it wrote a file of the trainer, or the
 * configuration that `linnet train` puts beside them. */
static bool is_temporary(const char *name) {
  static const char *const own[] = {CHECKPOINT, BEST_MODEL, "config.json"};
  const size_t length = linnet_output_file_temporary_length(name);
  for (size_t i = 0; length > 0 && i < sizeof own / sizeof *own; i++)
    if (strlen(own[i]) == length && strncmp(name, own[i], length) == 0)
      return true;
  return length > 0 && is_epoch(name, length);
}

static bool is_epoch_model(const char *name) {
  return is_epoch(name, strlen(name));
}

/* Removes the files of the folder with such names. */
static void remove_files(const struct linnet_trainer *t, bool (*chosen)(const char *name)) {
  DIR *folder = opendir(t->folder);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    struct path path;
    if (chosen(entry->d_name) && make_path(t, entry->d_name, &path) == LINNET_OK)
      unlink(path.text);
  }
  if (folder)
    closedir(folder);
}

/* Replaces a damaged or missing checkpoint by the previous one, if there is one. `why` says what is wrong. */
static enum linnet_status fall_back(const struct linnet_trainer *t, const struct path *path, const char *why,
                                    bool *fell_back) {
  struct path previous, damaged;
  LINNET_TRY(find_file(t, PREVIOUS, &previous, fell_back));
  LINNET_TRY(make_path(t, DAMAGED, &damaged));
  if (!*fell_back)
    return LINNET_OK;
  const enum linnet_status status = linnet_checkpoint_check(t->context, previous.text, t->parameters->size);
  if (status != LINNET_OK) {
    char error[600];
    snprintf(error, sizeof error, "%s", linnet_context_error(t->context));
    return linnet_fail(
        t->context, status,
        "there is no intact checkpoint; to start anew, remove the checkpoints or use another folder: %s, and %s", why,
        error);
  }
  if ((rename(path->text, damaged.text) != 0 && errno != ENOENT) || rename(previous.text, path->text) != 0)
    return linnet_fail(t->context, LINNET_ERROR_IO, "%s: %s", path->text, strerror(errno));
  linnet_log(t->context, LINNET_LOG_WARNING, "%s: training continues from the previous checkpoint, " PREVIOUS, why);
  return LINNET_OK;
}

enum linnet_status linnet_trainer_recover(const struct linnet_trainer *t) {
  struct path path;
  char why[600];
  bool found, fell_back = false;
  remove_files(t, is_temporary);
  LINNET_TRY(find_file(t, CHECKPOINT, &path, &found));
  enum linnet_status status = LINNET_OK;
  snprintf(why, sizeof why, "%.500s: is missing", path.text);
  if (found) {
    status = linnet_checkpoint_check(t->context, path.text, t->parameters->size);
    snprintf(why, sizeof why, "%s", linnet_context_error(t->context));
    if (status == LINNET_OK || status == LINNET_ERROR_MEMORY || status == LINNET_ERROR_IO ||
        status == LINNET_ERROR_STATE)
      return status;
  }
  LINNET_TRY(fall_back(t, &path, why, &fell_back));
  if (fell_back || status == LINNET_OK)
    return LINNET_OK;
  return linnet_fail(t->context, status, "%s%s", why,
                     status == LINNET_ERROR_FORMAT ? "; to start anew, remove the checkpoint or use another folder"
                                                   : "");
}

enum linnet_status linnet_trainer_open_checkpoint(struct linnet_trainer *t, struct linnet_checkpoint_file *file) {
  struct path path;
  struct linnet_checkpoint checkpoint = checkpoint_of(t);
  bool found;
  LINNET_TRY(find_file(t, CHECKPOINT, &path, &found));
  return found ? linnet_checkpoint_open(t->context, path.text, &checkpoint, file) : LINNET_OK;
}

enum linnet_status linnet_trainer_stored_config(const struct linnet_trainer *t, bool *found,
                                                struct linnet_config *config) {
  struct path path;
  char *text = NULL;
  LINNET_TRY(find_file(t, CHECKPOINT, &path, found));
  if (!*found)
    return LINNET_OK;
  LINNET_TRY(linnet_checkpoint_fingerprint(t->context, path.text, t->parameters->size, &text));
  enum linnet_status status = linnet_fingerprint_config(t->context, path.text, text, config);
  linnet_free(t->context, text);
  return status;
}

static enum linnet_status save_model(struct linnet_trainer *t, const real *weights, const char *path) {
  struct linnet_model_contents contents = {.config = &t->config,
                                           .parameters = t->parameters,
                                           .weights = weights,
                                           .symbols = (const char *const *)t->symbols,
                                           .features = &t->features,
                                           .cmvn = t->cmvn,
                                           .metadata = t->metadata,
                                           .num_metadata = t->num_metadata,
                                           .dtype = LINNET_F32};
  return linnet_model_save(t->context, path, &contents);
}

/* Puts the epoch into the list of the `maximum` best, best first, if it is among them; earlier epochs win ties,
 * except against the best of all. */
static void insert_kept(struct linnet_train_state *state, unsigned maximum, unsigned epoch, double result, bool best) {
  struct linnet_kept_model *kept = state->kept;
  unsigned count = state->num_kept < maximum ? state->num_kept : maximum, i = 0;
  while (i < count && !best && !(kept[i].result > result))
    i++;
  state->num_kept = count < maximum ? count + 1 : count;
  if (i == maximum)
    return;
  memmove(kept + i + 1, kept + i, (state->num_kept - i - 1) * sizeof *kept);
  kept[i] = (struct linnet_kept_model){epoch, result};
}

static bool is_kept(const struct linnet_train_state *state, unsigned epoch) {
  for (unsigned i = 0; i < state->num_kept; i++)
    if (state->kept[i].epoch == epoch)
      return true;
  return false;
}

enum linnet_status linnet_trainer_save_models(struct linnet_trainer *t, const real *weights, unsigned epoch,
                                              double result, bool best) {
  struct path path;
  if (epoch == 1) /* of an earlier training in this folder */
    remove_files(t, is_epoch_model);
  insert_kept(&t->state, t->settings.num_kept_models, epoch, result, best);
  if (is_kept(&t->state, epoch)) {
    LINNET_TRY(epoch_path(t, epoch, &path));
    LINNET_TRY(save_model(t, weights, path.text));
  }
  if (!best)
    return LINNET_OK;
  LINNET_TRY(make_path(t, BEST_MODEL, &path));
  return save_model(t, weights, path.text);
}

void linnet_trainer_prune_models(struct linnet_trainer *t, unsigned epoch) {
  struct path path;
  for (unsigned e = 1; e <= epoch; e++)
    if (!is_kept(&t->state, e) && epoch_path(t, e, &path) == LINNET_OK)
      unlink(path.text);
}
