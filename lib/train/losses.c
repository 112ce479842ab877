/* The losses of a shard, from the logits of its forward pass. */
#include "train/losses.h"

#include "train/gradient.h"

const struct linnet_loss_kind linnet_losses[LINNET_NUM_LOSSES] = {
    [LINNET_LOSS_CTC] = {"ctc", true, false},
    [LINNET_LOSS_CRF] = {"crf", true, false},
    [LINNET_LOSS_DISTILLATION] = {"distillation", false, false},
    [LINNET_LOSS_FRAME_TARGETS] = {"frame_targets", false, false},
    [LINNET_LOSS_CONSISTENCY] = {"consistency", false, true},
    [LINNET_LOSS_INTERMEDIATE] = {"intermediate", true, false},
};

/* --- memory ------------------------------------------------------------------------------------------------------- */

static size_t loss_bytes(const struct linnet_loss_task *t, enum linnet_loss l) {
  return t->shard->pack.sequences / (linnet_losses[l].of_pairs ? 2 : 1) * sizeof(double);
}

static enum linnet_status reserve(const struct linnet_loss_task *t, struct linnet_device_buffer *buffer, size_t bytes) {
  return linnet_worker_reserve(t->worker, t->gradient->network, t->shard, buffer, bytes);
}

static enum linnet_status reserve_loss(const struct linnet_loss_task *t, enum linnet_loss l) {
  return reserve(t, &t->worker->losses[l], loss_bytes(t, l));
}

static void download_loss(const struct linnet_loss_task *t, enum linnet_loss l) {
  struct linnet_device *device = t->gradient->network->device;
  double *host = t->batch->losses[l] + t->begin / (linnet_losses[l].of_pairs ? 2 : 1);
  device->ops->download(device, host, t->worker->losses[l].data, loss_bytes(t, l));
}

/* --- CTC ---------------------------------------------------------------------------------------------------------- */

static enum linnet_status run_ctc(struct linnet_worker *worker, const struct linnet_network *network,
                                  const struct linnet_shard *shard, struct linnet_device_buffer *loss,
                                  struct linnet_batch_ctc *c) {
  struct linnet_device *device = network->device;
  size_t bytes = device->ops->ctc_work_bytes(device, c);
  LINNET_TRY(linnet_worker_reserve(worker, network, shard, &worker->ctc_work, bytes));
  LINNET_TRY(linnet_worker_reserve(worker, network, shard, loss, shard->pack.sequences * sizeof *c->loss));
  c->loss = loss->data;
  device->ops->ctc(device, c, worker->ctc_work.data);
  return LINNET_OK;
}

enum linnet_status linnet_worker_ctc(struct linnet_worker *worker, const struct linnet_network *network,
                                     const struct linnet_shard *shard, const int *const *labels,
                                     const size_t *num_labels, double scale, real *gradient) {
  struct linnet_batch_ctc c = {.pack = &shard->pack,
                               .symbols = network->config->outputs,
                               .labels = labels,
                               .num_labels = num_labels,
                               .logits = worker->logits.data,
                               .scale = (real)scale,
                               .gradient = gradient};
  return run_ctc(worker, network, shard, &worker->losses[LINNET_LOSS_CTC], &c);
}

/* CTC-CRF is CTC plus the denominator. */
static enum linnet_status compute_ctc(const struct linnet_loss_task *t, real *gradient) {
  const double factor = t->factors[LINNET_LOSS_CTC] + t->factors[LINNET_LOSS_CRF];
  return linnet_worker_ctc(t->worker, t->gradient->network, t->shard, t->host->labels, t->host->num_labels, factor,
                           gradient);
}

static enum linnet_status compute_intermediate(const struct linnet_loss_task *t, real *unused) {
  (void)unused;
  const struct linnet_network *network = t->gradient->network;
  real *logits = linnet_pass_intermediate(t->worker->pass);
  struct linnet_batch_ctc c = {.pack = &t->shard->pack,
                               .symbols = network->config->outputs,
                               .labels = t->host->labels,
                               .num_labels = t->host->num_labels,
                               .logits = logits,
                               .scale = (real)t->factors[LINNET_LOSS_INTERMEDIATE],
                               .gradient = logits};
  return run_ctc(t->worker, network, t->shard, &t->worker->losses[LINNET_LOSS_INTERMEDIATE], &c);
}

/* --- losses that add to the gradient of CTC ----------------------------------------------------------------------- */

static enum linnet_status add_denominator(const struct linnet_loss_task *t, real *gradient_add) {
  struct linnet_worker *worker = t->worker;
  const struct linnet_network *network = t->gradient->network;
  struct linnet_device *device = network->device;
  struct linnet_batch_denominator b = {.pack = &t->shard->pack,
                                       .graph = t->gradient->denominator,
                                       .labels = t->host->labels,
                                       .num_labels = t->host->num_labels,
                                       .logits = worker->logits.data,
                                       .ctc = worker->losses[LINNET_LOSS_CTC].data,
                                       .scale = (real)t->factors[LINNET_LOSS_CRF],
                                       .gradient_add = gradient_add};
  LINNET_TRY(reserve_loss(t, LINNET_LOSS_CRF));
  LINNET_TRY(reserve(t, &worker->denominator_work, device->ops->denominator_work_bytes(device, &b)));
  b.loss = worker->losses[LINNET_LOSS_CRF].data;
  device->ops->denominator(device, &b, worker->denominator_work.data);
  return LINNET_OK;
}

/* Forward of the teacher over the utterances of a shard; its worker's logits get the result. */
static enum linnet_status run_teacher(const struct linnet_loss_task *t, struct linnet_worker *own) {
  const struct linnet_teacher *teacher = t->gradient->teacher;
  struct linnet_context *context = t->worker->context;
  const size_t views = t->batch->views, count = t->shard->pack.sequences / views;
  size_t *offsets = linnet_alloc(context, count + 1, sizeof *offsets);
  if (!offsets)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for a shard");
  for (size_t i = 0; i <= count; i++)
    offsets[i] = t->shard->pack.offsets[i * views] / views;
  const struct linnet_shard utterances = {.pack = {count, offsets},
                                          .features = linnet_batch_teacher_features(t->batch, t->begin / views),
                                          .forward_only = true};
  enum linnet_status status = linnet_worker_forward(own, &teacher->network, teacher->weights, &utterances);
  if (status != LINNET_OK)
    linnet_copy_error(context, own->context);
  linnet_free(context, offsets);
  return status;
}

static enum linnet_status follow_teacher(const struct linnet_loss_task *t, real *gradient_add) {
  const struct linnet_gradient *g = t->gradient;
  struct linnet_worker *worker = t->worker, *own = &g->teacher->workers[worker - g->workers];
  LINNET_TRY(run_teacher(t, own));
  LINNET_TRY(reserve_loss(t, LINNET_LOSS_DISTILLATION));
  struct linnet_batch_distillation b = {.pack = &t->shard->pack,
                                        .views = t->batch->views,
                                        .symbols = g->network->config->outputs,
                                        .teacher = own->logits.data,
                                        .logits = worker->logits.data,
                                        .scale = (real)t->factors[LINNET_LOSS_DISTILLATION],
                                        .gradient_add = gradient_add,
                                        .loss = worker->losses[LINNET_LOSS_DISTILLATION].data};
  g->network->device->ops->distillation(g->network->device, &b);
  return LINNET_OK;
}

static enum linnet_status follow_targets(const struct linnet_loss_task *t, real *gradient_add) {
  const struct linnet_network *network = t->gradient->network;
  LINNET_TRY(reserve_loss(t, LINNET_LOSS_FRAME_TARGETS));
  struct linnet_batch_frame_targets b = {.pack = &t->shard->pack,
                                         .symbols = network->config->outputs,
                                         .targets = t->batch->targets + t->begin,
                                         .logits = t->worker->logits.data,
                                         .scale = (real)t->factors[LINNET_LOSS_FRAME_TARGETS],
                                         .gradient_add = gradient_add,
                                         .loss = t->worker->losses[LINNET_LOSS_FRAME_TARGETS].data};
  network->device->ops->frame_targets(network->device, &b);
  return LINNET_OK;
}

static enum linnet_status compare_views(const struct linnet_loss_task *t, real *gradient_add) {
  const struct linnet_network *network = t->gradient->network;
  LINNET_TRY(reserve_loss(t, LINNET_LOSS_CONSISTENCY));
  struct linnet_batch_consistency c = {.pack = &t->shard->pack,
                                       .symbols = network->config->outputs,
                                       .logits = t->worker->logits.data,
                                       .scale = (real)t->factors[LINNET_LOSS_CONSISTENCY],
                                       .gradient_add = gradient_add,
                                       .loss = t->worker->losses[LINNET_LOSS_CONSISTENCY].data};
  network->device->ops->consistency(network->device, &c);
  return LINNET_OK;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

/* Computes a loss into the worker's buffer, and its gradient. */
typedef enum linnet_status loss_fn(const struct linnet_loss_task *task, real *gradient_add);

static loss_fn *const functions[LINNET_NUM_LOSSES] = {
    [LINNET_LOSS_CTC] = compute_ctc,
    [LINNET_LOSS_CRF] = add_denominator,
    [LINNET_LOSS_DISTILLATION] = follow_teacher,
    [LINNET_LOSS_FRAME_TARGETS] = follow_targets,
    [LINNET_LOSS_CONSISTENCY] = compare_views,
    [LINNET_LOSS_INTERMEDIATE] = compute_intermediate,
};

/* These read the logits after CTC, whose gradient needs memory of its own then. */
static bool reads_logits(enum linnet_loss l) {
  return l != LINNET_LOSS_CTC && l != LINNET_LOSS_INTERMEDIATE;
}

enum linnet_status linnet_losses_compute(const struct linnet_loss_task *t, real **gradient) {
  struct linnet_worker *worker = t->worker;
  bool keep = false;
  for (int l = 0; l < LINNET_NUM_LOSSES; l++)
    keep = keep || (t->factors[l] > 0 && reads_logits((enum linnet_loss)l));
  if (keep)
    LINNET_TRY(reserve(t, &worker->dlogits, worker->logits.bytes));
  *gradient = keep ? worker->dlogits.data : worker->logits.data;
  for (int l = 0; l < LINNET_NUM_LOSSES; l++) {
    if (l != LINNET_LOSS_CTC && t->factors[l] == 0)
      continue;
    LINNET_TRY(functions[l](t, *gradient));
    download_loss(t, (enum linnet_loss)l);
  }
  return LINNET_OK;
}
