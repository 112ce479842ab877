/* The training loop. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/settings.h"
#include "ops/optimizer.h"
#include "train/trainer.h"

/* Adds utterances of the batch that may be its cause to the error message in the context: all, or those with `what`
 * that is not finite. */
static enum linnet_status name_utterances(struct linnet_trainer *t, enum linnet_status status, const char *cause,
                                          const char *what) {
  char names[300] = "";
  const char *rest = "";
  size_t used = 0;
  for (size_t i = 0; i < linnet_batch_utterances(&t->batch) && !*rest; i++)
    if (what && !t->batch.not_finite[i])
      continue;
    else if (used < 220)
      used += (size_t)snprintf(names + used, sizeof names - used, " %.60s",
                               t->train.id(t->train.user, t->batch.utterances[i]));
    else
      rest = " ...";
  return linnet_fail(t->context, status, "step %" PRIu64 ": %s; utterances %s%s:%s%s", t->state.step + 1, cause,
                     what ? "with such " : "of the batch", what ? what : "", names, rest);
}

/* A step failed before there was a gradient: a batch may be too large for the memory. */
static enum linnet_status name_batch(struct linnet_trainer *t, enum linnet_status status) {
  char cause[200];
  snprintf(cause, sizeof cause, "%s", linnet_context_error(t->context));
  return status == LINNET_ERROR_NUMERIC || status == LINNET_ERROR_MEMORY ? name_utterances(t, status, cause, NULL)
                                                                         : status;
}

/* A step failed because something is not finite, on all ranks. Weights are still those before the step. */
static enum linnet_status name_causes(struct linnet_trainer *t, enum linnet_status status) {
  const char *what = NULL;
  char cause[200];
  snprintf(cause, sizeof cause, "%s", linnet_context_error(t->context));
  if (status != LINNET_ERROR_NUMERIC)
    return name_batch(t, status);
  if (linnet_gradient_find_not_finite(&t->gradient, t->device.weights, &t->batch, t->settings.seed,
                                      (uint32_t)(t->state.step + 1), &what) != LINNET_OK)
    what = NULL;
  return name_utterances(t, status, cause, what);
}

static double current_rate(const struct linnet_trainer *t) {
  const struct linnet_train_state *s = &t->state;
  double part = t->batches.batches > 0 ? (double)s->epoch_step / (double)t->batches.batches : 0;
  return linnet_schedule_rate(&t->settings, &s->schedule, s->step + 1,
                              (s->epoch + part) / (double)t->settings.num_epochs);
}

static enum linnet_status apply_gradient(struct linnet_trainer *t, double rate) {
  struct linnet_update update;
  enum linnet_optimizer kind = t->settings.optimizer == LINNET_TRAIN_ADAM ? LINNET_ADAM : LINNET_RADAM;
  linnet_update_terms(kind, rate, t->state.step + 1, &update);
  return linnet_gradient_update(&t->gradient, &update, t->settings.clip_norm, t->device.weights, t->device.moment1,
                                t->device.moment2);
}

/* Moves this rank's part of the average towards the weights after a step. The decay of the first steps is smaller, so
 * that the initial weights are soon forgotten. */
static void average_weights(struct linnet_trainer *t) {
  if (!t->average)
    return;
  struct linnet_device *device = t->network.device;
  double step = (double)t->state.step, decay = fmin(t->settings.average_decay, (1 + step) / (10 + step));
  const struct linnet_division *d = &t->gradient.division;
  real *own = t->device.average;
  for (size_t k = 0; k < d->buckets; k++) {
    const size_t first = linnet_division_first(d, k, d->rank), n = linnet_division_first(d, k, d->rank + 1) - first;
    device->ops->average(device, n, 1 - decay, t->device.weights + first, own);
    own += n;
  }
}

static enum linnet_status load_batch(struct linnet_trainer *t, size_t step, struct linnet_batch *batch) {
  size_t begin = t->batches.starts[step], end = t->batches.starts[step + 1];
  return linnet_batch_load(batch, &t->train, t->batches.order + begin, end - begin, t->train_frames, t->state.epoch + 1,
                           t->worker_contexts);
}

/* The batch of this step, which may have been loaded during the last. */
static enum linnet_status take_batch(struct linnet_trainer *t) {
  if (!t->loaded)
    return load_batch(t, t->state.epoch_step, &t->batch);
  struct linnet_batch next = t->next;
  t->next = t->batch;
  t->batch = next;
  t->loaded = false;
  return LINNET_OK;
}

/* Loads the epoch's next batch while a device works on this one; sets t->ahead. `user` is the trainer. */
static void load_ahead(void *user) {
  struct linnet_trainer *t = user;
  t->ahead = LINNET_OK;
  if (t->network.device->ops->host || t->state.epoch_step + 1 >= t->batches.batches)
    return;
  t->ahead = load_batch(t, t->state.epoch_step + 1, &t->next);
  t->loaded = t->ahead == LINNET_OK;
}

static size_t nominal_frames(const struct linnet_trainer *t, size_t begin, size_t end) {
  size_t frames = 0;
  for (size_t i = begin; i < end; i++)
    frames += t->train_frames[t->batches.order[i]];
  return frames;
}

static void warn_of_idle_ranks(struct linnet_trainer *t) {
  size_t shards = t->batch.shards.count, ranks = linnet_ranks_count(&t->ranks);
  if (shards >= ranks || t->warned)
    return;
  t->warned = true;
  linnet_log(t->context, LINNET_LOG_WARNING,
             "a batch has %zu shards for %zu ranks, so some ranks have no work: set training.shards, or use larger "
             "batches (batch_frames)",
             shards, ranks);
}

/* Computes the gradient of this step. After LINNET_ERROR_CANCELLED the state is as before the step. */
static enum linnet_status compute_gradient(struct linnet_trainer *t, const struct linnet_train_events *events) {
  const struct linnet_train_state *s = &t->state;
  size_t begin = t->batches.starts[s->epoch_step], end = t->batches.starts[s->epoch_step + 1];
  LINNET_TRY(take_batch(t));
  warn_of_idle_ranks(t);
  t->gradient.queued = load_ahead;
  t->gradient.queued_user = t;
  const enum linnet_status status =
      linnet_gradient_compute(&t->gradient, t->device.weights, &t->batch, t->settings.seed, (uint32_t)(s->step + 1));
  if (status == LINNET_OK && events->batch)
    events->batch(events->user, s->epoch + 1, t->batches.order + begin, end - begin);
  return name_batch(t, status);
}

/* Of the answer to an event: LINNET_ERROR_CANCELLED if the training shall stop. */
static enum linnet_status status_of(int answer) {
  return answer < 0 ? LINNET_ERROR_IO : answer > 0 ? LINNET_ERROR_CANCELLED : LINNET_OK;
}

/* *answer is this rank's own: LINNET_ERROR_CANCELLED to stop, or the failure of an event. */
static enum linnet_status run_step(struct linnet_trainer *t, const struct linnet_train_events *events,
                                   enum linnet_status *answer) {
  struct linnet_train_state *s = &t->state;
  double started = linnet_train_clock(), rate = current_rate(t);
  size_t begin = t->batches.starts[s->epoch_step], end = t->batches.starts[s->epoch_step + 1];
  struct linnet_gradient_result result;
  enum linnet_status computed = compute_gradient(t, events);
  *answer = computed;
  if (computed != LINNET_OK)
    return computed == LINNET_ERROR_CANCELLED ? LINNET_OK : computed;
  if (!t->gradient.staging)
    load_ahead(t);
  enum linnet_status status = linnet_gradient_finish(&t->gradient, &t->batch, &result);
  if (status != LINNET_OK)
    return name_causes(t, status);
  if (t->ahead != LINNET_ERROR_CANCELLED)
    LINNET_TRY(t->ahead);
  LINNET_TRY(apply_gradient(t, rate));
  size_t frames = nominal_frames(t, begin, end);
  double seconds = linnet_train_clock() - started;
  s->step++;
  s->epoch_step++;
  average_weights(t);
  for (int l = 0; l < LINNET_NUM_LOSSES; l++)
    s->sums.losses[l] += result.losses[l];
  s->sums.labels += result.labels;
  s->sums.frames += frames;
  s->sums.infeasible += result.infeasible;
  s->sums.seconds += seconds;
  s->total_seconds += seconds;
  struct linnet_train_step report = {.epoch = s->epoch + 1,
                                     .step = s->step,
                                     .epoch_step = (size_t)s->epoch_step,
                                     .num_epoch_steps = t->batches.batches,
                                     .num_frames = frames,
                                     .num_labels = result.labels,
                                     .loss = result.losses[LINNET_LOSS_CTC] /
                                             (double)(result.labels > 0 ? result.labels : 1),
                                     .gradient_norm = result.norm,
                                     .learning_rate = rate};
  *answer = events->step ? status_of(events->step(events->user, &report)) : LINNET_OK;
  if (*answer == LINNET_OK)
    *answer = t->ahead;
  return LINNET_OK;
}

static double ratio(double sum, double count) {
  return count > 0 ? sum / count : 0;
}

/* Of the epoch; negative if the training lacks this loss. */
static double loss_per_label(const struct linnet_trainer *t, enum linnet_loss l) {
  const struct linnet_epoch_sums *sums = &t->state.sums;
  return t->gradient.weights[l] > 0 ? fmax(0, ratio(sums->losses[l], (double)sums->labels)) : -1;
}

/* What a rank does alone; *stop is its own. */
static enum linnet_status save_epoch(struct linnet_trainer *t, const struct linnet_train_events *events,
                                     const struct linnet_train_epoch *report, double measure, const real *weights,
                                     bool *stop) {
  LINNET_TRY(linnet_trainer_download(t));
  if (linnet_trainer_is_first(t))
    LINNET_TRY(linnet_trainer_save_models(t, weights, t->state.epoch, measure, report->best));
  const enum linnet_status answer = events->epoch ? status_of(events->epoch(events->user, report)) : LINNET_OK;
  *stop = answer == LINNET_ERROR_CANCELLED;
  return *stop ? LINNET_OK : answer;
}

/* If validation is cancelled, the checkpoint is that of the last step of the epoch, and a continued training starts
 * with this validation. So does the next run after a failure. */
static enum linnet_status finish_epoch(struct linnet_trainer *t, const struct linnet_train_events *events, bool *stop) {
  struct linnet_train_state *s = &t->state;
  double started = linnet_train_clock();
  struct linnet_evaluation dev;
  const struct linnet_ranks of_steps = t->ranks;
  const real *on_device, *host;
  LINNET_TRY(linnet_trainer_model_weights(t, &on_device, &host));
  enum linnet_status status = linnet_evaluate(t->context, &t->network, t->workers, &t->ranks, on_device, &t->dev,
                                              t->dev_frames, t->settings.num_batch_frames, &dev);
  *stop = status == LINNET_ERROR_CANCELLED;
  if (status != LINNET_OK)
    return *stop ? linnet_trainer_checkpoint(t) : status;
  struct linnet_train_epoch report = {
      .epoch = s->epoch + 1,
      .step = s->step,
      .train_loss = ratio(s->sums.losses[LINNET_LOSS_CTC], (double)s->sums.labels),
      .dev_loss = ratio(dev.loss, (double)dev.labels),
      .dev_error = t->dev.count_errors ? 100 * ratio((double)dev.errors, (double)dev.reference) : -1,
      .learning_rate = current_rate(t),
      .train_seconds = s->sums.seconds,
      .dev_seconds = linnet_train_clock() - started,
      .total_seconds = s->total_seconds,
      .num_frames = (size_t)s->sums.frames,
      .num_infeasible = (size_t)s->sums.infeasible,
      .consistency = loss_per_label(t, LINNET_LOSS_CONSISTENCY),
      .crf_loss = loss_per_label(t, LINNET_LOSS_CRF),
      .distillation = loss_per_label(t, LINNET_LOSS_DISTILLATION),
      .intermediate_loss = loss_per_label(t, LINNET_LOSS_INTERMEDIATE),
      .frame_loss = loss_per_label(t, LINNET_LOSS_FRAME_TARGETS),
      .num_ranks = linnet_ranks_count(&t->ranks),
      .exchange_seconds = of_steps.seconds,
      .waiting_seconds = of_steps.waiting,
      .num_sent_bytes = of_steps.bytes,
      .hidden_seconds = of_steps.hidden};
  const double measure = t->dev.count_errors ? report.dev_error : report.dev_loss;
  const struct linnet_train_state before = *s;
  s->total_seconds = report.total_seconds += report.dev_seconds;
  report.best = linnet_schedule_epoch(&t->settings, &s->schedule, measure, report.dev_loss);
  s->epoch++;
  s->epoch_step = 0;
  s->sums = (struct linnet_epoch_sums){0};
  status = linnet_ranks_agree(&t->ranks, save_epoch(t, events, &report, measure, host, stop));
  if (status != LINNET_OK) {
    *s = before;
    return status;
  }
  LINNET_TRY(linnet_trainer_checkpoint(t));
  if (linnet_trainer_is_first(t))
    linnet_trainer_prune_models(t, t->state.epoch);
  bool none = false;
  return linnet_ranks_vote(&t->ranks, *stop ? LINNET_ERROR_CANCELLED : LINNET_OK, stop, &none);
}

static void warn_of_warmup(const struct linnet_trainer *t) {
  const size_t steps = t->batches.batches * t->settings.num_epochs;
  if (t->state.step == 0 && t->settings.num_warmup_steps >= steps)
    linnet_log(t->context, LINNET_LOG_WARNING,
               "the learning rate rises over %zu steps, but the whole training has about %zu: lower warmup_steps",
               t->settings.num_warmup_steps, steps);
}

/* Continues inside the epoch of the checkpoint. */
static enum linnet_status run_epoch(struct linnet_trainer *t, const struct linnet_train_events *events, bool *stop) {
  struct linnet_train_state *s = &t->state;
  enum linnet_status answer;
  const struct linnet_order order = {t->settings.seed, s->epoch + 1, t->settings.num_block_utterances};
  linnet_batches_fill(&t->batches, t->train_frames, t->train.num_utterances, t->settings.num_batch_frames, &order);
  warn_of_warmup(t);
  t->ranks.seconds = t->ranks.waiting = t->ranks.hidden = 0;
  t->ranks.bytes = 0;
  if (s->epoch_step > t->batches.batches)
    return linnet_fail(t->context, LINNET_ERROR_FORMAT, "%s: the checkpoint is beyond the end of its epoch", t->folder);
  for (bool first = true; s->epoch_step < t->batches.batches; first = false) {
    linnet_batch_prefetch(&t->batch, &t->batches, &t->train, t->train_frames, s->epoch_step, first, s->epoch + 1);
    LINNET_TRY(run_step(t, events, &answer));
    bool due = linnet_train_clock() - t->saved_at > t->settings.checkpoint_seconds;
    LINNET_TRY(linnet_ranks_vote(&t->ranks, answer, stop, &due));
    if (*stop || due)
      LINNET_TRY(linnet_trainer_checkpoint(t));
    if (*stop)
      return LINNET_OK;
  }
  return finish_epoch(t, events, stop);
}

static void begin_polling(struct linnet_trainer *t) {
  linnet_poll_begin(t->context);
  for (size_t i = 0; i < linnet_context_num_threads(t->context); i++)
    linnet_poll_begin(t->workers[i].context);
}

enum linnet_status linnet_trainer_run(struct linnet_trainer *t, const struct linnet_train_events *events) {
  struct linnet_train_events own = {0};
  bool stop = false;
  if (!t)
    return LINNET_ERROR_ARGUMENT;
  LINNET_TRY(linnet_settings_read(t->context, "struct linnet_train_events", events, &own, sizeof own));
  t->saved_at = linnet_train_clock();
  t->loaded = false; /* a run whose last step failed may have loaded the batch after it */
  begin_polling(t);
  enum linnet_status status = LINNET_OK;
  struct linnet_device *device = t->network.device;
  if (device->ops->lock)
    device->ops->lock(device);
  while (status == LINNET_OK && !stop && t->state.epoch < t->settings.num_epochs &&
         !linnet_schedule_stopped(&t->settings, &t->state.schedule))
    status = run_epoch(t, &own, &stop);
  if (device->ops->unlock)
    device->ops->unlock(device);
  LINNET_TRY(status);
  return stop ? linnet_fail(t->context, LINNET_ERROR_CANCELLED, "training was interrupted; it can be continued")
              : LINNET_OK;
}
