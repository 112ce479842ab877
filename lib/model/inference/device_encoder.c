/* Recognition on a device other than the CPU: the whole utterance in one pass of the network, whose layers share
 * memory. All posteriors are copied back in one transfer. */
#include "model/inference/encoder.h"
#include "model/training/network.h"

struct linnet_device_encoder {
  struct linnet_context *context;
  struct linnet_network network;
  struct linnet_pass *pass;
  real *weights;                              /* a copy on the device */
  struct linnet_device_buffer memory, logits; /* on the device */
  struct linnet_buffer stacked, log_p;        /* (T, stack * input_dim), (T, outputs) on the host */
  enum linnet_status status;                  /* of the layers for which the call waited */
};

static struct linnet_device *device_of(const struct linnet_device_encoder *d) {
  return d->network.device;
}

static enum linnet_status upload_weights(struct linnet_device_encoder *d, const struct linnet_model *model) {
  struct linnet_device *device = device_of(d);
  size_t bytes = model->parameters->size * sizeof(real);
  d->weights = device->ops->alloc(device, bytes);
  if (!d->weights)
    return linnet_fail(d->context, LINNET_ERROR_MEMORY, "%s: out of memory for a model of %zu MB", device->name,
                       bytes >> 20);
  device->ops->upload(device, d->weights, model->weights, bytes);
  return device->ops->wait(device, d->context);
}

enum linnet_status linnet_device_encoder_create(struct linnet_context *context, const struct linnet_model *model,
                                                struct linnet_device_encoder **result) {
  struct linnet_device *device = linnet_device_of(context);
  *result = NULL;
  if (!model->whole)
    return linnet_fail(
        context, LINNET_ERROR_ARGUMENT,
        "the model was loaded for the CPU and lacks weights that %s needs: load it with a context of this "
        "device, or with linnet_model_load_whole",
        device->name);
  struct linnet_device_encoder *d = *result = linnet_calloc(context, 1, sizeof *d);
  if (!d)
    return linnet_fail(context, LINNET_ERROR_MEMORY, "out of memory for an encoder");
  d->context = context;
  d->network = (struct linnet_network){device, &model->config, model->parameters};
  LINNET_TRY(linnet_pass_create(context, &d->network, &d->pass));
  device->ops->lock(device);
  enum linnet_status status = upload_weights(d, model);
  device->ops->unlock(device);
  return status;
}

void linnet_device_encoder_destroy(struct linnet_device_encoder *d) {
  if (!d)
    return;
  struct linnet_device *device = device_of(d);
  device->ops->lock(device);
  device->ops->free(device, d->weights);
  device->ops->free(device, d->memory.data);
  device->ops->free(device, d->logits.data);
  device->ops->unlock(device);
  linnet_free(d->context, d->stacked.data);
  linnet_free(d->context, d->log_p.data);
  linnet_pass_destroy(d->pass);
  linnet_free(d->context, d);
}

/* If the call can be cancelled, this waits for each layer; otherwise all layers are queued at once. */
static bool stop_before_layer(void *user) {
  struct linnet_device_encoder *d = user;
  d->status = device_of(d)->ops->wait(device_of(d), d->context);
  return d->status != LINNET_OK || linnet_poll_stopped(d->context);
}

/* Runs the network on d->stacked and writes the log-posteriors to d->log_p. */
static enum linnet_status run(struct linnet_device_encoder *d, size_t rows) {
  struct linnet_device *device = device_of(d);
  const struct linnet_config *config = d->network.config;
  const size_t offsets[2] = {0, rows}, bytes = rows * config->outputs * sizeof(real);
  const struct linnet_host_batch batch = {
      .pack = {1, offsets}, .features = d->stacked.data, .columns = config->stack * config->input_dim};
  const struct linnet_poll poll = {stop_before_layer, d};
  struct linnet_shard shard = {
      .pack = batch.pack, .forward_only = true, .poll = linnet_poll_of(d->context) ? &poll : NULL};
  d->status = LINNET_OK;
  LINNET_TRY(device->ops->upload_batch(device, d->context, &batch, &shard.features));
  if (!linnet_device_reserve(device, &d->memory, linnet_pass_bytes(d->pass, &shard.pack, true)) ||
      !linnet_device_reserve(device, &d->logits, bytes))
    return linnet_fail(d->context, LINNET_ERROR_MEMORY, "%s: out of memory for an utterance of %zu frames",
                       device->name, rows);
  linnet_pass_forward(d->pass, d->weights, &shard, d->memory.data, d->memory.bytes, d->logits.data);
  LINNET_TRY(d->status);
  LINNET_TRY(linnet_poll_check(d->context));
  if (config->output == LINNET_OUTPUT_POSTERIORS)
    device->ops->log_softmax(device, rows, config->outputs, d->logits.data, d->logits.data);
  device->ops->download(device, d->log_p.data, d->logits.data, bytes);
  return device->ops->wait(device, d->context);
}

enum linnet_status linnet_device_encoder_run(struct linnet_device_encoder *d, const float *features, size_t frames,
                                             linnet_posterior_fn sink, void *user) {
  struct linnet_device *device = device_of(d);
  const struct linnet_config *config = d->network.config;
  size_t rows = linnet_stacked_frames(config, frames);
  LINNET_TRY(linnet_buffer_reserve(d->context, &d->stacked, rows, config->stack * config->input_dim * sizeof(real)));
  LINNET_TRY(linnet_buffer_reserve(d->context, &d->log_p, rows, config->outputs * sizeof(real)));
  linnet_stack_frames(config, features, frames, d->stacked.data);
  device->ops->lock(device);
  enum linnet_status status = run(d, rows);
  device->ops->unlock(device);
  if (status == LINNET_OK && sink(user, d->log_p.data, 0, rows) != 0)
    return linnet_fail(d->context, LINNET_ERROR_CANCELLED, "the receiver of the posteriors asked to stop");
  return status;
}
