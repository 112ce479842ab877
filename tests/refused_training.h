/* Trainings that are refused. */
#ifndef LINNET_TEST_REFUSED_TRAINING_H
#define LINNET_TEST_REFUSED_TRAINING_H

#include "backend/device.h"
#include "small_training.h"

static void check_refused(struct run *run, const char *folder, enum linnet_status status, const char *part) {
  train(run, folder);
  CHECK(run->status == status && strstr(run->error, part), "status %d, not %d (%s): %s", run->status, status, part,
        run->error);
}

/* The ops of a device that is like a GPU: those of the CPU, of which a test takes away some. */
static struct linnet_device_ops limited_ops;
static struct linnet_cpu_device limited_device;

static enum linnet_status open_limited_device(struct linnet_context *context, int index,
                                              enum linnet_precision precision, struct linnet_device **result) {
  (void)index, (void)precision;
  limited_device = linnet_cpu_device(context, linnet_cpu_best_ops(LINNET_FLOAT32));
  limited_device.base.ops = &limited_ops;
  *result = &limited_device.base;
  return LINNET_OK;
}

/* The run on a device with limited_ops. */
static void check_not_on_gpu(struct run run) {
  char folder[64];
  run.on_device = open_limited_device;
  check_refused(&run, make_folder(folder), LINNET_ERROR_UNSUPPORTED, "not on a GPU yet");
  remove_folder(folder);
}

#endif
