/* What a trainer keeps in its folder: checkpoint.safetensors, model.safetensors (the best), epoch-NNN.safetensors. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "train/fingerprint.h"
#include "train/trainer.h"

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
  return (struct linnet_checkpoint){.size = t->parameters->size,
                                    .weights = t->weights,
                                    .moment1 = t->moment1,
                                    .moment2 = t->moment2,
                                    .state = &t->state,
                                    .fingerprint = t->fingerprint};
}

enum linnet_status linnet_trainer_save_checkpoint(struct linnet_trainer *t) {
  struct path path;
  struct linnet_checkpoint checkpoint = checkpoint_of(t);
  LINNET_TRY(make_path(t, "checkpoint.safetensors", &path));
  return linnet_checkpoint_save(t->context, path.text, &checkpoint);
}

static enum linnet_status find_checkpoint(const struct linnet_trainer *t, struct path *path, bool *found) {
  LINNET_TRY(make_path(t, "checkpoint.safetensors", path));
  *found = access(path->text, F_OK) == 0;
  if (!*found && errno != ENOENT)
    return linnet_fail(t->context, LINNET_ERROR_IO, "%s: %s", path->text, strerror(errno));
  return LINNET_OK;
}

enum linnet_status linnet_trainer_load_checkpoint(struct linnet_trainer *t, bool *found) {
  struct path path;
  struct linnet_checkpoint checkpoint = checkpoint_of(t);
  LINNET_TRY(find_checkpoint(t, &path, found));
  return *found ? linnet_checkpoint_load(t->context, path.text, &checkpoint) : LINNET_OK;
}

enum linnet_status linnet_trainer_stored_config(const struct linnet_trainer *t, bool *found,
                                                struct linnet_config *config) {
  struct path path;
  char *text = NULL;
  LINNET_TRY(find_checkpoint(t, &path, found));
  if (!*found)
    return LINNET_OK;
  LINNET_TRY(linnet_checkpoint_fingerprint(t->context, path.text, t->parameters->size, &text));
  enum linnet_status status = linnet_fingerprint_config(t->context, path.text, text, config);
  linnet_free(t->context, text);
  return status;
}

static enum linnet_status save_model(struct linnet_trainer *t, const char *path) {
  struct linnet_model_contents contents = {.config = &t->config,
                                           .parameters = t->parameters,
                                           .weights = t->weights,
                                           .symbols = (const char *const *)t->symbols,
                                           .features = &t->features,
                                           .cmvn = t->cmvn,
                                           .metadata = t->metadata,
                                           .num_metadata = t->num_metadata,
                                           .dtype = LINNET_F32};
  return linnet_model_save(t->context, path, &contents);
}

/* Puts the epoch into the list, best first; earlier epochs win ties. */
static void insert_kept(struct linnet_train_state *state, unsigned epoch, double result) {
  unsigned i = state->num_kept++;
  for (; i > 0 && state->kept[i - 1].result > result; i--)
    state->kept[i] = state->kept[i - 1];
  state->kept[i] = (struct linnet_kept_model){epoch, result};
}

static bool is_kept(const struct linnet_train_state *state, unsigned epoch) {
  for (unsigned i = 0; i < state->num_kept; i++)
    if (state->kept[i].epoch == epoch)
      return true;
  return false;
}

enum linnet_status linnet_trainer_save_models(struct linnet_trainer *t, unsigned epoch, double result, bool best) {
  struct path path;
  insert_kept(&t->state, epoch, result);
  if (t->state.num_kept > t->settings.keep_models)
    t->state.num_kept = t->settings.keep_models;
  if (is_kept(&t->state, epoch)) {
    LINNET_TRY(epoch_path(t, epoch, &path));
    LINNET_TRY(save_model(t, path.text));
  }
  if (!best)
    return LINNET_OK;
  LINNET_TRY(make_path(t, "model.safetensors", &path));
  return save_model(t, path.text);
}

void linnet_trainer_prune_models(struct linnet_trainer *t, unsigned epoch) {
  struct path path;
  for (unsigned e = 1; e <= epoch; e++)
    if (!is_kept(&t->state, e) && epoch_path(t, e, &path) == LINNET_OK)
      unlink(path.text);
}
